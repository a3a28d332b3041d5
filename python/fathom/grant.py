"""The permission to write, held for another program.

Our engine looks at the targets, refuses what it would refuse, makes the files, and keeps the claims
(open(2), ``O_EXCL``) and what else it took, while another program writes::

    with fathom.WriteGrant("-c1G -w100 /mnt/t.dat"):
        subprocess.run(["fio", ...], check=True)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from fathom import _fathom
from fathom._signals import let_through
from fathom.engine import checked, permitted_job, read_result
from fathom.errors import RunInterrupted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from fathom._given import Paths
    from fathom.request import Request

__all__ = ["WriteGrant"]


class WriteGrant:
    """The permission to write what a request writes, from when it is made until it is closed.

    Attributes
    ----------
    result
        The run as it was prepared: its host, targets and warnings, without any load.

    """

    def __init__(
        self,
        request: Request | str | Sequence[str],
        *,
        overwrite: bool = False,
        allow_write: Paths = (),
        protect: Paths = (),
        strict: bool = False,
    ) -> None:
        """Ask the guard, make the files that are to be made, and hold what may be written.

        All that is given means what it means to ``fathom.run``.

        Raises
        ------
        InvalidRequestError
            If the request is wrong; nothing was touched.
        RefusedError
            If the engine would not write to a target; nothing was touched.
        RunFailedError
            If a target cannot be made or opened.
        RunInterrupted
            If Ctrl-C ended it.

        """
        with let_through():
            text, failures, interruption, loan = _fathom.lend_job(
                *permitted_job(
                    request,
                    overwrite=overwrite,
                    allow_write=allow_write,
                    protect=protect,
                    strict=strict,
                )
            )
        self._loan = loan
        self.result = read_result(text)
        if isinstance(interruption, KeyboardInterrupt):
            self.close()
            raise RunInterrupted(self.result) from interruption
        if interruption is not None:
            self.close()
            raise interruption
        checked(self.result, failures)

    def written_by(self, session: int) -> None:
        """Give it back: whoever wrote has ended, and had this session (``setsid(2)``) of its own.

        What that session wrote into files of ours leaves them ours, unless others wrote, too.
        """
        self._loan.end(session)

    def close(self) -> None:
        """Give it back; whose the files are is decided by what they hold."""
        self._loan.end(0)

    def __enter__(self) -> Self:
        """Hold it as long as the block lasts."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give it back."""
        self.close()

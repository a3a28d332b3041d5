"""A handle on a run: started at an instant, followed, renewed and stopped by whoever holds it.

``fathom.run`` makes a run and waits for it. A handle is for those who do something meanwhile, such
as starting runs on several hosts at once, or ending one whose master has gone.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

from fathom import _fathom
from fathom._given import amount, check_flags, check_text, number
from fathom._text import json_of
from fathom.engine import checked, permitted_job, read_result
from fathom.errors import FathomError, InvalidRequestError
from fathom.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fathom._given import Paths
    from fathom.request import Request
    from fathom.result import Result

__all__ = ["RunEvent", "RunHandle"]

# The engine counts nanoseconds in 64 bits.
_LATEST_S = (2**64 - 1) // NS_PER_S
_ENVELOPE = {"run": str, "host": str, "at_unix_ns": int, "event": str, "target": str}


@dataclass(frozen=True)
class RunEvent:
    """Something that happened while a run was under way.

    Attributes
    ----------
    name
        ``ready`` (all is prepared, and the run waits for ``start``), ``filling``,
        ``phase_started``, ``live`` (the figures of a second, with its ``latency`` as a histogram in
        the form of results, which ``Latency.merged`` takes), ``target_failed``, ``finished``, ...
    run
        A word that no other run has.
    host
        Name of the host.
    at_unix_ns
        When, in nanoseconds since 1970-01-01T00:00:00Z.
    target
        The target that it is about, if it is about one.
    fields
        What else is known, by name.

    """

    name: str
    run: str
    host: str
    at_unix_ns: int
    target: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @classmethod
    def from_json(cls, text: str) -> RunEvent:
        """Read one that ``to_json`` has written, such as on another host.

        Raises
        ------
        ValueError
            If the text is not JSON, or no event.

        """
        data = json_of(text) if isinstance(text, str) else text
        if not isinstance(data, dict):
            raise ValueError(f"this is no event: {data!r:.80} stands where an object should")  # noqa: TRY004
        for name, kind in _ENVELOPE.items():
            if name not in data and name != "target":
                raise ValueError(f"this is no event: it has no {name!r}")
            if type(value := data.get(name)) is not kind and (name, value) != ("target", None):
                raise ValueError(f"this is no event: {name} is {value!r:.80}")
        more = {key: value for key, value in data.items() if key not in _ENVELOPE}
        return cls(
            data["event"], data["run"], data["host"], data["at_unix_ns"], data.get("target"), more
        )

    def to_json(self) -> str:
        """Return it as one line of JSON."""
        target = {} if self.target is None else {"target": self.target}
        known = {"event": self.name, "run": self.run, "host": self.host}
        return json.dumps(known | {"at_unix_ns": self.at_unix_ns} | target | {**self.fields})


class RunHandle:
    """A run, prepared from the moment on at which the handle is made.

    The load begins when it is started. A handle that is let go without ``result`` ends its run; as
    a context manager it does so at the end of the block.
    """

    def __init__(  # noqa: PLR0913 - As for run.
        self,
        args: Request | str | Sequence[str],
        *,
        live: bool = False,
        lease_s: float | None = None,
        overwrite: bool = False,
        allow_write: Paths = (),
        protect: Paths = (),
        strict: bool = False,
    ) -> None:
        """Begin to prepare a run; all but ``live`` and ``lease_s`` are those of ``fathom.run``.

        ``live`` gives an event with the figures of each second. With ``lease_s`` the run ends
        itself unless ``renew`` is called so often; the first lease begins now.

        Raises
        ------
        InvalidRequestError
            If the arguments are wrong; nothing was touched.

        """
        lease_s = amount("lease_s", lease_s)
        check_flags(live=live)
        job = permitted_job(
            args, overwrite=overwrite, allow_write=allow_write, protect=protect, strict=strict
        )
        # What a fork copies is no run: its threads stay in the process that made it.
        self._process = os.getpid()
        self._asking = Lock()
        self._outcome: tuple[Result, list[str]] | FathomError | None = None
        self._run = _fathom.Run(*job, live, lease_s)
        self._name = self._run.name()

    @property
    def name(self) -> str:
        """A word that no other run has; its events carry it."""
        return self._name

    def start(self, at_unix_s: float | None = None) -> None:
        """Let the load begin at an instant (``time.time()``), or once all is prepared.

        The first instant counts. ``began_unix_ns`` of the result's time spans says when it began.

        Raises
        ------
        InvalidRequestError
            If it is no instant in seconds, such as one in nanoseconds.
        FathomError
            If the run is over.

        """
        at_s = number("at_unix_s", at_unix_s) or 0.0
        if at_s > _LATEST_S:
            raise InvalidRequestError(
                f"at_unix_s: {at_unix_s!r} is no instant in seconds, as time.time() gives it"
            )
        self._held().start(max(0, round(at_s * NS_PER_S)))

    def stop(self, reason: str = "") -> None:
        """End the run; its result has what was measured until then, and the reason.

        Of a run that is over, nothing changes.

        Raises
        ------
        InvalidRequestError
            If the reason is no text.

        """
        check_text("reason", reason)
        self._held().stop(reason.encode("utf-8", "replace").decode())

    def renew(self) -> None:
        """Let the lease begin again.

        Raises
        ------
        FathomError
            If the result was given already.

        """
        self._held().renew()

    def events(self) -> Iterator[RunEvent]:
        """Return the events, each as it comes, up to the end of the run.

        Each is given once: to one of those who ask.
        """
        while (text := self._held().next_event()) is not None:
            if text:
                yield RunEvent.from_json(text)

    def result(self, *, check: bool = True) -> Result:
        """Wait for the end of the run, and return its result: the same to all who ask.

        Raises
        ------
        RefusedError
            If a target is in use, protected, or holds data that must not be lost.
        RunFailedError
            If the run began and failed, and ``check`` is true.
        DataFaultError
            If verification found wrong data, and ``check`` is true.
        FathomError
            If the handle was let go, or a fork copied it from another process.

        """
        self._held()
        with self._asking:
            if self._outcome is None:
                self._outcome = self._ended()
        if isinstance(self._outcome, FathomError):
            raise type(self._outcome)(*self._outcome.args)
        result, failures = self._outcome
        return checked(result, failures) if check else result

    def _ended(self) -> tuple[Result, list[str]] | FathomError:
        """Wait for the end of the run, and return what it came to."""
        for _event in self.events():
            pass
        try:
            text, failures = self._run.result()
        except FathomError as error:
            return error
        return read_result(text), failures

    def _held(self) -> _fathom.Run:
        """Return the run, unless it is that of another process."""
        if self._process != os.getpid():
            raise FathomError(
                f"this run belongs to process {self._process}, which forked: make a RunHandle here"
            )
        return self._run

    def __enter__(self) -> Self:
        """Return the handle."""
        return self

    def __exit__(self, *_raised: object) -> None:
        """End the run, if it is not over."""
        run = getattr(self, "_run", None)
        if run is not None and self._process == os.getpid():
            run.close()

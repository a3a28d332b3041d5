"""The process that measures on a host: it reads requests, a line of JSON each, and answers so.

It is a process of its own, since a run holds its threads, and a target that hangs holds all.
Where nobody renews its lease, or its input ends, it ends the run: no load without a master.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from fathom.errors import DataFaultError, FathomError, RunFailedError
from fathom.fleet.identity import explained_targets
from fathom.fleet.wire import BEAT_S, LEASE_S
from fathom.handle import RunHandle
from fathom.request import Request

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["main"]

# How long a run may take to end; longer, and a target hangs, which nobody waits for.
_ENDING_S = 6.0
# The engine knows it (`core/result/warnings/causes.rs`).
_NAME = "fathom-host"
_NO_MASTER = "the process that drove the fleet has gone"


class Measuring:
    """Does what the lines ask for, one after the other; a run is held meanwhile."""

    def __init__(self, answers: IO[str]) -> None:
        """Answer there."""
        self._answers = answers
        self._lock = threading.Lock()
        self._handle: RunHandle | None = None
        # Why the run is to end, which may be said before there is a handle of it.
        self._ended_by: str | None = None
        self._busy: threading.Thread | None = None

    def say(self, **found: object) -> None:
        """Write a line."""
        line = json.dumps(found)
        # Who read it may be gone: then the input ends, too.
        with self._lock, suppress(OSError, ValueError):
            self._answers.write(f"{line}\n")
            self._answers.flush()

    def serve(self, requests: IO[str]) -> None:
        """Do what is requested until the input ends."""
        for line in requests:
            asked = json.loads(line)
            act: Callable[..., None] = getattr(self, f"do_{asked.pop('do')}")
            act(**asked)
        self.do_stop(_NO_MASTER)
        if self._busy is not None:
            self._busy.join(_ENDING_S)

    def do_explain(self, number: int, **asked: Any) -> None:  # noqa: ANN401 - JSON.
        """Say what a run would do, and what its targets are."""
        self._begin(number, lambda: {"explained": explained_targets(**asked)})

    def do_open(  # JSON gives the permissions.
        self,
        number: int,
        *,
        live: bool,
        request: str,
        **allowed: Any,  # noqa: ANN401
    ) -> None:
        """Prepare a run, tell its events, and answer with its result."""
        self._ended_by = None
        self._begin(number, lambda: self._run(request, allowed, live=live))

    def do_start(self, at_unix_ns: int) -> None:
        """Let the load begin at an instant of this host's clock."""
        self._tell(lambda handle: handle.start(at_unix_ns / 1e9))

    def do_renew(self) -> None:
        """Renew the lease of the run."""
        self._tell(RunHandle.renew)

    def do_stop(self, reason: str) -> None:
        """End the run."""
        self._ended_by = reason
        self._tell(lambda handle: handle.stop(reason))

    def _tell(self, act: Callable[[RunHandle], None]) -> None:
        """Do this to the run, unless it ends in the same moment: its result is the answer then."""
        if (handle := self._handle) is not None:
            with suppress(FathomError):
                act(handle)

    def _begin(self, number: int, do: Callable[[], dict[str, object]]) -> None:
        if self._busy is not None:
            self._busy.join()

        def answer() -> None:
            try:
                self.say(number=number, **do())
            except FathomError as error:
                self.say(number=number, kind=type(error).__name__, error=str(error))
            except Exception as error:  # noqa: BLE001 - Whatever it is, it must not hang the others.
                words = f"{type(error).__name__}: {error}"
                self.say(number=number, kind="FathomError", error=words)

        self._busy = threading.Thread(target=answer, daemon=True)
        self._busy.start()

    def _run(self, request: str, allowed: dict[str, Any], *, live: bool) -> dict[str, object]:
        asked = Request.from_dict(json.loads(request))
        with RunHandle(asked, live=live, lease_s=LEASE_S, **allowed) as handle:
            self._handle = handle
            if self._ended_by is not None:
                handle.stop(self._ended_by)
            try:
                for event in handle.events():
                    self.say(event=json.loads(event.to_json()))
                return _outcome(handle)
            finally:
                self._handle = None


def call_itself() -> None:
    """Take a name by which other hosts on this machine know that this is one, too."""
    with suppress(OSError):
        Path("/proc/self/comm").write_text(_NAME)


def _outcome(handle: RunHandle) -> dict[str, object]:
    try:
        return {"result": json.dumps(dict(handle.result().raw)), "failures": []}
    except (RunFailedError, DataFaultError) as error:
        return {"result": json.dumps(dict(error.result.raw)), "failures": [str(error)]}


def main() -> None:
    """Serve the lines of the standard input."""
    call_itself()
    # What a library prints must not stand between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    measuring = Measuring(answers)

    def beat() -> None:
        while True:
            measuring.say(beat_unix_ns=time.time_ns())
            time.sleep(BEAT_S)

    threading.Thread(target=beat, daemon=True).start()
    measuring.serve(sys.stdin)
    # A thread that hangs at a target would keep the process.
    os._exit(0)


if __name__ == "__main__":
    main()

"""A host of a fleet: Dask's worker, which runs no task, and minds one process that measures."""

from __future__ import annotations

import asyncio
import json
import platform
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from distributed import Worker

from fathom._fathom import version
from fathom.fleet.comm import Accepts, peer_at, register, security_of
from fathom.fleet.identity import machine_id
from fathom.fleet.restricted import QuietNode, restricted
from fathom.fleet.wire import HOST_REQUESTS, LEASE_S, LOST_AFTER_S, POLL_S

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fathom.fleet.certificates import Identity

__all__ = ["ENDED", "Member", "member_of"]

ENDED = "it was ended"
"""Why a host closes that its user ends; for no other reason does a run on it end as well."""

_LINE_BYTES_MOST = 1 << 30
# A run that was told to end may have I/O in flight; then its process is ended.
_ENDING_S = 8.0
# Python and our libraries may come from a slow disk: so its first word may take longer.
_STARTING_S = 15.0
_STREAM = ("close", "worker-status-change", "remove-worker")


@dataclass
class _Session:
    """One client's use of this host: its measuring process, and what that has said."""

    name: str
    who: str
    process: asyncio.subprocess.Process
    lines: list[str] = field(default_factory=list)
    first: int = 0
    heard_s: float = field(default_factory=time.monotonic)
    has_spoken: bool = False
    polled_s: float = field(default_factory=time.monotonic)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    is_over: bool = False
    listener: asyncio.Task[None] | None = None
    ending: asyncio.Task[None] | None = None

    def say(self, line: str) -> None:
        if self.process.stdin is not None and not self.process.stdin.is_closing():
            with suppress(OSError):
                self.process.stdin.write(f"{line}\n".encode())

    async def listen(self) -> None:
        """Keep what the process says, until it ends."""
        if self.process.stdout is not None:
            async for line in self.process.stdout:
                self.heard_s, self.has_spoken = time.monotonic(), True
                if not line.startswith(b'{"beat_unix_ns"'):
                    self.lines.append(line.decode())
                    self.news.set()
        # The kernel may take its time for a process that had I/O in flight.
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self.process.wait()), POLL_S)
        self.is_over = True
        self.news.set()

    def silent_s(self) -> float:
        """Return for how long it has said nothing; one that only just starts has some time."""
        silent_s = time.monotonic() - self.heard_s
        return silent_s if self.has_spoken or silent_s > _STARTING_S else 0.0

    def read_from(self, number: int) -> list[str]:
        """Return the lines from this number on; those before were received, and are let go."""
        done = max(0, number - self.first)
        del self.lines[:done]
        self.first += done
        self.news.clear()
        return [*self.lines]

    async def end(self) -> None:
        """End the process: its run ends with its input."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        hangs = self.silent_s() > LOST_AFTER_S - 1
        with suppress(TimeoutError):
            await asyncio.wait_for(self.process.wait(), POLL_S if hangs else _ENDING_S)
        if self.process.returncode is None:
            with suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()


class Member(QuietNode, Worker):
    """A host. It answers ``HOST_REQUESTS``, and runs no function of anybody."""

    def __init__(self, coordinator: str, **given: Any) -> None:  # noqa: ANN401 - Dask's.
        """Join the coordinator at this address."""
        needs_role = given.get("security") is not None
        self._folder = tempfile.TemporaryDirectory(prefix="fathom-fleet-")
        super().__init__(
            coordinator,
            nthreads=1,
            memory_limit=0,
            local_directory=self._folder.name,
            extensions={},
            metrics={},
            startup_information={},
            validate=False,
            **given,
        )
        own = {
            name: _in_words(getattr(self, name.replace("fathom_", "_do_")))
            for name in HOST_REQUESTS
        }
        allowed: Any = dict.fromkeys(HOST_REQUESTS, ("client",))
        self.handlers = restricted(
            {**self.handlers, **own},
            {**allowed, "identity": ("client", "coordinator")},
            needs_role=needs_role,
        )
        self.stream_handlers = {
            name: one for name, one in self.stream_handlers.items() if name in _STREAM
        }
        self._session: _Session | None = None
        self._free = asyncio.Event()
        self._free.set()
        self._watch: asyncio.Task[None] | None = None

    async def close(self, *given: Any, **named: Any) -> Any:  # noqa: ANN401 - Dask's.
        """Leave the fleet; unless it is ended, once what is measured has been measured.

        Dask closes a host whose coordinator is gone, and one that a coordinator does not know which
        was started again: clients measure on it all the same.
        """
        if named.get("reason") != ENDED:
            await self._free.wait()
        await self._end_session()
        try:
            return await super().close(*given, **named)
        finally:
            self._folder.cleanup()

    async def _do_hello(self, comm: object) -> dict[str, object]:
        del comm
        return {
            "version": version(),
            "kernel": f"{platform.system()} {platform.release()}",
            "machine": machine_id(),
            "busy": "" if self._session is None else self._session.who,
        }

    async def _do_clock(self, comm: object) -> int:
        del comm
        return time.time_ns()

    async def _do_begin(self, comm: object, session: str, who: str) -> dict[str, object]:
        if self._session is not None:
            return {"busy": self._session.who}
        peer = peer_at(comm)
        command = [sys.executable, "-P", "-m", "fathom.fleet.measuring"]
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_LINE_BYTES_MOST,
            # Ctrl-C is for whoever drives the fleet, who ends the runs in good order.
            start_new_session=True,
        )
        who = f"{who} ({peer.name})" if peer is not None else who
        self._session = _Session(session, who, process)
        self._free.clear()
        self._session.listener = asyncio.create_task(self._session.listen())
        self._watch = asyncio.create_task(self._watched(self._session))
        return {"pid": process.pid}

    async def _do_say(self, comm: object, session: str, line: str) -> dict[str, object]:
        del comm
        if (held := self._held(session)) is None:
            return {"gone": True}
        json.loads(line)
        held.say(line)
        return {}

    async def _do_poll(self, comm: object, session: str, after: int) -> dict[str, object]:
        """Return what is new, at once or after ``POLL_S``; and renew the lease."""
        del comm
        if (held := self._held(session)) is None:
            return {"gone": True}
        held.polled_s = time.monotonic()
        held.say(json.dumps({"do": "renew"}))
        if not held.read_from(after):
            with suppress(TimeoutError):
                await asyncio.wait_for(held.news.wait(), POLL_S)
        return {
            "first": max(after, held.first),
            "lines": held.read_from(after),
            "silent_s": held.silent_s(),
            "is_over": held.is_over,
            "exit_code": held.process.returncode,
        }

    async def _do_end(self, comm: object, session: str) -> dict[str, object]:
        del comm
        if self._held(session) is not None:
            await self._end_session()
        return {}

    def _held(self, session: str) -> _Session | None:
        held = self._session
        return held if held is not None and held.name == session else None

    async def _watched(self, session: _Session) -> None:
        """End the session once nobody has asked for it for the length of a lease."""
        while self._session is session:
            await asyncio.sleep(POLL_S)
            if time.monotonic() - session.polled_s > LEASE_S:
                await self._end_session()

    async def _end_session(self) -> None:
        session = self._session
        if session is None:
            return
        if session.ending is None:
            session.ending = asyncio.create_task(session.end())
        # The host is free once nothing runs there any longer.
        await session.ending
        if self._session is session:
            self._session = None
            self._free.set()


def _in_words(do: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
    """Answer with what went wrong, in words; Dask would send the error itself, as a pickle."""

    async def answered(comm: object, **asked: object) -> object:
        try:
            return await do(comm, **asked)
        except OSError as error:
            what = f": {error.filename}" if error.filename else ""
            return {"failed": f"{error.strerror or error}{what}"}
        except Exception as error:  # noqa: BLE001 - Whatever it is, the client should know.
            return {"failed": f"{type(error).__name__}: {error}"}

    return answered


def member_of(
    coordinator: str, identity: Identity, name: str, listen: tuple[str, int] | None = None
) -> Member:
    """Return a host that joins this coordinator, for clients with certificates."""
    register(Accepts(incoming=("client", "coordinator"), outgoing=("coordinator",)))
    host, port = listen or ("", 0)
    return Member(
        f"tls://{coordinator}",
        name=name,
        security=security_of(identity),
        protocol="tls://",
        **({"host": host} if host else {}),
        **({"port": port} if port else {}),
    )

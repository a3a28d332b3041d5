"""One host, as the client sees it: asked, followed, and given up once it is silent for too long."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

from fathom._fathom import InvalidRequestError, RefusedError
from fathom.errors import FathomError
from fathom.fleet.channel import Channel, NoAnswerError
from fathom.fleet.clocks import ClockOffset, compare_clocks
from fathom.fleet.wire import LOST_AFTER_S, POLL_S

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["HostLink", "HostLostError"]

_ANSWER_S = 3.0
# One answer that is late may be ours: this process may have been stopped meanwhile.
_MISSES = 2
_RETRY_S = 0.2
_KINDS = {"InvalidRequestError": InvalidRequestError, "RefusedError": RefusedError}


class HostLostError(FathomError):
    """A host is lost."""


class HostLink:
    """A host of the fleet.

    Attributes
    ----------
    name
        In the fleet.
    hello
        What it says of itself: ``version``, ``kernel``, ``machine``, ``busy``.
    clock
        How far its clock is ahead of ours.
    lost
        Why it is lost; None if it is not.
    pid
        Of its measuring process, on that host.

    """

    def __init__(self, name: str, address: str, arguments: Mapping[str, Any]) -> None:
        """Look at the host at this address."""
        self.name = name
        self.address = address
        self.hello: dict[str, str] = {}
        self.clock = ClockOffset(0, 0)
        self.lost: str | None = None
        self.pid = 0
        self.on_event: Callable[[HostLink, dict[str, Any]], None] = lambda _host, _event: None
        self.on_lost: Callable[[HostLink], None] = lambda _host: None
        self._say = Channel(address, arguments)
        self._news = Channel(address, arguments)
        self._session = ""
        self._number = 0
        self._received = 0
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._follower: asyncio.Task[None] | None = None

    @property
    def is_taken(self) -> bool:
        """Whether this session has it."""
        return self._follower is not None

    async def meet(self) -> None:
        """Ask who it is, and compare clocks.

        Raises
        ------
        NoAnswerError
            If it does not answer.

        """
        found = await self._say.ask("fathom_hello", _ANSWER_S)
        if not isinstance(found, dict):
            raise NoAnswerError("it is no host of a fleet: start it with fathom fleet join")
        self.hello = {str(name): str(value) for name, value in found.items()}
        await self.look_at_clock()

    async def look_at_clock(self) -> ClockOffset:
        """Compare its clock with ours, and return what the comparison before found.

        Raises
        ------
        NoAnswerError
            If it does not answer.

        """

        async def now() -> int:
            return int(await self._say.ask("fathom_clock", _ANSWER_S))

        before, self.clock = self.clock, await compare_clocks(now)
        return before

    async def begin(self, session: str, who: str) -> None:
        """Take the host for this session, and follow it.

        Raises
        ------
        FathomError
            If somebody else measures on it.
        NoAnswerError
            If it does not answer.

        """
        found = await self._say.ask("fathom_begin", _ANSWER_S, session=session, who=who)
        if busy := found.get("busy"):
            raise FathomError(
                f"host '{self.name}' is used by {busy}: wait for that to end, or measure on others "
                "(--hosts)"
            )
        self.pid = int(found["pid"])
        self._session, self._received = session, 0
        self._follower = asyncio.create_task(self._follow())

    async def request(self, do: str, **asked: object) -> dict[str, Any]:
        """Have its measuring process do something, and return the answer.

        Raises
        ------
        HostLostError
            If it is lost meanwhile.
        FathomError
            If it cannot be done there, in the words of that host.

        """
        self._number += 1
        number = self._number
        waiting: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        try:
            await self.tell(do, number=number, **asked)
            found = await waiting
        finally:
            self._waiting.pop(number, None)
        if "error" in found:
            kind = _KINDS.get(str(found.get("kind")), FathomError)
            raise kind(f"host '{self.name}': {found['error']}")
        return found

    async def tell(self, do: str, **asked: object) -> None:
        """Tell its measuring process something.

        Raises
        ------
        HostLostError
            If it cannot be told.

        """
        if self.lost is not None:
            raise HostLostError(f"host '{self.name}' was lost: {self.lost}")
        line = json.dumps({"do": do, **asked})
        try:
            await self._say.ask("fathom_say", _ANSWER_S, session=self._session, line=line)
        except NoAnswerError as error:
            self.lose(str(error))
            raise HostLostError(f"host '{self.name}' was lost: {self.lost}") from error

    def lose(self, why: str) -> None:
        """Give it up; whoever waits for it learns why."""
        if self.lost is not None:
            return
        self.lost = why
        self.on_lost(self)
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(HostLostError(f"host '{self.name}' was lost: {why}"))

    async def end(self) -> None:
        """Let it go: its measuring process ends."""
        await self.release()
        self._say.close()
        self._news.close()

    async def release(self) -> None:
        """Let others have it; it can be taken again."""
        follower, self._follower = self._follower, None
        if follower is not None:
            follower.cancel()
        session, self._session = self._session, ""
        if session:
            # Of a lost host perhaps only the process that measured is gone: it is let go as well.
            try:
                await self._news.ask("fathom_end", _ANSWER_S, session=session)
            except NoAnswerError:
                # The lease ends what is left.
                self.lose("it did not answer at the end")

    async def _follow(self) -> None:
        """Fetch its news, which renews its lease, until it is lost."""
        heard_s, misses = time.monotonic(), 0
        session = self._session
        # A wait that has just got its answer may swallow that it was cancelled.
        while self.lost is None and self._session == session:
            try:
                found = await self._news.ask(
                    "fathom_poll",
                    POLL_S + LOST_AFTER_S / (_MISSES + 1),
                    session=session,
                    after=self._received,
                )
            except NoAnswerError as error:
                misses += 1
                silent_s = time.monotonic() - heard_s
                if misses >= _MISSES and silent_s > LOST_AFTER_S - 1:
                    self.lose(f"it has not answered for {silent_s:.1f} s ({error})")
                await asyncio.sleep(_RETRY_S)
                continue
            heard_s, misses = time.monotonic(), 0
            if self._session == session:
                self._take(found)

    def _take(self, found: Mapping[str, Any]) -> None:
        if found.get("gone"):
            self.lose("it has ended its part, as nobody asked for news, or it was started again")
            return
        try:
            lines = found["lines"][self._received - found["first"] :]
            for line in lines:
                self._received += 1
                self._hear(json.loads(line))
            silent_s, code = float(found["silent_s"]), found["exit_code"]
            is_over = bool(found["is_over"])
        except (KeyError, TypeError, ValueError) as error:
            self.lose(f"what it says makes no sense ({type(error).__name__}: {error})")
            return
        if is_over:
            words = "" if code is None else f" with exit code {code}"
            self.lose(f"its measuring process ended{words}")
        elif silent_s > LOST_AFTER_S - 1:
            self.lose(f"its measuring process has not answered for {silent_s:.1f} s")

    def _hear(self, said: dict[str, Any]) -> None:
        if "event" in said:
            self.on_event(self, said["event"])
            return
        waiting = self._waiting.get(said["number"])
        if waiting is not None and not waiting.done():
            waiting.set_result(said)

"""Who is in: sessions of browsers, and how often somebody may guess."""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom.web.accounts import digest

if TYPE_CHECKING:
    from collections.abc import Callable

    from fathom.web.accounts import Role

__all__ = ["Attempts", "Session", "Sessions", "Viewer"]

_LIFETIME_S = 12 * 3600.0
_MOST_SESSIONS = 1000
_ATTEMPTS, _WITHIN_S = 5, 300.0
_MOST_ADDRESSES = 10_000
_SECRET_BYTES = 32


@dataclass(frozen=True)
class Viewer:
    """Who asks: a name, a role, and the word that requests of a browser carry; "" of a program."""

    name: str
    role: Role
    csrf: str = ""

    @property
    def may_measure(self) -> bool:
        """Whether runs may be started and stopped."""
        return self.role == "measure"


@dataclass(frozen=True)
class Session:
    """A session: who it is of, and when it ends on the clock that nobody sets.

    ``proved_by`` is what is kept of the password that opened it.
    """

    viewer: Viewer
    ends_s: float
    is_local: bool
    proved_by: str


class Sessions:
    """Open sessions, in memory: a server that is started again asks who is there."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin without any."""
        self._clock = clock
        self._open: OrderedDict[str, Session] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, name: str, role: Role, *, is_local: bool = False, proved_by: str = "") -> str:
        """Open one, and return its secret, which is new each time and never the browser's."""
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        viewer = Viewer(name, role, secrets.token_urlsafe(_SECRET_BYTES))
        with self._lock:
            ends_s = self._clock() + _LIFETIME_S
            self._open[digest(secret)] = Session(viewer, ends_s, is_local, proved_by)
            while len(self._open) > _MOST_SESSIONS:
                self._open.popitem(last=False)
        return secret

    def find(self, secret: str) -> Session | None:
        """Return the session of a secret, if it is open."""
        key = digest(secret)
        with self._lock:
            found = self._open.get(key)
            if found is not None and found.ends_s <= self._clock():
                del self._open[key]
                return None
            return found

    def end(self, secret: str) -> None:
        """Close one."""
        with self._lock:
            self._open.pop(digest(secret), None)


class Attempts:
    """Counts what was guessed wrongly, by address and by name."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with none."""
        self._clock = clock
        self._failed: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait_s(self, *keys: str) -> int:
        """Return for how many seconds these may not try again; 0 if they may."""
        with self._lock:
            return self._wait(*keys)

    def begin(self, *keys: str) -> int:
        """Note an attempt before it is judged, so that many at once are no more than a few.

        Return for how many seconds these may not try; it is noted only if they may.
        """
        with self._lock:
            wait_s = self._wait(*keys)
            if not wait_s:
                self._note(*keys)
            return wait_s

    def forgive(self, *keys: str) -> None:
        """Forget the newest attempt of these: it was right."""
        with self._lock:
            for key in keys:
                if self._failed.get(key):
                    self._failed[key].pop()

    def fail(self, *keys: str) -> None:
        """Note a wrong guess."""
        with self._lock:
            self._note(*keys)

    def _wait(self, *keys: str) -> int:
        now, waits = self._clock(), [0]
        for key in keys:
            times = self._failed.get(key, deque())
            while times and times[0] <= now - _WITHIN_S:
                times.popleft()
            if len(times) >= _ATTEMPTS:
                waits.append(int(times[0] + _WITHIN_S - now) + 1)
        return max(waits)

    def _note(self, *keys: str) -> None:
        for key in keys:
            self._failed.setdefault(key, deque(maxlen=_ATTEMPTS)).append(self._clock())
            self._failed.move_to_end(key)
        while len(self._failed) > _MOST_ADDRESSES:
            self._failed.popitem(last=False)

"""A client's use of a fleet: connected once, for as many runs as it makes."""

from __future__ import annotations

import asyncio
import getpass
import os
import platform
import secrets
import threading
import weakref
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from fathom._fathom import version
from fathom.errors import FathomError, InvalidRequestError
from fathom.fleet.certificates import certificate_files
from fathom.fleet.channel import OF_ONE_AUTHORITY, Channel, NoAnswerError
from fathom.fleet.comm import CLIENT_SCHEME, Accepts, register, security_of
from fathom.fleet.link import HostLink
from fathom.fleet.local import LocalFleet
from fathom.fleet.restricted import quiet_logs
from fathom.fleet.running import FleetRun
from fathom.fleet.wire import AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from fathom.fleet.address import FleetAddress
    from fathom.fleet.certificates import Identity
    from fathom.fleet.outcome import HostPart
    from fathom.fleet.running import Job

__all__ = ["FleetSession"]

Found = TypeVar("Found")

_CONNECT_S = 10.0
# The main thread looks so often whether it was interrupted.
_LOOK_S = 0.2
_END_S = 12.0
_LEFT = "it is not in the fleet any more"


class FleetSession:
    """A connection to a fleet, driven by a thread of its own."""

    def __init__(
        self, fleet: FleetAddress, known: Sequence[str] = (), *, only_looks: bool = False
    ) -> None:
        """Connect, to the hosts that are ``known`` from earlier runs, if there were any.

        Who ``only_looks`` takes also hosts that could not measure.

        Raises
        ------
        FathomError
            If the coordinator or a host does not answer, or is of another version.

        """
        quiet_logs()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fleet", daemon=True)
        self._thread.start()
        self._core = _Core(fleet, known, only_looks=only_looks)
        self._is_measuring = False
        # At the latest when the process ends; the lease ends what a killed one leaves.
        self._finalizer = weakref.finalize(self, _finish, self._core, self._loop, self._thread)
        try:
            self._wait(self._core.connect())
        except BaseException:
            self.close()
            raise

    @property
    def hosts(self) -> Sequence[HostLink]:
        """The hosts that measure, in their order."""
        return self._core.hosts

    @property
    def is_idle_without_a_host(self) -> bool:
        """Whether a host was lost, and no run is under way that goes on without it."""
        return not self._is_measuring and any(one.lost for one in self.hosts)

    def measure(self, job: Job) -> tuple[list[HostPart], bool]:
        """Run; return what each host measured, and whether Ctrl-C ended it."""
        run = FleetRun(job, self._core.hosts[: job.most_hosts])
        future = asyncio.run_coroutine_threadsafe(self._core.measured(run), self._loop)
        is_interrupted = False
        self._is_measuring = True
        try:
            while True:
                try:
                    return self._result(future), is_interrupted
                except KeyboardInterrupt:
                    is_interrupted = True
                    self._loop.call_soon_threadsafe(run.stop, "interrupted")
        finally:
            self._is_measuring = False

    def explain(self, job: Job) -> dict[str, dict[str, Any]]:
        """Return what each host says of a run, by its name; nothing is written."""
        run = FleetRun(job, self._core.hosts[: job.most_hosts])
        found = self._wait(self._core.explained(run))
        return {self.hosts[place].name: told for place, told in found.items()}

    def close(self) -> None:
        """Let the hosts go."""
        self._finalizer()

    def __enter__(self) -> Self:
        """Return the session."""
        return self

    def __exit__(self, *_raised: object) -> None:
        """Let the hosts go."""
        self.close()

    def _wait(self, work: Coroutine[Any, Any, Found]) -> Found:
        found: Found = self._result(asyncio.run_coroutine_threadsafe(work, self._loop))
        return found

    @staticmethod
    def _result(future: Any) -> Any:  # noqa: ANN401 - Of a coroutine.
        while True:
            # A wait without an end would not be interrupted on every system.
            with suppress(TimeoutError):
                return future.result(_LOOK_S)
            if future.done():
                return future.result()


class _Core:
    """What the thread of a session does."""

    def __init__(self, fleet: FleetAddress, known: Sequence[str], *, only_looks: bool) -> None:
        self._fleet = fleet
        self._known = known
        self._only_looks = only_looks
        self._local: LocalFleet | None = None
        self._session = secrets.token_hex(8)
        self.hosts: list[HostLink] = []

    async def connect(self) -> None:
        address, arguments = await self._coordinator()
        channel = Channel(address, arguments)
        try:
            known = await channel.ask("identity", _CONNECT_S)
            workers = known["workers"] if isinstance(known, dict) else {}
        except NoAnswerError as error:
            start = "fathom fleet start starts one, and fathom fleet show tells who is there"
            remedy = OF_ONE_AUTHORITY if error.is_of_certificates else start
            raise FathomError(
                f"the coordinator of the fleet at {self._fleet.address} cannot be used: {error}; "
                f"{remedy}"
            ) from error
        finally:
            channel.close()
        scheme = address.partition("://")[0]
        found = {
            str(one["name"]): f"{scheme}://{where.partition('://')[2]}"
            for where, one in workers.items()
        }
        names = self._known_of([*found]) if self._known else self._chosen([*found])
        self.hosts = [HostLink(name, found.get(name, ""), arguments) for name in names]
        for host in self.hosts:
            if not host.address:
                host.lose(_LEFT)
        await self._meet()

    async def _coordinator(self) -> tuple[str, Mapping[str, Any]]:
        """Return the coordinator's address, and how to connect to it and to the hosts."""
        if self._fleet.local_hosts:
            self._local = LocalFleet()
            return await self._local.start(self._fleet.local_hosts), {}
        folder = Path(self._fleet.tls or "")
        register(Accepts(incoming=(), outgoing=("coordinator", "worker")), CLIENT_SCHEME)
        security = security_of(_client_identity(folder))
        return f"{CLIENT_SCHEME}://{self._fleet.address}", security.get_connection_args("client")

    def _chosen(self, there: Sequence[str]) -> list[str]:
        wanted = self._fleet.hosts or tuple(sorted(there, key=_in_order))
        missing = [one for one in wanted if one not in there]
        if missing or not wanted:
            wrong = f"'{missing[0]}' is not in the fleet" if missing else "the fleet has no host"
            raise InvalidRequestError(
                f"{wrong}: there is {_names(there)}; a host joins with fathom fleet join"
            )
        return [*wanted]

    def _known_of(self, there: Sequence[str]) -> list[str]:
        """Return the hosts of the runs before, which all have to be there, or one to go on with."""
        missing = [one for one in self._known if one not in there]
        if missing and not self._goes_on:
            raise FathomError(
                f"host '{missing[0]}' has measured before, and {_LEFT}: there is {_names(there)}; "
                "figures of fewer hosts do not belong beside those of all, so let it join again "
                "(fathom fleet join)"
            )
        return [*self._known]

    @property
    def _goes_on(self) -> bool:
        """Whether runs go on without hosts that are known from earlier ones."""
        return bool(self._known) and self._fleet.on_host_loss == "continue"

    async def _meet(self) -> None:
        if self._only_looks or self._goes_on:
            await asyncio.gather(*(_looked_at(one) for one in self.hosts if one.lost is None))
        else:
            await self._on_all(HostLink.meet)
        if self._only_looks:
            return
        there = [one for one in self.hosts if one.lost is None]
        if not there:
            first = self.hosts[0]
            raise FathomError(f"host '{first.name}' cannot be used, nor any other: {first.lost}")
        ours = version()
        others = {one.name: one.hello["version"] for one in there}
        wrong = [name for name, theirs in others.items() if theirs != ours]
        if wrong:
            told = ", ".join(f"host '{name}' has version {others[name]}" for name in wrong)
            raise FathomError(
                f"{told}, and this is version {ours}: measure with one version on all hosts"
            )

    async def take(self) -> None:
        """Take all hosts for this session, once, or none of them."""
        try:
            await self._on_all(self._taken)
        except FathomError:
            # Whoever has the other hosts may take these as well.
            await asyncio.gather(*(one.release() for one in self.hosts))
            raise

    async def _taken(self, host: HostLink) -> None:
        if host.lost is not None:
            if self._goes_on:
                return
            raise FathomError(f"host '{host.name}' was lost: {host.lost}")
        if not host.is_taken:
            who = f"{_user()} on {platform.node()}, process {os.getpid()}"
            await host.begin(self._session, who)

    async def _on_all(self, do: Callable[[HostLink], Coroutine[Any, Any, None]]) -> None:
        few = asyncio.Semaphore(AT_ONCE)

        async def done(host: HostLink) -> None:
            async with few:
                await do(host)

        found = await asyncio.gather(*(done(one) for one in self.hosts), return_exceptions=True)
        for host, error in zip(self.hosts, found, strict=True):
            if isinstance(error, NoAnswerError):
                raise FathomError(f"host '{host.name}' cannot be used: {error}") from error
            if error is not None:
                raise error

    async def measured(self, run: FleetRun) -> list[HostPart]:
        await self.take()
        return await run.measured()

    async def explained(self, run: FleetRun) -> dict[int, dict[str, Any]]:
        await self.take()
        return await run.explained()

    async def end(self) -> None:
        await asyncio.gather(*(one.end() for one in self.hosts), return_exceptions=True)
        if self._local is not None:
            await self._local.end()


def _client_identity(folder: Path) -> Identity:
    """Return the client's files: those of this host, or the first that the folder has.

    Raises
    ------
    FathomError
        If there are none.

    """
    own = platform.node()
    names = sorted(one.stem.removeprefix("client-") for one in folder.glob("client-*.pem"))
    return certificate_files(folder, "client", own if own in names else next(iter(names), None))


async def _looked_at(host: HostLink) -> None:
    try:
        await host.meet()
    except NoAnswerError as error:
        host.lose(str(error))


def _names(there: Sequence[str]) -> str:
    return ", ".join(sorted(there, key=_in_order)) or "nobody"


def _in_order(name: str) -> tuple[object, ...]:
    """Return a key by which ``local-2`` comes before ``local-10``."""
    head = name.rstrip("0123456789")
    return (head, int(name[len(head) :] or 0), name)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


def _finish(core: _Core, loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    if loop.is_closed():
        return
    if threading.current_thread() is thread:
        # What is left of a session may be found by this very thread, which cannot wait for itself.
        task = loop.create_task(core.end())
        task.add_done_callback(lambda _done: loop.stop())
        return
    with suppress(Exception):
        asyncio.run_coroutine_threadsafe(core.end(), loop).result(_END_S)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(_END_S)
    if not thread.is_alive():
        loop.close()

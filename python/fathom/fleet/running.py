"""One run of a fleet: looked at on every host, decided once, begun together, brought home."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fathom.errors import FathomError, RefusedError
from fathom.fleet.channel import NoAnswerError
from fathom.fleet.link import HostLostError
from fathom.fleet.outcome import HostPart, checked_part
from fathom.fleet.placing import (
    beside_each_other,
    fixed_time,
    host_requests,
    refuse_two_writers,
    sharings,
    split,
)
from fathom.result import Latency

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom._permission import Permission
    from fathom.engine import EventCallback
    from fathom.fleet.address import FleetAddress
    from fathom.fleet.clocks import ClockOffset
    from fathom.fleet.link import HostLink
    from fathom.fleet.placing import Sharing
    from fathom.request import Request

__all__ = ["FleetRun", "Job"]

# Until the load begins, every host has to be told when; and its threads have to stand ready.
_LEAD_S = 0.4
_LEAD_PER_HOST_S = 0.004


@dataclass(frozen=True)
class Job:
    """What is to be run, and how the fleet is used."""

    request: Request
    permission: Permission
    fleet: FleetAddress
    most_hosts: int | None = None
    on_event: EventCallback | None = None


@dataclass
class FleetRun:
    """A run under way."""

    job: Job
    hosts: Sequence[HostLink]
    requests: dict[int, Request] = field(default_factory=dict)
    parts: list[HostPart] = field(default_factory=list)
    _ready: dict[int, asyncio.Event] = field(default_factory=dict)
    _opened: dict[int, asyncio.Task[dict[str, Any]]] = field(default_factory=dict)
    _seconds: dict[int, dict[str, dict[str, Any]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    _stopped: str | None = None
    _told: set[str] = field(default_factory=set)

    async def explained(self) -> dict[int, dict[str, Any]]:
        """Return what each host says of its part; nothing is written.

        Raises
        ------
        FathomError
            If a host cannot say, or two hosts would write one block device.

        """
        asked = host_requests(fixed_time(self.job.request), [one.name for one in self.hosts])
        machines = [one.hello.get("machine", one.name) for one in self.hosts]
        self.requests = dict(enumerate(beside_each_other(asked, machines)))
        told = await self._each(self._explain)
        found = {place: one["explained"] for place, one in told.items()}
        self._place(sharings(found))
        return found

    def _place(self, shared: list[Sharing]) -> None:
        names = [one.name for one in self.hosts]
        machines = [one.hello.get("machine", one.name) for one in self.hosts]
        refuse_two_writers(shared, names, machines)
        if not self.job.fleet.overlap:
            self.requests = split(self.requests, shared)
        self._sharers = {place for one in shared for place in one.names}

    async def measured(self) -> list[HostPart]:
        """Run, and return the part of each host.

        Raises
        ------
        RefusedError
            If any host refuses; then none has written anything.
        FathomError
            If a host cannot do its part, or is lost before the load has begun.

        """
        refuse_where_any(self.hosts, await self.explained())
        for host in self.hosts:
            host.on_event, host.on_lost = self._hear, self._lost
        await asyncio.gather(*(self._look_at_clock(host) for host in self._alive()))
        try:
            await self._prepare()
            await self._start()
            return await self._bring_home()
        except BaseException:
            await self._stop_all("the run was given up")
            raise

    def stop(self, reason: str) -> None:
        """End the run; what was measured is kept."""
        self._stopped = self._stopped or reason
        self._stopping = asyncio.ensure_future(self._stop_all(reason))

    def _alive(self) -> list[HostLink]:
        return [one for one in self.hosts if one.lost is None]

    async def _each(self, do: Any) -> dict[int, dict[str, Any]]:  # noqa: ANN401 - A coroutine function.
        """Have all hosts do something at once; what goes wrong is reported of all together."""
        places = [place for place, host in enumerate(self.hosts) if host.lost is None]
        found = await asyncio.gather(*(do(place) for place in places), return_exceptions=True)
        wrong = [one for one in found if isinstance(one, BaseException)]
        lost = [one for one in wrong if isinstance(one, HostLostError)]
        if wrong and not (len(lost) == len(wrong) and self._goes_on()):
            raise _together(wrong)
        told = zip(places, found, strict=True)
        return {place: one for place, one in told if not isinstance(one, BaseException)}

    def _goes_on(self) -> bool:
        return self.job.fleet.on_host_loss == "continue" and bool(self._alive())

    async def _explain(self, place: int) -> dict[str, Any]:
        return await self.hosts[place].request("explain", **self._asked(place))

    def _asked(self, place: int) -> dict[str, object]:
        allowed = self.job.permission
        return {
            "request": self.requests[place].to_json(),
            "overwrite": allowed.overwrite,
            "allow_write": [*allowed.allow_write],
        }

    async def _look_at_clock(self, host: HostLink) -> None:
        try:
            await host.look_at_clock()
        except NoAnswerError as error:
            host.lose(str(error))

    async def _prepare(self) -> None:
        """Have each host make its files and stand ready; those of one file one after the other."""
        apart = [place for place in self.requests if place not in self._sharers]

        async def in_order() -> None:
            for place in sorted(self._sharers):
                await self._open(place)

        found = await asyncio.gather(
            in_order(), *(self._open(place) for place in apart), return_exceptions=True
        )
        wrong = [one for one in found if isinstance(one, BaseException)]
        if wrong:
            raise _together(wrong)

    async def _open(self, place: int) -> None:
        if self._stopped is not None:
            # Nobody would tell it to begin or to end.
            return
        host = self.hosts[place]
        if host.lost is not None:
            if self._goes_on():
                return
            raise HostLostError(f"host '{host.name}' was lost: {host.lost}")
        self._ready[place] = asyncio.Event()
        is_live = self.job.on_event is not None
        opened = asyncio.create_task(host.request("open", live=is_live, **self._asked(place)))
        self._opened[place] = opened
        ready = asyncio.create_task(self._ready[place].wait())
        await asyncio.wait({opened, ready}, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if self._stopped is not None and not opened.done():
            # It may have had no run yet when all were told to end theirs.
            with suppress(HostLostError):
                await host.tell("stop", reason=self._stopped)
        if opened.done() and not self._ready[place].is_set():
            self._refuse_what_ended(host, opened)

    def _refuse_what_ended(self, host: HostLink, opened: asyncio.Task[dict[str, Any]]) -> None:
        """Raise the error of a host whose run ended before it was ready, such as on a full disk."""
        error = opened.exception()
        if error is None:
            failures = opened.result().get("failures")
            if failures and self._stopped is None:
                raise FathomError(f"host '{host.name}': {'; '.join(map(str, failures))}")
        elif not (isinstance(error, HostLostError) and self._goes_on()):
            raise error

    async def _start(self) -> None:
        """Agree on an instant, and tell each host what its own clock shows then."""
        alive = self._alive()
        lead_s = _LEAD_S + _LEAD_PER_HOST_S * len(alive)
        at_ns = time.time_ns() + round(lead_s * 1e9)
        if self._stopped is None:
            await asyncio.gather(
                *(host.tell("start", at_unix_ns=host.clock.there_ns(at_ns)) for host in alive),
                return_exceptions=True,
            )

    async def _bring_home(self) -> list[HostPart]:
        """Wait for what each host has measured; the loss of one is acted on at once."""
        waiting = set(self._opened.values())
        while waiting:
            lost = [one for one in self.hosts if one.lost is not None]
            if lost and not self._goes_on() and self._stopped is None:
                self._stopped = f"host {lost[0].name} was lost: {lost[0].lost}"
                await self._stop_all(self._stopped)
            _done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        moved = await asyncio.gather(*(self._moved_ns(host) for host in self.hosts))
        return [
            self._part(place, host, moved_ns)
            for place, (host, moved_ns) in enumerate(zip(self.hosts, moved, strict=True))
        ]

    async def _moved_ns(self, host: HostLink) -> tuple[ClockOffset, int]:
        """Return the clock by which the run began, and how far it has moved since."""
        before = host.clock
        if host.lost is not None:
            return before, 0
        try:
            await host.look_at_clock()
        except NoAnswerError as error:
            host.lose(str(error))
            return before, 0
        return before, before.moved_ns(host.clock)

    def _part(self, place: int, host: HostLink, clock: tuple[ClockOffset, int]) -> HostPart:
        part = HostPart(
            name=host.name,
            index=place,
            version=host.hello.get("version", ""),
            kernel=host.hello.get("kernel", ""),
            clock=clock[0],
            moved_ns=clock[1],
            lost=host.lost,
            asked=self.requests[place],
        )
        opened = self._opened.get(place)
        if opened is None:
            return replace(part, lost=part.lost or "it took no part")
        error = opened.exception()
        if isinstance(error, HostLostError):
            return part
        if error is not None:
            return replace(part, lost=str(error))
        return self._measured(part, opened.result())

    def _measured(self, part: HostPart, found: dict[str, Any]) -> HostPart:
        try:
            measured = checked_part(found["result"], self.requests[part.index])
        except FathomError as wrong:
            return replace(part, lost=f"its result makes no sense: {wrong}")
        failures = tuple(f"host '{part.name}': {one}" for one in found["failures"])
        if measured.began_unix_ns is None and self._stopped is not None and not failures:
            return replace(part, lost="its load had not begun when the run was ended")
        if measured.is_whole:
            # All that it has measured came home, whatever became of it later.
            part = replace(part, lost=None)
        elif part.lost is not None and self._stopped is None:
            # The others have measured for longer: its part cannot be added to theirs.
            return part
        return replace(part, measured=measured, failures=failures)

    async def _stop_all(self, reason: str) -> None:
        told = (host.tell("stop", reason=reason) for host in self._alive())
        await asyncio.gather(*told, return_exceptions=True)

    def _hear(self, host: HostLink, event: dict[str, Any]) -> None:
        place = next(place for place, one in enumerate(self.hosts) if one is host)
        name = event.get("event")
        if name == "ready" and place in self._ready:
            self._ready[place].set()
        if self.job.on_event is None:
            return
        if name == "live":
            self._live(host, event)
        elif name == "filling":
            target = f"{event['target']} ({host.name})"
            told = {"done_bytes": event["done_bytes"], "total_bytes": event["total_bytes"]}
            self.job.on_event("filling", {"target": target, **told})
        elif name in ("phase_started", "finished"):
            self._once(name, event)

    def _lost(self, host: HostLink) -> None:
        if self.job.on_event is not None:
            self.job.on_event("host_lost", {"host": host.name, "why": host.lost})

    def _once(self, name: str, event: dict[str, Any]) -> None:
        """Tell what happens on all hosts together when the first of them tells it."""
        kept = ("time_span", "phase", "planned_ns")
        told = {field: event[field] for field in kept if field in event}
        key = json.dumps([name, told])
        if key not in self._told and self.job.on_event is not None:
            self._told.add(key)
            self.job.on_event(name, told)

    def _live(self, host: HostLink, event: dict[str, Any]) -> None:
        """Tell the second of a host, and once all have told theirs, the sum."""
        if self.job.on_event is None:
            return
        self.job.on_event("host_live", {"host": host.name, **_figures([event])})
        second = self._seconds[event["second"]]
        second[host.name] = event
        if len(second) >= len(self._alive()):
            del self._seconds[event["second"]]
            self.job.on_event("live", _figures([*second.values()]))


def _figures(events: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return one second of several hosts, as that of one: percentiles are those of all I/Os."""
    latency = Latency.merged(one["latency"] for one in events if one.get("latency"))
    quantiles = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
    told = {
        f"latency_ns_{name}": 0 if latency is None else latency.quantile_ns(share)
        for name, share in quantiles.items()
    }
    sums = {name: sum(one[name] for one in events) for name in ("ios", "bytes", "in_flight")}
    octaves: Counter[int] = Counter()
    for lower_ns, count in (latency.buckets if latency is not None else {}).items():
        octaves[max(lower_ns, 1).bit_length() - 1] += count
    more = {"latency_octaves": dict(sorted(octaves.items())), "targets": []}
    return {"second": events[0]["second"], **sums, **told, **more}


def refuse_where_any(hosts: Sequence[HostLink], explained: dict[int, dict[str, Any]]) -> None:
    """Refuse the run on all hosts if one of them would refuse it.

    Raises
    ------
    RefusedError
        It names each host and its reason.

    """
    told = [
        f"host '{hosts[place].name}': {target['path']}: {target['verdict']['reason']}; "
        f"{target['verdict']['remedy']}"
        for place, one in explained.items()
        for target in one["targets"]
        if target["verdict"]["is_refused"]
    ]
    if told:
        raise RefusedError("\n".join([*dict.fromkeys(told), "no host has written anything"]))


def _together(errors: Sequence[BaseException]) -> BaseException:
    """Return one error for those of several hosts."""
    ours = [one for one in errors if isinstance(one, FathomError)]
    if len(ours) < len(errors):
        return next(one for one in errors if not isinstance(one, FathomError))
    if len(ours) == 1:
        return ours[0]
    first = next((one for one in ours if not isinstance(one, HostLostError)), ours[0])
    kind = FathomError if isinstance(first, HostLostError) else type(first)
    return kind("\n".join(dict.fromkeys(str(one) for one in ours)))

"""Which part of a load each host does: names of targets, and ranges of what several share."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fathom.errors import InvalidRequestError, RefusedError
from fathom.units import MIB

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom._request_parts import Target, TimeSpan
    from fathom.request import Request

__all__ = [
    "Sharing",
    "beside_each_other",
    "fixed_time",
    "host_requests",
    "refuse_two_writers",
    "sharings",
    "split",
]

_RULES_THAT_END = ("ios", "bytes", "pass_")
# A share of much is cut at whole MiB, which every block size divides that people use.
_MUCH_BYTES = 64 * MIB
_LOOK_MS = 100
# What is served by these is a file of the server's file system.
_OF_FILES = ("nfs:", "smb:", "\\\\")


@dataclass(frozen=True)
class Sharing:
    """Storage that several hosts use.

    Attributes
    ----------
    kind
        ``file``, ``block_device``, ``network``, or ``none`` if it is to be made.
    names
        By the place of the host, what its request calls it.
    writers
        The places of the hosts that write it.
    path
        Where it is on the first of them.
    end_bytes
        Its size; the least where hosts differ.

    """

    kind: str
    names: Mapping[int, str]
    writers: tuple[int, ...]
    path: str
    end_bytes: int

    @property
    def is_bare(self) -> bool:
        """Whether it is a device, here or served by another host, and no file of a file system."""
        is_file = self.path.lower().startswith(_OF_FILES)
        return self.kind == "block_device" or (self.kind == "network" and not is_file)


def fixed_time(request: Request) -> Request:
    """Return a request whose load lasts equally long on all hosts.

    Rules that end a run once its mean is known are left out, as each host would end at its own
    time: the longest time is taken, and a series kept, of which the mean is known as well.

    Raises
    ------
    InvalidRequestError
        If the load ends by a count.

    """
    spans = request.profile.time_spans
    for span in spans:
        if any(getattr(span.stop, rule) for rule in _RULES_THAT_END):
            raise InvalidRequestError(
                "a fleet measures on all hosts for the same time: --stop-ios, --stop-bytes and "
                "--stop-pass end each host at a time of its own, so give a duration (-d)"
            )
    profile = replace(request.profile, time_spans=tuple(_fixed(span) for span in spans))
    return replace(request, profile=profile)


def _fixed(span: TimeSpan) -> TimeSpan:
    if span.stop.confidence is None and span.stop.steady is None:
        return span
    return replace(
        span,
        stop=type(span.stop)(),
        interval_series=True,
        interval_ms=min(span.interval_ms, span.stop.interval_ms or _LOOK_MS, _LOOK_MS),
    )


def host_requests(request: Request, names: Sequence[str]) -> list[Request]:
    """Return what is requested of each host: its name and place stand in the names of targets.

    Each has random numbers of its own, or all would go to the same places of what they share.
    """
    return [_of_host(request, name, index) for index, name in enumerate(names)]


def _of_host(request: Request, name: str, index: int) -> Request:
    def placed(target: Target) -> Target:
        # A colon (IPv6) or slash would be no part of a file's name.
        word = name.replace(":", "_").replace("/", "_")
        path = target.path.replace("{host}", word).replace("{index}", str(index))
        return replace(target, path=path)

    spans = tuple(
        replace(
            span,
            random_seed=span.random_seed + index,
            targets=tuple(placed(target) for target in span.targets),
        )
        for span in request.profile.time_spans
    )
    return replace(request, profile=replace(request.profile, time_spans=spans))


def beside_each_other(requests: Sequence[Request], machines: Sequence[str]) -> list[Request]:
    """Return the requests without places for threads where hosts are on one machine.

    Each would pin its threads to the same CPUs, from the first one on. What names CPUs keeps them.
    """
    alone = [machines.count(machine) == 1 for machine in machines]
    return [
        one if is_alone else _unpinned(one) for one, is_alone in zip(requests, alone, strict=True)
    ]


def _unpinned(request: Request) -> Request:
    spans = tuple(
        span if span.cpus else replace(span, disable_affinity=True)
        for span in request.profile.time_spans
    )
    return replace(request, profile=replace(request.profile, time_spans=spans))


def sharings(explained: Mapping[int, Mapping[str, Any]]) -> list[Sharing]:
    """Return what several hosts would use, by what each says of its targets."""
    users: dict[str, dict[int, Mapping[str, Any]]] = defaultdict(dict)
    for place, told in explained.items():
        for target in told["targets"]:
            kept = users[target["identity"]].setdefault(place, target)
            if target["is_written"] and not kept["is_written"]:
                users[target["identity"]][place] = target
    return [_sharing(found) for found in users.values() if len(found) > 1]


def _sharing(found: Mapping[int, Mapping[str, Any]]) -> Sharing:
    first = next(iter(found.values()))
    return Sharing(
        kind=first["kind"],
        names={place: target["name"] for place, target in found.items()},
        writers=tuple(place for place, target in found.items() if target["is_written"]),
        path=first["path"],
        end_bytes=min(target["size_bytes"] for target in found.values()),
    )


def refuse_two_writers(
    shared: Sequence[Sharing], names: Sequence[str], machines: Sequence[str]
) -> None:
    """Refuse what would be written while another host uses it, and nobody keeps them apart.

    That is a block device, and a file that two hosts on one machine open: the guard of the second
    would refuse it once the first has it open.

    Raises
    ------
    RefusedError
        It names both.

    """
    for one in shared:
        users = " and ".join(f"'{names[place]}'" for place in one.names)
        remedy = "give each host a target of its own ({host} and {index} may stand in its name)"
        if one.is_bare and one.writers:
            raise RefusedError(
                f"{users} mean one block device, {one.path}, which would be written: no file "
                f"system is there that keeps them apart; {remedy}, or measure from one host "
                "(--hosts)"
            )
        where = [machines[place] for place in one.names]
        if one.writers and len(set(where)) < len(where):
            raise RefusedError(
                f"{users} mean one file, {one.path}, which would be written, and are on one "
                f"machine, where a file that is written has one user; {remedy}"
            )


def split(requests: Mapping[int, Request], shared: Sequence[Sharing]) -> dict[int, Request]:
    """Return the requests with a range for each host of what it shares.

    Raises
    ------
    InvalidRequestError
        If a target cannot be split; it says why.

    """
    found = dict(requests)
    for one in shared:
        for number, (place, name) in enumerate(sorted(one.names.items())):
            found[place] = _with_range(found[place], name, one, (number, len(one.names)))
    return found


def _with_range(request: Request, name: str, shared: Sharing, part: tuple[int, int]) -> Request:
    spans = tuple(
        replace(
            span,
            targets=tuple(
                _part_of(one, shared, part) if one.path == name else one for one in span.targets
            ),
        )
        for span in request.profile.time_spans
    )
    return replace(request, profile=replace(request.profile, time_spans=spans))


def _part_of(target: Target, shared: Sharing, part: tuple[int, int]) -> Target:
    more = target.extensions
    own = [one for one in (more.read_pattern, more.write_pattern) if one and one.range]
    if own or type(target.distribution).__name__ == "DistributionAbsolute":
        raise InvalidRequestError(
            f"{target.path} is shared by {part[1]} hosts, and its ranges are given in bytes, so "
            "that it cannot be split: give --overlap, or each host a target of its own"
        )
    number, count = part
    mixes = (more.block_mix, more.read_block_mix, more.write_block_mix)
    largest = max([target.block_bytes, *(one.block_bytes for mix in mixes for one in mix)])
    end = min(filter(None, (target.limit_bytes, shared.end_bytes)), default=0)
    share = max(0, end - target.base_bytes) // count
    unit = MIB if share >= _MUCH_BYTES and MIB % largest == 0 else largest
    share -= share % unit
    if share < largest:
        raise InvalidRequestError(
            f"{target.path} is shared by {count} hosts, and {end - target.base_bytes} bytes are "
            f"too few to give each of them one block of {largest} bytes: make it larger (-c), or "
            "give --overlap"
        )
    base = target.base_bytes + number * share
    return replace(target, base_bytes=base, limit_bytes=base + share)

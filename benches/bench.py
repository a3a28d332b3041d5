#!/usr/bin/env python3
"""Measure our own tool beside its peers, interleaved, and judge the ratios.

    benches/bench.py [--case NAME ...] [--pairs 5] [--seconds 1] [--json FILE] [--strict]
                     [--old BINARY]

The peers are fio, and loops of pread and of io_uring without statistics (bare.c). Where a peer has
several ways that may be its best one, all of them are tried, and the best is the opponent. The two
then take turns (A B A B ...), so that a change of the machine's speed meets both; the figure of a
case is the median of the ratios of all pairs. Latency is measured by us and by fio. CPU time is
that of getrusage for the whole process with its children and the kernel's workers; the table tells
how many cores were busy, because workers may run on others than the pinned one.

With --old the opponent of each case is another build of our own tool instead, which must not have
been faster by more than 2 %: what a change of the code costs.

A case that cannot run says why and is skipped. The exit code is 1 if a tool fails; with --strict
also if a limit is broken or a case is skipped.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cases import CASES, Case, Duel, Setting
from legs import Leg, LegError, Tool, run
from network_cases import NETWORK_CASES
from places import MissingError, Places, fio_binary, zram_state

if TYPE_CHECKING:
    from collections.abc import Callable

SCREENING_LEGS = 2
NO_SLOWER = 0.98
ALL_CASES = [*CASES, *NETWORK_CASES]


@dataclass(frozen=True)
class Outcome:
    """What a case showed."""

    case: Case
    ours: Tool
    peer: Tool | None
    pairs: list[tuple[Leg, Leg | None]]
    screened: dict[str, float]
    """The best figure of each peer that was tried."""
    place: str

    @property
    def ours_figure(self) -> float:
        """The median of our own figures."""
        return statistics.median(self.case.figure.of(ours) for ours, _ in self.pairs)

    @property
    def peer_figure(self) -> float | None:
        """The median of the peer's figures."""
        figures = [self.case.figure.of(peer) for _, peer in self.pairs if peer is not None]
        return statistics.median(figures) if figures else None

    def both(self, of: Callable[[Leg], float], form: str) -> str:
        """Medians of another figure, ours and the peer's."""
        sides = [[ours for ours, _ in self.pairs], [peer for _, peer in self.pairs if peer]]
        medians = [statistics.median(of(leg) for leg in side) for side in sides if side]
        return " / ".join(format(median, form) for median in medians)

    @property
    def values(self) -> list[float]:
        """What is judged: ratio or difference of each pair, or our own figure without a peer."""
        of = self.case.figure.of
        if self.case.difference:
            return [of(ours) - (of(peer) if peer else 0) for ours, peer in self.pairs]
        return [of(ours) / of(peer) if peer else of(ours) for ours, peer in self.pairs]

    @property
    def value(self) -> float:
        """The median of what is judged."""
        return statistics.median(self.values)

    @property
    def middle_half(self) -> str:
        """In words, between which values the middle half of what is judged lies."""
        if len(self.values) < 2:  # noqa: PLR2004 - One has no quartiles.
            return ""
        low, _, high = statistics.quantiles(self.values, n=4, method="inclusive")
        return f"{low:.3f} to {high:.3f}"


def main() -> int:
    """Run the cases, show the table, write the JSON."""
    options = _options()
    cases = [case for case in ALL_CASES if not options.case or case.name in options.case]
    outcomes: list[Outcome] = []
    skipped: dict[str, str] = {}
    failed: dict[str, str] = {}
    for case in cases:
        print(f"{case.name}: {case.title}", file=sys.stderr)
        try:
            outcomes.append(_measure(case, options))
        except MissingError as reason:
            skipped[case.name] = str(reason)
        except LegError as error:
            failed[case.name] = str(error)
    print(_table(outcomes))
    for word, notes in (("skipped", skipped), ("failed", failed)):
        for name, words in notes.items():
            print(f"{word}: {name}: {words}")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        document = _document(outcomes, skipped, failed, options)
        options.json.write_text(json.dumps(document, indent=2) + "\n")
    broken = any(not outcome.case.holds(outcome.value) for outcome in outcomes)
    return int(bool(failed) or (options.strict and (broken or bool(skipped))))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure our own tool beside its peers.")
    names = [case.name for case in ALL_CASES]
    parser.add_argument("--diskspd", type=Path, default=Path("target/release/diskspd"))
    parser.add_argument("--old", type=Path, help="an older build of it to compare with instead")
    parser.add_argument("--fio", default="fio", help="fio to compare with")
    parser.add_argument("--case", action="append", choices=names, help="only these cases")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=1, help="length of a leg")
    parser.add_argument("--json", type=Path, default=Path("target/bench/bench.json"))
    parser.add_argument("--scratch", type=Path, default=Path("target/bench"))
    parser.add_argument("--strict", action="store_true", help="a broken limit is a failure")
    options = parser.parse_args()
    if options.pairs < 1 or options.seconds < 1:
        parser.error("--pairs and --seconds are at least 1")
    return options


def _measure(case: Case, options: argparse.Namespace) -> Outcome:
    with ExitStack() as stack:
        places = Places(options.scratch)
        setting = Setting(options.diskspd, options.fio, places, options.seconds, stack)
        duel = case.duel(setting)
        if options.old:
            case, duel = _against_old(case, duel, setting, options.old)
        place = zram_state() if "zram" in case.name else ""
        peer, screened = _best(case, duel.peers)
        pairs = []
        for number in range(options.pairs):
            pair = run(duel.ours), run(peer) if peer else None
            pairs.append(pair)
            shown = [f"{case.figure.of(leg):,.4g}" for leg in pair if leg]
            print(f"  pair {number + 1}: {' against '.join(shown)}", file=sys.stderr)
    return Outcome(case, duel.ours, peer, pairs, screened, place)


def _against_old(case: Case, duel: Duel, setting: Setting, old: Path) -> tuple[Case, Duel]:
    """Let another build of our own tool be the opponent."""
    new = str(setting.diskspd)
    words = tuple(str(old) if word == new else word for word in duel.ours.command)
    peer = replace(duel.ours, name="the old build", command=words)
    limit = 1 / NO_SLOWER if case.at_most else NO_SLOWER
    return replace(case, limit=limit, difference=False), Duel(duel.ours, [peer])


def _best(case: Case, peers: list[Tool]) -> tuple[Tool | None, dict[str, float]]:
    """Find the best peer; each runs some times, interleaved, and its best figure counts."""
    if len(peers) < 2:  # noqa: PLR2004 - There is nothing to choose.
        return (peers[0] if peers else None), {}
    figures: dict[str, list[float]] = {peer.name: [] for peer in peers}
    usable = list(peers)
    for _ in range(SCREENING_LEGS):
        for peer in list(usable):
            try:
                figures[peer.name].append(case.figure.of(run(peer)))
            except LegError as error:
                print(f"  {error}", file=sys.stderr)
                usable.remove(peer)
    if not usable:
        raise LegError("no peer could run")
    screened = {peer.name: case.figure.best(figures[peer.name]) for peer in usable}
    best = case.figure.best(list(screened.values()))
    chosen = next(peer for peer in usable if screened[peer.name] == best)
    print(f"  the best peer is {chosen.name}", file=sys.stderr)
    return chosen, screened


def _table(outcomes: list[Outcome]) -> str:
    columns = "case | ours | peer | judged | middle half | range | limit | kept | cores"
    lines = [f"| {columns} | CPU ns per I/O |", "|---|---:|---|---:|---:|---:|---:|---|---:|---:|"]
    for outcome in outcomes:
        case, values = outcome.case, outcome.values
        peer = "" if outcome.peer is None else f"{outcome.peer.name}: {outcome.peer_figure:,.4g}"
        sign = "≤" if case.at_most else "≥"
        kept = "yes" if case.holds(outcome.value) else "NO"
        lines.append(
            f"| {case.name} | {outcome.ours_figure:,.4g} {case.figure.unit} | {peer} "
            f"| {outcome.value:.3f} | {outcome.middle_half} "
            f"| {min(values):.3f} to {max(values):.3f} "
            f"| {sign} {case.limit:g} | {kept} "
            f"| {outcome.both(lambda leg: leg.cores, '.2f')} "
            f"| {outcome.both(lambda leg: leg.cpu_ns_per_io, ',.0f')} |"
        )
    return "\n".join(lines)


def _document(
    outcomes: list[Outcome],
    skipped: dict[str, str],
    failed: dict[str, str],
    options: argparse.Namespace,
) -> dict[str, Any]:
    return {
        "host": _host(),
        "versions": _versions(options),
        "pairs": options.pairs,
        "leg_seconds": options.seconds,
        "cases": [_case(outcome) for outcome in outcomes],
        "skipped": skipped,
        "failed": failed,
    }


def _host() -> dict[str, Any]:
    info = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
    virtual = any(line.startswith("flags") and " hypervisor" in line for line in info)
    return {
        "kernel": platform.release(),
        "cpu": models[0] if models else platform.machine(),
        "cpus": len(models),
        "virtual": virtual,
    }


def _versions(options: argparse.Namespace) -> dict[str, str]:
    versions = {"diskspd": _told([str(options.diskspd), "--version"])}
    try:
        versions["fio"] = _told([fio_binary(options.fio), "--version"])
    except MissingError as reason:
        versions["fio"] = str(reason)
    return versions


def _told(command: list[str]) -> str:
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - Ours.
    return done.stdout.strip()


def _case(outcome: Outcome) -> dict[str, Any]:
    case, peer = outcome.case, outcome.peer
    return {
        "name": case.name,
        "title": case.title,
        "unit": case.figure.unit,
        "ours": outcome.ours_figure,
        "peer": outcome.peer_figure,
        "peer_name": peer.name if peer else None,
        "judged": outcome.value,
        "judged_all": outcome.values,
        "limit": case.limit,
        "limit_is": "at most" if case.at_most else "at least",
        "kept": case.holds(outcome.value),
        "peers_tried": outcome.screened,
        "place": outcome.place,
        "our_command": " ".join(outcome.ours.command[:40]),
        "peer_command": " ".join(peer.command) if peer else None,
        "cores": outcome.both(lambda leg: leg.cores, ".2f"),
        "legs": [[asdict(leg) if leg else None for leg in pair] for pair in outcome.pairs],
    }


if __name__ == "__main__":
    sys.exit(main())

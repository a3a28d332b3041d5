"""Claims about a target: each with the runs that it rests on, and what speaks against them."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from fathom._claims import Claim, Evidence, doubts_of, within_sentence
from fathom.engine import load_of
from fathom.experiments.assess._classes import rank_of
from fathom.findings import RULES, find
from fathom.findings.causes import (
    BEFALLING_RULES,
    DISTURBING,
    OTHERS_ANSWERED,
    TITLES,
    apart,
    causes_of,
)
from fathom.findings.observed import CHANGED
from fathom.hosts import hosts_in_sum
from fathom.metrics import unit_of
from fathom.units import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom._claims import Unit
    from fathom.experiments.assess.cell import Cell
    from fathom.experiments.assess.session import AssessedCell, TargetCells
    from fathom.findings import Finding, Rule
    from fathom.result import Result
    from fathom.runners import Figures

__all__ = [
    "ClaimMaker",
    "Parameters",
    "conditions_of",
    "findings_of",
    "is_durable",
    "marks_of",
    "parameters_of",
    "rules_of",
    "runs_of",
    "stall_words",
    "why_not_most",
]

Parameters = dict[str, int | float | str | bool]

_NAMES: dict[Unit, tuple[str, ...]] = {
    "ns": ("latency_mean_ns", "latency_p99_ns", "iops"),
    "IOPS": ("iops",),
    "MiB/s": ("mib_per_s",),
}
_ALL_PERCENT = 100
BOTH = frozenset({"reads", "writes"})
LIMITS = frozenset({"io-limited", "provisioned-limit"})
"""Rules of what may limit one direction alone."""
_GREW = "not-enough-outstanding"
_NEIGHBOURS = "noisy-neighbour"
"""It looks for CPU time that was stolen, and compares runs of the same load."""


def parameters_of(one: AssessedCell) -> Parameters | None:
    """Return what was asked of the target; None of a cell that was not run."""
    return dict(_asked(tuple(one.arguments))) if one.arguments else None


@lru_cache(maxsize=4096)
def _asked(arguments: tuple[str, ...]) -> Parameters:
    """Return what arguments ask for: each cell is looked at by several claims and tables."""
    (asked,) = load_of(arguments).profile.time_spans[0].targets
    return {
        "block_bytes": asked.block_bytes,
        "random_percent": asked.access.random_percent,
        "write_percent": asked.write_percent,
        "threads": asked.threads,
        "depth": asked.outstanding,
        "limit_bytes": asked.limit_bytes,
        "caching": asked.caching,
        "write_through": asked.write_through,
    }


def rules_of(one: AssessedCell) -> tuple[str, ...]:
    """Return the rules of the findings that this run has a part in: the marks of its row."""
    if one.result is None:
        return ()
    return tuple(dict.fromkeys((*_rules_alone(one, one.result), *one.touched_by)))


def _rules_alone(one: AssessedCell, result: Result) -> tuple[str, ...]:
    """Return the rules of the findings of a run by itself: claims and tables ask many times."""
    if one.judged is None or one.judged[0] is not result:
        rules = [rule for rule in RULES if _is_judged_by(one.cell, rule.name)]
        one.judged = result, tuple(found.rule for found in find([result], rules=rules))
    return one.judged[1]


def _is_judged_by(cell: Cell, rule: str) -> bool:
    """Whether a rule looks at a cell: where the rest is on purpose, at what befell its run."""
    if rule == _NEIGHBOURS:
        # Rounds until steady differ from each other on purpose.
        return cell.for_findings or cell.role == "cache_step"
    return cell.for_findings or rule in BEFALLING_RULES


def stall_words(*cells: AssessedCell) -> str:
    """Return what a sentence about runs has to say of their stalls, if there are any."""
    stalled = [one for one in cells if one.result is not None and "stalled" in rules_of(one)]
    if not stalled:
        return ""
    kinds = {kind for one in stalled if one.result for kind in causes_of(one.result)}
    if "stalled_at_end" in kinds:
        return "; it ended in a stall, of whose I/Os only the beginning was seen"
    return "; the target stalled meanwhile"


def marks_of(one: AssessedCell) -> tuple[str, ...]:
    """Return the rules of findings that this run has a part in, and that speak against figures."""
    weak, forbidding = doubts_of(rules_of(one))
    return (*forbidding, *weak)


def findings_of(plan: TargetCells) -> list[Finding]:
    """Return what was found on a target: of runs that are for something else, what befell them."""
    done = [one for one in plan.done() if one.result is not None]
    together: dict[tuple[int, ...], list[Rule]] = {}
    for rule in RULES:
        judged = (not plan.target.is_direct or _is_judged_by(one.cell, rule.name) for one in done)
        places = tuple(at for at, is_judged in enumerate(judged) if is_judged)
        together.setdefault(places, []).append(rule)
    found: dict[str, Finding] = {}
    for places, rules in together.items():
        results = [result for at in places if (result := done[at].result) is not None]
        ids = [done[at].run_id for at in places]
        for its in find(results, ids, rules=rules, target=plan.target.name):
            # What is for something else is not looked at, and counted so.
            left_out = its.left_out_count + len(done) - len(places)
            found[its.rule] = replace(its, left_out_count=left_out)
    for one in done:
        one.touched_by = tuple(rule for rule, its in found.items() if one.run_id in runs_of(its))
    return [found[rule.name] for rule in RULES if rule.name in found]


def runs_of(finding: Finding) -> frozenset[int]:
    """Return the runs that a finding is about."""
    return frozenset(run_id for case in finding.cases for run_id in case.run_ids)


def limited_directions(plan: TargetCells, rule: str) -> frozenset[str]:
    """Return in which directions a limit was met: by loads of one alone, where it was by any."""
    met = [_directions(one) for one in plan.done() if rule in rules_of(one)]
    alone = frozenset().union(*(one for one in met if len(one) == 1))
    return alone or BOTH


def _directions(one: AssessedCell) -> frozenset[str]:
    """Return which of reads and writes a cell has."""
    written = (parameters_of(one) or {}).get("write_percent", 0)
    mixed = BOTH if written else frozenset({"reads"})
    return frozenset({"writes"}) if written == _ALL_PERCENT else mixed


def is_durable(one: AssessedCell) -> bool:
    """Whether writes of a cell are not done before they would survive an outage."""
    asked = parameters_of(one)
    return asked is None or bool(asked["write_through"])


def why_not_most(
    plan: TargetCells, family: tuple[str, ...], *, besides: tuple[str, ...] = ()
) -> str:
    """Return why the greatest rate of these runs may not be the most, in words; else nothing.

    ``family`` begins the keys of the cells, ``besides`` those of others that are in its rise.
    """
    if any(one.cell.key.startswith(family) and not one.cell.writes for one in plan.missing()):
        return "whether more outstanding bring more was not measured to the end"
    mine = [
        one
        for one in plan.done()
        if one.cell.key.startswith((*family, *besides)) and not one.cell.writes
    ]
    disturbed = _disturbed(mine)
    if disturbed:
        return f"whether it completes more is not known: {disturbed}"
    # Of a step below the deepest, those behind it tell where it ended.
    rising = [one for one in mine if one.cell.saturates]
    if rising and _GREW in rules_of(rising[-1]):
        return "with more outstanding it may complete more: the last step still brought much"
    return ""


def _disturbed(cells: Sequence[AssessedCell]) -> str:
    """Return by what runs were disturbed, in words; empty if by nothing."""
    mine = [causes_of(one.result) & DISTURBING for one in cells if one.result is not None]
    first = next((one for one in TITLES if any(one in causes for causes in mine)), None)
    if first is None:
        return ""
    return f"{TITLES[first]} in {sum(first in one for one in mine)} of {counted(len(mine), 'run')}"


class ClaimMaker:
    """Makes the claims about a target, by what was measured and what was found."""

    def __init__(self, plan: TargetCells, findings: Sequence[Finding]) -> None:
        """Look at what each run requested, and which findings forbid a judgement."""
        self.plan = plan
        self.figures: Mapping[str, Figures] = plan.figures()
        self.cells = {one.cell.key: one for one in plan.cells}
        # What has other causes, too, forbids nothing.
        sure = [one.rule for one in findings if one.confidence != "possible"]
        _, self._forbidding = doubts_of(sure)
        self._parameters = {key: parameters_of(self.cells[key]) for key in self.figures}
        self._limited = {
            one: limited_directions(plan, one) for one in self._forbidding if one in LIMITS
        }

    def claim(self, key: str, text: str, cells: Mapping[str, Unit]) -> Claim:
        """Return a claim that rests on these cells, each with the unit that counts of it."""
        evidence = [one for cell, unit in cells.items() for one in self._evidence(cell, unit)]
        weak, _ = doubts_of(rule for cell in cells for rule in rules_of(self.cells[cell]))
        return Claim(key, text, tuple(evidence), weak, self.forbidden_by(*cells))

    def forbidden_by(self, *keys: str) -> tuple[str, ...]:
        """Return the rules that forbid a judgement on these cells.

        A limit forbids none on the direction in which it was not met.
        """
        known = [self.cells[key] for key in keys if key in self.cells]
        mine = {one for cell in known for one in _directions(cell)} or BOTH
        return tuple(
            one for one in self._forbidding if not keys or self._limited.get(one, mine) & mine
        )

    @property
    def is_barred(self) -> bool:
        """Whether a judgement is forbidden on reads and on writes."""
        met = [self._limited.get(one, BOTH) for one in self._forbidding]
        return frozenset().union(*met) == BOTH

    def judged(self, key: str, judged: str, plain: str, cells: Mapping[str, Unit]) -> Claim:
        """Return a claim that judges, unless a finding forbids that: then it has numbers alone."""
        return self.claim(key, plain if self.forbidden_by(*cells) else judged, cells)

    def about(self, finding: Finding) -> str:
        """Return the title of a finding within a sentence, with how sure it is and where it was."""
        title = within_sentence(finding.title)
        ids = runs_of(finding)
        met = frozenset().union(
            *(_directions(one) for one in self.plan.done() if one.run_id in ids)
        )
        only = f", of its {next(iter(met))} alone" if len(met) == 1 else ""
        only = only if finding.rule in LIMITS else ""
        return f"{title} ({finding.confidence}{only})"

    def stalls(self, *keys: str) -> str:
        """Return what a sentence about these cells has to say of their stalls, if there are any."""
        return stall_words(*(self.cells[key] for key in keys))

    def depth(self, key: str) -> int:
        """Return what each thread of a cell kept outstanding."""
        asked = self._parameters.get(key)
        return int(asked["depth"]) if asked else 1

    def single_at(self, depth: int) -> str | None:
        """Return the random reads of one thread at a depth."""
        keys = [key for key in self.figures if key == "read-1" or key.startswith("random-")]
        reads = [key for key in keys if not key.endswith("-write")]
        return next((key for key in reads if self.depth(key) == depth), None)

    def apart(self, *keys: str) -> str | None:
        """Return why these cells cannot be compared, in words; None if nothing speaks against."""
        return apart(*(self.cells[key].result for key in keys))

    def past_the_cache(self) -> str | None:
        """Return the reads past the page cache that differ from those through it in that alone."""
        if "cached" not in self.figures:
            return None
        cached = self._reach("cached")
        keys = [key for key in self.figures if key == "read-1" or key.startswith("set-")]
        return next((key for key in keys if self._reach(key) == cached), None)

    def _reach(self, key: str) -> int:
        """Return how many bytes of the target a cell touches at most."""
        asked = self._parameters.get(key)
        size_bytes = self.plan.target.size_bytes
        return min(int(asked["limit_bytes"]) or size_bytes, size_bytes) if asked else size_bytes

    def apart_from_the_cache(self, past: str) -> str | None:
        """Return why reads past the page cache cannot be compared with those through it, if so."""
        direct, cached = (self.cells[key].result for key in (past, "cached"))
        if direct is not None and causes_of(direct) & OTHERS_ANSWERED:
            first = next(one for one in TITLES if one in causes_of(direct) & OTHERS_ANSWERED)
            return f"{TITLES[first]} past it, too"
        return apart(direct, cached, expected=OTHERS_ANSWERED)

    def scatter(self, gain: float) -> tuple[float, float] | None:
        """Return the rates of the baseline, if it differs more from itself than by this gain."""
        rates = [self.figures[key].iops for key in ("read-1", "again") if key in self.figures]
        if len(rates) < 2 or not min(rates):  # noqa: PLR2004 - Once more.
            return None
        scatter = max(rates) / min(rates)
        if scatter < CHANGED or not 1 / scatter < gain < scatter:
            return None
        return rates[0], rates[1]

    def single_reads(self) -> list[str]:
        """Return the cells of single random reads by which its class is known.

        That is the first one, and also the same load at the end where it is in another class and
        nothing explains that; the one at the end alone if the first gave no latency.
        """
        measured = [key for key in ("read-1", "again") if self._mean_ns(key) is not None]
        if len(measured) < 2 or self.apart(*measured) is not None:  # noqa: PLR2004 - Once more.
            return measured[:1]
        means = [self.mean_ns(key) for key in measured]
        is_apart = rank_of(means[0]) != rank_of(means[1]) and max(means) >= CHANGED * min(means)
        return measured if is_apart else measured[:1]

    def mean_ns(self, key: str) -> float:
        """Return the mean latency of a cell that has one."""
        return self._mean_ns(key) or 0.0

    def _mean_ns(self, key: str) -> float | None:
        figures = self.figures.get(key)
        return None if figures is None else figures.latency_mean_ns

    def is_durable(self, key: str) -> bool:
        """Whether the writes of a cell ended on stable storage, and not in a cache before it."""
        return is_durable(self.cells[key])

    def hosts(self, key: str) -> int:
        """Return how many hosts of a fleet are in the figures of a cell; 0 if it is none."""
        result = self.cells[key].result
        return (0 if result is None else hosts_in_sum(result)) or self.plan.target.hosts

    def conditions(self, key: str) -> str:
        """Return the depth, the threads and the caching of a cell, in words."""
        return conditions_of(self._parameters.get(key))

    def _evidence(self, key: str, unit: Unit) -> list[Evidence]:
        figures, asked = self.figures[key], self._parameters.get(key) or {}
        values = {name: getattr(figures, name) for name in _NAMES[unit]}
        return [
            Evidence(
                run_id=self.cells[key].run_id,
                name=name,
                value=value,
                unit=unit_of(name),
                threads=int(asked["threads"]) if asked else None,
                depth=int(asked["depth"]) if asked else None,
                caching=caching_words(asked) if asked else None,
            )
            for name, value in values.items()
            if value is not None
        ]


def conditions_of(asked: Parameters | None) -> str:
    """Return under which conditions a cell was measured: ``depth 16, unbuffered``."""
    if not asked:
        return "conditions unknown"
    threads = "" if asked["threads"] == 1 else f"{asked['threads']} threads, "
    return f"{threads}depth {asked['depth']}, {caching_words(asked)}"


def caching_words(asked: Parameters) -> str:
    """Return how a cell went past caches, in words; write-through only says something of writes."""
    caching = str(asked["caching"])
    is_through = asked["write_through"] and asked["write_percent"]
    return f"{caching}, write-through" if is_through else caching

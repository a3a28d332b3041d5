"""Why a load is the best, in sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom._digits import change_words
from fathom.experiments.tune.knee_search import load_words
from fathom.stats import GREATEST_ERROR
from fathom.units import NS_PER_MS, counted, ms_words

if TYPE_CHECKING:
    from fathom.experiments.tune.knee_search import Goal, KneeSearch, Load
    from fathom.stats import ScalabilityLaw

__all__ = ["Reason", "reasons"]

_BUSY_PERCENT = 95.0
# From this part of what is used on, the load's threads are what keeps the CPUs busy.
_MOST_OF_IT = 0.5
# So many loads that failed are named.
_MOST_NAMED = 3


@dataclass(frozen=True)
class Reason:
    """A sentence, and the loads besides the best on whose runs it rests."""

    text: str
    loads: tuple[Load, ...] = ()


def reasons(search: KneeSearch, best: Load | None, law: ScalabilityLaw | None) -> list[Reason]:
    """Return why a load is the best of a search, or why there is none."""
    if best is None and not search.measured:
        return [Reason("No run could be made.")]
    if best is None:
        why = (_none_keeps(search), _left_out(search))
        return [one for one in why if one is not None]
    return [
        one
        for one in (
            _next_step(search, best),
            _core_reason(search, best),
            *_edges(search, best),
            _law_reason(search, law, math.prod(best)),
            _some_failed(search, best),
            _left_out(search),
        )
        if one is not None
    ]


def _none_keeps(search: KneeSearch) -> Reason:
    """Say by how much the runs of every load break the limit, and if the least load has none."""
    means, least = search.means(), min(search.loads, key=math.prod)
    closest = min(means, key=lambda load: means[load][1])
    words = (
        f"No load that was measured keeps the {_limit(search.goal)}: the least is "
        f"{ms_words(means[closest][1])} ms, at {load_words(closest)}."
    )
    if least not in means:
        words += f" The least load, {load_words(least)}, was not measured and may keep it."
    return Reason(words, tuple(means))


def _limit(goal: Goal) -> str:
    return f"{goal.metric} of {(goal.limit_ns or 0) / NS_PER_MS:g} ms"


def _some_failed(search: KneeSearch, best: Load) -> Reason | None:
    """Say how many runs of the best load failed, beside those that its figures are of."""
    failed = search.failures[best]
    if not failed:
        return None
    runs = counted(failed + len(search.measured[best]), "run")
    return Reason(f"Of {runs} at {load_words(best)}, {failed} failed.")


def _left_out(search: KneeSearch) -> Reason | None:
    """Name the loads of which every run failed: they were no candidates."""
    failed = sorted(search.failed, key=lambda load: (math.prod(load), load))
    if not failed:
        return None
    more = failed[_MOST_NAMED:]
    named = "; ".join(load_words(load) for load in failed[:_MOST_NAMED])
    others = f"; and {counted(len(more), 'more load')}" if more else ""
    runs = "its" if len(failed) == 1 else "their"
    runs += " run" if sum(search.failures[load] for load in failed) == 1 else " runs"
    return Reason(f"Left out, as {runs} failed: {named}{others}.")


def _next_step(search: KneeSearch, best: Load) -> Reason | None:
    """Say what the next load would bring: a plateau, a loss, more, or what cannot be told."""
    points, goal = search.expected(), search.goal
    more = [
        load
        for load in search.next_steps(best)
        if load in points and math.prod(load) > math.prod(best)
    ]
    if not more:
        return None
    threads, depth = load = max(more, key=lambda load: points[load][0])
    _, ns = points[threads, depth]
    gain, low, high = search.change((threads, depth), best)
    rise = 100 * (ns / points[best][1] - 1)
    change = change_words(100 * gain, 100 * low, 100 * high)
    words = (
        f"with {counted(threads, 'thread')} and depth {depth}, throughput changes by {change}, "
        "and latency by "
        f"{rise:+.0f} %"
    )
    if goal.limit_ns is not None and ns > goal.limit_ns:
        if _is_kept_by_runs(search, load):
            words += f", by the surfaces beyond the {_limit(goal)}, which its own runs keep"
        else:
            return Reason(f"Latency rising: {words}, beyond the {_limit(goal)}.", (load,))
    return Reason(f"{_kind(low, high, goal.share)}: {words}.", (load,))


def _is_kept_by_runs(search: KneeSearch, load: Load) -> bool:
    """Whether the mean of a load's runs keeps the limit."""
    means, limit_ns = search.means(), search.goal.limit_ns
    return load in means and limit_ns is not None and means[load][1] <= limit_ns


def _kind(low: float, high: float, share: float) -> str:
    """Return the word for a step whose change has this interval; none that it does not carry."""
    if high < 0 and low < -share:
        return "Past the peak"
    if low >= -share and high <= share:
        return "Plateau"
    if low > 0:
        return "Still rising"
    return "Plateau, rise or fall, which these runs do not tell"


def _core_reason(search: KneeSearch, best: Load) -> Reason | None:
    words = _core_words(search, best)
    return None if words is None else Reason(words)


def _core_words(search: KneeSearch, best: Load) -> str | None:
    runs = search.measured.get(best, [])
    means = [one.cpu_percent for one in runs if one.cpu_percent is not None]
    busiest = [one.busiest_thread_percent for one in runs if one.busiest_thread_percent is not None]
    own = [one.load_cpu_percent for one in runs if one.load_cpu_percent is not None]
    if not means or not busiest or not own:
        # Whose the CPU time was is not known.
        return None
    if min(means) >= _BUSY_PERCENT:
        words = f"all CPUs are busy ({min(means):.0f} %)"
        if min(own) >= _MOST_OF_IT * min(means):
            return f"Core-bound: {words}: the machine is the limit."
        return (
            f"The CPUs are the limit: {words}, of which the threads of load used "
            f"{min(own):.0f} %; what else runs here has the rest, be it for the target or not."
        )
    if min(busiest) < _BUSY_PERCENT:
        return None
    return (
        f"Core-bound: a thread of load used {min(busiest):.0f} % of one CPU while the mean of all "
        f"is {min(means):.0f} %; more threads would spread the load."
    )


def _edges(search: KneeSearch, best: Load) -> list[Reason]:
    """Say of each axis that it ends at the best, and whether throughput still rises there."""
    found = []
    for axis, name in enumerate(("threads", "depth")):
        values = search.axes[axis]
        if len(values) == 1 or best[axis] != values[-1]:
            continue
        words = f"{best[axis]} is the end of the range of {name}"
        less = search.step(best, axis, -1)
        low, high = search.change(best, less)[1:] if less is not None else (0.0, 0.0)
        loads = [] if less is None else [less]
        if high <= search.goal.share:
            words += ", where more of it no longer brings more"
        elif enough := search.enough(best, axis):
            loads += enough
            words += f", but not what limits: {_enough_words(search, *enough)}"
        elif low > 0:
            words += ", and throughput still rises there: a wider range may have better"
        else:
            words += ": a wider range may have better"
        found.append(Reason(f"{words}.", tuple(dict.fromkeys(loads))))
    return found


def _enough_words(search: KneeSearch, equal: Load, more: Load) -> str:
    """Say by which loads more along an axis would not help."""
    latency_ns, limit_ns = search.means()[more][1], search.goal.limit_ns
    as_much = f"{load_words(equal)} has as much throughput to within {100 * search.goal.share:g} %"
    if limit_ns is not None and latency_ns > limit_ns:
        what = f"breaks the {_limit(search.goal)}"
        return f"{as_much}, and {what if equal == more else f'{load_words(more)} {what}'}"
    if equal == more:
        return f"{as_much}, with more outstanding"
    return f"{as_much}, and {load_words(more)}, with more outstanding, no more"


def _peak_words(law: ScalabilityLaw) -> str:
    """Say where the peak is as far as the points tell it."""
    if law.only_falls:
        return f"throughput only falls from {law.least_load:.0f} outstanding on"
    if law.has_peak and law.best_load < law.least_load:
        return (
            f"its peak is at {law.least_load:.0f} outstanding or fewer (at most "
            f"{law.peak_high:.0f})"
        )
    if law.has_peak:
        return (
            f"its peak is at {law.best_load:.0f} outstanding ({law.peak_low:.0f} to "
            f"{law.peak_high:.0f})"
        )
    least = min(law.peak_low, law.greatest_load)
    return f"its peak is not known: it may be at any load from {least:.0f} outstanding on, or none"


def _law_reason(search: KneeSearch, law: ScalabilityLaw | None, outstanding: int) -> Reason | None:
    words = _law_words(law, outstanding)
    return None if words is None else Reason(words, tuple(search.measured))


def _law_words(law: ScalabilityLaw | None, outstanding: int) -> str | None:
    if law is None:
        return None
    quality = f"{100 * law.relative_error:.0f} % off, R² {law.r_squared:.2f}"
    if not law.is_fitting:
        return (
            f"The Universal Scalability Law does not describe this target ({quality}; at "
            f"{law.worst_load:.0f} outstanding {100 * law.worst_share:+.0f} % from the law): it is "
            f"not used where it is more than {100 * GREATEST_ERROR:.0f} % off."
        )
    peak = _peak_words(law)
    return (
        f"Universal Scalability Law: contention {law.contention:.3g}, coherence "
        f"{law.coherence:.2g} ({quality}); {peak}, and at {outstanding} it gives "
        f"{float(law.throughput(outstanding)[0]):,.0f} IOPS."
    )

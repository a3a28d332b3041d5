"""Why a load is the best, in sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fathom.stats import GREATEST_ERROR

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.experiments._knee_search import KneeSearch, Load
    from fathom.experiments._tune_plan import TunePlan
    from fathom.stats import ScalabilityLaw

__all__ = ["reasons"]

_BUSY_PERCENT = 95.0
_NANOS_PER_MILLI = 1_000_000


def reasons(
    plan: TunePlan, search: KneeSearch, best: Load | None, law: ScalabilityLaw | None
) -> list[str]:
    """Return why a load is the best of a search, or why there is none."""
    if best is None:
        if not search.measured:
            return ["No run could be made."]
        return ["No load that was measured keeps the latency; even the least one is slower."]
    points = search.expected()
    return [
        one
        for one in (
            _next_step(plan, points, best),
            _core_words(search, best),
            _edge_words(plan, best),
            _law_words(law, math.prod(best)),
        )
        if one is not None
    ]


def _next_step(plan: TunePlan, points: dict[Load, tuple[float, float]], best: Load) -> str | None:
    """Say what twice the load would bring: a plateau, a loss, or too high a latency."""
    deeper = (best[0], _after(plan.depths, best[1]))
    wider = (_after(plan.threads, best[0]), best[1])
    more = [
        load for load in (deeper, wider) if load in points and math.prod(load) > math.prod(best)
    ]
    if not more:
        return None
    threads, depth = max(more, key=lambda load: points[load][0])
    iops, ns = points[threads, depth]
    gain, rise = 100 * (iops / points[best][0] - 1), 100 * (ns / points[best][1] - 1)
    words = (
        f"with {threads} threads and depth {depth}, throughput changes by {gain:+.1f} %, and "
        f"latency by {rise:+.0f} %"
    )
    limit_ns = plan.goal.limit_ns
    if limit_ns is not None and ns > limit_ns:
        limit = f"{limit_ns / _NANOS_PER_MILLI:g} ms"
        return f"Latency rising: {words}, beyond the {plan.goal.metric} of {limit}."
    kind = "Past the peak" if gain < -100 * plan.goal.share else "Plateau"
    return f"{kind}: {words}." if gain <= 100 * plan.goal.share else f"Latency rising: {words}."


def _after(values: Sequence[int], value: int) -> int:
    place = values.index(value)
    return values[min(place + 1, len(values) - 1)]


def _core_words(search: KneeSearch, best: Load) -> str | None:
    runs = search.measured.get(best, [])
    busiest = [one.busiest_cpu_percent for one in runs if one.busiest_cpu_percent is not None]
    means = [one.cpu_percent for one in runs if one.cpu_percent is not None]
    if not busiest or not means or min(busiest) < _BUSY_PERCENT:
        return None
    if min(means) >= _BUSY_PERCENT:
        return f"Core-bound: all CPUs are busy ({min(means):.0f} %): the machine is the limit."
    return (
        f"Core-bound: one CPU is at {min(busiest):.0f} % while the mean is {min(means):.0f} %; "
        "more threads would spread the load."
    )


def _edge_words(plan: TunePlan, best: Load) -> str | None:
    # Where less of one may be made up for by more of the other, the end of one says nothing.
    free = [
        (name, values, value)
        for name, values, value in (
            ("threads", plan.threads, best[0]),
            ("depth", plan.depths, best[1]),
        )
        if len(values) > 1
    ]
    if any(value != values[-1] for _, values, value in free):
        return None
    names = " and ".join(name for name, _, _ in free)
    return f"This is the end of the range of {names}: a wider range may have better."


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
    peak = "it has no peak"
    if not math.isinf(law.best_load):
        peak = f"its peak is at {law.best_load:.0f} outstanding"
        if law.best_load > law.greatest_load:
            peak += ", beyond what was measured"
    return (
        f"Universal Scalability Law: contention {law.contention:.3g}, coherence "
        f"{law.coherence:.2g} ({quality}); {peak}, and at {outstanding} it gives "
        f"{float(law.throughput(outstanding)[0]):,.0f} IOPS."
    )

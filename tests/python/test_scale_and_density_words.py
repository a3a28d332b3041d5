"""What is said of many hosts and databases: of what answered, of nothing, and of which first."""

from __future__ import annotations

from fathom.databases.pgbench import DatabaseFigures
from fathom.experiments.density import DensityPlan
from fathom.experiments.density.outcome import DensityStep, Measured, sentences_of, stepped
from fathom.experiments.scale import ScalePoint, Scaling, sentences
from fathom.host.limit import Limit
from fathom.report.collect._density import _numbers, _point, _with_linear

_CACHED = "the page cache answered (certain)"
_LIMIT = Limit("CPU", "the CPUs were 99% busy", 99.0)


def _point_of(
    hosts: int, iops: float, *, answered: str | None = None, disturbed: str | None = None
) -> ScalePoint:
    share = iops / (hosts * 900.0)
    return ScalePoint(hosts, hosts, iops, iops / 256, 1e6, share, None, disturbed, answered)


def _told(*points: ScalePoint) -> list[str]:
    return [*sentences(Scaling(1, points, None))]


def test_linear_hosts_that_the_page_cache_answered_say_nothing_of_what_they_share() -> None:
    """That stood beside a limit alone."""
    found = _told(*(_point_of(hosts, 900.0 * hosts, answered=_CACHED) for hosts in (1, 2, 4)))
    said = f"4 hosts do 100 % of linear, which says nothing of what they share: {_CACHED}."
    assert found == [said]


def test_hosts_that_did_nothing_do_not_vanish() -> None:
    """4 hosts with 0 IOPS were left out, and 2 hosts were the most."""
    found = _told(_point_of(1, 900.0), _point_of(2, 1800.0), _point_of(4, 0.0))
    nothing = "The run with 4 hosts did nothing: measure it again."
    assert found == ["2 hosts do 100 % of linear.", nothing]


def test_one_host_that_did_nothing_is_no_measure_of_linear() -> None:
    found = _told(_point_of(1, 0.0), _point_of(2, 1800.0), _point_of(4, 3600.0))
    assert found == ["The run with 1 host did nothing: measure it again."]


def _step(count: int, per_s: float, first: DensityStep | None = None) -> DensityStep:
    databases = tuple(DatabaseFigures(f"db{one}", per_s, 1.0) for one in range(count))
    return stepped(Measured(databases, _LIMIT), first)


def _steps(*counts: int) -> list[DensityStep]:
    first = _step(counts[0], 1000.0)
    return [first, *(_step(count, 950.0, first) for count in counts[1:])]


def test_a_first_step_of_four_is_not_called_one() -> None:
    """One alone was never measured."""
    steps = _steps(4, 8)
    headline = sentences_of(DensityPlan("/x", (4, 8), 10), steps)[0]
    assert headline.endswith("95% of 8 times the 1,000 TPS each of the first step (4).")


def test_a_first_step_of_one_is_called_one() -> None:
    headline = sentences_of(DensityPlan("/x", (1, 2), 10), _steps(1, 2))[0]
    assert headline.endswith("95% of 2 times the 1,000 TPS of one.")


def test_the_report_names_the_first_step_as_the_sentence_does() -> None:
    def labels(*counts: int) -> list[str]:
        kept: list[dict[str, object]] = [
            {
                "databases": one.databases,
                "per_s": one.per_s,
                "fairness": 1.0,
                "latency_mean_ms": None,
                "limit": {"resource": "CPU", "evidence": ""},
                "members": [],
            }
            for one in _steps(*counts)
        ]
        points = [_point(one) for one in _with_linear(kept)]
        return [one.label for one in _numbers(points, "TPS")]

    assert labels(4, 8)[:2] == ["Each of 4 together", "Of 8 together"]
    assert labels(1, 2)[:2] == ["Of one", "Of 2 together"]

"""How many pairs a percentile needs: by the change that is concluded, that of all I/Os."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from fabricated import fabricated, latencies_ns
from fathom.cli.commands._compare_turns import _remedy
from fathom.experiments.compare.interleaved import (
    Interleaver,
    TurnsPlan,
    compare_interleaved,
)
from fathom.runners import NativeRunner
from fathom.runners import measure as _measure
from fathom.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import fathom


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


def test_pairs_of_a_percentile_were_planned_by_the_percentiles_of_single_runs(
    kept: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The change of all I/Os was known too little, and more pairs were asked for in vain."""
    random = np.random.default_rng(2)
    usual, place = latencies_ns(100.0), np.arange(4_000)

    def made(*_any: object, **_more: object) -> fathom.Result:
        # Of each run another share of the I/Os is slow, on both sides of the 99th percentile.
        share = 0.012 * float(np.exp(0.3 * random.standard_normal()))
        slow = place < share * place.size
        return fabricated(rates=800.0, latency_ns=np.where(slow, usual + 1e5, usual))

    monkeypatch.setattr(_measure, "run_kept", made)
    plan = TurnsPlan(
        ("-L", "a.dat"),
        ("-L", "b.dat"),
        metrics=("p99",),
        conditions=("p99>+5%",),
        relative_half_width=0.05,
        pilot=6,
        most=20,
        seed=1,
    )
    found = compare_interleaved(kept, NativeRunner(kept), plan)
    assert found.is_precise or len(found.a_run_ids) == plan.most
    if not found.is_precise:
        assert _remedy(found, plan) == "allow more pairs (--most)"


def test_the_number_of_pairs_is_that_of_the_change_of_all_ios() -> None:
    plan = TurnsPlan(("a",), ("b",), conditions=("p99>+5%",), pilot=6, most=40, seed=1)
    random = np.random.default_rng(3)
    spread = np.exp(0.05 * random.standard_normal((2, 60)))
    pairs = [(2 * at, 2 * at + 1) for at in range(6)]
    alike = Interleaver(plan, lambda _run_id, _metric: 1.0, pairs=[*pairs])
    alike._plan()
    assert alike.planned == plan.pilot
    whole = Interleaver(
        plan,
        lambda _run_id, _metric: 1.0,
        percentiles_of=lambda ids, _metric: [float(spread[one % 2, one // 2]) for one in ids],
        pairs=[*pairs],
    )
    whole._plan()
    assert whole.planned > plan.pilot


def test_more_pairs_are_advised_only_where_their_number_ended_it(
    kept: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(5)
    monkeypatch.setattr(
        _measure,
        "run_kept",
        lambda *_any, **_more: fabricated(rates=float(1000 + 100 * random.standard_normal())),
    )
    plan = TurnsPlan(("-L", "a.dat"), ("-L", "b.dat"), pilot=3, most=4, seed=1)
    found = compare_interleaved(kept, NativeRunner(kept), plan)
    assert not found.is_precise
    assert _remedy(found, plan) == "allow more pairs (--most)"
    wider = TurnsPlan(plan.a, plan.b, pilot=3, most=9, seed=1)
    assert _remedy(found, wider) == "make longer runs (-d), or a larger --pilot"
    other = TurnsPlan(plan.a, plan.b, conditions=("write.iops<-3%",), pilot=3, most=9, seed=1)
    untold = compare_interleaved(kept, NativeRunner(kept), other)
    assert _remedy(untold, other) == "write.iops cannot be compared, see above"

"""How many runs a percentile needs: by the interval that is concluded, that of all I/Os."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from fabricated import fabricated, latencies_ns
from fathom.cli.commands.repeat import _sentences
from fathom.experiments.repeat import Repeater, RepeatPolicy, repeat
from fathom.experiments.session import Observation
from fathom.runners import measure as _measure
from fathom.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import fathom

POLICY = RepeatPolicy(metric="p99", relative_half_width=0.008, most=60)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


def test_an_interval_wider_than_requested_ended_at_33_of_60_runs(
    kept: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It said "allow more runs (--most)", which had not ended it."""
    random = np.random.default_rng(4)

    def made(*_any: object, **_more: object) -> fathom.Result:
        middle_us = 100.0 * float(np.exp(0.02 * random.standard_normal()))
        return fabricated(rates=4000.0, latency_ns=latencies_ns(middle_us, count=20_000))

    monkeypatch.setattr(_measure, "run_kept", made)
    told: list[tuple[int, int | None]] = []
    found = repeat(kept, ["-L", "x.dat"], POLICY, on_run=lambda *one: told.append(one))
    assert found.is_precise
    assert found.metrics["p99"].estimate.relative_half_width <= 0.0084
    assert len(found.run_ids) > 33
    # How many there will be is known from the pilot on, and said with each run.
    assert told[0] == (1, None)
    assert all(planned is not None for _, planned in told[10:])
    assert not any("wider" in one for one in _sentences(found, POLICY))
    short = replace(found, is_precise=False)
    assert _sentences(short, POLICY)[-1].endswith("make longer runs (-d), or a larger --pilot.")
    most = replace(POLICY, most=len(found.run_ids))
    assert _sentences(short, most)[-1].endswith("allow more runs (--most).")
    other = replace(POLICY, metric="write.p99")
    assert _sentences(short, other)[-1].endswith("figure that was to be known, write.p99.")


@pytest.mark.parametrize("saved", [0, 5, 10, 14, 25])
def test_the_number_of_runs_of_a_percentile_is_the_same_after_a_kill(saved: int) -> None:
    wanted = {10: 20, 20: 31, 31: 31}
    repeater = Repeater(
        POLICY,
        ["x"],
        lambda _seen: 1.0,
        values=[1.0] * saved,
        wanted_runs=wanted.__getitem__,
    )
    strategy, made = repeater.strategy(), 0
    next(strategy)
    with suppress(StopIteration):
        while made < POLICY.most:
            made += 1
            strategy.send(Observation(run_id=made, took_s=1.0))
    assert len(repeater.values) == 31


def test_a_percentile_without_histograms_is_planned_by_the_runs() -> None:
    repeater = Repeater(POLICY, ["x"], lambda _seen: 1.0, values=[1.0, 1.001] * 5)
    with pytest.raises(StopIteration):
        next(repeater.strategy())
    assert repeater.planned == 10

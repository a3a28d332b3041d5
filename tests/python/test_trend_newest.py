"""Which run of a series or a label is the newest, and what the newest runs tell of a trend."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import numpy as np
import pytest
from fabricated import fabricated
from fathom import Result
from fathom.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

DAY_S, BEGAN_S = 86400.0, 1.79e9


@pytest.fixture
def kept() -> Iterator[Store]:
    with Store(os.environ["FATHOM_STORE"]) as opened:
        yield opened


def save(  # noqa: PLR0913 - Each but the first two has a default.
    store: Store,
    rates: Iterable[float],
    *,
    first_day: int = 0,
    label: str = "nightly",
    latency_us: float = 200.0,
    failures: tuple[str, ...] = (),
    warnings: tuple[tuple[str, str], ...] = (),
    write: int = 0,
    depth: int = 1,
) -> list[int]:
    """Save a run a day, and return their numbers."""
    ids = []
    for day, rate in enumerate(rates, first_day):
        made = fabricated(
            rates=np.full(50, float(rate)),
            latency_ns=latency_us,
            warnings=warnings,
            path="x.dat",
            write=write,
            depth=depth,
        )
        raw = json.loads(json.dumps(dict(made.raw))) | {"started_at_unix_s": BEGAN_S + day * DAY_S}
        result = Result.from_json(json.dumps(raw))
        arguments = [f"-o{depth}", f"-w{write}", "x.dat"]
        ids.append(store.runs.save(result, arguments, label=label, failures=failures))
    return ids


def noisy(level: float, count: int, seed: int = 1) -> list[float]:
    """Return figures around a level."""
    random = np.random.default_rng(seed)
    return [float(one) for one in level * np.exp(0.005 * random.standard_normal(count))]


def test_old_runs_that_were_copied_last_were_the_newest_of_their_series_and_label(
    store: Store,
) -> None:
    """The greatest number counted, so that a year-old run was in /trends and /metrics."""
    newest = save(store, [1000, 1001])[-1]
    save(store, [500], first_day=-400)
    [(run, count)] = store.runs.newest_of_each_series(limit=5)
    assert (run.id, count) == (newest, 3)
    assert [one.id for one in store.runs.newest_of_each_label(limit=5)] == [newest]
    # The order of the lists is that of time, too.
    other = save(store, [1], first_day=-10, label="other", depth=2)
    listed = store.runs.newest_of_each_series(limit=5)
    assert [one.id for one, _count in listed] == [newest, *other]
    assert [one.id for one in store.runs.newest_of_each_label(limit=1)] == [newest]


def test_a_label_in_capitals_was_another_one_in_postgresql_alone(store: Store) -> None:
    small, capital, odd = (
        save(store, [1000], label=one)[0] for one in ("nightly", "NIGHTLY", "n[i]?\\_x")
    )

    def ids(label: str) -> list[int]:
        return [one.id for one in store.runs.list(label=label)]

    assert ids("nightly") == [small]
    assert ids("NIGHT*") == [capital]
    assert ids("n*") == [odd, small]
    # Only the star stands for anything.
    assert ids("n[i]?*") == ids("n[i]?\\_*") == ids("n[i]?\\_x") == [odd]
    assert ids("[n]*") == ids("nightl?*") == ids("nightl_*") == []
    assert len(store.runs.list(device="X.DAT")) == 3

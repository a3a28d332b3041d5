"""Which run of a series or a label is the newest, and what the newest runs tell of a trend."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from commands import command
from fabricated import fabricated
from fathom import Result
from fathom.errors import InvalidRequestError
from fathom.stats import find_change_points
from fathom.store import Store
from fathom.trends import find_trend, trend_figure
from fathom.trends._beyond import apart
from fathom.trends.trend import day_words
from fathom.web.lookups import trend_out

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


def test_a_trend_of_no_devices_numbers_was_worse_in_its_table_and_its_alert(kept: Store) -> None:
    """Beside *No verdict on a device* stood exit code 5, and a mail would have been sent."""
    doubted = (("not_the_device", "Of 834,436 reads, 7 reached vda."),)
    save(kept, [*noisy(1000, 20), *noisy(500, 20)], warnings=doubted)
    found = find_trend(kept, "40", baseline="1,2,3,4,5,6")
    assert found.claims[0].text.startswith("No verdict on a device")
    assert len(found.levels) == 2
    assert {one.outcome for one in found.levels} == {None}
    assert found.band is not None
    assert found.band.outcome == found.outcome == "cannot tell"
    # Nobody hears of it: the address would be refused with a note.
    done = command("trend", "40", "--alert", "--notify", "https://127.0.0.1:9/hook")
    assert (done.returncode, done.stderr) == (7, "")
    assert "worse" not in done.stdout


def test_an_alert_with_a_baseline_forgot_the_level_before(kept: Store) -> None:
    """Against golden it is equal, and it fell by 22 %: the code was 0."""
    save(kept, [*noisy(10_000, 20), *noisy(13_000, 20, 2), *noisy(10_000, 20, 3)])
    golden = ",".join(map(str, range(1, 21)))
    found = find_trend(kept, "60", baseline=golden)
    assert found.band is not None
    assert (found.band.outcome, found.outcome) == ("equal", "worse")
    assert command("trend", "60", "--alert", "--baseline", golden).returncode == 5
    # One run is too few to judge by, and does not hide the fall either.
    assert find_trend(kept, "60", baseline="1").outcome == "worse"


def test_an_alert_saw_no_change_where_the_newest_ten_runs_failed(kept: Store) -> None:
    save(kept, noisy(10_000, 20))
    save(kept, noisy(10_000, 10), first_day=20, failures=("I/O error on x.dat",))
    # One that failed before the newest complete run is none of today.
    save(kept, [1.0], first_day=5, failures=("I/O error on x.dat",))
    found = find_trend(kept, "20")
    assert found.outcome == "cannot tell"
    head, *others = (one.text for one in found.claims)
    assert head == "IOPS: no change is shown in 20 runs; 10 newer runs failed."
    assert others[-1] == "Runs 21 to 30 failed after run 20."
    assert command("trend", "30", "--alert").returncode == 7
    save(kept, noisy(10_000, 1), first_day=31)
    assert find_trend(kept, "20").outcome != "cannot tell"


@pytest.mark.parametrize(("count", "outcome"), [(15, "worse"), (2, "cannot tell")])
def test_a_rate_of_0_was_no_value_and_its_runs_vanished(
    kept: Store, count: int, outcome: str
) -> None:
    """It was "15 runs do not have write.iops", which the store has as 0, and exit code 0."""
    save(kept, [*noisy(10_000, 25), *[0.0] * count], write=100)
    found = find_trend(kept, "1", metric="write.iops")
    assert (found.outcome, found.left_out, len(found.runs)) == (outcome, 0, 25)
    head = found.claims[0]
    assert f"; {count} newer runs have a rate of 0" in head.text
    assert head.text.endswith(": worse.") is (outcome == "worse")
    assert (head.evidence[-1].run_id, head.evidence[-1].value) == (25 + count, 0)
    assert found.claims[-1].text.endswith("have a rate of 0 and are in no level.")
    # They have no latency, for the same reason.
    assert find_trend(kept, "1", metric="p99").outcome == "cannot tell"


def test_a_rate_of_0_in_each_run_was_said_not_to_be_asked_for(kept: Store) -> None:
    save(kept, [0.0] * 3, write=100)
    with pytest.raises(InvalidRequestError, match="its rate is 0 in each run"):
        find_trend(kept, "1", metric="write.iops")
    with pytest.raises(InvalidRequestError, match="it does none of these I/Os"):
        find_trend(kept, "1", metric="read.iops")


def test_a_fall_that_is_not_shown_yet_was_equal(kept: Store) -> None:
    """From 900,000 to 10,000 IOPS in 10 of 20 runs, and the answer was "equal" and 0."""
    seeds = ([*noisy(90_000, 10, seed), *noisy(1_000, 10, seed + 100)] for seed in range(40))
    rates = next(one for one in seeds if not find_change_points(one))
    save(kept, rates)
    found = find_trend(kept, "20")
    assert (len(found.levels), found.outcome) == (1, "cannot tell")
    assert found.claims[0].text == (
        "IOPS: no change is shown in 20 runs; the newest 10 are all lower than the 10 before, "
        "and it cannot be told yet whether that is a change."
    )
    assert command("trend", "20", "--alert").returncode == 7


def test_runs_that_vary_widely_are_not_equal_and_no_alert() -> None:
    """Not to show a change is not to show that there is none; most series have no news."""
    random = np.random.default_rng(5)
    alarms = sum(bool(apart(np.exp(0.1 * random.standard_normal(30)).tolist())) for _ in range(400))
    assert alarms / 400 < 0.02
    assert apart([100.0] * 20) == apart([1.0, 2.0, 3.0]) == 0
    # As far apart as nobody minds.
    assert apart([*noisy(1000, 10), *(one * 1.02 for one in noisy(1000, 10))]) == 0


@pytest.mark.parametrize(("spread", "outcome"), [(0.001, "equal"), (0.3, "not shown")])
def test_equal_is_what_is_shown_to_be(kept: Store, spread: float, outcome: str) -> None:
    noise = spread * np.random.default_rng(9).standard_normal(20)
    save(kept, 10_000 * np.exp(noise))
    assert find_trend(kept, "1").outcome == outcome
    assert command("trend", "1", "--alert").returncode == 0


def test_a_page_said_nothing_of_runs_without_the_figure(kept: Store) -> None:
    """And one run was "1 runs"."""
    save(kept, [1000, 1001, 0.0, 1002])
    found = find_trend(kept, "1", metric="p99")
    words = "1 run of the series does not have p99."
    assert found.claims[-1].text == words
    assert trend_out(found).left_out == 1
    assert words in trend_out(found).claims
    assert command("trend", "1", "--metric", "p99").stdout.count(words) == 1


def test_of_several_series_one_was_shown_without_a_word(kept: Store) -> None:
    save(kept, [1000, 1001])
    save(kept, [500], depth=8)
    found = find_trend(kept, "1,2,3")
    assert [one.id for one in found.runs] == [3]
    assert found.claims[-1].text == "1,2,3 has runs of 2 series: this is that of run 3."
    assert "series" not in {one.key for one in find_trend(kept, "1,2").claims}


def test_small_figures_were_rounded_to_nothing(kept: Store) -> None:
    """It was 0.000 ms of 0.3 us, and 0 of 0.039 MiB/s."""
    save(kept, [10.0] * 2, latency_us=0.3)
    (row,) = json.loads(command("trend", "1", "--metric", "p50", "--format", "json").stdout)[0][
        "rows"
    ]
    assert row["p50 ms"] == pytest.approx(0.0003, rel=0.05)
    table = trend_figure(find_trend(kept, "1", metric="mib_per_s")).table
    assert table.columns[2].title == "mib_per_s [MiB/s]"
    assert table.texts()[0][2] == "0.03906"


def test_a_start_that_no_calendar_has_was_no_day(kept: Store) -> None:
    """A time stamp in other units broke the page of a trend."""
    for _ in range(3):
        kept.runs.save(fabricated(), ["-b4K", "x.dat"])
    newest = replace(kept.runs.list()[0], started_at_unix_s=1e15)
    assert day_words(newest) == "behind the year 9999"

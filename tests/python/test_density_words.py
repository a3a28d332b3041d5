"""What is said of so many files at once: shares of linear, where they end, and what is no proof."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import fathom
import pytest
from commands import command
from fabricated import fabricated
from fathom.cli.views.density import show_density, show_foreseen
from fathom.databases.pgbench import DatabaseFigures
from fathom.experiments.density.experiment import Counter, Density
from fathom.experiments.density.kept import steps_from
from fathom.experiments.density.outcome import (
    DensityStep,
    Measured,
    outcome_of,
    sentences_of,
    stepped,
)
from fathom.experiments.density.plan import DensityPlan
from fathom.experiments.density.runners import COUNT, FilesRunner, _of_targets, runner_of
from fathom.host import Limit
from fathom.report import gather
from fathom.report.collect._density import density_side
from fathom.runners import RunOutcome
from fathom.runners.native import stored_figures
from fathom.store import Store
from reported import figures

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

PLAN = DensityPlan("/nowhere", (1, 2, 4), 10, kind="files", workload="sql-log")
SUSPENDED = "the measuring process was suspended"


def steps_of(*sums: tuple[int, float], disturbed: Sequence[int] = ()) -> list[DensityStep]:
    """Return steps of so many files with these sums; some of them were disturbed."""
    found: list[DensityStep] = []
    for files, total in sums:
        members = [DatabaseFigures(f"file{at}", total / files, 1.0) for at in range(1, files + 1)]
        why = SUSPENDED if files in disturbed else None
        measured = Measured(tuple(members), Limit("none", "so it was", 50.0), why)
        found.append(stepped(measured, found[0] if found else None))
    return found


def shown(steps: Sequence[DensityStep], capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the column of the shares of linear as the terminal has it."""
    show_density(Density(1, PLAN, tuple(steps), ()))
    rows = capsys.readouterr().out.splitlines()[1:]
    return [row.split()[2] for row in rows if row.strip()]


def test_a_disturbed_step_ended_the_sum_and_called_what_files_wait_for_their_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It said *linear up to 1, and no more at 2* where 4 were linear: 2 had been suspended."""
    steps = steps_of((1, 1000), (2, 1200), (4, 3980), disturbed=[2])
    assert sentences_of(PLAN, steps)[:3] == [
        "4 files carried 3,980 IOPS together: 100% of 4 times the 1,000 IOPS of one.",
        "Up to 4 the sum was linear (90% or more), and nothing was at its limit: try more.",
        f"The run with 2 files says nothing of that ({SUSPENDED}): measure it again.",
    ]
    assert shown(steps, capsys) == ["100", "-", "100"]


def test_a_share_was_taken_of_a_first_step_that_was_disturbed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It said *200% of 2 times the 500 IOPS of one*."""
    steps = steps_of((1, 500), (2, 2000), disturbed=[1])
    assert sentences_of(PLAN, steps)[:2] == [
        "2 files carried 2,000 IOPS together.",
        f"The run with 1 file says nothing of that ({SUSPENDED}): measure it again.",
    ]
    assert shown(steps, capsys) == ["-", "-"]


def test_a_last_step_that_was_disturbed_is_no_end() -> None:
    """The share of linear in the headline was that of the suspended run."""
    steps = steps_of((1, 1000), (2, 1990), (4, 1200), disturbed=[4])
    assert sentences_of(PLAN, steps)[:3] == [
        "4 files carried 1,200 IOPS together.",
        "Up to 2 the sum was linear (90% or more), and nothing was at its limit.",
        f"The run with 4 files says nothing of that ({SUSPENDED}): measure it again.",
    ]
    alone = sentences_of(PLAN, steps_of((1, 1000), (2, 900), disturbed=[2]))
    assert len(alone) == 2, alone


def test_the_end_was_a_step_after_which_the_sum_was_linear_again() -> None:
    """It said *linear up to 1, and no more at 2* beside a table of 100, 60 and 100 %."""
    steps = steps_of((1, 1000), (2, 1200), (4, 3980))
    assert sentences_of(PLAN, steps)[1].startswith(
        "Up to 4 the sum was linear (90% or more, but 60% at 2), and nothing was at its limit"
    )
    ended = steps_of((1, 1000), (2, 1200), (4, 3980), (8, 4000), (16, 4000))
    assert sentences_of(PLAN, ended)[1].startswith(
        "The sum was linear up to 4 (90% or more, but 60% at 2), and no more at 8, where neither"
    )


def test_a_first_step_that_did_nothing_was_an_error_of_python(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It was *max() iterable argument is empty*, out of the experiment."""
    steps = steps_of((1, 0), (2, 500))
    assert sentences_of(PLAN, steps)[:2] == [
        "2 files carried 500 IOPS together.",
        "The first step did nothing, so no share of linear can be given.",
    ]
    assert shown(steps, capsys) == ["-", "-"]
    assert len(sentences_of(PLAN, steps[:1])) == 2


@pytest.mark.parametrize(
    ("one", "two", "share", "end"),
    [
        (1000, 1794, "89.7", "no more at 2"),
        (1000, 1806, "90", "Up to 2 the sum was linear"),
        # Exactly 90 %, whose quotient has a last digit too few.
        (9, 16.2, "90", "Up to 2 the sum was linear"),
        (100_000, 179_998, "89.999", "no more at 2"),
        (1000, 1200, "60", "no more at 2"),
    ],
)
def test_ninety_percent_were_linear_and_not(
    one: float, two: float, share: str, end: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It said *90% of 2 times the 1,000 IOPS of one*, and *no more at 2* of *90% or more*."""
    steps = steps_of((1, one), (2, two))
    headline, words = sentences_of(PLAN, steps)[:2]
    assert f": {share}% of 2 times" in headline
    assert end in words
    assert shown(steps, capsys) == ["100", share]


def test_outcomes_of_older_versions_are_read_without_what_disturbed_them() -> None:
    steps = steps_of((1, 1000), (2, 1200), disturbed=[2])
    kept = json.loads(json.dumps(outcome_of(PLAN, steps)))
    assert steps_from(kept) == steps
    older = [
        {name: one for name, one in asdict(step).items() if name != "disturbed"} for step in steps
    ]
    assert [one.disturbed for one in steps_from({"steps": older})] == [None, None]


class Suspended:
    """A runner of the engine whose process is suspended meanwhile."""

    def __init__(self, look: Callable[[str, dict[str, Any]], None]) -> None:
        """Tell this what happens."""
        self._look = look

    def run(self, _arguments: Sequence[str], **_more: object) -> RunOutcome:
        """Tell the begin and the end, and return a result that is warned of."""
        self._look("phase_started", {"phase": "measured"})
        self._look("finished", {})
        result = fabricated(warnings=[("suspended", "for 3 s")])
        return RunOutcome(1, stored_figures(result), None, result)


def test_what_disturbed_a_run_of_files_was_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runner had the warnings of the result, and its step said nothing of them."""
    monkeypatch.setattr("fathom.engine.run", lambda _arguments: None)
    with Store(tmp_path / "s.sqlite") as store:
        runner = FilesRunner(PLAN, store, tmp_path)
        monkeypatch.setattr(runner, "_native", Suspended(runner._look))
        found = runner.run([f"{COUNT}1"])
    assert isinstance(found.more, Measured)
    assert stepped(found.more, None).disturbed == SUSPENDED


def test_the_report_gave_a_share_of_linear_of_what_was_disturbed(tmp_path: Path) -> None:
    def shares(*sums: tuple[int, float], disturbed: Sequence[int] = ()) -> list[str | None]:
        outcome = outcome_of(PLAN, steps_of(*sums, disturbed=disturbed))
        with Store(tmp_path / "s.sqlite") as store:
            experiment = store.experiments.begin("density", "x", PLAN.as_dict())
            store.experiments.finish(experiment, "complete", outcome=outcome)
            side = density_side(store.experiments.get(experiment), [])
        number = next(one.text for one in side.numbers if one.label == "Of linear")
        known = [one.linear_share is not None for one in side.densities]
        return [number, *(None if one else "-" for one in known)]

    assert shares((1, 1000), (2, 1794)) == ["89.7 %", None, None]
    assert shares((1, 1000), (2, 1200), (4, 3980), disturbed=[2]) == ["100 %", None, "-", None]
    assert shares((1, 500), (2, 2000), disturbed=[1]) == ["-", "-", "-"]
    assert shares((1, 0), (2, 0)) == ["-", "-", "-"]


def test_the_axis_of_two_numbers_had_each_of_them_twice(tmp_path: Path) -> None:
    """Its ticks lay at 0.5 and 1.5, too, and their labels were rounded."""
    with Store(tmp_path / "s.sqlite") as store:
        experiment = store.experiments.begin("density", "x", PLAN.as_dict())
        outcome = outcome_of(PLAN, steps_of((1, 1000), (2, 1794)))
        store.experiments.finish(experiment, "complete", outcome=outcome)
        figure = figures(gather(store, [f"e{experiment}"]))["density"]
    assert '"values": [1, 2]' in json.dumps(figure.views[0].spec)


def test_files_were_foreseen_to_take_half_as_long_as_they_did() -> None:
    """Their load warms up as long as it is measured, which was left out; databases have none."""
    plan = replace(PLAN, counts=(1, 2), seconds=4)
    assert plan.foreseen_s() == pytest.approx(2 * (4 + 4), rel=0.05)
    counter = Counter(plan)
    assert counter.forecast(0.0).remaining_s == pytest.approx(plan.foreseen_s())
    long = replace(plan, seconds=60)
    assert long.foreseen_s() == pytest.approx(2 * (60 + 10), rel=0.05)
    databases = replace(PLAN, kind="postgresql", workload=None)
    assert databases.step_s == databases.seconds


def test_steps_of_an_earlier_session_were_taken_for_quick_ones() -> None:
    plan = replace(PLAN, counts=(1, 2, 3, 4), seconds=1)
    counter = Counter(plan, steps=steps_of((1, 1000), (2, 1794)))
    counter.steps += steps_of((3, 2000))
    assert counter.forecast(30.0).remaining_s == pytest.approx(30.0)


def test_failed_io_of_files_was_said_to_be_transactions() -> None:
    step = steps_of((1, 100))[0]
    failed = replace(step, members=(replace(step.members[0], failed=3),))
    assert "3 I/Os failed, and are not counted." in sentences_of(PLAN, [failed])
    databases = replace(PLAN, kind="postgresql", workload=None)
    assert "3 transactions failed, and are not counted." in sentences_of(databases, [failed])


def test_the_latency_of_files_was_that_of_a_write_without_its_sync(tmp_path: Path) -> None:
    load = ["-b8K", "-s", "-w100", "--fdatasync=1", "-L", "-d1", "-W0", "-c1M"]
    result = fathom.run([*load, str(tmp_path / "a"), str(tmp_path / "b")])
    (span,) = result.time_spans
    assert span.total.latency is not None
    assert span.sync.latency is not None
    parts = list(_of_targets(result))
    took_ms = sum(one.count * (one.latency_mean_ms or 0) for one in parts)
    whole_ns = span.total.latency.sum_ns + span.sync.latency.sum_ns
    assert took_ms * 1e6 == pytest.approx(whole_ns)
    assert span.sync.latency.sum_ns > span.total.latency.sum_ns / 10


def test_the_json_gave_a_share_of_linear_of_what_was_disturbed() -> None:
    def shares(*sums: tuple[int, float], disturbed: Sequence[int]) -> list[float | None]:
        outcome = json.loads(json.dumps(outcome_of(PLAN, steps_of(*sums, disturbed=disturbed))))
        assert sentences_of(PLAN, steps_from(outcome)) == outcome["sentences"]
        return [one["linear_share"] for one in outcome["steps"]]

    assert shares((1, 1000), (2, 1200), (4, 4000), disturbed=[2]) == [1, None, 1]
    assert shares((1, 500), (2, 2000), disturbed=[1]) == [None, None]


def test_a_failure_that_is_a_sentence_had_two_full_stops() -> None:
    for steps in ([], steps_of((1, 1000))):
        told = sentences_of(PLAN, steps, "2 files: the run was incomplete.")
        assert told[-1].endswith("the run was incomplete.")
        assert ".." not in " ".join(told)


def test_one_database_was_several(capsys: pytest.CaptureFixture[str]) -> None:
    for counts, words in (((1,), "1 file in"), ((1, 2), "1, 2 files in")):
        show_foreseen(replace(PLAN, counts=counts), as_json=False)
        assert capsys.readouterr().out.startswith(words)


@pytest.mark.parametrize("address", ["smb://server/share/folder", "\\\\server\\share", "nfs://h/x"])
def test_files_of_a_share_were_made_in_a_folder_of_this_host(address: str, tmp_path: Path) -> None:
    """The figures were those of the disk here."""
    words = ("--synthetic", "sql-log", "--databases", "1", "--time", "1s", address)
    done = command("density", *words, cwd=tmp_path)
    assert (done.returncode, "is an address" in done.stderr) == (3, True), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_of_a_new_folder_those_above_it_were_left(tmp_path: Path) -> None:
    plan = DensityPlan(str(tmp_path / "a/b/c"), (1,), 1, kind="files", workload="sql-log")
    with Store(tmp_path / "s.sqlite") as store:
        with runner_of(plan, store):
            assert (tmp_path / "a/b/c").is_dir()
        assert not (tmp_path / "a").exists()
        with runner_of(plan, store):
            (tmp_path / "a/theirs").touch()
    assert [one.name for one in (tmp_path / "a").iterdir()] == ["theirs"]

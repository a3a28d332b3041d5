"""``fathom gate``: limits on saved runs, from the command line and from ``fathom.toml``."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from commands import command
from fabricated import fabricated
from fathom.cli import main
from fathom.cli.commands import _places
from fathom.cli.commands import gate as gate_command
from fathom.errors import InvalidRequestError
from fathom.experiments.compare._figures import SideFigures, compare_figures
from fathom.experiments.compare.comparison import RunComparison
from fathom.experiments.compare.gate import parse_condition, verdict
from fathom.gates import (
    Check,
    JudgedGate,
    find_gate_file,
    gate_of,
    gates_markdown,
    judge_gate,
    junit_xml,
    read_gates,
    worst,
)
from fathom.gates.gate import ChangeLimit
from fathom.gates.pull_request import measured_cell
from fathom.gates.verdict import judge_outcome
from fathom.luns.request import request_from
from fathom.metrics import run_buckets
from fathom.stats import Histograms
from fathom.store import Store
from fathom.workloads.workload import read_workload
from lxml import etree
from simulated import autoregressive, many

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fathom.stats.floats import FloatArray

SCHEMA = etree.XMLSchema(etree.parse(Path(__file__).parents[2] / "schema/gate-junit.xsd"))
# Twice the 5 % that may fail falsely would be found in 999 of 1,000 tests, and 8 % in 98 of 100.
PAIRS = many(400)


@pytest.fixture
def kept() -> Iterator[Store]:
    with Store(os.environ["FATHOM_STORE"]) as opened:
        yield opened


def save(store: Store, rates: Iterable[float], label: str = "", depth: int = 1) -> str:
    """Save runs of these rates, and return a reference to them."""
    ids = []
    for rate in rates:
        result = fabricated(rates=float(rate), latency_ns=200.0, path="x.dat", depth=depth)
        ids.append(store.runs.save(result, ["x.dat"], label=label))
    return ",".join(map(str, ids))


def near(mean: float, count: int = 12, spread: float = 0.01, seed: int = 4) -> FloatArray:
    random = np.random.default_rng(seed)
    return np.asarray(mean * (1 + spread * random.standard_normal(count)))


def decisions(store: Store, limits: Sequence[str], runs: str, baseline: str | None) -> list[str]:
    found = judge_gate(store, gate_of(limits, baseline=baseline), runs)
    return [one.decision for one in found.checks]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("p99<+5", "a change against a baseline is in percent"),
        ("iops<-5%", "as 'iops>-5%'"),
        ("p99>+5%", "as 'p99<+5%'"),
        ("iop>-5%", "did you mean iops?"),
        ("fast", "is no limit such as 'p99<2ms'"),
        ("iops>-5%", "needs a baseline"),
        ("p99", "needs a baseline"),
        ("", "is no limit"),
    ],
)
def test_what_is_no_limit_of_a_gate_is_told(text: str, words: str) -> None:
    with pytest.raises(InvalidRequestError) as told:
        gate_of([text], baseline=None if "needs" in words else "golden")
    assert words in str(told.value)


def test_a_limit_on_a_change_says_what_has_to_hold() -> None:
    gate = gate_of(["iops>-5%", "p99<+10%", "read.mean"], baseline="1")
    conditions = [str(one.condition) for one in gate.relative if isinstance(one, ChangeLimit)]
    assert conditions == ["iops<-5%", "p99>+10%"]


def test_one_run_is_judged_as_it_is_and_ten_by_the_interval_of_their_mean(kept: Store) -> None:
    one, many = save(kept, [1000]), save(kept, near(1000))
    assert decisions(kept, ["iops>990", "iops>1010"], one, None) == ["kept", "broken"]
    limits = ["iops>950", "iops>1050", "iops>1000"]
    assert decisions(kept, limits, many, None) == ["kept", "broken", "cannot tell"]
    few = save(kept, [1000, 1010, 1020])
    assert decisions(kept, ["iops>990", "iops>1100", "iops>1015"], few, None) == [
        "kept",
        "broken",
        "cannot tell",
    ]
    found = judge_gate(kept, gate_of(limits), many).checks[0]
    assert found.low is not None
    assert found.high is not None
    assert found.low < 1000 < found.high


def test_defect_11_a_figure_of_several_runs_says_which_mean_it_is(kept: Store) -> None:
    """A mean of percentiles (291 us) stood where repeat had that of all I/Os (257 us)."""
    runs = save(kept, [1000, 4000])
    ids = [int(one) for one in runs.split(",")]
    results = [kept.runs.get(one).result for one in ids]
    golden = save(kept, near(1000))
    found = judge_gate(kept, gate_of(["iops>1", "p50<1s", "iops>-5%"], baseline=golden), runs)
    rate, median, change = found.checks
    assert rate.measured == pytest.approx(2500)
    assert rate.mean == "mean of 2 runs"
    buckets = Histograms([run_buckets(one, "p50") or {} for one in results])
    assert median.measured == pytest.approx(buckets.quantile(0.5).value_ns)
    assert median.mean == "all I/Os of 2 runs"
    assert change.measured == pytest.approx(2000)
    assert change.mean == "geometric mean of 2 runs"
    cells = [measured_cell(one) for one in found.checks]
    assert cells[0] == "2,500 IOPS (mean of 2 runs)"
    assert cells[2] == "2,000 IOPS (geometric mean of 2 runs)"
    assert judge_gate(kept, gate_of(["iops>1"]), str(ids[0])).checks[0].mean == ""


def test_a_figure_that_a_run_lacks_is_no_pass(kept: Store) -> None:
    runs = save(kept, [1000, 1001])
    found = judge_gate(kept, gate_of(["write.iops>1"]), runs)
    assert found.decision == "cannot tell"
    assert found.checks[0].words.startswith("write.iops>1: cannot tell: run 1: no such I/O")


@pytest.mark.parametrize(
    ("change", "spread", "outcome", "decision"),
    [
        (0.0, 0.005, "equal", "kept"),
        (0.1, 0.005, "better", "kept"),
        (-0.1, 0.005, "worse", "broken"),
        (-0.03, 0.3, "cannot tell", "cannot tell"),
    ],
)
def test_a_change_has_the_four_outcomes_of_compare(
    kept: Store, change: float, spread: float, outcome: str, decision: str
) -> None:
    before = save(kept, near(1000, spread=spread, seed=2))
    after = save(kept, near(1000 * (1 + change), spread=spread, seed=3))
    gate = gate_of(["iops>-5%", "iops"], baseline=before)
    found = judge_gate(kept, gate, after)
    assert [one.outcome for one in found.checks] == [outcome, outcome]
    assert [one.decision for one in found.checks] == [decision, decision]
    assert found.decision == decision


def test_runs_of_another_load_are_refused_unless_the_gate_lets_them(kept: Store) -> None:
    before, after = save(kept, near(1000)), save(kept, near(1000, seed=2), depth=8)
    with pytest.raises(InvalidRequestError, match="load differs"):
        judge_gate(kept, gate_of(["iops>-5%"], baseline=before), after)
    gate = gate_of(["iops>-5%"], baseline=before, any_load=True)
    found = judge_gate(kept, gate, after)
    assert found.decision == "kept"
    assert any("load differs" in one for one in found.notes)


def judged_pair(a: FloatArray, b: FloatArray, limits: Sequence[str]) -> str:
    """Return what a gate says of two sides, with figures that are as good as independent."""
    gate = gate_of(limits, baseline="a")
    conditions = [one.condition for one in gate.relative if isinstance(one, ChangeLimit)]
    names = [*dict.fromkeys(one.metric for one in gate.relative)]
    sides = [
        SideFigures(dict(zip(names, (list(row) for row in side), strict=True)), None)
        for side in (a, b)
    ]
    found = compare_figures(*sides)
    verdicts = [verdict(one, found, len(conditions)) for one in conditions]
    compared = RunComparison(found.metrics, found.missing, None, (), verdicts)
    return worst(one.decision for one in judge_outcome(gate, compared).values())


@pytest.mark.parametrize("limits", [["iops>-0%", "p99<+0%", "iops"], ["iops", "p99"]])
def test_of_pairs_of_equals_at_most_5_percent_fail(limits: list[str]) -> None:
    random = np.random.default_rng(22)
    failed = 0
    for at in range(PAIRS):
        # Half of them on a machine of which a run repeats half of the deviation of the last one.
        a, b = 1000 * np.exp(0.02 * autoregressive(random, 0.5 * (at % 2), (2, 2, 10)))
        failed += judged_pair(a, b, limits) == "broken"
    assert failed / PAIRS <= 0.05


@pytest.mark.parametrize("runs", [1, 2, 4])
def test_too_little_effort_cannot_tell(runs: int) -> None:
    random = np.random.default_rng(23)
    sides = [1000 * np.exp(0.02 * random.standard_normal((2, 1, runs, 20))) for _ in range(50)]
    # What a single run is worth is known by its seconds alone.
    told = {
        judged_pair(
            a if runs == 1 else a.mean(axis=2), b if runs == 1 else b.mean(axis=2), ["iops>-1%"]
        )
        for a, b in sides
    }
    assert told == {"cannot tell"}


def test_a_clear_loss_is_found_and_a_clear_pass_passes() -> None:
    random = np.random.default_rng(24)
    found = {0.0: 0, -0.1: 0}
    for change in found:
        for _ in range(50):
            a, b = 1000 * np.exp(0.01 * random.standard_normal((2, 1, 10)))
            right = "kept" if change == 0 else "broken"
            found[change] += judged_pair(a, b * (1 + change), ["iops>-5%"]) == right
    # Compare itself cannot tell of every tenth set of independent runs that seems to drift.
    assert min(found.values()) > 38


def test_the_file_gives_what_is_shared_to_each_gate(tmp_path: Path) -> None:
    path = tmp_path / "fathom.toml"
    path.write_text(
        '[gate]\nbaseline = "golden"\nconfidence = 99\n'
        '[gate.log]\nlabel = "sql-log"\nrequire = ["p99<2ms", "iops>-5%"]\n'
        '[gate.data]\nbaseline = "e3"\nrequire = ["iops"]\n[other]\nx = 1\n'
    )
    log, data = read_gates(path)
    assert (log.name, log.baseline, log.label, log.confidence) == ("log", "golden", "sql-log", 0.99)
    assert (data.name, data.baseline, data.label) == ("data", "e3", None)
    inner = tmp_path / "deep" / "er"
    inner.mkdir(parents=True)
    assert find_gate_file(inner) == path
    (tmp_path / "deep" / ".git").mkdir()
    assert find_gate_file(inner) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no table [gate]"),
        ("gate = 3", "has no table [gate]"),
        ("[gate", "is no TOML"),
        ("[gate]\nrequired = ['p99<2ms']", "no key 'required'; did you mean require?"),
        ("[gate]\nrequire = 'p99<2ms'", "require has to be a list of texts"),
        ("[gate]\nrequire = [1]", "require has to be a list of texts"),
        ("[gate]\nrequire = []", "there are no limits"),
        ("[gate]\nbaseline = 'a'", "there are no limits"),
        ("[gate]\nrequire = ['p99<2ms']\nconfidence = 100", "between 0 and 100 %"),
        ("[gate]\nrequire = ['p99<2ms']\nconfidence = true", "a number of percent"),
        ("[gate.a]\nrequire = ['p99<2']", "the unit of p99"),
        ("[gate.a.b]\nrequire = ['p99<2s']", "gate a has no key 'b'"),
        ("[gate]\nany_load = 1\nrequire = ['p99<2s']", "any_load has to be a boolean"),
    ],
)
def test_a_file_that_is_wrong_is_told(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "fathom.toml"
    path.write_text(text)
    with pytest.raises(InvalidRequestError) as told:
        read_gates(path)
    assert words in str(told.value)
    assert str(path) in str(told.value)


@pytest.mark.parametrize("number", ["1" + "0" * 400, "9" * 5000])
def test_a_number_that_python_does_not_hold_ended_in_a_traceback(
    number: str, tmp_path: Path
) -> None:
    path = tmp_path / "fathom.toml"
    path.write_text(f"[gate]\nrequire = ['iops>1']\nconfidence = {number}")
    with pytest.raises(InvalidRequestError, match=r"fathom\.toml"):
        read_gates(path)
    path.write_text(f"path = 'x.img'\nsize = {number}")
    with pytest.raises(
        InvalidRequestError, match=r"fathom\.toml is no TOML|--size has to be a text"
    ):
        request_from({}, path)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_file_that_an_editor_of_windows_saved_was_no_toml(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "fathom.toml"
    path.write_text("[gate]\r\nrequire = ['iops>1']\r\n", encoding=encoding, newline="")
    (gate,) = read_gates(path)
    assert [str(one) for one in gate.rules] == ["iops>1"]
    lun = ["on = 'tgt'", "path = 'x.img'", "size = '1G'", "target = 'iqn.2026-11.org.lab:a'"]
    path.write_text("\r\n".join(lun), encoding=encoding, newline="")
    assert request_from({}, path).size == "1G"
    own = tmp_path / "own.toml"
    own.write_text(user_workload(), encoding=encoding)
    assert read_workload(own).title == "Own"


def user_workload() -> str:
    return (
        'title = "Own"\nreason = "None."\nsources = ["me"]\nleft_out = ["all"]\nsize = "1G"\n'
        'arguments = ["-b8K"]\n'
    )


def test_a_fall_by_all_could_never_be_told(kept: Store) -> None:
    save(kept, [100.0])
    for change in ("-100%", "-200%"):
        with pytest.raises(InvalidRequestError, match="no figure falls by 100 % or more"):
            gate_of([f"iops>{change}"], baseline="1")
        with pytest.raises(ValueError, match="no figure falls by 100 % or more"):
            parse_condition(f"iops<{change}")
    assert gate_of(["iops>-99.9%", "p99<+300%"], baseline="1").rules


def test_two_documents_in_one_file_left_the_second_alone(kept: Store, tmp_path: Path) -> None:
    runs = save(kept, [1000.0])
    given = ["gate", runs, "--require", "iops>1", "--junit", "a.xml", "--markdown"]
    done = command(*given, "./a.xml", cwd=tmp_path)
    assert (done.returncode, "a.xml holds one document" in done.stderr) == (3, True), done.stderr
    assert not (tmp_path / "a.xml").exists()
    assert command(*given, "a.md", cwd=tmp_path).returncode == 0


def checks() -> list[JudgedGate]:
    evil = "a<b>&\x00\x1b[31m|`#\ud800\uffff@all\n## x"
    found = (
        Check("p99<2ms", "kept", "p99<2ms: kept", "p99", 1.5e6),
        Check(
            "iops>-5%",
            "broken",
            f"lost {evil}",
            "iops",
            9e4,
            None,
            None,
            -0.1,
            -0.12,
            -0.08,
            "worse",
        ),
        Check("p999<9ms", "cannot tell", evil, "p999"),
    )
    return [
        JudgedGate(evil, (1, 2), evil, (3,), found, (evil,)),
        JudgedGate("b", (1,), None, (), found[:1]),
    ]


def test_junit_keeps_to_its_schema_whatever_the_names_are() -> None:
    made = junit_xml(checks(), at_unix_s=1.7e9, host_name="a\x01b")
    tree = etree.fromstring(made)
    SCHEMA.assertValid(tree)
    assert (tree.get("tests"), tree.get("failures")) == ("4", "1")
    suite = tree[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    assert suite.get("timestamp") == "2023-11-14T22:13:20"
    assert [case[0].tag for case in suite.findall("testcase")] == [
        "system-out",
        "failure",
        "skipped",
    ]
    broken = etree.fromstring(made.replace(b'type="broken"', b'type="odd"'))
    assert not SCHEMA.validate(broken)


def test_markdown_is_a_table_whatever_the_names_are() -> None:
    lines = gates_markdown(checks()).splitlines()
    assert lines[0] == "### ❌ fathom gate: failed"
    assert sum(one.startswith("#") for one in lines) == 1
    rows = [one for one in lines if one.startswith("| ")]
    assert {one.replace("\\|", "").count("|") for one in rows} == {6}
    assert "| iops\\&gt;-5% |" not in lines
    assert "| ❌ **failed** | 90,000 IOPS | -10.0 % (-12.0 to -8.0 %) | worse |" in "\n".join(rows)
    assert "@all" not in "\n".join(lines).replace("\\@all", "")


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (["iops>900"], 0),
        (["iops>900", "iops>-5%"], 0),
        (["iops>2k", "write.iops>1"], 5),
        (["write.iops>1"], 7),
        (["iops>2parsec"], 3),
        ([], 3),
    ],
)
def test_the_command_ends_with_the_worst_and_writes_what_it_found(
    limits: list[str], code: int, kept: Store, tmp_path: Path
) -> None:
    before, after = save(kept, near(1000)), save(kept, near(1000, seed=2))
    words = [word for one in limits for word in ("--require", one)]
    files = ["--junit", "gate.xml", "--markdown", "gate.md"]
    given = ["gate", after, "--baseline", before, *words, *files]
    done = command(*given, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert (tmp_path / "gate.xml").exists() is (tmp_path / "gate.md").exists() is (code != 3)
    if code != 3:
        SCHEMA.assertValid(etree.parse(tmp_path / "gate.xml"))
        # Over files of its own it writes again.
        told = json.loads(command(*given, "--json", cwd=tmp_path).stdout)
        assert [one["limit"] for one in told["gates"][0]["checks"]] == limits


def test_files_of_others_are_not_written_over(kept: Store, tmp_path: Path) -> None:
    files = ["--junit", "gate.xml", "--markdown", "gate.md"]
    given = ["gate", save(kept, [1000]), "--require", "iops>2k", *files]
    (tmp_path / "gate.md").write_text("mine")
    done = command(*given, cwd=tmp_path)
    assert (done.returncode, "--overwrite" in done.stderr) == (1, True)
    assert (tmp_path / "gate.md").read_text() == "mine"
    assert command(*given, "--overwrite", cwd=tmp_path).returncode == 5
    assert (tmp_path / "gate.md").read_text() != "mine"


def test_gates_of_the_file_judge_the_newest_runs_of_their_labels(
    kept: Store, tmp_path: Path
) -> None:
    save(kept, [2000], label="log")
    save(kept, [1000], label="log")
    (tmp_path / "fathom.toml").write_text(
        '[gate.log]\nlabel = "log"\nrequire = ["iops>1500"]\n'
        '[gate.data]\nlabel = "data"\nrequire = ["iops>1"]\n'
    )
    done = command("gate", "--only", "log", "--json", cwd=tmp_path)
    assert done.returncode == 5
    assert json.loads(done.stdout)["gates"][0]["runs"] == [2]
    done = command("gate", cwd=tmp_path)
    assert (done.returncode, "no run in" in done.stderr) == (3, True)
    done = command("gate", "1", "--only", "other", cwd=tmp_path)
    assert (done.returncode, "it has log, data" in done.stderr) == (3, True)
    done = command("gate", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("kept") == 2


def test_what_is_found_is_shown_where_a_file_cannot_be_written(
    kept: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    save(kept, [1000])
    gate = ["gate", "1", "--require", "iops>1", "--junit", str(tmp_path / "none/x.xml")]
    # What is seen beforehand is refused beforehand.
    done = command(*gate)
    assert (done.returncode, "cannot be written" in done.stderr, done.stdout) == (1, True, "")
    # The folder went behind that look.
    monkeypatch.setattr(_places, "check", lambda *_args, **_more: None)
    monkeypatch.setattr(sys, "argv", ["fathom", *gate])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert (ended.value.code, "cannot be written" in said.err) == (1, True), said.err
    assert "kept" in said.out


def test_no_junit_was_written_where_the_output_was_closed(
    kept: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(kept, [1000])

    def closed(_judged: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(gate_command, "_show", closed)
    place = tmp_path / "x.xml"
    monkeypatch.setattr(
        sys, "argv", ["fathom", "gate", "1", "--require", "iops<1", "--junit", str(place)]
    )
    with pytest.raises(SystemExit):
        main()
    assert b"<failure" in place.read_bytes()


def test_the_standard_output_holds_one_document(kept: Store, tmp_path: Path) -> None:
    save(kept, [1000])
    given = ["gate", "1", "--require", "iops>1"]
    done = command(*given, "--junit", "-", cwd=tmp_path)
    SCHEMA.assertValid(etree.fromstring(done.stdout.encode()).getroottree())
    assert command(*given, "--markdown", "-", cwd=tmp_path).stdout.startswith("### ")
    for other in (["--junit", "-", "--markdown", "-"], ["--markdown", "-", "--json"]):
        done = command(*given, *other, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (3, "")
        assert "one document" in done.stderr
    assert not [*tmp_path.iterdir()]


def test_a_gate_without_a_name_is_not_called_gate(kept: Store) -> None:
    save(kept, [1000])
    for words in (["--require", "iops>1"], ["1", "--require", "p99"]):
        done = command("gate", *words)
        assert (done.returncode, "gate gate" in done.stderr) == (3, False)


def save_doubted(store: Store, rates: Iterable[float], kind: str, words: str) -> str:
    """Save runs with a warning, and return a reference to them."""
    ids = []
    for rate in rates:
        made = fabricated(
            rates=float(rate), latency_ns=200.0, path="x.dat", warnings=[(kind, words)]
        )
        ids.append(store.runs.save(made, ["x.dat"]))
    return ",".join(map(str, ids))


def test_what_speaks_against_the_runs_of_a_baseline_was_not_told(kept: Store) -> None:
    """A baseline that had been suspended let 80 % more be *better* without a note."""
    before = save_doubted(kept, near(5000), "suspended", "It was suspended for 3.0 s.")
    after = save(kept, near(9000, seed=5))
    found = judge_gate(kept, gate_of(["iops>-5%"], baseline=before), after)
    assert found.decision == "kept"
    (note,) = found.notes
    assert note.startswith("Baseline: the measuring process was suspended")


@pytest.mark.parametrize("rate", [9000, 3000])
def test_a_baseline_that_no_device_answered_gave_a_verdict(kept: Store, rate: int) -> None:
    """Runs of a device were *better* than memory, and *kept* the limit."""
    words = "Of 834,436 reads, 7 reached vda."
    before = save_doubted(kept, near(5000), "not_the_device", words)
    after = save(kept, near(rate, seed=5))
    gate = gate_of(["iops>-5%", "iops", "iops>1"], baseline=before)
    found = judge_gate(kept, gate, after)
    assert [one.decision for one in found.checks] == ["cannot tell", "cannot tell", "kept"]
    assert {one.outcome for one in found.checks[:2]} == {"cannot tell"}
    assert "the numbers of the baseline are not a device's: " in found.checks[0].words
    assert "better" not in found.checks[0].words
    assert "worse" not in found.checks[0].words
    assert found.notes[0].startswith("Baseline: ")


def test_runs_that_no_device_answered_were_better_than_a_baseline_of_one(kept: Store) -> None:
    """Memory that answered 80 % faster than the disk of the baseline passed."""
    words = "Of 834,436 reads, 7 reached vda."
    before = save(kept, near(5000))
    after = save_doubted(kept, near(9000, seed=5), "not_the_device", words)
    limited = save_doubted(kept, near(5300, seed=6), "io_limited", "So.")
    for baseline, judged in ((before, after), (after, limited)):
        found = judge_gate(kept, gate_of(["iops>-5%"], baseline=baseline), judged)
        assert found.decision == "cannot tell"
        assert "the numbers of the runs are not a device's" in found.checks[0].words


def test_two_sides_that_no_device_answered_are_judged_with_notes(kept: Store) -> None:
    words = "Of 834,436 reads, 7 reached vda."
    before = save_doubted(kept, near(5000), "not_the_device", words)
    after = save_doubted(kept, near(5000, seed=5), "not_the_device", words)
    found = judge_gate(kept, gate_of(["iops>-5%"], baseline=before), after)
    assert found.decision == "kept"
    assert len(found.notes) == 2

"""Each table of each verb, with the longest names, whole at five widths and in each form.

Tables are taken where the verbs hand them over to be drawn, so that a new one is in here by itself.
"""

from __future__ import annotations

import csv
import io
import json
import os
import pkgutil
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from fabricated import fabricated
from fathom import cli, luns
from fathom.cli import main
from fathom.cli.commands.scale import show_scaling
from fathom.cli.verbs import VERBS
from fathom.cli.views import assess as assess_view
from fathom.cli.views import runs as runs_view
from fathom.cli.views import table_format, whole_console
from fathom.cli.views.comparison import show_comparison
from fathom.cli.views.density import show_density
from fathom.cli.views.experiments import show_outcome
from fathom.cli.views.fleet import hosts_table
from fathom.cli.views.plain import plain_streams
from fathom.cli.views.sweep import show_sweep
from fathom.cli.views.tune import show_tune
from fathom.cli.views.whole_console import WholeConsole
from fathom.cli.views.whole_table import WholeColumn, WholeTable, folded
from fathom.databases.pgbench import DatabaseFigures
from fathom.experiments.density import Density, DensityPlan
from fathom.experiments.density.outcome import Measured, sentences_of, stepped
from fathom.experiments.scale import ScalePoint, Scaling
from fathom.fleet.showing import ShownHost
from fathom.host import Limit
from fathom.store import Store
from reported import saved_assessment, saved_preparations, saved_repetition
from simulated_storage import Truth
from test_claims_experiments import made
from test_findings_grouped import assessed

WIDTHS = (40, 60, 80, 120, 200)
# A number alone: no part of a longer one, of a name, or of a date.
NUMBER = re.compile(r"(?<![\w.,/-])[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?![\w/-])")
# Paths and labels as people have them, and the longest that Linux takes.
CORPUS = (
    "/mnt/" + "/".join(["a-folder-of-a-long-name"] * 12) + "/x.dat",
    "/dev/disk/by-id/nvme-SAMSUNG_MZVL21T0HCLR-00BH1_S64KNX0T123456-part1",
    "/srv/" + "n" * 200 + ".dat",
    "/データ/測定/" + "漢字" * 30 + ".dat",
    "/mnt/with spaces and | a bar/x.dat",
)


class Taken:
    """The tables that verbs drew."""

    def __init__(self) -> None:
        """Begin with none."""
        self.tables: list[tuple[str, WholeTable]] = []
        self.verb = ""

    def take(self, table: WholeTable) -> bool:
        """Keep a table, and let it be drawn."""
        self.tables.append((self.verb, table))
        return False


def _screen(width: int) -> WholeConsole:
    return WholeConsole(file=io.StringIO(), width=width, force_terminal=True, color_system=None)


def _call(*arguments: str) -> None:
    with mock.patch.object(sys, "argv", ["fathom", *arguments]), pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code, arguments


def counted_databases(folder: str) -> Density:
    """Return how many databases a machine carried, made up."""
    plan = DensityPlan(folder, (1, 16), 60)
    one = DatabaseFigures("db1", 12345.678, 0.123)
    limit = Limit("CPU", "the CPUs were 99% busy", 99.0)
    first = stepped(Measured((one,), limit), None)
    steps = (first, stepped(Measured((one,) * 16, limit), first))
    return Density(1, plan, steps, tuple(sentences_of(plan, steps)))


def _fill(store: Store, folder: Path) -> int:
    """Fill a store with what all verbs make, and return how many experiments it has."""
    for at, path in enumerate(CORPUS):
        result = fabricated(rates=10**at * 1234.5, latency_ns=123.4, path=path, write=30, depth=8)
        store.runs.save(result, ["-o8", "-w30", path], label=f"{path} {'l' * 40}")
    for path in CORPUS[:2]:
        saved_repetition(store, [1000.0, 2000.0, 1500.5], path)
    saved_assessment(store, CORPUS[0])
    return max(saved_preparations(store, folder))


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, WholeTable]]:
    """Return the tables of all verbs, with whose they are."""
    # What is imported while the console is another one would keep that one.
    for found in pkgutil.walk_packages(cli.__path__, "fathom.cli."):
        import_module(found.name)
    folder = tmp_path_factory.mktemp("tables")
    taken = Taken()
    long = folder / ("a-long-name-" * 12)
    with (
        mock.patch.dict(os.environ, {"FATHOM_STORE": str(folder / "store.sqlite")}),
        mock.patch.object(runs_view, "console", side_effect=lambda: _screen(80)),
        mock.patch.object(whole_console, "write_table", taken.take),
        mock.patch.object(assess_view, "write_table", taken.take),
        Store(folder / "store.sqlite") as store,
    ):
        last = _fill(store, folder)
        truth = Truth(servers=16, read_us=100.0, noise=0.01)
        shown: dict[str, Any] = {"sweep": show_sweep, "tune": show_tune}
        for verb, show in shown.items():
            taken.verb = verb
            show(made(store, verb, truth))
        taken.verb = "compare"
        show_comparison(made(store, "compare", truth).comparison)  # type: ignore[union-attr,arg-type]
        taken.verb = "assess"
        assess_view.show_assessment(assessed(folder, store))
        taken.verb = "density"
        show_density(counted_databases(CORPUS[0]))
        taken.verb = "lun"
        rows = [{"target": f"iqn.2026-11.org.lab:{'l' * 90}", "lun": "1", "path": CORPUS[0]}]
        offered = mock.Mock(listed=mock.Mock(return_value=rows))
        with mock.patch.object(luns, "provider_of", return_value=offered):
            _call("lun", "list", "--on", "tgt")
        taken.verb = "scale"
        points = [ScalePoint(9 * at, at, 12345.678, 48.2, 1.5e6, 0.98, None) for at in (1, 99)]
        show_scaling(Scaling(1, tuple(points), None), "s.sqlite", as_json=False)
        taken.verb = "fleet"
        host = ShownHost("h" * 60, f"tls://{'a' * 60}:8786", "0.1.0", "6.18", -1234567, 98, "free")
        runs_view.console().print(hosts_table([host]))
        last = max(one.id for one in store.experiments.list())
        measured = ("-c1M", "-b4K", "-W0", "-L", "--stop-ios=500", "-d1", str(long))
        commands = [
            ("run", *measured),
            ("repeat", "--pilot", "3", "--most", "3", *measured),
            *(("show", f"e{at}") for at in range(1, last + 1)),
            *(("show", str(at)) for at in range(1, len(CORPUS) + 1)),
            ("list",),
            ("list", "--experiments"),
            ("baseline", "set", "b" * 90, "1"),
            ("baseline", "list"),
            ("gate", "1", "--baseline", "1", "--any-load", "--require", "iops>1"),
            ("schedule", "list", "--folder", str(folder)),
            ("serve", "token", "list", "--folder", str(folder)),
            ("trend",),
            ("trend", "1"),
            ("workloads",),
            ("translate",),
            ("run", "--overwrite", *measured),
            ("audit",),
            ("resources", f"{'c' * 90}={Path(__file__).parent / 'data/pacemaker/crm_mon.xml'}"),
        ]
        for command in commands:
            taken.verb = command[0]
            _call(*command)
    return taken.tables


def _drawn(table: WholeTable, width: int) -> str:
    screen = _screen(width)
    with mock.patch.object(whole_console, "write_table", return_value=False):
        screen.print(table)
    file: Any = screen.file
    return str(file.getvalue())


def _left_out(text: str) -> set[str]:
    found = re.search(r"Not shown, for want of room: (.*?)\. A wider", " ".join(text.split()))
    return {*found[1].split(", ")} if found else set()


def _plain(number: str) -> float:
    return float(number.replace(",", ""))


def test_each_verb_that_shows_tables_is_here(tables: list[tuple[str, WholeTable]]) -> None:
    assert {verb for verb, _ in tables} == {name for name, one in VERBS.items() if one.tables}
    assert len(tables) > 60


@pytest.mark.parametrize("width", WIDTHS)
def test_each_figure_is_found_whole_or_its_column_is_named(
    tables: list[tuple[str, WholeTable]], width: int
) -> None:
    for verb, table in tables:
        text = _drawn(table, width)
        left = _left_out(text)
        titles = {" ".join(column.title.split()) for column in table.columns}
        assert {" ".join(one.split()) for one in left} <= titles, (verb, text)
        shown = {_plain(one) for one in NUMBER.findall(text)}
        rows: Any = table_format._as_dict(table)["rows"]
        for row in rows:
            for title, value in row.items():
                if isinstance(value, int | float) and title.strip() not in left:
                    assert value in shown, (verb, width, title, value, text)


@pytest.mark.parametrize("width", WIDTHS)
def test_no_drawn_table_is_wider_than_the_terminal(
    tables: list[tuple[str, WholeTable]], width: int
) -> None:
    from rich.cells import cell_len  # noqa: PLC0415 - As the views do.

    for verb, table in tables:
        text = _drawn(table, width)
        if "│" in text:
            assert max(map(cell_len, text.splitlines())) <= width, (verb, text)


@pytest.mark.parametrize("path", CORPUS)
def test_a_long_path_takes_few_lines_and_keeps_both_ends(path: str) -> None:
    table = WholeTable(
        [WholeColumn("run", is_number=True), WholeColumn("target", is_name=True)], [["1", path]]
    )
    text = _drawn(table, 80)
    assert len(text.splitlines()) <= 6
    assert path[:6] in text
    assert path[-5:] in text


@pytest.mark.parametrize("form", ["csv", "json", "markdown"])
def test_each_form_has_all_rows_and_columns(
    tables: list[tuple[str, WholeTable]], form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for verb, table in tables:
        capsys.readouterr()
        with table_format.chosen_tables():
            table_format.choose(table_format.TableFormat(form))
            assert table_format.write_table(table)
        text = capsys.readouterr().out
        if form == "json":
            (found,) = json.loads(text)
            rows = [[*row.values()] for row in found["rows"]]
        elif form == "csv":
            rows = [[*row] for row in csv.reader(io.StringIO(text))][1:]
        else:
            lines = [line for line in text.splitlines() if line.startswith("| ")][2:]
            rows = [re.split(r"(?<!\\) \| ", line[2:-2]) for line in lines]
        assert len(rows) == len(table.rows), (verb, text)
        assert {len(row) for row in rows} <= {len(table.columns)}, (verb, text)


def test_a_label_that_looks_like_a_number_became_one(capsys: pytest.CaptureFixture[str]) -> None:
    label, name = "1,000", "0.50"
    for form in ("csv", "json"):
        with table_format.chosen_tables():
            table_format.choose(table_format.TableFormat(form))
            table = runs_view.text_table("", ("run>", "label~", "host~"), [["1,000", label, name]])
            assert table_format.write_table(table)
    text = capsys.readouterr().out
    assert text.startswith('run,label,host\n1000,"1,000",0.50\n')
    (row,) = json.loads(text.split("\n", 2)[2])[0]["rows"]
    assert row == {"run": 1000, "label": label, "host": name}


def test_json_and_csv_have_tables_alone_on_the_standard_output(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Store() as store:
        saved_repetition(store, [1000.0, 2000.0])
    for form, read in (("json", json.loads), ("csv", lambda text: [*csv.reader(text.split("\n"))])):
        _call("show", "e1", "--format", form)
        assert len(read(capsys.readouterr().out)) > 1
    _call("show", "e1")
    text = capsys.readouterr().out
    assert "Plan" in text
    assert "{" not in text


class _Terminal(io.StringIO):
    """A terminal, as far as a program can tell."""

    def isatty(self) -> bool:
        """Return that it is one."""
        return True


def test_no_view_spells_out_its_own_commands_to_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    truth = Truth(servers=16, read_us=100.0, noise=0.01)
    with Store(tmp_path / "s.sqlite") as store, plain_streams():
        show_sweep(made(store, "sweep", truth))  # type: ignore[arg-type]
        show_tune(made(store, "tune", truth))  # type: ignore[arg-type]
        assess_view.show_assessment(assessed(tmp_path, store))
    shown = terminal.getvalue()
    assert "baseline latency" in shown
    # The guard of the streams writes the commands of others so; nothing of ours may pass it.
    assert "\\x1b" not in shown
    # A label of the verdict stays on one line.
    assert "One write that survives an outage" in shown


def test_names_are_shown_as_they_are_by_markdown_and_no_formula_in_a_head_of_csv(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A name such as ``<b>`` was markup, and a target ``=1+1`` a formula above its figures."""
    table = WholeTable(
        [WholeColumn("name"), WholeColumn("=1+1", is_number=True)],
        [["a\\|b <b>*c* _d_ e_f & `g`", "1,234"], ["-", "-5"]],
        title="",
    )
    for form in ("markdown", "csv"):
        with table_format.chosen_tables():
            table_format.choose(table_format.TableFormat(form))
            assert table_format.write_table(table)
    text = capsys.readouterr().out
    assert "| a\\\\\\|b \\<b>\\*c\\* \\_d\\_ e_f \\& \\`g\\` | 1,234 |" in text
    assert "name,'=1+1\n" in text
    assert ",-5\n" in text


@pytest.mark.parametrize("width", WIDTHS)
def test_letters_of_two_columns_made_lines_that_broke_numbers(width: int) -> None:
    """Folded by letters: 60 columns of them on a terminal of 40, which cuts where it ends."""
    from rich.cells import cell_len  # noqa: PLC0415 - As the views do.

    name = "/\u6f22\u5b57\u6e2c\u5b9a"
    words = f"{name} leads: " + ", ".join(f"{name} {1_234_567 + at:,} IOPS" for at in range(9))
    lines = folded(words, width, "- ", "  ")
    assert max(map(cell_len, lines)) <= width
    assert " ".join(line.strip(" -") for line in lines) == words
    columns = [WholeColumn(one, is_number=True) for one in ("run", "IOPS", "MiB/s")]
    rows = [["1", "1,234,567", "39.1", "\u6f22\u5b57 " * 12]]
    text = _drawn(WholeTable([*columns, WholeColumn("label")], rows), width)
    assert max(map(cell_len, text.splitlines())) <= width


def test_a_headline_that_is_the_first_claim_is_told_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    claims = [{"text": "B is better."}, {"text": "B is better."}, {"text": "By 25 %."}]
    show_outcome({"claims": claims})
    assert capsys.readouterr().out.split("\n")[:2] == ["B is better.", "By 25 %."]

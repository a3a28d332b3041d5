"""``fathom import`` as a command: what it takes, what it says, and how it ends."""

from __future__ import annotations

import io
import json
import os
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from fathom.cli import main
from fathom.cli.exit_codes import EXIT_FAILED, EXIT_INVALID
from fathom.store import Store

HERE = Path(__file__).parent
OURS = HERE / "fixtures/result.json"
BLOG = HERE / "data/import/blog-typographic.txt"
MARKS = HERE / "data/import/crystaldiskmark-8.0.4.txt"


def command(*args: str | Path, stdin: bytes = b"") -> tuple[int, str, str]:
    """Run ``fathom`` in this process, which is faster, and return its exit code, output and errors.

    Whatever is raised but the end of the command would be a traceback, and fails the test.
    """
    output, errors = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(output), redirect_stderr(errors):
        patch.setattr(sys, "argv", ["fathom", *(os.fspath(one) for one in args)])
        patch.setattr(warnings, "showwarning", warnings.showwarning)
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        try:
            main()
        except SystemExit as end:
            code = end.code
        else:
            code = 0
    assert isinstance(code, int | None)
    return code or 0, output.getvalue(), errors.getvalue()


def labels() -> list[str]:
    """Return the labels of all runs in the store that the command uses."""
    with Store() as store:
        return [run.label for run in reversed(store.runs.list())]


def test_all_results_of_several_files_are_saved_and_told_one_by_one() -> None:
    code, output, errors = command("import", BLOG, MARKS)
    assert code == 0
    lines = output.splitlines()
    assert len(lines) == len(labels()) == 3 + 8
    assert lines[0].startswith(f"{BLOG}: run 1: DiskSpd: ")
    assert lines[3] == f"{MARKS}: run 4: CrystalDiskMark 8.0.4: SEQ 1MiB (Q= 8, T= 1) read"
    # The prose is counted, and shown where that is requested.
    assert "lines outside of results" in errors
    _code, _output, shown = command("import", "--all-lines", "--again", BLOG)
    assert len(shown.splitlines()) > len(errors.splitlines())
    assert "lines outside of results" not in shown


def test_what_was_imported_before_is_named_with_its_runs() -> None:
    assert command("import", MARKS)[0] == 0
    code, output, errors = command("import", MARKS)
    assert (code, errors) == (0, "")
    runs = "1, 2, 3, 4, 5, 6, 7, 8"
    assert output == f"{MARKS}: imported before, as run {runs}; --again saves it once more\n"
    assert len(labels()) == 8
    assert command("import", "--again", "--label", "old", MARKS)[0] == 0
    assert labels()[8:] == ["old"] * 8


def test_a_folder_and_a_pattern_give_their_files_in_order(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/b.txt").write_bytes(MARKS.read_bytes())
    (tmp_path / "a.json").write_bytes(OURS.read_bytes())
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    (tmp_path / "notes.md").write_text("bought in May")
    code, output, errors = command("import", tmp_path)
    assert code == 0
    assert [line.split(": ")[0] for line in output.splitlines()] == [
        str(tmp_path / "a.json"),
        *[str(tmp_path / "deep/b.txt")] * 8,
    ]
    assert f"{tmp_path / 'notes.md'}: left out: it has no result of a tool that is known" in errors
    assert f"{tmp_path / 'picture.png'}: left out: it is no text" in errors
    code, output, _errors = command("import", tmp_path / "deep" / "*.txt")
    assert (code, output.count("imported before")) == (0, 1)


def test_a_folder_without_any_result_is_said_to_have_none(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("bought in May")
    code, output, errors = command("import", tmp_path)
    assert (code, output) == (3, "")
    assert f"error: there is no result in {tmp_path}; nothing was imported" in errors


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_standard_input_is_read_as_powershell_writes_it(encoding: str) -> None:
    text = (HERE / "fixtures/result.txt").read_text()
    code, output, errors = command("import", "-", stdin=text.encode(encoding))
    assert (code, errors) == (0, "")
    assert output.startswith("-: run 1: Fathom diskspd: diskspd -c4M")
    with Store() as store:
        assert store.runs.get(1).result.total.ios == 300


def test_json_tells_of_each_file_what_became_of_it(tmp_path: Path) -> None:
    (tmp_path / "cut.json").write_bytes(OURS.read_bytes()[:3000])
    code, output, errors = command("import", "--json", BLOG, tmp_path / "cut.json", tmp_path)
    found: list[dict[str, Any]] = json.loads(output)
    assert code == 1
    assert errors == "error: 2 of 3 files were not imported\n"
    assert [one["file"] for one in found] == [str(BLOG), *[str(tmp_path / "cut.json")] * 2]
    assert (found[0]["runs"], found[0]["error"]) == ([1, 2, 3], None)
    assert {"number", "text", "is_within"} == set(found[0]["unparsed"][0])
    assert len(found[0]["titles"]) == 3
    assert found[1]["error"].startswith("it is cut off in line 1, column 2991")


# What is given, and what is said of it: what happened, and what to do next.
BAD: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "empty.txt": (b"", ("it is empty", "write the result once more")),
    "blank.txt": (b"\n \n", ("it is empty",)),
    "binary": (b"\x7fELF\0\0\1\2" * 64, ("it is no text", "--from")),
    "prose.txt": (b"It was fast.\n", ("no result of a tool that is known", "--from")),
    "other.json": (b'{"a": 1}', ("neither fio's nor Fathom's", "--from")),
    "half.json": (OURS.read_bytes()[:4000], ("cut off in line 1, column 4001", "once more")),
    "odd.json": (b'{"a": 1,, "b": 2}', ("its JSON is damaged in line 1, column 9",)),
    "fio.json": (
        b'{\n "fio version": "fio-3.33",\n "jobs": [\n  {"jobname": "a",',
        ("begins in line 1 is cut off in line 4, column 19", "run fio once more"),
    ),
    "newer.json": (b'{"schema_version": 99, "time_spans": []}', ("version 99", "version 1")),
    "part.json": (b'{"schema_version": 1, "command_line": "x"}', ("'time_spans' is missing",)),
    "cut.xml": (b"<Results><System></System><TimeSpan><TestTi", ("damaged or cut off",)),
}


def test_what_is_no_result_is_refused_in_words_and_nothing_is_saved(tmp_path: Path) -> None:
    for name, (content, _words) in BAD.items():
        (tmp_path / name).write_bytes(content)
    code, output, errors = command("import", *(tmp_path / name for name in BAD))
    assert (code, output) == (3, "")
    assert errors.endswith(f"error: {len(BAD)} of {len(BAD)} files were not imported\n")
    for line, (name, (_content, words)) in zip(errors.splitlines(), BAD.items(), strict=False):
        assert line.startswith(f"{tmp_path / name}: ")
        for word in words:
            assert word in line
    assert "Errno" not in errors
    assert labels() == []


def test_a_missing_name_ends_the_command_before_anything_is_imported(tmp_path: Path) -> None:
    code, output, errors = command("import", BLOG, tmp_path / "nix.txt", tmp_path / "*.log")
    assert (code, output) == (3, "")
    assert (
        f"there is no file, folder or match of {tmp_path / 'nix.txt'}, {tmp_path}/*.log" in errors
    )
    assert "nothing was imported" in errors
    assert labels() == []


def test_a_link_to_nothing_was_left_out_without_a_word(tmp_path: Path) -> None:
    (tmp_path / "gone.json").symlink_to(tmp_path / "nowhere")
    code, _, errors = command("import", str(tmp_path / "gone.json"))
    assert (code, "there is no file, folder or match of" in errors) == (3, True)


def test_a_source_of_no_known_format_was_sent_to_an_option_of_another_name(tmp_path: Path) -> None:
    (tmp_path / "series.log").write_text("1, 2, 0, 4096\n")
    (tmp_path / "words.txt").write_text("nothing of a tool\n")
    for name in ("series.log", "words.txt"):
        _, _, errors = command("import", str(tmp_path / name))
        assert "--from" in errors
        assert "--format" not in errors


def test_a_device_is_not_waited_for() -> None:
    code, _output, errors = command("import", "/dev/zero")
    assert (code, "a device, and no file" in errors, "Errno" in errors) == (3, True, False)


def test_a_format_can_be_forced_and_the_formats_are_listed(tmp_path: Path) -> None:
    code, output, _errors = command("import", "--format", "?", BLOG)
    assert code == 0
    assert {"fathom-json", "fio-json", "diskspd-text", "iometer-csv"} < set(output.split())
    log = tmp_path / "a.txt"
    log.write_text("500, 1000, 0, 4096, 0\n1000, 1200, 0, 4096, 0\n")
    code, _output, errors = command("import", log)
    assert (code, "fio-iops-log" in errors) == (3, True)
    assert command("import", "--format", "fio-iops-log", log)[0] == 0
    code, _output, errors = command("import", "--format", "nix", log)
    assert (code, "there is no format 'nix'" in errors) == (3, True)


# What a store gives a run again, and what it knows of the file that it came from.
LOCAL = {"id", "saved_at_unix_s", "source_sha256", "source_position", "source_name"}


def test_a_run_moves_between_stores_without_any_loss(tmp_path: Path) -> None:
    """Measured here, exported whole, imported into another store: everything is equal."""
    target = ["-c4M", "-b4K", "-r", "-w30", "-t2", "-d1", "-W0", "-L", "-D250"]
    assert command("run", "--label", "a b", *target, tmp_path / "x.dat")[0] == 0
    whole, other = tmp_path / "whole.json", tmp_path / "other.db"
    assert command("export", "--table", "whole", "--format", "json", "-o", whole)[0] == 0
    code, output, errors = command("import", "--store", other, whole)
    assert (code, output, errors) == (0, f"{whole}: run 1: Fathom: a b\n", "")
    with Store() as first, Store(other) as second:
        mine, theirs = first.runs.get(1), second.runs.get(1)
    assert theirs.result.raw == mine.result.raw
    assert theirs.result == mine.result
    latency = theirs.result.total.latency
    assert latency is not None
    assert sum(latency.buckets.values()) == latency.count
    assert theirs.imported is None
    assert theirs.arguments == mine.arguments
    assert theirs.targets == mine.targets
    kept = {name: one for name, one in mine.summary.columns.items() if name not in LOCAL}
    assert {name: theirs.summary.columns[name] for name in kept} == kept
    assert theirs.summary.columns["source_name"] == str(whole)
    # It is known again, in both stores, however it is written.
    again = tmp_path / "again.json"
    again.write_text(command("show", "--json", "--store", other, "1")[1])
    for place in ([], ["--store", str(other)]):
        code, output, _errors = command("import", *place, again)
        assert (code, "imported before, as run 1" in output) == (0, True)


def test_a_bare_result_has_its_whole_histograms_and_nothing_of_this_machine() -> None:
    assert command("import", OURS)[0] == 0
    with Store() as store:
        run = store.runs.get(1)
    assert run.result.raw == json.loads(OURS.read_text())
    assert (run.summary.columns["cpu_model"], run.summary.columns["memory_bytes"]) == (
        "a processor",
        None,
    )
    assert run.targets[0]["device_names"] is None
    assert run.arguments[:2] == ("-c4M", "-b4K")
    latency = run.result.total.latency
    assert latency is not None
    assert run.summary.columns["total_latency_p99_ns"] == latency.quantile_ns(0.99)


def test_a_list_of_results_is_a_run_each_and_all_or_none_is_saved(tmp_path: Path) -> None:
    """As ``fathom run --json`` prints a workload of several steps."""
    raw = json.loads(OURS.read_text())
    (tmp_path / "steps.json").write_text(json.dumps([raw, raw], indent=2))
    assert command("import", "--label", "moved", tmp_path / "steps.json")[0] == 0
    assert labels() == ["moved", "moved"]
    broken = {**raw, "host": {}}
    (tmp_path / "half.json").write_text(json.dumps([raw, broken]))
    code, output, errors = command("import", tmp_path / "half.json")
    assert (code, output) == (3, "")
    assert "no whole result of Fathom: 'name' is missing" in errors
    assert len(labels()) == 2


def test_imports_of_other_tools_move_on_with_their_own_figures(tmp_path: Path) -> None:
    assert command("import", BLOG)[0] == 0
    whole, other = tmp_path / "whole.json", tmp_path / "other.db"
    whole.write_text(command("show", "--json", "1,2,3")[1])
    code, _output, errors = command("import", "--store", other, whole)
    assert (code, errors) == (0, "")
    with Store() as first, Store(other) as second:
        for run_id in (1, 2, 3):
            mine, theirs = first.runs.get(run_id), second.runs.get(run_id)
            assert mine.imported is not None
            assert theirs.imported == mine.imported
            assert theirs.summary.columns["origin"] == "diskspd-text"


def test_a_table_of_summaries_is_refused_with_the_way_to_export_all(tmp_path: Path) -> None:
    assert command("import", OURS)[0] == 0
    assert command("export", "--format", "json", "-o", tmp_path / "rows.json")[0] == 0
    code, _output, errors = command("import", tmp_path / "rows.json")
    assert (code, "fathom export --table whole --format json" in errors) == (3, True)


def test_a_result_whose_histogram_lost_a_bucket_is_refused(tmp_path: Path) -> None:
    raw = json.loads(OURS.read_text())
    part = raw["time_spans"][0]["threads"][0]["targets"][0]["read"]["latency"]
    part["bucket_counts"].pop()
    (tmp_path / "a.json").write_text(json.dumps(raw))
    code, _output, errors = command("import", tmp_path / "a.json")
    assert (code, f"a histogram tells {part['count']} I/Os" in errors) == (3, True)


@pytest.mark.parametrize(
    "content",
    [b"words of somebody\n" * 99, b"", b"SQLite format 3\0" + bytes(99), b"\x7fELF" + bytes(999)],
    ids=["words", "nothing", "a damaged database", "a program"],
)
def test_what_nobody_can_import_left_an_empty_store(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    new = tmp_path / "new.sqlite"
    code, _output, errors = command("import", tmp_path / "file", "--store", new)
    assert code == EXIT_INVALID, errors
    assert "error: " in errors
    assert [one.name for one in tmp_path.iterdir()] == ["file"]
    # One that holds a result makes it.
    code, output, errors = command("import", tmp_path / "file", BLOG, "--store", new)
    assert code == EXIT_FAILED, errors
    assert "run 1: " in output
    assert new.exists()

"""Whatever is given as a size, a range, a condition, a reference or a file: a result, or words."""

from __future__ import annotations

import os
import sqlite3
import sys
import zlib
from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from fathom import FathomError
from fathom.cli import main
from fathom.experiments.axes import Grid, parse_axes
from fathom.experiments.compare.saved import parse_condition
from fathom.store import Store, StoreError
from fathom.store.packing import unpack_json
from fathom.workloads.workload import WorkloadError, read_workload
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from simulated import many
from store_worker import RESULT

if TYPE_CHECKING:
    from pathlib import Path

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
SIZES = st.builds(
    lambda number, unit: f"{number}{unit}", st.integers(1, 999), st.sampled_from("KMGT")
)
# Nearly what is wanted, so that the parsers are not left at the first letter.
NEARLY = st.one_of(
    st.text(max_size=12),
    st.text(alphabet="0123456789KMGT.,-+%<>=e\u0663\u00b2 \n", max_size=24),
    st.sampled_from(
        ["9" * 5000, "1.." + "9" * 5000, "1e999", "p99>+" + "9" * 400 + "%", "e" + "9" * 5000]
    ),
)


def bytes_of(size: str) -> int:
    return int(size[:-1]) * UNITS[size[-1]]


@given(SIZES, SIZES)
def test_a_range_of_sizes_reads_back_as_what_was_meant(first: str, last: str) -> None:
    low, high = sorted((first, last), key=bytes_of)
    (axis,) = parse_axes({"block": f"{low}..{high}"})
    # What is printed is read back: by the parser, and by DiskSpd behind its option.
    (again,) = parse_axes({"block": ",".join(axis.values)})
    assert again == axis
    sizes = [bytes_of(value) for value in axis.values]
    assert (sizes[0], sizes[-1]) == (bytes_of(low), bytes_of(high))
    assert all(b == 2 * a for a, b in pairwise(sizes[:-1]))


@given(
    st.lists(
        st.integers(1, 1 << 31) | st.integers(1, 1 << 40), min_size=1, max_size=20, unique=True
    )
)
def test_a_list_of_counts_is_kept_as_it_is(counts: list[int]) -> None:
    text = ",".join(map(str, counts))
    too_many = [one for one in counts if one >= 1 << 31]
    if too_many:
        with pytest.raises(FathomError, match=f"--depth {text}: {too_many[0]} is too many"):
            parse_axes({"depth": text})
        return
    (axis,) = parse_axes({"depth": text})
    assert [int(value) for value in axis.values] == counts


@given(
    st.sampled_from(["p99", "iops", "mean", "mib_per_s"]),
    st.sampled_from("<>"),
    st.floats(-99, 1000, allow_nan=False).map(lambda one: round(one, 3)),
)
def test_a_condition_is_read_as_written(metric: str, side: str, percent: float) -> None:
    found = parse_condition(f"{metric}{side}{percent:+.3f}%")
    assert parse_condition(f" {metric} {side} {percent:.3f} % ") == found
    assert found.metric == metric


@given(st.sampled_from(["block", "threads", "depth", "write"]), NEARLY)
def test_axes_are_read_or_refused(name: str, text: str) -> None:
    try:
        axes = parse_axes({name: text}, [f"--rate={text}"])
        Grid(axes)
    except FathomError:
        return
    assert all(axis.values for axis in axes)


def test_a_block_beyond_64_bits_ended_in_a_traceback() -> None:
    (axis,) = parse_axes({"block": "20000000T"})
    assert axis.positions is not None
    assert axis.positions[0] == pytest.approx(64.25, abs=0.01)


@given(NEARLY)
def test_conditions_are_read_or_refused(text: str) -> None:
    try:
        found = parse_condition(text)
    except ValueError:
        return
    assert found.metric in text


# TEXT stands for whatever is given.
COMMANDS = (
    ["show", "TEXT"],
    ["export", "TEXT"],
    ["report", "TEXT", "--json"],
    ["compare", "TEXT", "TEXT"],
    ["compare", "1", "1", "--fail-if", "TEXT"],
    ["baseline", "set", "TEXT", "1"],
    ["baseline", "set", "mine", "TEXT"],
    ["delete", "TEXT", "--yes"],
    ["list", "--label", "TEXT"],
    ["list", "--device", "TEXT"],
    ["list", "--limit", "TEXT"],
    ["workloads", "TEXT"],
    ["sweep", "--dry-run", "--depth", "TEXT", "x.dat"],
    ["sweep", "--dry-run", "--vary", "--rate=TEXT", "x.dat"],
    ["sweep", "--resume", "TEXT"],
    ["tune", "--dry-run", "--p99", "TEXT", "x.dat"],
    ["tune", "--dry-run", "--threads", "TEXT", "x.dat"],
    ["tune", "--resume", "TEXT"],
    ["repeat", "--resume", "TEXT"],
    ["prepare", "fill", "--size", "TEXT", "no/such/x.dat"],
    ["prepare", "fill", "--resume", "TEXT"],
    ["translate", "TEXT"],
    ["translate", "-bTEXT", "x.dat"],
    ["plot", "load-curve", "TEXT"],
)


@settings(
    max_examples=many(48),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.sampled_from(COMMANDS), NEARLY)
def test_commands_take_any_text_and_end_in_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: list[str], text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with Store(os.environ["FATHOM_STORE"]) as store:
        if not store.runs.list():
            store.runs.save(RESULT, ["-b4K", "x.dat"])
    arguments = [one.replace("TEXT", text) for one in command]
    monkeypatch.setattr(sys, "argv", ["fathom", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (None, 0, 1, 2, 3)


VALUES = st.one_of(
    st.text(max_size=10),
    st.integers(),
    st.booleans(),
    st.lists(st.text(max_size=6), max_size=3),
    st.lists(st.lists(st.sampled_from(["-o1", "-b4K", "x", ""]), max_size=2), max_size=3),
    st.just({"depth": [["-o1"], ["-o2"]]}),
    st.just([{"label": "a", "arguments": ["-o1"]}]),
)
NAMES = ["title", "reason", "sources", "left_out", "size", "arguments", "matrix", "steps", "x"]
KEYS = st.sampled_from(NAMES)


def toml_of(value: object) -> str:
    """Return a value as TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        letters = [one for one in value if not "\ud800" <= one <= "\udfff"]
        return '"' + "".join(f"\\U{ord(one):08x}" for one in letters) + '"'
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_of, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml_of(one)}" for key, one in value.items()) + "}"
    return str(value)


def file_of(data: dict[str, object]) -> bytes:
    """Return a file of TOML."""
    return "\n".join(f"{key} = {toml_of(one)}" for key, one in data.items()).encode()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.one_of(st.binary(max_size=200), st.dictionaries(KEYS, VALUES).map(file_of)))
def test_workloads_are_read_or_refused_with_their_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(content)
    try:
        found = read_workload(path)
    except WorkloadError as error:
        assert str(error).startswith(f"{path}: ")  # noqa: PT017 - Both ends are right.
        return
    assert found.name == "mine"


def test_a_matrix_of_more_runs_than_memory_holds_is_counted_first(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    values = ", ".join(['["-o1"]'] * 100)
    axes = "\n".join(f"a{one} = [{values}]" for one in range(40))
    head = 'title = "t"\nreason = "r"\nsources = ["s"]\nsize = "1G"\narguments = ["-b4K"]\n'
    path.write_text(f"{head}[matrix]\n{axes}\n")
    with pytest.raises(WorkloadError, match="matrix: makes 1000"):
        read_workload(path)


@pytest.mark.parametrize(
    "packed",
    [b"", b"nonsense", zlib.compress(b"{}")[:-2], zlib.compress(b"[]"), zlib.compress(b"{}")],
)
def test_a_damaged_result_is_told_and_the_others_are_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], packed: bytes
) -> None:
    path = os.environ["FATHOM_STORE"]
    with Store(path) as store:
        store.runs.save(RESULT, ["-b4K", "x.dat"])
        store.runs.save(RESULT, ["-b4K", "x.dat"])
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("UPDATE runs SET result_json_zlib = ? WHERE id = 1", [packed])
    with Store(path) as store:
        with pytest.raises(StoreError, match="run 1 was saved by another version"):
            store.runs.get(1)
        assert store.runs.get(2).result == RESULT
    for arguments, code in ((["list"], 0), (["show", "1"], 1), (["report", "1"], 1)):
        monkeypatch.setattr(sys, "argv", ["fathom", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert int(ended.value.code or 0) == code
    assert "or is damaged" in capsys.readouterr().err


def test_a_result_that_unpacks_to_absurd_size_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fathom.store.packing._MOST_BYTES", 1 << 20)
    assert len(unpack_json(zlib.compress(bytes(1 << 20)))) == 1 << 20
    with pytest.raises(ValueError, match="absurd size"):
        unpack_json(zlib.compress(bytes((1 << 20) + 1)))

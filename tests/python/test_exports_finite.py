"""What was not measured is nothing in an export: never NaN, and never a nought."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any
from unittest import mock

import imported as sources
import pytest
from fathom import Store
from fathom._export import content_of, write_text
from fathom._finite import json_words
from fathom._tables import TABLES
from fathom.cli import main

if TYPE_CHECKING:
    from pathlib import Path

_ENDINGS = {"json": "json", "xml": "xml", "csv": "csv", "text": "txt", "icf": "icf", "log": "log"}
_TEXTS = {"nan", "inf", "-inf", "infinity"}


def _wrong(word: str) -> float:
    raise AssertionError(f"{word} is no JSON")


def _strict(text: str) -> Any:  # noqa: ANN401 - Of any table.
    return json.loads(text, parse_constant=_wrong)


def _odd() -> bytes:
    """Return a result of fio with rates that are no numbers."""
    data = json.loads(sources.SAMPLES["fio-json"])
    for job in data["jobs"]:
        job["read"]["iops"] = math.nan
        job["job options"]["weird"] = math.inf
    return json.dumps(data).encode()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with a run of each form that can be imported, and an odd one."""
    folder = tmp_path_factory.mktemp("sources")
    store = folder / "s.sqlite"
    for name, content in [*sources.SAMPLES.items(), ("odd-json", _odd())]:
        kind = name.split("-")
        file = folder / (f"job_{kind[1]}.1.log" if kind[-1] == "log" else f"{name}.{kind[-1]}")
        file = file.with_suffix(f".{_ENDINGS[kind[-1]]}")
        file.write_bytes(content)
        _told("import", str(file), "--store", str(store))
    return store


def _told(*words: str) -> str:
    told = io.StringIO()
    asked = mock.patch.object(sys, "argv", ["fathom", *words])
    with asked, redirect_stdout(told), pytest.raises(SystemExit):
        main()
    return told.getvalue()


def _rows(place: Path, table: str) -> list[dict[str, Any]]:
    words = ("export", "--table", table, "--format", "json", "--store", str(place))
    found = _strict(_told(*words))
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize("table", [*TABLES, "whole"])
def test_no_export_as_json_has_what_other_programs_refuse(place: Path, table: str) -> None:
    """``--table totals`` wrote "iops": NaN."""
    rows = _rows(place, table)
    assert rows or table in ("cells", "metrics")


@pytest.mark.parametrize("table", TABLES)
def test_no_export_as_csv_has_a_word_where_a_number_stands(place: Path, table: str) -> None:
    text = _told("export", "--table", table, "--format", "csv", "--store", str(place))
    for row in csv.DictReader(io.StringIO(text)):
        assert not {one.lower() for one in row.values() if one} & _TEXTS


@pytest.mark.parametrize("words", [("list", "--json"), ("show", "1", "--json")])
def test_no_verb_prints_what_other_programs_refuse(place: Path, words: tuple[str, ...]) -> None:
    assert _strict(_told(*words, "--store", str(place)))


def test_totals_of_an_import_tell_what_its_run_tells_and_no_more(place: Path) -> None:
    """Unknown counts were noughts beside 185.8 IOPS, and known latencies were missing."""
    runs = {one["id"]: one for one in _rows(place, "runs") if one["origin"] != "native"}
    totals = {one["run_id"]: one for one in _rows(place, "totals") if one["direction"] == "total"}
    assert len(runs) > len(sources.SAMPLES) // 2
    for number, run in runs.items():
        total = totals[number]
        for name in ("measured_s", "ios", "bytes"):
            assert total[name] == run[name]
        for name in ("iops", "mib_per_s", "latency_mean_ns"):
            assert total[name] == run[f"total_{name}"]
        for name in ("p50", "p99", "p999", "max"):
            known = run[f"total_latency_{name}_ns"]
            assert total[f"latency_{name}_ns"] == (None if known is None else round(known))
    assert any(one["iops"] and one["ios"] is None for one in totals.values())
    assert any(one["ios"] is None and one["latency_mean_ns"] for one in totals.values())


def test_frames_of_imports_have_nothing_where_nothing_is_known(place: Path) -> None:
    with Store(place) as store:
        rows, frame = store.rows("totals"), store.to_arrow("totals")
    assert frame.column("ios").to_pylist() == [row["ios"] for row in rows]
    assert None in frame.column("ios").to_pylist()


@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_table_loses_what_is_no_number_on_its_way_into_a_text(form: Any) -> None:  # noqa: ANN401
    stream = io.StringIO()
    write_text([{"a": math.nan, "b": math.inf, "c": 1.5}], form, stream)
    assert stream.getvalue().lower().count("nan") == 0
    assert "inf" not in stream.getvalue().lower()
    assert "1.5" in stream.getvalue()


@pytest.mark.parametrize("form", ["parquet", "xlsx"])
def test_a_file_has_no_value_where_there_is_none(form: Any) -> None:  # noqa: ANN401
    content = content_of([{"a": math.nan, "c": 1.5}], form)
    if form == "parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        assert parquet.read_table(io.BytesIO(content)).to_pylist() == [{"a": None, "c": 1.5}]
        return
    sheets = pytest.importorskip("openpyxl")
    sheet = sheets.load_workbook(io.BytesIO(content)).active
    assert [cell.value for cell in sheet[2]] == [None, 1.5]


def test_words_of_json_are_what_every_program_reads() -> None:
    assert _strict(json_words({"a": [math.inf, (math.nan, 2.0)]})) == {"a": [None, [None, 2.0]]}

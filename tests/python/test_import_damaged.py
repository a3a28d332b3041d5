"""Whatever befalls a source: an import reads it, names the lines, or refuses it in words."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fathom.imported import ImportFormatError
from fathom.store import Store, StoreError
from fathom.tools.catalogue import drawn, rows
from fathom.tools.formats import FORMATS, read_source
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir
from imported import RUNS, SAMPLES, check, refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.imported import Reading

# Nothing is written into the checkout.
set_hypothesis_home_dir(Path(tempfile.gettempdir()) / "fathom-hypothesis")
MANY = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
FEW = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
# What takes the place of a number or a word, and what no reader should take for one.
ODD = ["", "0", "-1", "nan", "1e999", "NaN", "Infinity", "9" * 40, "null", "[]", "{}", '"x"', "\0"]
ODD += ["1.5", "true", "\u0663", "1_0", "0x10", "%", "|", ",", "\n", "<", "&", "'", "\udcff"]
TOKEN = re.compile(rb"[A-Za-z]+|\d+(?:\.\d+)?")


def test_each_format_has_a_sample_that_is_read() -> None:
    hint = "each format has a sample in SAMPLES of imported.py, and no other has"
    assert set(SAMPLES) ^ set(FORMATS) == set(), hint
    for form, content in SAMPLES.items():
        reading = read_source(content, form)
        assert reading.results or reading.own or reading.configurations


def test_the_page_lists_each_format_as_its_reader_does() -> None:
    page = (Path(__file__).parents[2] / "docs/import.md").read_text(encoding="utf-8")
    assert drawn(page) == page, "python -m fathom.tools.catalogue docs/import.md"
    assert all(row in page for row in rows())


def damaged(data: st.DataObject, content: bytes) -> bytes:
    """Cut, double, drop, overwrite or replace parts of a sample."""
    for _ in range(data.draw(st.integers(1, 6))):
        if not content:
            break
        start = data.draw(st.integers(0, len(content) - 1))
        end = min(len(content), start + data.draw(st.integers(0, 400)))
        change = data.draw(st.sampled_from(("cut", "drop", "double", "bytes", "token", "token")))
        if change == "cut":
            content = content[: max(start, 1)]
        elif change == "drop":
            content = content[:start] + content[end:]
        elif change == "double":
            content = content[:end] + content[start:]
        elif change == "bytes":
            content = content[:start] + data.draw(st.binary(max_size=30)) + content[end:]
        elif match := TOKEN.search(content, start):
            odd = data.draw(st.sampled_from(ODD)).encode("utf-8", "surrogateescape")
            content = content[: match.start()] + odd + content[match.end() :]
    return content


def read_or_refused(content: bytes, form: str | None) -> Reading | None:
    """Import a source; what is refused says why."""
    with refused():
        return read_source(content, form)
    return None


@pytest.mark.parametrize("form", FORMATS)
@MANY
@given(data=st.data())
def test_a_damaged_source_is_read_as_far_as_it_holds_or_refused(
    form: str, data: st.DataObject
) -> None:
    content = damaged(data, SAMPLES[form])
    for asked in (form, None):
        reading = read_or_refused(content, asked)
        if reading is not None:
            check(reading, content)


@pytest.mark.parametrize("form", FORMATS)
@MANY
@given(content=st.one_of(st.binary(max_size=400), st.text(max_size=200).map(str.encode)))
def test_what_is_something_else_is_refused_or_named(form: str, content: bytes) -> None:
    reading = read_or_refused(content, form)
    if reading is not None:
        check(reading, content)


@pytest.mark.parametrize("form", FORMATS)
@FEW
@given(data=st.data())
def test_what_was_read_can_be_saved_or_is_refused(
    form: str, data: st.DataObject, one_store: Store
) -> None:
    """Numbers that no column holds are reported, and leave no half of a source in the store."""
    content = damaged(data, SAMPLES[form])
    reading = read_or_refused(content, form)
    if reading is None:
        return
    before = len(one_store.runs.list())
    words = ""
    try:
        if reading.own:
            one_store.imports.save_own(reading.own, content, "x")
        else:
            one_store.imports.save(reading.results, content, "x")
    except (ImportFormatError, StoreError) as error:
        words = f"{error}"
    if words:
        assert len(words) > 10
        assert len(one_store.runs.list()) == before
    for run in one_store.runs.list(limit=3):
        assert one_store.runs.get(run.id).result.time_spans is not None


@pytest.fixture(scope="module")
def one_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Return a store that all examples share."""
    with Store(tmp_path_factory.mktemp("store") / "runs.db") as store:
        yield store


@pytest.mark.parametrize("form", [form for form in FORMATS if "log" not in form])
def test_each_cut_of_a_source_is_read_or_refused(form: str) -> None:
    """As when a disk was full or a copy was interrupted: at forty places, and at the very end."""
    content = SAMPLES[form]
    places = [len(content) * part // 40 for part in range(1, 40)] + [len(content) - 1]
    for place in places:
        reading = read_or_refused(content[:place], form)
        if reading is not None:
            check(reading, content[:place])
        if form.endswith(("-json", "-xml")) and content[:place].strip() != content.strip():
            # Of a document that is not whole, nothing is taken.
            assert reading is None


# Each took minutes, or ended in a traceback, when a reader looked at it again from each place.
ENDLESS = {
    "rates of scripts": b"iops, " * 100_000,
    "parameters of scripts": b"Param " + b"-o 1, 1.0 iops, " * 100_000,
    "spaces": b"{" + b" " * 400_000 + b"x",
    "rules": b"-=*\n" * 100_000,
    "documents": b'{"fio version":"1","jobs":[]}\n' * 20_000,
    "a folded page without a command": b"Results for timespan 1: " + b"x" * 1000,
}


@pytest.mark.parametrize("what", ENDLESS)
def test_what_repeats_without_end_is_looked_at_once(what: str) -> None:
    content = ENDLESS[what]
    reading = read_or_refused(content, None)
    if reading is not None:
        check(reading, content)
        assert not reading.results


def test_what_other_tools_printed_into_the_same_log_was_dropped() -> None:
    """A log had DiskSpd's text behind its XML: the XML alone was imported."""
    parts = [
        (RUNS / "03-plain-read.txt").read_bytes(),
        SAMPLES["fio-json"],
        SAMPLES["crystaldiskmark-text"],
        SAMPLES["diskspd-xml"],
        (RUNS / "18-rdpct.txt").read_bytes(),
    ]
    for some in (parts, parts[::-1], parts[3:], parts[:2], parts[2:4]):
        alone = [result for part in some for result in read_source(part).results]
        reading = read_source(b"\n".join(some))
        assert [(one.tool, one.total) for one in reading.results] == [
            (one.tool, one.total) for one in alone
        ]
        assert not reading.unparsed
        check(reading, b"\n".join(some))


@pytest.mark.parametrize("more", ["fathom-json", "diskspd-text"])
def test_two_results_in_one_file_were_said_to_be_damaged(more: str) -> None:
    """Nothing of them was, and to export them once more helped nobody."""
    text = (RUNS / "03-plain-read.txt").read_bytes()
    other = text if more == "diskspd-text" else SAMPLES[more]
    with pytest.raises(ImportFormatError, match="another result follows in line") as refused_with:
        read_source(SAMPLES["fathom-json"] + b"\n" + other)
    assert "a file of its own" in str(refused_with.value)


@pytest.mark.parametrize("first", ["fio-json", "diskspd-xml", "diskspd-text"])
def test_our_own_result_behind_another_was_dropped_without_a_word(first: str) -> None:
    content = SAMPLES[first] + b"\n" + SAMPLES["fathom-json"]
    line = SAMPLES[first].count(b"\n") + 2
    with pytest.raises(ImportFormatError, match=f"a result of Fathom follows in line {line};"):
        read_source(content)

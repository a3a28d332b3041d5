"""What the fuzzer of the Python readers found, and that its targets and corpus are whole."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import fathom
import pytest
from fathom.imported import ImportFormatError
from fathom.report import ReportError, gather
from fathom.store import Store
from fathom.tools import from_fio, from_iometer, read_job_file, read_load
from fathom.tools.diskspd._scanned import folded_cpus
from fathom.tools.formats import read_source
from fathom.workloads.workload import WorkloadError, read_workload
from imported import DATA, SAMPLES, check

ROOT = Path(__file__).resolve().parents[2]
HUGE = "9" * 4400
PLAIN_ICF = (DATA / "iometer.icf").read_text()
needs_atheris = pytest.mark.skipif(
    importlib.util.find_spec("atheris") is None, reason="Atheris is not installed"
)


def arguments_of(job: str) -> list[str]:
    """Return DiskSpd's arguments of one job, which the engine takes."""
    (line,) = from_fio(read_job_file(f"[one]\nfilename=x\n{job}\n")).command_lines
    fathom.parse(line)
    return line


@pytest.mark.parametrize(
    ("form", "old", "new"),
    [
        ("diskspd-text", "block size: 4KiB", f"block size: {HUGE}KiB"),
        ("diskspd-text", "block size: 4KiB", f"block size: {'9' * 400}KiB"),
        ("diskspd-text", "operations per thread: 4", f"operations per thread: {HUGE}"),
        ("diskspd-text", "timespan 1", f"timespan {HUGE}"),
        ("diskspd-text", "thread count:\t\t2", f"thread count: {HUGE}"),
        ("diskspd-text", "thread count:\t\t2", "thread count: ."),
        ("iometer-csv", "8192,100,70,100,0", f"{'9' * 400},100,70,100,0"),
        ("iometer-csv", ",63002,", ",\u00b2,"),
        ("iometer-icf", "4096,100,75,0,0", f"{'9' * 400},100,75,0,0"),
        ("crystaldiskmark-text", "(Q=  8", f"(Q= {HUGE}"),
        ("crystaldiskmark-text", "194.805 MB/s", f"{'9' * 400} MB/s"),
        ("crystaldiskmark-text", "194.805 MB/s", f"{'9' * 307} MB/s"),
        ("fio-clat-log", "5, 15", f"{HUGE}, 15"),
        ("fio-hist-log", "50, 0", f"{HUGE}, 0"),
    ],
)
def test_a_text_with_numbers_of_thousands_of_digits_is_read_without_them(
    form: str, old: str, new: str
) -> None:
    content = SAMPLES[form].decode()
    assert old in content
    changed = content.replace(old, new).encode()
    check(read_source(changed, form), changed)


def test_a_mixed_test_without_its_ratio_is_read() -> None:
    content = SAMPLES["diskspd-text"].decode()
    ratio = " (read/write ratio: 70/30)"
    assert ratio in content
    changed = content.replace(ratio, "").encode()
    reading = read_source(changed, "diskspd-text")
    check(reading, changed)
    # The command line tells it, too.
    assert reading.results[0].load.write_percent == 30.0


@pytest.mark.parametrize("digit", ["\u00b2", HUGE, "1_0"])
def test_what_only_looks_like_digits_is_no_row_of_a_table(digit: str) -> None:
    content = SAMPLES["diskspd-text"].decode()
    rows = [line for line in content.splitlines() if line.strip().startswith("0 |")]
    assert rows
    for row in rows:
        content = content.replace(row, row.replace("0 |", f"{digit} |", 1))
    reading = read_source(content.encode(), "diskspd-text")
    assert {digit in line.text for line in reading.unparsed} >= {True}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"total_ios": 3', f'"total_ios": {"9" * 400}'),
        ('"iops": 3.0', '"iops": 1e999'),
        ('"iops": 3.0', '"iops": NaN'),
        ('"100": 1', '"100": 1e999'),
        ('"100": 1', '"\u00b2": 1'),
        ('"99.000000"', '"Infinity"'),
    ],
)
def test_numbers_that_fio_cannot_write_are_damage(old: str, new: str) -> None:
    content = SAMPLES["fio-json"].decode()
    assert old in content
    with pytest.raises(ImportFormatError, match="damaged"):
        read_source(content.replace(old, new).encode(), "fio-json")


def test_a_number_of_thousands_of_digits_in_json_is_damage() -> None:
    content = SAMPLES["fathom-json"].decode().replace('"schema_version":', f'"x": {HUGE}, "y":', 1)
    with pytest.raises(ImportFormatError, match="its JSON is damaged"):
        read_source(content.encode(), "fathom-json")


@pytest.mark.parametrize("word", [HUGE, "\u00b2", "1e999"])
def test_a_count_of_xml_that_no_column_holds_is_damage(word: str) -> None:
    content = SAMPLES["diskspd-xml"].decode()
    first = content.index("<ReadCount>") + len("<ReadCount>")
    changed = content[:first] + word + content[content.index("</ReadCount>") :]
    with pytest.raises(ImportFormatError, match="ReadCount") as refused:
        read_source(changed.encode(), "diskspd-xml")
    assert len(f"{refused.value}") < 200


def test_a_table_of_thirty_columns_is_not_tried_in_a_billion_orders() -> None:
    assert folded_cpus([["1.00%", "2.00%"]] * 30) == []


@pytest.mark.parametrize("levels", [100, 600, 990, 100_000])
def test_what_is_nested_without_end_is_refused_by_whoever_reads_it(
    levels: int, tmp_path: Path
) -> None:
    """Python reads a thousand levels, and fails at copying or printing some of them."""
    deep = "[" * levels + "]" * levels
    fio = SAMPLES["fio-json"].decode().replace('"iodepth": "4"', f'"iodepth": {deep}', 1)
    own = SAMPLES["fathom-json"].decode().replace("{", f'{{"x": {deep}, ', 1)
    for form, content in (("fio-json", fio), ("fathom-json", own)):
        with pytest.raises(ImportFormatError, match="nested too deep"):
            read_source(content.encode(), form)
    (tmp_path / "deep.json").write_text(deep)
    with Store(tmp_path / "runs.sqlite") as store, pytest.raises(ReportError, match="no result"):
        gather(store, [str(tmp_path / "deep.json")])
    (tmp_path / "deep.toml").write_text(f"arguments = {deep}")
    with pytest.raises(WorkloadError, match=r"deep\.toml"):
        read_workload(tmp_path / "deep.toml")


def test_a_scanned_result_of_no_time_is_none() -> None:
    page = (DATA / "page-scanned.txt").read_text()
    before = read_source(page.encode()).results
    changed = re.sub(r"\d+\.\d\ds\b", "0.00s", page).encode()
    reading = read_source(changed)
    check(reading, changed)
    assert len(reading.results) < len(before)


def test_an_interval_of_xml_that_is_no_number_is_damage() -> None:
    content = SAMPLES["diskspd-xml"].decode()
    place = 'SampleMillisecond="1000"'
    assert place in content
    with pytest.raises(ImportFormatError, match="damaged"):
        read_source(content.replace(place, 'SampleMillisecond="1\u20ac"').encode(), "diskspd-xml")


def test_digits_without_end_in_a_scanned_text_are_not_tried_one_by_one() -> None:
    """Before, these took the square of their number, and hours."""
    head = (
        "PS X:> diskspd.exe -o8 -t1 X:\\t.dat Command Line: Results for timespan 1: proc count: 4 "
    )
    content = f"{head}{'9' * 2_000_000}% 1 | 2.00% avg.| {'9' * 2_000_000}.25%".encode()
    check(read_source(content, "diskspd-text"), content)


def test_lines_are_numbered_as_an_editor_does() -> None:
    """A form feed and a line separator end no line, though str.splitlines() has it otherwise."""
    content = "1, 2, 0, 4096\nodd \x0c\u2028\x85 line\n2, 3, 0, 4096\nlast\n"
    reading = read_source(content.encode(), "fio-clat-log")
    assert [line.number for line in reading.unparsed] == [2, 4]


@pytest.mark.parametrize(
    ("job", "words"),
    [
        ("rw=randread:0", "rw: 0 I/Os in a row"),
        ("rw=randrw\nrwmixread=most", "rwmixread=most"),
        ("rw=randrw\nrwmixwrite=101", "rwmixwrite=101"),
        ("rw=randread\npercentage_random=all", "percentage_random=all"),
        (f"bssplit=4k/{HUGE}", "bssplit=999"),
        (f"bs={HUGE}", "more than a number of 64 bits"),
        ("bs=8193p", "more than a number of 64 bits"),
        ("bs=0x8000000000000000", "more than a number of 64 bits"),
        (f"runtime={'9' * 400}", "not a time"),
        (f"ramp_time={'9' * 400}", "not a time"),
        (f"rate={HUGE}", "more than a number of 64 bits"),
        ("rw=randread\nrandom_distribution=zoned:60", "-rdpct"),
        ("rw=randread\nrandom_distribution=zoned_abs:60/1/2:4", "zone=1/2"),
    ],
)
def test_a_job_that_cannot_be_is_refused_in_words(job: str, words: str) -> None:
    with pytest.raises(fathom.InvalidRequestError) as refused:
        arguments_of(job)
    assert words in f"{refused.value}"


def test_zeros_before_a_size_of_fio_do_not_make_it_octal() -> None:
    assert "-b512" in arguments_of("bs=0512")
    assert "-b4K" in arguments_of("bs=0x1000")


@pytest.mark.parametrize(
    ("sizes", "reads", "writes"),
    [(",8k", 4096, 8192), ("8k,", 8192, 4096), ("8k,16k", 8192, 16384), (",", 4096, 4096)],
)
def test_a_size_that_fio_leaves_out_is_its_default(sizes: str, reads: int, writes: int) -> None:
    line = arguments_of(f"rw=randrw\nnorandommap\nbs={sizes}")
    if reads == writes:
        assert f"-b{reads >> 10}K" in line
    else:
        assert {f"--read-block-mix={reads}:100", f"--write-block-mix={writes}:100"} <= set(line)


@pytest.mark.parametrize("path", ["-w100", "*x", "-Xprofile.xml"])
def test_a_file_whose_name_begins_as_an_option_is_still_a_file(path: str) -> None:
    (line,) = from_fio(read_job_file(f"[one]\nrw=read\nfilename={path}\n")).command_lines
    (span,) = read_load(line).profile["time_spans"]
    assert [target["path"] for target in span["targets"]] == [f"./{path}"]
    assert span["targets"][0]["write_percent"] == 0
    disk = f"'Worker\nW\n'Target\n{path}\n'End worker\n"
    for found in from_iometer(PLAIN_ICF + disk).command_lines:
        assert found[-1] == f"./{path}"


@pytest.mark.parametrize("word", [HUGE, "\u00b2", "\u0663"])
def test_a_configuration_with_odd_digits_loses_no_more_than_their_line(word: str) -> None:
    first = from_iometer(PLAIN_ICF).command_lines
    lines = PLAIN_ICF.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("'size,")) + 1
    lines[at] = word + lines[at][lines[at].index(",") :]
    found = from_iometer(
        "\n".join(lines).replace("'Ramp Up Time (s)\n0", f"'Ramp Up Time (s)\n{word}")
    )
    assert 0 < len(found.command_lines) < len(first)


@needs_atheris
@pytest.mark.parametrize("target", ["importers", "translate"])
def test_the_committed_corpus_holds_and_is_of_heads_that_there_are(
    target: str, tmp_path: Path
) -> None:
    corpus = tmp_path / "corpus"
    with tarfile.open(ROOT / "fuzz" / "corpus" / f"{target}.tar.gz") as packed:
        # Python 3.11.2, which Debian 12 has, knows no filter.
        packed.extraction_filter = getattr(tarfile, "data_filter", None)
        packed.extractall(corpus)  # noqa: S202 - It is our own.
    inputs = [path.read_bytes() for path in corpus.iterdir()]
    heads = {one.partition(b"\n")[0].decode("utf-8", "replace") for one in inputs}
    known = {"importers": set(SAMPLES), "translate": {"file", "fio", "diskspd", "profile"}}[target]
    # Formats that are read by the same code need no inputs of their own.
    assert len(known & heads) > len(known) / 2
    script = ROOT / "fuzz" / "python" / f"{target}.py"
    # libFuzzer limits the greatest memory of its process, which begins with that of whoever starts
    # it: a shell in between is small.
    fuzz = [sys.executable, str(script), "-runs=0", f"-artifact_prefix={tmp_path}/", str(corpus)]
    ran = subprocess.run(
        ["/bin/sh", "-c", '"$@"; exit $?', "sh", *fuzz],
        check=False,
        capture_output=True,
        text=True,
        errors="replace",
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests" / "python")},
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert "cov: " in ran.stderr


@needs_atheris
def test_a_reader_that_breaks_ends_the_fuzzer_with_its_input(tmp_path: Path) -> None:
    """A target with a reader that fails in another way than its own error does not pass."""
    script = tmp_path / "broken.py"
    target = ROOT / "fuzz" / "python"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(target)!r})\nimport harness, importers\n"
        "def broken(*_): raise ValueError('it breaks')\n"
        "importers.read_source = broken\n"
        "harness.fuzz(importers.one_input, importers.HEADS)\n"
    )
    ran = subprocess.run(
        [sys.executable, str(script), "-runs=5", f"-artifact_prefix={tmp_path}/"],
        check=False,
        capture_output=True,
        text=True,
        errors="replace",
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests" / "python")},
    )
    assert ran.returncode != 0
    assert "ValueError: it breaks" in ran.stderr + ran.stdout
    assert list(tmp_path.glob("crash-*"))

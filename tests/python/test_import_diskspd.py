"""DiskSpd's text and XML import with the digits of the document."""

from __future__ import annotations

import json
import math
import re
import tempfile
from bisect import bisect_left
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fathom
import pytest
from fathom.imported import ImportFormatError
from fathom.tools import iometer_terms, read_load
from fathom.tools._process import ToolRun
from fathom.tools.diskspd.run import DiskspdExe
from fathom.tools.formats import read_source
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir

if TYPE_CHECKING:
    from fathom.imported import ImportedDirection, ImportedResult, Reading
    from fathom.store import Store

# Nothing is written into the checkout.
set_hypothesis_home_dir(Path(tempfile.gettempdir()) / "fathom-hypothesis")
DATA = Path(__file__).parent / "data/import"
GOLDEN: dict[str, Any] = json.loads((DATA / "blogs-golden.json").read_text())
RUNS = Path(__file__).parents[1] / "golden/diskspd/runs"
OURS = (Path(__file__).parent / "fixtures/result.txt").read_text()
# What the tool did not print: it crashed.
NO_RESULT = {"62-etw.txt"}
TEXTS = sorted(path.name for path in RUNS.glob("*.txt") if path.name not in NO_RESULT)
XMLS = sorted(path.name for path in RUNS.glob("*.xml"))


def read(path: Path) -> Reading:
    """Import a file."""
    return read_source(path.read_bytes())


def milliseconds(value_ns: float | None) -> str:
    """Return a latency as DiskSpd prints it."""
    return "N/A" if value_ns is None else f"{value_ns / 1e6:.3f}"


def row_of(found: ImportedDirection) -> list[str]:
    """Return a direction as the cells of its total, with the latencies if there are any."""
    row = [str(found.bytes), str(found.ios), f"{found.mib_per_s:.2f}", f"{found.iops:.2f}"]
    if "mean" in found.texts:
        latency = found.latency
        row.append(milliseconds(latency.mean_ns) if latency else "0.000")
        row.append(milliseconds(latency.std_ns) if latency else "N/A")
    return row


@pytest.mark.parametrize("name", GOLDEN)
def test_each_result_of_a_blog_has_the_documents_digits(name: str) -> None:
    results = read(DATA / f"{name}.txt").results
    assert len(results) == len(GOLDEN[name])
    for found, golden in zip(results, GOLDEN[name], strict=True):
        for direction, row in golden["io"].items():
            assert row_of(getattr(found, direction)) == row
        cpus = [*found.cpus, *([found.cpu_average] if found.cpu_average else [])]
        assert [[cpu.label, *cpu.texts.values()] for cpu in cpus] == golden["cpu"]
        for label, row in golden["pct"].items():
            assert [percentile(found, side, label) for side in ("read", "write", "total")] == row


def percentile(found: ImportedResult, side: str, label: str) -> str:
    """Return a percentile as text, by the label of its row."""
    latency = getattr(found, side).latency
    if latency is None:
        return "N/A"
    ends = {"min": latency.min_ns, "max": latency.max_ns}
    if label in ends:
        return milliseconds(ends[label])
    nines = re.fullmatch(r"(\d)-nines", label)
    percent = 100 - 10.0 ** (2 - int(nines[1])) if nines else float(label.removesuffix("th"))
    (value,) = (one for key, one in latency.percentiles_ns.items() if abs(key - percent) < 1e-8)
    return milliseconds(value)


def test_prose_is_named_and_no_line_of_a_result_is() -> None:
    reading = read(DATA / "blog-bullets.txt")
    within = [line for line in reading.unparsed if line.is_within]
    assert [line.number for line in within] == [30, 42, 61]
    assert within[1].text.strip().startswith("• Performance")
    assert any("PCIe attached SSD" in line.text for line in reading.unparsed)


def test_a_table_alone_has_its_load_from_the_command_line_before_it() -> None:
    found = read(DATA / "blog-bullets.txt").results[4]
    load = found.load
    assert found.command_line.startswith("diskspd.exe -d15 -o32 -t4 -b512K")
    assert (load.block_bytes, load.threads, load.outstanding) == (512 << 10, 4, 32)
    assert (load.write_percent, load.random_percent) == (0, 0)
    assert found.total == found.read
    assert "reads alone" in found.notes[0]
    assert [(row.label, row.directions["read"].ios) for row in found.rows] == [
        ("0", 16312),
        ("1", 16873),
        ("2", 16730),
        ("3", 16931),
    ]


@pytest.mark.parametrize("name", TEXTS)
def test_a_recorded_text_imports_line_by_line(name: str) -> None:
    """Totals of a recording of DiskSpd 2.2 are found by position, its rows by their sum."""
    text = (RUNS / name).read_text()
    reading = read(RUNS / name)
    assert not reading.unparsed
    assert len(reading.results) == text.count("Results for timespan")
    totals = [
        [cell.strip() for cell in line.removeprefix("total:").split("|")]
        for line in text.splitlines()
        if line.startswith("total:")
    ]
    shown = [
        list(getattr(found, side).texts.values())[: len(totals[0])]
        for found in reading.results
        for side in ("total", "read", "write")
        if getattr(found, side)
    ]
    assert [row[:4] for row in shown] == [row[:4] for row in totals]
    for found in reading.results:
        if found.total and found.rows:
            ios = sum(part.ios or 0 for row in found.rows for part in (row.directions["total"],))
            assert ios == found.total.ios
        assert found.complete == (found.total is not None)
        assert found.command_line.startswith("diskspd.exe")


def test_shares_of_a_distribution_that_was_cut_off_were_not_read(tmp_path: Path) -> None:
    """DiskSpd shows them with one decimal, and whole ones without."""
    text = (RUNS / "18-rdpct.txt").read_text()
    whole = next(
        line for line in text.splitlines() if "% of IO => [" in line and "target" not in line
    )
    cut = tmp_path / "cut.txt"
    cut.write_text(text.replace(whole, "    71.4% of IO => [     0    -      3MiB)"))
    assert not read(cut).unparsed


@pytest.mark.parametrize("name", XMLS)
def test_a_recorded_xml_imports_with_its_counts(name: str) -> None:
    text = (RUNS / name).read_text()
    reading = read(RUNS / name)
    assert not reading.unparsed
    ios = [int(one) for one in re.findall(r"<IOCount>(\d+)<", text)]
    assert sum(found.total.ios or 0 for found in reading.results if found.total) == sum(ios)
    usage = re.findall(r"<Average>\s*<UsagePercent>([\d.]+)<", text)
    averages = [found.cpu_average for found in reading.results if found.cpu_average]
    assert [one.texts["usage_percent"] for one in averages] == usage
    assert {found.tool_version for found in reading.results} == {"2.2.0"}


def test_xml_has_percentiles_and_intervals_of_each_direction() -> None:
    (found,) = read(RUNS / "02-mix-LD-xml.xml").results
    text = (RUNS / "02-mix-LD-xml.xml").read_text()
    bucket = re.search(r"<Percentile>99</Percentile>\s*<ReadMilliseconds>([\d.]+)<", text)
    assert bucket is not None
    assert found.read is not None
    assert found.read.latency is not None
    assert milliseconds(found.read.latency.percentiles_ns[99.0]) == bucket[1]
    (first, *_more) = [one for one in found.series if (one.what, one.direction) == ("iops", "read")]
    rates = re.findall(r'<Bucket SampleMillisecond="\d+" Read="([\d.]+)"', text)
    assert [rate for _end, rate in first.points] == [
        float(one) for one in rates[: len(first.points)]
    ]
    assert found.read.latency.histogram is None


def test_our_own_text_has_the_figures_of_our_own_json(store: Store) -> None:
    result = fathom.Result.from_json((Path(__file__).parent / "fixtures/result.json").read_text())
    reading = read_source(OURS.encode())
    (found,) = reading.results
    assert not reading.unparsed
    assert found.tool == "Fathom diskspd"
    for side in ("read", "write", "total"):
        mine, theirs = getattr(result, side), getattr(found, side)
        assert (theirs.ios, theirs.bytes) == (mine.ios, mine.bytes)
        assert theirs.texts["iops"] == f"{mine.iops:.2f}"
        assert milliseconds(theirs.latency.percentiles_ns[99.0]) == milliseconds(
            mine.latency.quantile_ns(0.99)
        )
    (run_id,) = store.imports.save([found], OURS.encode(), "result.txt")
    columns = store.runs.get(run_id).summary.columns
    assert (columns["thread_count"], columns["block_bytes"]) == (2, 4096)
    assert columns["started_at_unix_s"] == result.raw["started_at_unix_s"]


def typographic(text: str) -> str:
    """Return a text as a blog's editor leaves it."""
    changed = text.replace("'", "\u2019").replace("---", "\u2014").replace(" -", "\u00a0\u2013")
    return changed.replace("\t", "\u00a0 ").replace("\n", "\r\n")


def test_an_editors_characters_change_no_figure() -> None:
    (plain,) = read_source(OURS.encode()).results
    (changed,) = read_source(typographic(OURS).encode()).results
    for name in ("read", "write", "total", "cpus", "load", "measured_s", "command_line"):
        assert getattr(changed, name) == getattr(plain, name)


def test_rows_that_were_wrapped_are_put_together() -> None:
    wrapped = re.sub(r"^( +\d \|.{40,60}?\|)", r"\1\n", OURS, flags=re.MULTILINE)
    assert wrapped != OURS
    (plain,) = read_source(OURS.encode()).results
    (found,) = read_source(wrapped.encode()).results
    assert found.rows == plain.rows


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whatever_befalls_a_text_each_line_is_accounted_for(data: st.DataObject) -> None:
    """Lines are lost, doubled, cut and overwritten; each is read or named, or has no letter."""
    lines = OURS.splitlines()
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(lines) - 1))
        change = data.draw(st.sampled_from(("drop", "double", "cut", "noise")))
        if change == "drop":
            del lines[at]
        elif change == "double":
            lines.insert(at, lines[at])
        elif change == "cut":
            lines[at] = lines[at][: len(lines[at]) // 2]
        else:
            lines[at] = data.draw(st.text(max_size=40)).replace("\n", " ").replace("\r", " ")
    lines[40:40] = ["Zwischenruf ohne Sinn"]
    reading = read_source("\n".join(lines).encode("utf-8", "replace"), "diskspd-text")
    assert "Zwischenruf ohne Sinn" in [line.text for line in reading.unparsed]
    for line in reading.unparsed:
        assert lines[line.number - 1].encode("utf-8", "replace").decode() == line.text


def test_a_thread_of_xml_had_no_rate_and_no_latency() -> None:
    (found,) = read(RUNS / "02-mix-LD-xml.xml").results
    first, second = (row.directions for row in found.rows)
    assert (first["read"].ios, first["write"].ios, first["total"].ios) == (24637, 10678, 35315)
    read_ns, write_ns = first["read"].latency, second["write"].latency
    assert read_ns is not None
    assert write_ns is not None
    assert [milliseconds(read_ns.mean_ns), milliseconds(write_ns.std_ns)] == ["0.056", "0.032"]
    assert first["total"].latency is None
    assert [first[name].iops_std for name in ("read", "write", "total")] == [3635.5, 1543, 5178.5]
    for name in ("read", "write", "total"):
        whole = getattr(found, name)
        for field in ("ios", "bytes", "iops", "mib_per_s"):
            sum_of_threads = sum(getattr(one[name], field) for one in (first, second))
            assert math.isclose(sum_of_threads, getattr(whole, field))


BOMB = b'<?xml version="1.0"?>\n<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>\n<Results>'


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (BOMB + b"<TimeSpan>&b;</TimeSpan></Results>", "declares a document type"),
        (b"<Results><TimeSpan><TestTimeSeconds>1.0</TestTi", "damaged or cut off"),
        (b"<Results><TimeSpan><TestTimeSeconds>x</TestTimeSeconds></TimeSpan></Results>", "is 'x'"),
        (b"<Results>" + b"<TimeSpan>" * 5000 + b"</Results>", "damaged or cut off"),
    ],
)
def test_bad_xml_is_refused_in_words(content: bytes, words: str) -> None:
    with pytest.raises(ImportFormatError, match=words):
        read_source(content, "diskspd-xml")


def test_a_file_that_is_too_large_is_refused() -> None:
    class Large(bytes):
        def __len__(self) -> int:
            return 1 << 30

    with pytest.raises(ImportFormatError, match="more than the 256 MiB"):
        read_source(Large(b"x"))


COMMANDS = [
    ("diskspd -b4K -rs70 -r4K x.dat", (4096, 70.0, 1)),
    ("diskspd -b4K -rs70 -rdpct90/10 -r x.dat", (4096, 70.0, 1)),
    ("diskspd -b4K -r8K -rs70 x.dat", (4096, 70.0, 1)),
    ("diskspd.exe /b4K /r /t2 E:\\x.dat", (4096, 100.0, 2)),
    ("diskspd -b4K -r /dev/sdb /dev/sdc", (4096, 100.0, 2)),
    ("diskspd -b4K -r -- -s x.dat", (4096, 100.0, 2)),
    ("diskspd -Xmix.xml", (None, None, None)),
]
POOLS = [("-O4 -o9", 9), ("-O4 -o9 -F2", 4), ("-F2 -o9 -O4", 4), ("-F2 -o9", 9), ("-F2", 2)]


@pytest.mark.parametrize(("options", "outstanding"), POOLS)
def test_outstanding_of_a_pool_was_read_where_there_is_none(options: str, outstanding: int) -> None:
    """-O counts with -F alone; in the XML, in the command line, and in what is written of it."""
    load = read_load([*options.split(), "-r", "t.dat"])
    profile = fathom._fathom.profile_xml_of([*load.arguments])
    shown = XML[: XML.index("<Profile>")] + profile + XML.partition("</Profile>")[2]
    text = (RUNS / "03-plain-read.txt").read_text()
    table = text[text.index("Results for timespan") :]
    for source in (shown, f"Command Line: diskspd {options} t.dat\n{table}"):
        (found,) = read_source(source.encode()).results
        assert found.load.outstanding == outstanding
    assert f"# of Outstanding I/Os: {outstanding}\n" in iometer_terms(load)[0]


@pytest.mark.parametrize(("command", "load"), COMMANDS)
def test_a_command_line_was_read_by_order_and_dash_alone(
    command: str, load: tuple[int | None, float | None, int | None]
) -> None:
    """Of tables without their parameters the command line alone says what was requested."""
    text = (RUNS / "03-plain-read.txt").read_text()
    table = "".join(line for line in text[text.index("Total IO") :].splitlines(keepends=True))
    (found,) = read_source(f"Command Line: {command}\n{table}".encode()).results
    assert found.total is not None
    told = found.load
    assert (told.block_bytes, told.random_percent, told.threads) == load


def test_outstanding_of_a_pool_of_threads_was_lost() -> None:
    """Without -O the pool says 0, and each target the number that counts."""
    (found,) = read(RUNS / "14-F-pool.txt").results
    assert (found.load.threads, found.load.outstanding) == (3, 2)


def test_rows_of_a_target_that_was_given_twice_were_lost() -> None:
    text = (RUNS / "14-F-pool.txt").read_text()
    (apart,) = read_source(text.encode()).results
    (found,) = read_source(text.replace("u.dat", "t.dat").encode()).results
    assert [row.directions for row in found.rows] == [row.directions for row in apart.rows]
    assert {row.target for row in found.rows} == {"t.dat"}


def test_a_decimal_comma_made_another_number() -> None:
    text = (RUNS / "03-plain-read.txt").read_text()
    comma = text.replace("|     590.33 |", "|     590,33 |", 1)
    (line,) = read_source(comma.encode()).unparsed
    assert "590,33" in line.text
    grouped = text.replace("|    9445.27 |", "|  9,445.27 |", 1)
    reading = read_source(grouped.encode())
    assert not reading.unparsed
    assert reading.results[0].rows[0].directions["total"].iops == 9445.27


XML = (RUNS / "02-mix-LD-xml.xml").read_text()


def test_a_name_that_diskspd_does_not_escape_was_refused(tmp_path: Path) -> None:
    """DiskSpd 2.2 writes names of files and an unknown power scheme as they are."""
    text = XML.replace("<Path>t.dat", "<Path>C:\\R&D\\t.dat")
    (found,) = read_source(text.encode()).results
    assert [one.path for one in found.targets] == ["C:\\R&D\\t.dat"]
    (tmp_path / "stdout").write_text(text)
    load = read_load(["-L", "-b4K", "t.dat"])
    span = DiskspdExe("", "2.2.0").measured(load, tmp_path, ToolRun(0, ""))
    assert span.failure is None
    assert found.read is not None
    assert span.threads[0]["targets"][0]["read"]["ios"] == found.read.ios
    with pytest.raises(ImportFormatError, match="damaged"):
        read_source(text.replace("R&D", "R&D;").encode())


def test_a_name_that_was_quoted_as_a_whole_was_escaped_once_more() -> None:
    text = XML.replace("<Path>t.dat</Path>", "<Path><![CDATA[R&D.dat]]></Path>")
    (found,) = read_source(text.encode()).results
    assert [one.path for one in found.targets] == ["R&D.dat"]


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [("utf-16", "utf-16"), ("windows-1252", "cp1252"), ("ISO-8859-1", "latin-1")],
)
def test_the_declared_encoding_was_taken_for_another(declared: str, encoding: str) -> None:
    head = f'<?xml version="1.0" encoding="{declared}"?>\n'
    text = head + XML.replace("t.dat", "größe.dat")
    for source in (text.encode(encoding), text.encode()):
        (found,) = read_source(source).results
        assert [one.path for one in found.targets] == ["größe.dat"]


def test_cpus_of_two_groups_had_the_same_label() -> None:
    before, mark, behind = XML.partition("<Id>1</Id>")
    place = before.rindex("<Group>0</Group>")
    before = before[:place] + before[place:].replace("<Group>0", "<Group>1")
    text = before + mark.replace("1", "0") + behind
    (found,) = read_source(text.encode()).results
    assert [cpu.label for cpu in found.cpus] == ["0/0", "1/0"]


@pytest.mark.parametrize("value", ["inf", "nan", "1e400"])
def test_a_rate_that_no_figure_holds_was_kept(value: str) -> None:
    text = re.sub(r' Read="[0-9]+"', f' Read="{value}"', XML, count=1)
    with pytest.raises(ImportFormatError, match=f"Read is '{value}'"):
        read_source(text.encode())


def test_a_span_without_threads_had_an_empty_note() -> None:
    text = re.sub(r"<Thread>.*</Thread>", "", XML, flags=re.DOTALL)
    (found,) = read_source(text.encode()).results
    assert (found.total, found.complete) == (None, False)
    assert "no threads" in found.notes[0]


def test_settings_of_xml_that_no_field_holds_were_lost() -> None:
    """The text kept them: hints of access, caches and the range."""
    one = "<BaseFileOffset>0</BaseFileOffset>"
    text = XML.replace(one, "<BaseFileOffset>1048576</BaseFileOffset>")
    hints = "<DisableOSCache>true</DisableOSCache><RandomAccess>true"
    text = text.replace("<RandomAccess>false", hints)
    (found,) = read_source(text.encode()).results
    names = ("BaseFileOffset", "RandomAccess", "DisableOSCache", "Random")
    assert [found.options[name] for name in names] == ["1048576", "true", "true", "4096"]
    assert "SequentialScan" not in found.options
    (two,) = read(RUNS / "11-multi-target-xml.xml").results
    assert two.options["FileSize"] == "8388608"


def test_a_table_that_is_cut_off_was_left_out_in_silence() -> None:
    text = (RUNS / "10-multi-target.txt").read_text()
    place = text.index("total:", text.index("Read IO"))
    (found,) = read_source(text[:place].encode()).results
    assert found.total is not None
    assert found.read is None
    assert found.notes == ("Read IO: the source ends, or is damaged, before the total.",)
    assert read_source(text.encode()).results[0].notes == ()


# What our own text has behind all results of a run, of both time spans.
BEHIND = """
Response times of timespan {number}:
  %-ile |  Read (ms) | Write (ms) | Total (ms)
----------------------------------------------
    min |      0.00{number} |        N/A |      0.004
Response time counts from the scheduled start of each I/O, service time (the latency above) from \
its submission:
an I/O that had to wait for its turn behind a slow one shows it only in its response time. Means: \
0.257 ms and 0.045 ms.

Ends of timespan {number}:
operation | in flight: start |    end | oldest (s) | not issued | oldest (s) | in latency
-----------------------------------------------------------------------------------------
read      |                2 |      2 |      0.001 |          0 |      0.000 |          2

Syncs and trims of timespan {number}, not part of the I/Os above:
type   |     bytes     |   count   |   per s    |  AvgLat  |   p50   |  p99   |  p99.9  |  max (ms)
----------------------------------------------------------------------------------------------------
sync   |       0 | 628{number} |    6281.00 |    0.22{number} |   0.186 |  1.843 |   4.274 |  4.868

Errors of timespan {number}; failed I/Os are not part of the I/Os above:
operation | kind         |   measured   |   outside    | target
-------------------------------------------------------------------------------
read      | medium error |            1 |            0 | t.dat

I/Os of timespan {number} that have not come back: 1
thread | operation |       offset       |   bytes    | since start (s) | waited (s) | target
----------------------------------------------------------------------------------------------------
     0 | read      |               4096 |       4096 |           1.000 |      0.500 | t.dat

Beneath timespan {number}: I/Os that were requested, and those that layers saw of everybody
layer          |     reads    |    read bytes   |    merged    |    writes    |  bytes written  |
----------------------------------------------------------------------------------------------------
asked of t.dat |        25105 |       102830080 |              |        25130 |       102932480 |
ext4           | not counted: a file system
pressure: something waited 0.40 s for I/O and 0.00 s for memory

Network of timespan {number}:
nbd://host/disk
  protocol:    NBD, not encrypted
"""


def test_sections_of_our_own_text_were_unknown_or_of_the_last_time_span() -> None:
    text = (RUNS / "57-X-two-timespans.txt").read_text()
    head = "Results for timespan 1:\n" + "*" * 79 + "\n"
    text = text.replace(head, f"{head}Not a device's figures: t.dat: Of 5 reads, 0 bytes.\n")
    text += "".join(BEHIND.format(number=number) for number in (1, 2))
    text += (
        "\nEngine: io_uring\n    chosen with reads before the load: aio 3 IOPS, io_uring 4 IOPS\n"
    )
    text += "CPU time per I/O of timespan 1: 1.36 µs in this tool\n"
    reading = read_source(text.encode())
    assert not reading.unparsed
    for number, found in enumerate(reading.results, start=1):
        assert found.sync is not None
        assert found.sync.latency is not None
        assert (found.sync.ios, found.sync.latency.mean_ns) == (
            6280 + number,
            220000 + number * 1000,
        )
        response = found.options["latencies (ms): Response times"]
        assert response["read"] == {"min": f"0.00{number}"}
        for section in ("Ends of", "Errors of", "I/Os of", "Beneath", "Network of"):
            assert len(found.options[f"{section} timespan {number}"]) > 1
            assert f"{section} timespan {3 - number}" not in found.options
        assert found.options["cpu count"] == "2"
    assert "Not a device's figures" in reading.results[0].options
    assert reading.results[0].options["CPU time per I/O"] == ["1.36 µs in this tool"]


MIXES = [
    ("--block-mix=4K:60,8K:40", (None, 100)),
    ("--read-block-mix=4K:60,8K:40", (None, 100)),
    ("--write-pattern=sequential,range=0:1G", (65536, None)),
    ("--read-pattern=random,block=8K", (None, None)),
    ("--compress=50", (65536, 100)),
]


@pytest.mark.parametrize(("mix", "load"), MIXES)
def test_one_block_size_was_told_of_a_mix_of_several(
    mix: str, load: tuple[int | None, int | None]
) -> None:
    """The text, the XML and the command line alone say it, each in its own form."""
    arguments = ["-w40", "-r", mix, "t.dat"]
    profile = fathom._fathom.profile_xml_of(arguments)
    place = XML.index("<Profile>")
    shown = XML[:place] + profile + XML[XML.index("</Profile>") + len("</Profile>") :]
    command = f"Command Line: diskspd {' '.join(arguments)}\n"
    text = (RUNS / "03-plain-read.txt").read_text()
    table = text[text.index("Results for timespan") :]
    for source in (shown, command + table):
        (found,) = read_source(source.encode()).results
        assert (found.load.block_bytes, found.load.random_percent) == load


def test_dots_of_progress_before_a_line_of_the_log_were_a_line_of_no_tool() -> None:
    log = "....2026-11-30T09:23:50: stopped measurements\n"
    for name in ("03-plain-read.txt", "04-plain-read-xml.xml"):
        reading = read_source(f"{log}{(RUNS / name).read_text()}".encode())
        assert (len(reading.results), reading.unparsed) == (1, ())


def test_an_interval_without_io_had_a_latency_of_nothing() -> None:
    text = re.sub(r' Read="[0-9]+"', ' Read="0"', XML, count=1)
    text = re.sub(r'(ReadAvgLatencyMilliseconds)="[0-9.]+"', r'\1="0.000"', text, count=1)
    (found,) = read_source(text.encode()).results
    points = {(one.what, one.direction): one.points for one in found.series}
    assert points["iops", "read"][0] == (1.0, 0)
    assert [end for end, _ in points["latency_ns", "read"]] == [2.0]
    assert [end for end, _ in points["latency_ns", "write"]] == [1.0, 2.0]


@pytest.mark.parametrize(
    "name", ["02-mix-LD-xml.xml", "07-write-L-xml.xml", "28-g-iops-vs-xml.xml"]
)
def test_a_percentile_of_another_diskspd_was_half_the_time_the_next_one(
    name: str, tmp_path: Path
) -> None:
    """Shares of I/Os were rounded, where a percentile is the least value that covers its share."""
    (tmp_path / "stdout").write_text((RUNS / name).read_text())
    load = read_load(["-L", "-b4K", "t.dat"])
    span = DiskspdExe("", "2.2.0").measured(load, tmp_path, ToolRun(0, ""))
    (found,) = read(RUNS / name).results
    for side in ("read", "write"):
        told = getattr(found, side).latency
        histogram = span.threads[0]["targets"][0][side]["latency"]
        ranks = [*accumulate(histogram["bucket_counts"])]
        for percent, value_ns in told.percentiles_ns.items() if told else ():
            rank = max(math.ceil(round(percent * histogram["count"] / 100, 6)), 1)
            lower_ns = histogram["bucket_lower_ns"][bisect_left(ranks, rank)]
            assert lower_ns == pytest.approx(value_ns, rel=1 / 512), percent


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_mark_between_two_documents_hid_the_second(encoding: str) -> None:
    """PowerShell begins each file with one, and files are joined."""
    reading = read_source(XML.encode(encoding) * 2)
    assert (len(reading.results), reading.unparsed) == (2, ())

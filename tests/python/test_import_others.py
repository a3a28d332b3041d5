"""Iometer, CrystalDiskMark, fio's logs, and scripts around DiskSpd."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fathom.imported import ImportFormatError
from fathom.tools import from_iometer
from fathom.tools.formats import format_of, read_source

if TYPE_CHECKING:
    from fathom.store import Store

DATA = Path(__file__).parent / "data/import"
FIO = shutil.which("fio") or ""
needs_fio = pytest.mark.skipif(not FIO, reason="fio is not installed")
# By hand from the samples: title, MB/s, IOPS, microseconds, block bytes, threads, outstanding.
MEASUREMENTS: dict[str, list[tuple[Any, ...]]] = {
    "crystaldiskmark-3.0.1.txt": [
        ("Sequential Read", "505.825", None, None, None, None, None),
        ("Random Write 512KB", "190.461", None, None, 512 << 10, None, None),
        ("Random Read 4KB (QD=32)", "271.859", 66371.9, None, 4096, 1, 32),
    ],
    "crystaldiskmark-6.0.2.txt": [
        ("Sequential Write (Q= 32,T= 1)", "324.382", None, None, None, 1, 32),
        ("Random Read 4KiB (Q= 8,T= 8)", "393.900", 96167.0, None, 4096, 8, 8),
    ],
    "crystaldiskmark-8.0.4.txt": [
        ("SEQ 1MiB (Q= 8, T= 1) read", "194.805", 185.8, 42830.02, 1 << 20, 1, 8),
        ("RND 4KiB (Q= 32, T= 1) read", "0.640", 156.2, 199524.93, 4096, 1, 32),
        ("RND 4KiB (Q= 1, T= 1) write", "2.452", 598.6, 1664.09, 4096, 1, 1),
    ],
}


@pytest.mark.parametrize("name", MEASUREMENTS)
def test_each_line_of_crystaldiskmark_is_a_result(name: str, store: Store) -> None:
    content = (DATA / name).read_bytes()
    reading = read_source(content)
    assert not reading.unparsed
    assert len(reading.results) == 8
    assert {one.tool_version for one in reading.results} == {name.split("-")[1][:5]}
    by_title = {one.title: one for one in reading.results}
    for title, megabytes, iops, mean_us, size, threads, outstanding in MEASUREMENTS[name]:
        found = by_title[title]
        assert found.total is not None
        assert found.total.texts["mb_per_s"] == megabytes
        assert found.total.mib_per_s == pytest.approx(float(megabytes) * 1e6 / 2**20)
        assert found.total.iops == iops
        latency = found.total.latency
        assert (latency.mean_ns if latency else None) == (
            None if mean_us is None else pytest.approx(mean_us * 1000)
        )
        load = found.load
        assert (load.block_bytes, load.threads, load.outstanding) == (size, threads, outstanding)
        side = "write" if "rite" in title else "read"
        assert getattr(found, side) == found.total
        assert load.write_percent == (100 if side == "write" else 0)
    assert len(store.imports.save(reading.results, content, name)) == 8


def test_iometers_figures_and_terms() -> None:
    (found,) = read_source((DATA / "iometer.csv").read_bytes()).results
    assert (found.tool_version, found.title) == ("2006.07.27", "OLTP")
    assert found.total is not None
    assert found.read is not None
    assert found.write is not None
    assert found.total.latency is not None
    assert (found.total.iops, found.total.mib_per_s) == (3000.1, 23.438281)
    assert (found.read.iops, found.write.iops) == (2100.07, 900.03)
    assert (found.total.ios, found.total.bytes) == (63002 + 27000, 516114432 + 221184000)
    assert found.total.latency.mean_ns == pytest.approx(5_331_200)
    assert found.total.latency.max_ns == pytest.approx(210_400_000)
    assert found.total.latency.percentiles_ns == {}
    load = found.load
    assert (load.block_bytes, load.write_percent, load.random_percent) == (8192, 30, 100)
    assert (load.threads, load.outstanding) == (1, 16)
    assert found.cpu_average is not None
    assert found.cpu_average.usage_percent == 4.1
    assert [(cpu.label, cpu.kernel_percent) for cpu in found.cpus] == [("0", 6.3)]
    assert [row.label for row in found.rows] == ["MANAGER HOST", "WORKER Worker 1", "DISK E: Data"]


def test_tests_that_were_appended_had_the_load_and_the_time_of_the_last() -> None:
    text = (DATA / "iometer.csv").read_text()
    other = text.replace("8192,100,70,100", "4096,100,50,0").replace("2012-03-04", "2013-05-06")
    reading = read_source(f"{text}{other}".encode())
    assert not reading.unparsed
    loads = [(one.load.block_bytes, one.load.random_percent) for one in reading.results]
    assert loads == [(8192, 100), (4096, 0)]
    stamps = [str(one.options["time stamp"]) for one in reading.results]
    assert stamps == ["2012-03-04 05:06:07:089", "2013-05-06 05:06:07:089"]


def test_errors_that_iometer_counted_were_lost() -> None:
    text = (DATA / "iometer.csv").read_text()
    (found,) = read_source(
        text.replace(",210.400000,,,0,0,0,", ",210.400000,,,7,5,2,").encode()
    ).results
    assert found.notes == ("Iometer counted 7 errors, 5 of reads and 2 of writes.",)
    (clean,) = read_source(text.encode()).results
    assert clean.notes == ()


def test_the_letter_of_a_version_of_crystaldiskmark_cost_its_last_digit() -> None:
    text = (DATA / "crystaldiskmark-8.0.4.txt").read_text()
    reading = read_source(text.replace("8.0.4", "8.0.4c").encode())
    assert {one.tool_version for one in reading.results} == {"8.0.4c"}


# The columns of 1.1, as its sources write them (``ManagerList::SaveResults``): two kinds of MB/s,
# and how many I/Os took how long in 21 ranges.
BINS = (
    "0 to 50 uS,50 to 100 uS,100 to 200 uS,200 to 500 uS,0.5 to 1 mS,1 to 2 mS,2 to 5 mS,"
    "5 to 10 mS,10 to 15 mS,15 to 20 mS,20 to 30 mS,30 to 50 mS,50 to 100 mS,100 to 200 mS,"
    "200 to 500 mS,0.5 to 1 S,1 to 2 s,2 to 4.7 s,4.7 to 5 s,5 to 10 s, >= 10 s"
)


@pytest.mark.parametrize("unit", ["MiBps (Binary)", "MBps (Binary)"])
def test_results_of_iometer_1_1_have_binary_rates_and_its_ranges(unit: str) -> None:
    lines = (DATA / "iometer.csv").read_text().splitlines()
    rates = (
        f"{unit},Read {unit},Write {unit},MBps (Decimal),Read MBps (Decimal),Write MBps (Decimal)"
    )
    counts = ",".join(str(number) for number in range(21))
    for at, line in enumerate(lines):
        if line.startswith("'Target Type"):
            lines[at] = f"{line.replace('MBps,Read MBps,Write MBps', rates)},{BINS}"
        elif line.startswith(("ALL,", "MANAGER,", "WORKER,", "DISK,")):
            cells = line.split(",")
            cells[12:12] = ["24.576819", "17.203773", "7.373046"]
            lines[at] = f"{','.join(cells)},{counts}"
    reading = read_source("\n".join(lines).encode())
    assert not reading.unparsed
    (found,) = reading.results
    assert found.total is not None
    assert found.total.latency is not None
    # The decimal rate stands there too, and is not taken for the other.
    assert (found.total.mib_per_s, found.total.iops) == (23.438281, 3000.1)
    assert found.total.latency.max_ns == pytest.approx(210_400_000)
    # Rows of processors stay as they were in all versions: without the new columns.
    assert [(cpu.label, cpu.usage_percent) for cpu in found.cpus] == [("0", 8.0)]
    bins = found.options["latency_bins"]
    assert (len(bins), bins["0 to 50 uS"], bins["1 to 2 s"], bins[">= 10 s"]) == (
        21,
        "0",
        "16",
        "20",
    )


def test_a_line_longer_than_any_cell_is_named() -> None:
    text = (DATA / "iometer.csv").read_text() + "x" * 200_000 + "\n"
    reading = read_source(text.encode())
    assert len(reading.results) == 1
    assert [len(line.text) for line in reading.unparsed] == [200_000]


def test_a_configuration_of_iometer_becomes_diskspds_arguments() -> None:
    reading = read_source((DATA / "iometer.icf").read_bytes())
    assert not reading.results
    assert dict(reading.configurations) == {
        "4 KiB; 75% Read; 0% random": ("-b4096", "-w25", "-t2", "-o16"),
        "OLTP": ("-b8192", "-w30", "-r512", "-t2", "-o16"),
        # Sizes that differ in place and direction are no single load.
        "Mixed": (),
    }


def fio_logs(tmp_path: Path) -> dict[str, Any]:
    """Run fio with all logs on a file of the test's own, and return its one job's JSON."""
    arguments = ["--name=a", f"--filename={tmp_path / 'f'}", "--size=4M", "--bs=4k", "--rw=randrw"]
    arguments += ["--ioengine=psync", "--write_lat_log=x", "--write_bw_log=x", "--write_iops_log=x"]
    arguments += ["--write_hist_log=x", "--log_hist_msec=50", "--output-format=json+"]
    arguments += ["--output=out", "--rate_iops=2000", "--io_size=2M"]
    subprocess.run([FIO, *arguments], check=True, cwd=tmp_path, capture_output=True)
    (job,) = json.loads((tmp_path / "out").read_text())["jobs"]
    found: dict[str, Any] = job
    return found


@needs_fio
def test_logs_of_a_real_run_have_one_point_for_each_io(tmp_path: Path) -> None:
    job = fio_logs(tmp_path)
    content = (tmp_path / "x_clat.1.log").read_bytes()
    (found,) = read_source(content, "fio-clat-log").results
    series = {one.direction: one.points for one in found.series}
    for side in ("read", "write"):
        told = job[side]["clat_ns"]
        values = [value for _end, value in series[side]]
        assert len(values) == told["N"]
        assert max(values) == told["max"]
        assert sum(values) / len(values) == pytest.approx(told["mean"], rel=1e-6)
    (rates,) = read_source((tmp_path / "x_bw.1.log").read_bytes(), "fio-bw-log").results
    assert {one.what for one in rates.series} == {"mib_per_s"}


@needs_fio
def test_a_log_of_histograms_has_the_bins_of_fios_json(tmp_path: Path) -> None:
    job = fio_logs(tmp_path)
    path = next(tmp_path.glob("x_clat_hist.*log"))
    (found,) = read_source(path.read_bytes()).results
    assert found.read is not None
    assert found.read.latency is not None
    bins = {int(value): count for value, count in job["read"]["clat_ns"]["bins"].items()}
    histogram = dict(found.read.latency.histogram or {})
    # The log ends with the last whole interval; what it has stands in the same bins.
    assert set(histogram) <= set(bins)
    assert 0 < sum(histogram.values()) <= sum(bins.values())


def test_a_log_needs_to_be_told_what_it_measures() -> None:
    content = b"500, 1000, 0, 4096, 0\n1000, 1200, 0, 4096, 0\nsmudge\n1500, 1100, 0, 4096, 0\n"
    with pytest.raises(ImportFormatError, match="fio-iops-log"):
        read_source(content)
    reading = read_source(content, "fio-iops-log")
    (series,) = reading.results[0].series
    assert (series.interval_s, series.points[0]) == (0.5, (0.5, 1000.0))
    assert [(line.number, line.text) for line in reading.unparsed] == [(3, "smudge")]
    # The file's name tells it.
    assert format_of(content, "job_iops.1.log") == "fio-iops-log"
    assert format_of(content, os.fspath(Path("a") / "job_clat.2.log")) == "fio-clat-log"


def test_lines_of_a_sweep_tell_block_size_threads_and_outstanding_ios() -> None:
    """As happysysadm.com's script prints them, which has made many a sweep of 441 runs."""
    text = "Param -b64K, -t2, -o4, 4523.11 iops, 282.69 MB/sec, 1.767 ms, 12.5 %CPU\n"
    (found,) = read_source(text.encode()).results
    load = found.load
    assert (load.block_bytes, load.threads, load.outstanding) == (64 << 10, 2, 4)
    assert found.cpu_average is not None
    assert found.cpu_average.usage_percent == 12.5


def test_lines_of_scripts_are_results_however_they_were_folded() -> None:
    text = (
        "Here is the output: Param -o 1, 61.01 iops, 30.50 MB/sec, 16.355 ms, 0.20% CPU "
        "Param -t2 -o 3, 312.52 iops, 156.26 MB/sec, 19.137 ms, 0.98% CPU and so on\n"
        "Run 9, 33387.45 iops, 260.84 MB/sec, 0.239 ms, 21.64% CPU\n"
        '"Param $param, $iops iops, $mbps MB/sec, $latency ms, $cpu CPU"\n'
    )
    reading = read_source(text.encode())
    told = [
        (one.title, one.total.texts["iops"], one.total.texts["mib_per_s"], one.total.texts["mean"])
        for one in reading.results
        if one.total
    ]
    assert told == [
        ("Param -o 1", "61.01", "30.50", "16.355"),
        ("Param -t2 -o 3", "312.52", "156.26", "19.137"),
        ("Run 9", "33387.45", "260.84", "0.239"),
    ]
    assert [one.load.outstanding for one in reading.results] == [1, 3, None]
    # The script itself is no result, and is named.
    assert [line.number for line in reading.unparsed] == [1, 3]


def test_an_imported_configuration_was_another_load_than_the_translated_one() -> None:
    """It left out where I/Os are aligned, and their bursts."""
    text = (DATA / "iometer.icf").read_text()
    text = text.replace("8192,100,70,100,0,1,0,0", "8192,100,70,60,7,5,4096,0")
    shown = dict(read_source(text.encode()).configurations)["OLTP"]
    assert shown == ("-b8192", "-w30", "-r4096", "-rs60", "-i5", "-j7", "-t2", "-o16")
    assert tuple(from_iometer(text).command_lines[1][: len(shown)]) == shown

"""fio's JSON joins the store with fio's own numbers."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fathom
import pytest
from fabricated import fabricated
from fathom.experiments.compare.saved import compare_runs
from fathom.findings import find
from fathom.imported import ImportFormatError, result_view
from fathom.tools.fio.read import fio_results
from fathom.tools.formats import read_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.imported.model import ImportedLoad
    from fathom.store import Store

MIB = 1 << 20
FIO = shutil.which("fio") or ""
needs_fio = pytest.mark.skipif(not FIO, reason="fio is not installed")


def fio(tmp_path: Path, *more: str, form: str = "json+") -> bytes:
    """Run fio for a moment on a file of the test's own, and return what it wrote."""
    arguments = ["--name=mixed", f"--filename={tmp_path / 'f'}", "--size=4M", "--bs=8k"]
    arguments += ["--rw=randrw", "--rwmixread=70", "--iodepth=4", "--ioengine=libaio"]
    arguments += ["--io_size=4M", f"--output-format={form}", f"--output={tmp_path / 'out'}"]
    subprocess.run([FIO, *arguments, *more], check=True, cwd=tmp_path, capture_output=True)
    return (tmp_path / "out").read_bytes()


def document() -> dict[str, Any]:
    """Return a small document in the form of fio 3.33."""
    latency = {"min": 1000, "max": 9000, "mean": 2500.5, "stddev": 10.5, "N": 1000}
    latency["percentile"] = {"50.000000": 2000, "99.000000": 8000}  # type: ignore[assignment]
    read = {"io_bytes": 4_096_000, "bw_bytes": 2_048_000, "iops": 500.0, "runtime": 2000}
    read |= {"total_ios": 1000, "clat_ns": latency}  # type: ignore[dict-item]
    options = {"name": "a", "rw": "randread", "bs": "4k", "iodepth": "1", "filename": "/x"}
    job = {"jobname": "a", "groupid": 0, "error": 0, "read": read, "job options": options}
    return {"fio version": "fio-3.33", "timestamp_ms": 1_700_000_000_500, "jobs": [job]}


@needs_fio
def test_a_real_run_imports_with_fios_numbers(store: Store, tmp_path: Path) -> None:
    content = fio(tmp_path, "--fsync=16")
    document = json.loads(content)
    (job,) = document["jobs"]
    (result,) = read_source(content).results
    store.imports.save([result], content, "out")
    (summary,) = store.runs.list()
    columns = summary.columns
    for name in ("read", "write"):
        told = job[name]
        assert columns[f"{name}_iops"] == told["iops"]
        assert columns[f"{name}_mib_per_s"] == told["bw_bytes"] / MIB
        assert columns[f"{name}_latency_mean_ns"] == told["clat_ns"]["mean"]
        assert columns[f"{name}_latency_max_ns"] == told["clat_ns"]["max"]
        for column, key in (("p50", "50"), ("p95", "95"), ("p99", "99"), ("p999", "99.9")):
            percentile = told["clat_ns"]["percentile"][f"{float(key):.6f}"]
            assert columns[f"{name}_latency_{column}_ns"] == percentile
    assert columns["sync_latency_p99_ns"] == job["sync"]["lat_ns"]["percentile"]["99.000000"]
    assert columns["ios"] == job["read"]["total_ios"] + job["write"]["total_ios"]
    assert columns["bytes"] == job["read"]["io_bytes"] + job["write"]["io_bytes"] == 4 * MIB
    load = {"block_bytes": 8192, "outstanding_per_thread": 4, "thread_count": 1}
    load |= {"write_percent": 30, "random_percent": 100}
    assert {name: columns[name] for name in load} == load
    assert (columns["origin"], columns["origin_tool"]) == ("fio-json", "fio")
    assert f"fio-{columns['origin_tool_version']}" == document["fio version"]


@needs_fio
def test_the_bins_are_the_histogram_and_give_fios_percentiles(tmp_path: Path) -> None:
    """The tool reads its percentiles off the same bins, so those of our own reading are equal."""
    document = json.loads(fio(tmp_path))
    told = document["jobs"][0]["read"]["clat_ns"]
    (result,) = fio_results(document)
    assert result.read is not None
    latency = result.read.latency
    assert latency is not None
    assert latency.histogram == {int(bin_ns): ios for bin_ns, ios in told["bins"].items()}
    del told["percentile"]
    (bare,) = fio_results(document)
    from fathom.imported import result_view  # noqa: PLC0415 - Beside its use.

    view = result_view(bare).read.latency
    assert view is not None
    for percent, value_ns in latency.percentiles_ns.items():
        assert view.quantile_ns(percent / 100) == min(max(value_ns, view.min_ns), view.max_ns)


@needs_fio
def test_jobs_at_the_same_time_are_one_result_and_groups_are_several(tmp_path: Path) -> None:
    second = ["--name=second", "--stonewall", "--rw=read", f"--filename={tmp_path / 'g'}"]
    second += ["--size=2M", "--bs=64k"]
    document = json.loads(fio(tmp_path, "--numjobs=2", *second))
    assert len(document["jobs"]) > 2
    first, last = fio_results(document)
    jobs = [job for job in document["jobs"] if job["groupid"] == 0]
    assert first.read is not None
    assert first.read.latency is not None
    assert first.read.ios == sum(job["read"]["total_ios"] for job in jobs)
    assert first.read.iops == pytest.approx(sum(job["read"]["iops"] for job in jobs))
    assert sum((first.read.latency.histogram or {}).values()) == first.read.latency.count
    assert [row.label for row in first.rows] == ["mixed", "mixed"]
    assert first.load.threads == 2
    assert last.title == "second"
    assert last.load.block_bytes == 64 << 10


@needs_fio
def test_json_without_bins_has_no_histogram(store: Store, tmp_path: Path) -> None:
    content = fio(tmp_path, form="json")
    (result,) = read_source(content).results
    assert result.read is not None
    assert result.read.latency is not None
    assert result.read.latency.histogram is None
    (run_id,) = store.imports.save([result], content, "out")
    found = store.runs.get(run_id)
    assert found.result.read.latency is None
    assert found.result.read.iops == result.read.iops
    assert found.summary.columns["read_latency_p99_ns"] == result.read.latency.percentiles_ns[99.0]
    # Reads and writes together: percentiles of a sum cannot be known without histograms.
    assert found.summary.columns["total_latency_mean_ns"] is not None
    assert found.summary.columns["total_latency_p99_ns"] is None


def test_all_that_was_imported_comes_back(store: Store) -> None:
    content = json.dumps(document()).encode()
    (result,) = read_source(content).results
    (run_id,) = store.imports.save([result], content, "old.json")
    assert store.runs.get(run_id).imported == result
    assert store.imports.content(run_id) == content
    assert store.runs.get(run_id).summary.columns["source_name"] == "old.json"


def test_the_same_content_is_imported_once(store: Store) -> None:
    content = json.dumps(document()).encode()
    results = read_source(content).results
    (first,) = store.imports.save(results, content, "a")
    assert store.imports.run_ids(content) == [first]
    assert store.imports.save(results, content, "copy of a") == []
    assert len(store.imports.save(results, content, "a", again=True)) == 1
    store.runs.delete([run.id for run in store.runs.list()])
    # Its source went with the last run, and it can be imported again.
    assert store.imports.save(results, content, "a")


def test_it_compares_with_a_run_of_ours(store: Store) -> None:
    text = (Path(__file__).parent / "fixtures/result.json").read_text()
    ours = store.runs.save(fathom.Result.from_json(text), ["x"])
    content = json.dumps(document()).encode()
    (theirs,) = store.imports.save(read_source(content).results, content, "a")
    found = compare_runs(store, str(theirs), str(ours), metrics=["iops", "p99", "read.p50"])
    iops = store.runs.get(ours).result.total.iops
    # A single imported run without a series has a figure, but no spread.
    assert f"it is 500.00 in A and {iops:,.2f} in B" in found.missing["iops"]
    assert "tells nothing of its spread" in found.missing["iops"]
    words = " ".join(found.differences)
    assert "The machine of an imported run is unknown" in words
    assert "The load differs" in words
    assert "Latency is measured from submission to completion (clat) in A" in words


def test_several_imported_runs_compare_by_their_percentiles(store: Store) -> None:
    sides = []
    for factor in (1.0, 1.5):
        told = document()
        ids = []
        for spread in (1.0, 0.99, 1.01, 0.995, 1.005):
            percentiles = told["jobs"][0]["read"]["clat_ns"]["percentile"]
            percentiles["99.000000"] = 8000 * factor * spread
            content = json.dumps(told).encode()
            ids += store.imports.save(read_source(content).results, content, "x")
        sides.append(",".join(map(str, ids)))
    found = compare_runs(store, *sides, metrics=["p99", "p999"])
    assert found.metrics["p99"].change == pytest.approx(0.5)
    assert found.worse() == ["p99"]
    (note,) = found.notes
    assert note.startswith("p99 is that of each run")
    # This source has no such percentile, and none is made up.
    assert "no such figure" in found.missing["p999"]


def test_a_step_ends_with_what_another_tool_measured(store: Store) -> None:
    experiment = store.experiments.begin("sweep", "x", {}, [("one", {})])
    (step,) = store.experiments.get(experiment).steps
    (result,) = fio_results(document(), command_line="fio --name=a")
    store.runs.save_imported(
        result, ["-b4K"], content=b"{}", experiment_id=experiment, step_id=step.id
    )
    (step,) = store.experiments.get(experiment).steps
    assert step.state == "done"


def test_fio_2_counts_in_other_units() -> None:
    """Before 3.0: KiB in io_bytes, microseconds in clat, and a list padded with 0.00."""
    latency = {"min": 10, "max": 90, "mean": 40.5, "stddev": 2.5}
    latency["percentile"] = {"50.000000": 38, "99.000000": 80, "0.00": 0}  # type: ignore[assignment]
    told = {"io_bytes": 4000, "bw": 2000, "iops": 500.0, "runtime": 2000, "total_ios": 1000}
    old = {"fio version": "fio-2.14", "jobs": [{"jobname": "old", "groupid": 0, "error": 0}]}
    old["jobs"][0]["read"] = {**told, "clat": latency}  # type: ignore[index]
    (result,) = fio_results(old)
    assert result.read is not None
    assert result.read.latency is not None
    assert result.read.bytes == 4000 * 1024
    assert result.read.mib_per_s == 2000 / 1024
    assert result.read.latency.mean_ns == 40_500
    assert result.read.latency.percentiles_ns == {50.0: 38_000, 99.0: 80_000}
    assert result.load.block_bytes is None


def test_messages_around_the_json_are_named() -> None:
    text = f"fio: a warning\n{json.dumps(document())}\nbye\n{json.dumps(document())}\n"
    reading = read_source(text.encode())
    assert len(reading.results) == 2
    assert [(line.number, line.text) for line in reading.unparsed] == [
        (1, "fio: a warning"),
        (3, "bye"),
    ]


def broken() -> Iterator[tuple[str, bytes, str]]:
    whole = json.dumps(document()).encode()
    yield "empty", b"  \n", "empty"
    yield "binary", bytes(range(256)) * 8, "it is no text"
    yield "cut off", whole[: len(whole) // 2], "is cut off"
    yield "text for a number", whole.replace(b"500.0", b'"many"'), '"iops" is no number'
    yield "list for an object", whole.replace(b'"read": {', b'"read": [{', 1), "damaged"
    yield "other words", b'{"fio version": 3}', "not fio's"
    yield "deep", b'{"fio version": ' + b"[" * 200_000, "damaged"


@pytest.mark.parametrize(("content", "words"), [case[1:] for case in broken()])
def test_what_is_broken_is_refused_in_words(content: bytes, words: str) -> None:
    with pytest.raises(ImportFormatError, match=words):
        read_source(content)


def test_findings_leave_out_imported_results_and_still_tell_those_of_ours() -> None:
    (imported,) = fio_results(document())
    view = result_view(imported)
    assert view.total.ios == 1000
    ours = fabricated(warnings=[("page_cache", "9 reads went through the page cache.")])
    told = find([ours])
    assert [one.rule for one in told] == ["page-cache"]
    assert find([view]) == []
    assert find([view, ours]) == told


def job(name: str, **options: str) -> dict[str, Any]:
    part = {"total_ios": 5, "io_bytes": 20480, "bw_bytes": 20480, "iops": 5.0, "runtime": 1000}
    return {"jobname": name, "groupid": 0, "job options": options, "read": part, "write": part}


def load_of(*jobs: dict[str, Any]) -> ImportedLoad:
    (result,) = fio_results({"fio version": "fio-3.33", "jobs": [*jobs]})
    return result.load


def test_an_engine_that_waits_for_each_io_has_one_outstanding_whatever_iodepth_says() -> None:
    # psync is fio's own choice.
    assert load_of(job("a", rw="read", iodepth="32")).outstanding == 1
    assert load_of(job("a", rw="read", iodepth="32", ioengine="sync")).outstanding == 1
    assert load_of(job("a", rw="read", iodepth="32", ioengine="libaio")).outstanding == 32


def test_jobs_of_unlike_shares_have_no_share_of_the_first_of_them() -> None:
    unlike = load_of(job("a", rw="randrw", rwmixread="70"), job("b", rw="randrw", rwmixread="20"))
    assert unlike.write_percent is None
    assert unlike.random_percent == 100
    # Which name says it is the same.
    alike = load_of(job("a", rw="randrw", rwmixread="70"), job("b", rw="rw", rwmixwrite="30"))
    assert (alike.write_percent, alike.random_percent) == (30, None)


def test_longer_units_and_signs_of_shares_were_not_read() -> None:
    """They are what fio takes and prints; a load of 70 % writes was one without any."""
    sizes = {"bs": "4kib", "runtime": "10sec", "ramp_time": "500msec"}
    load = load_of(job("a", rw="randrw", rwmixwrite="70%", percentage_random="50%", **sizes))
    assert (load.block_bytes, load.write_percent, load.random_percent) == (4000, 70, 50)
    assert (load.duration_s, load.warm_up_s) == (10, 0.5)
    assert load_of(job("a", rw="rw", rwmixwrite="most")).write_percent is None


@pytest.mark.parametrize(
    ("options", "block_bytes", "random_percent"),
    [
        ({"rw": "randrw", "bs": ",8k"}, None, 100),
        ({"rw": "randwrite", "bs": ",8k"}, 8192, 100),
        ({"rw": "randread", "bs": "4k,8k"}, 4096, 100),
        ({"rw": "randread:8", "bs": "4k"}, 4096, 12.5),
        ({"rw": "read:8k", "bs": "4k"}, 4096, 0),
        ({"rw": "randread", "percentage_random": "70"}, 4096, 70),
    ],
)
def test_sizes_and_order_are_those_of_the_ways_that_a_job_has(
    options: dict[str, str], block_bytes: int | None, random_percent: float
) -> None:
    load = load_of(job("a", **options))
    assert (load.block_bytes, load.random_percent) == (block_bytes, random_percent)


def test_figures_of_reads_and_writes_in_one_row_are_the_total() -> None:
    unified = job("a", rw="randrw")
    unified = {**unified, "mixed": {**unified["read"], "total_ios": 10, "iops": 10.0}}
    both = fio_results({"fio version": "fio-3.33", "jobs": [unified]})[0]
    assert (both.total and both.total.ios, both.read and both.read.ios) == (10, 5)
    del unified["read"], unified["write"]
    one = fio_results({"fio version": "fio-3.33", "jobs": [unified]})[0]
    assert one.total is not None
    assert (one.total.ios, one.total.iops, one.read, one.measured_s) == (10, 10.0, None, 1.0)
    assert [*one.rows[0].directions] == ["total"]


def of_clients(*told: dict[str, Any]) -> dict[str, Any]:
    """Return a document of ``fio --client``, which puts the sum of all behind what it was told."""
    summed = job("All clients")
    del summed["job options"]
    for name in ("read", "write"):
        sums = {key: len(told) * value for key, value in summed[name].items() if key != "runtime"}
        summed[name] = {**summed[name], **sums}
    last = {"hostname": told[-1]["hostname"], "groupid": told[-1]["groupid"]}
    return {"fio version": "fio-3.33", "client_stats": [*told, {**summed, **last}]}


def on(host: str, name: str, group: int = 0) -> dict[str, Any]:
    told = job(name, rw="rw", bs="8k", iodepth="1")
    return {**told, "hostname": host, "groupid": group}


def test_the_sum_of_all_clients_was_one_more_job_and_doubled_each_figure() -> None:
    (one,) = fio_results(of_clients(on("x", "a"), on("x", "b")))
    assert (one.title, one.host_name, one.load.threads) == ("a, b", "x", 2)
    assert one.read is not None
    assert one.total is not None
    assert (one.read.ios, one.read.iops, one.total.iops) == (10, 10.0, 20.0)
    assert [row.label for row in one.rows] == ["a", "b"]


def test_the_sum_of_several_hosts_is_a_result_of_its_own_and_no_part_of_the_last_host() -> None:
    first, second, whole = fio_results(of_clients(on("x", "a"), on("y", "a")))
    assert [one.host_name for one in (first, second, whole)] == ["x", "y", ""]
    assert [one.read and one.read.ios for one in (first, second, whole)] == [5, 5, 10]
    assert (whole.title, whole.load.threads, whole.load.block_bytes) == ("All clients: a", 2, 8192)
    # What ran one after the other has no sum.
    later = fio_results(of_clients(on("x", "a"), on("x", "b", group=1)))
    assert [one.title for one in later] == ["a", "b"]
    # A job of this name is a job.
    (own,) = fio_results({"fio version": "fio-3", "client_stats": [on("x", "All clients")]})
    assert (own.title, own.load.block_bytes) == ("All clients", 8192)


def test_a_group_or_host_that_is_no_word_was_a_traceback() -> None:
    odd = [{**job("a"), "groupid": [1], "hostname": {"x": 1}}, job("b")]
    assert [one.title for one in fio_results({"fio version": "fio-3", "jobs": odd})] == ["a", "b"]


@pytest.mark.parametrize(
    ("options", "block_bytes"),
    [
        ({"bs": "4ki"}, 4096),
        ({"bs": "4KiB"}, 4000),
        ({"bs": "1mib"}, 1_000_000),
        ({"bs": "4k", "kb_base": "1000"}, 4000),
        ({"bs": "4kib", "kb_base": "1000"}, 4096),
        ({"bs": "0x1000"}, 4096),
        ({"kb_base": "1000"}, 4096),
    ],
)
def test_sizes_in_kib_were_unknown_of_imports(options: dict[str, str], block_bytes: int) -> None:
    """As fio 3.33 prints what it made of them: its KiB is 1000 bytes unless kb_base is 1000."""
    assert load_of(job("a", rw="read", **options)).block_bytes == block_bytes


def test_times_in_days_and_seconds_were_unknown_of_imports() -> None:
    assert load_of(job("a", runtime="1d", ramp_time="5S")).duration_s == 86400
    assert load_of(job("a", runtime="1d", ramp_time="5S")).warm_up_s == 5


def reported(*reports: tuple[float, float, int]) -> list[tuple[int | None, int]]:
    """Return I/Os and notes of what is read of documents of one job that lie behind each other.

    Each is when it was written, how long the job was measured by then, and its I/Os.
    """
    texts = []
    for written_s, measured_s, ios in reports:
        one = job("a", rw="read")
        part = {"total_ios": ios, "iops": ios / (measured_s or 1), "runtime": 1000 * measured_s}
        one |= {"elapsed": math.ceil(measured_s) + 1, "read": part, "write": {}}
        told = {"fio version": "fio-3.33", "timestamp_ms": 1000 * written_s, "jobs": [one]}
        texts.append(json.dumps(told, indent=1))
    results = read_source("\n".join(texts).encode()).results
    return [(one.read.ios if one.read else None, len(one.notes)) for one in results]


def test_reports_of_one_run_were_runs_of_their_own() -> None:
    """Each of --status-interval counts from the start on, and was one more repetition."""
    assert reported((100.9, 0.9, 9), (101.9, 1.9, 19), (102.1, 2.0, 20)) == [(20, 1)]
    # While it ramps up, nothing is measured.
    assert reported((100.0, 0.0, 0), (101.0, 1.0, 9)) == [(9, 1)]
    # Runs that follow each other stay, however short, and so do those that were measured less.
    assert reported((100.0, 1.0, 9), (101.0, 1.0, 10)) == [(9, 0), (10, 0)]
    assert reported((100.0, 0.2, 9), (100.3, 0.2, 10)) == [(9, 0), (10, 0)]
    assert reported((100.0, 1.0, 9), (100.5, 1.5, 8)) == [(9, 0), (8, 0)]
    assert reported((100.0, 0.0, 0), (109.0, 1.0, 10)) == [(0, 0), (10, 0)]


@needs_fio
def test_all_but_the_last_report_of_a_real_run_were_runs_too(tmp_path: Path) -> None:
    content = fio(tmp_path, "--time_based", "--runtime=2", "--rate_iops=500", "--status-interval=1")
    assert content.count(b'"fio version"') > 1
    (result,) = read_source(content).results
    assert result.measured_s == pytest.approx(2, abs=0.1)
    assert "--status-interval" in result.notes[-1]


@needs_fio
def test_what_fio_reports_of_the_ramp_was_a_run_of_its_own(tmp_path: Path) -> None:
    """It counts while it ramps up, too, and from nought again behind it."""
    more = ("--time_based", "--ramp_time=1", "--runtime=1", "--rate_iops=200")
    content = fio(tmp_path, *more, "--status-interval=500ms")
    assert content.count(b'"fio version"') > 2
    (result,) = read_source(content).results
    assert result.measured_s == pytest.approx(1, abs=0.1)


def listed_by_client(*rows: tuple[str, int], numjobs: str = "") -> list[tuple[str, int | None]]:
    """Return names and reads of what is read of a list of fio's client."""
    given = {"numjobs": numjobs} if numjobs else {}
    jobs = []
    for name, ios in rows:
        part = {"total_ios": ios, "iops": 1.0, "runtime": 1000}
        found = {"jobname": name, "groupid": 0, "hostname": "a", "read": part, "write": {}}
        jobs.append(found if name == "All clients" else found | {"job options": given})
    told = {"fio version": "fio-3.33", "client_stats": jobs}
    results = read_source(json.dumps(told, indent=1).encode()).results
    return [(one.title, one.read.ios if one.read else None) for one in results]


def test_all_reports_of_the_jobs_of_a_client_were_added_up() -> None:
    """Its list has each job once for each report, and the sum of all behind the first alone."""
    first = (("w", 90), ("v", 10), ("All clients", 100))
    assert listed_by_client(*first, ("w", 190), ("v", 20), ("w", 200), ("v", 30)) == [("w, v", 230)]
    assert listed_by_client(("w", 90), ("w", 190)) == [("w", 190)]
    # Copies of a job have one name, too.
    assert listed_by_client(("w", 90), ("w", 95), ("All clients", 185), numjobs="2") == [("w", 185)]
    again = (("w", 90), ("w", 95), ("All clients", 185), ("w", 190), ("w", 195))
    assert listed_by_client(*again, numjobs="2") == [("w", 385)]

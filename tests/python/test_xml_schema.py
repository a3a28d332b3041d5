"""XML results are well-formed, and valid by the schema that is committed here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from lxml import etree
from storage_servers import Nbdkit
from support import diskspd, interrupt_once_reading, wait_until_reading

REPOSITORY = Path(__file__).parents[2]
SCHEMA = etree.XMLSchema(etree.parse(str(REPOSITORY / "schema" / "diskspd-result.xsd")))
RECORDINGS = sorted((REPOSITORY / "tests" / "golden" / "diskspd" / "runs").glob("*.xml"))
FILE_BYTES = 8 << 20

# Where time is no subject, a count ends the run; the others have results of runs that none ended.
RUNS = {
    "mix": "-d1 -g500i -b4K -r -w30 -o4 -t2 -L -D250 t.dat u.dat",
    "reads alone": "-d9 --stop-ios=999 -b64K -L t.dat",
    "writes alone": "-d1 -g500i -b4K -r -w100 -L -D t.dat",
    "neither latency nor series": "-d9 --stop-ios=999 -b4K t.dat",
    "no time at all": "-d0 -b4K -L -D t.dat",
    "rate": "-d1 -b4K -r -L -D500 -g500i t.dat",
    "shared threads": "-d9 --stop-ios=999 -b4K -r -F2 -O8 -L t.dat u.dat",
    "pinned": "-d9 --stop-ios=999 -b4K -r -a0 -t2 t.dat",
    "not pinned": "-d9 --stop-ios=999 -b4K -r -n t.dat",
    "a CPU of a group, in order": "-d9 --stop-ios=999 -b4K -r -ag0,0 -acsE -t2 t.dat",
    "batches": "-d9 --stop-ios=999 -b4K -r -o8 -un4 -oc2 -bsn t.dat",
    "percentages": "-d9 --stop-ios=999 -b4K -r -rdpct90/10:5/20 t.dat",
    "ranges": "-d9 --stop-ios=999 -b4K -r -rdabs90/1M:0/1M:10/2M t.dat",
    "waits and steps": "-d9 --stop-ios=2500 -b4K -r -vs -P1000 t.dat",
    "mapped": "-d9 --stop-ios=999 -b4K -r -w50 -Sm -Nv -L t.dat",
    "direct": "-d9 --stop-ios=999 -b4K -rs50 -Su -L -o8 t.dat",
    "burst": "-d1 -b4K -r -i10 -j5 -L t.dat",
    "made": "-d9 --stop-ios=999 -b4K -si -t2 -w100 -c4M -Zr -z7 made.dat",
    "buffer": "-d9 --stop-ios=999 -b4K -w100 -Z1M t.dat",
    "hints": "-d9 --stop-ios=999 -b4K -fr -fs -I1 -B1M -f4M t.dat",
    "kernel events": "-d9 --stop-ios=999 -b4K -r -eTHREAD -eDISK_IO -eMEMORY_PAGE_FAULTS -eNETWORK "
    "-ec t.dat",
    "hard faults": "-d9 --stop-ios=999 -b4K -r -eMEMORY_HARD_FAULTS -eREGISTRY -es -ep t.dat",
    "a name for readers to stumble over": "-d9 --stop-ios=999 -b4K -r a&b<c>\"'.dat",
    "syncs": "-d9 --stop-ios=999 -b4K -r -w50 -L --fsync=8 t.dat u.dat",
    "exact mix": "-d9 --stop-ios=999 -w50 -L --ratio=exact --block-mix=4K:50,8K:50 -r t.dat",
    "a stop rule": "-d5 -b4K -r -L --stop-ios=1000 t.dat",
    "confidence": "-d3 -b4K -r -L --stop-confidence=90:20 t.dat",
    "compressed and repeated": "-d9 --stop-ios=999 -b4K -r -w100 --compress=50 --dedupe=20 t.dat",
    "verified": "-d9 --stop-ios=999 -b4K -r -w50 -L --verify t.dat u.dat",
    "events": "-d9 --stop-ios=999 -b4K -r -ysschema-test-started t.dat",
    "profile": "-Xtwo.xml",
}

PROFILE = """\
<Profile>
  <ETW><Thread>true</Thread></ETW>
  <TimeSpans>
    <TimeSpan>
      <MeasureLatency>true</MeasureLatency><CalculateIopsStdDev>true</CalculateIopsStdDev>
      <Duration>1</Duration><Warmup>0</Warmup><IoBucketDuration>250</IoBucketDuration>
      <Targets><Target><Path>t.dat</Path><BlockSize>4096</BlockSize><Random>4096</Random>
      </Target></Targets>
    </TimeSpan>
    <TimeSpan>
      <Duration>1</Duration><Warmup>0</Warmup>
      <ThreadCount>2</ThreadCount><RequestCount>4</RequestCount>
      <Affinity><AffinityGroupAssignment Group="0" Processor="0"/></Affinity>
      <Targets>
        <Target><Path>u.dat</Path><BlockSize>8192</BlockSize><WriteRatio>100</WriteRatio>
        <ThreadTargets><ThreadTarget><Thread>0</Thread></ThreadTarget></ThreadTargets></Target>
        <Target><Path>t.dat</Path><BlockSize>4096</BlockSize></Target>
      </Targets>
    </TimeSpan>
  </TimeSpans>
</Profile>
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = bytes(range(256)) * (FILE_BYTES // 256)
    for name in ("t.dat", "u.dat", "a&b<c>\"'.dat"):
        (tmp_path / name).write_bytes(data[:FILE_BYTES])
    (tmp_path / "two.xml").write_text(PROFILE)
    return tmp_path


def start(folder: Path, args: str) -> subprocess.Popen[str]:
    times = [] if args.startswith("-X") else ["-W0"]
    command = [str(diskspd()), "-Rxml", *times, *args.split()]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True)


def run(folder: Path, args: str, code: int = 0) -> etree._Element:
    """Run with an XML result, which must be valid."""
    process = start(folder, args)
    stdout, stderr = process.communicate()
    assert process.returncode == code, stderr
    return valid(stdout)


def valid(text: str) -> etree._Element:
    result = etree.fromstring(text)
    assert SCHEMA.validate(result), str(SCHEMA.error_log)
    return result


def texts(result: etree._Element, path: str) -> list[str]:
    found = result.xpath(path)
    assert isinstance(found, list)
    return [str(one) for one in found]


def numbers(result: etree._Element, path: str) -> list[int]:
    return [int(text) for text in texts(result, path)]


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_recordings_of_the_real_tool_are_valid(recording: Path) -> None:
    text = recording.read_text()
    # What it writes before the result, and a name that it does not escape.
    text = text[text.index("<Results>") :].replace('"<unknown>"', '"unknown"')
    valid(text)


def test_there_are_recordings() -> None:
    assert len(RECORDINGS) == 11


@pytest.mark.parametrize("args", RUNS.values(), ids=RUNS.keys())
def test_results_are_valid(folder: Path, args: str) -> None:
    result = run(folder, args)
    assert result.findall("TimeSpan/TestTimeSeconds")


def test_results_of_targets_over_the_network_are_valid(folder: Path) -> None:
    why = Nbdkit.obstacle()
    if why is not None:
        pytest.skip(why)
    server = Nbdkit(folder / "nbd")
    (server.folder / "disk").write_bytes(bytes(FILE_BYTES))
    server.start()
    try:
        args = f"-d9 -b4K -r -o4 --stop-ios=99 {server.address('disk')} t.dat"
        assert texts(run(folder, args), "Network/Remote/@Protocol") == ["NBD"]
        failed = run(folder, f"-d1 {server.address('missing')}", code=1)
        assert failed.findall("TimeSpan/Error")
    finally:
        server.kill()


def test_a_run_that_fails_has_a_valid_result(folder: Path) -> None:
    result = run(folder, "-d1 missing.dat", code=1)
    assert result.findall("TimeSpan/Error")


def test_faults_are_told_in_valid_xml(folder: Path) -> None:
    """A file that is cut short while it is read gives short reads, and no error."""
    process = start(folder, "-d3 -b4K -r -o1 --on-error=continue t.dat")
    wait_until_reading(process.pid)
    os.truncate(folder / "t.dat", FILE_BYTES // 2)
    stdout, stderr = process.communicate()
    assert process.returncode == 0, stderr
    result = valid(stdout)
    assert texts(result, "Faults/Fault/Kind/text()") == ["short"]
    assert texts(result, "Faults/Fault/Operation/text()") == ["read"]
    assert numbers(result, "Faults/Fault/Count/text()")[0] > 0


def test_a_run_that_is_interrupted_has_a_valid_result(folder: Path) -> None:
    process = start(folder, "-d60 -b4K -r -o1 -L -D250 t.dat")
    interrupt_once_reading(process.pid)
    stdout, stderr = process.communicate()
    assert process.returncode == 130, stderr
    result = valid(stdout)
    assert sum(numbers(result, "TimeSpan/Thread/Target/IOCount/text()")) > 0
    assert len(numbers(result, "TimeSpan/Iops/Bucket/@Total")) < 240


def test_the_whole_series_is_there(folder: Path) -> None:
    result = run(folder, "-d2 -b4K -r -w30 -o4 -t2 -g500i -D250 t.dat u.dat")
    places = ["TimeSpan", *(f"TimeSpan/Thread[{thread}]/Target" for thread in range(1, 5))]
    for place in places:
        ends = numbers(result, f"{place}/Iops/Bucket/@SampleMillisecond")
        assert ends == list(range(250, 2001, 250)), place
        for direction, counts in [("Read", "ReadCount"), ("Write", "WriteCount")]:
            # I/Os per second of a quarter of a second are four times its I/Os.
            ios = sum(numbers(result, f"{place}/Iops/Bucket/@{direction}"))
            below = "Thread/Target" if place == "TimeSpan" else "."
            counted = sum(numbers(result, f"{place}/{below}/{counts}/text()"))
            assert ios == 4 * counted > 0, place


def test_two_time_spans_have_results_of_their_own(folder: Path) -> None:
    result = run(folder, "-Xtwo.xml")
    first, second = result.findall("TimeSpan")
    assert set(texts(first, "Thread/Target/Path/text()")) == {"t.dat"}
    assert set(texts(second, "Thread/Target/Path/text()")) == {"t.dat", "u.dat"}
    assert first.find("Latency") is not None
    assert second.find("Latency") is None


def test_the_schema_refuses_what_is_no_result(folder: Path) -> None:
    text = etree.tostring(run(folder, RUNS["mix"]), encoding="unicode")
    for valid_part, wrong_part in [
        ("<ProcCount>", "<ProcCount>x"),
        ("<TestTimeSeconds>", "<TestTimeSeconds>-"),
        ("<IOCount>", "<IOCount>1."),
        ('SampleMillisecond="500"', 'SampleMillisecond="250"'),
        ("<Percentile>7</Percentile>", "<Percentile>8</Percentile>"),
        ("<CpuUtilization>", "<Unknown/><CpuUtilization>"),
    ]:
        wrong = text.replace(valid_part, wrong_part, 1)
        assert wrong != text
        assert not SCHEMA.validate(etree.fromstring(wrong)), wrong_part

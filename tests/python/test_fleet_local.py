"""A fleet of two on this machine: one result, one decision, and a host that is lost."""

from __future__ import annotations

import asyncio
import io
import json
import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fathom
import jsonschema  # type: ignore[import-untyped]
import pytest
from commands import command
from fathom._events_file import ENVIRONMENT
from fathom._permission import Permission
from fathom.experiments.prepare import look
from fathom.findings import find
from fathom.findings.causes import HOST_IN_THE_WAY, STALLED
from fathom.fleet.address import FleetAddress
from fathom.fleet.channel import NoAnswerError
from fathom.fleet.coordinator import Coordinator
from fathom.fleet.link import HostLink
from fathom.fleet.measuring import Measuring
from fathom.fleet.member import Member
from fathom.fleet.runner import FleetRunner
from fathom.handle import RunHandle
from fathom.runners.measure import Measured
from fathom.store import Store
from support import undisturbed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fathom.fleet.address import HostLoss
    from fathom.fleet.clocks import ClockOffset

LOAD = ["-c1M", "-b4K", "-r", "-w30", "-L", "-D100", "-g4096", "-W0", "-d1"]
LONG = [*LOAD[:-1], "-d600", "--engine=null"]
SCHEMA = Path(__file__).parents[2] / "schema/result.schema.json"


@pytest.fixture(scope="module")
def fleet() -> Iterator[FleetRunner]:
    """Two hosts, which the tests of this module share as the runs of a command do."""
    runner = FleetRunner(None, FleetAddress("local:2"))
    yield runner
    runner.close()


@contextmanager
def another(
    address: str = "local:2", loss: HostLoss = "stop", store: Store | None = None
) -> Iterator[FleetRunner]:
    runner = FleetRunner(store, FleetAddress(address, on_host_loss=loss))
    try:
        yield runner
    finally:
        runner.close()


def test_what_a_fleet_measured_is_the_sum_of_its_hosts(fleet: FleetRunner, tmp_path: Path) -> None:
    result = fleet.measure([*LOAD, f"{tmp_path}/{{host}}-{{index}}.dat"]).result
    jsonschema.validate(dict(result.raw), json.loads(SCHEMA.read_text()))
    hosts, parts = result.raw["hosts"], result.raw["parts"]
    assert [one["name"] for one in hosts] == ["local-1", "local-2"]
    assert [one["host"]["name"] for one in parts] == ["local-1", "local-2"]
    assert {one.name for one in tmp_path.iterdir()} == {"local-1-0.dat", "local-2-1.dat"}
    # One machine has one clock; whatever it seems to be ahead by is within what may be an error.
    assert all(abs(one["clock_offset_ns"]) <= one["clock_uncertainty_ns"] for one in hosts)
    began = [part["time_spans"][0]["began_unix_ns"] for part in parts]
    assert [one["start_skew_ns"] for one in hosts] == [one - min(began) for one in began]
    threads = result.raw["time_spans"][0]["threads"]
    assert [one["index"] for one in threads] == [0, 1]
    counted: Counter[int] = Counter()
    for thread in threads:
        for row in thread["targets"]:
            for way in ("read", "write"):
                found = row[way]["latency"]
                counted.update(
                    dict(zip(found["bucket_lower_ns"], found["bucket_counts"], strict=True))
                )
    latency = result.total.latency
    assert latency is not None
    assert latency.buckets == dict(sorted(counted.items()))
    assert "{host}-{index}.dat" in result.command_line


def test_a_run_of_a_fleet_that_an_event_ended_was_a_whole_one(
    fleet: FleetRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = dict(fleet.measure([*LOAD, f"{tmp_path}/{{host}}.dat"]).result.raw)
    assert fleet.run([*LOAD, f"{tmp_path}/{{host}}.dat"]).failure is None
    raw["time_spans"] = [{**raw["time_spans"][0], "outcome": "interrupted"}]
    events = {"stop": "enough"}
    profile = {**raw["request"]["profile"], "events": events}
    raw["request"] = {**raw["request"], "profile": profile}
    ended = Measured(7, fathom.Result.from_data(raw), None)
    monkeypatch.setattr(FleetRunner, "measure", lambda *_any, **_more: ended)
    found = fleet.run([*LOAD, "-ypenough", f"{tmp_path}/{{host}}.dat"])
    assert found.figures is None
    assert found.failure == "the event enough (-yp) ended it before its time"


def test_what_hosts_share_is_split_unless_it_may_overlap(
    fleet: FleetRunner, tmp_path: Path
) -> None:
    path = tmp_path / "shared.dat"
    fathom.run(["-c1M", "-b4K", "-W0", "-d1", "--stop-ios=1", str(path)])
    load = ["-b4K", "-r", "-L", "-W0", "-d2", str(path)]

    def ranges() -> list[tuple[int, int]]:
        targets = [
            part["request"]["profile"]["time_spans"][0]["targets"][0]
            for part in fleet.measure(load).result.raw["parts"]
        ]
        return [(one["base_bytes"], one["limit_bytes"]) for one in targets]

    assert ranges() == [(0, 1 << 19), (1 << 19, 1 << 20)]
    with pytest.raises(fathom.RefusedError, match="mean one file"):
        fleet.measure(["-w50", *load])


@pytest.mark.parametrize("word", ["--protect=/srv", "--strict", "--credentials=/root/c"])
def test_what_would_not_reach_the_hosts_of_a_fleet_is_refused_and_not_dropped(
    fleet: FleetRunner, tmp_path: Path, word: str
) -> None:
    with pytest.raises(fathom.InvalidRequestError, match=f"^{word.partition('=')[0]} does not rea"):
        fleet.run([*LOAD, word, f"{tmp_path}/{{host}}.dat"])
    assert not [*tmp_path.iterdir()]


def test_what_one_host_refuses_no_host_writes(fleet: FleetRunner, tmp_path: Path) -> None:
    theirs = b"Ada's thesis\n" * 999
    (tmp_path / "local-2.dat").write_bytes(theirs)
    target = f"{tmp_path}/{{host}}.dat"
    with pytest.raises(fathom.RefusedError) as refusal:
        fleet.measure([*LOAD, target])
    assert "host 'local-2'" in str(refusal.value)
    assert "no host has written anything" in str(refusal.value)
    assert [one.name for one in tmp_path.iterdir()] == ["local-2.dat"]
    assert (tmp_path / "local-2.dat").read_bytes() == theirs
    # What a person allows holds for all hosts, and only for the runs that it was typed for.
    allowed = fleet.permitted(Permission(overwrite=True))
    assert allowed.measure([*LOAD, target]).error is None


def _sends(signals: dict[str, int], fleet: FleetRunner) -> Callable[[str, dict[str, Any]], None]:
    """Return what sends signals to measuring processes once the load has begun."""

    def on_event(name: str, _fields: dict[str, Any]) -> None:
        if name == "live":
            pids = fleet.measuring_pids()
            while signals:
                host, number = signals.popitem()
                os.kill(pids[host], number)

    return on_event


def test_lost_hosts_end_the_run_and_what_the_others_measured_is_kept(tmp_path: Path) -> None:
    target = f"{tmp_path}/{{host}}.dat"
    with Store(tmp_path / "store.sqlite") as store, another("local:3", store=store) as fleet:
        signals: dict[str, int] = {"local-2": signal.SIGKILL, "local-3": signal.SIGSTOP}
        told = fleet.telling(_sends(signals, fleet)).measure([*LONG, target])
        assert told.failure is not None
        assert "host 'local-2' was lost: its measuring process ended" in told.failure
        assert "host 'local-3' was lost: its measuring process has not answered" in told.failure
        assert told.run_id is not None
        kept = store.runs.get(told.run_id).result
        assert [one["lost"] is None for one in kept.raw["hosts"]] == [True, False, False]
        assert kept.total.ios > 0
        assert not kept.time_spans[0].complete
        # The next run has all hosts again.
        again = fleet.measure([*LOAD, target])
        assert again.error is None
        assert all(one["lost"] is None for one in again.result.raw["hosts"])
        pids = fleet.measuring_pids()
    assert all(pids.values())
    for pid in pids.values():
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.parametrize("name", ["shared.dat", "{host}.dat"])
def test_ctrl_c_while_a_file_is_filled_was_waited_out_for_ever_or_told_as_a_clock(
    tmp_path: Path, name: str
) -> None:
    # The second host of a shared file was let make it after the run was ended, and was then told
    # neither to begin nor to end.
    sent: list[float] = []

    def on_event(event: str, _fields: dict[str, Any]) -> None:
        if event == "filling" and not sent:
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

    load = ["-c2G", "-b4K", "-W0", "-d600", f"{tmp_path}/{name}"]
    with Store(tmp_path / "store.sqlite") as store, another(store=store) as fleet:
        with pytest.raises(KeyboardInterrupt):
            fleet.telling(on_event).measure(load)
        assert sent
        assert store.runs.list() == []
    assert [one.name for one in tmp_path.glob("*.dat")] == []


def test_a_disk_that_is_full_for_one_host_was_told_as_a_clock(tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("a small file system needs root")
    # There is room for the file of either host, and not for both.
    small = tmp_path / "small"
    small.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=20M", "fathom", str(small)]
    subprocess.run(words, check=True)
    load = ["-c12M", "-b4K", "-W0", "-d1", f"{small}/{{host}}.dat"]
    try:
        with Store(tmp_path / "store.sqlite") as store, another(store=store) as fleet:
            with pytest.raises(fathom.FathomError, match=r"^host 'local-\d': .*not enough space"):
                fleet.measure(load)
            assert store.runs.list() == []
    finally:
        words = ["umount", str(small)]
        subprocess.run(words, check=True)


def test_who_follows_a_process_saw_nothing_of_a_fleet_but_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # fathom serve and --metrics-file had no figures while a fleet measured.
    followed = tmp_path / "events.jsonl"
    monkeypatch.setenv(ENVIRONMENT, str(followed))
    with another() as fleet:
        fleet.measure([*LOAD[:-1], "-d3", f"{tmp_path}/{{host}}.dat"])
    told = [json.loads(line) for line in followed.read_text().splitlines()]
    assert {"filling", "phase_started", "finished"} <= {one["event"] for one in told}
    sums = [one for one in told if one["event"] == "live"]
    assert sums
    for one in sums:
        each = [two for two in told if (two["event"], two.get("second")) ==
                ("host_live", one["second"])]  # fmt: skip
        assert {two["host"] for two in each} == {"local-1", "local-2"}
        assert one["ios"] == sum(two["ios"] for two in each)
        assert sum(one["latency_octaves"].values()) > 0


def test_a_run_may_go_on_without_a_host(tmp_path: Path) -> None:
    load = [*LOAD[:-1], "-d3", "--engine=null", f"{tmp_path}/{{host}}.dat"]
    with another(loss="continue") as fleet:
        signals: dict[str, int] = {"local-2": signal.SIGKILL}
        told = fleet.telling(_sends(signals, fleet)).measure(load)
    assert told.error is None
    assert told.result.time_spans[0].complete
    assert "its measuring process ended" in told.result.raw["hosts"][1]["lost"]


def test_a_loss_that_was_seen_only_at_the_end_was_none(tmp_path: Path) -> None:
    """The rate of one host of two was that of the fleet, with exit code 0, and won a sweep."""
    load = [*LOAD[:-1], "-d2", "--engine=null", f"{tmp_path}/{{host}}.dat"]
    with another() as fleet:
        signals: dict[str, int] = {"local-2": signal.SIGSTOP}
        told = fleet.telling(_sends(signals, fleet)).measure(load)
    assert told.result.time_spans[0].complete
    assert "host 'local-2' was lost: its measuring process has not answered" in str(told.failure)


def test_a_host_that_is_lost_before_it_is_to_prepare_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The others measured to the end of the run, which waited for nobody's loss any longer.
    looked = HostLink.look_at_clock

    async def unheard(host: HostLink) -> ClockOffset:
        if host.is_taken and host.name == "local-2":
            raise NoAnswerError("no answer within 3 s")
        return await looked(host)

    target = f"{tmp_path}/{{host}}.dat"
    with another() as fleet:
        monkeypatch.setattr(HostLink, "look_at_clock", unheard)
        with pytest.raises(fathom.FathomError, match="host 'local-2' was lost: no answer"):
            fleet.measure([*LONG, target])
    with another(loss="continue") as fleet:
        told = fleet.measure([*LOAD, target])
        assert [one["lost"] is None for one in told.result.raw["hosts"]] == [True, False]
        assert told.result.total.ios > 0


def test_hosts_on_one_slow_server_are_told_that_it_is_the_limit(
    fleet: FleetRunner, tmp_path: Path
) -> None:
    if shutil.which("nbdkit") is None:
        pytest.skip("there is no nbdkit")
    place = tmp_path / "socket"
    words = ["nbdkit", "--foreground", "--exit-with-parent", "--filter=rate", "--unix", str(place)]
    words += ["memory", "16M", "rate=4M", "burstiness=2", f"rate-file={tmp_path}/rate"]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL) as server:
        try:
            while not place.exists():
                assert server.poll() is None
                time.sleep(0.01)
            address = f"nbd+unix:///?socket={place}"
            # What the server has saved up is gone after the warm-up; what it saves while a host
            # waits for a CPU is had behind it.
            load = ["-b4K", "-r", "-o4", "-W1", "-d2", address]
            results = undisturbed(
                lambda: [fleet.of_first(hosts).measure(load).result for hosts in (1, 2)],
                HOST_IN_THE_WAY | STALLED,
            )
            # What is there is read before it is written, which would take its time.
            (tmp_path / "rate").write_text("4G")
            with pytest.raises(fathom.RefusedError, match="mean one block device"):
                fleet.measure(["-w100", *load])
        finally:
            server.terminate()
    ranges = [part["request"]["profile"]["time_spans"][0]["targets"][0] for part in
              results[1].raw["parts"]]  # fmt: skip
    assert [one["base_bytes"] for one in ranges] == [0, 8 << 20]
    (told,) = [one for one in find(results, [1, 2]) if one.rule == "shared-limit"]
    assert f"The server that the hosts share, {address}," in told.remedy


def test_the_verbs_measure_with_a_fleet(tmp_path: Path) -> None:
    store = f"--store={tmp_path}/store.sqlite"
    target = f"{tmp_path}/{{host}}.dat"
    load = ["-c1M", target]
    done = command("run", "--fleet", "local:2", store, "-b4K", "-W0", "-d1", *load)
    assert done.returncode == 0, done.stderr
    assert "Saved as run 1" in done.stdout
    done = command("sweep", "--fleet", "local:2", store, "--block", "4K,8K", "--duration", "1s",
                   "--warm-up", "0", *load)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "2 cells: 2 measured" in done.stdout
    assert "Rates are those of the 2 hosts of the fleet together" in done.stdout
    with Store(tmp_path / "store.sqlite") as opened:
        runs = [opened.runs.get(number).result.raw for number in (1, 2, 3)]
        assert all(len(one["hosts"]) == 2 for one in runs)
        assert opened.experiments.get(1).plan["runner"] == "fleet:local:2"
    done = command("show", "1", store)
    assert done.returncode == 0
    assert "local-1" in done.stdout
    done = command("run", "--dry-run", "--fleet", "local:2", store, "-b4K", "-d1", "-w9", *load)
    assert "1 run on 2 hosts, about 0:06" in done.stdout
    assert done.stdout.count("written and read") == 2


def test_each_host_fills_a_file_of_its_own_and_what_they_share_is_made_once(
    tmp_path: Path,
) -> None:
    fill = ("prepare", "fill", "--fleet", "local:2", f"--store={tmp_path}/s.sqlite")
    for fate in ("made", "kept, as it is complete"):
        done = command(*fill, "--size", "8M", f"{tmp_path}/{{host}}.dat")
        assert done.returncode == 0, done.stderr
        assert f"local-2: {tmp_path}/local-2.dat: 8 MiB, {fate}" in done.stdout
    assert look(tmp_path / "local-1.dat").reads_measure_device == "yes"
    done = command(*fill, "--json", "--size", "4M", f"{tmp_path}/shared.dat")
    (file,) = json.loads(done.stdout)["files"]
    assert (file["hosts"], file["written_bytes"]) == (["local-1", "local-2"], 4 << 20)
    # One that has data of somebody is left alone, and so are the files of all other hosts.
    theirs = tmp_path / "new-local-2.dat"
    theirs.write_text("Ada's thesis\n")
    done = command(*fill, "--size", "8M", f"{tmp_path}/new-{{host}}.dat")
    assert (done.returncode, theirs.read_text()) == (2, "Ada's thesis\n")
    assert "no host has written anything" in done.stderr
    assert not (tmp_path / "new-local-1.dat").exists()
    for wrong in (["x.dat"], ["--size", "1M", "--only-missing", "x.dat"], ["--resume", "last"]):
        assert command(*fill, *wrong).returncode == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--fleet", "local:2", "--stop-ios=9"], "give a duration"),
        (["--fleet", "local:2", "--runner", "fio"], "leave out one of both"),
        (["--fleet", "a:1"], "--tls DIR"),
        (["--fleet", "127.0.0.1:1", "--tls", "."], "fathom fleet certificates"),
        (["--fleet", "local:2", "--hosts", "x"], "'x' is not in the fleet"),
        (["--fleet", "local:2", "--hosts", ""], "leave --hosts out for all"),
        (["--fleet", "local:2", "--hosts", "local-1,"], "leave --hosts out for all"),
        (["--hosts", "x"], "belongs to a fleet"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_made(
    tmp_path: Path, arguments: list[str], words: str
) -> None:
    target = tmp_path / "x.dat"
    done = command("run", *arguments, f"--store={tmp_path}/s", "-c1M", "-d1", target)
    assert done.returncode in (1, 3), done.stderr
    assert words in done.stderr
    assert not target.exists()


def test_a_start_that_came_as_the_run_ended_ended_the_process_that_measures() -> None:
    """Its result was the answer, and the host counted as lost."""
    handle = RunHandle(["--engine=null", "-c1M", "-d1", "-W0", "x"])
    handle.start()
    handle.result()
    measuring = Measuring(io.StringIO())
    measuring._handle = handle
    asked = ({"do": "start", "at_unix_ns": 1}, {"do": "renew"}, {"do": "stop", "reason": ""})
    measuring.serve(io.StringIO("".join(f"{json.dumps(one)}\n" for one in asked)))


def test_a_coordinator_that_was_started_again_ended_the_runs_that_it_does_not_know() -> None:
    """Dask closes a host of which its coordinator knows nothing; what ran there ended with it."""

    async def closed() -> tuple[bool, str | None]:
        async with (
            Coordinator(protocol="inproc://") as coordinator,
            Member(coordinator.address, name="a", protocol="inproc://") as member,
        ):
            host = HostLink("a", member.address, {})
            await host.begin("session", "somebody")
            closing = asyncio.create_task(member.close(reason="worker-heartbeat-missing"))
            done, _ = await asyncio.wait({closing}, timeout=1.5)
            lost = host.lost
            await host.end()
            await closing
            return bool(done), lost

    assert asyncio.run(closed()) == (False, None)

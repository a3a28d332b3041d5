"""How many databases a machine carries: private clusters, sums, what ended it, and nothing left."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from commands import command
from fathom.databases.account import account_for
from fathom.databases.folder import end_left, processes_in
from fathom.databases.pgbench import DatabaseFigures, PgbenchError, read_pgbench
from fathom.databases.postgresql import find_binaries
from fathom.errors import InvalidRequestError, RefusedError
from fathom.experiments.density.experiment import Counter, resume_density, run_density
from fathom.experiments.density.outcome import Measured, jain, sentences_of
from fathom.experiments.density.plan import DensityPlan, plan_density
from fathom.experiments.session import Observation, answered
from fathom.host import Limit, limit_between, read_counters
from fathom.report import gather, html_page
from fathom.runners import RunOutcome
from fathom.store import Store
from reported import figures

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conftest import Server
    from fathom.experiments.session import Step

PLAN = DensityPlan("/nowhere", (1, 2, 4), 10)
SMALL = ("--scale", "1", "--clients", "1", "--time", "1s")
REPORT = """pgbench (15.18 (Debian))
progress: 1.0 s, 3312.9 tps, lat 0.301 ms stddev 0.520, 0 failed
transaction type: <builtin: select only>
number of transactions actually processed: 6622
number of failed transactions: 3 (0.045%)
latency average = 0.302 ms
latency stddev = 0.522 ms
initial connection time = 4.201 ms
tps = 3311.528391 (without initial connection time)
"""


def _lacks_postgresql() -> str | None:
    try:
        find_binaries()
        account_for()
    except InvalidRequestError as error:
        return str(error)
    return None


LACKS = _lacks_postgresql()
needs_postgresql = pytest.mark.skipif(LACKS is not None, reason=LACKS or "")


@pytest.fixture
def place() -> Iterator[Path]:
    """Return a folder that other accounts can enter, as those of pytest are not."""
    with tempfile.TemporaryDirectory(prefix="fathom-many-", dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


# What was at its limit, on machines made of files.


def machine(root: Path, files: dict[str, str]) -> Path:
    always = {
        "proc/self/cgroup": "0::/lab\n",
        "proc/self/mountinfo": "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
    }
    for name, text in {**always, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def stat(busy: int, idle: int, waiting: int = 0) -> str:
    line = f"{busy} 0 0 {idle} {waiting} 0 0 0 0 0"
    return f"cpu  {line}\ncpu0 {line}\ncpu1 999999 0 0 9 9 0 0 0 0 0\n"


def disk(read_bytes: int, busy_ms: int) -> str:
    return f"   8       0 sda 10 0 {read_bytes // 512} 5 10 0 0 5 0 {busy_ms} 5\n"


GROUP = "sys/fs/cgroup/lab"
MIB = 1 << 20
LIMITS = {
    "a quota": (
        "CPU",
        "quota of control group /lab",
        {f"{GROUP}/cpu.stat": "nr_periods 10\nnr_throttled 1\n", "proc/stat": stat(0, 100)},
        {f"{GROUP}/cpu.stat": "nr_periods 110\nnr_throttled 81\n", "proc/stat": stat(40, 160)},
    ),
    "all CPUs": (
        "CPU",
        "95% busy",
        {"proc/stat": stat(0, 0)},
        {"proc/stat": stat(950, 50), "proc/diskstats": disk(0, 10)},
    ),
    "a limit of memory, where the device is busy, too": (
        "memory",
        "met its memory limit of 64 MiB 500 times",
        {
            f"{GROUP}/memory.max": f"{64 * MIB}\n",
            f"{GROUP}/memory.events": "max 0\n",
            f"{GROUP}/memory.stat": "workingset_refault_file 0\n",
            "proc/diskstats": disk(0, 0),
        },
        {
            f"{GROUP}/memory.events": "max 500\n",
            f"{GROUP}/memory.stat": f"workingset_refault_file {900 * MIB // 4096}\n",
            "proc/diskstats": disk(1000 * MIB, 9900),
            "proc/stat": stat(100, 100, 800),
        },
    ),
    "all of memory": (
        "memory",
        "memory was full",
        {"proc/vmstat": "workingset_refault_file 7\npswpin 0\n"},
        {"proc/vmstat": f"workingset_refault_file 7\npswpin {90 * MIB // 4096}\n"},
    ),
    "pressure of memory": (
        "memory",
        "waited for memory",
        {"proc/pressure/memory": "some avg10=0.00 total=0\nfull avg10=0.00 total=0\n"},
        {"proc/pressure/memory": "some avg10=9.00 total=4000000\nfull avg10=0.00 total=0\n"},
    ),
    "a limit of I/O, where the CPUs are busy with others": (
        "device",
        "of the 200 writes/s that control group /lab allows on sda",
        {f"{GROUP}/io.max": "8:0 rbps=max wiops=200\n", f"{GROUP}/io.stat": "8:0 wios=50\n"},
        {
            f"{GROUP}/io.stat": "8:0 rbytes=7 wios=1990\n",
            "proc/diskstats": disk(0, 10),
            "proc/stat": stat(990, 10),
        },
    ),
    "a device": ("device", "sda had I/O for 97%", {}, {"proc/diskstats": disk(0, 9700)}),
    "waiting": ("device", "because of I/O", {}, {"proc/stat": stat(200, 300, 500)}),
    "nothing": ("none", "20% busy", {}, {"proc/stat": stat(200, 800), "proc/vmstat": "x y z\n"}),
}


@pytest.mark.parametrize("name", LIMITS)
def test_what_is_at_its_limit_is_told_by_the_counters(name: str, tmp_path: Path) -> None:
    resource, words, then, later = LIMITS[name]
    start = {"proc/stat": stat(0, 0), "proc/diskstats": disk(0, 0)}
    root = machine(tmp_path, {**start, **then})
    before = replace(read_counters(root, frozenset({0})), at_s=0.0)
    after = replace(read_counters(machine(root, later), frozenset({0})), at_s=10.0)
    found = limit_between(before, after)
    assert (found.resource, words in found.evidence) == (resource, True), found


def test_what_others_used_of_the_cpus_is_told(tmp_path: Path) -> None:
    before = replace(
        read_counters(machine(tmp_path, {"proc/stat": stat(0, 0)}), frozenset({0})), at_s=0.0
    )
    after = replace(
        read_counters(machine(tmp_path, {"proc/stat": stat(900, 100)}), frozenset({0})), at_s=10.0
    )
    assert limit_between(before, after, own_cpu_s=3.0).others_percent == pytest.approx(60)


# The strategy, without a database.


def step_of(rates: list[float], resource: str = "none") -> Observation:
    databases = [DatabaseFigures(f"db{at}", rate, 1000 / rate) for at, rate in enumerate(rates, 1)]
    limit = Limit(resource, "so it was", 50.0)  # type: ignore[arg-type]
    return Observation(more=Measured(tuple(databases), limit))


def counted(rates: dict[int, list[float]], resource: str = "none") -> Counter:
    counter = Counter(PLAN)

    def answer(step: Step) -> Observation:
        count = int(step.arguments[0].removeprefix("databases="))
        return step_of(rates[count], resource) if count in rates else Observation(failure="no room")

    counter.failure = answered(counter.strategy(), answer)  # type: ignore[attr-defined]
    return counter


def test_sums_are_held_against_that_many_times_one() -> None:
    found = counted({1: [100.0], 2: [100.0, 95.0], 4: [60.0, 50.0, 40.0, 30.0]}, "CPU")
    assert [one.per_s for one in found.steps] == [100, 195, 180]
    assert [one.linear_share for one in found.steps] == [1, 0.975, 0.45]
    # Of each transaction, and not of each database: 4 of them take 1 s of clients' time per second.
    assert found.steps[2].latency_mean_ms == pytest.approx(4000 / 180)
    assert found.steps[2].latency_worst_ms == pytest.approx(1000 / 30)
    headline, end, shares = sentences_of(PLAN, found.steps)
    assert headline == "4 databases carried 180 TPS together: 45% of 4 times the 100 TPS of one."
    assert "linear up to 2" in end
    assert "no more at 4. What ended it: CPU; so it was." in end
    assert "30 to 60 TPS each, a fairness (Jain) of 0.942" in shares


def test_fairness_is_jain_s_index() -> None:
    assert jain([5.0] * 7) == pytest.approx(1)
    assert jain([1.0, 0.0, 0.0, 0.0]) == pytest.approx(1 / 4)
    assert jain([0.0, 0.0]) == 1


def test_a_step_that_fails_ends_it_with_what_was_measured() -> None:
    found = counted({1: [100.0]})
    assert len(found.steps) == 1
    assert found.failure == "2 databases: no room"  # type: ignore[attr-defined]
    assert sentences_of(PLAN, found.steps, "no room")[-1] == "It ended early: no room."


class Answers:
    """A runner whose databases do this much; a number of them that is not there fails."""

    def __init__(self, rates: dict[int, list[float]]) -> None:
        """Answer with these."""
        self.rates = rates
        self.ran: list[int] = []

    def clock(self) -> float:
        """Return seconds."""
        return time.monotonic()

    def run(self, arguments: Sequence[str], **_more: object) -> RunOutcome:
        """Answer."""
        count = int(arguments[0].removeprefix("databases="))
        self.ran.append(count)
        if count not in self.rates:
            raise PgbenchError("no room")
        return RunOutcome(None, None, None, more=step_of(self.rates[count]).more)


def test_what_ended_early_goes_on_with_what_is_left(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        first = run_density(store, Answers({1: [100.0]}), PLAN)
        assert (first.failure, len(first.steps)) == ("2 databases: no room", 1)
        later = Answers({1: [7.0], 2: [90.0, 90.0], 4: [50.0] * 4})
        found = resume_density(store, later, PLAN, first.experiment_id)
        assert later.ran == [2, 4]
        assert [one.per_s for one in found.steps] == [100, 180, 200]
        assert [one.linear_share for one in found.steps] == [1, 0.9, 0.5]
        assert found.steps[0] == first.steps[0]
        assert found.failure is None
        kept = store.experiments.get(first.experiment_id)
        assert (kept.state, [one.state for one in kept.steps]) == ("complete", ["done"] * 3)
        with pytest.raises(InvalidRequestError, match="e1 is complete"):
            resume_density(store, later, PLAN, first.experiment_id)


def test_reports_of_pgbench_are_read_of_all_versions() -> None:
    found = read_pgbench("db1", REPORT)
    assert found == DatabaseFigures("db1", 3311.528391, 0.302, 0.522, 6622, 3)
    before_14 = REPORT[: REPORT.index("tps =")] + (
        "tps = 10.5 (including connections establishing)\n"
        "tps = 12.5 (excluding connections establishing)\n"
    )
    assert read_pgbench("db1", before_14).per_s == 12.5
    with pytest.raises(PgbenchError, match="db1: pgbench printed no report, but: fatal"):
        read_pgbench("db1", "pgbench: error\nfatal: no such thing\n")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--databases", "0..4"), "range rises"),
        (("--databases", "9..2"), "range rises"),
        (("--databases", "2000"), "from 1 to 1,000"),
        (("--load", "drop-all"), "--load is select-only"),
        (("--load", "tpcb-like", "--scale", "2", "--clients", "4"), "wait for each other"),
        (("--account", "root"), "refuses to run as root"),
        (("--account", "no-such-account"), "there is no account"),
        (("--size", "1G"), "--size needs --synthetic"),
        (("--synthetic", "sql-log", "--clients", "7"), "--clients is of databases"),
        (("--synthetic", "no-such-load"), "no-such-load"),
        (("--synthetic", "crystaldiskmark"), "name one load"),
        (("--synthetic", "sql-log", "--size", "500T", "--databases", "900"), "free"),
        (("--time", "0s"), "at least 1s"),
        (("--resume", "last", "--scale", "3"), "resumed as it was planned"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_made(
    words: tuple[str, ...], why: str, tmp_path: Path
) -> None:
    done = command("density", "--dry-run", *words, tmp_path / "new")
    assert (done.returncode, why in done.stderr) == (3, True), done.stderr
    assert not (tmp_path / "new").exists()


def test_a_file_is_no_place_for_databases(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidRequestError, match="is not a folder"):
        plan_density(replace(PLAN, folder=str(tmp_path / "file"), kind="files", workload="sql-log"))


# Files in place of databases, through the engine.


def test_files_take_the_place_of_databases(tmp_path: Path) -> None:
    workloads = tmp_path / "workloads"
    workloads.mkdir()
    (workloads / "small.toml").write_text(
        'title = "x"\nreason = "x"\nsources = ["x"]\nleft_out = ["x"]\nsize = "1M"\n'
        'arguments = ["-b4K", "-r", "-t1", "-o2", "-W0", "-d9", "-w50", "-L"]\n'
    )
    more = {"FATHOM_WORKLOADS": str(workloads), "FATHOM_STORE": str(tmp_path / "s.sqlite")}
    words = ("--synthetic", "small", "--databases", "1..2", "--time", "1s", "--json")
    done = command("density", *words, tmp_path / "new", environment=more)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert not (tmp_path / "new").exists()
    assert [len(one["members"]) for one in found["steps"]] == [1, 2]
    with Store(tmp_path / "s.sqlite") as store:
        for step in found["steps"]:
            run = store.runs.get(step["run_id"])
            assert step["per_s"] == pytest.approx(run.result.time_spans[0].total.iops)
            assert step["per_s"] == pytest.approx(sum(one["per_s"] for one in step["members"]))
        # Nothing but the steps was saved: files are made before.
        assert len(store.runs.list()) == 2
        material = gather(store, ["e1"])
    page = html_page(material)
    assert "files carried" in page
    rows = figures(material)["density"].table.rows
    assert [row[0] for row in rows] == [1, 2]
    assert rows[1][1] == pytest.approx(found["steps"][1]["per_s"])


# Real clusters.


class _Group:
    """A control group of the test, which has a limit once it is requested."""

    def __init__(self, controller: str, old: dict[str, str], new: dict[str, str]) -> None:
        """Make one, of either version; without root or the controller there is none."""
        self.folder: Path | None = None
        for base, limits in ((f"/sys/fs/cgroup/{controller}", old), ("/sys/fs/cgroup", new)):
            group = Path(base) / f"fathom-test-{os.getpid()}"
            with suppress(OSError):
                group.mkdir()
                if all((group / name).exists() for name in limits):
                    self.folder, self._limits = group, limits
                    return
                group.rmdir()

    def limit(self) -> None:
        """Limit it from now on."""
        if self.folder is not None:
            for name, text in self._limits.items():
                (self.folder / name).write_text(text)

    def joining(self) -> str:
        """Return Python that has its process join it."""
        if self.folder is None:
            return ""
        place = str(self.folder / "cgroup.procs")
        return f"import os; open({place!r}, 'w').write(str(os.getpid()))"

    def close(self) -> None:
        """Remove it, once all in it have ended."""
        until = time.monotonic() + 10
        while self.folder is not None and self.folder.exists():
            assert time.monotonic() < until, "processes are left in the control group"
            with suppress(OSError):
                self.folder.rmdir()
            time.sleep(0.02)


@pytest.fixture
def half_a_cpu() -> Iterator[_Group]:
    old = {"cpu.cfs_period_us": "20000", "cpu.cfs_quota_us": "10000"}
    made = _Group("cpu", old, {"cpu.max": "10000 20000"})
    yield made
    made.close()


class _Running:
    """A command of ``density`` under way, in a process that can be killed."""

    def __init__(self, *words: str | Path, place: Path, before: str = "", store: str = "") -> None:
        self._place = place
        self.code = 0
        self.out = self.err = ""

        def run() -> None:
            more = {"FATHOM_STORE": store} if store else {}
            done = command("density", *words, place, before=before, environment=more)
            self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

        self._thread = Thread(target=run)
        self._thread.start()

    def pid(self) -> int:
        """Return its process, which stands in the mark of its folder."""
        (mark,) = self._place.glob("*/made-by.json")
        return int(json.loads(mark.read_text())["maker"]["pid"])

    def wait_for(self, program: str, word: str) -> None:
        """Return once such a program works in its folder with this word."""
        until = time.monotonic() + 60
        while not any(_runs(pid, program, word) for pid in processes_in(self._place)):
            assert self._thread.is_alive(), self.err
            assert time.monotonic() < until
            time.sleep(0.02)

    def end(self) -> int:
        """Return its exit code, once it has ended."""
        self._thread.join(60)
        assert not self._thread.is_alive()
        return self.code


def _runs(pid: int, program: str, word: str) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return words[0].endswith(f"/{program}".encode()) and word.encode() in words


# Before a command: what pgbench prints stands in a file, too.
PRINTED = """
import fathom.databases.postgresql as module
def kept(name, text, read=module.read_pgbench):
    open({place!r}, "a").write(text)
    return read(name, text)
module.read_pgbench = kept
"""


@needs_postgresql
def test_private_clusters_are_measured_with_pgbench_s_own_figures_and_others_left_alone(
    server: Server, place: Path, half_a_cpu: _Group, tmp_path: Path
) -> None:
    own = (Path(server._folder) / "data/postmaster.pid").read_text()
    new, printed = place / ("a long name with spaces " * 6), tmp_path / "printed"
    before = PRINTED.format(place=str(printed)) + half_a_cpu.joining()
    words = (*SMALL, "--databases", "1..2", "--json", "--keep")
    running = _Running(*words, place=new, before=before)
    running.wait_for("pgbench", "-T")
    half_a_cpu.limit()
    assert running.end() == 0, running.err
    found = json.loads(running.out)
    assert [one["databases"] for one in found["steps"]] == [1, 2]
    told = printed.read_text()
    rates = [float(one) for one in re.findall(r"^tps = ([\d.]+)", told, re.MULTILINE)]
    sums = [rates[0], rates[1] + rates[2]]
    assert [one["per_s"] for one in found["steps"]] == pytest.approx(sums)
    assert found["steps"][1]["linear_share"] == pytest.approx(sums[1] / sums[0] / 2)
    counts = re.findall(r"actually processed: (\d+)", told)
    members = [one for step in found["steps"] for one in step["members"]]
    assert [str(one["count"]) for one in members] == counts
    assert all(one["count"] and not one["failed"] for one in members)
    if half_a_cpu.folder is not None:
        # Where others leave less of the CPUs than the quota, these are the limit themselves.
        assert found["steps"][1]["limit"]["resource"] == "CPU", found["steps"][1]["limit"]
    (kept,) = new.iterdir()
    assert sorted(one.name for one in kept.glob("db*")) == ["db1", "db2"]
    assert processes_in(kept) == []
    assert (Path(server._folder) / "data/postmaster.pid").read_text() == own
    server.new_database()
    # What was kept on purpose is not what a killed command has left.
    end_left(new)
    assert kept.exists()


@needs_postgresql
def test_what_a_killed_command_left_is_ended_by_the_next_and_ctrl_c_leaves_nothing(
    place: Path, tmp_path: Path
) -> None:
    words = (*SMALL[:-1], "60s", "--databases", "1")
    store = str(tmp_path / "s.sqlite")
    first = _Running(*words, place=place, store=store)
    first.wait_for("pgbench", "-i")
    # A person's shell in the same folder is none of its processes.
    shell = subprocess.Popen(["/bin/sleep", "60"], cwd=next(place.iterdir()))
    try:
        with pytest.raises(RefusedError, match=f"process {first.pid()} measures databases"):
            end_left(place)
        os.kill(first.pid(), signal.SIGKILL)
        assert first.end() == -signal.SIGKILL
        assert len(processes_in(place)) > 5
        second = _Running(*words, place=place, store=store)
        second.wait_for("pgbench", "-T")
        assert shell.poll() is None
        assert len(list(place.iterdir())) == 1
        os.kill(second.pid(), signal.SIGINT)
        assert second.end() == 130
    finally:
        shell.kill()
        shell.wait()
    told = re.search(r"with (\d+) processes, which a command that was killed had left", second.err)
    assert told is not None, second.err
    assert int(told[1]) > 5
    assert list(place.iterdir()) == []
    assert processes_in(place) == []
    with Store(store) as opened:
        ended, killed = opened.experiments.list()
        assert (ended.state, killed.is_abandoned) == ("interrupted", True)


@needs_postgresql
@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs databases as another account")
def test_a_folder_that_the_account_cannot_enter_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    done = command("density", *SMALL, "--databases", "1", tmp_path / "new")
    assert (done.returncode, "may not enter" in done.stderr) == (3, True), done.stderr
    assert not (tmp_path / "new").exists()


# Limits of the device and of memory, which the test sets.


def disk_of(folder: Path) -> str | None:
    """Return the numbers of the whole disk beneath a folder; None if there is none to be seen."""
    number = folder.stat().st_dev
    place = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if (place / "partition").exists():
        place = place.resolve().parent
    return (place / "dev").read_text().strip() if (place / "dev").exists() else None


def limited(resource: str, place: Path) -> tuple[_Group, str]:
    """Return a group that limits a resource, and the arguments of a load that meets the limit."""
    if resource == "memory":
        old = {"memory.limit_in_bytes": str(64 * MIB)}
        words = '"-b64K", "-r", "-t1", "-o1", "-Sb"'
        return _Group("memory", old, {"memory.max": str(64 * MIB)}), words
    disk = disk_of(place)
    if disk is None:
        pytest.skip("no disk can be seen beneath /var/tmp")
    old = {"blkio.throttle.read_iops_device": f"{disk} 50"}
    new = {"io.max": f"{disk} riops=50"}
    return _Group("blkio", old, new), '"-b4K", "-r", "-t1", "-o4", "-Sh"'


def measured_step(folder: Path, group: _Group, workloads: Path) -> dict[str, Any]:
    """Return what one load measured within the limits of a group."""
    done = command(
        *("density", "--synthetic", "load", "--databases", "1", "--time", "1s", "--json"),
        folder,
        before=group.joining(),
        environment={"FATHOM_WORKLOADS": str(workloads)},
    )
    assert done.returncode == 0, done.stderr
    (step,) = json.loads(done.stdout)["steps"]
    return dict(step)


@pytest.mark.parametrize(
    ("resource", "words"), [("memory", "met its memory limit"), ("device", "of the 50 reads/s")]
)
def test_a_limit_of_the_control_group_is_what_ended_it(
    resource: str, words: str, place: Path, tmp_path: Path
) -> None:
    group, load = limited(resource, place)
    try:
        if group.folder is None:
            pytest.skip(f"no control group with a limit of the {resource} can be made here")
        group.limit()
        (tmp_path / "load.toml").write_text(
            'title = "x"\nreason = "x"\nsources = ["x"]\nleft_out = ["x"]\nsize = "96M"\n'
            f'arguments = [{load}, "-W0", "-d9", "-w0", "-L"]\n'
        )
        step = measured_step(place / "new", group, tmp_path)
        if step["limit"]["resource"] != resource or words not in step["limit"]["evidence"]:
            # Others used the disk more than all that was read again, or the CPUs until the end of
            # the load was seen late.
            step = measured_step(place / "again", group, tmp_path)
    finally:
        group.close()
    assert step["limit"]["resource"] == resource, step["limit"]
    assert words in step["limit"]["evidence"]

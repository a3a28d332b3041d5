"""The first Ctrl-C, SIGTERM or SIGHUP ends a command with what was measured, the second at once."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import commands
import fathom
import pytest
from fathom._signals import ending_in_good_order, held_back, let_through
from fathom.store import Store
from our_data import our_data
from support import begun, heard

# With the terminal (SIGHUP) went what was measured, and private databases stayed.
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
MIB = 1 << 20
LOAD = ["-b4K", "-r", "-o4", "-L", "-g2000i"]
# Loading the command is interrupted.
LOADING = """
import sys
class Interrupted:
    def find_spec(self, name, *_rest):
        if name == "fathom.cli":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
from fathom.__main__ import main
main()
"""
# A verb is interrupted where it says nothing of it.
SILENT = """
from fathom.__main__ import main
from fathom.store import Store
def interrupted(*_rest, **_more):
    raise KeyboardInterrupt
Store.__init__ = interrupted
main()
"""
# Of runs that come one after the other.
EACH = ["-d1", "-W0", "--stop-ios=300"]
# A command that says when its run has come to a phase; `filling` comes before the others.
TOLD = """
import sys
from contextlib import contextmanager
from fathom.cli.views.progress import live_progress as shown
@contextmanager
def told(*, quiet=False):
    def tell(name, fields):
        if name in ("filling", "phase_started", "live"):
            print("now", fields.get("phase", name), file=sys.stderr, flush=True)
    yield tell
for module in [*sys.modules.values()]:
    if getattr(module, "live_progress", None) is shown:
        module.live_progress = told
"""


@pytest.fixture
def target(tmp_path: Path) -> str:
    path = tmp_path / "x.dat"
    path.write_bytes(our_data(4 * MIB))
    return str(path)


def spawned(*args: str, before: str = TOLD) -> subprocess.Popen[str]:
    """Start ``fathom``."""
    pipe = subprocess.PIPE
    streams = {"stdin": subprocess.DEVNULL, "stdout": pipe, "stderr": pipe}
    return commands.started(*args, before=before, **streams)


def started(words: str, *args: str) -> subprocess.Popen[str]:
    """Start ``fathom``, and return once its error output has a line with these words."""
    return heard(spawned(*args), words)


def ended_by(number: signal.Signals, words: str, *args: str) -> tuple[int, str, str]:
    """Send a signal once a command has said something; return its code and its outputs."""
    with started(words, *args) as process:
        process.send_signal(number)
        shown, told = process.communicate(timeout=60)
        assert "Traceback" not in told, told
        return process.returncode, shown, told


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("phase", ["warm_up", "measured", "live", "cool_down"])
def test_a_run_ends_with_what_was_measured(target: str, number: signal.Signals, phase: str) -> None:
    times = {"warm_up": ["-W600", "-d1"], "cool_down": ["-W0", "-d1", "-C600"]}
    args = [*times.get(phase, ["-W0", "-d600"]), *LOAD, target]
    code, shown, told = ended_by(number, f"now {phase}", "run", *args)
    assert code == 130
    assert "interrupted" in told
    with Store(os.environ["FATHOM_STORE"]) as store:
        (run,) = store.runs.list()
        # Behind the measured time, nothing is missing.
        assert run.outcome == ("complete" if phase == "cool_down" else "interrupted")
        ios = store.runs.get(run.id).result.total.ios
        assert f"Saved as run {run.id} in {store.name}" in shown
    # What is before the measured time is not measured, and what is behind it is whole.
    if phase in ("live", "cool_down"):
        assert "IOPS" in shown
        assert ios > 500
    if phase == "warm_up":
        assert ios == 0


def test_a_run_that_still_makes_its_file_ends(tmp_path: Path) -> None:
    path = tmp_path / "new.dat"
    args = ["run", "-c1G", "-d600", "-W0", *LOAD, str(path)]
    code, _, told = ended_by(signal.SIGTERM, "now filling", *args)
    assert (code, "interrupted" in told or "ended by the user" in told) == (130, True)


EXPERIMENTS = {
    "sweep": (signal.SIGTERM, ["--depth", "1..64", "--longest", "1", "-b4K", "-r", "-L"]),
    "repeat": (signal.SIGTERM, ["--pilot", "40", "--most", "40", *EACH, *LOAD]),
    "tune": (signal.SIGTERM, ["--depth", "1..64", "--longest", "1", "-b4K", "-r"]),
    "compare": (signal.SIGINT, ["--run", "-o1", "-o2", *EACH, *LOAD[:2], *LOAD[3:]]),
    "assess": (signal.SIGTERM, ["--seconds", "30"]),
}


@pytest.mark.parametrize("verb", EXPERIMENTS)
def test_an_experiment_is_noted_as_interrupted_and_keeps_its_runs(target: str, verb: str) -> None:
    number, arguments = EXPERIMENTS[verb]
    with spawned(verb, *arguments, target) as process:
        wait_for_runs(process, 2)
        process.send_signal(number)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert "interrupted" in told
    assert "Traceback" not in told
    with Store(os.environ["FATHOM_STORE"]) as store:
        (experiment,) = store.experiments.list()
        runs = store.runs.list()
    assert experiment.state == "interrupted"
    assert len(runs) >= 2
    assert all(run.columns["ios"] for run in runs if run.outcome == "complete")


def wait_for_runs(process: subprocess.Popen[str], count: int) -> None:
    """Wait until the store has as many runs."""
    # To open it as a store is takes longer than to count, and takes the CPU from what is counted.
    address = f"file:{os.environ['FATHOM_STORE']}?mode=ro"
    while process.poll() is None:
        with suppress(sqlite3.OperationalError), closing(sqlite3.connect(address, uri=True)) as raw:
            if raw.execute("SELECT count(*) FROM runs").fetchone()[0] >= count:
                return
        time.sleep(0.05)
    raise AssertionError(process.communicate())


def test_preparation_is_noted_as_interrupted_and_goes_on(target: str, tmp_path: Path) -> None:
    args = ["prepare", "fill", str(tmp_path / "new.dat"), "--size", "3G"]
    with started("filling", *args) as process:
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert "go on with: fathom prepare fill --resume e1" in told
    with Store(os.environ["FATHOM_STORE"]) as store:
        assert store.experiments.get(1).state == "interrupted"
    assert Path(target).exists()


@pytest.mark.parametrize("number", SIGNALS)
def test_the_second_signal_ends_it_at_once(
    tmp_path: Path, target: str, number: signal.Signals
) -> None:
    # A store that is locked keeps the first one waiting: it wants to save what was measured.
    code = f"{TOLD}\n{commands.COMMAND[2]}"
    with begun(code, "now live", "run", "-W0", "-d600", *LOAD, target) as process:
        other = sqlite3.connect(os.environ["FATHOM_STORE"], isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        process.send_signal(number)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=1.5)
        process.send_signal(number)
        assert process.wait(timeout=20) == 130
        other.close()
    assert [one.name for one in tmp_path.glob("fathom-rescued*")] == []


def test_one_request_that_comes_twice_is_no_second_one(target: str) -> None:
    # As timeout(1) does, and a Ctrl-C beside a supervisor.
    with started("now live", "run", "-W0", "-d600", *LOAD, target) as process:
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    with Store(os.environ["FATHOM_STORE"]) as store:
        assert [run.outcome for run in store.runs.list()] == ["interrupted"]


def test_what_is_told_to_ignore_ctrl_c_ignores_it(target: str) -> None:
    code = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN){TOLD}"
    with spawned("run", "-W0", "-d3", *LOAD, target, before=code) as process:
        assert process.stderr is not None
        next(line for line in process.stderr if "now live" in line)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 0


def test_a_signal_waits_for_what_is_held_back_and_is_let_through_within() -> None:
    done: list[str] = []

    def save() -> None:
        with held_back():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("saved")

    def begin() -> None:
        with held_back():
            os.kill(os.getpid(), signal.SIGTERM)
            with let_through():
                done.append("begun")

    def fail() -> None:
        with held_back():
            os.kill(os.getpid(), signal.SIGTERM)
            raise ZeroDivisionError

    for what, leaves in ((save, ["saved"]), (begin, ["saved"])):
        with ending_in_good_order():
            with pytest.raises(KeyboardInterrupt):
                what()
            assert done == leaves
    with ending_in_good_order():
        # An error goes first; the wish to end stays.
        with pytest.raises(ZeroDivisionError):
            fail()
        with pytest.raises(KeyboardInterrupt):
            begin()


def test_signals_of_other_programs_are_theirs() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with ending_in_good_order():
        assert signal.getsignal(signal.SIGTERM) != before[1]
    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_ctrl_c_while_the_command_loads_was_a_traceback() -> None:
    loading = [sys.executable, "-c", LOADING, "--version"]
    done = subprocess.run(loading, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "error: ended by the user\n"


def test_ctrl_c_where_a_verb_says_nothing_of_it_was_silent() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SILENT, "list"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "error: ended by the user\n"


def test_python_runs_the_command_by_the_name_of_its_package() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fathom", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"fathom {fathom.__version__}\n"

"""A run that was measured is not lost, whatever has happened to the store meanwhile."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

import fathom
import pytest
import sqlalchemy as sa
from commands import COMMAND
from fathom.experiments.assess import EFFORTS, assess
from fathom.experiments.axes import parse_axes
from fathom.experiments.sweep.experiment import sweep
from fathom.experiments.sweep.plan import plan_sweep
from fathom.experiments.tune.experiment import plan_tune, tune
from fathom.runners.measure import measure
from fathom.store import NotSavedError, Store, StoreError
from fathom.store.where import store_url
from simulated_storage import SimulatedStorage

if TYPE_CHECKING:
    from collections.abc import Callable

    from fathom.runners.runner import PermittedRunner

FEW = ["-b4K", "-r", "-o4", "-L", "-d5", "-W0", "--stop-ios=500"]
MIB = 1 << 20


@pytest.fixture
def target(tmp_path: Path) -> str:
    path = tmp_path / "x.dat"
    path.write_bytes(os.urandom(MIB))
    return str(path)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder in which the test is."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def removed(path: Path, _stack: ExitStack) -> None:
    path.unlink()


def replaced(path: Path, _stack: ExitStack) -> None:
    with Store(path.with_name("other.sqlite")):
        pass
    path.with_name("other.sqlite").rename(path)


def damaged(path: Path, _stack: ExitStack) -> None:
    # All but the first pages, which were read when the store was opened.
    content = bytearray(path.read_bytes())
    content[8 * 4096 :] = b"\xa5" * (len(content) - 8 * 4096)
    path.write_bytes(content)


def of_other_tables(path: Path, _stack: ExitStack) -> None:
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("ALTER TABLE runs RENAME TO runs_of_a_later_version")


def locked(path: Path, stack: ExitStack) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    stack.callback(other.close)
    other.execute("BEGIN IMMEDIATE")


FAULTS: dict[str, tuple[Callable[[Path, ExitStack], None], str]] = {
    "removed": (removed, "was removed or replaced while it was in use"),
    "replaced": (replaced, "was removed or replaced while it was in use"),
    "damaged": (damaged, "is damaged"),
    "of other tables": (of_other_tables, "cannot be used: no such table"),
    "locked": (locked, "locked for 0.3 s"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_run_that_cannot_be_saved_is_kept_in_a_file(
    tmp_path: Path, here: Path, target: str, fault: str
) -> None:
    path = tmp_path / "store.sqlite"
    Store(path).close()
    shown: list[fathom.Result] = []
    break_it, words = FAULTS[fault]
    with ExitStack() as stack, Store(path, wait_s=0.3) as store:
        break_it(path, stack)
        with pytest.raises(NotSavedError, match=words) as caught:
            measure(store, [*FEW, target], label="night / shift", show=shown.append)
    rescue = caught.value.rescue
    assert rescue is not None
    assert [*here.iterdir()] == [rescue]
    assert rescue.name.endswith("night-shift.json")
    assert fathom.Result.from_json(rescue.read_text()).raw == shown[0].raw
    assert shown[0].total.ios == 500
    # The file is one of a result, which has no label: what is to be typed kept losing it.
    assert f"fathom import {rescue} --label='night / shift'" in str(caught.value)


def test_what_was_kept_in_a_file_is_imported_as_the_message_says(
    tmp_path: Path, here: Path, target: str
) -> None:
    path = tmp_path / "store.sqlite"
    with Store(path) as store:
        path.unlink()
        with pytest.raises(NotSavedError) as caught:
            measure(store, [*FEW, target])
    assert caught.value.rescue is not None
    done = subprocess.run(
        [*COMMAND, "import", str(caught.value.rescue), "--store", str(path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=here,
    )
    assert done.returncode == 0, done.stderr
    with Store(path) as store:
        (run,) = store.runs.list()
        assert (run.columns["ios"], run.columns["block_bytes"]) == (500, 4096)


def test_a_run_that_a_locked_server_does_not_take_is_kept_in_a_file(
    server: object, here: Path, target: str
) -> None:
    address = server.new_database()  # type: ignore[attr-defined]
    with Store(address, wait_s=0.3) as store:
        engine = sa.create_engine(store_url(address))
        with engine.connect() as connection:
            connection.exec_driver_sql("LOCK TABLE runs IN ACCESS EXCLUSIVE MODE")
            with pytest.raises(NotSavedError, match=r"locked for 0\.3 s"):
                measure(store, [*FEW, target])
        engine.dispose()
        (rescue,) = here.iterdir()
        assert fathom.Result.from_json(rescue.read_text()).total.ios == 500
        assert measure(store, [*FEW, target]).run_id == 1


def test_a_server_that_takes_nothing_is_told_before_anything_is_measured(server: object) -> None:
    address = server.new_database()  # type: ignore[attr-defined]
    Store(address).close()
    engine = sa.create_engine(store_url(address), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        name = connection.exec_driver_sql("SELECT current_database()").scalar_one()
        connection.exec_driver_sql(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    engine.dispose()
    with Store(address) as store, pytest.raises(StoreError, match="can only be read"):
        store.check_writable()


def run_sweep(store: Store, runner: PermittedRunner) -> None:
    plan, _ = plan_sweep(["-b4K", "-r", "x.dat"], parse_axes({"depth": "1..64"}))
    sweep(store, runner, plan)


def run_tune(store: Store, runner: PermittedRunner) -> None:
    tune(store, runner, plan_tune(["-b4K", "-r", "x.dat"], "1", "1..64"))


def run_assess(store: Store, runner: PermittedRunner) -> None:
    Path("x.dat").write_bytes(os.urandom(MIB))
    assess(store, runner, ["x.dat"], EFFORTS["quick"])


@pytest.mark.parametrize("verb", [run_sweep, run_tune, run_assess])
def test_an_experiment_ends_at_the_run_that_cannot_be_saved(
    tmp_path: Path, here: Path, verb: Callable[[Store, PermittedRunner], None]
) -> None:
    path = tmp_path / "store.sqlite"
    with ExitStack() as stack, Store(path, wait_s=0.1) as store:
        device = SimulatedStorage(store)
        device.before_run = lambda number: locked(path, stack) if number == 3 else None
        with pytest.raises(NotSavedError):
            verb(store, device)
    assert len(device.asked) == 3
    assert len([*here.glob("fathom-rescued-*.json")]) == 1
    with Store(path) as store:
        (experiment,) = store.experiments.list()
        assert experiment.run_count == 2


def test_where_nothing_can_be_written_it_is_said_so(
    tmp_path: Path, here: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fathom.runners.saving._places", lambda: iter([here / "no", here]))
    monkeypatch.setattr("fathom._files._begun", _no_room)
    with Store(tmp_path / "store.sqlite") as store:
        (tmp_path / "store.sqlite").unlink()
        with pytest.raises(
            NotSavedError, match=r"Nor can the result be kept in .*No space"
        ) as told:
            measure(store, [*FEW, target])
    assert told.value.rescue is None


def _no_room(_folder: Path) -> tuple[int, Path]:
    raise OSError(28, "No space left on device")


IN_A_SMALL_DISK = """
set -e
mount -t tmpfs -o size=1500k none "$SMALL"
exec "$@"
"""


def on_a_small_disk(folder: Path, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command with a small file system of its own, which ends with it."""
    small = folder / "small"
    small.mkdir(exist_ok=True)
    unshare = ["unshare", "--mount", "sh", "-c"]
    probe = [*unshare, f"mount -t tmpfs none {small}"]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("mounting needs root and unshare")
    path = str(Path(__file__).parent)
    return subprocess.run(
        [*unshare, IN_A_SMALL_DISK, "sh", *command],
        env=os.environ | {"PYTHONPATH": path, "SMALL": str(small), **more},
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )


# The command, and the same on a disk that gets full once it measures.
FATHOM = """
fathom() { "$PYTHON" -c 'from fathom.cli import main; main()' "$@"; }
filling() { "$PYTHON" -c '
import os
from contextlib import contextmanager
import fathom.cli.views.progress as progress
@contextmanager
def fills(*, quiet=False):
    def fill(name, fields):
        if name == "phase_started":
            os.system("cat /dev/zero > \\"$SMALL/filler\\" 2> /dev/null")
    yield fill
progress.live_progress = fills
from fathom.cli import main
main()' "$@"; }
"""
FILL_AND_MEASURE = """
fathom run $LOAD "$TARGET" > /dev/null || exit 99
cd "$CURRENT"
status=0
TMPDIR="$OTHER" filling run $LOAD "$TARGET" || status=$?
test "$CURRENT" != "$SMALL" || ls "$SMALL" >&2
rm "$SMALL/filler"
echo "status $status"
fathom list --store "$SMALL/store.sqlite" --json
"""


@pytest.mark.parametrize("current", ["here", "small"])
def test_a_run_onto_a_full_disk_is_kept_where_there_is_room(
    tmp_path: Path, target: str, current: str
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "other").mkdir()
    done = on_a_small_disk(
        tmp_path,
        "sh",
        "-c",
        FATHOM + FILL_AND_MEASURE,
        PYTHON=sys.executable,
        LOAD=" ".join(FEW),
        TARGET=target,
        CURRENT=str(tmp_path / current),
        OTHER=str(tmp_path / "other"),
        FATHOM_STORE=str(tmp_path / "small" / "store.sqlite"),
    )
    assert "status 6" in done.stdout, done.stderr
    assert "has no room left" in done.stderr
    assert "Traceback" not in done.stderr
    # In the current folder, or if that is full, in the one for temporary files.
    kept = tmp_path / ("here" if current == "here" else "other")
    (rescue,) = kept.iterdir()
    assert f"fathom import {rescue}" in done.stderr
    assert fathom.Result.from_json(rescue.read_text()).total.ios == 500
    # What was shown has the figures, too, and the store has the run before, whole.
    assert "IOPS" in done.stdout
    assert '"id": 1' in done.stdout
    assert '"id": 2' not in done.stdout
    assert ".fathom-unfinished" not in done.stderr


SWEEP_UNTIL_FULL = """
import sys
from pathlib import Path
from fathom.experiments.axes import parse_axes
from fathom.experiments.sweep.experiment import resume_sweep, sweep
from fathom.experiments.sweep.plan import plan_sweep
from fathom.runners import NativeRunner
from fathom.store import NotSavedError, Store
small, target = Path(sys.argv[1]), sys.argv[2]
arguments = ["-b4K", "-r", "-L", target]
plan, _ = plan_sweep(arguments, parse_axes({"depth": "1..8"}), mode="fixed", duration_s=1,
                     tolerance=0.0)

def fill(progress):
    if progress.done == 2:
        with (small / "filler").open("wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(512))
            except OSError:
                pass

with Store(small / "store.sqlite") as store:
    try:
        sweep(store, NativeRunner(store), plan, on_progress=fill)
    except NotSavedError as error:
        print("rescued", error.rescue)
    before = [run.id for run in store.runs.list()]
(small / "filler").unlink()
with Store(small / "store.sqlite") as store:
    (one,) = store.experiments.list()
    print(one.state, len(before))
    found = resume_sweep(store, one.id, NativeRunner(store))
    print(found.count("measured"), len(store.runs.list()), store.experiments.get(one.id).state)
"""


def test_a_sweep_onto_a_full_disk_ends_and_goes_on_once_there_is_room(
    tmp_path: Path, target: str
) -> None:
    command = [sys.executable, "-c", SWEEP_UNTIL_FULL, str(tmp_path / "small"), target]
    done = on_a_small_disk(tmp_path, *command)
    assert done.returncode == 0, done.stderr
    rescued, state, end = done.stdout.splitlines()
    path = Path(rescued.removeprefix("rescued "))
    assert path.parent == tmp_path
    assert fathom.Result.from_json(path.read_text()).total.ios > 0
    assert state in ("running 2", "failed 2")
    assert end == "4 4 complete"


HINDERED = {
    "full": ('cat /dev/zero > "$SMALL/filler" 2> /dev/null', "has no room left"),
    "only to read": ('mount -o remount,ro "$SMALL"', "store.sqlite"),
}
HINDER = """
fathom run $LOAD "$TARGET" > /dev/null || exit 99
eval "$HINDRANCE"
status=0
fathom run $LOAD "$TARGET" || status=$?
echo "status $status"
"""


@pytest.mark.parametrize("state", HINDERED)
def test_a_store_that_takes_nothing_is_told_before_anything_is_measured(
    tmp_path: Path, target: str, state: str
) -> None:
    done = on_a_small_disk(
        tmp_path,
        "sh",
        "-c",
        FATHOM + HINDER,
        HINDRANCE=HINDERED[state][0],
        PYTHON=sys.executable,
        LOAD=" ".join(FEW),
        TARGET=target,
        FATHOM_STORE=str(tmp_path / "small" / "store.sqlite"),
    )
    assert "status 1" in done.stdout, done.stderr
    assert "IOPS" not in done.stdout
    assert HINDERED[state][1] in done.stderr
    assert "Traceback" not in done.stderr


def test_an_output_that_takes_nothing_costs_no_run(target: str) -> None:
    command = " ".join([f"'{one}'" for one in (*COMMAND, "run", *FEW, target)])
    shell = ["sh", "-c", f"{command} > /dev/full"]
    done = subprocess.run(shell, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr
    with Store(os.environ["FATHOM_STORE"]) as store:
        assert [run.columns["ios"] for run in store.runs.list()] == [500]

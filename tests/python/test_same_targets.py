"""An experiment goes on only with the targets that it measured before."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import fathom
import pytest
from fathom import InvalidRequestError
from fathom._hanging import must_answer
from fathom._own_stores import is_own_store
from fathom._provenance import TargetProvenance, is_among_devices, target_provenance
from fathom.experiments import _same_targets
from fathom.experiments._same_targets import refuse_other_folder, refuse_other_targets
from fathom.experiments.compare import compare_runs
from fathom.fleet.address import FleetAddress
from fathom.store import Store, summary
from our_data import our_data
from storage_servers import Nbdkit

if TYPE_CHECKING:
    from fathom.experiments.progress import Progress

MIB = 1 << 20


def measured(store: Store, experiment: int, *words: str | Path) -> None:
    """Save a short run of an experiment."""
    load = ["-b4K", "-d1", "-W0", "--stop-ios=4", *map(str, words)]
    store.runs.save(fathom.run(load), load, experiment_id=experiment)


def look(store: Store, experiment: int) -> None:
    refuse_other_targets(store, store.runs.list(experiment_id=experiment))


def test_each_target_is_asked_whichever_was_measured_last(tmp_path: Path) -> None:
    one, other = tmp_path / "one.dat", tmp_path / "other.dat"
    with Store(tmp_path / "s.sqlite") as store:
        experiment = store.experiments.begin("compare", "x", {})
        for path in (one, other):
            path.write_bytes(our_data(MIB))
            measured(store, experiment, path)
        look(store, experiment)
        one.write_bytes(our_data(2 * MIB))
        with pytest.raises(InvalidRequestError, match=r"one\.dat had 1,048,576 bytes when e1 "):
            look(store, experiment)
        one.unlink()
        look(store, experiment)


def test_another_disk_of_the_same_size_was_not_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "one.dat"
    disks = TargetProvenance(device_model="M", device_serial="S1, S2")
    path.write_bytes(our_data(MIB))
    for place in (summary, _same_targets):
        monkeypatch.setattr(place, "target_provenance", lambda _: disks)
    with Store(tmp_path / "s.sqlite") as store:
        experiment = store.experiments.begin("sweep", "x", {})
        measured(store, experiment, path)
        for one in (disks, replace(disks, device_serial="S2, S9"), TargetProvenance()):
            disks = one
            look(store, experiment)
        disks = TargetProvenance(device_model="M", device_serial="S8, S9")
        words = r"was on the disk with the serial number S1, S2 when e1 .* and is on S8, S9 now"
        with pytest.raises(InvalidRequestError, match=words):
            look(store, experiment)


def test_a_file_on_another_file_system_was_not_noticed(tmp_path: Path) -> None:
    place = tmp_path / "place"
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory, Store(tmp_path / "s") as store:
        for folder in (tmp_path, Path(memory)):
            (folder / "one.dat").write_bytes(our_data(MIB))
        experiment = store.experiments.begin("sweep", "x", {})
        place.symlink_to(memory)
        measured(store, experiment, place / "one.dat")
        place.unlink()
        place.symlink_to(tmp_path)
        if target_provenance(tmp_path).file_system == "tmpfs":
            pytest.skip("temporary files lie in memory, too")
        with pytest.raises(InvalidRequestError, match="was on the file system tmpfs when e1 "):
            look(store, experiment)


def test_what_the_experiment_makes_or_changes_itself_is_not_asked(tmp_path: Path) -> None:
    made, both = tmp_path / "made.dat", tmp_path / "both.dat"
    both.write_bytes(our_data(MIB))
    with Store(tmp_path / "s.sqlite") as store:
        experiment = store.experiments.begin("compare", "x", {})
        measured(store, experiment, "-c1M", made)
        measured(store, experiment, "-c2M", both)
        both.write_bytes(our_data(MIB))
        measured(store, experiment, both)
        for path in (made, both):
            path.write_bytes(our_data(3 * MIB))
        look(store, experiment)


def test_an_export_that_had_shrunk_was_measured_on(tmp_path: Path) -> None:
    if (obstacle := Nbdkit.obstacle()) is not None:
        pytest.skip(obstacle)
    server = Nbdkit(tmp_path / "server")
    served = server.folder / "disk.dat"
    served.write_bytes(our_data(2 * MIB))
    server.start()
    try:
        with Store(tmp_path / "s.sqlite") as store:
            experiment = store.experiments.begin("sweep", "x", {})
            measured(store, experiment, server.address("disk.dat"))
            look(store, experiment)
            nothing = store.experiments.begin("sweep", "x", {})
            measured(store, nothing, "--engine=null", server.address("disk.dat"))
            look(store, nothing)
            os.truncate(served, MIB)
            words = (
                r"^nbd://.*disk\.dat had 2,097,152 bytes when e1 measured it, and has 1,048,576 "
            )
            with pytest.raises(InvalidRequestError, match=words):
                look(store, experiment)
            server.kill()
            # The run that comes next says what is wrong with the server.
            look(store, experiment)
    finally:
        server.kill()


def test_a_comparison_did_not_say_that_the_target_had_another_size(tmp_path: Path) -> None:
    path = tmp_path / "one.dat"
    with Store(tmp_path / "s.sqlite") as store:
        for size in (2 * MIB, MIB):
            path.write_bytes(our_data(size))
            load = ["-b4K", "-d1", "-W0", "--stop-ios=4", str(path)]
            for _ in range(2):
                store.runs.save(fathom.run(load), load)
        sized = [*compare_runs(store, "1,2", "3,4").differences]
        assert sized == ["The target differs: size (bytes) is 2097152 in A and 1048576 in B."]


def test_a_mean_of_runs_on_two_sizes_did_not_say_so(tmp_path: Path) -> None:
    path = tmp_path / "one.dat"
    path.write_bytes(our_data(2 * MIB))

    def cut(told: Progress) -> None:
        if told.done == 2:
            os.truncate(path, MIB)

    load = f"-b4K -d1 -W0 --stop-ios=50 {path}"
    with Store(tmp_path / "s.sqlite") as store:
        told = fathom.repeat(load, store=store, pilot=3, most=3, on_progress=cut)
    (claim,) = told.claims
    assert "resized" in claim.weakened_by
    assert "the target changed its size (certain)" in claim.text


@pytest.mark.parametrize("target", ["/dev/null", "empty.dat", "."])
def test_a_target_of_the_null_engine_has_a_size_that_no_file_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.dat").touch()
    with Store(tmp_path / "s.sqlite") as store:
        experiment = store.experiments.begin("sweep", "x", {})
        measured(store, experiment, "--engine=null", target)
        look(store, experiment)


def test_names_of_devices_are_told_from_files(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/dev")
    for name in ("/dev/sdzz", "/dev/./sdzz", "/dev/pts/../sdzz", tmp_path / "link/sdzz"):
        assert is_among_devices(name), name
    for name in ("/dev/shm/x", tmp_path / "x", "sdzz", "/none/x"):  # noqa: S108 - None is made.
        assert not is_among_devices(name), name


def test_a_store_that_was_looked_at_lost_its_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closing any descriptor of a file gives back all locks that its process has on it."""
    place, other = tmp_path / "s.sqlite", tmp_path / "other"
    other.touch()
    opened: list[Path] = []

    def noted(path: Path, *rest: int) -> int:
        opened.append(path)
        return regular(path, *rest)

    regular = os.open
    with Store(place):
        (tmp_path / "link").hardlink_to(place)
        monkeypatch.setattr(os, "open", noted)
        names = [place, tmp_path / "link", tmp_path / "s.sqlite-wal"]
        must_answer([*names, other])
        monkeypatch.undo()
        assert opened == [other]
        assert all(is_own_store(one) for one in names)


def test_a_relative_name_is_of_the_folder_in_which_the_experiment_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sweep that was resumed from elsewhere did not find its target, or found another one."""
    one, other = tmp_path / "o ne", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        (folder / "x.dat").write_bytes(our_data(MIB))
    monkeypatch.chdir(one)
    with Store(tmp_path / "s.sqlite") as store:
        relative = store.experiments.begin("sweep", "x", {"arguments": ["-b4K", "x.dat"]})
        absolute = store.experiments.begin("sweep", "x", {"arguments": ["-b4K", f"{one}/x.dat"]})
        measured(store, absolute, one / "x.dat")
        gone = store.experiments.begin("sweep", "x", {})
        measured(store, gone, "x.dat")
        for began in (relative, absolute, gone):
            refuse_other_folder(store.experiments.get(began), [])
        monkeypatch.chdir(other)
        runs = store.runs.list(experiment_id=absolute)
        refuse_other_folder(store.experiments.get(absolute), runs)
        for began in (relative, gone):
            runs = store.runs.list(experiment_id=began)
            with pytest.raises(InvalidRequestError, match=rf"e{began} was begun in .*'x\.dat' is"):
                refuse_other_folder(store.experiments.get(began), runs)
        monkeypatch.setattr("platform.node", lambda: "another-host")
        refuse_other_folder(store.experiments.get(relative), [])


def test_what_is_no_target_or_lies_on_other_hosts_refuses_no_other_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of the name of the runner refused to go on elsewhere."""
    for name in ("fathom", "nightly", "x.dat"):
        (tmp_path / name).write_bytes(our_data(MIB))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    words = ["-b4K", "x.dat"]
    with Store(tmp_path / "s.sqlite") as store:
        plan = {"arguments": ["-b4K", "/dev/null"], "runner": "fathom", "label": "nightly"}
        named = store.experiments.begin("tune", "x", plan)
        fleet = FleetAddress("10.0.0.1:8786", tls="tls").runner_name()
        plan = {"arguments": words, "runner": fleet}
        remote = store.experiments.begin("sweep", "x", plan)
        refused = [
            store.experiments.begin("sweep", "x", {"arguments": words, "runner": "fleet:local:2"}),
            store.experiments.begin("assess", "x", {"targets": ["elsewhere"]}),
            store.experiments.begin("prepare", "x", {"target": {"path": "x.dat"}}),
        ]
        monkeypatch.chdir(tmp_path / "elsewhere")
        for experiment in (named, remote):
            refuse_other_folder(store.experiments.get(experiment), [])
        for experiment in refused:
            with pytest.raises(InvalidRequestError, match="was begun in"):
                refuse_other_folder(store.experiments.get(experiment), [])

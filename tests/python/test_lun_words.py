"""What is said of LUNs: the size of a device, what lies behind one, and what Ctrl-C leaves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from commands import command
from fathom._permission import NOTHING
from fathom.errors import InvalidRequestError, RefusedError
from fathom.luns import (
    LunError,
    LunStep,
    carried,
    connect_kernel,
    planned,
    provider_of,
    request_from,
    taken_away,
)
from fathom.luns.backing import backing_step
from fathom.luns.lio import Lio
from fathom.luns.rest import Controller, Rest
from ontap_server import Ontap
from tls import certificate

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["certificate"]


def test_a_device_was_said_to_have_the_size_that_was_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (device := tmp_path / "device").write_bytes(bytes(1 << 20))
    # Its size is found in the same way, and a device needs root.
    monkeypatch.setattr(Path, "is_block_device", lambda _path: True)
    monkeypatch.setattr(Path, "is_file", lambda _path: False)
    given = {"on": "tgt", "path": str(device), "target": "iqn.2026-11.org.lab:disk1"}
    step = backing_step(request_from({**given, "size": "10G"}), lambda: True)
    with pytest.raises(InvalidRequestError, match=r"1,048,576 bytes, .* name another device"):
        step.is_there()
    assert backing_step(request_from({**given, "size": "1M"}), lambda: True).is_there()


# The verb itself, once a LUN is asked for: Ctrl-C is pressed.
CTRL_C = """
import fathom.cli.commands.lun as it
class Provider:
    def steps(self, **_words):
        raise KeyboardInterrupt
    address = listed = steps
it.luns.provider_of = lambda *_words: Provider()
"""


def test_a_removal_that_was_interrupted_said_that_what_was_made_is_taken_away() -> None:
    words = ("--on", "tgt", "--path", "x", "--target", "iqn.2026-11.org.lab:disk1")
    for verb, told in (
        ("create", "error: interrupted; what was made is taken away again\n"),
        ("remove", "error: interrupted; some of it may be gone by now, and the same command"),
        ("list", "error: interrupted\n"),
    ):
        done = command("lun", verb, *words, before=CTRL_C)
        assert (done.returncode, done.stderr.startswith(told)) == (130, True), done.stderr


def test_a_removal_by_another_path_took_the_access_of_the_lun_that_is_there() -> None:
    """The LUN itself stayed, as it is of another file; whoever measured it was cut off."""
    gone: list[str] = []

    def is_of_another() -> bool:
        raise LunError("LUN 1 is theirs.img already")

    steps = [
        LunStep("LUN 1", is_of_another, lambda: None),
        LunStep("access", lambda: True, lambda: None, lambda: gone.append("access")),
    ]
    with pytest.raises(LunError, match=r"LUN 1: .* is theirs.img already; nothing was removed"):
        taken_away(steps, gone.append)
    assert gone == []


def test_a_lun_of_a_hundred_bytes_had_an_address_that_nobody_could_measure() -> None:
    given = {"on": "tgt", "path": "x", "target": "iqn.2026-11.org.lab:disk1", "size": "100"}
    with pytest.raises(InvalidRequestError, match="--size 100 is no disk: write 4K or more"):
        request_from(given)


def test_a_file_was_removed_that_another_command_had_put_a_lun_over(tmp_path: Path) -> None:
    path = tmp_path / "disk.img"
    given = {"on": "tgt", "path": str(path), "size": "1M", "target": "iqn.2026-11.org.lab:disk1"}
    step = backing_step(request_from(given), lambda: False)
    step.make()
    # As a server that offers it.
    hold = "import sys; held = open(sys.argv[1], 'r+b'); print('held', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", hold, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"held\n"
        with pytest.raises(RefusedError, match="in use"):
            step.undo()
    assert path.exists()
    step.undo()
    assert not path.exists()


# Ctrl-C as the address of a LUN is looked up.
CTRL_C_BEHIND = """
import fathom.cli.commands.lun as it
class Provider:
    request = it.luns.request_from({"on": "tgt", "path": "x", "target": "iqn.2026-11.org.lab:x"})
    def steps(self, **_words):
        return []
    def address(self):
        raise KeyboardInterrupt
it.luns.provider_of = lambda *_words: Provider()
"""


def test_ctrl_c_behind_the_last_step_said_that_what_was_made_is_taken_away() -> None:
    words = ("--on", "tgt", "--path", "x", "--target", "iqn.2026-11.org.lab:disk1")
    done = command("lun", "setup", *words, before=CTRL_C_BEHIND)
    told = "error: interrupted; the LUN is set up, and stays: fathom lun connect prints its address"
    assert (done.returncode, done.stderr) == (130, f"{told}\n")


def test_a_lun_of_another_file_was_there_already_and_its_address_that_of_the_new_one(
    tmp_path: Path,
) -> None:
    """With ``--assess --write`` it was written. The tree is the kernel's, as far as files go."""
    target, initiator = "iqn.2026-11.org.lab:disks", "iqn.2026-11.org.lab:host"
    group = tmp_path / "iscsi" / target / "tpgt_1"
    for name in ("lun", "np", f"acls/{initiator}"):
        (group / name).mkdir(parents=True)

    def set_up(name: str, lun: int) -> list[str]:
        given = {"on": "lio", "target": target, "initiator": initiator, "size": "1M", "lun": lun}
        request = request_from({**given, "path": str(tmp_path / name)})
        return [one.state for one in carried(Lio(request, root=tmp_path).steps())]

    assert set_up("theirs.img", 1)[-1] == "made"
    assert set(set_up("theirs.img", 1)) == {"there already"}
    with pytest.raises(LunError, match=r"LUN 1 of .*:disks is fathom-.* already: name another"):
        set_up("mine.img", 1)
    # What another number of the target leads to for this initiator may be another LUN, too.
    (group / f"acls/{initiator}/lun_2").mkdir()
    (group / f"acls/{initiator}/lun_2/x").symlink_to(group / "lun/lun_1")
    with pytest.raises(LunError, match=r"LUN 2 of .*:host is lun_1 already"):
        set_up("second.img", 2)


@pytest.mark.parametrize(
    ("portal", "place"),
    [
        (None, "127.0.0.1:3260"),
        ("10.0.0.1", "10.0.0.1:3260"),
        ("[::1]", "[::1]:3260"),
        ("[::1]:3261", "[::1]:3261"),
    ],
)
def test_a_portal_without_a_port_was_none_to_the_kernel(
    portal: str | None, place: str, tmp_path: Path
) -> None:
    """``lio_target_call_addnptotpg`` of drivers/target/iscsi wants both."""
    name = "iqn.2026-11.org.lab:x"
    given = {"on": "lio", "path": "x", "target": name, "initiator": name, "portal": portal}
    lio = Lio(request_from(given), root=tmp_path)
    assert lio.address() == f"iscsi://{place}/{name}/1"
    assert f"portal {place}" in [one.name for one in lio.steps()]


def test_the_records_behind_the_first_page_of_a_controller_were_not_there(
    certificate: Path,
) -> None:
    """A group of initiators was removed that LUNs on the second page are mapped to."""
    ontap = Ontap(certificate)
    try:
        there = [{"name": f"/vol/vol1/lun{number}"} for number in range(5)]
        ontap.records["/api/storage/luns"] = there
        rest = Rest(Controller(ontap.address, "admin", "secret", str(certificate)))
        for ontap.page_records in (2, 5, 6):
            assert rest.records("/api/storage/luns", fields="name", svm__name="svm1") == there
    finally:
        ontap.close()


def test_the_first_lun_of_a_range_was_taken_for_one_with_two_dots_in_its_name(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``name=a..c`` asks a controller for all from a to c; the first of them was removed."""
    monkeypatch.setenv("FATHOM_ONTAP_PASSWORD", "secret")
    ontap = Ontap(certificate)
    theirs = {"name": "/vol/vol1/b", "uuid": "theirs", "svm": {"name": "svm1"}}
    ontap.records["/api/storage/luns"] = [theirs]
    monkeypatch.setattr(ontap, "_matches", lambda *_query: True)
    given = {
        "on": "ontap",
        "path": "/vol/vol1/a..c",
        "controller": ontap.address,
        "ca": str(certificate),
        "igroup": "mine",
        "initiator": "iqn.2026-11.org.lab:host",
    }
    try:
        steps = provider_of(request_from(given), NOTHING).steps(is_removal=True)
        assert [one.state for one in planned(steps)] == ["to be made"] * 4
        assert taken_away(steps, lambda _words: None) == []
        assert ontap.records["/api/storage/luns"] == [theirs]
    finally:
        ontap.close()


@pytest.mark.parametrize(
    ("text", "why"),
    [("#!/bin/sh\nexec sleep 60\n", "timed out"), ("#!/no/such/shell\n", "No such file")],
)
def test_an_initiator_that_does_not_answer_was_an_error_of_python(
    text: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "iscsiadm"
    program.write_text(text)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr("fathom.luns.connect._LOGIN_S", 0.2)
    with pytest.raises(LunError, match=f"iscsiadm does not answer: .*{why}"):
        connect_kernel("iscsi://10.0.0.1/iqn.2026-11.org.lab:disk1/1")


def test_an_address_of_ipv6_lost_its_brackets_on_the_way_to_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "iscsiadm"
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/words\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    connect_kernel("iscsi://[fd00::1]:3261/iqn.2026-11.org.lab:disk1/1")
    assert (tmp_path / "words").read_text().count("--portal [fd00::1]:3261") == 2


def two_luns_of_lio(tmp_path: Path) -> tuple[Path, Callable[..., Lio]]:
    """Return the initiators of a target in a tree such as the kernel's, and what sets up a LUN."""
    target, host = "iqn.2026-11.org.lab:disks", "iqn.2026-11.org.lab:host"
    group = tmp_path / "iscsi" / target / "tpgt_1"
    for name in ("lun", "np", "acls"):
        (group / name).mkdir(parents=True)

    def lio(lun: int, **more: str) -> Lio:
        path = str(tmp_path / f"{lun}.img")
        given = {"on": "lio", "target": target, "initiator": host, "path": path, "size": "1M"}
        return Lio(request_from({**given, "lun": lun, **more}), root=tmp_path)

    return group / "acls", lio


def test_an_initiator_with_another_lun_could_not_be_removed(tmp_path: Path) -> None:
    """The kernel keeps a folder that has others in it, and the command failed."""
    initiators, lio = two_luns_of_lio(tmp_path)
    for lun in (1, 2):
        carried(lio(lun).steps())
    (access,) = [one for one in lio(2).steps() if one.name.startswith("access")]
    assert taken_away([access], lambda _words: None) == [access.name]
    assert [one.name for one in initiators.glob("*/*")] == ["lun_1"]
    (access,) = [one for one in lio(1).steps() if one.name.startswith("access")]
    taken_away([access], lambda _words: None)
    assert list(initiators.iterdir()) == []


def test_the_kernel_s_target_wanted_a_secret_of_who_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new group of portals asks for one (``TA_AUTHENTICATION`` of the kernel is 1)."""
    monkeypatch.setenv("FATHOM_CHAP_PASSWORD", "a secret of the lab")
    make = Path.mkdir

    def made(folder: Path, mode: int = 0o777, **more: bool) -> None:
        make(folder, mode, **more)
        # What the kernel puts into it.
        if folder.name == "tpgt_1" or folder.parent.name == "acls":
            for one in (folder / "attrib", folder / "auth", folder / "lun"):
                make(one, exist_ok=True)
            (folder / "attrib/authentication").write_text("1")

    monkeypatch.setattr(Path, "mkdir", made)
    for name, more, wanted in (("open", {}, "0"), ("closed", {"chap_user": "joe"}, "1")):
        target, host = f"iqn.2026-11.org.lab:{name}", "iqn.2026-11.org.lab:host"
        given = {"on": "lio", "target": target, "initiator": host, "size": "1M", "lun": 1}
        path = str(tmp_path / f"{name}.img")
        steps = Lio(request_from({**given, "path": path, **more}), root=tmp_path).steps()
        group = tmp_path / "iscsi" / target / "tpgt_1"
        (new_target,) = [one for one in steps if one.name.startswith("target")]
        new_target.make()
        make(group / "acls")
        (access,) = [one for one in steps if one.name.startswith("access")]
        access.make()
        for folder in (group, group / "acls" / host):
            assert (folder / "attrib/authentication").read_text() == wanted


def test_an_initiator_was_left_whose_secret_is_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FATHOM_CHAP_PASSWORD", raising=False)
    initiators, lio = two_luns_of_lio(tmp_path)
    for error in (InvalidRequestError, LunError):
        with pytest.raises(error, match="access of"):
            carried(lio(1, chap_user="joe").steps())
        assert list(initiators.iterdir()) == []
        # Then there is no file for it in this tree.
        monkeypatch.setenv("FATHOM_CHAP_PASSWORD", "a secret of the lab")
        shutil.rmtree(tmp_path / "core")

"""LUNs: each step made, passed over and undone, on a real tgt and on a controller by the book."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from commands import command
from fathom.luns import LunError, LunStep, carried, planned, request_from
from fathom.luns.ontap import own_initiator
from fathom.luns.steps import taken_away
from fathom.luns.tgt import Tgt, read_targets
from fathom.store import Store
from ontap_server import Ontap
from ports import free_port
from tls import certificate

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["certificate"]

MIB = 1 << 20
IQN = "iqn.2026-11.org.lab:disk1"
SECRET = "a secret of CHAP"  # noqa: S105 - Of the tests.


# Steps, without a target.


class World:
    """Things that are there, and what was done, in order."""

    def __init__(self, *there: str, breaks: str = "", sticks: str = "") -> None:
        """Begin with these; what ``breaks`` cannot be made, what ``sticks`` not be undone."""
        self.there = list(there)
        self.done: list[str] = []
        self.breaks, self.sticks = breaks, sticks

    def step(self, name: str, kept: str | None = None) -> LunStep:
        def make() -> None:
            if name == self.breaks:
                raise LunError("no room")
            self.done.append(f"+{name}")
            self.there.append(name)

        def undo() -> None:
            if name == self.sticks:
                raise LunError("in use")
            self.done.append(f"-{name}")
            self.there.remove(name)

        return LunStep(name, lambda: name in self.there, make, undo, why_kept=lambda: kept)


def test_what_is_there_is_passed_over_and_its_own_steps_alone_are_undone() -> None:
    world = World("volume", breaks="map")
    steps = [world.step(one) for one in ("aggregate", "volume", "lun", "map")]
    assert [one.state for one in planned(steps)] == [
        "to be made", "there already", "to be made", "to be made",
    ]  # fmt: skip
    assert world.done == []
    with pytest.raises(LunError, match="map: no room; what was made before is taken away again"):
        carried(steps)
    assert world.done == ["+aggregate", "+lun", "-lun", "-aggregate"]
    assert world.there == ["volume"]


def test_what_fails_to_be_made_is_never_undone() -> None:
    """Somebody else may have made it meanwhile, and put data into it."""
    world = World(breaks="lun")
    step = world.step("lun")

    def make() -> None:
        world.there.append("lun")
        raise LunError("it exists already")

    with pytest.raises(LunError, match="nothing was made"):
        carried([LunStep("lun", step.is_there, make, step.undo)])
    assert world.there == ["lun"]


def test_what_cannot_be_undone_is_named() -> None:
    world = World(breaks="map", sticks="lun")
    with pytest.raises(LunError, match=r"could not be taken away again: lun \(in use\)"):
        carried([world.step(one) for one in ("aggregate", "lun", "map")])
    assert world.there == ["lun"]


def test_removal_keeps_what_others_use() -> None:
    world = World("file", "target", "lun")
    told: list[str] = []
    steps = [world.step("file", "it holds data"), world.step("target", "others"), world.step("lun")]
    assert taken_away(steps, told.append) == ["lun"]
    assert told == ["removed lun", "kept target: others", "kept file: it holds data"]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "--on is missing"),
        ({"on": "tgt"}, "--path is missing"),
        ({"on": "nfs", "path": "x"}, "tgt, ontap, lio"),
        ({"on": "tgt", "path": "x"}, "--target is missing"),
        ({"on": "tgt", "path": "x", "target": "a target"}, "is no name such as iqn"),
        ({"on": "tgt", "path": "x\n", "target": IQN}, "no path needs"),
        ({"on": "tgt", "path": "x", "target": IQN, "size": "10X"}, "is no size"),
        ({"on": "tgt", "path": "x", "target": IQN, "size": "0"}, "is no size"),
        ({"on": "tgt", "path": "x", "target": IQN, "lun": 0}, "take 1 or more"),
        ({"on": "tgt", "path": "x", "target": IQN, "lun": 99999}, "from 0 to 16383"),
        ({"on": "tgt", "path": "x", "target": IQN, "control_port": 36715}, "from 0 to 32767"),
        ({"on": "tgt", "path": "x", "target": IQN, "chap_user": "-x"}, "--chap-user"),
        # They ended in a traceback once something was connected to.
        *(
            ({"on": "tgt", "path": "x", "target": IQN, "portal": one}, "--portal .* is no host")
            for one in ("h:99999", "h:0", "a..b", ".", "a" * 64, "[1.2.3]:1", "10.0.0.0/8")
        ),
        ({"on": "ontap", "path": "/vol/a/b", "igroup": "g"}, "--controller is missing"),
        ({"on": "ontap", "path": "x", "igroup": "g", "controller": "h@evil"}, "--controller"),
    ],
)
def test_wrong_words_are_named_before_anything_is_done(given: dict[str, object], why: str) -> None:
    with pytest.raises(Exception, match=why):
        request_from(given)


@pytest.mark.parametrize("provider", ["tgt", "lio"])
def test_a_comma_put_another_file_behind_the_lun_than_the_guard_had_seen(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands behind it was a parameter of tgtd's, which offered ``data`` of others."""
    given = {"on": provider, "target": IQN, "size": "1M"}
    with pytest.raises(Exception, match="has a comma"):
        request_from({**given, "path": "data,bsoflags=direct"})
    folder = tmp_path / "data,bsoflags=direct"
    folder.mkdir()
    monkeypatch.chdir(folder)
    with pytest.raises(Exception, match="has a comma"):
        request_from({**given, "path": "x.img"})


def test_a_file_says_the_same_as_options_and_no_secret(tmp_path: Path) -> None:
    place = tmp_path / "lun.toml"
    place.write_text(f'[lun]\non = "tgt"\npath = "x.img"\ntarget = "{IQN}"\nchap-user = "joe"\n')
    found = request_from({"lun": 5, "size": None}, place)
    assert (found.on, found.chap_user, found.lun) == ("tgt", "joe", 5)
    for text, why in (
        ('password = "x"', "a secret does not stand in it"),
        ("tarket = 1", "there is no tarket"),
        ('control_port = "one"', "has to be a whole number"),
        ("lun = = 1", "is no TOML"),
    ):
        place.write_text(text)
        with pytest.raises(Exception, match=why):
            request_from({}, place)


def test_targets_of_tgtadm_are_read() -> None:
    text = (
        f"Target 1: {IQN}\n    System information:\n        Driver: iscsi\n"
        "    I_T nexus information:\n    LUN information:\n        LUN: 0\n"
        "            Backing store path: None\n        LUN: 1\n            Type: disk\n"
        "            Backing store path: /srv/a file.img\n    Account information:\n"
        "        joe\n    ACL information:\n        127.0.0.1\n"
        "Target 2: iqn.2026-11.org.lab:other\n    ACL information:\n        ALL\n"
    )
    first, second = read_targets(text)
    assert first.luns == {0: "None", 1: "/srv/a file.img"}
    assert (first.accounts, first.initiators) == (["joe"], ["127.0.0.1"])
    assert (second.number, second.luns, second.initiators) == (2, {}, ["ALL"])


# A real tgt.


class Tgtd(NamedTuple):
    """A server of our own, by its control port and portal."""

    control: str
    portal: str
    folder: Path

    def show(self, mode: str = "target") -> str:
        words = ["tgtadm", "-C", self.control, "--lld", "iscsi", "--op", "show", "--mode", mode]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout

    def words(self, name: str = "disk.img", size: str = "16M") -> list[str]:
        place = ["--path", str(self.folder / name), "--size", size]
        return ["--on", "tgt", "--control-port", self.control, "--target", IQN, *place]


def _answers(server: Tgtd) -> bool:
    with suppress(subprocess.CalledProcessError):
        server.show()
        return True
    return False


@pytest.fixture(scope="module")
def server() -> Iterator[Tgtd]:
    tgtd = shutil.which("tgtd")
    if tgtd is None or os.geteuid() != 0:
        pytest.skip("tgtd is not installed (Debian: tgt), or this is not root")
    # tgtd takes no higher control port than 32767.
    port, control = free_port(), str(10_000 + os.getpid() % 20_000)
    process = subprocess.Popen(
        [tgtd, "-f", "-C", control, "--iscsi", f"portal=127.0.0.1:{port}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="fathom-lun-", dir="/var/tmp") as folder:
        found = Tgtd(control, f"127.0.0.1:{port}", Path(folder))
        try:
            until = time.monotonic() + 60
            while not _answers(found):
                assert process.poll() is None, "tgtd has ended"
                assert time.monotonic() < until, "tgtd does not answer"
                time.sleep(0.05)
            yield found
        finally:
            process.kill()
            process.wait()
            for end in ("", ".lock"):
                Path(f"/var/run/tgtd/socket.{control}{end}").unlink(missing_ok=True)


@pytest.fixture
def tgt(server: Tgtd) -> Iterator[Tgtd]:
    before = server.show(), server.show("account")
    yield server
    assert (server.show(), server.show("account")) == before, "something of the LUN is left"
    for path in server.folder.iterdir():
        path.unlink()


# Before a command: a run with one I/O in place of an assessment.
ONE_READ = """
import fathom.cli.commands.lun as it
def read(wish, _):
    import sys, fathom
    found = fathom.run(["-d9", "-W0", "--stop-ios=1", *wish.names])
    print(found.time_spans[0].total.ios)
    sys.exit(0)
it.begun = read
"""


def test_the_address_of_a_target_that_does_not_exist_was_printed(tgt: Tgtd) -> None:
    told = command("lun", "connect", *tgt.words())
    assert (told.returncode, told.stdout) == (1, ""), told.stderr
    assert f"tgtd has no LUN 1 of {IQN}: set it up" in told.stderr


def test_one_command_sets_up_twice_and_another_takes_it_away(tgt: Tgtd) -> None:
    chap = ["--chap-user", "joe"]
    secret = {"FATHOM_CHAP_PASSWORD": SECRET}
    plan = command("lun", "setup", *tgt.words(), *chap, "--explain")
    assert plan.stdout.count("to be made") == 6
    assert list(tgt.folder.iterdir()) == []
    first = command("lun", "setup", *tgt.words(), *chap, environment=secret)
    assert first.returncode == 0, first.stderr
    address = f"iscsi://{tgt.portal}/{IQN}/1"
    assert first.stdout.splitlines()[-1] == address
    assert first.stdout.count("made: ") == 6
    assert (tgt.folder / "disk.img").stat().st_size == 16 * MIB
    assert "127.0.0.1" in tgt.show()
    again = command("lun", "setup", *tgt.words(), *chap, environment=secret)
    assert (again.stdout.count("there already: "), again.stdout.splitlines()[-1]) == (6, address)
    assert SECRET not in first.stdout + first.stderr + again.stdout + again.stderr
    logs_in = command(
        "lun", "setup", *tgt.words(), *chap, "--assess", environment=secret, before=ONE_READ
    )
    assert (logs_in.returncode, logs_in.stdout.splitlines()[-1]) == (0, "1"), logs_in.stderr
    nobody = command("run", "-d9", "-W0", "--stop-ios=1", address)
    assert (nobody.returncode, "a user and a secret (CHAP)" in nobody.stderr) == (1, True)
    told = command("lun", "connect", *tgt.words())
    assert told.stdout.strip() == address
    listed = command("lun", "list", "--on", "tgt", "--control-port", tgt.control, "--format", "csv")
    assert f"{IQN},1,{tgt.folder / 'disk.img'},127.0.0.1,joe" in listed.stdout
    # Without a name that is typed, nothing goes.
    assert command("lun", "remove", *tgt.words(), *chap).returncode == 2
    assert IQN in tgt.show()
    gone = command("lun", "remove", *tgt.words(), *chap, "--yes")
    assert gone.returncode == 0, gone.stderr
    assert [line.split(" ")[1] for line in gone.stdout.splitlines()] == [
        "access", "account", "account", "LUN", "target", "file",
    ]  # fmt: skip
    assert (tgt.folder / "disk.img").exists()


# Before a command: the least that an assessment can be.
SHORT_ASSESSMENT = """
from fathom.experiments.assess import EFFORTS, Effort
from fathom.runners import NativeRunner
EFFORTS["quick"] = Effort(1, 1 << 24, 50, (1,), (1,), (), ())
def few(self, words, run=NativeRunner.run, **more):
    return run(self, ["--stop-ios=64", *words], **more)
NativeRunner.run = few
"""


PAGE = Path(__file__).parents[2] / "docs/tasks/lun.md"


def test_the_page_s_commands_print_what_the_page_says(tgt: Tgtd, tmp_path: Path) -> None:
    place = str(tgt.folder / "disk1.img")
    blocks = re.findall(r"where tgtd is -->\n```text\n\$ fathom (.*)\n([^`]*)```", PAGE.read_text())
    assert len(blocks) == 4
    for line, told in blocks:
        words = line.replace("/srv/disk1.img", place).replace("10G", "16M").split()
        words += ["--control-port", tgt.control]
        more = {"FATHOM_STORE": str(tmp_path / "store.sqlite")}
        done = command(*words, before=SHORT_ASSESSMENT, cwd=tmp_path, environment=more)
        assert done.returncode == 0, done.stderr
        shown = done.stdout.replace(place, "/srv/disk1.img").replace("16M", "10G")
        shown = shown.replace(tgt.portal, "127.0.0.1:3260").replace(f"{tmp_path}/", "")
        first, _, last = told.partition("...\n")
        assert shown.startswith(first), shown
        assert shown.endswith(last or first), shown
    with Store(tmp_path / "store.sqlite") as store:
        (experiment,) = store.experiments.list()
        runs = [store.runs.get(one.id).result.time_spans[0] for one in store.runs.list()]
    assert experiment.state == "complete"
    assert len(runs) > 5
    assert all(one.total.ios > 0 for one in runs)


def test_only_a_new_lun_is_written_without_its_serial_number(tgt: Tgtd) -> None:
    told = "import fathom.cli.commands.lun as it; it.begun = lambda wish, _: print(wish.permission)"
    words = ("lun", "setup", *tgt.words(), "--assess", "--write")
    first = command(*words, before=told)
    assert first.returncode == 0, first.stderr
    name = f"{tgt.portal}/{IQN}/1:{16 * MIB}"
    assert f"allow_write=('{name}',)" in first.stdout
    # What this command did not make may hold something by now.
    assert "allow_write=()" in command(*words, before=told).stdout
    load = ("-w100", "-b4K", "-W0", "-d9", "--stop-ios=9", f"iscsi://{tgt.portal}/{IQN}/1")
    assert command("run", f"--allow-write={name}", *load).returncode == 0
    refused = command("lun", "setup", *tgt.words(), "--assess", "--write", "--json")
    assert (refused.returncode, "--allow-write=" in refused.stderr) == (2, True), refused.stderr
    assert command("lun", "remove", *tgt.words(), "--yes").returncode == 0
    assert command("lun", "setup", *tgt.words(), "--quick").returncode == 3


@pytest.mark.parametrize("at", range(6))
def test_each_step_that_fails_leaves_nothing_of_ours(
    tgt: Tgtd, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FATHOM_CHAP_PASSWORD", SECRET)
    given = {"on": "tgt", "path": str(tgt.folder / "disk.img"), "size": "16M", "target": IQN}
    given |= {"control_port": int(tgt.control), "chap_user": "joe"}  # type: ignore[dict-item]
    steps = Tgt(request_from(dict(given))).steps()

    def fails() -> None:
        raise LunError("the test has it fail")

    broken = LunStep(steps[at].name, steps[at].is_there, fails, steps[at].undo)
    with pytest.raises(LunError, match="the test has it fail"):
        carried([*steps[:at], broken, *steps[at + 1 :]])
    assert list(tgt.folder.iterdir()) == []


def test_no_lun_lies_over_data_of_others(tgt: Tgtd) -> None:
    place = tgt.folder / "letter.img"
    place.write_text("Dear diary, " * 100_000)
    words = ["--on", "tgt", "--control-port", tgt.control, "--target", IQN, "--path", str(place)]
    for more in ([], ["--explain"]):
        done = command("lun", "setup", *words, *more)
        assert (done.returncode, "text" in done.stderr) == (2, True), done.stderr
    done = command("lun", "setup", *words, "--size", "16M")
    assert (done.returncode, "16,777,216 are wanted" in done.stderr) == (3, True), done.stderr
    assert place.read_text().startswith("Dear diary")


def test_another_lun_of_the_target_keeps_it_and_a_taken_number_is_refused(tgt: Tgtd) -> None:
    assert command("lun", "setup", *tgt.words()).returncode == 0
    taken = command("lun", "setup", *tgt.words("other.img"))
    assert (taken.returncode, "name another --lun" in taken.stderr) == (1, True), taken.stderr
    assert command("lun", "setup", *tgt.words("other.img"), "--lun", "2").returncode == 0
    same = command("lun", "setup", *tgt.words(), "--lun", "3")
    assert (same.returncode, "the file is in use" in same.stderr) == (2, True), same.stderr
    gone = command("lun", "remove", *tgt.words("other.img"), "--lun", "2", "--yes")
    assert "kept target" in gone.stdout
    assert "LUN: 1" in tgt.show()
    assert command("lun", "remove", *tgt.words(), "--yes").returncode == 0
    assert command("lun", "remove", *tgt.words(), "--yes").returncode == 1


def test_create_lets_nobody_in_and_map_does(tgt: Tgtd) -> None:
    missing = command("lun", "map", *tgt.words())
    assert (missing.returncode, "make it with fathom lun create" in missing.stderr) == (3, True)
    assert command("lun", "create", *tgt.words()).returncode == 0
    assert "127.0.0.1" not in tgt.show()
    assert command("lun", "map", *tgt.words()).stdout.splitlines()[-1].startswith("iscsi://")
    assert "127.0.0.1" in tgt.show()
    assert command("lun", "remove", *tgt.words(), "--yes").returncode == 0


# A controller that answers by the book.


@pytest.fixture
def ontap(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ontap]:
    monkeypatch.setenv("FATHOM_ONTAP_PASSWORD", "secret")
    made = Ontap(certificate)
    yield made
    made.close()


# The two examples of the script, as options: the second one whole.
STORAGE = [
    "--aggregate=aggr1", "--disk-count=32", "--volume=vol1", "--volume-size=10g",
    "--snapshot-reserve=0", "--size=1g", "--type=windows",
]  # fmt: skip
SHORT = [
    "--path=/vol/NA1/iscsivol1", "--igroup=igroup1", "--igroup-protocol=iscsi",
    "--igroup-type=windows",
]  # fmt: skip
WHOLE = [*STORAGE, *SHORT]
OWN = "iqn.1991-05.com.microsoft:host1"
ADDRESS = "iscsi://192.0.2.7:3260/iqn.1992-08.com.netapp:sn.19d04b8e94d711e88370005056b48fd2:vs.4/0"


def setup(ontap: Ontap, trusted: Path, *words: str) -> subprocess.CompletedProcess[str]:
    reach = ("--on", "ontap", "--controller", ontap.address, "--ca", str(trusted))
    return command("lun", "setup", *reach, "--initiator", OWN, *words)


def test_the_script_s_whole_example_makes_all_and_then_passes_over_all(
    ontap: Ontap, certificate: Path
) -> None:
    done = setup(ontap, certificate, *WHOLE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == ADDRESS
    # The bodies of the documentation's own examples, with the values of the script's.
    group = ontap.records["/api/protocols/san/igroups"][0]["uuid"]
    assert ontap.calls == [
        (
            "POST",
            "/api/storage/aggregates",
            {
                "name": "aggr1",
                "node": {"name": "node1"},
                "block_storage": {"primary": {"disk_count": 32}},
            },
        ),
        (
            "POST",
            "/api/storage/volumes",
            {
                "svm": {"name": "svm1"},
                "name": "vol1",
                "aggregates": [{"name": "aggr1"}],
                "size": 10 << 30,
                "space": {"snapshot": {"reserve_percent": 0}},
            },
        ),
        (
            "POST",
            "/api/storage/luns",
            {
                "svm": {"name": "svm1"},
                "name": "/vol/NA1/iscsivol1",
                "os_type": "windows",
                "space": {"size": 1 << 30},
            },
        ),
        (
            "POST",
            "/api/protocols/san/igroups",
            {
                "svm": {"name": "svm1"},
                "name": "igroup1",
                "protocol": "iscsi",
                "os_type": "windows",
            },
        ),
        ("POST", f"/api/protocols/san/igroups/{group}/initiators", {"name": OWN}),
        (
            "POST",
            "/api/protocols/san/lun-maps",
            {
                "svm": {"name": "svm1"},
                "lun": {"name": "/vol/NA1/iscsivol1"},
                "igroup": {"name": "igroup1"},
            },
        ),
    ]
    before = len(ontap.calls)
    again = setup(ontap, certificate, *WHOLE)
    assert (again.stdout.count("there already: "), again.stdout.splitlines()[-1]) == (6, ADDRESS)
    assert len(ontap.calls) == before
    # Of the LUN alone, and of what only it uses.
    reach = ("--on", "ontap", "--controller", ontap.address, "--ca", str(certificate))
    gone = command("lun", "remove", *reach, "--initiator", OWN, *WHOLE, "--yes")
    assert gone.returncode == 0, gone.stderr
    left = {name.rpartition("/")[2]: ontap.names(name) for name in ontap.records}
    assert left == {
        "aggregates": ["aggr1"], "volumes": ["vol1"], "luns": [], "igroups": [], "lun-maps": [],
    }  # fmt: skip


def test_the_script_s_short_example_takes_a_lun_that_exists(
    ontap: Ontap, certificate: Path
) -> None:
    done = setup(ontap, certificate, *SHORT)
    assert (done.returncode, "--size is needed" in done.stderr) == (3, True), done.stderr
    ontap.records["/api/storage/luns"].append({"name": "/vol/NA1/iscsivol1", "uuid": "l1"})
    done = setup(ontap, certificate, *SHORT)
    assert done.returncode == 0, done.stderr
    assert [path.rpartition("/")[2] for _, path, _ in ontap.calls] == [
        "igroups", "initiators", "lun-maps",
    ]  # fmt: skip


@pytest.mark.parametrize("where", ["aggregates", "volumes", "luns", "igroups", "lun-maps"])
def test_a_refused_step_takes_those_before_away_with_the_controller_s_own_words(
    ontap: Ontap, certificate: Path, where: str
) -> None:
    path = next(one for one in ontap.records if one.endswith(f"/{where}"))
    ontap.fails_at = f"POST {path}"
    done = setup(ontap, certificate, *WHOLE)
    assert done.returncode == 1
    assert "The specified size is too large. (code 5374874, field space.size)" in done.stderr
    assert all(not records for records in ontap.records.values())


def test_a_job_that_fails_is_told_with_its_code(ontap: Ontap, certificate: Path) -> None:
    ontap.fails_at, ontap.fails_in_job = "POST /api/storage/volumes", True
    done = setup(ontap, certificate, *WHOLE)
    assert "not enough space. (code 918241)" in done.stderr
    assert all(not records for records in ontap.records.values())


def test_a_wrong_password_and_an_unknown_certificate_are_told_and_no_secret_is(
    ontap: Ontap, certificate: Path, tmp_path: Path
) -> None:
    wrong = tmp_path / "password"
    wrong.write_text("quite another\n")
    done = setup(ontap, certificate, *WHOLE, "--password-file", str(wrong))
    assert (done.returncode, "(code 401)" in done.stderr) == (1, True), done.stderr
    assert "quite another" not in done.stderr
    done = command(
        "lun", "setup", "--on", "ontap", "--controller", ontap.address, "--initiator", OWN, *WHOLE
    )
    assert (done.returncode, "does not answer" in done.stderr) == (1, True), done.stderr
    # That a file of ours is missing was said of the controller.
    done = setup(ontap, tmp_path / "none.pem", *WHOLE)
    assert "none.pem cannot be used (--ca)" in done.stderr, done.stderr
    assert "does not answer" not in done.stderr
    assert ontap.calls == []


def test_a_group_that_others_use_stays(ontap: Ontap, certificate: Path) -> None:
    assert setup(ontap, certificate, *WHOLE).returncode == 0
    ontap.records["/api/protocols/san/igroups"][0]["initiators"].append("iqn.2026-11.org.lab:b")
    reach = ("--on", "ontap", "--controller", ontap.address, "--ca", str(certificate))
    done = command("lun", "remove", *reach, "--initiator", OWN, *WHOLE, "--yes")
    assert "kept initiator group igroup1: it has other initiators" in done.stdout
    assert ontap.names("/api/protocols/san/igroups") == ["igroup1"]
    assert ontap.records["/api/storage/luns"] == []


def test_a_lun_that_nobody_may_use_yet_had_no_address_but_an_error_of_python(
    ontap: Ontap, certificate: Path
) -> None:
    assert setup(ontap, certificate, *WHOLE).returncode == 0
    ontap.records["/api/protocols/san/lun-maps"].clear()
    reach = ("--on", "ontap", "--controller", ontap.address, "--ca", str(certificate))
    done = command("lun", "connect", *reach, "--initiator", OWN, *SHORT)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
    assert "/vol/NA1/iscsivol1 is not mapped to igroup1" in done.stderr


def test_the_name_of_this_host_s_initiator_is_read(tmp_path: Path) -> None:
    place = tmp_path / "initiatorname.iscsi"
    place.write_text(f"## a comment\nInitiatorName={OWN}\n")
    assert own_initiator(place) == OWN
    assert own_initiator(tmp_path / "none") is None


def test_a_kernel_without_a_target_says_so() -> None:
    if Path("/sys/kernel/config/target").is_dir():
        pytest.skip("this kernel has a target of its own")
    words = ("--on", "lio", "--path", "x.img", "--target", IQN, "--initiator", IQN)
    done = command("lun", "setup", *words)
    assert (done.returncode, "take --on tgt" in done.stderr) == (1, True), done.stderr

"""Who logs in to a target of iSCSI: from a file, from the environment, and at a terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from at_terminal import at_a_terminal
from commands import command
from storage_servers import LUN_BYTES, SECRETS, ChapTgt
from support import diskspd

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET, OTHER = SECRETS
LOAD = ["-b4K", "-r", "-d60", "-W0", "--stop-ios=9"]
LAB = [sys.executable, "-c", "from fathom.cli import main; main()", "run", "--store", "x.sqlite"]
CTRL_C = b"\x03"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logins")


@pytest.fixture(scope="module")
def tgt(home: Path) -> Iterator[ChapTgt]:
    why = ChapTgt.obstacle()
    if why is not None:
        pytest.skip(why)
    server = ChapTgt(home / "tgt")
    server.start()
    yield server
    server.kill()


def credentials(home: Path, text: str) -> str:
    file = home / "credentials"
    file.write_text(text)
    file.chmod(0o600)
    return str(file)


def test_the_secret_of_chap_comes_from_a_file_or_the_environment_and_stays_there(
    home: Path, tgt: ChapTgt
) -> None:
    both = f"username=anna\npassword={SECRET}\ntarget_username=array\ntarget_password={OTHER}\n"
    file = ["--credentials", credentials(home, both)]
    by_name = {"FATHOM_USER": "anna", "FATHOM_PASSWORD": SECRET}
    store = ["--store", str(home / "own.sqlite")]
    for words, environment, login in ((file, {}, "mutual CHAP"), ([], by_name, "CHAP")):
        done = command(
            "run", "--json", *store, *words, *LOAD, tgt.address(), cwd=home, environment=environment
        )
        assert done.returncode == 0, done.stderr
        (network,) = json.loads(done.stdout)["time_spans"][0]["network"]
        assert network["dialect"] == f"iSCSI, no digests, {login} with MD5"
        assert "s3cret" not in done.stdout + done.stderr
    wrong = ["--credentials", credentials(home, both.replace("array\n", "impostor\n"))]
    for words in (wrong, []):
        done = command("run", *store, *words, *LOAD, tgt.address(), cwd=home)
        assert (done.returncode, "--credentials=FILE" in done.stderr) == (1, True), done.stderr
    (home / "credentials").unlink()
    kept = [one for one in home.iterdir() if one.is_file()]
    assert kept
    assert not any(b"s3cret" in one.read_bytes() for one in kept)


@pytest.mark.parametrize("program", [LAB, [str(diskspd())]], ids=["lab", "diskspd"])
def test_the_secret_of_chap_is_asked_for_at_a_terminal(
    program: list[str], home: Path, tgt: ChapTgt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    where = f"127.0.0.1:{tgt.port}: ".encode()
    answers = [(where, b"anna\n"), (where, f"{SECRET}\n".encode())]
    code, said, shows = at_a_terminal([*program, *LOAD, tgt.address()], answers)
    assert code == 0, said
    assert f"Password of anna on 127.0.0.1:{tgt.port}: " in said
    assert "s3cret" not in said
    assert shows


@pytest.mark.parametrize("program", [LAB, [str(diskspd())]], ids=["lab", "diskspd"])
def test_ctrl_c_at_a_question_ends_the_program(
    program: list[str], home: Path, tgt: ChapTgt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    where = f"127.0.0.1:{tgt.port}: ".encode()
    typed = b"the s3c" + CTRL_C
    for answers in ([(where, CTRL_C)], [(where, b"anna\n"), (where, typed)]):
        code, said, shows = at_a_terminal([*program, *LOAD, tgt.address()], answers)
        assert (code, shows) == (130, True), said
        assert "a user and a secret" not in said, "it went on without"


@pytest.mark.parametrize("secret", [SECRET, "the s3cret is new"], ids=["same", "changed"])
def test_a_target_that_was_killed_is_logged_in_to_again(
    secret: str, home: Path, tgt: ChapTgt
) -> None:
    tgt.kill()
    (tgt.folder / "disk.dat").unlink()
    tgt.start()
    place = tgt.address().partition("://")[2]
    words = ["--reconnect=20", "-b4K", "-r", "-w50", "-d60", "-W0", "-Rjson"]
    words += ["-g2000i", "--stop-ios=3000"]
    with subprocess.Popen(
        [str(diskspd()), *words, f"--allow-write={place}:{LUN_BYTES}", tgt.address()],
        env={**os.environ, **tgt.environment()},
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as load:
        while not (tgt.folder / "disk.dat").stat().st_blocks and load.poll() is None:
            time.sleep(0.01)
        tgt.kill()
        tgt.incoming = ("anna", secret)
        tgt.start()
        said, errors = load.communicate(timeout=60)
    tgt.incoming = ("anna", SECRET)
    tgt.kill()
    tgt.start()
    result = json.loads(said)
    (network,) = result["time_spans"][0]["network"]
    is_same = secret == SECRET
    lost = network["lost_connections"]
    assert (load.returncode, lost) == (int(not is_same), int(not is_same)), errors
    assert network["reconnects"] == int(is_same)
    assert ("the server refuses user or secret" in errors) != is_same, errors
    assert "s3cret" not in said + errors

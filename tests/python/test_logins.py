"""Who logs in to a target of iSCSI: from a file, from the environment, and at a terminal."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from at_terminal import at_a_terminal
from commands import command
from storage_servers import Tgt
from support import diskspd

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET = "the s3cret of anna"  # noqa: S105 - Of a server that lives as long as its test.
OTHER = "the s3cret of the array"
LOAD = ["-b4K", "-r", "-d60", "-W0", "--stop-ios=9"]
LAB = [sys.executable, "-c", "from fathom.cli import main; main()", "run", "--store", "x.sqlite"]
CTRL_C = b"\x03"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logins")


@pytest.fixture(scope="module")
def tgt(home: Path) -> Iterator[Tgt]:
    why = Tgt.obstacle()
    if why is not None:
        pytest.skip(why)
    server = Tgt(home / "tgt")
    server.incoming, server.outgoing = ("anna", SECRET), ("array", OTHER)
    server.start()
    yield server
    server.kill()


def credentials(home: Path, text: str) -> str:
    file = home / "credentials"
    file.write_text(text)
    file.chmod(0o600)
    return str(file)


def test_the_secret_of_chap_comes_from_a_file_or_the_environment_and_stays_there(
    home: Path, tgt: Tgt
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
    program: list[str], home: Path, tgt: Tgt, monkeypatch: pytest.MonkeyPatch
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
    program: list[str], home: Path, tgt: Tgt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    where = f"127.0.0.1:{tgt.port}: ".encode()
    typed = b"the s3c" + CTRL_C
    for answers in ([(where, CTRL_C)], [(where, b"anna\n"), (where, typed)]):
        code, said, shows = at_a_terminal([*program, *LOAD, tgt.address()], answers)
        assert (code, shows) == (130, True), said
        assert "a user and a secret" not in said, "it went on without"

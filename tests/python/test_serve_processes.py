"""What a server starts: where it saves, and in which order it is listed."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, NoReturn

import pytest
from fathom.web import processes as web_processes
from fathom.web.processes import ProcessError, Processes, Wanted
from served import explained, served, started, wait_for

if TYPE_CHECKING:
    from pathlib import Path


def test_runs_went_to_another_store_than_the_one_served_where_it_is_named_by_its_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    processes = Processes(tmp_path, "~/lab.sqlite")
    processes._write_request(tmp_path, Wanted("run", ()), "me")
    asked = json.loads((tmp_path / "request.json").read_text())
    assert asked["environment"]["FATHOM_STORE"] == str(tmp_path / "home/lab.sqlite")


def test_the_newest_process_was_an_older_one_in_the_hour_that_comes_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    now = [0]
    clock = SimpleNamespace(
        time=lambda: now[0],
        gmtime=lambda: time.gmtime(now[0]),
        strftime=lambda form, at=None: time.strftime(form, at or time.localtime(now[0])),
    )
    monkeypatch.setattr(web_processes, "time", clock)
    keeper = SimpleNamespace(Popen=lambda *_given, **_more: None, DEVNULL=None)
    monkeypatch.setattr(web_processes, "subprocess", keeper)
    monkeypatch.setattr(Processes, "_await_start", lambda *_given: None)
    processes, began = Processes(tmp_path, None), []
    # 02:30 by the clock at the wall, and half an hour later 02:00.
    for now[0] in (1792888200, 1792890000):
        process = processes.start(Wanted("run", ()), "me")
        (process.folder / "ended.json").write_text(
            json.dumps({"exit_code": 0, "ended_at_unix_s": now[0]})
        )
        began.append(process.id)
    monkeypatch.undo()
    time.tzset()
    assert [one.id for one in processes.list(limit=9)] == began[::-1]


@pytest.mark.parametrize("is_stopped", [False, True], ids=["to its end", "stopped"])
def test_a_run_that_was_saved_was_lost_where_its_keeper_alone_had_been_killed(
    tmp_path: Path,
    is_stopped: bool,  # noqa: FBT001 - A case.
) -> None:
    with served(tmp_path) as server, server.program() as program:
        duration = "-d60" if is_stopped else "-d2"
        name = started(program, {}, "-c1M", "-b4K", "-W0", duration, "--", str(tmp_path / "x.dat"))
        place = tmp_path / "serve/runs" / name
        noted = json.loads((place / "processes.json").read_text())
        os.kill(noted["keeper"]["pid"], signal.SIGKILL)
        events = place / "events.jsonl"
        wait_for(lambda: events.exists() and '"live"' in events.read_text())
        if is_stopped:
            assert program.post(f"/api/v1/processes/{name}/stop").status_code == 202
        address = f"/api/v1/processes/{name}"
        wait_for(lambda: program.get(address).json()["state"] != "running")
        told = program.get(address).json()
        expected = ("interrupted", 130) if is_stopped else ("complete", 0)
        assert (told["state"], told["exit_code"]) == expected
        assert told["ended_at_unix_s"] >= told["started_at_unix_s"]
        (number,) = told["run_ids"]
        assert program.get(f"/api/v1/runs/{number}").json()["outcome"] == expected[0]


def test_what_could_not_be_started_beside_another_was_said_not_to_be_explained(
    tmp_path: Path,
) -> None:
    load = ["-c1M", "-b4K", "-W0", "--", str(tmp_path / "x.dat")]
    with served(tmp_path) as server, server.program() as program:
        wanted = explained(program, {}, "-d1", *load)
        other = started(program, {}, "-d60", *load)
        answer = program.post("/api/v1/processes", json=wanted)
        assert (answer.status_code, "under way" in answer.text) == (409, True)
        program.post(f"/api/v1/processes/{other}/stop")
        wait_for(lambda: program.get(f"/api/v1/processes/{other}").json()["state"], "interrupted")
        assert program.post("/api/v1/processes", json=wanted).status_code == 201
        # Once, as before.
        assert program.post("/api/v1/processes", json=wanted).status_code == 422


def test_a_run_on_a_full_disk_was_a_fault_of_the_server_and_kept_others_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = Processes(tmp_path, None)

    def full(*_given: object) -> NoReturn:
        raise OSError(28, "No space left on device", "request.json")

    with monkeypatch.context() as patch:
        patch.setattr(Processes, "_write_request", full)
        with pytest.raises(ProcessError, match=r"request\.json: No space left on device; make"):
            processes.start(Wanted("run", ()), "me")
    assert processes.list(limit=9) == []


def _keep(folder: Path, command: list[str], most_bytes: int | None = None) -> int:
    """Run a keeper, in a folder whose files may have so many bytes; return its exit code."""
    asked = {"command": command, "cwd": str(folder), "environment": {}}
    (folder / "request.json").write_text(json.dumps(asked))
    limit = resource.RLIM_INFINITY if most_bytes is None else most_bytes
    return subprocess.run(
        [sys.executable, "-m", "fathom.web._keeper", str(folder)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        capture_output=True,
        check=False,
    ).returncode


def test_a_command_ran_on_where_nobody_could_find_it(tmp_path: Path) -> None:
    """Its keeper had ended, as there was no room to say which process it was."""
    assert _keep(tmp_path, ["touch", "ran"], most_bytes=1000) != 0
    assert not (tmp_path / "ran").exists()
    assert _keep(tmp_path, ["touch", "ran"]) == 0
    assert (tmp_path / "ran").exists()


def test_what_a_command_complains_about_has_its_room_before_the_disk_is_full(
    tmp_path: Path,
) -> None:
    errors = tmp_path / "errors.txt"
    assert _keep(tmp_path, ["sh", "-c", "stat -c %s errors.txt; echo words >&2; exit 3"]) == 0
    assert errors.read_text() == "words\n"
    assert int((tmp_path / "output.txt").read_text()) > 1000
    assert json.loads((tmp_path / "ended.json").read_text())["exit_code"] == 3


def test_a_run_that_was_stopped_while_python_started_complained_in_words_of_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two stops came before anything in it knew how to end."""
    keepers: list[subprocess.Popen[bytes]] = []
    kept = web_processes._kept

    def watched(folder: Path) -> subprocess.Popen[bytes]:
        keepers.append(kept(folder))
        return keepers[-1]

    monkeypatch.setattr(web_processes, "_kept", watched)
    processes = Processes(tmp_path, str(tmp_path / "runs.sqlite"))
    for number in range(12):
        name = processes.start(Wanted("list", ()), "me").id
        time.sleep(number * 0.01)
        for _ in range(2):
            with contextlib.suppress(ProcessError):
                processes.stop(name)
        keepers[-1].wait(60)
        found = processes.get(name)
        assert "KeyboardInterrupt" not in found.errors()
        assert "Traceback" not in found.errors()
        assert found.state in ("interrupted", "complete")

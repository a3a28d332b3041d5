"""What a server starts: where it saves, and in which order it is listed."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING

from fathom.web import processes as web_processes
from fathom.web.processes import Processes, Wanted

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


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

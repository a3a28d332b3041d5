"""What ``fathom serve`` tells of a run while it is followed, without a server."""

from __future__ import annotations

import asyncio
import gc
import json
import tracemalloc
from types import SimpleNamespace
from typing import TYPE_CHECKING

from fathom.web.live import Hub

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_what_a_run_saved_just_before_its_end_was_not_read(tmp_path: Path) -> None:
    one = SimpleNamespace(
        id="a", verb="run", command="", user="", state="running", exit_code=None,
        started_at_unix_s=0.0, ended_at_unix_s=None, folder=tmp_path,
    )  # fmt: skip

    async def looked() -> object:
        hub = Hub(SimpleNamespace(list=lambda limit: [one][:limit]))  # type: ignore[arg-type]
        await hub._look_round()
        await asyncio.sleep(0.05)
        (tmp_path / "events.jsonl").write_text('{"event": "saved", "run_id": 7}\n')
        one.state = "complete"
        await hub._look_round()
        figures = hub.figures_of("a")
        return figures and figures.told()["run_ids"]

    assert asyncio.run(looked()) == [7]


def test_an_hour_of_events_takes_no_more_memory_than_a_quarter_and_drops_who_is_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fathom.web.live._EVERY_S", 0.001)
    one = SimpleNamespace(
        id="a", verb="run", command="", user="", state="running", exit_code=None,
        started_at_unix_s=0.0, ended_at_unix_s=None, folder=tmp_path,
    )  # fmt: skip
    octaves = {str(octave): 10**6 + octave for octave in range(8, 34)}
    several = [{"target": f"/dev/{at}", "ios": 1, "bytes": 4096} for at in range(4)]
    newest: dict[int, object] = {}

    async def view(hub: Hub, number: int) -> None:
        async for kind, content in hub.look():
            if kind == "second":
                newest[number] = content["second"]  # type: ignore[index]

    async def followed() -> list[int]:
        hub = Hub(SimpleNamespace(list=lambda limit: [one][:limit]))  # type: ignore[arg-type]
        (tmp_path / "events.jsonl").touch()
        await hub._look_round()
        fast = [asyncio.create_task(view(hub, number)) for number in range(2)]
        slow = hub.look()
        await anext(slow)
        used = []
        for quarter in range(4):
            for first in range(quarter * 900, quarter * 900 + 900, 30):
                seconds = [
                    {
                        "event": "live", "second": at, "ios": at, "bytes": at,
                        "latency_octaves": octaves, "targets": several,
                    }
                    for at in range(first, first + 30)
                ]  # fmt: skip
                with (tmp_path / "events.jsonl").open("a") as file:
                    file.writelines(json.dumps(second) + "\n" for second in seconds)
                history = hub._figures["a"].history
                while not history or history[-1]["second"] != first + 29:  # noqa: ASYNC110 - A file.
                    await asyncio.sleep(0.002)
            gc.collect()
            used.append(tracemalloc.get_traced_memory()[0])
        assert hub.dropped == 1
        await asyncio.sleep(0.1)
        for task in (*fast, hub._readers["a"].task):
            task.cancel()
        await asyncio.gather(*fast, hub._readers["a"].task, return_exceptions=True)
        return used

    tracemalloc.start()
    try:
        used = asyncio.run(followed())
    finally:
        tracemalloc.stop()
    assert newest == {0: 3599, 1: 3599}
    assert used[-1] < used[0] * 1.1

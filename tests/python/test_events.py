"""Events of a run while it is under way, and the progress that is drawn from them."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import fathom
import pytest
from fathom.cli.views.progress import RunProgress
from fathom.cli.views.whole_progress import whole_progress
from rich.console import Console

if TYPE_CHECKING:
    from pathlib import Path

ARGS = ["-c4M", "-b4K", "-r", "-w0", "-o1", "-t1", "-d2", "-W1", "-L"]


def test_a_callback_sees_what_happens_in_its_order(tmp_path: Path) -> None:
    seen: list[tuple[str, dict[str, Any]]] = []
    result = fathom.run(
        [*ARGS, str(tmp_path / "scratch.dat")],
        on_event=lambda name, fields: seen.append((name, fields)),
    )
    names = [name for name, _fields in seen]
    assert names[-1] == "finished"
    phases = [fields["phase"] for name, fields in seen if name == "phase_started"]
    assert phases[:2] == ["warm_up", "measured"]
    planned = [fields["planned_ns"] for name, fields in seen if name == "phase_started"]
    assert planned[:2] == [1_000_000_000, 2_000_000_000]
    seconds = [fields for name, fields in seen if name == "live"]
    assert [one["second"] for one in seconds] == list(range(1, len(seconds) + 1))
    assert len(seconds) >= 2
    for one in seconds:
        assert one["bytes"] == one["ios"] * 4096 > 0
        assert 0 < one["latency_ns_p50"] <= one["latency_ns_p99"] <= one["latency_ns_p999"]
    # Warm-up included, they saw all that was measured.
    assert sum(one["ios"] for one in seconds) > result.total.ios / 2
    assert any(name == "filling" for name in names)


def test_what_a_callback_raises_ends_the_run(tmp_path: Path) -> None:
    class EnoughError(Exception):
        pass

    def stop(name: str, _fields: dict[str, Any]) -> None:
        if name == "phase_started":
            raise EnoughError

    args = ["-c1M", "-b4K", "-r", "-d600", "-W0", str(tmp_path / "scratch.dat")]
    with pytest.raises(EnoughError):
        fathom.run(args, on_event=stop)


def test_live_is_told_where_it_belongs_to_the_other_command(tmp_path: Path) -> None:
    with pytest.raises(fathom.InvalidRequestError, match="--live"):
        fathom.run([*ARGS, "--live", str(tmp_path / "x.dat")], on_event=lambda *_event: None)


def test_progress_shows_phase_and_figures() -> None:
    screen = io.StringIO()
    terminal = Console(file=screen, force_terminal=True, width=120)
    with whole_progress(terminal) as progress:
        progress.live.auto_refresh = False
        draw = RunProgress(progress)
        draw("filling", {"target": "[x].dat", "done_bytes": 1 << 20, "total_bytes": 4 << 20})
        progress.refresh()
        draw("phase_started", {"time_span": 0, "phase": "warm_up", "planned_ns": 1_000_000_000})
        draw("phase_started", {"time_span": 0, "phase": "measured", "planned_ns": 3_000_000_000})
        live = {"second": 2, "ios": 12_345, "bytes": 3 << 20, "in_flight": 1}
        latencies = {"latency_ns_p50": 1, "latency_ns_p99": 2_500_000, "latency_ns_p999": 3}
        draw("live", live | latencies)
        progress.refresh()
        (task,) = [one for one in progress.tasks if one.description == "measuring"]
        assert (task.completed, task.total) == (2, 4)
        draw("something new", {})
        draw("finished", {"time_span": 0})
        assert progress.tasks == []
    shown = screen.getvalue()
    assert "filling [x].dat" in shown
    assert "1 of 4 MiB" in shown
    assert "12,345 IOPS  3.0 MiB/s  p50 0.000 ms  p99 2.500 ms" in shown

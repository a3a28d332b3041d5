"""A run that is held: started at an instant, followed, renewed, stopped, and let go."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import fathom
import pytest
from fathom import RunEvent, RunHandle
from fathom.result import Latency

if TYPE_CHECKING:
    from pathlib import Path

NULL = "--engine=null -c1M -b4K -r -L -W0"
_SECOND = 1_000_000_000


def test_a_run_begins_at_its_instant_and_its_events_tell_of_it(tmp_path: Path) -> None:
    at = 0.0
    events = []
    with RunHandle(f"{NULL} -d2 {tmp_path}/x", live=True) as handle:
        for event in handle.events():
            events.append(event)
            if event.name == "ready":
                at = time.time() + 0.5
                handle.start(at)
        name, result = handle.name, handle.result()
    assert {one.run for one in events} == {name}
    assert [RunEvent.from_json(one.to_json()) for one in events] == events
    names = [one.name for one in events]
    assert names.index("ready") < names.index("phase_started") < names.index("finished")
    began_ns = result.raw["time_spans"][0]["began_unix_ns"]
    assert began_ns >= round(at * _SECOND)
    seconds = [one.fields for one in events if one.name == "live"]
    latency = Latency.merged(one["latency"] for one in seconds)
    assert latency is not None
    # The seconds together have all I/Os that were measured, and what followed the end besides.
    assert latency.count == sum(one["ios"] for one in seconds) >= result.total.ios
    assert "ended_by" not in result.raw


def test_whoever_stops_a_run_says_why(tmp_path: Path) -> None:
    handle = RunHandle(f"{NULL} -d600 {tmp_path}/x")
    handle.start()
    for event in handle.events():
        if event.name == "phase_started":
            handle.stop("host b was lost")
    result = handle.result()
    assert result.raw["ended_by"] == {"holder": {"reason": "host b was lost"}}
    assert result.raw["time_spans"][0]["outcome"] == "interrupted"
    assert any("host b was lost" in one.evidence for one in result.warnings)
    with pytest.raises(fathom.FathomError, match="is over"):
        handle.renew()


def test_a_run_that_is_not_renewed_ends_itself(tmp_path: Path) -> None:
    handle = RunHandle(f"{NULL} -d600 {tmp_path}/x", lease_s=1)
    handle.start()
    result = handle.result()
    assert result.raw["ended_by"] == {"lease": {"lease_ns": _SECOND}}
    assert any("lease was not renewed for 1 s" in one.evidence for one in result.warnings)


def test_renewals_keep_a_run_going(tmp_path: Path) -> None:
    handle = RunHandle(f"{NULL} -d6 {tmp_path}/x", live=True, lease_s=4)
    handle.start()
    for _event in handle.events():
        handle.renew()
    result = handle.result()
    assert result.raw["time_spans"][0]["outcome"] == "complete"
    assert "ended_by" not in result.raw


def test_nothing_wrong_is_opened_and_a_refusal_comes_with_the_result(tmp_path: Path) -> None:
    with pytest.raises(fathom.InvalidRequestError):
        RunHandle("-b0 x")
    theirs = tmp_path / "theirs"
    theirs.write_bytes(b"somebody's letters " * 1000)
    handle = RunHandle(f"-w100 -b4K -d1 -W0 {theirs}")
    handle.start()
    with pytest.raises(fathom.RefusedError, match="theirs"):
        handle.result()


def test_a_lease_of_the_command_line_belongs_to_the_other_command(tmp_path: Path) -> None:
    with pytest.raises(fathom.InvalidRequestError, match="lease_s=10"):
        fathom.run(f"{NULL} -d1 --lease=5 {tmp_path}/x")


def test_no_load_is_left_behind_by_a_handle_that_nobody_holds(tmp_path: Path) -> None:
    words = (
        "import fathom, os, time\n"
        f"handle = fathom.RunHandle('-c8M -b4K -r -w100 -d600 -W0 {tmp_path}/x')\n"
        "handle.start()\n"
        "next(one for one in handle.events() if one.name == 'phase_started')\n"
        "del handle\n"
        "while any('thread' in open(f'/proc/self/task/{one}/comm').read().lower()\n"
        "          for one in os.listdir('/proc/self/task')):\n"
        "    time.sleep(0.05)\n"
        "print('gone')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", words], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout, done.stderr) == ("gone\n", "")


def test_ctrl_c_while_events_are_awaited_reaches_whoever_waits(tmp_path: Path) -> None:
    words = (
        "import fathom\n"
        f"handle = fathom.RunHandle('{NULL} -d600 {tmp_path}/x')\n"
        "handle.start()\n"
        "try:\n"
        "    for event in handle.events():\n"
        "        print(event.name, flush=True)\n"
        "except KeyboardInterrupt:\n"
        "    handle.stop('Ctrl-C')\n"
        "    print(handle.result().raw['time_spans'][0]['outcome'])\n"
    )
    child = subprocess.Popen([sys.executable, "-c", words], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    for line in child.stdout:
        if line == "phase_started\n":
            child.send_signal(signal.SIGINT)
            break
    rest, _ = child.communicate(timeout=120)
    assert rest.splitlines()[-1] == "interrupted"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "stands where an object should"),
        ("{}", "it has no 'run'"),
        ('{"run": "r", "host": "h", "at_unix_ns": 1}', "it has no 'event'"),
        ('{"run": 5, "host": "h", "at_unix_ns": 1, "event": "e"}', "run is 5"),
        ('{"run": "r", "host": "h", "at_unix_ns": "1", "event": "e"}', "at_unix_ns is '1'"),
        ('{"run": "r", "host": "h", "at_unix_ns": 1, "event": "e", "target": 5}', "target is 5"),
        ("x", "Expecting value"),
        (None, "None stands where an object should"),
    ],
)
def test_what_is_no_event_is_a_value_error(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        RunEvent.from_json(text)


def test_events_can_be_members_of_sets() -> None:
    text = '{"run": "r", "host": "h", "at_unix_ns": 1, "event": "e", "more": [1]}'
    assert len({RunEvent.from_json(text), RunEvent.from_json(text)}) == 1


def test_a_result_was_given_to_nobody_where_two_threads_asked(tmp_path: Path) -> None:
    handle = RunHandle(f"{NULL} -d2 {tmp_path}/x", live=True)
    handle.start()
    found: list[object] = []
    asking = [threading.Thread(target=lambda: found.append(handle.result())) for _ in range(3)]
    following = threading.Thread(target=lambda: [*handle.events()])
    for thread in (*asking, following):
        thread.start()
    for thread in (*asking, following):
        thread.join(60)
        assert not thread.is_alive()
    assert found == [handle.result()] * 3
    assert [*handle.events()] == []
    handle.stop("it is over")
    assert handle.name


def test_a_refusal_was_called_a_result_that_was_given(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_bytes(b"somebody's letters " * 1000)
    with RunHandle(f"-w100 -b4K -d1 -W0 {theirs}") as handle:
        handle.start()
        for _ in range(2):
            with pytest.raises(fathom.RefusedError, match="theirs"):
                handle.result()
    missing = RunHandle(f"-b4K -d1 -W0 {tmp_path}/missing")
    missing.start()
    for _ in range(2):
        with pytest.raises(fathom.RunFailedError, match="does not exist"):
            missing.result()
    assert not missing.result(check=False).time_spans[0].complete


def test_a_handle_that_was_let_go_has_no_result(tmp_path: Path) -> None:
    with RunHandle(f"{NULL} -d600 {tmp_path}/x") as handle:
        pass
    with pytest.raises(fathom.FathomError, match="is over"):
        handle.result()
    handle.stop()


def test_a_result_was_awaited_forever_behind_a_fork(tmp_path: Path) -> None:
    words = (
        "import fathom, os, sys\n"
        f"handle = fathom.RunHandle('{NULL} -d2 {tmp_path}/x')\n"
        "handle.start()\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    for ask in (handle.result, handle.stop, handle.renew, lambda: [*handle.events()]):\n"
        "        try:\n"
        "            ask()\n"
        "        except fathom.FathomError as error:\n"
        "            print('forked' in str(error), flush=True)\n"
        "    with handle:\n"
        "        pass\n"
        "    os._exit(0)\n"
        "os.waitpid(child, 0)\n"
        "print(handle.result().raw['time_spans'][0]['outcome'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", words], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.split() == ["True"] * 4 + ["complete"], done.stderr


def test_instants_leases_and_reasons_that_are_none_were_raw_errors(tmp_path: Path) -> None:
    load = f"{NULL} -d600 {tmp_path}/x"
    lease: Any
    for lease in (0, -1, math.nan, math.inf, "1", 1e300, True):
        with pytest.raises(fathom.InvalidRequestError):
            RunHandle(load, lease_s=lease)
    live: Any
    for live in ("yes", 1, None):
        with pytest.raises(fathom.InvalidRequestError):
            RunHandle(load, live=live)
    with RunHandle(load) as handle:
        instant: Any
        for instant in (math.nan, math.inf, -math.inf, 1e300, "x", True, time.time_ns()):
            with pytest.raises(fathom.InvalidRequestError, match="at_unix_s"):
                handle.start(instant)
        reason: Any
        for reason in (None, 5, b"x"):
            with pytest.raises(fathom.InvalidRequestError, match="reason"):
                handle.stop(reason)
        handle.stop("\ud800")
        assert handle.result(check=False).raw["ended_by"] == {"holder": {"reason": "?"}}

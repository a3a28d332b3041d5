"""Cluster resources: what the order of a log's lines says, and moves that it shows in part."""

from __future__ import annotations

import gzip
import json
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

import pytest
from commands import command
from fathom.clusters import (
    ClusterError,
    Found,
    local_sources,
    move_words,
    report_of,
    report_to_json,
)
from fathom.clusters.read import read_source, read_text_of
from support import time_zone

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fathom.clusters import ClusterReport

NEWEST = datetime(2026, 11, 30, 23, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def in_berlin() -> Iterator[None]:
    """Summer time ends on October 25, 2026, where 2:00 to 3:00 is repeated."""
    with time_zone("Europe/Berlin"):
        yield


def log(*told: tuple[str, str, str], resource: str = "ip") -> Found:
    """Return what a log tells: the date, operation and node of each line, and the result."""
    lines = []
    for at, what, node in told:
        task, _, result = what.partition(" ")
        words = f"Result of {task} operation for {resource} on {node}: {result or 'ok'} | x"
        lines.append(f"{at} {node} pacemaker-controld [2] (x) \tnotice: {words}\n")
    return read_text_of("".join(lines).encode(), "lab", NEWEST)


def row(report: ClusterReport) -> tuple[str, str]:
    (found,) = report.rows
    return found.node, found.status


def moves(report: ClusterReport) -> list[tuple[str, str]]:
    return [(one.from_node, one.to_node) for one in report.moves]


def test_what_moved_as_summer_time_ended_was_offline_where_it_had_been() -> None:
    """The start stood an hour before the stop, and the exit code was 5."""
    report = report_of(
        [
            log(
                ("Oct 25 01:00:00.000", "start", "n1"),
                ("Oct 25 02:59:59.000", "stop", "n1"),
                ("Oct 25 02:00:01.500", "start", "n2"),
                ("Oct 25 02:40:00.000", "stop", "n2"),
                ("Oct 25 02:40:01.000", "start", "n1"),
            )
        ]
    )
    assert row(report) == ("n1", "Online")
    assert not report.bad
    took = [one.ended_unix_s - one.began_unix_s for one in report.moves]
    assert took == pytest.approx([2.5, 1.0])
    apart_s = report.moves[1].ended_unix_s - report.moves[0].ended_unix_s
    assert apart_s == pytest.approx(40 * 60 - 0.5)


def test_logs_of_a_day_that_were_joined_repeat_no_hour() -> None:
    report = report_of(
        [
            log(
                ("Oct 25 01:59:00.000", "start", "n1"),
                ("Oct 25 23:00:00.000", "stop", "n1"),
                ("Oct 25 02:30:00.000", "monitor error", "n2"),
            )
        ]
    )
    (failed,) = [one for one in report.events if one.kind == "failed"]
    assert failed.at_unix_s == datetime(2026, 10, 25, 0, 30, tzinfo=UTC).timestamp()


def test_what_a_log_told_of_a_year_ago_happened_this_month() -> None:
    months = [f"{one} 10 00:00:00.000" for one in ("Jan", "Apr", "Jul", "Oct")]
    found = log(
        ("Nov 20 01:00:00.000", "start", "n1"),
        ("Dec 25 02:10:00.000", "stop", "n1"),
        *((one, "monitor", "n2") for one in months),
        ("Nov 10 02:10:00.000", "start", "n2"),
    )
    dates = [f"{datetime.fromtimestamp(one.at_unix_s, UTC):%Y-%m}" for one in found.events]
    assert dates == ["2025-11", "2025-12", "2026-11"]


def test_logs_of_two_nodes_that_were_joined_have_the_same_years() -> None:
    each = (("Nov 20 01:00:00.000", "monitor error", "n1"), ("Jan 10 01:00:00.000", "start", "n1"))
    found = log(*each, *each)
    years = [datetime.fromtimestamp(one.at_unix_s, UTC).year for one in found.events]
    assert years == [2025, 2026, 2025, 2026]


def test_a_machine_that_moved_alive_was_offline_where_it_came_from() -> None:
    """It ran on, the move was told, and the exit code was 5."""
    report = report_of(
        [
            log(
                ("Nov 30 10:00:00.000", "start", "n1"),
                ("Nov 30 11:00:00.000", "migrate_to", "n1"),
                ("Nov 30 11:00:02.000", "migrate_from", "n2"),
                ("Nov 30 11:00:04.500", "stop", "n1"),
            )
        ]
    )
    assert (row(report), moves(report)) == (("n2", "Online"), [("n1", "n2")])
    assert not report.bad


def test_a_clock_that_is_half_a_second_ahead_hid_a_move_and_those_behind_it() -> None:
    first, second = (
        log(
            ("Nov 30 10:00:00.000", "start", "n1"),
            ("Nov 30 11:00:00.500", "stop", "n1"),
            ("Nov 30 12:00:00.700", "start", "n1"),
        ),
        log(("Nov 30 11:00:00.300", "start", "n2"), ("Nov 30 12:00:00.000", "stop", "n2")),
    )
    report = report_of([first, second])
    assert moves(report) == [("n1", "n2"), ("n2", "n1")]
    # How long it took is not known by such clocks.
    assert ["within" in one for one in move_words(report)] == [False, True]
    before = report_of(
        [
            log(("Nov 30 10:00:00.000", "start", "n1"), ("Nov 30 11:00:00.500", "stop", "n1")),
            log(("Nov 30 11:00:00.300", "start", "n2")),
        ]
    )
    assert (row(before), moves(before)) == (("n2", "Online"), [("n1", "n2")])


def test_copies_that_restart_one_after_the_other_have_not_moved() -> None:
    report = report_of(
        [
            log(
                ("Nov 30 10:00:00.000", "start", "n1"),
                ("Nov 30 10:00:00.200", "start", "n2"),
                ("Nov 30 11:00:00.000", "stop", "n1"),
                ("Nov 30 11:00:00.300", "start", "n1"),
                ("Nov 30 11:00:00.400", "stop", "n2"),
                ("Nov 30 11:00:00.700", "start", "n2"),
            )
        ]
    )
    assert moves(report) == []


def test_the_first_move_of_a_log_that_was_rotated_was_none() -> None:
    report = report_of(
        [log(("Nov 30 11:00:00.000", "stop", "n1"), ("Nov 30 11:00:00.300", "start", "n2"))]
    )
    (words,) = move_words(report)
    assert words == "lab: ip moved from n1 to n2 at 2026-11-30 11:00:00, within 0.3 s"


def test_what_is_stopped_where_it_failed_to_start_had_not_been_there() -> None:
    report = report_of(
        [
            log(
                ("Nov 30 11:00:00.000", "stop", "n1"),
                ("Nov 30 11:00:00.300", "start error", "n2"),
                ("Nov 30 11:00:00.500", "stop", "n2"),
                ("Nov 30 11:00:01.000", "start", "n3"),
            )
        ]
    )
    assert moves(report) == [("n1", "n3")]


def test_copies_of_which_a_rotated_log_has_the_stops_alone_have_not_moved() -> None:
    times = ("stop", "n1"), ("stop", "n2"), ("start", "n2"), ("start", "n1")
    lines = [(f"Nov 30 11:00:0{at}.000", *one) for at, one in enumerate(times)]
    assert moves(report_of([log(*lines)])) == []


@pytest.mark.parametrize("digits", [30, 400, 5000])
def test_a_journal_with_a_time_beyond_all_numbers_was_an_error_of_python(digits: int) -> None:
    words = "Result of start operation for ip on n1: ok"
    entry = {"__REALTIME_TIMESTAMP": "9" * digits, "MESSAGE": words}
    assert read_text_of(json.dumps(entry).encode(), "lab", NEWEST).events == []


def test_a_report_with_a_time_beyond_all_numbers_was_an_error_of_python() -> None:
    told = report_to_json(report_of([log(("Nov 30 11:00:00.000", "start", "n1"))]))
    told["events"] = [
        {**one, "at_unix_s": 10**400} for one in cast("list[dict[str, object]]", told["events"])
    ]
    with pytest.raises(ClusterError, match="damaged JSON of fathom resources: at_unix_s is 10000"):
        read_text_of(json.dumps(told).encode(), "lab", NEWEST)


def test_an_empty_log_of_this_machine_hid_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, empty, other = (tmp_path / one for one in ("crm_mon", "empty.log", "other.log"))
    program.write_text("#!/bin/sh\necho '<pacemaker-result/>'\n")
    program.chmod(0o755)
    empty.touch()
    words = "Nov 30 11:00:00 n1 pacemaker-controld[2]: notice: Result of start operation for ip"
    other.write_text(f"{words} on n1: ok\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr("fathom.clusters.local._LOGS", (str(empty), str(other)))
    assert [len(one.events) for one in local_sources()] == [0, 1]


def test_a_log_of_this_machine_that_may_not_be_read_was_passed_over_without_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, log = tmp_path / "crm_mon", tmp_path / "pacemaker.log"
    program.write_text("#!/bin/sh\necho '<pacemaker-result/>'\n")
    program.chmod(0o755)
    log.write_text("of another program\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr("fathom.clusters.local._LOGS", (str(log),))
    (found,) = local_sources()
    (words,) = found.unread
    assert words.startswith(f"{log}: it is neither crm_mon's XML")


def test_a_log_that_was_just_rotated_failed_the_report_of_all_files(tmp_path: Path) -> None:
    empty, other = tmp_path / "pacemaker.log", tmp_path / "pacemaker.log.1"
    empty.touch()
    words = "Nov 30 11:00:00 n1 pacemaker-controld[2]: notice: Result of start operation for ip"
    other.write_text(f"{words} on n1: ok\n")
    ended = command("resources", "--json", f"lab={empty}", f"lab={other}")
    assert (ended.returncode, ended.stderr) == (0, f"note: {empty}: it holds nothing\n")
    assert len(json.loads(ended.stdout)["events"]) == 1
    ended = command("resources", str(empty), str(empty))
    assert (ended.returncode, ended.stderr) == (1, f"error: {empty}: it holds nothing\n")


def test_a_rotated_log_that_is_packed_was_of_no_known_form(tmp_path: Path) -> None:
    line = (
        "Nov 30 10:00:00.100 a pacemaker-controld [2] (x) \tnotice: Result of start operation for "
        "ip on a: ok | x\n"
    )
    path = tmp_path / "pacemaker.log-20261130.gz"
    path.write_bytes(gzip.compress(line.encode()))
    os.utime(path, (NEWEST.timestamp(),) * 2)
    assert row(report_of([read_source(path, "lab")])) == ("a", "Online")
    for damaged in (path.read_bytes()[:-12], path.read_bytes()[:12] + b"x" * 40):
        path.write_bytes(damaged)
        with pytest.raises(ClusterError, match=r"-20261130\.gz: it is packed by gzip, and damaged"):
            read_source(path, "lab")

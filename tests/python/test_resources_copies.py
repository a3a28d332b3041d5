"""Cluster resources: copies of one resource, moves, other versions, and earlier reports."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from commands import command
from fathom.clusters import (
    ClusterError,
    Found,
    ResourceEvent,
    move_words,
    read_source,
    report_of,
    report_to_json,
)
from fathom.clusters.read import read_text_of

if TYPE_CHECKING:
    from pathlib import Path

    from fathom.clusters import ClusterReport

NEWEST = datetime(2026, 11, 30, 23, 12, tzinfo=UTC)


def line(second: float, words: str, node: str = "n1") -> str:
    return f"Nov 30 13:54:{second:06.3f} {node} pacemaker-controld [2] (x) \tnotice: {words}\n"


def results(*told: tuple[float, str, str, str]) -> Found:
    """Return what a log tells: second, operation, resource and node of each, all of them done."""
    lines = [
        line(at, f"Result of {what} operation for {who} on {node}: ok | x", node)
        for at, what, who, node in told
    ]
    return read_text_of("".join(lines).encode(), "lab", NEWEST)


def state(resources: str) -> Found:
    text = f"<pacemaker-result><resources>{resources}</resources></pacemaker-result>"
    return read_text_of(text.encode(), "lab", NEWEST)


def copy_of(name: str, node: str, role: str = "Started") -> str:
    return f'<resource id="{name}" role="{role}"><node name="{node}"/></resource>'


def moves(report: ClusterReport) -> list[tuple[str, str, str]]:
    return [(one.group, one.from_node, one.to_node) for one in report.moves]


def test_copies_that_start_on_three_nodes_have_not_moved() -> None:
    """Each start of a clone on another node counted as a move, and rows had others' times."""
    copies = "".join(copy_of("ping", node) for node in ("n1", "n2", "n3"))
    told = state(f'<clone id="ping-clone">{copies}</clone>')
    log = results(
        (1, "start", "ping", "n1"),
        (2, "start", "ping", "n2"),
        (3, "start", "ping", "n3"),
        (7, "stop", "ping", "n3"),
        (9, "start", "ping", "n3"),
    )
    found = report_of([told, log])
    assert found.moves == ()
    seconds = [
        datetime.fromtimestamp(one.last_online_unix_s or 0, UTC).second for one in found.rows
    ]
    assert seconds == [1, 2, 9]
    assert [one.last_offline_unix_s is None for one in found.rows] == [True, True, False]
    # Without crm_mon, too.
    assert report_of([log]).moves == ()


def test_of_a_promotable_resource_the_promoted_copy_moves() -> None:
    log = results(
        (1, "start", "db", "n1"),
        (2, "start", "db", "n2"),
        (3, "promote", "db", "n1"),
        (8, "demote", "db", "n1"),
        (8.5, "stop", "db", "n1"),
        (9, "promote", "db", "n2"),
        (9.5, "start", "db", "n1"),
    )
    found = report_of([log])
    assert moves(found) == [("db", "n1", "n2")]
    assert found.moves[0].ended_unix_s - found.moves[0].began_unix_s == pytest.approx(1)


def test_copies_with_numbers_are_those_that_crm_mon_names() -> None:
    """The log's ``ip:0`` became a resource ``ip`` beside the cluster's own."""
    numbered = copy_of("ip:0", "n1") + copy_of("ip:1", "n2")
    log = results(
        (1, "start", "ip:0", "n1"), (2, "start", "ip:1", "n2"), (3, "start", "web:0", "n1")
    )
    told = state(
        f'<clone id="ips">{numbered}</clone><clone id="webs">{copy_of("web", "n1")}</clone>'
    )
    rows = report_of([told, log]).rows
    assert [(one.group, one.resource) for one in rows] == [
        ("ips", "ip:0"),
        ("ips", "ip:1"),
        ("webs", "web"),
    ]
    assert all(one.last_online_unix_s for one in rows)


def test_a_node_that_was_lost_and_came_back_is_not_when_a_later_move_began() -> None:
    """The move was told to have taken the minutes since the node was lost."""
    log = results(
        (1, "start", "db", "n2"),
        (3, "start", "db", "n1"),
        (10, "stop", "db", "n1"),
        (11, "start", "db", "n2"),
        (40, "stop", "db", "n2"),
        (42, "start", "db", "n1"),
    )
    lost = read_text_of(line(2, "Node n2 state is now lost").encode(), "lab", NEWEST)
    took = [one.ended_unix_s - one.began_unix_s for one in report_of([log, lost]).moves]
    assert took == pytest.approx([1, 1, 2])


def test_a_node_of_another_cluster_is_not_when_a_move_began() -> None:
    """Nodes of the same name in two clusters were one."""
    log = results((1, "start", "db", "n1"), (30, "stop", "db", "n1"), (31, "start", "db", "n2"))
    other = read_text_of(line(5, "Node n1 state is now lost").encode(), "other", NEWEST)
    (move,) = report_of([log, other]).moves
    assert move.ended_unix_s - move.began_unix_s == pytest.approx(1)


def test_a_move_of_which_nobody_saw_the_begin_is_not_told_to_take_no_time() -> None:
    """A node of Windows that dies tells nothing, and its group moved ``within 0.0 s``."""
    events = [
        ResourceEvent("sql", "SQL", "", node, "online", at_s)
        for node, at_s in (("n1", 1000.0), ("n2", 2000.0))
    ]
    (words,) = move_words(report_of([Found("MSCS", "sql", [], events)]))
    assert words.startswith("sql: SQL moved from n1 to n2 at ")
    assert "within" not in words


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        # Pacemaker 1.1.15 to 2.0.4, of which syslog has what is before the bar.
        ("start operation for db on n1: 0 (ok)", "online"),
        ("stop operation for db on n1: 0 (ok) | call=3 key=db_stop_0 confirmed=true", "offline"),
        ("monitor operation for db on n1: 7 (not running)", "failed"),
        ("probe operation for db on n1: 7 (not running)", None),
        ("monitor operation for db on n1: 8 (master)", None),
        ("monitor operation for db on n1: 190 (degraded)", "degraded"),
        ("start operation for db on n1: 1 (unknown error)", "failed"),
        # Pacemaker 3.
        ("start operation for db on n1: OK | graph action confirmed; call=3 key=x rc=0", "online"),
        ("start operation for db on n1: OK", "online"),
        ("probe operation for db on n1: Not running", None),
        ("monitor operation for db on n1: Promoted", None),
        ("monitor operation for db on n1: Not running | x; call=3 key=x rc=7", "failed"),
        ("monitor operation for db on n1: Service is active but might fail soon", "degraded"),
        ("start operation for db on n1: Error occurred (no room)", "failed"),
    ],
)
def test_results_of_other_versions_have_the_same_meaning(words: str, kind: str | None) -> None:
    """A start that Pacemaker 2.0 logged as ``0 (ok)`` was a failure."""
    text = f"Nov 30 13:54:34 n1 pacemaker-controld[28]:  notice: Result of {words}\n"
    events = read_text_of(text.encode(), "lab", NEWEST).events
    assert [one.kind for one in events] == ([] if kind is None else [kind])


def test_the_log_of_pacemaker_1_1_tells_who_lost_a_node() -> None:
    text = (
        "Dec 20 15:24:09 [501] n1.example.org       crmd:   notice: crm_update_peer_state_iter:"
        "    Node n2.example.org state is now lost | nodeid=4 previous=member\n"
    )
    (event,) = read_text_of(text.encode(), "lab", NEWEST).events
    assert (event.node, event.kind) == ("n2.example.org", "node lost")
    assert event.text == "lost, as n1.example.org saw it"


def test_a_log_without_a_date_that_can_be_read_is_refused() -> None:
    """It told that nothing had failed."""
    text = "Wed 2026-11-25 23:10:34 CET n1 x: Result of start operation for db on n1: error\n"
    with pytest.raises(ClusterError, match=r"the date of no line can be read.*short-iso-precise"):
        read_text_of(text.encode(), "lab", NEWEST)


def test_a_failed_migration_is_of_the_resource_and_not_of_a_part_of_its_key() -> None:
    text = (
        '<pacemaker-result><failures><failure op_key="my_vm_migrate_to_0" node="n1" '
        'task="migrate_to" exitstatus="error" last-rc-change="2026-11-25 23:10:37 +01:00"/>'
        '<failure op_key="my_vm_monitor_10000" node="n1" exitstatus="error" '
        'last-rc-change="2026-11-25 23:11:37Z"/></failures></pacemaker-result>'
    )
    events = read_text_of(text.encode(), "lab", NEWEST).events
    assert [one.resource for one in events] == ["my_vm", "my_vm"]


def test_what_is_disabled_is_not_what_is_not_running() -> None:
    disabled = '<resource id="off" role="Stopped" target_role="Stopped"/>'
    stopped = '<resource id="down" role="Stopped" target_role="Started"/>'
    found = report_of([state(disabled + stopped)])
    assert [one.status for one in found.rows] == ["Stopped", "Stopped (disabled)"]
    assert [one.resource for one in found.bad] == ["down"]


def test_an_earlier_report_keeps_the_types_of_its_clusters_and_tells_nothing_of_now(
    tmp_path: Path,
) -> None:
    """The type was lost, and a resource was shown where it had been, beside where it is."""
    windows = [{"Name": "SQL", "OwnerNode": "w1", "State": "Online"}]
    before = report_of(
        [
            state(copy_of("db", "n1") + copy_of("old", "n3")),
            read_text_of(json.dumps(windows).encode(), "sql", NEWEST),
        ]
    )
    (tmp_path / "before.json").write_text(json.dumps(report_to_json(before)))
    now = state(copy_of("db", "n2"))
    report = read_source(tmp_path / "before.json", "any")
    for sources in ([report, now], [now, report]):
        rows = [
            (one.cluster_type, one.cluster, one.resource or one.group, one.node)
            for one in report_of(sources).rows
        ]
        assert rows == [
            ("Pacemaker", "lab", "db", "n2"),
            ("Pacemaker", "lab", "old", "n3"),
            ("MSCS", "sql", "SQL", "w1"),
        ]
    done = command("resources", tmp_path / "before.json", "--format", "csv")
    assert done.stdout.count("Pacemaker,lab") == 2, done.stdout

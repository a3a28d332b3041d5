"""Cluster resources of Windows: names, languages and forms of what PowerShell writes."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from fathom.clusters import ClusterError
from fathom.clusters.read import read_text_of
from fathom.clusters.report import report_of

NEWEST = datetime(2026, 11, 30, tzinfo=UTC)
SPACE = "http://schemas.microsoft.com/powershell/2004/04"


def event(
    message: str | None, number: int = 1069, at: str = "2016-06-23T10:11:12Z"
) -> dict[str, object]:
    return {
        "Id": number,
        "Message": message,
        "TimeCreated": at,
        "MachineName": "n1",
        "ProviderName": "Microsoft-Windows-FailoverClustering",
    }


def test_an_apostrophe_is_part_of_a_name() -> None:
    """The resource 'Bob's disk' was called Bob."""
    told = [
        event("Cluster resource 'Bob's disk' of type 'IP' in clustered role 'Bob's role' failed."),
        event("The Cluster service successfully brought the clustered role 'A's' offline.", 1204),
    ]
    found = read_text_of(json.dumps(told).encode(), "sql", NEWEST).events
    assert [(one.group, one.resource) for one in found] == [
        ("Bob's role", "Bob's disk"),
        ("A's", ""),
    ]


@pytest.mark.parametrize(
    "told",
    [
        event('Die Clusterressource "Disk 1" in der Clusterrolle "SQL" ist fehlgeschlagen.'),
        event(None),
        event("Cluster resource 'A' in clustered role 'SQL' failed.", at="23.06.2016 10:11:12"),
    ],
    ids=["German", "no message", "another date"],
)
def test_failures_that_cannot_be_read_are_not_none(told: object) -> None:
    """A log of failures in another language told that nothing had failed."""
    with pytest.raises(ClusterError, match=r"the time of no event can be read.*\.evtx"):
        read_text_of(json.dumps([told]).encode(), "sql", NEWEST)
    # An event of another program, or of no interest, is none of them.
    other = {"Id": 7036, "TimeCreated": "2016-06-23T10:11:12Z", "ProviderName": "SCM"}
    assert read_text_of(json.dumps([other]).encode(), "sql", NEWEST).events == []


RESOURCES = (
    '<Obj RefId="0"><Props><S N="Name">Disk 1</S><Obj N="State" RefId="1">'
    "<ToString>Online</ToString><I32>2</I32></Obj>"
    '<Obj N="OwnerGroup" RefId="2"><ToString>x</ToString><Props><S N="Name">SQL</S></Props></Obj>'
    '<Obj N="OwnerNode" RefId="3"><ToString>n1</ToString></Obj></Props></Obj>'
    '<Obj RefId="4"><Props><S N="Name">Disk 2</S><Ref N="State" RefId="1"/>'
    '<Ref N="OwnerGroup" RefId="2"/><Ref N="OwnerNode" RefId="3"/></Props></Obj>'
)


@pytest.mark.parametrize(
    "objects",
    [RESOURCES, f'<Obj RefId="9"><LST>{RESOURCES}</LST></Obj>'],
    ids=["a pipe", "-InputObject"],
)
def test_what_clixml_wrote_before_is_found_again(objects: str) -> None:
    """A resource whose group and state were references had neither."""
    text = f'<Objs Version="1.1.0.1" xmlns="{SPACE}">{objects}</Objs>'
    states = read_text_of(text.encode(), "sql", NEWEST).states
    assert [(one.group, one.resource, one.node, one.status) for one in states] == [
        ("SQL", "Disk 1", "n1", "Online"),
        ("SQL", "Disk 2", "n1", "Online"),
    ]


def test_a_node_that_was_removed_from_the_cluster_was_not_told() -> None:
    """What it had was said to have moved at the moment when it was online elsewhere."""
    online = "The Cluster service successfully brought the clustered role 'SQL' online."
    removed = "Cluster node 'n1.lab' was removed from the active failover cluster membership."
    told = [
        {**event(online, 1201, "2016-06-23T10:00:00.5Z"), "MachineName": "n1.lab"},
        {**event(removed, 1135, "2016-06-23T10:10:00.5Z"), "MachineName": "n2.lab"},
        {**event(removed, 1135, "2016-06-23T10:10:01.5Z"), "MachineName": "n3.lab"},
        {**event(online, 1201, "2016-06-23T10:10:30.5Z"), "MachineName": "n2.lab"},
    ]
    report = report_of([read_text_of(json.dumps(told).encode(), "sql", NEWEST)])
    kinds = [(one.node, one.kind) for one in report.events]
    assert kinds == [("n1", "online"), ("n1", "node lost"), ("n2", "online")]
    (move,) = report.moves
    assert (move.from_node, move.to_node, move.ended_unix_s - move.began_unix_s) == ("n1", "n2", 30)


def test_what_had_failed_was_failed_still_where_its_group_had_come_online() -> None:
    """The row had a later time online, and the node that the group had left."""
    told = [
        (1201, "08:00", "N1", "brought the clustered role 'SQL' online"),
        (1069, "09:00", "N1", "Cluster resource 'Disk 2' in clustered role 'SQL' failed"),
        (1204, "09:01", "N1", "brought the clustered role 'SQL' offline"),
        (1201, "09:05", "N2", "brought the clustered role 'SQL' online"),
    ]
    events = [
        {"Id": number, "TimeCreated": f"2026-11-30T{at}:00Z", "MachineName": node,
         "ProviderName": "Microsoft-Windows-FailoverClustering", "Message": text}
        for number, at, node, text in told
    ]  # fmt: skip
    for until, now in ((2, ("N1", "Failed")), (3, ("N1", "Offline")), (4, ("N2", "Online"))):
        (row,) = report_of([read_text_of(json.dumps(events[:until]).encode(), "sql", NEWEST)]).rows
        assert (row.resource, row.node, row.status) == ("Disk 2", *now)

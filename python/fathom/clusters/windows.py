"""Windows clusters: event logs that were exported, as .evtx or through PowerShell.

| id | log | what |
|---|---|---|
| 1201, 1204 | Microsoft-Windows-FailoverClustering/Operational | a group came online, offline |
| 1069, 1609 | System | a resource failed |
| 1167 | System | a resource became degraded |
| 1135 | System | a node was removed from the membership, as each of the others says |
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fathom import _packages
from fathom._extras import install_line
from fathom._text import json_of, one_line
from fathom.clusters.model import ClusterError, Found, Kind, ResourceEvent, ResourceState
from fathom.clusters.pacemaker import parsed_xml
from fathom.clusters.times import dotnet_s, iso_s

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from lxml import etree

__all__ = ["WINDOWS", "read_clixml", "read_evtx", "read_objects"]

WINDOWS = "MSCS"
_KINDS: dict[int, Kind] = {
    1201: "online",
    1204: "offline",
    1167: "degraded",
    1609: "failed",
    1069: "failed",
    1135: "node lost",
}
# Other programs have events of these numbers, too.
_OF_CLUSTERS = re.compile("cluster", re.IGNORECASE)
_MARKS = r"'\"\u2018\u2019\u201c\u201d"
# A name may have an apostrophe within.
_QUOTED = rf"[{_MARKS}](.{{1,300}}?)[{_MARKS}](?!\w)"
_GROUP = re.compile(
    rf"(?:role|application|service|group) {_QUOTED}",
    re.IGNORECASE,
)
_RESOURCE = re.compile(
    rf"cluster resource (?:{_QUOTED}|(.{{1,300}}?) has become degraded)",
    re.IGNORECASE,
)
_NODE = re.compile(rf"cluster node {_QUOTED}", re.IGNORECASE)
_NODE_NAMES = ("nodename",)
_GROUP_NAMES = ("resourcegroup", "groupname", "group")
_RESOURCE_NAMES = ("resourcename", "resource")
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
# CLUSTER_GROUP_STATE and CLUSTER_RESOURCE_STATE of clusapi.h.
_GROUP_STATES = {0: "Online", 1: "Offline", 2: "Failed", 3: "PartialOnline", 4: "Pending"}
_RESOURCE_STATES = {
    0: "Inherited",
    1: "Initializing",
    2: "Online",
    3: "Offline",
    4: "Failed",
    128: "Pending",
    129: "OnlinePending",
    130: "OfflinePending",
}
_MOST_TEXT = 500
_HEADER_BYTES, _CHUNK_BYTES = 4096, 65536


def read_evtx(path: Path, cluster: str) -> Found:
    """Return what an event log tells.

    Raises
    ------
    ClusterError
        If it is no event log, or the library that reads them is missing.

    """
    try:
        parser = _packages.evtx.PyEvtxParser
    except ImportError as error:
        line = install_line("clusters")
        raise ClusterError(f"event logs (.evtx) need the library evtx: {line}") from error
    found = Found(WINDOWS, cluster)
    _check_whole(path)
    try:
        for record in parser(str(path)).records_json():
            if record is not None:
                found.events.extend(_of_record(json_of(str(record["data"])), cluster))
    except (RuntimeError, OSError, ValueError, KeyError) as error:
        raise ClusterError(f"it is no event log, or a damaged one: {error}") from error
    return found


def _check_whole(path: Path) -> None:
    """Refuse a log that is shorter than its header says ([MS-EVEN6], libevtx's documentation)."""
    with path.open("rb") as file:
        head = file.read(_HEADER_BYTES)
    chunks = int.from_bytes(head[42:44], "little")
    if len(head) < _HEADER_BYTES or path.stat().st_size < _HEADER_BYTES + chunks * _CHUNK_BYTES:
        raise ClusterError("it is a damaged event log: it is cut short")


def _of_record(record: Any, cluster: str) -> Iterator[ResourceEvent]:  # noqa: ANN401 - JSON.
    event = record.get("Event") if isinstance(record, dict) else None
    system = event.get("System") if isinstance(event, dict) else None
    if not isinstance(event, dict) or not isinstance(system, dict):
        return
    number = system.get("EventID")
    number = number.get("#text") if isinstance(number, dict) else number
    data = event.get("EventData") or event.get("UserData") or {}
    stamp = _attribute(system.get("TimeCreated"), "SystemTime")
    source = f"{_attribute(system.get('Provider'), 'Name')} {system.get('Channel', '')}"
    values = {str(key).lower(): str(one) for key, one in _flat(data)}
    whole = " ".join(values.values())
    node = str(system.get("Computer", ""))
    yield from _event(cluster, number, source, iso_s(stamp), node, whole, values)


def _attribute(value: Any, name: str) -> str:  # noqa: ANN401 - JSON.
    inner = value.get("#attributes") if isinstance(value, dict) else None
    return str(inner.get(name, "")) if isinstance(inner, dict) else ""


def _flat(data: Any) -> Iterator[tuple[str, object]]:  # noqa: ANN401 - JSON.
    """Return the named values of an event, however deep."""
    if isinstance(data, dict):
        for key, value in data.items():
            if isinstance(value, dict | list):
                yield from _flat(value)
            else:
                yield key, value
    elif isinstance(data, list):
        for at, value in enumerate(data):
            if isinstance(value, dict | list):
                yield from _flat(value)
            else:
                yield str(at), value


def _event(  # noqa: PLR0913, PLR0917 - What an event has.
    cluster: str,
    number: object,
    source: str,
    at_s: float | None,
    node: str,
    text: str,
    values: Mapping[str, str],
) -> Iterator[ResourceEvent]:
    kind = _kind(number)
    if kind is None or at_s is None or not _OF_CLUSTERS.search(f"{source} {text}"):
        return
    words = " ".join(text.split())[:_MOST_TEXT]
    if kind == "node lost":
        # It is another node than the one that says so.
        if lost := _named(values, _NODE_NAMES) or _first(_NODE, text):
            words = f"lost, as {_short(node)} saw it"
            yield ResourceEvent(cluster, "", "", _short(lost), kind, at_s, words)
        return
    group = _named(values, _GROUP_NAMES) or _first(_GROUP, text)
    resource = _named(values, _RESOURCE_NAMES) or _first(_RESOURCE, text)
    if group or resource:
        yield ResourceEvent(cluster, group, resource, _short(node), kind, at_s, words)


def _short(node: str) -> str:
    return node.split(".", maxsplit=1)[0]


def _kind(number: object) -> Kind | None:
    try:
        return _KINDS.get(int(str(number)))
    except ValueError:
        return None


def _named(values: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((values[name] for name in names if values.get(name)), "")


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return next((one.strip() for one in found.groups() if one), "") if found else ""


def read_clixml(data: bytes, cluster: str) -> Found:
    """Return what ``Get-WinEvent`` or ``Get-ClusterGroup`` tell through ``Export-Clixml``.

    Raises
    ------
    ClusterError
        If it is no such text.

    """
    root = parsed_xml(data)
    if _local(root) != "Objs":
        raise ClusterError(f"it is XML of another kind: <{_local(root)}>")
    objects = [one for one in root if _local(one) == "Obj"]
    # ``Export-Clixml -InputObject`` writes one object that is a list.
    lists = [part for one in objects for part in one if _local(part) == "LST"]
    objects += [one for part in lists for one in part if _local(one) == "Obj"]
    known = {one.get("RefId", ""): one for one in root.iter() if _local(one) == "Obj"}
    return read_objects([_clixml_object(one, known) for one in objects], cluster)


def _local(element: etree._Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _clixml_object(
    element: etree._Element, known: Mapping[str, etree._Element]
) -> dict[str, object]:
    """Return the properties of an object by name; of objects within it, what they are called.

    ``known`` has all objects by number: one that was written before is referred to ([MS-PSRP]).
    """
    found: dict[str, object] = {}
    for one in _properties(element):
        if _local(one) in ("Obj", "Ref"):
            inner = known.get(one.get("RefId", ""), one)
            names = [other.text for other in _properties(inner) if other.get("N") == "Name"]
            words = [other.text for other in inner if _local(other) == "ToString"]
            found[one.get("N", "")] = next(filter(None, (*names, *words)), "")
        else:
            text = _ESCAPED.sub(lambda code: chr(int(code[1], 16)), one.text or "")
            found[one.get("N", "")] = text
    return found


def _properties(element: etree._Element) -> Iterator[etree._Element]:
    return (one for part in element if _local(part) in ("Props", "MS") for one in part)


def read_objects(data: object, cluster: str) -> Found:
    """Return what ``Get-WinEvent ... | ConvertTo-Json`` and its like tell.

    Raises
    ------
    ClusterError
        If there is no event, group or resource of a cluster in it, or none that can be read.

    """
    found = Found(WINDOWS, cluster)
    known = 0
    unread = ""
    for one in data if isinstance(data, list) else [data]:
        if not isinstance(one, dict):
            continue
        if "Id" in one and "TimeCreated" in one:
            known += 1
            told = list(_of_object(one, cluster))
            found.events.extend(told)
            if not told and _is_of_interest(one):
                unread = unread or f"{one['TimeCreated']}: {one.get('Message')}"
        elif "State" in one and "Name" in one:
            known += 1
            found.states.append(_state(one, cluster))
    if not known and data != []:
        raise ClusterError("it has no events (Id, TimeCreated), groups or resources (Name, State)")
    if unread and not found.events:
        raise ClusterError(
            f"the time of no event can be read, or what it is about ({one_line(unread[:80])!r}): "
            "export the log as .evtx, which names resources in every language"
        )
    return found


def _is_of_interest(one: Mapping[str, object]) -> bool:
    is_of_clusters = _OF_CLUSTERS.search(str(one.get("ProviderName", ""))) is not None
    return is_of_clusters and _kind(one["Id"]) is not None


def _of_object(one: Mapping[str, object], cluster: str) -> Iterator[ResourceEvent]:
    created = one["TimeCreated"]
    if isinstance(created, dict):
        created = created.get("value") or created.get("DateTime") or ""
    text = str(one.get("Message") or "")
    source = f"{one.get('ProviderName', '')} {one.get('LogName', '')}"
    node = str(one.get("MachineName") or "")
    yield from _event(cluster, one["Id"], source, dotnet_s(str(created)), node, text, {})


def _state(one: Mapping[str, object], cluster: str) -> ResourceState:
    is_resource = "OwnerGroup" in one or "ResourceType" in one
    state, names = one["State"], _RESOURCE_STATES if is_resource else _GROUP_STATES
    text = str(state)
    if text.lstrip("-").isdigit() and len(text) < _FEW_DIGITS:
        text = names.get(int(text), "Unknown")
    name, group = str(one["Name"]), _name(one.get("OwnerGroup"))
    node = _name(one.get("OwnerNode"))
    if is_resource:
        return ResourceState(cluster, group, name, node, text)
    return ResourceState(cluster, name, "", node, text)


_FEW_DIGITS = 6


def _name(value: object) -> str:
    if isinstance(value, dict):
        return str(value.get("Name") or value.get("value") or "")
    return "" if value is None else str(value)


def objects_of(text: str) -> object:
    """Return the JSON of a text, or None if it is none."""
    try:
        return json_of(text)
    except (ValueError, RecursionError):
        return None

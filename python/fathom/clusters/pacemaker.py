"""Pacemaker: ``crm_mon --output-as=xml`` for now, its log or the journal for what happened.

crm_mon keeps the last operation of a resource on a node alone, to a second, and writes dates in two
forms; the log has all of them, to a millisecond.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from lxml import etree

from fathom._text import json_of, one_line
from fathom.clusters.log_dates import LogDate, LogDates
from fathom.clusters.model import ClusterError, Found, Kind, ResourceEvent, ResourceState
from fathom.clusters.times import iso_s, long_s

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

__all__ = ["PACEMAKER", "read_journal", "read_log", "read_state"]

PACEMAKER = "Pacemaker"
_MOST_NAME = 500
# Of microseconds since 1970 in 64 bits.
_MOST_DIGITS = 20
# Pacemaker 1.1 has its process before the host.
_LINE = re.compile(
    r"(?P<at>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,6})?) "
    r"(?:\[\d{1,10}\] )?(?P<host>\S{1,255}) "
)
_ISO_LINE = re.compile(
    r"(?P<at>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,6})?(?:Z|[+-]\d\d:?\d\d)) "
    r"(?P<host>\S{1,255}) "
)
_RESULT = re.compile(
    r"Result of (?P<task>[a-z_-]{1,40}) operation for (?P<resource>\S{1,500}) on "
    r"(?P<node>\S{1,255}): (?P<result>[^|\n]{1,500})"
)
# What a line has behind it where it is not of syslog.
_RC = re.compile(r"\|.* rc=(\d{1,3})(?:\s|$)")
# Pacemaker 1.1.15 to 2.0.4 write ``0 (ok)``.
_NUMBERED = re.compile(r"(?P<code>\d{1,3}) \((?P<words>[^)]*)\)")
# The process is crmd until 1.1.
_LOST = re.compile(r"(?:controld|crmd)\b.*?:\s+Node (?P<node>\S{1,255}) state is now lost")
_ONLINE = ("start", "promote", "migrate_from")
_OFFLINE = ("stop", "demote", "migrate_to")
# What an operation says that found what is to be there.
_FINE = ("ok", "master", "promoted", "cancelled")
# The last two are Pacemaker 3's (crm_exit_str of lib/common/results.c).
_DEGRADED = (
    "degraded",
    "degraded_master",
    "degraded_promoted",
    "service is active but might fail soon",
    "service is promoted but might fail soon",
)
_CODES: dict[str, Kind] = {"190": "degraded", "191": "degraded"}


def read_state(data: bytes, cluster: str) -> Found:
    """Return what crm_mon tells.

    Raises
    ------
    ClusterError
        If it is no answer of crm_mon, or one that tells of a fault.

    """
    root = parsed_xml(data)
    status = root.find("status")
    if status is not None and status.get("code") not in (None, "0"):
        raise ClusterError(f"crm_mon says: {status.get('message')}")
    found = Found(PACEMAKER, cluster)
    groups: dict[str, str] = {}
    for resource in root.iterfind("resources//resource"):
        name, group = resource.get("id", ""), _group_of(resource)
        groups[name] = group
        nodes = [node.get("name", "") for node in resource.iterfind("node")]
        status_words = _status(resource)
        for node in nodes or [""]:
            found.states.append(ResourceState(cluster, group, name, node, status_words))
    found.events.extend(_history(root, cluster, groups))
    return found


def parsed_xml(data: bytes) -> etree._Element:
    """Return the root of XML from outside: no entities, no network, no depth without end.

    Raises
    ------
    ClusterError
        If it is no XML.

    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise ClusterError(f"it is no XML: {error}") from error


def _group_of(resource: etree._Element) -> str:
    for above in resource.iterancestors():
        if above.tag in ("group", "clone", "bundle"):
            return above.get("id", "")
    return resource.get("id", "")


def _status(resource: etree._Element) -> str:
    if resource.get("failed") == "true":
        return "Failed"
    if resource.get("blocked") == "true":
        return "Blocked"
    role = resource.get("role", "Unknown")
    # As crm_mon says it in its own text.
    is_disabled = role == resource.get("target_role") == "Stopped"
    return f"{role} (disabled)" if is_disabled else role


def _history(root: etree._Element, cluster: str, groups: dict[str, str]) -> Iterator[ResourceEvent]:
    for node in root.iterfind("node_history/node"):
        for resource in node.iterfind("resource_history"):
            for operation in resource.iterfind("operation_history"):
                at_s = long_s(operation.get("last-rc-change", ""))
                task, code = operation.get("task", ""), operation.get("rc", "")
                is_probe = task in ("monitor", "probe") and not operation.get("interval")
                kind = _kind(task, operation.get("rc_text", ""), code, is_probe=is_probe)
                name = resource.get("id", "")
                if at_s is not None and kind is not None:
                    group = groups.get(name, name)
                    text = f"{task}: {operation.get('rc_text', '')}"
                    own = node.get("name", "")
                    yield ResourceEvent(cluster, group, name, own, kind, at_s, text)
    for failure in root.iterfind("failures/failure"):
        at_s = long_s(failure.get("last-rc-change", ""))
        task = re.escape(failure.get("task") or "") or "[a-z-]+"
        name = re.sub(rf"_{task}_\d+$", "", failure.get("op_key", ""))
        if at_s is not None and name:
            why = failure.get("exitreason") or failure.get("exitstatus", "")
            text = f"{failure.get('task', '')}: {why}"
            own = failure.get("node", "")
            yield ResourceEvent(cluster, groups.get(name, name), name, own, "failed", at_s, text)


def _kind(task: str, result: str, code: str = "", *, is_probe: bool = False) -> Kind | None:
    """Return what an operation means; None if nothing happened by it."""
    words = result.strip()
    numbered = _NUMBERED.match(words)
    if numbered:
        code, words = code or numbered["code"], numbered["words"]
    first = words.split(" (", maxsplit=1)[0].lower()
    if code in _CODES or first in _DEGRADED:
        return "degraded"
    if first not in _FINE and code not in ("0", "8"):
        # A look where something is not running is what it is for.
        is_look = is_probe or task == "probe"
        return None if is_look and (first == "not running" or code == "7") else "failed"
    if first == "cancelled":
        return None
    return "online" if task in _ONLINE else "offline" if task in _OFFLINE else None


def read_log(text: str, cluster: str, newest: datetime) -> Found:
    """Return what a log tells: ``pacemaker.log``, syslog or ``journalctl -o short-iso``.

    ``newest`` is when it was last written, which tells the year of its lines.

    Raises
    ------
    ClusterError
        If it tells of operations, and the date of no line can be read.

    """
    found = Found(PACEMAKER, cluster)
    dates = LogDates()
    told = [*_told(text, dates)]
    is_dated = not told
    for line, host, date in told:
        at_s = dates.unix_s(date, newest) if isinstance(date, LogDate) else date
        if at_s is not None:
            found.events.extend(_events(line, cluster, at_s, host))
            is_dated = True
    if not is_dated:
        raise ClusterError(
            f"the date of no line can be read ({one_line(told[0][0][:40])!r}): use pacemaker.log, "
            "or journalctl -o short-iso-precise"
        )
    return found


def _told(text: str, dates: LogDates) -> Iterator[tuple[str, str, LogDate | float | None]]:
    """Return each line that tells something, its host, and its date."""
    for line in text.splitlines():
        dates.look(line)
        if "Result of " not in line and " state is now lost" not in line:
            continue
        if head := _LINE.match(line):
            yield line, head["host"], dates.of(head["at"])
        elif iso := _ISO_LINE.match(line):
            yield line, iso["host"], iso_s(iso["at"].replace(",", "."))
        else:
            yield line, "", None


def read_journal(text: str, cluster: str) -> Found:
    """Return what ``journalctl -o json`` tells: one object in each line."""
    found = Found(PACEMAKER, cluster)
    for line in text.splitlines():
        if "Result of " not in line and " state is now lost" not in line:
            continue
        try:
            entry = json_of(line)
        except (ValueError, RecursionError):
            continue
        stamp = str(entry.get("__REALTIME_TIMESTAMP", "")) if isinstance(entry, dict) else ""
        if stamp.isascii() and stamp.isdigit() and len(stamp) <= _MOST_DIGITS:
            program = entry.get("SYSLOG_IDENTIFIER", "")
            message = f"{program}: {entry.get('MESSAGE', '')}"
            host = str(entry.get("_HOSTNAME", ""))
            found.events.extend(_events(message, cluster, int(stamp) / 1e6, host))
    return found


def _events(line: str, cluster: str, at_s: float, host: str) -> Iterator[ResourceEvent]:
    result = _RESULT.search(line)
    if result:
        rc = _RC.search(line, result.end())
        kind = _kind(result["task"], result["result"], rc[1] if rc else "")
        if kind is not None:
            name, node = result["resource"], result["node"]
            text = f"{result['task']}: {result['result'].strip()}"[:_MOST_NAME]
            yield ResourceEvent(cluster, "", name, node, kind, at_s, text)
        return
    lost = _LOST.search(line)
    if lost:
        yield ResourceEvent(
            cluster, "", "", lost["node"], "node lost", at_s, f"lost, as {host} saw it"
        )


def is_json_lines(text: str) -> bool:
    """Whether a text is of lines of JSON, as the journal has them."""
    first = text.lstrip().split("\n", 1)[0]
    try:
        return isinstance(json.loads(first), dict) and "__REALTIME_TIMESTAMP" in first
    except (ValueError, RecursionError):
        return False

"""Gates as JUnit XML, which pipelines show as tests (``schema/gate-junit.xsd``)."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lxml import etree

from fathom._text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.gates.judged import Check, JudgedGate

__all__ = ["junit_xml"]

# What XML 1.0 has no way to write (2.2, Characters).
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(gates: Sequence[JudgedGate], *, at_unix_s: float, host_name: str) -> bytes:
    """Return a suite for each gate, with a test for each limit.

    A limit that is broken is a failure; one of which nothing can be told is skipped, with the
    reason: it is no pass, and the exit code says so, too.
    """
    counts = _counts([check for gate in gates for check in gate.checks])
    # Some readers know no such count of all suites together.
    del counts["skipped"]
    root = etree.Element("testsuites", {"name": "fathom gate", **counts})
    instant = datetime.fromtimestamp(at_unix_s, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    for gate in gates:
        facts = {"name": _clean(gate.name), "hostname": _clean(host_name), "timestamp": instant}
        suite = etree.SubElement(root, "testsuite", {**facts, **_counts(gate.checks)})
        _properties(suite, gate)
        for check in gate.checks:
            _case(suite, gate, check)
        if gate.notes:
            etree.SubElement(suite, "system-out").text = _clean("\n".join(gate.notes))
    return bytes(etree.tostring(root, encoding="UTF-8", xml_declaration=True, pretty_print=True))


def _counts(checks: Sequence[Check]) -> dict[str, str]:
    decisions = [one.decision for one in checks]
    return {
        "tests": str(len(checks)),
        "failures": str(decisions.count("broken")),
        "errors": "0",
        "skipped": str(decisions.count("cannot tell")),
        "time": "0",
    }


def _properties(suite: etree._Element, gate: JudgedGate) -> None:
    facts = {"runs": ",".join(map(str, gate.runs))}
    if gate.baseline is not None:
        facts |= {
            "baseline": gate.baseline,
            "baseline_runs": ",".join(map(str, gate.baseline_runs)),
        }
    properties = etree.SubElement(suite, "properties")
    for name, value in facts.items():
        etree.SubElement(properties, "property", {"name": name, "value": _clean(value)})


def _case(suite: etree._Element, gate: JudgedGate, check: Check) -> None:
    facts = {"classname": _clean(f"fathom.{gate.name}"), "name": _clean(check.limit), "time": "0"}
    case = etree.SubElement(suite, "testcase", facts)
    words = _clean(check.words)
    if check.decision == "broken":
        etree.SubElement(case, "failure", {"message": words, "type": "broken"}).text = words
    elif check.decision == "cannot tell":
        etree.SubElement(case, "skipped", {"message": words})
    else:
        etree.SubElement(case, "system-out").text = words


def _clean(text: str) -> str:
    return _NO_XML.sub("\ufffd", plain(text))

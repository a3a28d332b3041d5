"""A report as a page of HTML, and as a mail."""

from __future__ import annotations

from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from html import escape
from typing import TYPE_CHECKING

from fathom._text import one_line
from fathom.clusters.model import COLUMNS
from fathom.clusters.written import NEVER, named_rows, stamp
from fathom.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.clusters.model import ClusterReport, Move

__all__ = ["html_page", "mail_of", "move_words", "summary_words"]

_CSS = (
    "body{font:14px/1.4 system-ui,sans-serif;margin:2em auto;max-width:80em;padding:0 1em;"
    "color-scheme:light dark}table{border-collapse:collapse;margin:1em 0}"
    "th,td{border:1px solid #8888;padding:.3em .6em;text-align:left;vertical-align:top}"
    ".bad{background:#b3261e22}.bad td:first-child{border-left:4px solid #b3261e}"
    ".scroll{overflow-x:auto}"
)
_MOST_EVENTS = 2000
_MOST_SUBJECT = 150


def summary_words(report: ClusterReport) -> str:
    """Return how many resources there are, and how many need somebody."""
    clusters = len({one.cluster for one in report.rows})
    what = f"{len(report.rows)} resource{'' if len(report.rows) == 1 else 's'}"
    where = f"{clusters} cluster{'' if clusters == 1 else 's'}"
    bad = len(report.bad)
    words = "none failed or degraded" if not bad else f"{bad} failed, degraded or not running"
    moved = f", {len(report.moves)} move{'' if len(report.moves) == 1 else 's'}"
    return f"{what} of {where}: {words}{moved if report.moves else ''}"


def move_words(report: ClusterReport) -> list[str]:
    """Return each move as a sentence, the earliest first."""
    return [
        one_line(
            f"{one.cluster}: {one.group} moved from {one.from_node} to {one.to_node} at "
            f"{stamp(one.began_unix_s)}{_within(one)}"
        )
        for one in report.moves
    ]


def _within(move: Move) -> str:
    """Return how long a move took, where both of its ends are known."""
    took_s = move.ended_unix_s - move.began_unix_s
    return f", within {took_s:.1f} s" if took_s > 0 else ""


def html_page(report: ClusterReport) -> str:
    """Return a page that needs nothing else, in which every name is text."""
    bad = [one.is_bad for one in report.rows]
    rows = [[row[name] for name in COLUMNS] for row in named_rows(report)]
    events = [
        [stamp(one.at_unix_s), one.cluster, one.group, one.resource, one.node, one.kind, one.text]
        for one in report.events[-_MOST_EVENTS:]
    ]
    heads = ("When", "Cluster", "Group", "Resource", "Node", "What", "In its words")
    moves = "".join(f"<li>{_text(one)}</li>" for one in move_words(report))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\"><title>Cluster resources - Fathom</title>"
        f"<style>{_CSS}</style></head><body><h1>Cluster resources</h1>"
        f"<p>{_text(summary_words(report))}.{_since(report)}</p>"
        f"{_table(COLUMNS, rows, bad)}"
        f"{f'<h2>Moves</h2><ul>{moves}</ul>' if moves else ''}"
        f"{'<h2>Events</h2>' + _table(heads, events) if events else ''}</body></html>\n"
    )


def _since(report: ClusterReport) -> str:
    return "" if report.since_unix_s is None else f" Since {stamp(report.since_unix_s)}."


def _text(words: str) -> str:
    return escape(one_line(words))


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], bad: Sequence[bool] = ()) -> str:
    marks = bad or [False] * len(rows)
    head = "".join(f'<th scope="col">{_text(one)}</th>' for one in heads)
    lines = []
    for row, is_bad in zip(rows, marks, strict=True):
        cells = "".join(f"<td>{_text(one)}</td>" for one in row)
        lines.append(f"<tr{' class=bad' if is_bad else ''}>{cells}</tr>")
    parts = f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody>"
    return f'<div class="scroll"><table>{parts}</table></div>'


def mail_of(report: ClusterReport, sender: str, recipients: Sequence[str]) -> EmailMessage:
    """Return the report as a mail: as text, and as a page.

    Raises
    ------
    InvalidRequestError
        If an address is none.

    """
    for address in (sender, *recipients):
        local, at, domain = address.rpartition("@")
        is_odd = any(ord(one) <= ord(" ") or one in '<>(),;:\\"[]' for one in address)
        if not (local and at and domain) or is_odd or "@" in local or not address.isascii():
            raise InvalidRequestError(f"{one_line(address)!r} is no address such as me@example.org")
    message = EmailMessage()
    message["From"], message["To"] = sender, ", ".join(recipients)
    # No name of others stands in a header.
    message["Subject"] = f"Cluster resources: {summary_words(report)}"[:_MOST_SUBJECT]
    message["Date"], message["Message-ID"] = formatdate(localtime=True), make_msgid(domain="fathom")
    message.set_content(_plain(report))
    message.add_alternative(html_page(report), subtype="html")
    return message


def _plain(report: ClusterReport) -> str:
    lines = [f"{summary_words(report)}.", ""]
    for row, one in zip(named_rows(report), report.rows, strict=True):
        mark = "! " if one.is_bad else "  "
        times = [f"{name} {row[name]}" for name in COLUMNS[6:] if row[name] != NEVER]
        place = "/".join(filter(None, (one.cluster, one.group, one.resource)))
        lines.append(
            one_line(f"{mark}{place}: {one.status} on {one.node or '-'}; {', '.join(times)}")
        )
    return "\n".join([*lines, "", *move_words(report)]) + "\n"

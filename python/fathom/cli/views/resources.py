"""Cluster resources on the terminal and in files."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import typer

from fathom import clusters
from fathom._finite import json_words
from fathom._formulas import no_formula
from fathom._text import one_line
from fathom.cli.views.runs import console, text_table
from fathom.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from fathom.clusters import ClusterReport

__all__ = ["check_form", "content_of", "file_text", "show_resources"]

# What a narrow terminal need not have, the first one first.
_SPARE = ("ClusterType", "LastDegraded", "LastOffline")
_NAMES = ("ClusterName", "ResourceGroup", "Resource", "ServerName")


def content_of(report: ClusterReport) -> dict[str, object]:
    """Return all of a report, for JSON."""
    return clusters.report_to_json(report)


def show_resources(report: ClusterReport) -> None:
    """Print the rows, the moves, and how many need somebody."""
    columns = [f"{one}~" if one in _NAMES else one for one in clusters.COLUMNS]
    rows = [
        [one_line(row[name]) for name in clusters.COLUMNS] for row in clusters.named_rows(report)
    ]
    if rows:
        console().print(text_table("", columns, rows, spare=_SPARE))
    for words in clusters.move_words(report):
        typer.echo(words)
    typer.echo(f"{clusters.summary_words(report)}.")


def _json(report: ClusterReport) -> str:
    return json_words(content_of(report)) + "\n"


def check_form(place: Path) -> None:
    """Refuse a file whose name says no form.

    Raises
    ------
    InvalidRequestError
        It says which there are.

    """
    if place.suffix.lower() not in _FORMS:
        raise InvalidRequestError(f"{place} says no form: end it with .csv, .json or .html")


def file_text(report: ClusterReport, place: Path) -> str:
    """Return a report in the form that a file's name says.

    Raises
    ------
    InvalidRequestError
        If it says none.

    """
    check_form(place)
    return _FORMS[place.suffix.lower()](report)


def _csv(report: ClusterReport) -> str:

    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(clusters.COLUMNS)
    for row in clusters.named_rows(report):
        writer.writerow([no_formula(one_line(row[name])) for name in clusters.COLUMNS])
    return text.getvalue()


_FORMS: Mapping[str, Callable[[ClusterReport], str]] = {
    ".json": _json,
    ".csv": _csv,
    ".html": clusters.html_page,
    ".htm": clusters.html_page,
}

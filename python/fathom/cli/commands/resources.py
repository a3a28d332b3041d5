"""``fathom resources``: which cluster resources moved, failed or degraded."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import fathom
from fathom import clusters
from fathom._export import check_place, new_file
from fathom._finite import json_words
from fathom.cli.commands import _places
from fathom.cli.common import JsonOption, exit_code, fail
from fathom.cli.exit_codes import EXIT_INVALID, EXIT_WORSE
from fathom.cli.views.resources import check_form, content_of, file_text, show_resources
from fathom.units import TIMES_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.clusters import ClusterReport, Found

__all__ = ["resources"]

_SINCE = re.compile(r"(\d{1,6})\s*(m|min|h|d|w)")
_SECONDS = {**TIMES_S, "min": TIMES_S["m"], "w": 7 * TIMES_S["d"]}
_SUBMISSION_PORT = 587
_GREATEST_PORT = 65535


def resources(  # noqa: PLR0913 - Each is an option of the command.
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[[CLUSTER=]FILE]...",
            help="crm_mon's XML, logs of Pacemaker or its journal, .evtx, texts of Export-Clixml "
            "or ConvertTo-Json; this machine's Pacemaker if left out.",
        ),
    ] = None,
    *,
    since: Annotated[
        str | None, typer.Option(help="What happened before is left out: 7d, 12h or 2026-11-01.")
    ] = None,
    groups: Annotated[bool, typer.Option("--groups", help="A row for each group alone.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", help="A file whose name ends with .csv, .json or .html."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a file that is there already.")
    ] = False,
    mail_to: Annotated[
        list[str] | None, typer.Option(help="Send it there, too; may be given more than once.")
    ] = None,
    mail_from: Annotated[str | None, typer.Option(help="The address of who sends it.")] = None,
    smtp: Annotated[
        str | None, typer.Option(help="The mail server; port 587 (STARTTLS) if none is named.")
    ] = None,
    smtp_user: Annotated[
        str | None,
        typer.Option(help="Its account; the password is in FATHOM_SMTP_PASSWORD or a file."),
    ] = None,
    smtp_password: Annotated[
        Path | None, typer.Option("--smtp-password-file", help="The file that holds the password.")
    ] = None,
    smtp_ca: Annotated[
        Path | None, typer.Option(help="The certificates that are trusted, else the system's.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Tell which cluster resources moved, failed or degraded, and when.

    The exit code is 5 if one failed or degraded in that time, or is neither running nor disabled.
    """
    try:
        if mail_to and not (smtp and mail_from):
            fail("--mail-to needs --smtp and --mail-from", EXIT_INVALID)
        if output is not None and _places.is_nowhere(output):
            output = None
        if output is not None:
            check_form(output)
            check_place(output, overwrite=overwrite)
        found = _read(sources) if sources else _here()
        report = clusters.report_of(found, since_unix_s=_since(since), groups_only=groups)
        unsent = None
        if mail_to and smtp and mail_from:
            # An output that is closed, or a full disk, keeps nobody from getting it; nor a mail
            # that is not taken, the others.
            how = (smtp, smtp_user, smtp_password, smtp_ca)
            unsent = _unsent(report, mail_to, mail_from, how)
        try:
            if as_json:
                typer.echo(json_words(content_of(report)))
            else:
                show_resources(report)
        finally:
            if output is not None:
                _write(report, output, overwrite=overwrite)
        if unsent is not None:
            raise unsent
    except fathom.FathomError as error:
        fail(error, exit_code(error))
    if report.bad:
        raise typer.Exit(EXIT_WORSE)


def _since(text: str | None) -> float | None:
    """Return the instant of ``7d`` or ``2026-11-01`` in seconds since 1970."""
    if text is None:
        return None

    found = _SINCE.fullmatch(text.strip())
    at_s = time.time() - int(found[1]) * _SECONDS[found[2]] if found else clusters.iso_s(text)
    if at_s is None:
        fail(f"--since {text}: write 7d, 12h or 2026-11-01", EXIT_INVALID)
    return at_s


def _read(sources: Sequence[str]) -> list[Found]:
    """Return what files tell; some may hold nothing, but not all."""
    found, empty = [], []
    for one in sources:
        try:
            found.append(_read_one(one))
        except clusters.EmptySourceError as error:
            empty.append(error)
    if not found:
        raise empty[0]
    for words in empty:
        typer.echo(f"note: {words}", err=True)
    return found


def _read_one(text: str) -> Found:
    """Return what a file tells; a name before ``=`` is the cluster's if no file is called so."""
    name, equals, path = text.partition("=")
    if not equals or Path(text).exists():
        name, path = "", text
    return clusters.read_source(Path(path), name or "cluster")


def _here() -> list[Found]:
    """Return what this machine's Pacemaker tells, its log included."""
    found = clusters.local_sources()
    for one in (words for source in found for words in source.unread):
        typer.echo(f"note: {one}", err=True)
    return found


def _write(report: ClusterReport, place: Path, *, overwrite: bool) -> None:
    text = file_text(report, place)
    with new_file(place, overwrite=overwrite) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
    typer.echo(f"{place}: {len(report.rows)} rows", err=True)


def _unsent(
    report: ClusterReport,
    recipients: list[str],
    sender: str,
    how: tuple[str, str | None, Path | None, Path | None],
) -> clusters.ClusterError | None:
    """Send a report; return why that was not possible."""
    try:
        _mail(report, recipients, sender, how)
    except clusters.ClusterError as error:
        return error
    return None


def _mail(
    report: ClusterReport,
    recipients: list[str],
    sender: str,
    how: tuple[str, str | None, Path | None, Path | None],
) -> None:

    address, user, password_file, certificates = how
    host, colon, port = address.rpartition(":")
    if not colon:
        host, port = address, str(_SUBMISSION_PORT)
    if not (port.isascii() and port.isdigit() and 0 < int(port) <= _GREATEST_PORT and host):
        fail(f"--smtp {address}: write HOST or HOST:PORT", EXIT_INVALID)
    message = clusters.mail_of(report, sender, recipients)
    trusted = None if certificates is None else str(certificates)
    server = clusters.MailServer(
        host.strip("[]"), int(port), user, _password(password_file), trusted
    )
    clusters.send(server, message)
    typer.echo(f"sent to {', '.join(recipients)}", err=True)


def _password(file: Path | None) -> str | None:
    if file is None:
        return os.environ.get("FATHOM_SMTP_PASSWORD")
    try:
        return file.read_text(encoding="utf-8").rstrip("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise fathom.InvalidRequestError(f"{file} cannot be read as a password: {error}") from error

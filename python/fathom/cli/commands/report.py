"""``fathom report``: what was measured, as a page, as paper, as pictures or in the terminal."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fathom import report as reports
from fathom._finite import json_words
from fathom._redact import pseudonyms_of
from fathom.cli import views
from fathom.cli.commands import _places
from fathom.cli.common import JsonOption, RedactOption, StoreOption, fail, opened_store
from fathom.cli.exit_codes import EXIT_INVALID
from fathom.store.damage import damage_told

if TYPE_CHECKING:
    from fathom.report import Material
    from fathom.store import Store

__all__ = ["ForceOption", "ReportReferences", "ThemeChoice", "ThemeOption", "report"]


class FormChoice(StrEnum):
    """The forms of a report."""

    HTML = "html"
    PDF = "pdf"
    PNG = "png"
    SVG = "svg"
    MD = "md"


class ThemeChoice(StrEnum):
    """The colours of pictures."""

    LIGHT = "light"
    DARK = "dark"


ReportReferences = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[REFERENCE]...",
        help="Experiments (e3), runs (12 or 12,14), baselines, or files of diskspd --json; the "
        "newest experiment if left out. Several are shown side by side.",
    ),
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Replace a file that Fathom did not make.")
]
ThemeOption = Annotated[ThemeChoice, typer.Option(help="The colours of png and svg.")]


def report(  # noqa: PLR0913 - Each is an option of the command.
    references: ReportReferences = None,
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            parser=_places.named,
            help="The file, whose name says the form, or a folder for it; a folder for png and "
            "svg. - is the standard output.",
            show_default=False,
        ),
    ] = None,
    form: Annotated[
        FormChoice | None, typer.Option("--format", help="html, if the output does not say it.")
    ] = None,
    theme: ThemeOption = ThemeChoice.LIGHT,
    force: ForceOption = False,
    terminal: Annotated[
        bool, typer.Option("--terminal", help="Show it here, with small charts.")
    ] = False,
    events: Annotated[
        list[Path] | None,
        typer.Option(help="What happened to a cluster meanwhile: JSON of fathom resources."),
    ] = None,
    redact: RedactOption = False,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Report on what was measured: one page with figures, findings and all that repeats it."""
    wanted = references or []
    with opened_store(store, make=False) as opened:
        material = reports.gather(opened, wanted)
        if events:
            material = reports.with_events(material, events)
        if redact:
            material = _redacted(opened, material)
    # Not even the name of the file tells what was reported on.
    words = ["redacted"] if redact else wanted
    with damage_told(", ".join(wanted) or "the newest experiment"):
        if as_json:
            typer.echo(json_words(_as_dict(material)))
        elif terminal:
            views.show_report(material)
        else:
            _save(material, words, output, form, theme, force=force)


def _redacted(store: Store, material: Material) -> Material:
    """Return the report without hosts, serial numbers, paths and users."""
    names = pseudonyms_of(run.columns for run in store.runs.list())
    for _, run in material.runs:
        for one in (dict(run.facts), [dict(row) for row in run.beneath], dict(run.result.raw)):
            names.learn_fields(one)
    redacted: Material = names.data(material)
    return redacted


def _as_dict(material: Material) -> dict[str, object]:
    """Return the words and the tables of a report."""
    figures, left_out = reports.figures_of(material)
    sides = [
        {
            "name": side.name,
            "verb": side.verb,
            "verdict": side.verdict and asdict(side.verdict),
            "numbers": [asdict(one) for one in side.numbers],
            "findings": [asdict(one) for one in side.advice],
            "device": dict(side.device),
            "commands": side.commands,
            "notes": side.notes,
        }
        for side in material.sides
    ]
    tables = [
        {
            "name": figure.name,
            "title": figure.title,
            "columns": [asdict(column) for column in figure.table.columns],
            "rows": figure.table.rows,
        }
        for figure in figures
    ]
    return {
        "title": material.title,
        "happened": material.happened,
        "command": material.command,
        "sides": sides,
        "figures": tables,
        "left_out": [asdict(one) for one in left_out],
    }


def _save(  # noqa: PLR0913 - What the command was told.
    material: Material,
    references: list[str],
    output: Path | None,
    form: FormChoice | None,
    theme: ThemeChoice,
    *,
    force: bool,
) -> None:
    chosen = form or _form_of(output)
    name = _default_name(references, chosen)
    if chosen in (FormChoice.PNG, FormChoice.SVG):
        _save_pictures(material, output or Path(name), chosen, theme, force=force)
        return
    place = _places.place_of(output, name)
    _places.check(place, is_text=chosen is not FormChoice.PDF, force=force)
    content = _content(material, chosen)
    if _places.put(place, content, force=force):
        typer.echo(f"{place}: {len(content) / (1 << 20):.2f} MiB", err=True)


def _form_of(output: Path | None) -> FormChoice:
    suffix = _places.suffix_of(output)
    if not suffix:
        return FormChoice.HTML
    other = {"markdown": "md", "htm": "html"}
    suffix = other.get(suffix, suffix)
    if suffix not in [one.value for one in FormChoice]:
        fail(
            f"{output} does not say its form: end it with .html, .pdf or .md, or add --format",
            EXIT_INVALID,
        )
    return FormChoice(suffix)


def _default_name(references: list[str], form: FormChoice) -> str:
    is_folder = form in (FormChoice.PNG, FormChoice.SVG)
    return _places.usual_name("report", references, "newest", "" if is_folder else form.value)


def _content(material: Material, form: FormChoice) -> bytes:
    if form is FormChoice.PDF:
        return reports.pdf_pages(material)
    text = reports.html_page(material) if form is FormChoice.HTML else reports.markdown(material)
    return text.encode()


def _save_pictures(
    material: Material, folder: Path, form: FormChoice, theme: ThemeChoice, *, force: bool
) -> None:
    """Write one picture for each figure into a folder."""
    is_nowhere = _places.is_nowhere(folder)
    if not is_nowhere:
        _make_folder(folder, form)
    figures, left_out = reports.figures_of(material)
    for figure in figures:
        view = figure.views[0]
        comment = f"{material.title}: {figure.title} {view.label}"
        kind: Literal["png", "svg"] = "png" if form is FormChoice.PNG else "svg"
        content = reports.picture(view, kind, theme=theme.value, comment=comment)
        place = folder if is_nowhere else folder / f"{figure.name}.{kind}"
        if _places.put(place, content, force=force):
            typer.echo(str(place), err=True)
    for one in left_out:
        typer.echo(f"{one.title}: {one.why}", err=True)


def _make_folder(folder: Path, form: FormChoice) -> None:
    """Make the folder for pictures, or say why it is none."""
    words = f"with {form.value} there is one picture for each figure"
    if _places.is_output(folder):
        fail(
            f"{words}, and the standard output takes one: name a folder, or draw one figure with "
            "fathom plot",
            EXIT_INVALID,
        )
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        why = "it is no folder" if folder.exists() else error.strerror
        raise reports.ReportError(
            f"{folder} cannot take the pictures: {why}; {words}: name a folder"
        ) from error

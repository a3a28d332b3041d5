"""``fathom plot``: one figure as a picture."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from fathom import report as reports
from fathom._finite import json_words
from fathom.cli.commands import _places
from fathom.cli.commands.report import ForceOption, ReportReferences, ThemeChoice, ThemeOption
from fathom.cli.common import StoreOption, fail, opened_store
from fathom.cli.exit_codes import EXIT_INVALID

if TYPE_CHECKING:
    from fathom.report import Figure, LeftOut, View

__all__ = ["plot"]

_LEAST_WIDTH, _MOST_WIDTH = 300, 4000


class FormChoice(StrEnum):
    """The forms of a picture."""

    PNG = "png"
    SVG = "svg"
    PDF = "pdf"
    JSON = "json"


def plot(  # noqa: PLR0913 - Each is an option of the command.
    figure: Annotated[
        str, typer.Argument(metavar="FIGURE", help="Its name, such as load-curve; list shows all.")
    ],
    references: ReportReferences = None,
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            parser=_places.named,
            help="The file: .png, .svg, .pdf, or .json for the Vega-Lite specification; or a "
            "folder for it. - is the standard output.",
            show_default=False,
        ),
    ] = None,
    form: Annotated[
        FormChoice | None, typer.Option("--format", help="png, if the output does not say it.")
    ] = None,
    choose: Annotated[
        list[str] | None,
        typer.Option(
            "--choose", metavar="NAME=VALUE", help="What the figure shows, such as Shown=MiB/s."
        ),
    ] = None,
    width: Annotated[int, typer.Option(min=_LEAST_WIDTH, max=_MOST_WIDTH, help="In pixels.")] = 760,
    theme: ThemeOption = ThemeChoice.LIGHT,
    force: ForceOption = False,
    store: StoreOption = None,
) -> None:
    """Draw one figure of a report to a file."""
    chosen = form or (FormChoice.PNG if figure == "list" else _form_of(output))
    with opened_store(store, make=False) as opened:
        material = reports.gather(opened, references or [])
        figures, left_out = reports.figures_of(material)
        if figure == "list":
            _list(figures, left_out)
            return
        view = _chosen(_named(figure, figures, left_out), choose or [])
        place = _places.place_of(output, f"{figure}.{chosen.value}")
        is_text = chosen in (FormChoice.SVG, FormChoice.JSON)
        _places.check(place, is_text=is_text, force=force)
        comment = f"{material.title}: {figure} {view.label}"
        content = _content(view, chosen.value, theme, width, comment)
        if _places.put(place, content, force=force):
            typer.echo(str(place), err=True)


def _form_of(output: Path | None) -> FormChoice:
    suffix = _places.suffix_of(output)
    if not suffix:
        return FormChoice.PNG
    if suffix not in [one.value for one in FormChoice]:
        fail(
            f"{output} does not say its form: end it with .png, .svg, .pdf or .json, or add "
            "--format",
            EXIT_INVALID,
        )
    return FormChoice(suffix)


def _list(figures: list[Figure], left_out: list[LeftOut]) -> None:
    for one in figures:
        typer.echo(f"{one.name}: {one.title}")
        for name, values in one.controls().items():
            typer.echo(f"  {name}: {', '.join(values)}")
    for missing in left_out:
        typer.echo(f"{missing.name}: none. {missing.why}")


def _named(name: str, figures: list[Figure], left_out: list[LeftOut]) -> Figure:
    for one in figures:
        if one.name == name:
            return one
    for missing in left_out:
        if missing.name == name:
            fail(f"there is no {name} of this: {missing.why}", EXIT_INVALID)
    names = ", ".join(one.name for one in figures)
    return fail(f"there is no figure {name!r} of this; there are {names or 'none'}", EXIT_INVALID)


def _chosen(figure: Figure, choices: list[str]) -> View:
    """Return the first view that has all that was chosen."""
    wanted = {}
    for one in choices:
        name, sign, value = one.partition("=")
        known = {key.lower(): key for key in figure.views[0].choice}
        if not sign or name.lower() not in known:
            names = ", ".join(figure.controls()) or "nothing"
            fail(f"{one!r}: of {figure.name} one can choose {names}, as NAME=VALUE", EXIT_INVALID)
        wanted[known[name.lower()]] = value
    for view in figure.views:
        if all(view.choice[name].lower() == value.lower() for name, value in wanted.items()):
            return view
    parts = [f"{name}: {', '.join(values)}" for name, values in figure.controls().items()]
    return fail(f"{figure.name} has no such view; there are {'; '.join(parts)}", EXIT_INVALID)


def _content(view: View, form: str, theme: ThemeChoice, width: int, comment: str) -> bytes:
    if form == "json":
        return (json_words(reports.drawn(view.spec, theme.value, width), indent=1) + "\n").encode()
    kinds: dict[str, reports.ImageFormat] = {one: one for one in get_args(reports.ImageFormat)}
    return reports.picture(view, kinds[form], theme=theme.value, width=width, comment=comment)

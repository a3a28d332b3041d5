"""``fathom trend``: one load on one target over time."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

import fathom
from fathom import report as reports
from fathom import trends
from fathom._finite import json_words
from fathom._load_words import load_words
from fathom.cli.commands import _places
from fathom.cli.common import JsonOption, StoreOption, exit_code, fail, listed_store, opened_store
from fathom.cli.exit_codes import EXIT_CANNOT_TELL, EXIT_INVALID, EXIT_WORSE
from fathom.cli.views.runs import console, local_time, plain_text, text_table
from fathom.findings.finding import numbers_words
from fathom.metrics import RATES, higher_is_better, metric_column
from fathom.notify import NotToldError, check_address
from fathom.notify import notify as tell_by
from fathom.units import NS_PER_MS, rate_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.report import ImageFormat
    from fathom.trends import Level

__all__ = ["trend"]


_FORMS: dict[str, ImageFormat] = {one: one for one in ("png", "svg", "pdf")}
_WIDTH = 900
# So many runs of a level are named one by one, where others lie between.
_FEW_RUNS = 3
_CODES = {"worse": EXIT_WORSE, "cannot tell": EXIT_CANNOT_TELL}
_LATENCIES = {"p999": "p99.9"}


class Asked(NamedTuple):
    """What the command was told."""

    run: str
    metric: str
    baseline: str | None
    limit: int
    alert: bool
    output: Path | None
    overwrite: bool
    as_json: bool
    notify: tuple[str, ...] = ()


def list_series(store: str | None, limit: int, *, as_json: bool) -> None:
    """List the series of a store, that with the newest run first."""
    with listed_store(store, as_json=as_json) as opened:
        found = opened.runs.newest_of_each_series(limit=limit)
    if as_json:
        told = [{"newest_run": run.id, "runs": count, **run.columns} for run, count in found]
        typer.echo(json_words(told))
        return
    columns = ("newest run>", "started", "runs>", "label~", "load=", "target~", "host~")
    rows = [
        [
            str(run.id),
            local_time(run.started_at_unix_s),
            str(count),
            run.label,
            load_words(run.columns),
            str(run.columns["target_path"]),
            str(run.columns["host_name"]),
        ]
        for run, count in found
    ]
    console().print(text_table("", columns, rows, spare=("host", "started", "label")))


def show_trend(asked: Asked, store: str | None) -> None:
    """Find a trend, show it, and end with the exit code of an alert if one was requested."""
    form = _form(asked.output, overwrite=asked.overwrite)
    if asked.notify and not asked.alert:
        fail("--notify tells of an alert: add --alert", EXIT_INVALID)
    try:
        for one in asked.notify:
            check_address(one)
    except fathom.InvalidRequestError as error:
        fail(str(error), EXIT_INVALID)
    try:
        metric_column(asked.metric)
    except ValueError as error:
        fail(str(error), EXIT_INVALID)
    with opened_store(store, make=False) as opened:
        found = trends.find_trend(
            opened,
            asked.run,
            metric=asked.metric,
            baseline=asked.baseline,
            most=asked.limit,
        )
    # An output that is closed, or a full disk, keeps nobody from being notified.
    if asked.alert and found.outcome == "worse":
        _tell(asked, found)
    try:
        if asked.as_json:
            typer.echo(json_words(_as_dict(found)))
        else:
            _show(found)
    finally:
        if asked.output is not None:
            _draw(asked.output, found, form, overwrite=asked.overwrite)
    if asked.alert:
        raise typer.Exit(_CODES.get(found.outcome, 0))


def _form(output: Path | None, *, overwrite: bool) -> str:
    """Return the form that a file's name says; a place for none is refused before it is drawn."""
    form = _places.suffix_of(output)
    if output is None:
        return form
    if form not in (*_FORMS, "json"):
        fail(f"{output}: end the name with .png, .svg, .pdf or .json", EXIT_INVALID)
    reports.check_place(output, force=overwrite)
    return form


def _tell(asked: Asked, found: trends.Trend) -> None:
    """Tell whom it concerns; that one cannot be told changes nothing of the alert."""
    newest = found.runs[-1]
    facts = {"outcome": found.outcome, "metric": found.metric, "run": newest.id}
    facts |= {"target": newest.columns["target_path"], "host": newest.columns["host_name"]}
    for one in asked.notify:
        try:
            tell_by(one, found.claims[0].text, facts)
        except NotToldError as error:
            typer.echo(f"note: {error}", err=True)


def _draw(output: Path, found: trends.Trend, form: str, *, overwrite: bool) -> None:
    try:
        reports.write(output, _drawn(found, form), force=overwrite)
    except fathom.FathomError as error:
        fail(error, exit_code(error))
    typer.echo(str(output), err=True)


def _drawn(found: trends.Trend, form: str) -> bytes:
    figure = trends.trend_figure(found)
    (view,) = figure.views
    if form == "json":
        return (json_words(reports.drawn(view.spec, "light", _WIDTH), indent=1) + "\n").encode()
    return reports.picture(view, _FORMS[form], width=_WIDTH, comment=figure.title)


def _as_dict(found: trends.Trend) -> dict[str, object]:
    return {
        "metric": found.metric,
        "outcome": found.outcome,
        "runs": [
            {"run": run.id, "started_at_unix_s": run.started_at_unix_s, "value": value}
            for run, value in zip(found.runs, found.values, strict=True)
        ],
        "levels": [asdict(one) for one in found.levels],
        "band": None if found.band is None else asdict(found.band),
        "claims": [asdict(one) for one in found.claims],
        "left_out": found.left_out,
    }


def _show(found: trends.Trend) -> None:
    terminal = console()
    terminal.print(plain_text(found.claims[0].text), soft_wrap=True)
    rows = [_row(found, one) for one in found.levels]
    columns = ("since", "runs=", "number>", f"{_title(found.metric)}>", "change %>", "outcome")
    terminal.print(text_table("", columns, rows, spare=("number",)))
    for claim in found.claims[1:]:
        terminal.print(plain_text(claim.text), soft_wrap=True)
    names = [*dict.fromkeys(str(run.columns["target_path"]) for run in found.runs)]
    if len(names) > 1:
        terminal.print(plain_text(f"One target has several names: {', '.join(names)}."))


def _row(found: trends.Trend, level: Level) -> list[str]:
    first = found.runs[level.first]
    is_rate = higher_is_better(found.metric)
    return [
        local_time(first.started_at_unix_s),
        _runs_words(sorted(one.id for one in found.runs[level.first : level.last + 1])),
        str(level.last - level.first + 1),
        rate_words(level.mean if is_rate else level.mean / NS_PER_MS),
        "-" if level.change is None else f"{100 * level.change:+.1f}",
        level.outcome or "-",
    ]


def _runs_words(ids: Sequence[int]) -> str:
    """Return which runs a level has; those of other series that lie between are none of it."""
    if ids[-1] - ids[0] + 1 == len(ids) or len(ids) <= _FEW_RUNS:
        return numbers_words(ids).partition(" ")[2]
    return f"{len(ids)} of {ids[0]} to {ids[-1]}"


def _title(metric: str) -> str:
    """Return what stands above a figure: its name and its unit."""
    kind, _, name = metric.rpartition(".")
    return f"{kind} {RATES.get(name) or f'{_LATENCIES.get(name, name)} ms'}".strip()


def trend(  # noqa: PLR0913 - Each is an option of the command.
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]",
            help="A run of the series (12), or an experiment (e3) or a baseline, of which the last "
            "run counts; without it the series of the store are listed.",
            show_default=False,
        ),
    ] = None,
    *,
    metric: Annotated[
        str | None, typer.Option(help="The figure to look at.", show_default="iops")
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(help="What to compare with: a run, experiment or baseline, drawn as a band."),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, help="Not more than this many, newest first.")
    ] = 2000,
    alert: Annotated[
        bool,
        typer.Option(
            "--alert",
            help="End with exit code 5 if the newest level is worse than the one before, or than "
            "the baseline, and with 7 if it cannot be told or newer runs failed.",
        ),
    ] = False,
    notify: Annotated[
        list[str] | None,
        typer.Option(
            "--notify",
            help="With --alert, tell mailto:NAME@HOST or a webhook (https://...) if it is worse. "
            "May stand several times.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            parser=_places.named,
            help="Draw it to this file: .png, .svg, .pdf, or .json for Vega-Lite.",
            show_default=False,
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a file that Fathom did not make.")
    ] = False,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Find where one load on one target changed over time.

    A series are the complete runs of the same load on the same target of the same host, the oldest
    first. Its levels, their changes and what changed with them are reported: fathom trend 12
    """
    if run is None:
        given = {
            "--metric": metric,
            "--baseline": baseline,
            "--alert": alert,
            "--notify": notify,
            "--output": output,
            "--overwrite": overwrite,
        }
        _refuse([name for name, one in given.items() if one])
        list_series(store, limit, as_json=as_json)
        return
    asked = Asked(
        run,
        metric or "iops",
        baseline,
        limit,
        alert,
        None if output is not None and _places.is_nowhere(output) else output,
        overwrite,
        as_json,
        tuple(notify or ()),
    )
    show_trend(asked, store)


def _refuse(given: Sequence[str]) -> None:
    """Refuse what would be said of one series where all of them are listed."""
    if given:
        fail(
            f"{given[0]} is for one series: name a run of it, as fathom trend 12 {given[0]}; "
            "without these options the series are listed",
            EXIT_INVALID,
        )

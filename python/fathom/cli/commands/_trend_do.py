"""What ``fathom trend`` does: list series, find a trend, show and draw it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, get_args

import typer

from fathom.cli.common import fail, listed_store, opened_store
from fathom.cli.exit_codes import EXIT_CANNOT_TELL, EXIT_INVALID, EXIT_WORSE
from fathom.cli.views.runs import console, load_words, local_time, plain_text, text_table
from fathom.metrics import metric_column
from fathom.report import ImageFormat, drawn, picture, write
from fathom.trends import Trend, find_trend, trend_figure
from fathom.units import NS_PER_MS, rate_words

if TYPE_CHECKING:
    from fathom.trends import Level

__all__ = ["Asked", "list_series", "show_trend"]

_FORMS: dict[str, ImageFormat] = {one: one for one in get_args(ImageFormat)}
_WIDTH = 900
_CODES = {"worse": EXIT_WORSE, "cannot tell": EXIT_CANNOT_TELL}
_RATES = {"iops": "IOPS", "mib_per_s": "MiB/s"}
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


def list_series(store: str | None, limit: int, *, as_json: bool) -> None:
    """List the series of a store, that with the newest run first."""
    with listed_store(store, as_json=as_json) as opened:
        found = opened.runs.newest_of_each_series(limit=limit)
    if as_json:
        told = [{"newest_run": run.id, "runs": count, **run.columns} for run, count in found]
        typer.echo(json.dumps(told, indent=2))
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
    """Find a trend, show it, and end with the exit code of an alert if one was asked for."""
    form = "" if asked.output is None else asked.output.suffix.lower().removeprefix(".")
    if asked.output is not None and form not in (*_FORMS, "json"):
        fail(f"{asked.output}: end the name with .png, .svg, .pdf or .json", EXIT_INVALID)
    try:
        metric_column(asked.metric)
    except ValueError as error:
        fail(str(error), EXIT_INVALID)
    with opened_store(store, make=False) as opened:
        found = find_trend(
            opened,
            asked.run,
            metric=asked.metric,
            baseline=asked.baseline,
            most=asked.limit,
        )
        if asked.output is not None:
            write(asked.output, _drawn(found, form), force=asked.overwrite)
            typer.echo(str(asked.output), err=True)
    if asked.as_json:
        typer.echo(json.dumps(_as_dict(found), indent=2))
    else:
        _show(found)
    if asked.alert:
        raise typer.Exit(_CODES.get(found.outcome, 0))


def _drawn(found: Trend, form: str) -> bytes:
    figure = trend_figure(found)
    (view,) = figure.views
    if form == "json":
        return (json.dumps(drawn(view.spec, "light", _WIDTH), indent=1) + "\n").encode()
    return picture(view, _FORMS[form], width=_WIDTH, comment=figure.title)


def _as_dict(found: Trend) -> dict[str, object]:
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


def _show(found: Trend) -> None:
    terminal = console()
    terminal.print(plain_text(found.claims[0].text), soft_wrap=True)
    rows = [_row(found, one) for one in found.levels]
    columns = ("since", "runs=", "number>", f"{_title(found.metric)}>", "change %>", "outcome")
    terminal.print(text_table("", columns, rows, spare=("number",)))
    for claim in found.claims[1:]:
        terminal.print(plain_text(claim.text), soft_wrap=True)
    if found.left_out:
        typer.echo(f"{found.left_out} runs of the series do not have {found.metric}.")


def _row(found: Trend, level: Level) -> list[str]:
    first, last = found.runs[level.first], found.runs[level.last]
    is_rate = found.metric.rpartition(".")[2] in _RATES
    return [
        local_time(first.started_at_unix_s),
        str(first.id) if first is last else f"{first.id} to {last.id}",
        str(level.last - level.first + 1),
        rate_words(level.mean) if is_rate else f"{level.mean / NS_PER_MS:,.3f}",
        "-" if level.change is None else f"{100 * level.change:+.1f}",
        level.outcome or "-",
    ]


def _title(metric: str) -> str:
    """Return what stands above a figure: its name and its unit."""
    kind, _, name = metric.rpartition(".")
    return f"{kind} {_RATES.get(name) or f'{_LATENCIES.get(name, name)} ms'}".strip()

"""``fathom compare``: whether B differs from A, of saved runs."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from fathom._finite import json_words
from fathom._permission import typed
from fathom.cli.commands._compare_turns import Turns, interleaved
from fathom.cli.common import (
    DryRunOption,
    JsonOption,
    RunnerOption,
    StoreOption,
    fail,
    opened_store,
)
from fathom.cli.exit_codes import EXIT_INVALID
from fathom.cli.views.comparison import judge, show_comparison
from fathom.experiments import compare as comparing
from fathom.metrics import metric_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.experiments.compare.comparison import RunComparison
    from fathom.experiments.compare.saved import FailCondition

__all__ = ["compare"]


def compare(  # noqa: PLR0913 - Each is an option of the command.
    context: typer.Context,
    *,
    run: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--run",
            metavar="A B",
            help="Measure both interleaved: DiskSpd's arguments, or a workload and a target, each "
            "in quotes. What stands behind is of both.",
        ),
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-if",
            metavar="CONDITION",
            help="End with exit code 5 if the change from A to B is shown to be more than this, "
            "with 0 if it is shown to be less, and with 7 if neither can be told: 'p99>+5%', "
            "'iops<-3%'. May stand several times.",
        ),
    ] = None,
    verdict: Annotated[
        str | None,
        typer.Option(
            metavar="FIGURE",
            help="End with the exit code of this figure's verdict: 0 equal, 5 worse, 8 better, 7 "
            "cannot tell. A condition of --fail-if goes first.",
        ),
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option(help="Compare this figure; may stand several times.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of the intervals, in percent.")] = 95.0,
    any_load: Annotated[
        bool, typer.Option("--any-load", help="Compare saved runs whose loads differ, too.")
    ] = False,
    precision: Annotated[
        float, typer.Option(help="With --run: half of the width of the change's interval, in %.")
    ] = 1.2,
    pilot: Annotated[
        int, typer.Option(help="With --run: pairs whose spread decides how many there will be.")
    ] = 10,
    most: Annotated[int, typer.Option(help="With --run: never more pairs than this.")] = 60,
    dry_run: DryRunOption = False,
    resume: Annotated[
        str | None, typer.Option(help="Go on with a --run: its experiment, such as e7, or last.")
    ] = None,
    runner: RunnerOption = None,
    label: Annotated[
        str | None, typer.Option(help="With --run: a word to find the runs by.")
    ] = None,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Compare saved runs, or measure A and B interleaved: change, interval and test.

    A and B are runs (12 or 12,14), experiments (e3) or baselines: fathom compare golden e7. Or they
    are measured interleaved, in an order by chance, until the change is known:
    fathom compare --run -o8 -o32 -c1G -b8K -r -L x.dat. Its experiment alone is compared again:
    fathom compare e7.
    """
    try:
        conditions = [comparing.parse_condition(one) for one in fail_if or []]
        if verdict is not None:
            metric_column(verdict)
            # What goes on has its plan's figures.
            metric = metric if resume else [*(metric or comparing.DEFAULT_METRICS), verdict]
    except ValueError as error:
        fail(str(error), EXIT_INVALID)
    if not 0 < confidence < 100:  # noqa: PLR2004 - Percent.
        fail(f"a confidence is between 0 and 100 %, not {confidence:g}", EXIT_INVALID)
    names, permission = typed(context.args)
    if dry_run and run is None:
        fail("--dry-run needs --run: saved runs are only read", EXIT_INVALID)
    if run is not None or resume is not None or len(names) == 1:
        sizes = (precision / 100, confidence / 100, pilot, most)
        wish = Turns(
            run,
            resume,
            names,
            sizes,
            metric or [],
            fail_if or [],
            runner,
            label,
            permission,
            as_json,
            verdict,
            dry_run,
        )
        interleaved(wish, store)
        return
    if len(names) != 2 or any(one.startswith("-") for one in names):  # noqa: PLR2004 - A and B.
        given = next((one for one in names if one.startswith("-")), None)
        words = "name A and B: runs, experiments or baselines; or measure both with --run"
        fail(f"there is no option {given}; {words}" if given else words, EXIT_INVALID)
    found = _saved(names, store, metric, confidence, conditions, any_load=any_load)
    if as_json:
        typer.echo(json_words(asdict(found)))
    else:
        show_comparison(found)
    judge(found, verdict)


def _saved(  # noqa: PLR0913 - One for each thing that the command was told.
    names: Sequence[str],
    store: str | None,
    metric: Sequence[str] | None,
    confidence: float,
    conditions: Sequence[FailCondition],
    *,
    any_load: bool,
) -> RunComparison:
    wanted = [*(metric or comparing.DEFAULT_METRICS), *(one.metric for one in conditions)]
    with opened_store(store, make=False) as opened:
        try:
            found = comparing.compare_runs(
                opened,
                *names,
                metrics=[*dict.fromkeys(wanted)],
                confidence=confidence / 100,
                conditions=conditions,
            )
        except ValueError as error:
            fail(str(error), EXIT_INVALID)
    if not found.is_of_one_load and not any_load:
        fail(
            " ".join([*found.differences, "Add --any-load to compare all the same."]), EXIT_INVALID
        )
    return found

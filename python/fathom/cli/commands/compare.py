"""``fathom compare``: whether B differs from A, of saved runs."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from fathom._digits import interval_words, known_words, measured_place, place_words
from fathom._p_values import p_equation, p_text
from fathom._permission import typed
from fathom.cli.common import JsonOption, RunnerOption, StoreOption, fail, opened_store
from fathom.cli.exit_codes import EXIT_BETTER, EXIT_CANNOT_TELL, EXIT_INVALID, EXIT_WORSE
from fathom.cli.views.claims import row_mark, show_legend
from fathom.cli.views.runs import console, text_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.experiments.compare.saved import FailCondition, RunComparison, Verdict
    from fathom.stats import Comparison

__all__ = ["compare", "judge", "show_comparison"]

_NANOS_PER_MILLI = 1_000_000
_RATES = ("iops", "mib_per_s")
_BY_VERDICT = {
    "equal": 0,
    "worse": EXIT_WORSE,
    "better": EXIT_BETTER,
    "cannot tell": EXIT_CANNOT_TELL,
}


def compare(  # noqa: PLR0913 - Each is an option of the command.
    context: typer.Context,
    *,
    run: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--run",
            metavar="A B",
            help="Measure both in turns: DiskSpd's arguments, or a workload and a target, each in "
            "quotes. What stands behind is of both.",
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
    """Compare saved runs, or measure A and B in turns: change, interval and test.

    A and B are runs (12 or 12,14), experiments (e3) or baselines: fathom compare golden e7. Or they
    are measured in turns, in an order by chance, until the change is known:
    fathom compare --run -o8 -o32 -c1G -b8K -r -L x.dat. Its experiment alone is compared again:
    fathom compare e7.
    """
    from fathom.experiments.compare.saved import (  # noqa: PLC0415 - Loads NumPy.
        DEFAULT_METRICS,
        parse_condition,
    )
    from fathom.metrics import metric_column  # noqa: PLC0415 - As above.

    try:
        conditions = [parse_condition(one) for one in fail_if or []]
        if verdict is not None:
            metric_column(verdict)
            # What goes on has its plan's figures.
            metric = metric if resume else [*(metric or DEFAULT_METRICS), verdict]
    except ValueError as error:
        fail(str(error), EXIT_INVALID)
    if not 0 < confidence < 100:  # noqa: PLR2004 - Percent.
        fail(f"a confidence is between 0 and 100 %, not {confidence:g}", EXIT_INVALID)
    names, permission = typed(context.args)
    if run is not None or resume is not None or len(names) == 1:
        from fathom.cli.commands._compare_turns import Turns, in_turns  # noqa: PLC0415 - Seldom needed.

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
        )
        in_turns(wish, store)
        return
    if len(names) != 2 or any(one.startswith("-") for one in names):  # noqa: PLR2004 - A and B.
        given = next((one for one in names if one.startswith("-")), None)
        words = "name A and B: runs, experiments or baselines; or measure both with --run"
        fail(f"there is no option {given}; {words}" if given else words, EXIT_INVALID)
    found = _saved(names, store, metric, confidence, conditions, any_load=any_load)
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=2))
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
    from fathom.experiments.compare.saved import (  # noqa: PLC0415 - Loads NumPy.
        DEFAULT_METRICS,
        compare_runs,
    )

    wanted = [*(metric or DEFAULT_METRICS), *(one.metric for one in conditions)]
    with opened_store(store) as opened:
        try:
            found = compare_runs(
                opened,
                *names,
                metrics=[*dict.fromkeys(wanted)],
                confidence=confidence / 100,
                conditions=conditions,
            )
        except ValueError as error:
            fail(str(error), EXIT_INVALID)
    if any("load" in one for one in found.differences) and not any_load:
        fail(
            " ".join([*found.differences, "Add --any-load to compare all the same."]), EXIT_INVALID
        )
    return found


def show_comparison(found: RunComparison) -> None:
    """Print the figures, and in words what differs besides and what the order of the runs tells."""
    columns = ("", "A>", "B>", "change %>", "interval %>", "p>", "verdict")
    rows = []
    for name, one in found.metrics.items():
        unit, words = (1, "") if name.rpartition(".")[2] in _RATES else (_NANOS_PER_MILLI, " ms")
        means = one.a_mean, one.b_mean
        rows.append(
            [
                f"{name}{words}",
                # Each mean has the digits that the change is known to.
                *(place_words(mean / unit, _place(one, mean / unit)) for mean in means),
                known_words(100 * one.change, 100 * one.low, 100 * one.high, sign=True),
                interval_words(100 * one.low, 100 * one.high, sign=True),
                p_text(one.p_value if one.family_p_value is None else one.family_p_value),
                found.word(name) + row_mark(found.rules),
            ]
        )
    if found.claims:
        typer.echo(found.claims[0].text)
    console().print(text_table("", columns, rows))
    show_legend([found.rules])
    for claim in found.claims:
        # The table above has the changes of all figures.
        if claim.key != "headline" and not claim.key.startswith("change-"):
            typer.echo(claim.text)


def _place(one: Comparison, mean: float) -> int:
    return measured_place(mean, mean * (one.high - one.low) / 2)


def judge(found: RunComparison, figure: str | None = None) -> None:
    """End with exit code 5 if a condition is met, with 3 or 7 if one cannot be judged or told.

    Then with that of the verdict on a figure, if one is named.
    """
    for one in found.verdicts:
        if one.why_not is not None:
            fail(f"{one.condition} cannot be judged: {one.why_not}", EXIT_INVALID)
    met = [one for one in found.verdicts if one.is_met and one.change is not None]
    if met:
        words = [
            f"{one.condition}: {one.condition.partition('>')[0].partition('<')[0]} changed by "
            f"{100 * (one.change or 0):+.2f} %"
            for one in met
        ]
        fail("; ".join(words), EXIT_WORSE)
    unknown = [one for one in found.verdicts if one.decision == "cannot tell"]
    if unknown:
        fail("; ".join(_cannot_tell(one) for one in unknown), EXIT_CANNOT_TELL)
    if figure is not None:
        _end_by_verdict(found, figure)


def _end_by_verdict(found: RunComparison, figure: str) -> None:
    if figure not in found.metrics:
        code = EXIT_CANNOT_TELL if figure in found.missing else EXIT_INVALID
        fail(f"{figure}: cannot tell: {found.missing.get(figure, 'it was not compared')}", code)
    code = _BY_VERDICT[found.word(figure)]
    if code:
        fail(f"{figure}: {found.word(figure)}", code)


def _cannot_tell(one: Verdict) -> str:
    why = ", ".join(one.doubts)
    if not why:
        why = (
            f"the change is {100 * (one.change or 0):+.2f} %, and neither beyond the limit "
            f"(p {p_equation(one.p_value)}) nor within it (p {p_equation(one.pass_p_value)}) is "
            "shown"
        )
    return f"{one.condition}: cannot tell, as {why}; measure more runs, A and B in turns"

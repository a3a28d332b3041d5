"""What ``fathom prepare`` did as a side of a report: looks, writing, and rounds of a load."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from fathom.experiments.figure_words import check_words
from fathom.report.collect._density import unfinished_words
from fathom.report.collect._runs import advice_of, device_facts, run_command, tool_of
from fathom.report.material import KeyNumber, Part, Rounds, Side, Verdict, WrittenPiece
from fathom.stats.steadiness import steadiness_words
from fathom.stats.steady import WindowCheck
from fathom.units import MIB, rate_words, size_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.report.material import ReportedRun
    from fathom.store import Experiment, RunSummary

__all__ = ["look_side", "settled_side", "written_side"]

_PERCENT = 100
# A piece of less than this share of the greatest one is what was left of it.
_REST = 0.01
_MEASURES = {
    "yes": "A read test on it measures the device.",
    "doubtful": "Whether a read test on it measures the device is doubtful.",
    "partly": "A read test on it measures the device only in part.",
    "no": "A read test on it does not measure the device.",
}


def look_side(experiment: Experiment) -> Side:
    """Return the side of a look at a target."""
    target, outcome = experiment.plan["target"], experiment.outcome or {}
    found = outcome.get("reads_measure_device")
    headline = _MEASURES.get(found or "", unfinished_words(experiment))
    verdict = Verdict(target["path"], headline, tuple(outcome.get("sentences", ())))
    return Side(
        name=target["path"],
        verb="prepare",
        verdict=verdict,
        numbers=_look_numbers(target, outcome),
        parts=_parts(target, outcome),
        device=_target_facts(target),
        commands=(shlex.join(["fathom", "prepare", "look", target["path"]]),),
        finds_none="A look at a target has none: it says what the target holds.",
    )


def _target_facts(target: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    facts = [
        ("Target", target["path"]),
        ("Kind", "device" if target["is_device"] else "file"),
        ("Size", size_words(target["size_bytes"])),
        ("File system", target["file_system"]),
        ("Serial number", target["identity"].get("serial")),
    ]
    return tuple((name, str(value)) for name, value in facts if value)


def _look_numbers(target: Mapping[str, Any], outcome: Mapping[str, Any]) -> tuple[KeyNumber, ...]:
    survey = outcome.get("survey") or {}
    return (
        KeyNumber("Size", size_words(target["size_bytes"]), target["size_bytes"]),
        _share("Hole, unwritten or zero", outcome.get("empty_share")),
        _ratio("The rest compresses", survey.get("compress_ratio")),
        _ratio("The rest repeats", survey.get("dedupe_ratio")),
    )


def _share(label: str, found: Mapping[str, float] | None) -> KeyNumber:
    if found is None:
        return KeyNumber(label, "not known")
    low, high = (_PERCENT * found[end] for end in ("low", "high"))
    between = "" if low == high else f" ({low:.1f} to {high:.1f})"
    return KeyNumber(label, f"{_PERCENT * found['value']:.1f} %{between}", found["value"])


def _ratio(label: str, found: Mapping[str, float] | float | None) -> KeyNumber:
    value = found if found is None or isinstance(found, float | int) else found["value"]
    return KeyNumber(label, "not known" if value is None else f"{value:.2f} to 1", value)


def _parts(target: Mapping[str, Any], outcome: Mapping[str, Any]) -> tuple[Part, ...]:
    layout = outcome.get("layout")
    if not layout:
        return ()
    survey = outcome.get("survey")
    zeros = 0.0
    if survey:
        zeros = survey["zero_share"]["value"] * layout["written_bytes"]
    parts = {
        "holes": layout["hole_bytes"],
        "never written": layout["unwritten_bytes"],
        "zeros": zeros,
        "data": layout["written_bytes"] - zeros,
    }
    size = max(target["size_bytes"], 1)
    return tuple(Part(name, count, count / size) for name, count in parts.items() if count > 0)


def written_side(
    experiment: Experiment, sample: ReportedRun | None, runs: Sequence[RunSummary]
) -> Side:
    """Return the side of filling or of preconditioning by writing; ``sample`` is one of its runs.

    Each piece is a run; its figures are those of the summaries.
    """
    plan, outcome = experiment.plan, experiment.outcome or {}
    target, is_fill = plan["target"], plan["kind"] == "fill"
    pieces = _pieces(runs)
    written = sum(one.bytes for one in pieces)
    seconds = sum(one.bytes / MIB / one.mib_per_s for one in pieces if one.mib_per_s)
    rate = written / MIB / seconds if seconds else None
    headline = f"{size_words(written)} were written" if pieces else "Nothing was missing"
    if rate is not None:
        # The time of the runs alone: bringing it to stable storage comes on top.
        headline += f" at {rate_words(rate)} MiB/s, flushes not counted"
    if experiment.state != "complete":
        headline = unfinished_words(experiment).removesuffix(".")
    verdict = Verdict(target["path"], f"{headline}.", _written_sentences(plan, outcome))
    share = written / target["size_bytes"] if target["size_bytes"] else None
    check = outcome.get("check") or {}
    numbers = [
        KeyNumber("Written", size_words(written), written),
        _rate("Mean rate", rate),
        _rate("Slowest piece", _slowest(pieces)),
        KeyNumber("Of its size", "not known" if share is None else f"{share:.2f} times", share),
    ]
    if is_fill:
        numbers.append(_ratio("Reads back: compresses", check.get("compress_ratio")))
    return Side(
        name=target["path"],
        verb="prepare",
        verdict=verdict,
        numbers=tuple(numbers),
        pieces=pieces,
        device=device_facts([sample]) if sample else _target_facts(target),
        commands=(_write_command(plan),),
        tool=tool_of([sample]) if sample else "",
        finds_none="Of writing that prepares a target none are looked for.",
    )


def _slowest(pieces: Sequence[WrittenPiece]) -> float | None:
    """Return the least rate of pieces; what is left of whole blocks at an end tells nothing."""
    rests = max((one.bytes for one in pieces), default=0) * _REST
    return min((one.mib_per_s for one in pieces if one.bytes >= rests), default=None)


def _rate(label: str, value: float | None) -> KeyNumber:
    return KeyNumber(label, "-" if value is None else f"{rate_words(value)} MiB/s", value)


def _pieces(runs: Sequence[RunSummary]) -> tuple[WrittenPiece, ...]:
    done, found = 0, []
    for run in runs:
        size = int(run.columns["bytes"] or 0)
        rate = float(run.columns["total_mib_per_s"] or 0)
        found.append(WrittenPiece(done, size, rate, run.id))
        done += size
    return tuple(found)


def _written_sentences(plan: Mapping[str, Any], outcome: Mapping[str, Any]) -> tuple[str, ...]:
    check = outcome.get("check")
    sentences = []
    if plan["kind"] == "wipc":
        sentences.append(
            "Preconditioning of SSDs: all of it twice over, in sequence (SNIA SSS PTS 2.0.2, WIPC)."
        )
    if plan["left_bytes"]:
        sentences.append(
            f"{size_words(plan['left_bytes'])} hold nothing, in gaps too small to fill one by one."
        )
    if check and check.get("compress_ratio"):
        sentences.append(
            f"Read back it compresses {check['compress_ratio']['value']:.2f} to 1, where "
            f"{outcome['compress_ratio']:.2f} was requested; zeros are "
            f"{_PERCENT * check['zero_share']['value']:.2f} %."
        )
    return tuple(sentences)


def _write_command(plan: Mapping[str, Any]) -> str:
    words = ["fathom", "prepare", *(["fill"] if plan["kind"] == "fill" else ["condition"])]
    if plan["kind"] == "wipc":
        words.append("--wipc")
    elif not plan["target"]["is_device"]:
        # A file that is no more is made of the same size.
        words += ["--size", str(plan["target"]["size_bytes"])]
    for name in ("compress", "dedupe"):
        if plan[f"{name}_percent"]:
            words += [f"--{name}", f"{1 / (1 - plan[f'{name}_percent'] / _PERCENT):.3g}"]
    return shlex.join([*words, plan["target"]["path"]])


def settled_side(experiment: Experiment, runs: Sequence[ReportedRun]) -> Side:
    """Return the side of rounds of a load, which ran until they were steady."""
    outcome, plan = experiment.outcome or {}, experiment.plan
    steady = outcome.get("steady")
    if steady is None:
        headline = unfinished_words(experiment)
    elif steady["is_steady"]:
        headline = f"The SNIA's rule of steady state is kept in round {outcome['rounds']}."
    else:
        headline = f"The SNIA's rule is not kept after {outcome['rounds']} rounds."
    checks = (steady or {}).get("checks", {})
    sentences = tuple(
        f"{check_words(name, WindowCheck(**one), micro='µs')}." for name, one in checks.items()
    ) + tuple(
        f"All rounds, {name}: {steadiness_words(one['verdict'], one['reason'])}."
        for name, one in outcome.get("steadiness", {}).items()
    )
    name = experiment.name.removeprefix("wdpc ")
    rates = [
        # All loads and figures are judged in one window, with which the rounds ended.
        Rounds(
            f"{key.removesuffix('iops').strip() or name}: IOPS",
            "round",
            tuple(values),
            is_first=False,
        )
        for key, values in outcome.get("values", {}).items()
        if key.rpartition(" ")[2] == "iops"
    ]
    loads = [shlex.join(arguments) for _, arguments in plan["loads"]]
    last = runs[-1].point if runs else None
    numbers = [KeyNumber("Rounds", str(outcome.get("rounds", "not known")), outcome.get("rounds"))]
    if last is not None:
        numbers.append(KeyNumber("IOPS of the last", rate_words(last.iops), last.iops))
        numbers.append(_rate("Throughput of the last", last.mib_per_s))
    return Side(
        # Arguments may be long; they stand among the commands.
        name=f"rounds e{experiment.id}",
        # Rounds of one load are repetitions of it.
        verb="repeat" if len(loads) == 1 else "run",
        verdict=Verdict(name, headline, sentences),
        numbers=tuple(numbers),
        advice=advice_of(runs),
        runs=tuple(runs),
        is_judged=bool(runs),
        rounds=tuple(one for one in rates if one.values),
        device=device_facts(runs),
        commands=(
            *(f"fathom prepare condition --wdpc {one}" for one in loads),
            *dict.fromkeys(run_command(one) for one in runs),
        ),
        tool=tool_of(runs),
    )

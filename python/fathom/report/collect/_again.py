"""The command that repeats an experiment, with all that was asked of it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from fathom.experiments import assess as assessing
from fathom.tools.choose import OWN_RUNNER, fleet_named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fathom.store import Experiment

__all__ = ["again"]

_PERCENT = 100
# The axes that have an option of their own, as it is spelt today.
_AXES = {
    "block": "--block",
    "threads": "--threads",
    "depth": "--depth",
    "write": "--writes",
}


def again(experiment: Experiment) -> str:
    """Return the command of an experiment; what only a person may allow is not repeated."""
    plan = experiment.plan
    make = {
        "assess": _assess,
        "repeat": _repeat,
        "sweep": _sweep,
        "tune": _tune,
        "compare": _compare,
        "scale": _scale,
    }.get(experiment.verb)
    words = ([], [*plan.get("arguments", ())]) if make is None else make(plan)
    other = _runner(str(plan.get("runner", OWN_RUNNER)))
    named = experiment.verb != "assess" and experiment.name not in ("", experiment.verb)
    label = ["--label", experiment.name] if named else []
    head, tail = words
    return shlex.join(["fathom", experiment.verb, *head, *other, *label, *tail])


def _runner(name: str) -> list[str]:
    """Return the options that name a runner; a fleet has its own, and ``--runner`` knows none."""
    fleet = fleet_named(name)
    if fleet is not None:
        return fleet.options()
    return [] if name == OWN_RUNNER else ["--runner", name]


_Words = tuple[list[str], list[str]]


def _percent(share: float) -> str:
    return f"{_PERCENT * share:g}"


def _assess(plan: Mapping[str, Any]) -> _Words:
    effort = plan.get("effort", {})
    depths = [*effort.get("depths", ())]
    named = next(
        (name for name, one in assessing.EFFORTS.items() if [*one.depths] == depths), "default"
    )
    words = [] if named == "default" else [f"--{named}"]
    like = assessing.EFFORTS[named]
    if effort.get("seconds", like.seconds) != like.seconds:
        words += ["--time", f"{effort['seconds']:g}s"]
    if effort.get("size_bytes", like.size_bytes) != like.size_bytes:
        words += ["--size", f"{effort['size_bytes'] >> 20}M"]
    words += ["--write"] if plan.get("writes") else []
    words += ["--steady", str(plan["steady_seconds"])] if plan.get("steady_seconds") else []
    return words, [*plan["targets"]]


def _repeat(plan: Mapping[str, Any]) -> _Words:
    words = [
        *("--metric", plan.get("metric", "iops")),
        *("--precision", _percent(plan.get("relative_half_width", 0.008))),
        *("--confidence", _percent(plan.get("confidence", 0.95))),
        *("--pilot", str(plan.get("pilot", 10))),
        *("--most", str(plan.get("most", 60))),
    ]
    if plan.get("precondition", "none") != "none":
        words += ["--precondition", plan["precondition"]]
    return words, [*plan["arguments"]]


def _sweep(plan: Mapping[str, Any]) -> _Words:
    words = []
    for axis in plan["axes"]:
        values = ",".join(axis["values"])
        option = _AXES.get(axis["name"])
        words += [option, values] if option else ["--vary", f"{axis['option']}={values}"]
    if plan.get("mode") == "fixed":
        words += ["--duration", str(plan["duration_s"])]
    else:
        words += ["--longest", str(plan.get("duration_s", 10)), *_level(plan)]
    words += ["--warm-up", str(plan.get("warm_up_s", 0))]
    words += ["--tolerance", _percent(plan.get("tolerance", 0.05))]
    return [*words, "--seed", str(plan["seed"])], [*plan["arguments"]]


def _level(plan: Mapping[str, Any]) -> list[str]:
    return [
        *("--confidence", _percent(plan.get("confidence", 0.95))),
        *("--precision", _percent(plan.get("precision", 0.02))),
    ]


def _tune(plan: Mapping[str, Any]) -> _Words:
    goal = plan["goal"]
    limit = [f"--{goal['metric']}", f"{goal['limit_ns'] / 1000:g}us"] if goal["limit_ns"] else []
    words = [
        *("--threads", ",".join(map(str, plan["threads"]))),
        *("--depth", ",".join(map(str, plan["depths"]))),
        *limit,
        *("--longest", str(plan.get("longest_s", 10))),
        *("--precision", _percent(plan.get("precision", 0.02))),
        *(["--no-grow"] if plan.get("grow") is False else []),
    ]
    return words, [*plan["arguments"]]


def _compare(plan: Mapping[str, Any]) -> _Words:
    sides = [shlex.join(plan[side]) for side in "ab"]
    words = ["--run", *sides]
    for option, name in (("pilot", "pilot"), ("most", "most")):
        words += [f"--{option}", str(plan[name])] if name in plan else []
    for option, name in (("precision", "relative_half_width"), ("confidence", "confidence")):
        words += [f"--{option}", _percent(plan[name])] if name in plan else []
    words += [word for one in plan.get("metrics", ()) for word in ("--metric", one)]
    return [
        *words,
        *(word for one in plan.get("conditions", ()) for word in ("--fail-if", one)),
    ], []


def _scale(plan: Mapping[str, Any]) -> _Words:
    """Return the words of a scale, whose duration stands first among its arguments."""
    first, *rest = [str(one) for one in plan.get("arguments", ())] or [""]
    duration = first.removeprefix("-d")
    if first.startswith("-d") and duration.isdigit():
        return ["--duration", duration], rest
    return [], [one for one in (first, *rest) if one]

"""Preconditioning before a repetition: what it takes, and what of it is still to be done."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

import fathom
from fathom import experiments
from fathom._addresses import is_address
from fathom.cli.commands._prepare_do import confirmed, load_targets, run_settling, run_writing
from fathom.cli.views.prepare import estimate_sentences
from fathom.engine import load_of
from fathom.experiments import prepare as preparing
from fathom.experiments.first_look import writes_to

if TYPE_CHECKING:
    from fathom._permission import Permission
    from fathom.store import Store

__all__ = [
    "KINDS",
    "agree_to_prepare",
    "estimate_of",
    "loads_of",
    "prepare_for",
    "show_estimate",
]

KINDS = ("none", "wipc", "wdpc")


def loads_of(kind: str, arguments: list[str]) -> list[list[str]]:
    """Return all loads of a repetition, those of its preconditioning included.

    Raises
    ------
    InvalidRequestError
        If a target does not exist yet, so that there is nothing to precondition.

    """
    _must_stay(kind, arguments)
    written = load_targets([arguments]) if kind == "wipc" else []
    return [*(writes_to(path) for path in written), arguments]


def _must_stay(kind: str, arguments: list[str]) -> None:
    if kind == "none":
        return
    spans = load_of(arguments).profile.time_spans
    if any(target.create_bytes for span in spans for target in span.targets):
        raise fathom.InvalidRequestError(
            "--precondition needs targets that stay as they are: make them with fathom prepare "
            "fill, and leave out -c"
        )
    # One that is missing is refused with what preconditioning needs, not with -c.
    for path in load_targets([arguments]):
        preparing.target_facts(path)


def estimate_of(store: Store | None, kind: str, arguments: list[str]) -> preparing.Estimate:
    """Return what preconditioning takes; without a store, no rate is known."""
    targets = [preparing.target_facts(path) for path in load_targets([arguments])]
    if kind == "wipc":
        is_known = store is not None and len(targets) == 1
        rate = preparing.known_rate(store, targets[0].path) if store and is_known else None
        return preparing.estimate_writing(targets, rate)
    return preparing.estimate_settling(targets, [arguments], None)


def show_estimate(kind: str, found: preparing.Estimate, *, is_asked: bool = False) -> None:
    """Say what preconditioning takes; to the standard output if that alone is asked."""
    for sentence in estimate_sentences(found):
        typer.echo(f"{kind.upper()}: {sentence}", err=not is_asked)


def agree_to_prepare(kind: str, found: preparing.Estimate, *, yes: bool, as_json: bool) -> None:
    """Say what preconditioning takes, and ask where more than the capacity is written."""
    if not as_json:
        show_estimate(kind, found)
    if not yes:
        confirmed([found])


def prepare_for(store: Store, experiment_id: int, permission: Permission, *, as_json: bool) -> None:
    """Do what of an experiment's preconditioning is not done yet."""
    with experiments.end_noted(store, experiment_id):
        _prepare_for(store, experiment_id, permission, as_json=as_json)


def _prepare_for(
    store: Store, experiment_id: int, permission: Permission, *, as_json: bool
) -> None:
    plan = store.experiments.get(experiment_id).plan
    kind, arguments = plan.get("precondition", "none"), plan["arguments"]
    if kind == "none":
        return
    mine = [
        one
        for one in store.experiments.list(verb="prepare")
        if one.plan.get("for_experiment") == experiment_id
    ]
    states = {one.id: one.state for one in mine}
    if kind == "wdpc":
        ids = [one.id for one in mine] or [
            preparing.plan_settling(store, [("", arguments)], for_experiment=experiment_id)
        ]
    else:
        known = {one.plan["target"]["path"]: one.id for one in mine}
        names = load_targets([arguments])
        paths = [name if is_address(name) else str(Path(name).absolute()) for name in names]
        ids = [
            known.get(path)
            or preparing.plan_precondition(store, path, permission, for_experiment=experiment_id)
            for path in paths
        ]
    run = run_writing if kind == "wipc" else run_settling
    for one in ids:
        if states.get(one) != "complete":
            run(store, one, permission, as_json=as_json)

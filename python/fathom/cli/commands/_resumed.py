"""Which experiment ``--resume`` names."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from fathom import tools
from fathom.cli.common import fail
from fathom.cli.exit_codes import EXIT_INVALID, EXIT_REFUSED
from fathom.cli.fleet_choice import chosen_fleet
from fathom.store.references import experiment_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom._permission import Permission
    from fathom.fleet.address import FleetAddress
    from fathom.runners.runner import PermittedRunner
    from fathom.store import Store

__all__ = [
    "going_on",
    "named_experiment",
    "refuse_what_a_plan_has",
    "resumed_id",
    "resumed_permission",
    "resumed_runner",
]


def named_experiment(reference: str) -> int:
    """Return the id of ``e7``, or of ``7``; end with a message if it is neither."""
    number = experiment_number(f"e{reference.removeprefix('e')}")
    if number is None:
        fail(f"{reference} is no experiment such as e7", EXIT_INVALID)
    return number


def resumed_id(store: Store, verb: str, reference: str) -> int:
    """Return the id of ``e7``, or of the last experiment that has something left to do."""
    if reference == "last":
        found = [
            one.id
            for one in store.experiments.list(verb=verb)
            if one.state != "complete" or one.failure
        ]
        if not found:
            fail(f"{store.name} has no {verb} to go on with", EXIT_INVALID)
        return found[0]
    return named_experiment(reference)


def going_on(
    store: Store, verb: str, reference: str, given: str | None, permission: Permission
) -> tuple[int, PermittedRunner]:
    """Return an experiment of a verb that is resumed, and what measures what is left of it."""
    experiment_id = resumed_id(store, verb, reference)
    planned = resumed_runner(store, experiment_id, given)
    resumed_permission(store, experiment_id, permission)
    return experiment_id, tools.runner_named(planned, store, permission)


def resumed_runner(store: Store, experiment_id: int, given: str | None) -> str | None:
    """Return the runner that the plan names; a program only if the user names it, too.

    A store may be shared, and what somebody else wrote into it is data, never a command.
    """
    planned: str | None = store.experiments.get(experiment_id).plan.get("runner")
    fleet = chosen_fleet()
    if fleet is not None:
        given = fleet.runner_name()
    planned_fleet = tools.fleet_named(planned)
    if planned_fleet is not None and given != planned and (given or planned_fleet.needs_consent):
        fail(
            f"e{experiment_id} is measured with the fleet at {planned_fleet.address}, to which the "
            f"store alone does not connect: {_fleet_words(planned_fleet)}",
            EXIT_INVALID,
        )
    if given not in (None, planned):
        own = "Fathom's own engine" if planned is None else planned
        fail(f"e{experiment_id} goes on with {own}: leave out --runner", EXIT_INVALID)
    if given is None and tools.names_a_program(planned):
        fail(
            f"e{experiment_id} is measured with the program {planned}, which the store alone does "
            f"not start: if that is right, add --runner {shlex.quote(str(planned))}",
            EXIT_INVALID,
        )
    return planned


def _fleet_words(fleet: FleetAddress) -> str:
    words = ["--fleet", fleet.address]
    words += ["--tls", fleet.tls] if fleet.tls else []
    words += ["--hosts", ",".join(fleet.hosts)] if fleet.hosts else []
    words += ["--overlap"] if fleet.overlap else []
    words += ["--on-host-loss", "continue"] if fleet.on_host_loss == "continue" else []
    return f"if that is right, add {shlex.join(words)}"


def resumed_permission(store: Store, experiment_id: int, permission: Permission) -> None:
    """End with a message if the experiment was allowed more than was typed for what is left of it.

    A permission holds for the command that it was typed behind, and is kept as a note alone.
    """
    once = store.experiments.get(experiment_id).once_allowed
    missing = [one for one in once if one not in permission.words()]
    if missing:
        words = shlex.join(missing)
        fail(
            f"e{experiment_id} was begun with {words}, which was typed for that command alone: if "
            f"data may still be lost, type it again: --resume e{experiment_id} {words}",
            EXIT_REFUSED,
        )


def refuse_what_a_plan_has(
    verb: str, arguments: Sequence[str], options: Mapping[str, object]
) -> None:
    """End with a message if anything is given besides ``--resume`` that the plan tells."""
    given = [*arguments, *(f"--{name}" for name, value in options.items() if value)]
    if given:
        fail(f"{given[0]}: a {verb} is resumed as it was planned, without arguments", EXIT_INVALID)

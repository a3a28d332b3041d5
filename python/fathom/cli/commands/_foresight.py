"""What the guard says, before anything begins, of the loads that an experiment would run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

import fathom
from fathom import tools
from fathom.cli.exit_codes import EXIT_REFUSED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fathom._permission import Permission

__all__ = ["explanations", "refusal", "refuse_what_is_guarded"]


def explanations(load: Sequence[str], permission: Permission, runner: str | None) -> list[Any]:
    """Return what would be done; with a fleet, what each host tells of it.

    Raises
    ------
    FathomError
        As ``fathom.explain``.

    """
    fleet = tools.fleet_named(runner)
    if fleet is not None:
        return [*tools.fleet_runner(None, fleet, permission).explain(load).values()]
    told = fathom.explain(load, overwrite=permission.overwrite, allow_write=permission.allow_write)
    return [told]


def refuse_what_is_guarded(
    loads: Iterable[Sequence[str]], permission: Permission, runner: str | None
) -> None:
    """End with the exit code of a refusal, in the guard's words, if a load would be refused.

    Raises
    ------
    FathomError
        If a target cannot be used.

    """
    told = (one for load in loads for one in explanations(load, permission, runner))
    targets = (target for one in told for target in one["targets"])
    judged = ((target["path"], refusal(target)) for target in targets)
    refused = [*dict.fromkeys(f"{path}: {why}" for path, why in judged if why)]
    for words in refused:
        typer.echo(words, err=True)
    if refused:
        raise typer.Exit(EXIT_REFUSED)


def refusal(target: Any) -> str | None:  # noqa: ANN401 - JSON.
    """Return in the guard's words why a target would not be written; None if it would be."""
    verdict = target["verdict"]
    return f"refused: {verdict['reason']}; {verdict['remedy']}" if verdict["is_refused"] else None

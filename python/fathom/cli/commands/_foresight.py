"""What the guard says, before anything begins, of the loads that an experiment would run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

import fathom
from fathom import tools
from fathom.cli.exit_codes import EXIT_REFUSED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fathom._permission import Permission

__all__ = ["explanations", "refuse_what_is_guarded"]


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
    refused = [*dict.fromkeys(words for one in told for words in _refusals(one))]
    for words in refused:
        typer.echo(words, err=True)
    if refused:
        raise typer.Exit(EXIT_REFUSED)


def _refusals(told: Any) -> Iterator[str]:  # noqa: ANN401 - JSON.
    for target in told["targets"]:
        verdict = target["verdict"]
        if verdict["is_refused"]:
            yield f"{target['path']}: refused: {verdict['reason']}; {verdict['remedy']}"

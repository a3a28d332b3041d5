"""An empty argument is refused: it names nothing, and mostly stands for a variable that is not set.

A shell that expands such a variable gives a verb the empty word, for which a default would be taken
in silence: the store in use, the folder at hand. What is refused here is what was typed; an empty
variable of the environment, such as ``FATHOM_STORE``, is one that is not set, as everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import typer

from fathom.cli.exit_codes import EXIT_INVALID

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["refuse_empty_rest", "refuse_empty_values"]

# Words by which things are found, of which there may be none.
_MAY_BE_EMPTY = ("--label", "--device")
# These options say themselves what they take.
_SAY_IT_THEMSELVES = ("--hosts", "--require")
# These types of the grammar say themselves what they take.
_WITH_WORDS_OF_THEIR_OWN = ("mib_of", "percent_of", "seconds_of", "whole_seconds_of")
_WHY = "is empty, as a variable is that is not set"


def refuse_empty_values(parameter: Any) -> None:  # noqa: ANN401 - Typer's.
    """Let an option or argument of a verb take no empty word."""
    # A side of a comparison (--run A B) need not have arguments of its own.
    spared = (*_MAY_BE_EMPTY, *_SAY_IT_THEMSELVES)
    if not {*parameter.opts}.isdisjoint(spared) or parameter.nargs > 1:
        return
    process = parameter.process_value

    def checked(context: Any, value: Any) -> Any:  # noqa: ANN401 - Typer's.
        if parameter.type.name not in _WITH_WORDS_OF_THEIR_OWN and _has_empty(value):
            _fail(_name_of(parameter), "name what is meant")
        return process(context, value)

    parameter.process_value = checked


def _has_empty(value: Any) -> bool:  # noqa: ANN401 - Whatever was typed.
    if isinstance(value, list | tuple):
        return any(map(_has_empty, value))
    return isinstance(value, str) and not value


def _name_of(parameter: Any) -> str:  # noqa: ANN401 - Typer's.
    if parameter.param_type_name == "option":
        return str(max(parameter.opts, key=len))
    return str(parameter.metavar or parameter.name.upper())


def refuse_empty_rest(arguments: Sequence[str]) -> None:
    """Refuse an empty word among the arguments of a load, of which no option and no name is one."""
    if _has_empty([*arguments]):
        _fail(f"argument {1 + [*arguments].index('')} of the load", "name the target")


def _fail(name: str, remedy: str) -> NoReturn:
    typer.echo(f"error: {name} {_WHY}: {remedy}", err=True)
    raise typer.Exit(EXIT_INVALID)

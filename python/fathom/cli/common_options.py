"""The options that many verbs have, declared once and added to each verb when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathom.cli.views.table_format import TableFormat, choose

if TYPE_CHECKING:
    from typer.core import TyperOption

__all__ = ["format_option"]


def _choose(value: TableFormat | None) -> None:
    if value is not None:
        choose(value)


def _with_format(
    *,
    table_format: Annotated[
        TableFormat | None,
        typer.Option(
            "--format",
            is_eager=True,
            callback=_choose,
            help="The form of the tables; --json has all that is known.",
        ),
    ] = None,
) -> None:
    del table_format


def format_option() -> TyperOption:
    """Return ``--format`` of tables."""
    alone = typer.Typer(add_completion=False)
    alone.command()(_with_format)
    option: Any = typer.main.get_command(alone)
    (found,) = (one for one in option.params if one.name == "table_format")
    found.expose_value = False
    return found  # type: ignore[no-any-return]

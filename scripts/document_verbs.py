"""Draws the reference of ``fathom`` from the verbs themselves, for ``docs/conf.py``.

The page therefore cannot fall behind the program, and nothing generated is kept in the repository.
"""

from __future__ import annotations

import re
import textwrap
from typing import Any

from fathom.cli.verbs import VERBS, load
from typer.core import TyperGroup

__all__ = ["PLACE", "reference_of_verbs"]

# The line of docs/fathom-reference.md that the reference takes the place of.
PLACE = "<!-- the verbs -->"
_MARKUP = re.compile(r"([\\`*_<>\[\]|~])")


def reference_of_verbs() -> str:
    """Return a section for each verb in Markdown: usage, what it does, arguments and options."""
    return "\n".join(_section(name, load(name), depth=2) for name in VERBS)


def _section(name: str, command: Any, *, depth: int) -> str:  # noqa: ANN401 - Typer's vendored Click.
    context = command.context_class(command, info_name=f"fathom {name}")
    usage = command.get_usage(context).removeprefix("Usage: ")
    parts = [f"{'#' * depth} `fathom {name}`\n", f"```text\n{' '.join(usage.split())}\n```\n"]
    parts.append(_prose(command.help or ""))
    parts.append(_options(command, context))
    if isinstance(command, TyperGroup):
        verbs = command.commands.items()
        parts += [_section(f"{name} {verb}", found, depth=depth + 1) for verb, found in verbs]
    return "\n".join(parts)


def _prose(text: str) -> str:
    # Click marks paragraphs that must not be wrapped with a backspace character.
    paragraphs = textwrap.dedent(text).replace("\f", "\n\n").split("\n\n")
    return "\n\n".join(_paragraph(each) for each in paragraphs if each.strip()) + "\n"


def _paragraph(text: str) -> str:
    if "\b" in text:
        lines = text.replace("\b", "").strip("\n")
        return f"```text\n{lines}\n```"
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def _options(command: Any, context: Any) -> str:  # noqa: ANN401 - Typer's vendored Click.
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    rows = [f"- `{names}`: {_paragraph(text)}" for names, text in filter(None, records)]
    return "\n".join(rows) + "\n"

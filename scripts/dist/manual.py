"""The manual page of ``fathom``, from the verbs themselves.

scripts/dist/manual.py FILE
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import fathom
from fathom.cli.verbs import VERBS, load

_HEAD = """.TH FATHOM 1 "" "fathom {version}"
.SH NAME
fathom \\- the lab for measuring storage
.SH SYNOPSIS
.B fathom
.I verb
[options] [arguments]
.SH DESCRIPTION
Assesses storage, runs single measurements and keeps them, repeats, compares,
sweeps, tunes and reports.
"""
_TAIL = """.SH EXIT STATUS
0 complete; 1 failed; 2 refused, to protect data; 3 wrong arguments; 4 verification found faults;
5 a limit is broken, or something failed (compare, gate, resources); 6 measured, but not saved;
7 cannot tell; 8 better (compare); 130 interrupted, with the partial result.
.SH SEE ALSO
.BR diskspd (1)
"""


def roff(text: str) -> str:
    """Return words as running text of a manual page."""
    words = " ".join(text.replace("\b", " ").replace("\f", " ").split())
    words = words.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{words}" if words.startswith((".", "'")) else words


def of_verb(name: str, command: Any) -> str:  # noqa: ANN401 - Typer's vendored Click.
    """Return a verb's section, and those of the verbs below it."""
    context = command.context_class(command, info_name=f"fathom {name}")
    usage = command.get_usage(context).removeprefix("Usage: ")
    text = f".SS {roff(name)}\n.B {roff(usage)}\n.PP\n{roff(command.help or '')}\n"
    for parameter in command.get_params(context):
        if record := parameter.get_help_record(context):
            text += f".TP\n.B {roff(record[0])}\n{roff(record[1])}\n"
    for verb, below in getattr(command, "commands", {}).items():
        text += of_verb(f"{name} {verb}", below)
    return text


def page() -> str:
    """Return the page in roff."""
    verbs = "".join(of_verb(name, load(name)) for name in VERBS)
    return _HEAD.format(version=fathom.__version__) + ".SH VERBS\n" + verbs + _TAIL


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")

"""Completions of both commands for bash, zsh and fish, from their own tables of options.

    scripts/dist/completions.py FOLDER

``diskspd``'s options are read from ``docs/usage.txt``, which is generated from its table;
``fathom``'s verbs say theirs themselves. The scripts are static: no key costs a start of Python.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

from fathom.cli.verbs import VERBS, load

ROOT = Path(__file__).resolve().parents[2]
_USAGE = re.compile(r"^  (-\S+)(?:\s\s+(.*))?$")


class Option(NamedTuple):
    """One option: how it begins, what it does, and whether a value follows in the same word."""

    name: str
    words: str
    is_open: bool = False


def of_diskspd() -> list[Option]:
    """Return the options of ``diskspd``, the first of each beginning."""
    found: dict[str, Option] = {}
    lines = (ROOT / "docs" / "usage.txt").read_text().splitlines()
    for at, line in enumerate(lines):
        told = _USAGE.match(line)
        if told is None:
            continue
        form, words = told[1], told[2] or lines[at + 1].strip()
        name = re.split(r"[<\[(|]", form)[0].rstrip(",")
        if name not in {"-", "--"}:
            found.setdefault(name, Option(name, words, is_open=name != form))
    return [*found.values()]


def of_verb(command: Any) -> list[Option]:  # noqa: ANN401 - Typer's vendored Click.
    """Return the options of a verb of ``fathom``."""
    context = command.context_class(command, info_name="fathom")
    found = []
    for parameter in command.get_params(context):
        words = " ".join((getattr(parameter, "help", None) or "").split())
        names = [name for name in parameter.opts if name.startswith("--")]
        found += [Option(name, words) for name in names]
    return found


def verbs() -> dict[str, list[Option]]:
    """Return what follows each verb: its options, and the verbs below it."""
    found = {}
    for name in VERBS:
        command: Any = load(name)
        below = [
            Option(verb, " ".join((one.help or "").split()))
            for verb, one in getattr(command, "commands", {}).items()
        ]
        found[name] = [*below, *of_verb(command)]
    return found


def bash_of_diskspd(options: list[Option]) -> str:
    """Return the completion of ``diskspd`` for bash."""
    every = " ".join(one.name for one in options)
    open_ones = " ".join(one.name for one in options if one.is_open)
    return f"""# bash completion of diskspd
_diskspd() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} open=' {open_ones} '
    COMPREPLY=()
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W '{every}' -- "$word")
        # A value follows in the same word.
        [[ $open == *" ${{COMPREPLY[0]}} "* ]] && compopt -o nospace
    else
        compopt -o default
    fi
}}
complete -F _diskspd diskspd
"""


def zsh_of_diskspd(options: list[Option]) -> str:
    """Return the completion of ``diskspd`` for zsh."""
    closed, opened = (_zsh_items(options, is_open=kind) for kind in (False, True))
    return f"""#compdef diskspd
local -a closed opened
closed=({closed})
opened=({opened})
if [[ $PREFIX == -* ]]; then
    _describe -o option closed -- opened -S ''
else
    _files
fi
"""


def _zsh_items(options: list[Option], *, is_open: bool) -> str:
    items = [one for one in options if one.is_open == is_open]
    return " ".join(_quoted(f"{_colons(one.name)}:{_colons(one.words)}") for one in items)


def _colons(text: str) -> str:
    return text.replace(":", "\\:")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def fish_of_diskspd(options: list[Option]) -> str:
    """Return the completion of ``diskspd`` for fish."""
    return "# fish completion of diskspd\n" + "".join(
        f"complete -c diskspd {_fish_name(one.name)} -d {_fish(one.words)}\n" for one in options
    )


def _fish_name(name: str) -> str:
    if name.startswith("--"):
        return f"-l {_fish(name[2:].rstrip('='))}"
    return f"-o {_fish(name[1:])}"


def _fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def bash_of_fathom(table: dict[str, list[Option]]) -> str:
    """Return the completion of ``fathom`` for bash."""
    cases = "\n".join(
        f"        {verb}) words='{' '.join(one.name for one in options)}' ;;"
        for verb, options in table.items()
    )
    return f"""# bash completion of fathom
_fathom() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} words=
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        words='{" ".join(table)} --help --version'
    else
        case ${{COMP_WORDS[1]}} in
{cases}
        esac
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    ((${{#COMPREPLY[@]}})) || compopt -o default
}}
complete -F _fathom fathom
"""


def zsh_of_fathom(table: dict[str, list[Option]]) -> str:
    """Return the completion of ``fathom`` for zsh."""
    names = [Option(verb, VERBS[verb].help) for verb in table]
    cases = "\n".join(
        f"        {verb}) found=({_zsh_items(options, is_open=False)}) ;;"
        for verb, options in table.items()
    )
    return f"""#compdef fathom
local -a found
if ((CURRENT == 2)); then
    found=({_zsh_items(names, is_open=False)})
    _describe -t verbs verb found
else
    case $words[2] in
{cases}
    esac
    _describe -o option found
    _files
fi
"""


def fish_of_fathom(table: dict[str, list[Option]]) -> str:
    """Return the completion of ``fathom`` for fish."""
    lines = ["# fish completion of fathom"]
    for verb, options in table.items():
        about = f"-a {verb} -d {_fish(VERBS[verb].help)}"
        lines.append(f"complete -c fathom -n __fish_use_subcommand {about}")
        given = f"complete -c fathom -n '__fish_seen_subcommand_from {verb}'"
        for one in options:
            name = f"-l {one.name[2:]}" if one.name.startswith("--") else f"-a {one.name}"
            lines.append(f"{given} {name} -d {_fish(one.words)}")
    return "\n".join(lines) + "\n"


# Where the shells look for them, below a share folder.
PLACES = {
    "bash": "bash-completion/completions/{}",
    "zsh": "zsh/site-functions/_{}",
    "fish": "fish/vendor_completions.d/{}.fish",
}


def write_all(share: Path) -> None:
    """Write all six below a share folder."""
    table, options = verbs(), of_diskspd()
    texts = {
        ("bash", "diskspd"): bash_of_diskspd(options),
        ("zsh", "diskspd"): zsh_of_diskspd(options),
        ("fish", "diskspd"): fish_of_diskspd(options),
        ("bash", "fathom"): bash_of_fathom(table),
        ("zsh", "fathom"): zsh_of_fathom(table),
        ("fish", "fathom"): fish_of_fathom(table),
    }
    for (shell, command), text in texts.items():
        place = share / PLACES[shell].format(command)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))

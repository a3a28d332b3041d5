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


class Verb(NamedTuple):
    """What follows a verb: the verbs below it, and its options."""

    below: list[Option]
    options: list[Option]


def verbs() -> dict[str, Verb]:
    """Return each verb by its words, those below others included (``prepare look``)."""
    found: dict[str, Verb] = {}
    for name in VERBS:
        found |= _with_below(name, load(name))
    return found


def _with_below(name: str, command: Any) -> dict[str, Verb]:  # noqa: ANN401 - Typer's Click.
    commands = getattr(command, "commands", {})
    below = [Option(verb, " ".join((one.help or "").split())) for verb, one in commands.items()]
    found = {name: Verb(below, of_verb(command))}
    for verb, one in commands.items():
        found |= _with_below(f"{name} {verb}", one)
    return found


def _first() -> Verb:
    """Return what follows ``fathom``."""
    own = [Option("--help", "Show a message and exit."), Option("--version", "Show the version.")]
    return Verb([Option(name, one.help) for name, one in VERBS.items()], own)


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


def bash_of_fathom(table: dict[str, Verb]) -> str:
    """Return the completion of ``fathom`` for bash."""
    cases = "\n".join(
        f"        '{name}') words='{' '.join(one.name for part in verb for one in part)}' ;;"
        for name, verb in {"": _first(), **table}.items()
    )
    return f"""# bash completion of fathom
_fathom() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} verb= words= at
    local -a only=()
    for ((at = 1; at < COMP_CWORD; at++)); do
        case "${{verb:+$verb }}${{COMP_WORDS[at]}}" in
            {_alternatives(table)}) verb=${{verb:+$verb }}${{COMP_WORDS[at]}} ;;
            *) break ;;
        esac
    done
    case $verb in
{cases}
    esac
    [[ $word == -* ]] || only=(-X '-*')
    mapfile -t COMPREPLY < <(compgen -W "$words" "${{only[@]}}" -- "$word")
    ((${{#COMPREPLY[@]}})) || compopt -o default
}}
complete -F _fathom fathom
"""


def _alternatives(table: dict[str, Verb]) -> str:
    """Return the words of all verbs as a pattern of ``case``."""
    return "|".join(f"'{name}'" for name in table)


def zsh_of_fathom(table: dict[str, Verb]) -> str:
    """Return the completion of ``fathom`` for zsh."""
    cases = "\n".join(
        f"    '{name}') below=({_zsh_items(verb.below, is_open=False)}) "
        f"found=({_zsh_items(verb.options, is_open=False)}) ;;"
        for name, verb in {"": _first(), **table}.items()
    )
    return f"""#compdef fathom
local -a below found
local verb= at
for ((at = 2; at < CURRENT; at++)); do
    case "${{verb:+$verb }}$words[at]" in
        {_alternatives(table)}) verb=${{verb:+$verb }}$words[at] ;;
        *) break ;;
    esac
done
case $verb in
{cases}
esac
(( $#below )) && _describe -t verbs verb below
_describe -o option found
(( $#below )) || _files
"""


def fish_of_fathom(table: dict[str, Verb]) -> str:
    """Return the completion of ``fathom`` for fish."""
    names = " ".join(f"'{name}'" for name in table)
    lines = [
        "# fish completion of fathom",
        "function __fathom_is_at",
        "    set -l verb",
        "    for word in (commandline -opc)[2..-1]",
        f"        contains -- (string join ' ' $verb $word) {names}; or break",
        "        set -a verb $word",
        "    end",
        '    test "$verb" = "$argv[1]"',
        "end",
    ]
    for name, verb in {"": _first(), **table}.items():
        given = f"complete -c fathom -n '__fathom_is_at \"{name}\"'"
        no_files = " -f" if verb.below else ""
        lines += [f"{given}{no_files} -a {one.name} -d {_fish(one.words)}" for one in verb.below]
        lines += [f"{given} {_fish_name(one.name)} -d {_fish(one.words)}" for one in verb.options]
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

"""One grammar of options: the same word, the same unit and the same letter in all verbs.

The tables here say what follows an option, which letter stands for it, how it was spelt before, and
what an example of each verb is; they are put over what the verbs declare when one is called. A test
holds all options of all verbs against them.
"""

from __future__ import annotations

import re
from contextlib import suppress
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

import fathom
from fathom import engine
from fathom._hanging import HangingError, within
from fathom.cli.empty_words import refuse_empty_values
from fathom.cli.verbs import VERBS
from fathom.store.references import requested_runs
from fathom.units import LONGEST_S, MIB, SIZES, TIMES_S

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = [
    "EXAMPLES",
    "KINDS",
    "LETTERS",
    "RENAMED",
    "apply_grammar",
    "bytes_of",
    "modern_arguments",
    "suggest_option",
    "suggest_target",
]

# A suggestion is not worth a longer wait, nor a look through more names.
_SUGGESTION_S = 1.0
_NAMES_MOST = 2000
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|)")
_SECONDS = {**TIMES_S, "": 1.0, "min": TIMES_S["m"]}
_PERCENT = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+))\s*%?")
_SIZE = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)


def seconds_of(text: str | float) -> float:
    """Return the seconds of ``90s``, ``5m`` or ``90``."""
    found = _TIME.fullmatch(str(text).strip())
    if found is None:
        raise typer.BadParameter(f"{text!r} is no time: write 90s, 5m or 2h")
    seconds = float(found[1]) * _SECONDS[found[2]]
    if seconds > LONGEST_S:
        raise typer.BadParameter(f"{text!r} is longer than 10 years: write 90s, 5m or 2h")
    return seconds


def whole_seconds_of(text: str | float) -> int:
    """Return whole seconds."""
    seconds = seconds_of(text)
    if seconds != int(seconds):
        raise typer.BadParameter(f"{text!r} has to be whole seconds")
    return int(seconds)


def bytes_of(text: str | int) -> int:
    """Return the bytes of ``10G``; as everywhere, a number alone is bytes."""
    found = _SIZE.fullmatch(str(text).strip())
    if found is None:
        raise typer.BadParameter(f"{text!r} is no size: write 64M or 10G")
    digits, _, decimals = found[1].partition(".")
    parts: int = 10 ** len(decimals)
    size_bytes, rest = divmod(int(digits + decimals) * SIZES[found[2].upper()], parts)
    if rest:
        raise typer.BadParameter(f"{text!r} has to be whole bytes: write 64M or 10G")
    return size_bytes


def mib_of(text: str | int) -> int:
    """Return the MiB of ``10G``."""
    size_bytes = bytes_of(text)
    if size_bytes < MIB or size_bytes % MIB:
        raise typer.BadParameter(f"{text!r} has to be whole MiB: write 64M or 10G")
    return size_bytes // MIB


def percent_of(text: str | float) -> float:
    """Return the number of ``2`` or ``2%``."""
    found = _PERCENT.fullmatch(str(text).strip())
    if found is None:
        raise typer.BadParameter(f"{text!r} is no percentage: write 2 or 2%")
    return float(found[1])


def _types(
    *,
    percent: Annotated[float, typer.Option(parser=percent_of)] = 0.0,
    seconds: Annotated[float, typer.Option(parser=seconds_of)] = 0.0,
    whole_seconds: Annotated[int, typer.Option(parser=whole_seconds_of)] = 0,
    mib: Annotated[int, typer.Option(parser=mib_of)] = 0,
) -> None:
    del percent, seconds, whole_seconds, mib


class _Kind(NamedTuple):
    """What follows an option: its word in the help, and its type here if that is not the verb's."""

    word: str
    type_name: str | None = None


# What follows an option, wherever it stands.
KINDS: Mapping[str, _Kind] = {
    "--account": _Kind("NAME"),
    "--aggregate": _Kind("NAME"),
    "--allow-write": _Kind("DEVICE"),
    "--baseline": _Kind("REFERENCE"),
    "--block": _Kind("RANGE"),
    "--ca": _Kind("FILE"),
    "--chap-password-file": _Kind("FILE"),
    "--chap-user": _Kind("NAME"),
    "--choose": _Kind("NAME=VALUE"),
    "--clients": _Kind("NUMBER"),
    "--compress": _Kind("FACTOR"),
    "--confidence": _Kind("PERCENT", "percent"),
    "--control-port": _Kind("NUMBER"),
    "--controller": _Kind("HOST"),
    "--credentials": _Kind("FILE"),
    "--databases": _Kind("RANGE"),
    "--dedupe": _Kind("FACTOR"),
    "--depth": _Kind("RANGE"),
    "--device": _Kind("WORDS"),
    "--disk-count": _Kind("NUMBER"),
    "--duration": _Kind("TIME", "whole_seconds"),
    "--events": _Kind("FILE"),
    "--fail-if": _Kind("CONDITION"),
    "--file": _Kind("FILE"),
    "--folder": _Kind("FOLDER"),
    "--from": _Kind("FORM"),
    "--listen": _Kind("ADDRESS"),
    "--days": _Kind("NUMBER"),
    "--on-host-loss": _Kind("stop|continue"),
    "--host": _Kind("NAME"),
    "--hosts": _Kind("NAMES"),
    "--tls": _Kind("FOLDER"),
    "--fleet": _Kind("ADDRESS"),
    "--igroup": _Kind("NAME"),
    "--igroup-protocol": _Kind("iscsi|fcp|mixed"),
    "--igroup-type": _Kind("TYPE"),
    "--initiator": _Kind("IQN"),
    "--initiator-address": _Kind("ADDRESS"),
    "--junit": _Kind("FILE"),
    "--label": _Kind("WORDS"),
    "--limit": _Kind("NUMBER"),
    "--load": _Kind("LOAD"),
    "--longest": _Kind("TIME", "whole_seconds"),
    "--lose": _Kind("NAME"),
    "--lun": _Kind("NUMBER"),
    "--mail-from": _Kind("ADDRESS"),
    "--mail-to": _Kind("ADDRESS"),
    "--markdown": _Kind("FILE"),
    "--mean": _Kind("TIME"),
    "--metric": _Kind("FIGURE"),
    "--metrics-file": _Kind("FILE"),
    "--most": _Kind("NUMBER"),
    "--notify": _Kind("ADDRESS"),
    "--node": _Kind("NAME"),
    "--on": _Kind("tgt|ontap|lio"),
    "--only": _Kind("NAME"),
    "--output": _Kind("FILE"),
    "--p99": _Kind("TIME"),
    "--password-file": _Kind("FILE"),
    "--path": _Kind("PATH"),
    "--pilot": _Kind("NUMBER"),
    "--portal": _Kind("HOST:PORT"),
    "--precision": _Kind("PERCENT", "percent"),
    "--precondition": _Kind("none|wipc|wdpc"),
    "--rate": _Kind("MIB_PER_S"),
    "--require": _Kind("LIMIT"),
    "--resume": _Kind("EXPERIMENT"),
    "--role": _Kind("look|measure"),
    "--run": _Kind("A B"),
    "--runner": _Kind("fio|PATH"),
    "--samples": _Kind("NUMBER"),
    "--scale": _Kind("NUMBER"),
    "--seed": _Kind("NUMBER"),
    "--since": _Kind("WHEN"),
    "--size": _Kind("SIZE"),
    "--smtp": _Kind("HOST:PORT"),
    "--smtp-ca": _Kind("FILE"),
    "--smtp-password-file": _Kind("FILE"),
    "--smtp-user": _Kind("NAME"),
    "--snapshot-reserve": _Kind("PERCENT"),
    "--steady": _Kind("TIME", "whole_seconds"),
    "--store": _Kind("FILE|URL"),
    "--svm": _Kind("NAME"),
    "--synthetic": _Kind("WORKLOAD"),
    "--target": _Kind("IQN"),
    "--tbw": _Kind("TB"),
    "--threads": _Kind("RANGE"),
    "--time": _Kind("TIME", "seconds"),
    "--tolerance": _Kind("PERCENT", "percent"),
    "--type": _Kind("TYPE"),
    "--user": _Kind("NAME"),
    "--vary": _Kind("OPTION=VALUES"),
    "--verdict": _Kind("FIGURE"),
    "--volume": _Kind("NAME"),
    "--volume-size": _Kind("SIZE"),
    "--warm-up": _Kind("TIME", "whole_seconds"),
    "--when": _Kind("TIMES"),
    "--width": _Kind("NUMBER"),
    "--writes": _Kind("RANGE"),
}
_TYPES_OF = {("assess", "--size"): "mib", ("density", "--time"): "whole_seconds"}
# Where the verb's own default says nothing to people.
_DEFAULTS = {("sweep", "--tolerance"): "5; 0 with --duration"}
# The ten that are used most. Verbs that take DiskSpd's arguments have none: letters are DiskSpd's.
LETTERS: Mapping[str, str] = {
    "--json": "-j",
    "--store": "-s",
    "--output": "-o",
    "--limit": "-n",
    "--label": "-l",
    "--format": "-f",
    "--experiments": "-e",
    "--device": "-d",
    "--yes": "-y",
    "--table": "-t",
}


def _as_mib(value: str) -> str:
    return f"{value}M"


def _same(value: str) -> str:
    return value


# How an option of a verb was spelt before, and how its value is said now.
RENAMED: Mapping[tuple[str, str], tuple[str, Callable[[str], str]]] = {
    ("assess", "--seconds"): ("--time", _same),
    ("density", "--seconds"): ("--time", _same),
    ("assess", "--size-mib"): ("--size", _as_mib),
    ("sweep", "--write"): ("--writes", _same),
    ("report", "--force"): ("--overwrite", _same),
    ("plot", "--force"): ("--overwrite", _same),
    ("import", "--format"): ("--from", _same),
}

# What the help of each shows; a new verb has its examples in its record.
EXAMPLES: Mapping[str, Sequence[str]] = {
    **{name: verb.examples for name, verb in VERBS.items() if verb.examples},
    "run": (
        "fathom run -c1G -b8K -r -o32 -d30 -Sh x.dat",
        "fathom run sql-oltp-70 -d30 x.dat",
        "fathom run --require 'mean<5s' -c1G -b8K -r -L -d10 x.dat",
    ),
    "repeat": ("fathom repeat --precision 2 -b4K -r -o8 -d10 -Sh x.dat",),
    "sweep": (
        "fathom sweep --block 4K..64K --depth 1..16 -c1G -Sh x.dat",
        "fathom sweep --vary=-rs=10,50,100 --duration 5s -b8K -Sh -L -c1G x.dat",
    ),
    "tune": ("fathom tune --p99 2ms --longest 5s -b8K -r -c1G -Sh x.dat",),
    "assess": ("fathom assess --time 5m --size 4G .", "fathom assess --dry-run --steady 10m ."),
    "prepare look": ("fathom prepare look x.dat",),
    "prepare fill": ("fathom prepare fill --size 1G new.dat",),
    "density": (
        "fathom density --dry-run --synthetic sql-log --size 64M new",
        "fathom density --databases 1..2 --time 1s --synthetic sql-log --size 8M new",
    ),
    "compare": ("fathom compare 1,2 3,4", "fathom compare 1,2,3 4,5,6 --fail-if 'iops<-5%'"),
    "fleet certificates": ("fathom fleet certificates tls --hosts a b c",),
    "scale": ("fathom scale --fleet local:2 --duration 3s -c64M -b8K -r -Sh '{host}.dat'",),
    "fleet show": ("fathom fleet show local:2",),
    "gate": (
        "fathom gate 7,8,9 --require 'iops>500' --require 'p99<5s'",
        "fathom gate 7,8,9,10,11 --baseline 2,3,4,5,6 --require 'iops>-5%' --junit gate.xml",
    ),
    "trend": ("fathom trend", "fathom trend 12 --baseline golden -o trend.svg"),
    "serve user add": ("fathom serve user add ann --role measure --folder lab",),
    "serve user list": ("fathom serve user list --folder lab",),
    "serve user remove": ("fathom serve user remove bea --folder lab",),
    "serve token add": ("fathom serve token add prometheus --folder lab",),
    "serve token list": ("fathom serve token list --json --folder lab",),
    "serve token remove": ("fathom serve token remove grafana --folder lab",),
    "schedule add": (
        "fathom schedule add nightly --when 03:30 --print -- run -c1G -b4K -r -L -d60 x.dat",
        "fathom schedule add nightly --when 'mon 03:30' --cron -- trend 12 --alert",
    ),
    "schedule list": ("fathom schedule list",),
    "schedule remove": ("fathom schedule remove nightly --folder units",),
    "translate": ("fathom translate --to fio -b8K -r -o32 -d30 -Sh x.dat",),
    "workloads": ("fathom workloads sql-oltp-70",),
    "list": ("fathom list --label 'oltp*' --limit 10", "fathom list --experiments --format csv"),
    "show": ("fathom show 12", "fathom show e1 --format markdown"),
    "audit": ("fathom audit --limit 20",),
    "import": ("fathom import old.txt --label before",),
    "export": ("fathom export -o runs.csv", "fathom export e1 -o e1.sqlite"),
    "report": ("fathom report e1 -o e1.html",),
    "plot": ("fathom plot time-series 12 -o 12.svg",),
    "delete": ("fathom delete 11 --yes",),
    "store copy": ("fathom store copy runs.sqlite lab.sqlite e1",),
    "resources": (
        "fathom resources lab=crm_mon.xml lab=pacemaker.log --since 7d",
        "fathom resources sql=System.evtx -o resources.json",
    ),
    "store check": ("fathom store check",),
    "store compact": ("fathom store compact --store runs.sqlite",),
    "store move": ("fathom store move old.sqlite new.sqlite",),
    "doctor": ("fathom doctor",),
    "baseline set": ("fathom baseline set best 12",),
    "baseline list": ("fathom baseline list",),
    "baseline remove": ("fathom baseline remove golden",),
}


def _type_of(name: str) -> Any:  # noqa: ANN401 - Typer's.
    alone = typer.Typer(add_completion=False)
    alone.command()(_types)
    command: Any = typer.main.get_command(alone)
    return next(one.type for one in command.params if one.name == name)


def apply_grammar(name: str, verb: Any, *, is_passing: bool) -> None:  # noqa: ANN401 - Typer's.
    """Give the options of a verb their words, types and letters, and its help its examples."""
    for option in verb.params:
        refuse_empty_values(option)
        if option.param_type_name == "option":
            option.opts[:] = [RENAMED.get((name, one), (one,))[0] for one in option.opts]
            long = next((one for one in option.opts if one.startswith("--")), "")
            _put_kind(name, long, option)
            letter = LETTERS.get(long)
            if letter is not None and not is_passing and letter not in option.opts:
                option.opts.append(letter)
    examples = EXAMPLES.get(name, ())
    if examples:
        verb.epilog = "For example: " + "; ".join(examples)


def _put_kind(name: str, long: str, option: Any) -> None:  # noqa: ANN401 - Typer's.
    kind = KINDS.get(long)
    if kind is not None:
        option.metavar = kind.word
        type_name = _TYPES_OF.get((name, long), kind.type_name)
        if type_name is not None:
            option.type = _type_of(type_name)
        if type_name in ("seconds", "whole_seconds") and option.default:
            option.show_default = f"{option.default}s"
    if (name, long) in _DEFAULTS:
        option.show_default = _DEFAULTS[name, long]


def modern_arguments(name: str, arguments: Sequence[str]) -> list[str]:
    """Return arguments with options as they are spelt now; old spellings are reported."""
    found: list[str] = []
    pending: Callable[[str], str] | None = None
    for at, argument in enumerate(arguments):
        if argument == "--":
            return [*found, *arguments[at:]]
        if pending is not None:
            found.append(pending(argument))
            pending = None
            continue
        word, equals, value = argument.partition("=")
        new = RENAMED.get((name, word))
        if new is None:
            found.append(argument)
            continue
        typer.echo(f"note: {word} is now {new[0]}", err=True)
        if equals:
            found.append(f"{new[0]}={new[1](value)}")
        else:
            found.append(new[0])
            pending = None if new[0] == "--overwrite" else new[1]
    return found


def suggest_option(arguments: Sequence[str], verb: Any) -> None:  # noqa: ANN401 - Typer's.
    """Refuse an option that neither a verb nor the engine has, where one of the verb's was meant.

    Raises
    ------
    InvalidRequestError
        It names the option that was meant.

    """
    spelt = [word for one in verb.params for word in (*one.opts, *one.secondary_opts)]
    own = [word for word in spelt if word.startswith("--")]
    for argument in arguments:
        word = argument.partition("=")[0]
        if argument == "--":
            return
        if not word.startswith("--") or word in own or word == "--help":
            continue
        near = get_close_matches(word, own, n=1, cutoff=0.75)
        if near and _is_unknown(argument):
            raise fathom.InvalidRequestError(f"there is no option {word}: did you mean {near[0]}?")


def suggest_target(
    name: str,
    arguments: Sequence[str],
    verb: Any,  # noqa: ANN401 - Typer's.
) -> None:
    """Refuse a target that is missing where the name of a file beside it was meant.

    Raises
    ------
    InvalidRequestError
        It names that file, or says that the target is a link that leads to nothing, or that saved
        runs are run again by ``fathom run`` alone. A target that is to be made, or of a workload,
        may be missing.

    """
    arguments = _without_values(arguments, verb)
    if saved := requested_runs(arguments):
        if name == "run":
            return
        _refuse_saved(name, saved[0])
    is_made = any(one.startswith(("-c", "/c", "--resume", "-X", "-h", "-?")) for one in arguments)
    if not arguments or is_made or (len(arguments) > 1 and not arguments[0].startswith(("-", "/"))):
        return
    if arguments[-1].startswith(("-", "#", "*")):
        return
    path = Path(arguments[-1])
    with suppress(OSError, HangingError):
        # A target that hangs is the engine's to tell.
        names = within(_SUGGESTION_S, f"look at '{path}'", lambda: _names_beside(path))
        if path.name in names:
            raise fathom.InvalidRequestError(
                f"the target {path} is a link that leads to nothing: {path.readlink()} does not "
                "exist; make it, or name another target"
            )
        near = get_close_matches(path.name, names, n=1, cutoff=0.8)
        if near:
            raise fathom.InvalidRequestError(
                f"the target {path} does not exist: did you mean {path.with_name(near[0])}? "
                "-c<size> has a new file made"
            )


def _refuse_saved(name: str, word: str) -> None:
    """Refuse ``@12`` where a file of that name would be made, and filled."""
    if not Path(word).exists():
        raise fathom.InvalidRequestError(
            f"there is no file {word}: what run {word[1:]} requested is run again by fathom run "
            f"{word} alone. Give fathom {name} that load, or name a new file ./{word}"
        )


def _without_values(
    arguments: Sequence[str],
    verb: Any,  # noqa: ANN401 - Typer's.
) -> list[str]:
    """Return arguments without the values of a verb's own options, which are no targets."""
    options = [one for one in verb.params if not getattr(one, "is_flag", False)]
    valued = {word for one in options for word in one.opts if word.startswith("-")}
    found: list[str] = []
    words = iter(arguments)
    for word in words:
        found.append(word)
        if word == "--":
            return [*found, *words]
        if word in valued:
            next(words, None)
    return found


def _names_beside(path: Path) -> list[str]:
    """Return some names in the folder of a file that is missing; none if it is there.

    A link that leads to nothing has its own name alone.
    """
    if path.exists():
        return []
    if path.is_symlink():
        return [path.name]
    return [one.name for one in islice(path.parent.iterdir(), _NAMES_MOST)]


def _is_unknown(argument: str) -> bool:
    try:
        engine.load_of([argument, "x"])
    except fathom.FathomError as error:
        return "unknown option" in str(error)
    return False

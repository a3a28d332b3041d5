"""The verbs of ``fathom``. A verb's module is imported when the verb is called.

``fathom --help`` then costs this table only. The texts in it are the first sentences of what the
verbs say of themselves, which a test compares.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TextIO, cast

import typer
from typer.core import TyperCommand, TyperGroup

from fathom.cli.views.plain import unguarded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["VERBS", "Passing", "Verb", "VerbGroup", "load"]


class Verb(NamedTuple):
    """All that is known of a verb: where it is, what the help says of it, and what it does.

    Attributes
    ----------
    module, attribute
        ``attribute`` of ``fathom.cli.commands.<module>`` is a function, or a ``typer.Typer`` with
        verbs of its own.
    takes_load
        Whether its arguments are those of a load.
    tables
        Which of its own verbs show tables; the empty word is the verb itself.
    experiments
        Whether it makes experiments; the report shows their runs, or has words of its own for them.
    takes_up
        Whether ``--resume`` goes on with one that another tool (``--runner``) measures.
    examples
        What its help shows, and a test runs.
    fleets
        Which of its own verbs take many hosts, too (``--fleet``); the empty word is the verb
        itself.
    logs_in
        Which of its own verbs log in to servers (``--credentials``), or let others do it; the empty
        word is the verb itself.

    """

    module: str
    attribute: str
    help: str
    options_metavar: str = "[OPTIONS]"
    takes_load: bool = False
    tables: tuple[str, ...] = ()
    experiments: bool = False
    takes_up: bool = False
    examples: tuple[str, ...] = ()
    fleets: tuple[str, ...] = ()
    logs_in: tuple[str, ...] = ()


_OF_DISKSPD = MappingProxyType({"allow_extra_args": True, "ignore_unknown_options": True})
# Of verbs that show tables themselves.
_OWN = ("",)
_WORKLOAD_OR_ARGUMENTS = "[OPTIONS] [WORKLOAD] DISKSPD_ARGUMENTS..."
_TARGET_OR_ARGUMENTS = "[OPTIONS] TARGET|DISKSPD_ARGUMENTS..."
_OF_A_TARGET = (_WORKLOAD_OR_ARGUMENTS, _TARGET_OR_ARGUMENTS)

# In the order of the help.
VERBS: Mapping[str, Verb] = {
    "run": Verb(
        "run",
        "run",
        "Measure, and save what was measured.",
        _WORKLOAD_OR_ARGUMENTS,
        takes_load=True,
        tables=_OWN,
        experiments=True,
        fleets=_OWN,
        logs_in=_OWN,
    ),
    "repeat": Verb(
        "repeat",
        "repeat",
        "Repeat a run until the interval of its mean is narrow enough.",
        _WORKLOAD_OR_ARGUMENTS,
        takes_load=True,
        tables=_OWN,
        experiments=True,
        takes_up=True,
        fleets=_OWN,
        logs_in=_OWN,
    ),
    "sweep": Verb(
        "sweep",
        "sweep",
        "Measure all combinations of parameters, such as --block 4K..2M --threads 1..64.",
        _TARGET_OR_ARGUMENTS,
        takes_load=True,
        tables=_OWN,
        experiments=True,
        takes_up=True,
        fleets=_OWN,
        logs_in=_OWN,
    ),
    "tune": Verb(
        "tune",
        "tune",
        "Find the threads and the queue depth of the knee, or under a limit of latency.",
        _TARGET_OR_ARGUMENTS,
        takes_load=True,
        tables=_OWN,
        experiments=True,
        takes_up=True,
        fleets=_OWN,
        logs_in=_OWN,
    ),
    "assess": Verb(
        "assess",
        "assess",
        "Measure what storage can do, and say what it is good for.",
        tables=_OWN,
        experiments=True,
        fleets=_OWN,
        logs_in=_OWN,
    ),
    "prepare": Verb(
        "prepare",
        "app",
        "Get a target ready: what it holds, fill it, precondition it.",
        experiments=True,
        fleets=("fill",),
        logs_in=("fill",),
    ),
    "density": Verb(
        "density",
        "density",
        "Load more and more databases at once, and say how many this machine carries.",
        tables=_OWN,
        experiments=True,
    ),
    "compare": Verb(
        "compare",
        "compare",
        "Compare saved runs, or measure A and B interleaved: change, interval and test.",
        "[OPTIONS] A B | --run A B [DISKSPD_ARGUMENTS...]",
        takes_load=True,
        tables=_OWN,
        experiments=True,
        takes_up=True,
        fleets=_OWN,
        logs_in=_OWN,
    ),
    "fleet": Verb(
        "fleet",
        "app",
        "Measure from many hosts at once: certificates, coordinator, hosts.",
        tables=("show",),
        logs_in=("join",),
    ),
    "scale": Verb(
        "scale",
        "scale",
        "Measure one load from 1, 2, 3 and more hosts, and say what each further one brings.",
        "[OPTIONS] DISKSPD_ARGUMENTS...",
        takes_load=True,
        tables=_OWN,
        experiments=True,
        fleets=_OWN,
        logs_in=_OWN,
    ),
    "gate": Verb(
        "gate",
        "gate",
        "Judge saved runs by limits, and end with an exit code for a pipeline.",
        tables=_OWN,
    ),
    "trend": Verb(
        "trend",
        "trend",
        "Find where one load on one target changed over time.",
        tables=_OWN,
    ),
    "schedule": Verb(
        "schedule",
        "app",
        "Write systemd timers and cron lines for a measurement that repeats.",
        tables=("list",),
        logs_in=("add",),
    ),
    "serve": Verb(
        "serve",
        "app",
        "Serve pages, an API and metrics of what is measured here.",
        tables=("user list", "token list"),
        logs_in=_OWN,
    ),
    "translate": Verb(
        "translate",
        "translate",
        "Show a load in the terms of another tool; nothing is run.",
        "[OPTIONS] DISKSPD_ARGUMENTS...|fio FIO_ARGUMENTS...|FILE",
        takes_load=True,
        tables=_OWN,
    ),
    "workloads": Verb(
        "workloads",
        "workloads",
        "List the workloads: those of Fathom, and your own.",
        tables=_OWN,
    ),
    "list": Verb(
        "list",
        "list_",
        "List saved runs, or experiments, the newest first.",
        tables=_OWN,
    ),
    "show": Verb(
        "show",
        "show",
        "Show runs or an experiment.",
        tables=_OWN,
    ),
    "audit": Verb(
        "audit",
        "audit",
        "List what was allowed with --overwrite and --allow-write, the newest first.",
        tables=_OWN,
    ),
    "import": Verb(
        "import_", "import_", "Import results of DiskSpd, fio, Iometer or CrystalDiskMark."
    ),
    "export": Verb(
        "export",
        "export",
        "Export runs as tables for other programs; or their load for another tool.",
    ),
    "report": Verb(
        "report",
        "report",
        "Report on what was measured: one page with figures, findings and all that repeats it.",
    ),
    "plot": Verb("plot", "plot", "Draw one figure of a report to a file."),
    "delete": Verb("delete", "delete", "Delete runs, or experiments with their runs."),
    "store": Verb("store", "app", "Copy, check, compact and move stores."),
    "lun": Verb(
        "lun",
        "app",
        "Set up a LUN to measure: from an empty controller to its address, step by step.",
        tables=("list",),
        logs_in=("setup",),
    ),
    "resources": Verb(
        "resources",
        "resources",
        "Tell which cluster resources moved, failed or degraded, and when.",
        tables=_OWN,
    ),
    "doctor": Verb(
        "doctor",
        "doctor",
        "Tell what this installation has and lacks, with the line that mends it.",
    ),
    "baseline": Verb(
        "baseline",
        "app",
        "Names for runs to compare with.",
        tables=("list",),
    ),
}


# The options of a verb behind those of its load or target; the first that it has.
_BEHIND_CREDENTIALS = ("label", "as_json", "folder", "store")
# The same of a fleet.
_BEHIND_FLEET = ("runner", "label", "resume")
# What it writes runs when nobody is there who could type a password.
_ASKS_NOBODY = ("schedule",)

# Of help that another program reads, which has no terminal's width.
_WIDTH_OF_A_PIPE = 100


def _markup_mode() -> Literal["rich"] | None:
    """Return how help is drawn: with Rich on a terminal, as plain text for other programs."""
    return "rich" if sys.stdout.isatty() else None


def _context_settings(more: Mapping[str, bool]) -> dict[str, object]:
    width = None if sys.stdout.isatty() else _WIDTH_OF_A_PIPE
    return {**more, "terminal_width": width}


# What the engine and the verbs take for more than the name of a file.
_MORE_THAN_A_NAME = ("-", "#", "*", "/?")


def _only_names(arguments: list[str]) -> list[str]:
    """Return arguments of which those behind ``--`` can be nothing but paths of targets."""
    if "--" not in arguments:
        return arguments
    end = arguments.index("--") + 1
    return [*arguments[:end], *map(_path, arguments[end:])]


def _path(name: str) -> str:
    if not name:
        return name
    # A bare name may be that of a workload, too; who writes a folder before it means a file.
    is_plain = "/" in name and not name.startswith(_MORE_THAN_A_NAME)
    return name if is_plain else f"./{name}"


class Passing(TyperCommand):
    """Passes arguments on, in which a name behind ``--`` would look like an option again."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - Typer's.
        """Let no name behind ``--`` be an option."""
        rest = super().parse_args(ctx, _only_names(args))
        import_module("fathom.cli.empty_words").refuse_empty_rest(rest)
        return rest


def load(name: str) -> TyperCommand | TyperGroup:
    """Import a verb's module, and return the verb with the options of all verbs of its kind."""
    found = _alone(name)
    _add_common(name, found)
    return found


def _alone(name: str) -> TyperCommand | TyperGroup:
    verb = VERBS[name]
    found = getattr(import_module(f"fathom.cli.commands.{verb.module}"), verb.attribute)
    if isinstance(found, typer.Typer):
        found.rich_markup_mode = _markup_mode()
        return typer.main.get_group(found)
    alone = typer.Typer(add_completion=False, rich_markup_mode=_markup_mode())
    settings = _context_settings(_OF_DISKSPD if verb.takes_load else {})
    alone.command(
        name,
        cls=Passing if verb.takes_load else TyperCommand,
        options_metavar=verb.options_metavar,
        context_settings=settings,
    )(found)
    return cast("TyperCommand", typer.main.get_command(alone))


def _add_credentials(verb: Any) -> None:  # noqa: ANN401 - Typer's.
    option = import_module("fathom.cli.login").credentials_option()
    names = [one.name for one in verb.params]
    before = next((names.index(one) for one in _BEHIND_CREDENTIALS if one in names), len(names))
    verb.params.insert(before, option)


def _drawn(show: Callable[..., None]) -> Callable[..., None]:
    """Let help be drawn on the terminal itself, which plain text would tell of its colours."""

    def draw(*given: object) -> None:
        before = sys.stdout
        sys.stdout = cast("TextIO", unguarded(before))
        try:
            show(*given)
        finally:
            sys.stdout = before

    return draw


def _add_common(name: str, verb: Any) -> None:  # noqa: ANN401 - Typer's.
    verb.format_help = _drawn(verb.format_help)
    parts = getattr(verb, "commands", {})
    for part, command in parts.items():
        _add_common(f"{name} {part}", command)
    whole, _, part = name.partition(" ")
    if part in VERBS[whole].logs_in:
        _add_credentials(verb)
    if parts:
        for option in verb.params:
            import_module("fathom.cli.empty_words").refuse_empty_values(option)
        return
    if part in VERBS[whole].tables:
        before = [one.name for one in verb.params].index("as_json") + 1
        format_option = import_module("fathom.cli.common_options").format_option
        verb.params.insert(before, format_option())
    if part in VERBS[whole].fleets:
        names = [one.name for one in verb.params]
        before = next(names.index(one) for one in _BEHIND_FLEET if one in names)
        choice = import_module("fathom.cli.fleet_choice")
        verb.params[before:before] = choice.fleet_options(splits=not part)
    grammar = import_module("fathom.cli.grammar")
    grammar.apply_grammar(name, verb, is_passing=isinstance(verb, Passing))


class _Later(TyperCommand):
    """Stands for a verb until it is called."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        *more: Any,  # noqa: ANN401 - As Typer calls it.
        **named: Any,  # noqa: ANN401 - The same.
    ) -> Any:  # noqa: ANN401 - The same.
        """Let the verb itself read its arguments, as they are spelt now."""
        verb = load(self.name or "")
        grammar = import_module("fathom.cli.grammar")
        args = grammar.modern_arguments(self.name or "", args)
        if isinstance(verb, Passing):
            grammar.suggest_option(args, verb)
        logs_in = VERBS[self.name or ""].logs_in and self.name not in _ASKS_NOBODY
        if logs_in and "--help" not in args:
            import_module("fathom.cli.login").ask_for_password(args)
        if VERBS[self.name or ""].options_metavar in _OF_A_TARGET:
            grammar.suggest_target(self.name or "", args, verb)
        return verb.make_context(info_name, args, *more, **named)


class VerbGroup(TyperGroup):
    """Knows the verbs by name and text alone."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - Typer's.
        """Add the verbs to Typer's settings."""
        drawing = {"rich_markup_mode": _markup_mode(), "context_settings": _context_settings({})}
        super().__init__(**{**settings, **drawing})
        for name, verb in VERBS.items():
            self.add_command(_Later(name, help=verb.help))

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - Typer's.
        """Draw the help."""
        _drawn(super().format_help)(ctx, formatter)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - Typer's.
        """Run the verb. Where it says nothing of Ctrl-C, the command does; Typer would not."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise typer.Abort from error

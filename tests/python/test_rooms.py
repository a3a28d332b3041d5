"""The rooms of the lab: who may import whom, and which types go through the doors alone."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import fathom
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PACKAGE = Path(fathom.__file__).parent
ARCHITECTURE = Path(__file__).parents[2] / "ARCHITECTURE.md"
# In its tree of rooms: the lines below `python/fathom`, each with names and what they are.
_TREE = re.compile(r"(?<=\npython/fathom )[^\n]*\n((?: {16}\S[^\n]*\n)+)")
_NOTE = re.compile(r" {2,}\S.*")

# The imports inside functions, each with its reason, which is measured: at most ten. Rooms and
# packages that are slow to import are imported when a name of theirs is used (`fathom._later`).
INSIDE_FUNCTIONS = {
    ("engine.py", "fathom.request"): "60 ms of 130 ms, which `fathom --help` takes",
    ("engine.py", "fathom.result"): "15 ms, and the request's 60 ms before it",
    ("__main__.py", "fathom.cli"): "150 ms, in which Ctrl-C would be a traceback",
    ("cli/__init__.py", "fathom.cli.common"): "20 ms: it knows the errors of the store",
}
MOST_INSIDE_FUNCTIONS = 10
# The doors, where JSON comes in or goes out whose fields no type names: all others have types.
DOORS = {
    "tools/": "what other programs print, and the jobs that are written for them",
    "luns/rest.py": "what a controller answers",
    "imported/": "what a source of another tool told, as the store keeps it",
    "store/": "rows of the database, and the documents in them",
    "report/collect/": "plans and outcomes in the store, by all versions that wrote some",
    "report/figures/": "specifications of Vega-Lite",
    "report/render/": "the same, for the page",
    "report/style.py": "the same, with their colours",
    "report/figure.py": "the same, with their tables",
    "report/material.py": "the row of a run",
    "_asked.py": "a request in its JSON form",
    "_beneath.py": "the engine's result",
    "_faults.py": "the engine's result",
    "_result_rows.py": "the engine's result",
    "_stop.py": "the engine's result",
    "_tables.py": "the outcome of a sweep, as the store keeps it",
    "_time_spans.py": "the engine's result",
    "result.py": "the engine's result",
    "request.py": "a request in its JSON form",
    "engine.py": "events of the engine, and what it explains",
    "fleet/": "messages between hosts, in their JSON form",
    "handle.py": "events of the engine",
    "cli/fleet_choice.py": "options, as Typer gives them",
    "cli/views/progress.py": "events of the engine",
    "experiments/_same_targets.py": "targets, as the store keeps them",
    "experiments/compare/interleaved.py": "a plan, as the store keeps it",
    "experiments/density/kept.py": "a plan and an outcome, as the store keeps them",
    "experiments/density/runners.py": "events of the engine",
    "experiments/prepare/write.py": "a plan, as the store keeps it, and events of the engine",
    "experiments/sweep/plan.py": "a plan, as the store keeps it",
    "experiments/tune/plan.py": "a plan, as the store keeps it",
    "runners/known_mean.py": "a part of a result, in the engine's form",
    "workloads/workload.py": "a file of TOML",
}


class Import(NamedTuple):
    """An import of one module of ours by another."""

    user: str
    used: str
    line: int
    is_inside: bool


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> Mapping[str, Path]:
    return {
        name_of(path): path
        for path in sorted(PACKAGE.rglob("*.py"))
        if "migrations" not in path.parts
    }


def imports_of(tree: ast.AST, *, is_inside: bool = False) -> Iterator[tuple[str, int, bool]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((one.name, node.lineno, is_inside) for one in node.names)
        if isinstance(node, ast.ImportFrom):
            for one in node.names:
                yield f"{node.module}.{one.name}", node.lineno, is_inside
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from imports_of(node, is_inside=is_inside or is_function)


@cache
def all_imports() -> tuple[Import, ...]:
    found = []
    for user, path in modules().items():
        for name, line, is_inside in imports_of(ast.parse(path.read_text(encoding="utf-8"))):
            # The engine's module is no file of Python.
            is_module = name in modules() or name == "fathom._fathom"
            used = name if is_module else name.rpartition(".")[0]
            found.append(Import(user, used, line, is_inside))
    return tuple(found)


def ours() -> Iterator[Import]:
    return (one for one in all_imports() if one.used in modules() and one.used != one.user)


def circle(edges: Iterable[tuple[str, str]]) -> list[str]:
    used_by = defaultdict(set)
    for user, used in edges:
        used_by[user].add(used)
    try:
        TopologicalSorter(used_by).prepare()
    except CycleError as error:
        return [*error.args[1]]
    return []


def room(module: str) -> str:
    """Return the package of a module below ``fathom``, or the module that has none."""
    return ".".join(module.split(".")[:2])


def owner(module: str) -> str | None:
    """Return the package to which a module is private; None if everybody may import it."""
    parts = module.split(".")
    hidden = [place for place, part in enumerate(parts) if part.startswith("_")]
    return ".".join(parts[: hidden[0]]) if hidden else None


def test_no_files_import_each_other_in_a_circle() -> None:
    assert circle((one.user, one.used) for one in ours()) == []


def test_no_rooms_import_each_other_in_a_circle() -> None:
    between = [(room(one.user), room(one.used)) for one in ours()]
    assert circle((user, used) for user, used in between if user != used) == []


def lines_of_rooms() -> dict[str, int]:
    """Return the line of ARCHITECTURE.md in which each room stands, from above."""
    found = _TREE.search(ARCHITECTURE.read_text(encoding="utf-8"))
    assert found
    lines = [_NOTE.sub("", line.strip()).split() for line in found[1].splitlines()]
    return {name.rstrip("/"): number for number, names in enumerate(lines) for name in names}


def test_each_room_imports_only_from_those_above_it_in_the_architecture() -> None:
    """The tree had `units` below `result`, `fleet` below `tools`, and eight rooms not at all."""
    lines = lines_of_rooms()
    rooms = {room(one).partition(".")[2] for one in modules()} - {""}
    rooms = {one for one in rooms if not one.startswith("_")}
    assert {*lines} == rooms, "the tree of ARCHITECTURE.md has each room of python/fathom once"
    upwards = {
        f"{one.user}:{one.line} imports {one.used}: move a room in the tree of ARCHITECTURE.md"
        for one in ours()
        for user, used in [[room(name).partition(".")[2] for name in (one.user, one.used)]]
        if user in lines and used in lines and lines[user] < lines[used]
    }
    assert upwards == set()


def test_nothing_private_is_imported_from_another_package() -> None:
    strangers = [
        f"{one.user}:{one.line} imports {one.used}"
        for one in ours()
        if (home := owner(one.used)) and not f"{one.user}.".startswith(f"{home}.")
    ]
    assert strangers == []


@pytest.mark.parametrize(
    ("user", "used", "is_private"),
    [("fathom.cli.verbs", "fathom.store._rows", True), ("fathom.cli", "fathom._text", False)],
)
def test_what_is_private_is_told_by_its_name(user: str, used: str, *, is_private: bool) -> None:
    assert (not f"{user}.".startswith(f"{owner(used)}.")) is is_private


def test_a_circle_is_found() -> None:
    assert circle([("a", "b"), ("b", "c"), ("c", "a")])
    assert not circle([("a", "b"), ("b", "c"), ("a", "c")])


def relative(module: str) -> str:
    return modules()[module].relative_to(PACKAGE).as_posix()


def test_what_is_imported_inside_a_function_has_its_reason() -> None:
    inside = {(relative(one.user), one.used) for one in all_imports() if one.is_inside}
    assert inside == {*INSIDE_FUNCTIONS}
    assert len(inside) <= MOST_INSIDE_FUNCTIONS
    assert all(INSIDE_FUNCTIONS.values())


def test_each_name_of_a_room_that_is_imported_later_is_there() -> None:
    rooms = [name for name, path in modules().items() if "later(__name__)" in path.read_text()]
    assert len(rooms) > MOST_INSIDE_FUNCTIONS
    for room_name in rooms:
        found = import_module(room_name)
        for name in found.__all__:
            try:
                assert hasattr(found, name), (room_name, name)
            except ModuleNotFoundError as error:
                # An extra that is not installed.
                if str(error.name).startswith("fathom"):
                    raise
        with pytest.raises(AttributeError, match="no_such_name"):
            _ = found.no_such_name


def untyped(path: Path) -> bool:
    """Whether an annotation of a file is a mapping of strings to anything."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parts = (ast.unparse(one) for one in ast.walk(tree) if isinstance(one, ast.Subscript))
    return any(one in {"dict[str, Any]", "Mapping[str, Any]"} for one in parts)


def test_json_without_types_stays_at_the_doors() -> None:
    found = {relative(name) for name, path in modules().items() if untyped(path)}
    used = {one: next((door for door in DOORS if one.startswith(door)), None) for one in found}
    strangers = [one for one, door in used.items() if door is None]
    assert strangers == [], "give the fields types, or name the file in DOORS with its reason"
    assert {*used.values()} == {*DOORS}, "these doors have no JSON any more: take them from DOORS"

"""The rooms of the lab: who may import whom, and what may only become less."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import fathom
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PACKAGE = Path(fathom.__file__).parent

# How many imports each file still has inside functions: numbers that may only become smaller, and
# are struck out when they reach zero. Each import has its reason beside it (`noqa: PLC0415`):
# nearly all keep NumPy, SciPy, SQLAlchemy and Rich out of a command that does not need them
# (`test_cli_help` holds that).
INSIDE_FUNCTIONS = {
    "_export.py": 4,
    "_own_stores.py": 3,
    "cli/__init__.py": 1,
    "cli/commands/_export_load.py": 1,
    "cli/commands/_import_one.py": 6,
    "cli/commands/_prepare_do.py": 1,
    "cli/commands/_resumed.py": 1,
    "cli/commands/_workload_argument.py": 2,
    "cli/commands/assess.py": 2,
    "cli/commands/compare.py": 4,
    "cli/commands/density.py": 3,
    "cli/commands/export.py": 4,
    "cli/commands/gate.py": 1,
    "cli/commands/import_.py": 1,
    "cli/commands/lun.py": 5,
    "cli/commands/plot.py": 4,
    "cli/commands/prepare.py": 10,
    "cli/commands/repeat.py": 6,
    "cli/commands/report.py": 8,
    "cli/commands/resources.py": 8,
    "cli/commands/run.py": 1,
    "cli/commands/sweep.py": 6,
    "cli/commands/translate.py": 8,
    "cli/commands/trend.py": 1,
    "cli/commands/tune.py": 6,
    "cli/commands/workloads.py": 1,
    "cli/common.py": 3,
    "cli/views/assess.py": 4,
    "cli/views/claims.py": 1,
    "cli/views/experiment_line.py": 2,
    "cli/views/prepare.py": 2,
    "cli/views/progress.py": 2,
    "cli/views/report.py": 1,
    "cli/views/resources.py": 7,
    "cli/views/runs.py": 2,
    "cli/views/sweep.py": 1,
    "cli/views/whole_table.py": 4,
    "clusters/windows.py": 1,
    "engine.py": 3,
    "experiments/ending.py": 1,
    "report/collect/_again.py": 1,
    "report/collect/_points.py": 1,
    "report/collect/_runs.py": 2,
    "report/collect/gather.py": 3,
    "report/figures/_shared_loads.py": 1,
    "report/figures/load_curve.py": 1,
    "report/render/_bundle.py": 2,
    "report/render/images.py": 1,
    "report/render/page.py": 1,
    "report/render/pdf.py": 1,
    "runners/known_mean.py": 1,
    "runners/measure.py": 1,
    "runners/native.py": 2,
    "store/_database.py": 1,
    "store/_migrate.py": 2,
    "store/where.py": 2,
    "tools/diskspd/read_xml.py": 1,
    "tools/diskspd/run.py": 1,
    "workloads/folder.py": 1,
}
# The same of `dict[str, Any]` and `Mapping[str, Any]`: JSON whose fields no type names. It belongs
# at doors: what readers of other tools get, and what is kept in the store or drawn by Vega.
UNTYPED_JSON = {
    "_asked.py": 2,
    "_beneath.py": 1,
    "_export.py": 10,
    "_faults.py": 2,
    "_redact.py": 1,
    "_stop.py": 1,
    "_result_rows.py": 4,
    "_tables.py": 3,
    "_tails.py": 1,
    "cli/commands/_import_one.py": 3,
    "cli/commands/_prepare_do.py": 7,
    "cli/commands/export.py": 1,
    "cli/commands/import_.py": 4,
    "cli/commands/lun.py": 1,
    "cli/views/progress.py": 1,
    "cli/views/resources.py": 1,
    "cli/views/runs.py": 1,
    "clusters/written.py": 1,
    "engine.py": 3,
    "experiments/assess/experiment.py": 1,
    "experiments/assess/outcome.py": 5,
    "experiments/compare/_interleaved_plan.py": 1,
    "experiments/compare/interleaved.py": 1,
    "experiments/density/runners.py": 1,
    "experiments/prepare/looking.py": 1,
    "experiments/prepare/settling.py": 1,
    "experiments/prepare/target.py": 2,
    "experiments/prepare/write.py": 3,
    "experiments/repeat.py": 1,
    "experiments/sweep/claims.py": 10,
    "experiments/sweep/plan.py": 2,
    "experiments/tune/claims.py": 8,
    "experiments/tune/plan.py": 2,
    "experiments/tune/result.py": 1,
    "findings/observed.py": 2,
    "handle.py": 1,
    "imported/model.py": 9,
    "imported/view.py": 1,
    "luns/rest.py": 5,
    "report/collect/_again.py": 6,
    "report/collect/_assess.py": 6,
    "report/collect/_density.py": 5,
    "report/collect/_points.py": 6,
    "report/collect/_prepare.py": 8,
    "report/collect/_runs.py": 4,
    "report/collect/_sweep.py": 16,
    "report/figure.py": 2,
    "report/figures/_bars.py": 5,
    "report/figures/_common.py": 1,
    "report/figures/_happened.py": 5,
    "report/figures/_same_loads_rows.py": 4,
    "report/figures/_told_percentiles.py": 2,
    "report/figures/boxes.py": 8,
    "report/figures/by_depth.py": 6,
    "report/figures/cache_step.py": 1,
    "report/figures/changes.py": 2,
    "report/figures/cpu_cost.py": 1,
    "report/figures/density.py": 11,
    "report/figures/distribution.py": 3,
    "report/figures/heat_map.py": 8,
    "report/figures/holds.py": 1,
    "report/figures/latency_map.py": 4,
    "report/figures/load_curve.py": 2,
    "report/figures/mixes.py": 3,
    "report/figures/same_loads.py": 11,
    "report/figures/side_by_side.py": 1,
    "report/figures/steady_state.py": 2,
    "report/figures/threads.py": 7,
    "report/figures/time_series.py": 22,
    "report/figures/workloads.py": 2,
    "report/figures/writing.py": 1,
    "report/material.py": 2,
    "report/render/page.py": 3,
    "report/style.py": 26,
    "request.py": 5,
    "result.py": 9,
    "runners/known_mean.py": 2,
    "store/_experiments.py": 12,
    "store/_import_rows.py": 3,
    "store/_imports.py": 4,
    "store/_own_rows.py": 1,
    "_processes.py": 1,
    "store/_rows.py": 5,
    "store/_runs.py": 1,
    "store/records.py": 6,
    "store/summary.py": 8,
    "tools/_own_json.py": 4,
    "tools/_process.py": 1,
    "tools/diskspd/_draft.py": 1,
    "tools/diskspd/_read_load.py": 1,
    "tools/diskspd/run.py": 3,
    "tools/diskspd/write.py": 12,
    "tools/fio/_read_options.py": 5,
    "tools/fio/_write_access.py": 8,
    "tools/fio/_write_target.py": 7,
    "tools/fio/read.py": 16,
    "tools/fio/run.py": 9,
    "tools/fio/write.py": 14,
    "tools/foreign.py": 3,
    "tools/iometer/write.py": 6,
    "tools/load.py": 1,
    "workloads/workload.py": 1,
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


def counted(lines: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(lines).items()))


def test_no_files_import_each_other_in_a_circle() -> None:
    assert circle((one.user, one.used) for one in ours()) == []


def test_no_rooms_import_each_other_in_a_circle() -> None:
    between = [(room(one.user), room(one.used)) for one in ours()]
    assert circle((user, used) for user, used in between if user != used) == []


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


def test_imports_inside_functions_only_become_fewer() -> None:
    inside = {(one.user, one.line) for one in all_imports() if one.is_inside}
    assert counted(relative(user) for user, _line in inside) == INSIDE_FUNCTIONS


def untyped(path: Path) -> int:
    """Return how many annotations of a file are mappings of strings to anything."""
    found = 0
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            words = ast.unparse(node)
            found += words in {"dict[str, Any]", "Mapping[str, Any]"}
    return found


def test_json_without_types_only_becomes_less() -> None:
    found = {relative(name): untyped(path) for name, path in modules().items()}
    assert {name: count for name, count in sorted(found.items()) if count} == UNTYPED_JSON

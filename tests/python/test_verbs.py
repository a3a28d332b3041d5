"""Verbs: what is forgotten of one is found."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import fathom
import pytest
from fathom.cli.verbs import VERBS, load
from fathom.report.collect.gather import SIDES

ROOT = Path(__file__).parents[2]
PACKAGE = Path(fathom.__file__).parent
EXPERIMENTS = {name for name, verb in VERBS.items() if verb.experiments}


def _options(name: str) -> set[str]:
    commands = [load(name)]
    for command in commands:
        commands += getattr(command, "commands", {}).values()
    return {word for command in commands for option in command.params for word in option.opts}


def test_each_command_is_a_verb() -> None:
    files = {path.stem for path in (PACKAGE / "cli/commands").glob("[a-z]*.py")}
    assert files == {verb.module for verb in VERBS.values()}


def test_the_verbs_that_make_experiments_are_those_that_begin_one() -> None:
    begun = {
        call.args[0].value
        for path in PACKAGE.rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and ast.unparse(call.func).endswith("experiments.begin")
        and isinstance(call.args[0], ast.Constant)
    }
    assert begun == EXPERIMENTS


def test_the_report_has_words_for_the_experiments_of_known_verbs_alone() -> None:
    assert SIDES.keys() <= EXPERIMENTS


@pytest.mark.parametrize("name", VERBS)
def test_the_options_of_a_verb_are_those_that_its_record_promises(name: str) -> None:
    options = _options(name)
    assert "--format" in options or not VERBS[name].tables
    assert {"--resume", "--runner"} <= options or not VERBS[name].takes_up


@pytest.mark.parametrize("name", VERBS)
def test_a_page_and_a_test_speak_of_each_verb(name: str) -> None:
    pages = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    is_told = any(f"fathom {name}" in page.read_text(encoding="utf-8") for page in pages)
    assert is_told, f"name `fathom {name}` on a page in docs/"
    word = re.compile(rf"""["']{name}["']|import {name}\b""")
    tests = (ROOT / "tests/python").glob("test_*.py")
    is_tested = any(word.search(path.read_text(encoding="utf-8")) for path in tests)
    assert is_tested, f"no test in tests/python calls {name}"

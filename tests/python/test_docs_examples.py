"""What the documentation shows is what the commands print."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from commands import SHORT_RUNS, fathom_in, script
from documented import Block, Command, blocks, commands
from fathom.cli.verbs import VERBS, load
from support import diskspd

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROOT = Path(__file__).parents[2]
_DOCS = _ROOT / "docs"
_PAGES = [_ROOT / "README.md", *sorted(_DOCS.rglob("*.md"))]
_PAGES_WITH_EXAMPLES = [page for page in _PAGES if blocks(page)]
_CHECKER = doctest.OutputChecker()
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# What is measured, dates and times. Small counts, such as the number of runs, must be as shown.
_MEASURED = re.compile(r"[+-]?\b\d+(?:[.,:]\d+)+\b|\b\d{3,}\b|\b\d{4}-\d\d-\d\d\b")
# What a shell says of a program that is not there, and its exit code.
_NOT_FOUND = re.compile(r"line \d+: (\S+): command not found")
_NO_PROGRAM = 127
# What fathom says of a program that a page needs, and its exit code.
_LACKS = re.compile(r"there is no PostgreSQL with .*?: install it")
_INVALID = 3
# A terminal draws lines around tables, which other programs do not get.
_LINES = re.compile(r"[━─│┃┏┳┓┡╇┩└┴┘]+")


@pytest.fixture(scope="module")
def binaries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the programs that pages use."""
    folder = tmp_path_factory.mktemp("bin")
    (folder / "diskspd").symlink_to(diskspd())
    (folder / "pytest").symlink_to(Path(sys.executable).parent / "pytest")
    # Pages measure for seconds, and what they show of it differs from run to run.
    fathom_in(folder, SHORT_RUNS)
    return folder


@pytest.fixture
def scratch(binaries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder with a store of its own, in which the commands are on the path."""
    # Pages show what a device answers, and many systems have /tmp in memory.
    beside = _ROOT / "target"
    beside.mkdir(exist_ok=True)
    monkeypatch.setenv("PATH", f"{binaries}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FATHOM_STORE", "store.sqlite")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("FATHOM_WORKLOADS", raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    with tempfile.TemporaryDirectory(prefix="examples-", dir=beside) as made:
        folder = Path(made)
        with monkeypatch.context() as inside:
            inside.chdir(folder)
            yield folder


@pytest.mark.parametrize("page", _PAGES_WITH_EXAMPLES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_run_and_print_what_it_shows(page: Path, scratch: Path) -> None:
    for block in blocks(page):
        if block.reason_not_run is None:
            _run(page, block, scratch)


def _run(page: Path, block: Block, scratch: Path) -> None:
    if block.file is not None:
        (scratch / block.file).write_text(block.text)
    elif block.kind == "console":
        _run_commands(page, block, scratch)
    elif block.kind == "pycon":
        _run_doctest(page, block)
    else:
        done = script(SHORT_RUNS + block.text)
        assert done.returncode == 0, f"{page.name}:{block.line}\n{done.stderr}"


def _run_commands(page: Path, block: Block, scratch: Path) -> None:
    shown = commands(block)
    everything = ""
    for command in shown:
        where = f"{page.name}:{command.line}: {command.command}\n"
        # The exit code that a page names is that of the block's last command.
        wanted = block.exit_code if command is shown[-1] else 0
        printed, code = _done(command.command, scratch)
        missing = _NOT_FOUND.search(printed)
        if code == _NO_PROGRAM and missing and missing[1] not in ("diskspd", "fathom"):
            pytest.skip(f"{where}{missing[1]} is not installed")
        if code == _INVALID and (lacks := _LACKS.search(printed)):
            pytest.skip(f"{where}{lacks[0]}")
        assert code == wanted, f"{where}exit code {code}\n{printed}"
        everything += printed
        if not block.stable:
            _compare(command, printed, where)
    for text, what in ((block.text, "shown"), (everything, "printed")):
        place = 0
        for part in block.stable:
            place = text.find(part, place)
            assert place >= 0, f"{page.name}:{block.line}: '{part}' is not {what}\n{text}"


def _done(command: str, scratch: Path) -> tuple[str, int]:
    """Run a command as a shell would, and return what it printed and its exit code."""
    done = subprocess.run(
        ["/bin/bash", "-o", "pipefail", "-c", command],
        cwd=scratch,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    # Pages show no path of the machine that they were written on.
    return done.stdout.replace(f"{scratch}/", ""), done.returncode


def _compare(command: Command, printed: str, where: str) -> None:
    example = doctest.Example(command.command, command.printed)
    assert _CHECKER.check_output(_stable(command.printed), _stable(printed), _FLAGS), (
        where + _CHECKER.output_difference(example, printed, _FLAGS)
    )


def _stable(printed: str) -> str:
    """Return a text with what differs from run to run made equal."""
    return _MEASURED.sub("#", _LINES.sub(" ", printed))


def _run_doctest(page: Path, block: Block) -> None:
    found = doctest.DocTestParser().get_doctest(block.text, {}, page.name, str(page), block.line)
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=_FLAGS).run(found, out=report.append)
    assert result.attempted > 0
    assert not result.failed, "".join(report)


def test_pages_say_why_a_block_is_not_run_and_few_are_not() -> None:
    found = [block for page in _PAGES for block in blocks(page)]
    left_out = [block.reason_not_run for block in found if block.reason_not_run is not None]
    assert all(len(reason) > 10 for reason in left_out)
    assert len(left_out) <= len(found) / 5


def test_a_page_that_shows_what_is_not_printed_is_found(tmp_path: Path, scratch: Path) -> None:
    page = tmp_path / "wrong.md"
    page.write_text("```console\n$ echo one\ntwo\n```\n")
    with pytest.raises(AssertionError, match=r"wrong.md:2: echo one"):
        _run_commands(page, blocks(page)[0], scratch)
    page.write_text("```console\n$ false\n```\n")
    with pytest.raises(AssertionError, match="exit code 1"):
        _run_commands(page, blocks(page)[0], scratch)
    page.write_text("<!-- stable: one | two -->\n```console\n$ echo two one\none two\n```\n")
    with pytest.raises(AssertionError, match="'two' is not printed"):
        _run_commands(page, blocks(page)[0], scratch)


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.stem)
def test_each_command_on_a_page_has_a_verb_and_options_that_exist(page: Path) -> None:
    known = _known_options()
    for line in re.findall(r"^(?:\$ )?(fathom [a-z]+[^\n#]*)", page.read_text(), re.MULTILINE):
        words = line.split()
        assert words[1] in VERBS, f"{page.name}: {line}"
        for word in words[2:]:
            option = re.match(r"--[a-z][a-z-]+", word.strip("[]'"))
            if option and words[1:3] != ["translate", "fio"]:
                assert option[0] in known[words[1]] | known["diskspd"], f"{page.name}: {line}"


@cache
def _known_options() -> dict[str, set[str]]:
    """Return the long options of each verb, and those of diskspd."""
    reference = (_DOCS / "reference.md").read_text()
    known = {"diskspd": set(re.findall(r"^### `(--[a-z-]+)", reference, re.MULTILINE))}
    for name in VERBS:
        known[name] = {"--help"} | _options(load(name))
    return known


def _options(command: object) -> set[str]:
    verbs = getattr(command, "commands", {}).values()
    own = {option for parameter in getattr(command, "params", []) for option in parameter.opts}
    negative = {o for p in getattr(command, "params", []) for o in p.secondary_opts}
    return own.union(negative, *(_options(verb) for verb in verbs))


_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
# Rows of an assessment and of a sweep: depth, IOPS, mean latency and its unit.
_ASSESSED = re.compile(
    r"^  .*?\bdepth (\d+)\b[^\n]*? ([\d,]+) +[\d,.]+ +([\d.]+) (us|ms|s) +[\d.]+ (?:us|ms|s) +\d+$",
    re.MULTILINE,
)
_SWEPT = re.compile(r"^│ +\d+K │ +(\d+) │ +([\d,]+) │[^│]+│[^│]+│ +([\d.]+) │", re.MULTILINE)


def test_rates_and_latencies_of_the_tutorial_do_not_contradict_each_other() -> None:
    text = (_DOCS / "tutorial.md").read_text()
    rows = _ASSESSED.findall(text) + [(*row, "ms") for row in _SWEPT.findall(text)]
    assert len(rows) > 15
    for depth, iops, mean, unit in rows:
        # Little's law: so many I/Os are under way as arrive while one of them is.
        under_way = float(iops.replace(",", "")) * float(mean) * _SECONDS[unit]
        assert abs(under_way / int(depth) - 1) < 0.1, (depth, iops, mean, unit)

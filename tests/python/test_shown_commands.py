"""Each command that pages, help and docstrings show is run; they are found by pattern, not by list.

Blocks with output are run by ``test_docs_examples``, the examples below each help by
``test_options``. Here are all others: blocks without output, words within a sentence, help and
docstrings. Where a command names what is not here (``/mnt/new``, ``/dev/sdb``, a server), a file or
folder stands in its place; measurements are foretold, or made small.
"""

from __future__ import annotations

import ast
import doctest
import json
import os
import re
import shlex
import subprocess
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from shutil import copy
from typing import TYPE_CHECKING, NamedTuple

import fathom
import pytest
from commands import command
from fabricated import fabricated
from fathom.cli.verbs import VERBS, load
from fathom.store import Store
from reported import saved_repetition, saved_sweep
from support import diskspd

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom import Result

_ROOT = Path(__file__).parents[2]
_DATA = Path(__file__).parent
_PACKAGE = Path(fathom.__file__).parent
_PAGES = [_ROOT / "README.md", *sorted((_ROOT / "docs").rglob("*.md"))]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROGRAM = re.compile(r"(?:fathom|diskspd) ")
# What stands before a command: a prompt, or a step of a pipeline in YAML.
_PROMPT = re.compile(r"\$ |- (?:run: )?")
# A file without these, whatever quotes and line ends stand between, has no string with a command.
_IN_CODE = re.compile(r"\bfathom[\s\"'\\f]+(?!import\b)[a-z]|\bdiskspd[\s\"'\\f]+-")
# A word that stands for others, as in `fathom prepare look TARGET`, or for what is left out.
_STANDS_FOR = re.compile(r"\.\.\.|\[|\$|(?<![\w=-])[A-Z]{4,}(?![\w.])")


class Shown(NamedTuple):
    """A command and where it is shown."""

    where: str
    words: str


def _in_blocks() -> Iterator[Shown]:
    for page in _PAGES:
        for kind, text in _FENCE.findall(page.read_text()):
            if kind in {"console", "pycon", "python", "toml"}:
                continue
            for line in text.replace("\\\n", " ").splitlines():
                found = re.sub(r"\s+#.*", "", _PROMPT.sub("", line.strip()))
                if _PROGRAM.match(found) and not _STANDS_FOR.search(found):
                    yield Shown(page.name, found)


def _in_sentences() -> Iterator[Shown]:
    for page in _PAGES:
        text = _FENCE.sub("", page.read_text())
        for found in re.findall(r"(?<!`)`((?:fathom|diskspd) [^`]+)`", text):
            yield Shown(page.name, " ".join(found.split()))


def _in_strings() -> Iterator[Shown]:
    """Return what help, messages and docstrings say: a verb with options, to the end of them."""
    shown = re.compile(r"\b(fathom (?:[a-z]+ )+(?:--?[\w=.,-]+ ?)+|diskspd (?:--?[\w=.,-]+ ?)+)")
    for path in sorted(_PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        # Every process of tests does this, and walking what Python makes of a file is slow.
        for node in ast.walk(ast.parse(text)) if _IN_CODE.search(text) else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for found in shown.findall(" ".join(node.value.split())):
                    yield Shown(path.name, found.strip().rstrip(".,"))


_OF_DISKSPD = re.findall(
    r"^### `(--[a-z-]+)", (_ROOT / "docs/reference.md").read_text(), re.MULTILINE
)
BLOCKS = [*dict.fromkeys(_in_blocks())]
MENTIONED = [*dict.fromkeys([*_in_sentences(), *_in_strings()])]
DOCTESTS = [path for path in sorted(_PACKAGE.rglob("*.py")) if ">>> " in path.read_text("utf-8")]

# What is not here, and what stands in its place; then what makes a command small.
_PLACES = (
    (r"postgresql://\S+", "server.sqlite"),
    (r"/srv/lab\.sqlite", "runs.sqlite"),
    (r"#1\b", "x.dat"),
    (r"(?:/mnt|/dev)/\S+\.dat", "x.dat"),
    # An ordinary account makes nothing there.
    (r"/mnt/file\b", "made.dat"),
    (r"(?<=assess )(?:/mnt|/dev)/\S+", "."),
    (r"/dev/\S+", "x.dat"),
    (r"/opt/diskspd/diskspd", str(diskspd())),
    (r"fill test.dat --size 100G", "fill new.dat --size 1M"),
    (r"-c\d+G", "-c1M"),
    (r"^(fathom run (?:[a-z][\w-]* )?)(?!.*-d\d)", r"\1-d1 "),
    (r"-d\d+", "-d1 -W0 --stop-ios=50"),
    (r"golden e12?\b", "golden e2"),
    (r"load-curve e3", "load-curve e8"),
    (r"e7 --table cells", "e8 --table cells"),
    (r"-o (e3.sqlite|mine.json)", r"-o new-\1"),
    (r"(prepare condition --wipc)(?!.*dry-run)", r"\1 --dry-run"),
    (r"--steady 600", "--steady 1"),
)
# What asks a person, takes minutes, or needs what was interrupted, another program or a server: of
# these the options are looked at alone.
_LOOKS = re.compile(r"--explain|--doctor|--list|--verify-only")
_NOT_RUN = re.compile(
    r"--resume last|--runner|fathom delete|--wdpc|fathom assess|@12|prepare fill (?!.*--size)|"
    r"store move|fathom lun|fathom resources lab=|\w+://"
)

# Noise may look like a change, a gate may not be able to tell, and a doctor may find something.
_ALSO = {"--fail-if": (0, 5, 7), "--alert|fathom gate": (0, 7), "doctor": (0, 1)}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with all that commands name."""
    folder = tmp_path_factory.mktemp("shown")
    with Store(folder / "runs.sqlite") as store:
        for rate in (1000.0, 1001.0, 1002.0, 1003.0, 1004.0, 1005.0, 1006.0):
            saved_repetition(store, [rate + at for at in range(5)])
        saved_sweep(store, {"depth": "1,2"})
        for name in ("golden", "nightly-reference"):
            store.baselines.set(name, "e1")
        store.runs.save(fabricated(path="x.dat"), ["-b4K", "x.dat"], label="nightly")
    (folder / "fathom.toml").write_text("[gate]\nlabel = 'nightly'\nrequire = ['iops>1']\n")
    for name in ("ssd", "raid", "nas", "results"):
        (folder / name).mkdir()
    names = [re.findall(r"[\w-]+\.dat\b", _small(shown.words)) for shown in BLOCKS]
    for name in {"x.dat"}.union(*names):
        fathom.run(f"-c1M -w100 -b64K -W0 --stop-ios=1 {folder / name}")
    job = "[global]\nbs=4k\nrw=randread\nruntime=1\ntime_based\n[one]\nfilename=x.dat\n"
    (folder / "job.fio").write_text(job)
    for name in ("profile.xml", "result.json", "fio.json", "mine.json", "results/result.json"):
        _made(folder / name)
    told: dict[str, list[str]] = {"rows": [], "events": [], "moves": []}
    (folder / "resources.json").write_text(json.dumps(told))
    verified = ["--verify", "-b4K", "-w100", "-d1", "-W0", "--stop-ios=20", "t.dat"]
    subprocess.run([diskspd(), *verified], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    kept = {"FATHOM_STORE": str(folder / "runs.sqlite")}
    assert command("export", "e3", "-o", "e3.sqlite", cwd=folder, environment=kept).returncode == 0
    return folder


@contextmanager
def _as_large_as_meant(place: Path, words: list[str]) -> Iterator[None]:
    """Let a dry run of many large blocks find room for them; nothing is read of it."""
    file = place / words[-1]
    size_bytes = file.stat().st_size if "--dry-run" in words and file.is_file() else None
    if size_bytes is not None:
        os.truncate(file, 1 << 30)
    yield
    if size_bytes is not None:
        os.truncate(file, size_bytes)


def _run_of(rate: float) -> Result:
    return fabricated(rates=rate, latency_ns=100.0, path="x.dat", depth=8)


def _made(path: Path) -> None:
    """Write what a page calls so: a profile, or results."""
    if path.suffix == ".xml":
        words = ["-Rpxml", "-c1M", "-b4K", "-d1", "-W0", "x.dat"]
        done = subprocess.run([diskspd(), *words], capture_output=True, check=True)
        path.write_bytes(done.stdout)
    else:
        copy(_DATA / "fixtures/result.json", path)


def _small(words: str) -> str:
    for pattern, small in _PLACES:
        words = re.sub(pattern, small, words)
    return words


def _foretold(words: str) -> str:
    """Return a command that measures little or nothing, and still takes all of its arguments."""
    if words.startswith(("fathom sweep", "fathom tune")) and "--dry-run" not in words:
        return re.sub(r"^fathom (sweep|tune)", r"fathom \1 --dry-run", words)
    few = " --pilot 2 --most 2"
    words = words.replace("fathom repeat", f"fathom repeat{few}", 1)
    return words.replace("fathom compare --run", f"fathom compare{few} --run", 1)


@pytest.mark.parametrize("shown", BLOCKS, ids=lambda shown: f"{shown.where}-{shown.words[:60]}")
def test_each_command_in_a_block_works(shown: Shown, place: Path) -> None:
    if _NOT_RUN.search(shown.words):
        _check_options(shown)
        return
    words = _foretold(_small(shown.words))
    # What the shell does with it, or runs besides, is the shell's.
    program, *rest = shlex.split(re.split(r" (?:[<>|]|\|\||&&) ", words)[0])
    if program == "diskspd":
        done = subprocess.run(
            [diskspd(), *([] if _LOOKS.search(words) else ["--explain"]), *rest],
            capture_output=True,
            text=True,
            cwd=place,
            check=False,
        )
    else:
        with _as_large_as_meant(place, rest):
            kept = {"FATHOM_STORE": str(place / "runs.sqlite")}
            done = command(*rest, cwd=place, environment=kept)
    allowed = next((codes for kind, codes in _ALSO.items() if re.search(kind, words)), (0,))
    assert done.returncode in allowed, (words, done.stdout[-2000:], done.stderr[-2000:])


@pytest.mark.parametrize("shown", MENTIONED, ids=lambda shown: f"{shown.where}-{shown.words[:60]}")
def test_each_command_in_a_sentence_has_a_verb_and_options_that_exist(shown: Shown) -> None:
    _check_options(shown)


def _check_options(shown: Shown) -> None:
    program, *rest = shown.words.split()
    known = set(_OF_DISKSPD)
    if program == "fathom" and rest and re.fullmatch(r"[a-z]+", rest[0]):
        assert rest[0] in VERBS, shown
        known |= _options(load(rest[0])) | {"--help"}
    for word in rest:
        option = re.match(r"--[a-z][a-z0-9-]*", word)
        if option and option[0] != "--":
            assert option[0] in known, shown


def _options(verb: object) -> set[str]:
    own = {
        one for each in getattr(verb, "params", []) for one in (*each.opts, *each.secondary_opts)
    }
    return own.union(*(_options(one) for one in getattr(verb, "commands", {}).values()))


def test_the_axes_that_the_help_of_sweep_names_are_taken(place: Path) -> None:
    words = " ".join(command("sweep", "--help").stdout.split())
    text = words[words.index("--vary OPTION=VALUES") : words.index("--duration TIME")]
    examples = re.findall(r"--?[a-z]+=[\d.,]*\d", text)
    assert len(examples) > 1
    for one in examples:
        done = command("sweep", "--dry-run", f"--vary={one}", "-c1M", place / "x.dat")
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", DOCTESTS, ids=lambda path: path.relative_to(_PACKAGE).as_posix())
def test_each_example_of_a_docstring_prints_what_it_shows(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = path.read_text(encoding="utf-8")
    assert "doctest: +SKIP" not in text
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FATHOM_STORE", str(tmp_path / "runs.sqlite"))
    copy(_DATA / "data/import/diskspd-2.0.21.txt", tmp_path / "diskspd.txt")
    with Store() as store:
        if "store.runs" in text:
            store.runs.save(_run_of(1000.0), ["x.dat"], label="oltp")
        if "gather" in text:
            saved_sweep(store, {"depth": "1,2"})
    name = ".".join(("fathom", *path.relative_to(_PACKAGE).with_suffix("").parts))
    module = import_module(name.removesuffix(".__init__"))
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for found in doctest.DocTestFinder(exclude_empty=True).find(module):
        runner.run(found, out=report.append)
    assert runner.tries > 0
    assert not runner.failures, "".join(report)


def test_commands_are_found_where_they_are() -> None:
    assert len(BLOCKS) > 60
    assert len(MENTIONED) > 80
    assert len(DOCTESTS) > 8
    assert {"gate.md", "trends.md", "ci.md"} <= {shown.where for shown in BLOCKS}
    shown = Shown("somewhere", "fathom compare --no-such-option e1 e2")
    with pytest.raises(AssertionError, match="no-such-option"):
        _check_options(shown)

"""A release is held to its version; what is installed has its completions and manual pages."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
CHANGELOG = """# C

## [Unreleased]

## [1.2.3] - 2026-11-23

### Added
- A thing.

## [1.2.2] - 2026-01-01
- Old.
"""


def script(name: str) -> ModuleType:
    """Import a script that is no package."""
    place = ROOT / "scripts" / f"{name}.py"
    sys.path.insert(0, str(place.parent))
    try:
        specification = importlib.util.spec_from_file_location(place.stem, place)
        assert specification is not None
        assert specification.loader is not None
        module = importlib.util.module_from_spec(specification)
        sys.modules[place.stem] = module
        specification.loader.exec_module(module)
    finally:
        sys.path.remove(str(place.parent))
    return module


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "fuzz").mkdir()
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    (tmp_path / "Cargo.toml").write_text(
        '[workspace.package]\nversion = "1.2.3"\n[workspace.dependencies]\n'
        'fathom-sys = { version = "1.2.3" }\nfathom-core = { version = "1.2.3" }\n'
    )
    for lock in ("Cargo.lock", "fuzz/Cargo.lock"):
        text = '[[package]]\nname = "fathom-storage-core"\nversion = "1.2.3"\n'
        (tmp_path / lock).write_text(text)
    return tmp_path


def test_a_release_that_fits_has_no_faults_and_its_notes_are_its_section(tree: Path) -> None:
    release = script("release")
    assert release.faults(tree, "1.2.3") == []
    assert release.section(CHANGELOG, "1.2.3") == "### Added\n- A thing."
    assert release.section(CHANGELOG, "1.2") == ""


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("Cargo.toml", 'version = "1.2.3"\n[', 'version = "1.2.2"\n[', "Cargo.toml says 1.2.2"),
        (
            "Cargo.toml",
            'fathom-core = { version = "1.2.3"',
            'fathom-core = { version = "1.0.0"',
            "fathom-core",
        ),
        ("fuzz/Cargo.lock", "1.2.3", "1.2.2", "fuzz/Cargo.lock"),
        ("CHANGELOG.md", "[1.2.3] - 2026-11-23", "[1.2.3]", "no section"),
        ("CHANGELOG.md", "[Unreleased]\n", "[Unreleased]\n- More.\n", "still has lines"),
    ],
)
def test_a_release_that_does_not_fit_is_told(
    tree: Path, file: str, old: str, new: str, words: str
) -> None:
    place = tree / file
    assert old in place.read_text()
    place.write_text(place.read_text().replace(old, new))
    (fault,) = script("release").faults(tree, "1.2.3")
    assert words in fault


def test_what_is_no_version_is_refused(tree: Path) -> None:
    assert script("release").faults(tree, "1.2")


def test_what_the_demo_installs_is_pinned_as_the_tools_are() -> None:
    requirements = script("lab_requirements")
    whole = requirements.blocks((ROOT / "requirements-dev.txt").read_text())
    part = requirements.blocks((ROOT / "requirements.txt").read_text())
    assert {"maturin", "scipy", "typer"} <= {*part}
    assert not {*part} & {"pytest", "pyarrow", "playwright", "sphinx", "fpdf2", "vl-convert-python"}
    assert all(whole[name] == pin for name, pin in part.items())


def test_an_archive_is_the_same_whatever_the_files_times_are(tmp_path: Path) -> None:
    archive = script("dist/archive")
    members = {"b/x": (b"1", 0o755), "a": (b"2", 0o644)}
    first = archive.tar_gz(members, 7, tmp_path / "one").read_bytes()
    again = archive.tar_gz(dict(reversed(members.items())), 7, tmp_path / "two").read_bytes()
    assert first == again
    with tarfile.open(fileobj=BytesIO(first)) as told:
        assert [(one.name, one.mtime, one.uid) for one in told] == [
            ("a", 7, 0),
            ("b", 7, 0),
            ("b/x", 7, 0),
        ]


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("share")
    script("dist/completions").write_all(folder)
    return folder


def needs(shell: str) -> str:
    if (found := shutil.which(shell)) is None:
        pytest.skip(f"{shell} is not installed")
    return found


@pytest.mark.parametrize(
    ("command", "typed", "expected"),
    [
        ("diskspd", ["--verify-on"], "--verify-only="),
        ("fathom", ["asse"], "assess"),
        ("fathom", ["sweep", "--bl"], "--block"),
        ("fathom", ["baseline", "rem"], "remove"),
        # What is below a verb has options of its own.
        ("fathom", ["prepare", "look", "--sa"], "--samples"),
        ("fathom", ["serve", "user", "add", "--ro"], "--role"),
    ],
)
def test_bash_and_fish_complete(share: Path, command: str, typed: list[str], expected: str) -> None:
    file = share / "bash-completion/completions" / command
    words = " ".join([command, *typed])
    code = (
        f"compopt() {{ :; }}; . '{file}'; COMP_WORDS=({words}); COMP_CWORD={len(typed)}; "
        f"_{command}; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    done = subprocess.run([needs("bash"), "-c", code], capture_output=True, text=True, check=True)
    assert expected in done.stdout.split()
    file = share / "fish/vendor_completions.d" / f"{command}.fish"
    code = f"source '{file}'; complete -C '{words}'"
    done = subprocess.run([needs("fish"), "-Nc", code], capture_output=True, text=True, check=True)
    assert expected.rstrip("=") in {
        line.split("\t")[0].rstrip("=") for line in done.stdout.splitlines()
    }


@pytest.mark.parametrize(
    ("command", "option"), [("diskspd", "--verify-only"), ("fathom", "assess")]
)
def test_zsh_knows_the_completion_and_can_read_it(share: Path, command: str, option: str) -> None:
    folder = share / "zsh/site-functions"
    # What would be offered is what _describe is given.
    code = (
        f"fpath=('{folder}' $fpath); autoload -Uz compinit; compinit -D; "
        "_describe() { for name in $@; do print -rl -- ${(P)name} 2>/dev/null; done }; "
        "_files() { :; }; "
        f"(( $+_comps[{command}] )) || exit 1; PREFIX=-; words=({command}); CURRENT=2; _{command}"
    )
    done = subprocess.run([needs("zsh"), "-fc", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"\n{option}" in done.stdout


def completed(share: Path, shell: str, *typed: str) -> set[str]:
    """Return what a shell offers behind ``fathom`` and these words, the last of them unfinished."""
    if shell == "bash":
        words = " ".join(repr(one) for one in ("fathom", *typed))
        code = (
            f"compopt() {{ echo files; }}; . '{share}/bash-completion/completions/fathom'; "
            f"COMP_WORDS=({words}); COMP_CWORD={len(typed)}; "
            "_fathom; printf '%s\\n' \"${COMPREPLY[@]}\""
        )
        arguments = [needs("bash"), "-c", code]
    else:
        words = " ".join(("fathom", *typed))
        code = f"source '{share}/fish/vendor_completions.d/fathom.fish'; complete -C '{words}'"
        arguments = [needs("fish"), "-Nc", code]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    return {line.split("\t")[0] for line in done.stdout.splitlines()}


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_what_is_below_a_verb_is_not_completed_as_that_verb(share: Path, shell: str) -> None:
    """``fathom lun list --`` offered the options of ``fathom list``, and files were not offered."""
    assert "--on" in completed(share, shell, "lun", "list", "--")
    assert "--label" not in completed(share, shell, "lun", "list", "--")
    assert "look" not in completed(share, shell, "prepare", "look", "")
    offered = completed(share, shell, "report", "")
    assert not any(one.startswith("-") for one in offered)
    assert shell != "bash" or "files" in offered


def test_zsh_completes_what_is_below_a_verb(share: Path) -> None:
    code = (
        "_describe() { for name in $@; do print -rl -- ${(P)name} 2>/dev/null; done }; "
        "_files() { print files; }; PREFIX=; words=(fathom prepare look ''); CURRENT=4; "
        f". '{share}/zsh/site-functions/_fathom'"
    )
    done = subprocess.run(
        [needs("zsh"), "-fc", f"f() {{ {code} }}; f"], capture_output=True, text=True, check=False
    )
    assert "\n--samples:" in done.stdout, done.stderr
    assert "\nfill:" not in done.stdout
    assert done.stdout.endswith("files\n")


def test_the_manual_page_of_fathom_has_every_verb(tmp_path: Path) -> None:
    from fathom.cli import exit_codes  # noqa: PLC0415 - Only here.
    from fathom.cli.verbs import VERBS  # noqa: PLC0415 - Only here.

    manual = script("dist/manual")
    text = manual.page()
    assert all(f"\n.SS {verb}\n" in text for verb in VERBS)
    codes = {value for name, value in vars(exit_codes).items() if name.startswith("EXIT_")}
    told = text.partition(".SH EXIT STATUS")[2]
    assert all(re.search(rf"(^|; ){code} ", told, re.MULTILINE) for code in codes), told
    file = tmp_path / "fathom.1"
    file.write_text(text)
    if shutil.which("groff"):
        done = subprocess.run(
            ["groff", "-man", "-ww", "-z", str(file)],  # noqa: S607
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""

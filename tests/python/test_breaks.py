"""What once broke the guard: each has a test of its name, and docs/data-safety.md lists them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from commands import command
from fathom.store import Store
from imported import FIO
from store_worker import RESULT

ROOT = Path(__file__).parents[2]
BREAKS = range(1, 13)
_TEST = re.compile(
    r"^\s*(?:def test_|(?:pub )?fn )(?P<name>break_(?P<number>\d+)_\w+)\(", re.MULTILINE
)
_ROW = re.compile(
    r"^\| (?P<number>\d+) \| [^|]+ \| (?P<names>(?:`break_\w+`(?:, )?)+) \|$", re.MULTILINE
)


def _tests() -> set[str]:
    """Return the names of all tests that are named after a break."""
    files = [
        *ROOT.glob("tests/**/*.rs"),
        *ROOT.glob("crates/*/src/**/*.rs"),
        *ROOT.glob("tests/python/test_*.py"),
    ]
    return {found["name"] for file in files for found in _TEST.finditer(file.read_text())}


def test_each_break_has_tests_and_the_page_lists_them() -> None:
    rows = [*_ROW.finditer((ROOT / "docs/data-safety.md").read_text())]
    listed = {int(row["number"]): re.findall(r"break_\w+", row["names"]) for row in rows}
    assert sorted(listed) == [*BREAKS]
    for number, names in listed.items():
        assert names
        assert all(name.startswith(f"break_{number}_") for name in names)
    assert {name for names in listed.values() for name in names} == _tests()


def test_break_9_half_a_character_in_the_name_of_a_job_is_no_damage(tmp_path: Path) -> None:
    document = json.loads(json.dumps(FIO))
    document["jobs"][0]["jobname"] = "night \ud800 shift"
    source = tmp_path / "fio.json"
    source.write_text(json.dumps(document))
    done = command("import", source)
    assert done.returncode == 0, done.stderr
    for words in (["list"], ["show", "1"], ["export", "1", "--format", "json"]):
        done = command(*words)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        assert "damaged" not in done.stderr
        assert "\ud800".encode(errors="surrogatepass") not in os.fsencode(done.stdout)


def test_break_12_the_page_of_a_report_lets_nothing_of_others_run(tmp_path: Path) -> None:
    with Store(os.environ["FATHOM_STORE"]) as store:
        store.runs.save(RESULT, ["-b4K", "x.dat"])
    page = tmp_path / "r.html"
    assert command("report", "1", "-o", page).returncode == 0
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page.read_text())
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy[1].replace("&#39;", "'").split(";"))
    assert rules["default-src"] == "'none'"
    assert not re.search(r"unsafe|\*|http", policy[1])
    assert re.fullmatch(r"('sha256-[\w+/=]+' ?)+", rules["script-src"])


def test_break_12_each_package_that_an_installation_needs_is_locked() -> None:
    for name in ("requirements.txt", "requirements-dev.txt"):
        text = re.sub(r"^ *#.*\n", "", (ROOT / name).read_text(), flags=re.MULTILINE)
        packages = [one for one in text.replace("\\\n", " ").splitlines() if one.strip()]
        assert len(packages) > 5
        loose = [one for one in packages if not re.match(r"[\w.\[\]-]+==\S+ .*--hash=sha256:", one)]
        assert loose == []

"""Where a command writes: what somebody has there, or puts there meanwhile, is not lost."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import fathom._names as names
import pytest
from fathom._files import is_empty, nothing, replacing
from fathom.metrics_text import kept_in
from fathom.store import Store
from fathom.web.accounts import AccountError, Accounts
from reported import called
from store_worker import RESULT

if TYPE_CHECKING:
    from collections.abc import Callable

THEIRS = "precious"
VERBS = [
    "export 1 -o PLACE.csv",
    "export 1 --format fio -o PLACE.fio",
    "export 1 -o PLACE.sqlite",
    "report 1 -o PLACE.md",
    "plot time-series 1 -o PLACE.json",
    "gate 1 --require iops>0 --junit PLACE.xml",
]


@pytest.fixture
def fathom_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], int]:
    """Return what calls a command with the run 1, in an empty folder."""
    monkeypatch.setenv("FATHOM_STORE", str(tmp_path / "runs.sqlite"))
    with Store(tmp_path / "runs.sqlite") as store:
        store.runs.save(RESULT, ["-b8K", "-d1", "x.dat"])
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return lambda words: called(monkeypatch, *words.split())


@pytest.fixture(params=["as it is", "without renameat2", "without links, too"])
def _kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have file systems of several kinds: an old one has no such calls."""

    def lacking(*_names: object) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    if request.param != "as it is":
        monkeypatch.setattr(names, "_rename", lacking)
    if "links" in request.param:
        monkeypatch.setattr(os, "link", lacking)


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Do something once, as another program, while a finished file is flushed."""
    flush = os.fsync

    def fsync(handle: int) -> None:
        monkeypatch.setattr(os, "fsync", flush)
        act()
        flush(handle)

    monkeypatch.setattr(os, "fsync", fsync)


def place_of(words: str) -> Path:
    return Path(next(one for one in words.split() if one.startswith("PLACE")))


def others(place: Path) -> list[Path]:
    return [one for one in Path().iterdir() if one.name != place.name]


@pytest.mark.parametrize("words", VERBS, ids=str)
def test_a_file_that_appeared_while_a_command_wrote_was_replaced(
    words: str,
    fathom_here: Callable[[str], int],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    place = place_of(words)
    for more in ("", " --overwrite") if place.suffix != ".sqlite" else ("",):
        capfd.readouterr()
        meanwhile(monkeypatch, lambda: place.write_text(THEIRS))
        assert fathom_here(f"{words}{more}") == 1
        said = capfd.readouterr().err
        assert place.read_text() == THEIRS
        # What was written is not lost either, and the message says where it is.
        (kept,) = others(place)
        assert "another file has taken its place, which stays" in said
        assert str(kept) in said
        assert kept.suffix == place.suffix
        assert kept.stat().st_size
        kept.unlink()
        place.unlink()


@pytest.mark.parametrize("how", ["replaced", "written", "moved away"])
@pytest.mark.usefixtures("_kernels")
def test_what_took_the_place_of_the_file_that_was_looked_at_was_replaced(
    how: str, fathom_here: Callable[[str], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Path("report.md")
    assert fathom_here("report 1 -o report.md") == 0
    ours = place.read_text()

    def act() -> None:
        if how == "replaced":
            Path("theirs").write_text(THEIRS)
            Path("theirs").rename(place)
        elif how == "written":
            time.sleep(0.01)
            place.write_text(ours.replace("IOPS", THEIRS))
        else:
            place.rename("moved")

    meanwhile(monkeypatch, act)
    code = fathom_here("report 1 -o report.md --overwrite")
    if how == "moved away":
        assert (code, place.read_text()) == (0, Path("moved").read_text())
    else:
        assert code == 1
        assert THEIRS in place.read_text()
        (kept,) = others(place)
        assert kept.read_text() == ours


def test_what_appears_between_the_last_look_and_the_exchange_goes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place := tmp_path / "a.txt").write_text("old")
    rename = names._rename

    def late(old: Path, new: Path, flags: int) -> None:
        if new == place:
            monkeypatch.setattr(names, "_rename", rename)
            (tmp_path / "theirs").write_text(THEIRS)
            (tmp_path / "theirs").rename(place)
        rename(old, new, flags)

    monkeypatch.setattr(names, "_rename", late)
    with pytest.raises(FileExistsError, match="stays"), replacing(place) as unfinished:
        unfinished.write_text("new")
    assert place.read_text() == THEIRS
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.usefixtures("_kernels")
def test_a_new_file_replaces_nothing_on_any_file_system(tmp_path: Path) -> None:
    place = tmp_path / "a.txt"

    def overtaken(*, keep: bool) -> None:
        with replacing(place, keep=keep) as unfinished:
            unfinished.write_text("new")
            place.write_text(THEIRS)

    with replacing(place, may_go=nothing) as unfinished:
        unfinished.write_text("new")
    assert place.read_text() == "new"
    for keep in (True, False):
        place.unlink()
        with pytest.raises(FileExistsError):
            overtaken(keep=keep)
        assert place.read_text() == THEIRS
    with replacing(place) as unfinished:
        unfinished.write_text("newer")
    assert place.read_text() == "newer"
    kept = [one.read_text() for one in tmp_path.glob("fathom-result-*.txt")]
    assert kept == ["new"]


@pytest.mark.parametrize("words", VERBS, ids=str)
def test_a_link_that_leads_nowhere_was_replaced_by_a_file(
    words: str, fathom_here: Callable[[str], int]
) -> None:
    """As the engine does with ``--json``: the link stays, and what it names is written."""
    place = place_of(words)
    (folder := Path("elsewhere")).mkdir()
    place.symlink_to(folder / "behind")
    assert fathom_here(words) == 0
    assert place.is_symlink()
    assert not (folder / "behind").is_symlink()
    assert (folder / "behind").stat().st_size
    assert len([*folder.iterdir()]) == 1
    place.unlink()
    place.symlink_to(place)
    assert fathom_here(words) == 1
    assert place.is_symlink()


def test_a_link_to_a_file_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (link := tmp_path / "link.txt").symlink_to("real.txt")
    with replacing(link) as unfinished:
        unfinished.write_text("new")
    assert link.is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"
    assert not is_empty(link)


@pytest.mark.parametrize("words", VERBS, ids=str)
def test_an_empty_file_was_taken_for_something_of_value(
    words: str, fathom_here: Callable[[str], int]
) -> None:
    place = place_of(words)
    place.touch()
    assert fathom_here(words) == 0
    assert place.stat().st_size
    assert not others(place)


def test_figures_took_the_place_of_a_file_that_appeared_during_the_run(tmp_path: Path) -> None:
    place = tmp_path / "fathom.prom"
    with kept_in(place, "a"):
        place.unlink(missing_ok=True)
        place.write_text(THEIRS)
    assert place.read_text() == THEIRS
    assert [one.name for one in tmp_path.iterdir()] == [place.name]


def test_a_user_whom_another_process_added_meanwhile_was_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Accounts(tmp_path), Accounts(tmp_path)
    first.add_token("old", "look")
    meanwhile(monkeypatch, lambda: second.add_token("theirs", "look"))
    with pytest.raises(AccountError, match="try again"):
        first.add_token("ours", "look")
    assert [one.name for one in first.tokens()] == ["old", "theirs"]
    first.add_token("ours", "look")
    assert [one.name for one in second.tokens()] == ["old", "ours", "theirs"]
    assert len([*tmp_path.iterdir()]) == 1


ANY_PLACE = {
    "export 1": "fathom-export-1.csv",
    "export 1 --format json --table latencies": "fathom-export-1.latencies.json",
    "export 1 --format parquet": "fathom-export-1.parquet",
    "export 1 --format fio": "fathom-export-1.fio",
    "report 1": "fathom-report-1.html",
    "plot time-series 1": "time-series.png",
}


@pytest.mark.parametrize("words", ANY_PLACE, ids=str)
@pytest.mark.parametrize("place", ["-", "/dev/stdout"])
def test_an_export_to_the_standard_output_made_a_file_of_that_name(
    words: str,
    place: str,
    fathom_here: Callable[[str], int],
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    assert fathom_here(f"{words} -o {place}") == 0
    assert len(capfdbinary.readouterr().out) > 50
    assert not [*Path().iterdir()]


@pytest.mark.parametrize("words", ANY_PLACE, ids=str)
def test_all_verbs_have_one_rule_for_places(
    words: str, fathom_here: Callable[[str], int], capfd: pytest.CaptureFixture[str]
) -> None:
    def refused(place: str) -> str:
        capfd.readouterr()
        assert fathom_here(f"{words} -o {place}") == 1
        return capfd.readouterr().err

    assert fathom_here(f"{words} -o /dev/null") == 0
    assert not [*Path().iterdir()]
    # A slash at the end means a folder.
    assert "cannot be written: there is no folder nolf" in refused("nolf/")
    Path("folder").mkdir()
    for place in ("folder", "folder/"):
        assert fathom_here(f"{words} -o {place}") == 0
        (made,) = Path("folder").iterdir()
        assert made.name == ANY_PLACE[words]
        made.unlink()
    made.mkdir()
    assert "is a folder: name a file in it" in refused("folder")
    suffix = made.suffix
    os.mkfifo(f"pipe{suffix}")
    assert "a pipe or a socket, and no file" in refused(f"pipe{suffix}")
    (mine := Path(f"mine{suffix}")).write_text(THEIRS)
    assert "name another file, or add --overwrite" in refused(mine.name)
    assert mine.read_text() == THEIRS
    assert fathom_here(f"{words} -o {mine} --overwrite") == 0
    assert mine.read_bytes() != THEIRS.encode()


def test_a_store_is_exported_to_a_file_alone(
    fathom_here: Callable[[str], int], capfd: pytest.CaptureFixture[str]
) -> None:
    for place in ("-", "/dev/stdout"):
        assert fathom_here(f"export --format store -o {place}") == 3
        assert "a store needs a file" in capfd.readouterr().err
    assert not [*Path().iterdir()]
    Path("folder").mkdir()
    assert fathom_here("export e9 --format store -o folder") == 3
    assert fathom_here("export --format store -o folder/") == 0
    assert [one.name for one in Path("folder").iterdir()] == ["fathom-export-all.sqlite"]


def test_two_documents_of_a_gate_went_to_the_standard_output(
    fathom_here: Callable[[str], int], capfd: pytest.CaptureFixture[str]
) -> None:
    gate = "gate 1 --require iops>0"
    assert fathom_here(f"{gate} --junit - --markdown /dev/stdout") == 3
    assert fathom_here(f"{gate} --junit /dev/null --markdown m.md") == 0
    capfd.readouterr()
    assert fathom_here(f"{gate} --junit /dev/stdout") == 0
    assert capfd.readouterr().out.startswith("<?xml")
    assert [one.name for one in Path().iterdir()] == ["m.md"]


PACEMAKER = Path(__file__).parent / "data/pacemaker/crm_mon.xml"
TO_A_FILE = [
    *VERBS,
    "gate 1 --require iops>0 --markdown PLACE.md",
    "trend 1 -o PLACE.json",
    f"resources {PACEMAKER} -o PLACE.csv",
]


@pytest.mark.parametrize("words", TO_A_FILE, ids=lambda one: one.replace(str(PACEMAKER), "FILE"))
def test_a_link_that_leads_into_no_folder_failed_behind_the_work(
    words: str,
    fathom_here: Callable[[str], int],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def work(*_: object, **__: object) -> None:
        raise AssertionError("it began to write")

    place = place_of(words)
    with monkeypatch.context() as patch:
        for module in ("_export", "report.render.write"):
            patch.setattr(f"fathom.{module}.replacing", work)
        place.symlink_to("no/target")
        assert fathom_here(words) == 1
        assert (
            f"is a link to {Path('no/target').absolute()}, and there is no folder"
            in (said := capfd.readouterr()).err
        )
        place.unlink()
        place.symlink_to(place)
        assert fathom_here(words) == 1
        assert "is a link that leads back to itself" in capfd.readouterr().err
        # Nothing had been looked for, nor drawn.
        assert not said.out
        place.unlink()
        os.mkfifo(place)
        assert fathom_here(words) == 1
        refused = capfd.readouterr().err
        assert "-o -" not in refused
        place.unlink()
    # What is dropped is dropped by all.
    place.symlink_to(os.devnull)
    assert fathom_here(words) == 0
    assert place.is_symlink()


def test_what_was_written_was_hidden_in_a_folder_that_was_moved_meanwhile(tmp_path: Path) -> None:
    folder, moved = tmp_path / "here", tmp_path / "moved"

    def overtaken(*, keep: bool) -> None:
        folder.mkdir(exist_ok=True)
        with replacing(folder / "a.txt", keep=keep) as unfinished:
            unfinished.write_text("new")
            folder.rename(moved)
            folder.mkdir()

    with pytest.raises(
        OSError, match="moved or replaced meanwhile; what was written is in"
    ) as told:
        overtaken(keep=True)
    (kept,) = moved.iterdir()
    assert str(kept) in str(told.value)
    assert (kept.read_text(), kept.name[0], kept.suffix) == ("new", "f", ".txt")
    kept.unlink()
    moved.rmdir()
    # What is of no use to anybody is left nowhere.
    with pytest.raises(OSError, match="moved or replaced meanwhile"):
        overtaken(keep=False)
    assert not [*moved.iterdir(), *folder.iterdir()]


def test_a_users_file_was_tidied_away_for_the_beginning_of_its_name(tmp_path: Path) -> None:
    names = ["mynotes", "my_notes", "0a1b2c3d", "0a1b2c3d-my_notes2", "0A1B2C3D-my_notes"]
    for name in names:
        (tmp_path / f".fathom-unfinished-{name}").write_text(THEIRS)
    (left := tmp_path / ".fathom-unfinished-0a1b2c3d-left_one").write_text("half")
    with replacing(tmp_path / "a.txt") as unfinished:
        unfinished.write_text("new")
    assert not left.exists()
    assert len([*tmp_path.glob(".fathom-unfinished-*")]) == len(names)

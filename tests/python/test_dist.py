"""What is built for installing: sums, signature, bills, the image, and the README's lines."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from test_release import ROOT, script

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

EPOCH = 1_000_000_000
FILES = {"diskspd": (b"\x7fELF and so on", 0o755), "data/.keep": (b"", 0o644)}


@pytest.fixture(scope="module")
def build() -> ModuleType:
    return script("dist/build")


def minisign(*words: str | Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run minisign."""
    if (found := shutil.which("minisign")) is None:
        pytest.skip("minisign is not installed")
    return subprocess.run([found, *words], capture_output=True, text=True, check=check)


@pytest.fixture
def artefacts(tmp_path: Path) -> Path:
    folder = tmp_path / "dist"
    folder.mkdir()
    (folder / "one.tar.gz").write_bytes(b"one")
    (folder / "one.tar.gz.cdx.json").write_text("{}")
    return folder


def test_the_sums_are_those_that_sha256sum_checks(build: ModuleType, artefacts: Path) -> None:
    build.sums(artefacts)
    words = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    done = subprocess.run(words, cwd=artefacts, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["one.tar.gz: OK", "one.tar.gz.cdx.json: OK"]
    # What is signed or summed again names itself never.
    build.sums(artefacts)
    assert "SHA256SUMS" not in (artefacts / "SHA256SUMS").read_text()


def test_a_signature_holds_for_these_sums_and_this_key_alone(
    build: ModuleType, artefacts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = {name: (tmp_path / f"{name}.pub", tmp_path / f"{name}.key") for name in ("ours", "his")}
    for public, secret in keys.values():
        minisign("-G", "-W", "-p", public, "-s", secret)
    monkeypatch.setenv("FATHOM_SIGNING_KEY", str(keys["ours"][1]))
    build.sums(artefacts)
    sums = artefacts / "SHA256SUMS"

    def is_signed(name: str) -> bool:
        return minisign("-V", "-p", keys[name][0], "-m", sums, check=False).returncode == 0

    assert is_signed("ours")
    assert not is_signed("his")
    sums.write_text(sums.read_text().replace("one", "two"))
    assert not is_signed("ours")
    # A signature of an earlier build does not stay beside new sums.
    monkeypatch.delenv("FATHOM_SIGNING_KEY")
    build.sums(artefacts)
    assert not sums.with_name("SHA256SUMS.minisig").exists()


def test_a_bill_names_its_artefact_and_all_parts_once(artefacts: Path) -> None:
    bill, crates = script("dist/bill"), script("dist/crates")
    artefact = artefacts / "one.tar.gz"
    parts = [crates.Crate("b", "1.0.0", "MIT", ""), crates.Crate("a", "2.0.0", "Zlib", "")]
    carried = [bill.Carried("deb", "libblkid", "2.38", "LGPL-2.1-or-later")]

    def written() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(
            bill.write_bill(artefact, "1.2.3", EPOCH, parts, carried).read_text()
        )
        return found

    told = written()
    assert told == written()
    root = told["metadata"]["component"]
    assert root["name"] == "one.tar.gz"
    assert root["hashes"][0]["content"] == hashlib.sha256(b"one").hexdigest()
    named = [one["purl"] for one in told["components"]]
    assert named == ["pkg:cargo/a@2.0.0", "pkg:cargo/b@1.0.0", "pkg:deb/libblkid@2.38"]
    assert told["dependencies"] == [{"ref": root["bom-ref"], "dependsOn": named}]
    artefact.write_bytes(b"another")
    assert written()["serialNumber"] != told["serialNumber"]


def test_an_image_has_what_its_digests_say(tmp_path: Path) -> None:
    image = script("dist/image")
    place = image.write_image(FILES, "aarch64", "1.2.3", EPOCH, tmp_path / "image.tar")
    again = image.write_image(FILES, "aarch64", "1.2.3", EPOCH, tmp_path / "again.tar")
    assert place.read_bytes() == again.read_bytes()
    with tarfile.open(place) as archive:
        # Python 3.11.2, which Debian 12 has, knows no filter.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(tmp_path / "layout")  # noqa: S202 - It is our own.

    def blob(told: dict[str, Any]) -> bytes:
        body: bytes = (tmp_path / "layout/blobs" / told["digest"].replace(":", "/")).read_bytes()
        assert told["digest"] == f"sha256:{hashlib.sha256(body).hexdigest()}"
        assert told["size"] == len(body)
        return body

    index = json.loads((tmp_path / "layout/index.json").read_text())
    manifest = json.loads(blob(index["manifests"][0]))
    config = json.loads(blob(manifest["config"]))
    (layer,) = manifest["layers"]
    (tmp_path / "layer.tar.gz").write_bytes(blob(layer))
    with tarfile.open(tmp_path / "layer.tar.gz") as archive:
        modes = {one.name: one.mode for one in archive if one.isfile()}
    assert modes == {name: mode for name, (_, mode) in FILES.items()}
    assert (config["architecture"], config["config"]["Entrypoint"]) == ("arm64", ["/diskspd"])


def _wheel(place: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(place, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return place


def test_the_lab_s_package_has_its_libraries_in_one_folder_and_no_commands_of_others(
    tmp_path: Path,
) -> None:
    own = {
        "fathom/__init__.py": "",
        "fathom/_fathom.abi3.so": "",
        "f.data/data/share/man/man1/fathom.1": "",
        "f.data/data/share/man/man1/diskspd.1": "",
        "f.data/data/share/doc/fathom-storage/LICENSE": "",
        "f.data/scripts/diskspd": "",
    }
    other = {"numpy/__init__.py": "", "n.data/purelib/m.py": "", "n.data/scripts/f2py": ""}
    wheels = [_wheel(tmp_path / "own.whl", own), _wheel(tmp_path / "other.whl", other)]
    files = script("dist/lab").lab_files(wheels[0], wheels[1:], "3.12")
    below = "usr/lib/fathom-lab"
    assert {name: mode for name, (_, mode) in files.items()} == {
        "usr/bin/fathom": 0o755,
        f"{below}/fathom/__init__.py": 0o644,
        f"{below}/fathom/_fathom.abi3.so": 0o755,
        f"{below}/numpy/__init__.py": 0o644,
        f"{below}/m.py": 0o644,
        "usr/share/man/man1/fathom.1": 0o644,
    }
    assert files["usr/bin/fathom"][0].startswith(b"#!/usr/bin/python3.12 -I\n")


def test_the_lab_s_packages_name_what_is_pinned_with_its_licence_and_nothing_that_builds() -> None:
    lab = script("dist/lab")
    text = (ROOT / "requirements.txt").read_text()
    named = dict(line.split()[0].split("==") for line in lab.pins(text) if line[0].isalnum())
    assert {"numpy", "scipy", "typer"} <= {*named}
    assert "maturin" not in named
    wheels = [
        ROOT / f"{name.lower().replace('-', '_')}-{version}-py3-none-any.whl"
        for name, version in named.items()
    ]
    told = lab.carried(ROOT, wheels)
    assert len(told) == len(named)
    assert all(one.licence for one in told)


def test_the_lab_s_package_conflicts_with_the_other_fathom_and_cleans_up_after_itself() -> None:
    package = script("dist/native").lab("3.13", "1.2.3")
    assert package.conflicts == "snap"
    assert package.depends.startswith("python3.13, fathom-diskspd (= 1.2.3)")
    assert "__pycache__" in package.removed


def test_a_file_that_another_commit_changed_is_newer_than_any_build_before(
    build: ModuleType, tmp_path: Path
) -> None:
    before, source = tmp_path / "before", tmp_path / "source"
    for folder in (before, source):
        folder.mkdir()
        for name in ("same", "changed"):
            (folder / name).write_text(f"{name} {folder.name if name == 'changed' else ''}")
    (source / "new").write_text("new")
    for path in [*before.iterdir(), *source.iterdir()]:
        os.utime(path, (EPOCH, EPOCH))
    build.date(source, before)
    times = {path.name: path.stat().st_mtime for path in source.iterdir()}
    assert times.pop("same") == EPOCH
    assert {*times} == {"new", "changed"}
    assert all(time > EPOCH for time in times.values())


def _install_lines() -> list[str]:
    text = (ROOT / "README.md").read_text()
    section = text[text.index("## Install") :].split("```")[1]
    return [re.sub(r"\s{2,}#.*", "", line) for line in section.strip().splitlines()]


def test_the_readme_has_a_line_for_each_kind_of_people_and_scripts_run_it() -> None:
    one, lab, sources = _install_lines()
    tried = (ROOT / "scripts/dist/try.sh").read_text()
    # Each is read from the README there, by these words.
    for words, line in (("linux-static.tar.gz", one), ("^pipx install", lab)):
        assert re.search(words, line)
        assert f'readme_line "{words}"' in tried or f"readme_line {words}" in tried
    assert f'commands=("{sources}"' in (ROOT / "scripts/fresh.sh").read_text()


def test_the_line_for_one_binary_installs_it_and_the_one_that_removes_leaves_nothing(
    tmp_path: Path,
) -> None:
    stem = "diskspd-1.2.3-x86_64-linux-static"
    home = tmp_path / "home"
    home.mkdir()
    names = ("bin/diskspd", "share/man/man1/diskspd.1")
    members = {f"{stem}/{name}": (b"#!/bin/sh\necho here\n", 0o755) for name in names}
    script("dist/archive").tar_gz(members, EPOCH, tmp_path / f"{stem}.tar.gz")
    told = (ROOT / "docs/artefacts.md").read_text()
    (remove,) = re.findall(r"^    (tar -tzf .*)$", told, re.MULTILINE)
    environment = {**os.environ, "HOME": str(home)}

    def files() -> list[str]:
        return sorted(str(one.relative_to(home)) for one in home.rglob("*") if one.is_file())

    line = _install_lines()[0]
    subprocess.run(["sh", "-ec", line], cwd=tmp_path, env=environment, check=True)  # noqa: S607
    assert files() == [f".local/{name}" for name in names]
    mine = home / ".local/bin/another"
    mine.write_text("")
    subprocess.run(["sh", "-ec", remove], cwd=tmp_path, env=environment, check=True)  # noqa: S607
    assert files() == [".local/bin/another"]


BUILT = [
    *(
        f"diskspd-1.2.3-x86_64-{end}"
        for end in ("linux.tar.gz", "linux-static.tar.gz", "image.tar")
    ),
    "diskspd-1.2.3-aarch64-linux.tar.gz",
    "fathom-diskspd_1.2.3_arm64.deb",
    "fathom-lab-1.2.3+python3.11-1.x86_64.rpm",
    "fathom_storage-1.2.3-cp311-abi3-manylinux_2_28_x86_64.whl",
    "fathom_storage-1.2.3.tar.gz",
]


@pytest.fixture
def built(build: ModuleType, tmp_path: Path) -> Path:
    """Return a folder of artefacts, whose log the scripts have written that build and try them."""
    folder = tmp_path / "dist"
    folder.mkdir()
    for name in BUILT:
        (folder / name).write_bytes(name.encode() * 4000)
        (folder / f"{name}.cdx.json").write_text("{}")
        build.keep(folder, folder / name, f"dist: {name}: built with --profile quick")
    build.sums(folder)
    return folder


def note(folder: Path, name: str, line: str) -> None:
    """Tell something of an artefact as the scripts do."""
    shell = '. scripts/dist/log.sh; note "$1/$2" "$3"'
    words = ["bash", "-ec", shell, "-", str(folder), name, line]
    subprocess.run(words, cwd=ROOT, check=True, capture_output=True)


def _row(drawn: str, name: str) -> list[str]:
    (row,) = [line for line in drawn.splitlines() if line.startswith(f"| `{name}` |")]
    return [cell.strip() for cell in row.split("|")[1:-1]]


def test_the_table_of_artefacts_has_sizes_and_what_the_tests_told_of_these_very_files(
    build: ModuleType, built: Path
) -> None:
    table = script("dist/table")
    image = "diskspd-1.2.3-x86_64-image.tar"
    note(built, image, "dist-test: image, x86_64: passed: total: 1 | 2")
    note(built, image, "dist-test: its layer: FAILED: no entry point")
    note(built, "fathom_storage-1.2.3.tar.gz", "dist-test: sources, pip: passed: removed")
    note(built, "SHA256SUMS", "dist-check: both builds are equal, byte for byte: 16 files")
    drawn = table.draw(table.read(built))
    row = _row(drawn, "diskspd-V-ARCH-image.tar")
    assert row[3:] == ["0.1 (quick)", "not built", "image, x86_64; **FAILED: its layer**"]
    assert _row(drawn, "fathom_storage-V.tar.gz")[3:] == ["0.1 (quick)", "", "sources, pip"]
    assert "dist-check: both builds are equal, byte for byte: 16 files" in drawn
    # What was told of a file that stands there no more says nothing of the one in its place.
    (built / image).write_bytes(b"another")
    build.keep(built, built / image, f"dist: {image}: built with --profile release")
    row = _row(table.draw(table.read(built)), "diskspd-V-ARCH-image.tar")
    assert row[3:] == ["0.0", "not built", "no"]


def test_what_is_told_again_of_a_test_takes_the_place_of_its_earlier_lines(built: Path) -> None:
    for word in ("FAILED: it did not run", "passed: it runs"):
        shell = '. scripts/dist/log.sh; forget "dist-test: deb"'
        subprocess.run(["bash", "-ec", shell, "-", str(built)], cwd=ROOT, check=True)  # noqa: S607
        note(built, "fathom-diskspd_1.2.3_arm64.deb", f"dist-test: deb: {word}")
    table = script("dist/table")
    assert _row(table.draw(table.read(built)), "fathom-diskspd_V_ARCH.deb")[-1] == "deb"


@pytest.mark.parametrize(
    ("line", "is_passed"),
    [
        ("kernel danger::: test result: ok. 2 passed; 0 failed; finished in 82.49s", True),
        ("kernel danger::: test result: FAILED. 19 passed; 1 failed; finished in 2 s", False),
        ("python, test_kills.py: 10 failed, 1 passed in 46.71s", False),
        ("python, test_kills.py: Killed", False),
        ("python, test_kills.py: 3 passed, 1 error in 46.71s", False),
    ],
)
def test_a_part_of_the_guard_suite_that_failed_is_told_in_the_table(
    built: Path, line: str, *, is_passed: bool
) -> None:
    name = "diskspd-1.2.3-x86_64-linux-static.tar.gz"
    for text in (f"fa404f31e8bf6ab3... of {name}", line, "cli: 12 passed; 0 failed"):
        note(built, name, f"dist-guard: {text}")
    table = script("dist/table")
    words = _row(table.draw(table.read(built)), "diskspd-V-ARCH-linux-static.tar.gz")[-1]
    assert words == ("the guard suite" if is_passed else "**FAILED: the guard suite**")


def test_an_artefact_without_a_row_ends_the_drawing(built: Path) -> None:
    (built / "fathom.msi").write_bytes(b"new")
    table = script("dist/table")
    with pytest.raises(SystemExit, match=r"no row is for fathom\.msi"):
        table.draw(table.read(built))


def test_the_docs_have_the_rows_that_are_drawn() -> None:
    table = script("dist/table")
    page = (ROOT / "docs/artefacts.md").read_text()
    for kind in table.ARTEFACTS:
        cells = _row(page, kind.name)
        assert cells[1:3] == [kind.has, kind.needs]
    assert table.written(page, "drawn again").count("drawn again") == 1

"""``fathom doctor``: what this installation has and lacks."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

import fathom
from fathom._extras import EXTRAS, install_line, missing_of
from fathom._finite import json_words
from fathom.cli.common import JsonOption

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Part", "doctor", "parts"]

# The same number on every architecture (linux/io_uring.h; man 2 io_uring_setup).
_IO_URING_SETUP = 425
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


@dataclass(frozen=True)
class Part:
    """Something that an installation may have: what for, and the line that mends its lack."""

    name: str
    is_here: bool
    words: str
    mend: str = ""


def doctor(*, as_json: JsonOption = False) -> None:
    """Tell what this installation has and lacks, with the line that mends it."""
    found = [*parts()]
    if as_json:
        typer.echo(json_words([asdict(part) for part in found]))
        return
    typer.echo(f"fathom {fathom.__version__}, Python {sys.version.split()[0]}, {sys.prefix}")
    width = max(len(part.name) for part in found)
    for part in found:
        state = "yes" if part.is_here else "no "
        typer.echo(f"{part.name:<{width}}  {state}  {part.words}")
        if not part.is_here and part.mend:
            typer.echo(f"{'':<{width}}       {part.mend}")
    typer.echo("What slows a measurement on this machine: diskspd --doctor")


def parts() -> Iterator[Part]:
    """Return all parts; nothing is installed, started or changed."""
    yield _program("diskspd", "the same engine as a program", install_line_of_both())
    yield _io_uring()
    yield _libblkid()
    for extra, known in EXTRAS.items():
        lacking = missing_of(extra)
        words = known.purpose + (f" (lacks {' and '.join(lacking)})" if lacking else "")
        yield Part(f"extra {extra}", not lacking, words, install_line(extra))
    yield _bundle()
    yield _program("fio", "runs of fio (--runner fio)", "apt install fio, or dnf install fio")
    yield _browser()


def install_line_of_both() -> str:
    """Return the line that installs both commands."""
    return "pip install --force-reinstall fathom-storage"


def _program(name: str, purpose: str, mend: str) -> Part:
    beside = Path(sys.executable).with_name(name)
    place = str(beside) if beside.exists() else shutil.which(name)
    return Part(name, place is not None, f"{purpose}{f': {place}' if place else ''}", mend)


def _io_uring() -> Part:
    """Ask for a ring of no entries, which the kernel refuses as invalid where it has rings."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall(ctypes.c_long(_IO_URING_SETUP), ctypes.c_uint(0), None)
    told = ctypes.get_errno()
    if told in {errno.EINVAL, errno.EFAULT}:
        return Part("io_uring", is_here=True, words="the engine's best way to the kernel")
    setting = "as root: sysctl kernel.io_uring_disabled=0; in a container: allow io_uring_setup"
    words = f"the engine's best way to the kernel ({os.strerror(told)}); libaio takes its place"
    return Part("io_uring", is_here=False, words=words, mend=setting)


def _libblkid() -> Part:
    words = "tells whose data a device holds, before it is written"
    try:
        ctypes.CDLL("libblkid.so.1")
    except OSError as error:
        mend = "apt install libblkid1, or dnf install libblkid"
        return Part("libblkid", is_here=False, words=f"{words} ({error})", mend=mend)
    return Part("libblkid", is_here=True, words=words)


def _bundle() -> Part:
    page = Path(fathom.__file__).parent / "report" / "page"
    words = "the JavaScript of HTML reports"
    if any(page.glob("vega-*.js")):
        return Part("page's bundle", is_here=True, words=words)
    is_made = not missing_of("pictures")
    words += ", made at the first report" if is_made else ""
    return Part("page's bundle", is_made, words, install_line("pictures"))


def _browser() -> Part:
    place = next(filter(None, map(shutil.which, _BROWSERS)), None)
    words = "only for showing reports, and for the tests of pages"
    mend = "apt install chromium, or open reports in any browser"
    return Part("Chromium", place is not None, f"{words}{f': {place}' if place else ''}", mend)

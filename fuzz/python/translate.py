"""Loads in other tools' words: each is said in every form, or refused in words.

The head of an input says what the rest is: a file that a user names, arguments (one in each line),
or a profile of DiskSpd. What is written for fio is read back, and the engine takes it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import atheris
import harness

with atheris.instrument_imports(include=["fathom"]):
    from fathom import InvalidRequestError
    from fathom.cli.commands.translate import FormChoice, loads_of_text, written
    from fathom.tools import from_fio, read_fio_arguments, read_job_file, read_load

if TYPE_CHECKING:
    from fathom.tools import Load

FILE, FIO, DISKSPD, PROFILE = HEADS = ("file", "fio", "diskspd", "profile")
# DiskSpd's profiles are files, which the engine reads itself.
PROFILE_FILE = os.memfd_create("profile")
PROFILE_ARGUMENT = f"-X/proc/self/fd/{PROFILE_FILE}"


def one_input(data: bytes) -> None:
    """Translate a load into each form, as ``fathom translate`` does."""
    head, rest = harness.head_and_rest(data)
    try:
        for load in loads_of(head, rest):
            for form in FormChoice:
                translate(load, form)
    except InvalidRequestError as error:
        told(error)


def loads_of(head: str, rest: bytes) -> list[Load]:
    """Return the loads of an input; none of one that is nothing of the kind."""
    if head == PROFILE:
        os.ftruncate(PROFILE_FILE, 0)
        os.pwrite(PROFILE_FILE, rest, 0)
        return [read_load([PROFILE_ARGUMENT])]
    text = rest.decode("utf-8", "replace")
    if head == FILE:
        found = loads_of_text(text)
        return found[0] if found else []
    # No argument holds a zero byte, and a profile of this machine is no input.
    arguments = [one for one in text.replace("\0", "").split("\n") if not one.startswith("-X")]
    if head == FIO:
        return [read_load(line) for line in from_fio(read_fio_arguments(arguments)).command_lines]
    return [read_load(arguments)]


def translate(load: Load, form: FormChoice) -> None:
    """Write a load in one form, unless that cannot hold it."""
    try:
        text, _notes = written(load, form)
    except InvalidRequestError as error:
        told(error)
        return
    assert text.strip()
    if form is FormChoice.FIO:
        for line in from_fio(read_job_file(text)).command_lines:
            read_load(line)


def told(error: InvalidRequestError) -> None:
    """Hold that a refusal is more than the name of an error."""
    assert len(f"{error}".split()) > 1, error


if __name__ == "__main__":
    harness.fuzz(one_input, HEADS)

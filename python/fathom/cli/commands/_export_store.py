"""Exporting runs and experiments whole, as one file: a store with nothing else in it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import typer

import fathom.store as stores
from fathom._files import replacing
from fathom.cli.common import fail
from fathom.cli.exit_codes import EXIT_FAILED, EXIT_INVALID

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.store import Store

__all__ = ["export_store"]


def export_store(
    source: Store, references: Sequence[str], output: Path | None, *, redact: bool
) -> None:
    """Write what is named, or all, to a new file that appears only once it is whole."""
    if output is None:
        fail("a store needs a file: name one with --output, such as e3.sqlite", EXIT_INVALID)
    if redact:
        fail("a store has all names as they are: leave out --redact, or export json", EXIT_INVALID)
    if output.exists():
        fail(f"{output} exists, and no store is replaced: name another file", EXIT_INVALID)
    with tempfile.TemporaryDirectory(prefix="fathom-") as folder:
        whole = Path(folder) / output.name
        with stores.Store(whole) as target:
            done = stores.copy_store(source, target, references)
        try:
            with replacing(output) as unfinished:
                shutil.copyfile(whole, unfinished)
        except OSError as error:
            fail(f"{output} cannot be written: {error.strerror or error}", EXIT_FAILED)
    typer.echo(
        f"Exported {len(done.new_runs)} runs and {len(done.new_experiments)} experiments to "
        f"{output}"
    )

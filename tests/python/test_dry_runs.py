"""What would be run is judged by the guard before anything begins, whatever the verb."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from commands import command
from fathom.cli.exit_codes import EXIT_REFUSED

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "These lines are somebody's own.\n" * 9000


@pytest.mark.parametrize(
    "words",
    [
        ["run", "-w100"],
        ["repeat", "-w100"],
        ["sweep", "--depth", "1,2", "-w100"],
        # The cells that write are not the first ones.
        ["sweep", "--writes", "0,50"],
        ["tune", "-w1"],
        ["compare", "--run", "-o1", "-w10"],
    ],
)
def test_a_dry_run_of_what_the_guard_would_refuse_is_refused(
    words: list[str], tmp_path: Path
) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text(TEXT)
    for more in ([], ["--json"]):
        told = command(words[0], "--dry-run", *more, *words[1:], mine)
        assert told.returncode == EXIT_REFUSED, told.stderr
        assert "refused: the file looks like text" in told.stdout + told.stderr or more
    allowed = command(words[0], "--dry-run", *words[1:], "--overwrite", mine)
    assert allowed.returncode == 0, allowed.stderr
    assert mine.read_text() == TEXT

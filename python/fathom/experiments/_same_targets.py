"""Whether the targets of an experiment that goes on are those that it measured before."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from fathom._addresses import is_address
from fathom._files import size_of
from fathom._hanging import LOOK_S, HangingError, within
from fathom.errors import FathomError, InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fathom.store import RunSummary, Store, StoredRun

__all__ = ["refuse_other_targets"]


def refuse_other_targets(store: Store, runs: Sequence[RunSummary]) -> None:
    """Refuse to go on with targets that have another size than the last complete run found.

    What each run makes, what other hosts have or serve, and what is gone is not asked.

    Raises
    ------
    InvalidRequestError
        If a target has another size.

    """
    here = platform.node()
    last = next((run for run in reversed(runs) if run.columns["host_name"] == here), None)
    if last is None:
        return
    try:
        run = store.runs.get(last.id)
    except FathomError:
        # What cannot be read any more is reported where the run itself is shown.
        return
    for path, then_bytes in _measured(run):
        now_bytes = _now_bytes(path)
        if now_bytes not in (None, then_bytes):
            raise InvalidRequestError(
                f"{path} had {then_bytes:,} bytes when e{last.experiment_id} measured it, and has "
                f"{now_bytes:,} now: what both show does not belong together. Put it back, or "
                "begin another experiment"
            )


def _measured(run: StoredRun) -> Iterator[tuple[str, int]]:
    """Return the targets that were there before the run, with their sizes."""
    if run.imported is not None or run.result.raw.get("hosts"):
        return
    spans = run.result.raw["request"]["profile"]["time_spans"]
    made = {
        one["path"] for span in spans for one in span["targets"] if one["create_bytes"] is not None
    }
    for target in run.targets:
        path = str(target["path"])
        if path not in made and not is_address(path) and target["size_bytes"] is not None:
            yield path, int(target["size_bytes"])


def _now_bytes(path: str) -> int | None:
    """Return the size of a target; None of what is gone, hangs, or cannot be opened."""
    try:
        return within(LOOK_S, f"look at '{path}'", lambda: size_of(path))
    except (OSError, ValueError, HangingError):
        return None

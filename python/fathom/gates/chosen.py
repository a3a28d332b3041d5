"""Which runs a gate judges: the newest ones with its label."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.errors import InvalidRequestError
from fathom.store import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.gates.gate import Gate
    from fathom.store import Store
    from fathom.store.records import RunSummary

__all__ = ["runs_of_gate"]


def runs_of_gate(store: Store, gate: Gate) -> str:
    """Return a reference to the newest runs with a gate's label: an experiment, or a run.

    The label is the same letter for letter, and the newest run is the one that began last: what was
    copied or imported has great numbers, and may be old.

    Raises
    ------
    InvalidRequestError
        If the gate has no label.
    NotFoundError
        If no run has it.

    """
    if gate.label is None:
        raise InvalidRequestError(
            f"{gate.about}there is no label to find the runs by: name them, as fathom gate 12, or "
            "add label = 'nightly' to fathom.toml"
        )
    alike = store.runs.list(label=gate.label)
    labelled = [run for run in alike if run.label == gate.label]
    if not labelled:
        raise NotFoundError(
            f"{gate.about}no run in {store.name} has the label {gate.label}{_others(alike)}"
        )
    run = max(labelled, key=_began)
    return str(run.id) if run.experiment_id is None else f"e{run.experiment_id}"


def _began(run: RunSummary) -> tuple[float, int]:
    """Return what orders runs by their start; one that is not known comes first of all."""
    at = run.started_at_unix_s
    return float("-inf") if at is None else at, run.id


def _others(alike: Sequence[RunSummary]) -> str:
    """Return which label was perhaps meant, as words that go on behind it."""
    if not alike:
        return ""
    return f" letter for letter; the newest like it has {alike[0].label}"

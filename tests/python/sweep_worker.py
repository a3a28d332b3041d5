"""The process that sweeps until it is killed; the test resumes what it began."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.experiments.axes import parse_axes
from fathom.experiments.sweep.experiment import resume_sweep, sweep
from fathom.experiments.sweep.plan import SweepPlan
from fathom.runners import NativeRunner
from fathom.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection

    from fathom.runners import RunOutcome

__all__ = ["CELLS", "begin_or_resume"]

CELLS = 80


class TellingRunner(NativeRunner):
    """Tells the id of each run once it is saved."""

    def __init__(self, store: Store, told: Connection | None) -> None:
        """Tell it here."""
        super().__init__(store)
        self._told = told

    def run(
        self,
        arguments: Sequence[str],
        *,
        label: str = "",
        experiment_id: int | None = None,
        step_id: int | None = None,
    ) -> RunOutcome:
        """Run, and tell."""
        outcome = super().run(arguments, label=label, experiment_id=experiment_id, step_id=step_id)
        if self._told is not None:
            self._told.send(outcome.run_id)
        return outcome


def begin_or_resume(store_path: str, target: str, told: Connection | None) -> None:
    """Begin a sweep, or go on with the one that there is."""
    if told is not None:
        told.send("ready")
    with Store(store_path) as store:
        runner = TellingRunner(store, told)
        found = store.experiments.list(verb="sweep")
        if found:
            resume_sweep(store, found[0].id, runner)
            return
        # Each run ends after a few I/Os, so that a kill meets all that a sweep does.
        arguments = ("-L", "-r", "--stop-ios=50", target)
        named = {"block": "4K,8K", "depth": "1..8", "write": "0,1,2,3,4,5,6,7,8,9"}
        axes = parse_axes(named)
        plan = SweepPlan(arguments, axes, mode="fixed", duration_s=1, tolerance=0.0)
        sweep(store, runner, plan)

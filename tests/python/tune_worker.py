"""The process that tunes until it is killed; the test resumes what it began."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.experiments.tune.experiment import TunePlan, resume_tune, tune
from fathom.store import Store
from sweep_worker import TellingRunner

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection

    from fathom.runners import RunOutcome

__all__ = ["begin_or_resume_tune"]


class ShortRunner(TellingRunner):
    """Ends each run after a few I/Os, so that a kill meets all that tuning does."""

    def run(
        self,
        arguments: Sequence[str],
        *,
        label: str = "",
        experiment_id: int | None = None,
        step_id: int | None = None,
    ) -> RunOutcome:
        """Run, and tell."""
        kept = [one for one in arguments if not one.startswith("--stop")]
        return super().run(
            ["--stop-ios=50", *kept], label=label, experiment_id=experiment_id, step_id=step_id
        )


def begin_or_resume_tune(store_path: str, target: str, told: Connection | None) -> None:
    """Begin to tune, or go on with what there is."""
    if told is not None:
        told.send("ready")
    with Store(store_path) as store:
        runner = ShortRunner(store, told)
        found = store.experiments.list(verb="tune")
        if found:
            resume_tune(store, found[0].id, runner)
            return
        arguments = ("-L", "-r", "-b4K", target)
        plan = TunePlan(arguments, (1, 2, 4), (1, 2, 4, 8, 16, 32), longest_s=1)
        tune(store, runner, plan)

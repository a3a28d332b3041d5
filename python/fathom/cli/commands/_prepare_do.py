"""What ``fathom prepare`` does: filling and preconditioning, with progress and words."""

from __future__ import annotations

import shlex
import sys
import time
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

import fathom
from fathom import tools
from fathom import workloads as loads_by_name
from fathom._finite import json_words
from fathom.cli.commands._foresight import (
    refuse_before_a_store,
    refuse_what_cannot_run,
)
from fathom.cli.commands._resumed import named_experiment, resumed_permission
from fathom.cli.commands._workload_argument import named_workload, split_rest
from fathom.cli.common import fail
from fathom.cli.exit_codes import EXIT_FAILED, EXIT_INVALID
from fathom.cli.views.prepare import (
    estimate_sentences,
    show_filled,
    show_fleet_filled,
    show_settled,
    show_written,
    writing_progress,
)
from fathom.cli.views.progress import live_progress
from fathom.engine import load_of
from fathom.experiments import prepare as preparing
from fathom.experiments.first_look import writes_to
from fathom.runners import NativeRunner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fathom._permission import Permission
    from fathom.experiments.prepare import Asked, Progress
    from fathom.fleet.address import FleetAddress
    from fathom.stats import SteadyState
    from fathom.store import Store

__all__ = [
    "Conditioning",
    "check_fleet_fill",
    "resume_any",
    "run_fill",
    "run_fleet_fill",
    "run_served_fill",
    "run_settling",
    "run_writing",
]

_KINDS = ("fill", "wipc", "wdpc")


def _resume_words(experiment_id: int) -> str:
    return f"What is done is saved; go on with: fathom prepare fill --resume e{experiment_id}"


@contextmanager
def _told_how_to_resume(experiment_id: int) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(_resume_words(experiment_id), err=True)
        raise


def _metered(
    store: Store, tell: Callable[[Progress], None], permission: Permission
) -> tuple[preparing.Meter, NativeRunner]:
    """Return a runner, and what counts the bytes of its runs."""
    meter = preparing.Meter(time.monotonic, tell)
    return meter, NativeRunner(store, on_event=meter.on_event, permission=permission)


def run_fill(store: Store, target: str, asked: Asked, *, as_json: bool) -> None:
    """Plan and fill."""
    if asked.only_missing and not as_json:
        typer.echo(f"reading {target} for what is empty", err=True)
    _fill(store, preparing.plan_fill(store, target, asked), asked.permission, as_json=as_json)


def run_served_fill(target: str, asked: Asked, *, as_json: bool) -> None:
    """Make a file that another host serves."""
    found = preparing.fill_served(target, asked)
    if as_json:
        typer.echo(json_words(asdict(found)))
        return
    size = f"{found.size_bytes:,} bytes"
    words = {
        "made": f"made, with {size} of data",
        "replaced": f"made again, with {size} of data",
        "kept": f"kept: its {size} are data that fathom made before",
    }
    typer.echo(f"{target}: {words[found.fate]}")


def check_fleet_fill(where: str | None, fleet: FleetAddress, target: str, asked: Asked) -> None:
    """Let each host look where a store would be made: none is, for what cannot be filled."""
    load = preparing.load_on_hosts(target, asked)
    refuse_before_a_store(where, load, asked.permission, fleet.runner_name())


def run_fleet_fill(
    store: Store, fleet: FleetAddress, target: str, asked: Asked, *, as_json: bool
) -> None:
    """Make a file on each host of a fleet."""
    with live_progress(quiet=as_json) as on_event:
        runner = tools.fleet_runner(store, fleet, asked.permission).telling(on_event)
        try:
            found = preparing.fill_on_hosts(store, runner, target, asked)
        finally:
            runner.close()
    if as_json:
        typer.echo(json_words(asdict(found)))
    else:
        show_fleet_filled(found, store.name)
    if found.failure is not None:
        words = "files that are complete are kept; give the command once more for the others"
        fail(f"{found.failure}\n{words}", EXIT_FAILED)


def _fill(store: Store, experiment_id: int, permission: Permission, *, as_json: bool) -> None:
    with writing_progress("filling", quiet=as_json) as tell, _told_how_to_resume(experiment_id):
        meter, runner = _metered(store, tell, permission)
        found = preparing.fill(store, runner, experiment_id, meter)
    if as_json:
        typer.echo(json_words(asdict(found)))
    else:
        show_filled(found, store.name)
    if found.failure is not None:
        fail(f"{found.failure}\n{_resume_words(experiment_id)}", EXIT_FAILED)


def run_writing(
    store: Store, experiment_id: int, permission: Permission, *, as_json: bool
) -> dict[str, object]:
    """Write a target twice over as planned, and return what was done."""
    plan = store.experiments.get(experiment_id).plan
    path = plan["target"]["path"]
    with writing_progress("writing", quiet=as_json) as tell, _told_how_to_resume(experiment_id):
        meter, runner = _metered(store, tell, permission)
        found = preparing.precondition(store, runner, experiment_id, meter)
    if found.failure is not None:
        raise fathom.FathomError(f"{found.failure}\n{_resume_words(experiment_id)}")
    if not as_json:
        show_written(found, path, store.name)
    return {"kind": "wipc", "path": path, **asdict(found), "mib_per_s": found.mib_per_s}


def run_settling(
    store: Store, experiment_id: int, permission: Permission, *, as_json: bool
) -> dict[str, object]:
    """Run rounds as planned, and return what was found."""

    def tell(number: int, steady: SteadyState | None) -> None:
        if not as_json:
            words = "kept" if steady is not None and steady.is_steady else "not kept yet"
            typer.echo(f"round {number}: the SNIA's rule is {words}", err=True)

    with _told_how_to_resume(experiment_id):
        found = preparing.settle(
            store, NativeRunner(store, permission=permission), experiment_id, on_round=tell
        )
    if found.failure is not None:
        raise fathom.FathomError(f"{found.failure}\n{_resume_words(experiment_id)}")
    if not as_json:
        show_settled(found, store.name)
    return {"kind": "wdpc", **asdict(found)}


def resume_any(store: Store, reference: str, permission: Permission, *, as_json: bool) -> None:
    """Go on with a preparation that was ended, whatever it is."""
    experiment_id = _experiment_id(store, reference)
    experiment = store.experiments.get(experiment_id)
    kind = experiment.plan.get("kind") if experiment.verb == "prepare" else None
    if kind not in _KINDS:
        fail(f"experiment e{experiment_id} is no preparation to go on with", EXIT_INVALID)
    resumed_permission(store, experiment_id, permission)
    if kind == "fill":
        _fill(store, experiment_id, permission, as_json=as_json)
        return
    run = run_writing if kind == "wipc" else run_settling
    found = run(store, experiment_id, permission, as_json=as_json)
    if as_json:
        typer.echo(json_words(found))


class Conditioning:
    """Preconditioning, from the user's words to the last round."""

    def __init__(
        self, store: Store | None, permission: Permission, metrics: list[str], *, as_json: bool
    ) -> None:
        """Track these figures; without a store, nothing can be done but ``foresee``."""
        self._store = store
        self._permission = permission
        self._metrics = metrics
        self._as_json = as_json
        self._loads: list[tuple[str, list[str]]] = []
        self._targets: list[preparing.TargetFacts] = []
        self._estimates: dict[str, preparing.Estimate] = {}
        self._kinds: list[str] = []
        self._rest: list[str] = []

    @property
    def has_store(self) -> bool:
        """Whether there is a store to look into."""
        return self._store is not None

    def use(self, store: Store) -> None:
        """Look into a store for rates, and save there what is done."""
        self._store = store

    def plan(self, rest: list[str], *, wipc: bool, wdpc: bool) -> None:
        """Read targets or a load; nothing is opened for writing."""
        self._kinds = [kind for kind, wanted in (("wipc", wipc), ("wdpc", wdpc)) if wanted]
        self._rest = rest
        if wdpc:
            self._loads = _loads(rest)
            paths = load_targets([arguments for _, arguments in self._loads])
        else:
            options = [one for one in rest if one.startswith("-")]
            if options:
                fail(f"{options[0]}: --wipc alone takes targets, no load", EXIT_INVALID)
            paths = rest
        self._targets = [preparing.target_facts(path) for path in paths]

    def estimate(self, rate: float | None, tbw: float | None) -> None:
        """Say what it takes."""
        for kind in self._kinds:
            if kind == "wipc":
                known = (rate, "as given") if rate is not None else self._known_rate()
                found = preparing.estimate_writing(self._targets, known, tbw)
            else:
                loads = [arguments for _, arguments in self._loads]
                known = (rate, "as given") if rate is not None else None
                found = preparing.estimate_settling(self._targets, loads, known, tbw)
            self._estimates[kind] = found
        if self._as_json:
            return
        for kind, one in self._estimates.items():
            typer.echo(f"{kind.upper()} of {', '.join(target.path for target in self._targets)}:")
            for sentence in estimate_sentences(one):
                typer.echo(f"  {sentence}")

    def _known_rate(self) -> tuple[float, str] | None:
        if len(self._targets) > 1 or self._store is None:
            return None
        return preparing.known_rate(self._store, self._targets[0].path)

    def foresee(
        self, rest: list[str], rate: float | None, tbw: float | None, *, wipc: bool, wdpc: bool
    ) -> None:
        """Say what it takes, and do nothing."""
        self.plan(rest, wipc=wipc, wdpc=wdpc)
        self.estimate(rate, tbw)
        self.refuse(is_asked=True)
        if self._as_json:
            self.show_json([])

    def refuse(self, *, is_asked: bool) -> None:
        """Refuse what the guard would refuse once it is written to."""
        written = [writes_to(one.path) for one in self._targets] if "wipc" in self._kinds else []
        loads = [*written, *(load for _, load in self._loads)]
        refuse_what_cannot_run(loads, self._permission, None, is_asked=is_asked)

    def may_write(self, *, yes: bool) -> bool:
        """Ask, if more than the capacity is written."""
        return yes or confirmed([*self._estimates.values()])

    def run(self) -> list[dict[str, object]]:
        """Do what was planned, and return what was done."""
        done: list[dict[str, object]] = []
        store = self._store
        assert store is not None, "without a store, it is only foreseen"  # noqa: S101 - Of ours.
        if "wipc" in self._kinds:
            for number, target in enumerate(self._targets, start=1):
                planned = preparing.plan_precondition(store, target.path, self._permission)
                with self._naming_what_follows(self._targets[number:]):
                    done.append(self._done(run_writing, planned))
        if "wdpc" in self._kinds:
            planned = preparing.plan_settling(store, self._loads, self._metrics)
            done.append(self._done(run_settling, planned))
        return done

    @contextmanager
    def _naming_what_follows(self, targets: list[preparing.TargetFacts]) -> Iterator[None]:
        """Say what is not begun yet where writing ends early: who resumes ends what was begun."""
        follows = [shlex.join(["--wipc", *(one.path for one in targets)])] if targets else []
        follows += [shlex.join(["--wdpc", *self._rest])] if "wdpc" in self._kinds else []
        try:
            yield
        except (fathom.FathomError, KeyboardInterrupt):
            for one in follows:
                typer.echo(f"note: not begun yet: fathom prepare condition {one}", err=True)
            raise

    def _done(self, run: Callable[..., dict[str, object]], planned: int) -> dict[str, object]:
        return run(self._store, planned, self._permission, as_json=self._as_json)

    def show_json(self, done: list[dict[str, object]]) -> None:
        """Print estimates and what was done."""
        data = {kind: asdict(one) for kind, one in self._estimates.items()}
        typer.echo(json_words({"estimates": data, "done": done}))


def confirmed(estimates: list[preparing.Estimate]) -> bool:
    """Ask whether more may be written than the capacity; what is less needs no question."""
    if not any(one.exceeds_capacity for one in estimates):
        return True
    if not sys.stdin.isatty():
        fail("more than the target holds may be written: say --yes", EXIT_INVALID)
    return typer.confirm("More than the target holds may be written. Go on?", abort=True, err=True)


def load_targets(loads: list[list[str]]) -> list[str]:
    """Return the paths that loads name, each once."""
    spans = [span for load in loads for span in load_of(load).profile.time_spans]
    return list(dict.fromkeys(target.path for span in spans for target in span.targets))


def _loads(rest: list[str]) -> list[tuple[str, list[str]]]:
    workload = named_workload(rest)
    if workload is None:
        return [("", rest)]

    wishes, targets = split_rest(rest)
    return [
        (step.label or workload.name, loads_by_name.run_arguments(workload, step, wishes, targets))
        for step in workload.steps
    ]


def _experiment_id(store: Store, reference: str) -> int:
    if reference == "last":
        for one in store.experiments.list(verb="prepare"):
            if one.state != "complete" and one.plan.get("kind") in _KINDS:
                return one.id
        fail(f"{store.name} has no preparation to go on with", EXIT_INVALID)
    return named_experiment(reference)

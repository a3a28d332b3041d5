"""A fleet behind the seam of runners: all hosts measure at once, and one result is saved."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fathom._events_file import tapped
from fathom._fathom import check_run_words
from fathom._permission import NOTHING, Permission, name_for_one_run, refuse_permissions
from fathom._signals import held_back, let_through
from fathom.engine import parse
from fathom.errors import (
    DataFaultError,
    FathomError,
    InvalidRequestError,
    RunFailedError,
    RunInterrupted,
)
from fathom.fleet.outcome import merged
from fathom.fleet.running import Job
from fathom.fleet.session import FleetSession
from fathom.runners.measure import Measured, noted_override
from fathom.runners.native import cut_short, stored_figures
from fathom.runners.runner import RunOutcome
from fathom.runners.saving import save_run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fathom.engine import EventCallback
    from fathom.fleet.address import FleetAddress
    from fathom.fleet.outcome import HostPart
    from fathom.request import Request
    from fathom.result import Result
    from fathom.store import Store

__all__ = ["FleetRunner"]


class _Shared:
    """The session that runners of one command share; it is opened by the first run."""

    def __init__(self, fleet: FleetAddress) -> None:
        self.fleet = fleet
        self._session: FleetSession | None = None
        self._names: tuple[str, ...] = ()

    def session(self) -> FleetSession:
        """Return it; another one where hosts were lost, which may be back.

        It has the hosts of the first one: a sum of others would be shown beside theirs.
        """
        if self._session is not None and self._session.is_idle_without_a_host:
            self.close()
        if self._session is None:
            self._session = FleetSession(self.fleet, self._names)
            self._names = tuple(one.name for one in self._session.hosts)
        return self._session

    def keep_hosts(self, names: Sequence[str]) -> None:
        """Measure with these hosts and no others from now on."""
        if self._session is not None and [one.name for one in self._session.hosts] != [*names]:
            self.close()
        self._names = tuple(names)

    def close(self) -> None:
        """Let the hosts go."""
        session, self._session = self._session, None
        if session is not None:
            session.close()


class FleetRunner:
    """Runs on all hosts of a fleet."""

    tool = "Fathom diskspd"

    def __init__(  # noqa: PLR0913 - All but the first three have names.
        self,
        store: Store | None,
        fleet: FleetAddress,
        permission: Permission = NOTHING,
        *,
        on_event: EventCallback | None = None,
        shared: _Shared | None = None,
        most_hosts: int | None = None,
    ) -> None:
        """Save into this store, or nowhere; ``permission`` is what a person has typed."""
        self._store = store
        self._permission = permission
        self._on_event = on_event
        self._shared = shared or _Shared(fleet)
        self._most_hosts = most_hosts

    @property
    def name(self) -> str:
        """What measures, with the fleet."""
        return f"a fleet ({self._shared.fleet.address})"

    def permitted(self, permission: Permission) -> FleetRunner:
        """Return a runner with this permission; see ``PermittedRunner``."""
        return self._with(permission=permission)

    def telling(self, on_event: EventCallback | None) -> FleetRunner:
        """Return a runner that tells the events of its runs."""
        return self._with(on_event=on_event)

    @property
    def fleet(self) -> FleetAddress:
        """Which fleet it is, and how it is used."""
        return self._shared.fleet

    def of_first(self, hosts: int) -> FleetRunner:
        """Return a runner of so many hosts, the first ones."""
        return self._with(most_hosts=hosts)

    def host_count(self) -> int:
        """Return how many hosts measure."""
        return len(self._shared.session().hosts)

    def host_names(self) -> list[str]:
        """Return which hosts measure."""
        return [one.name for one in self._shared.session().hosts]

    def keep_hosts(self, names: Sequence[str]) -> None:
        """Measure with these hosts and no others; see ``RunnerOfHosts``."""
        self._shared.keep_hosts(names)

    def _with(self, **other: Any) -> FleetRunner:  # noqa: ANN401 - Of the constructor.
        kept = {
            "permission": self._permission,
            "on_event": self._on_event,
            "shared": self._shared,
            "most_hosts": self._most_hosts,
        }
        return FleetRunner(self._store, self._shared.fleet, **(kept | other))

    def measuring_pids(self) -> dict[str, int]:
        """Return the measuring process of each host, by its name."""
        return {one.name: one.pid for one in self._shared.session().hosts}

    def close(self) -> None:
        """Let the hosts go; the next run connects again."""
        self._shared.close()

    def clock(self) -> float:
        """Return seconds of a clock that nobody sets."""
        return time.monotonic()

    def run(
        self,
        arguments: Sequence[str],
        *,
        label: str = "",
        experiment_id: int | None = None,
        step_id: int | None = None,
    ) -> RunOutcome:
        """Run and save; see ``Runner.run``."""
        found = self.measure(arguments, label=label, experiment_id=experiment_id, step_id=step_id)
        failure = found.failure or cut_short(found.result)
        figures = None if failure is not None else stored_figures(found.result)
        return RunOutcome(found.run_id, figures, failure, found.result)

    def explain(self, arguments: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return what each host says of a run, by its name; nothing is written."""
        return self._shared.session().explain(self._job(arguments))

    def measure(  # noqa: PLR0913 - All but the first have names.
        self,
        arguments: Sequence[str],
        *,
        request: Request | None = None,
        label: str = "",
        experiment_id: int | None = None,
        step_id: int | None = None,
        show: Callable[[Result], None] | None = None,
    ) -> Measured:
        """Run and save, and return the whole result; ``show`` gets it before it is saved.

        ``request`` is what is run; without it, what the arguments ask for.

        Raises
        ------
        InvalidRequestError
            If the fleet cannot make this load; nothing was touched.
        RefusedError
            If any host refuses: then none has written anything.
        FathomError
            If the fleet cannot be used, or a host was lost before the load began.
        RunInterrupted
            If Ctrl-C ended the run; what was measured is saved.
        KeyboardInterrupt
            If it came before the load had begun on any host.

        """
        job = self._job(arguments, request)
        session = self._shared.session()
        noted = noted_override(self._store, self._permission, arguments, experiment_id, request)
        # Between the end of a run and its place in the store, nothing ends the process.
        with held_back():
            with let_through():
                parts, is_interrupted = session.measure(job)
            if is_interrupted and not any(one.measured for one in parts):
                raise KeyboardInterrupt
            saved = _Saved(self._store, arguments, label, experiment_id, step_id)
            done = saved.whole(parts, job, show)
            if self._store is not None:
                self._store.overrides.ended(noted, done.run_id)
            if is_interrupted:
                raise RunInterrupted(done.result, done.run_id)
            return done

    def _job(self, arguments: Sequence[str], request: Request | None = None) -> Job:
        refuse_permissions(arguments, "the arguments of this run")
        if request is None:
            check_run_words([*arguments])
            _refuse_what_stays_here(arguments)
            request = parse(arguments)
        fleet = self._shared.fleet
        on_event = tapped(self._on_event)
        return Job(request, self._permission, fleet, self._most_hosts, on_event)


def _refuse_what_stays_here(arguments: Sequence[str]) -> None:
    """Refuse what a request does not carry to the hosts: nothing there would be protected by it.

    Raises
    ------
    InvalidRequestError
        If there is such an argument.

    """
    name = name_for_one_run(arguments)
    if name is not None:
        raise InvalidRequestError(
            f"{name} does not reach the hosts of a fleet: leave it out, and let each host say what "
            "it protects in its own /etc/fathom/policy.toml, and how to log in in its environment "
            "(FATHOM_CREDENTIALS)"
        )


class _Saved:
    """Where a result goes, and under which words."""

    def __init__(
        self,
        store: Store | None,
        arguments: Sequence[str],
        label: str,
        experiment_id: int | None,
        step_id: int | None,
    ) -> None:
        self._store = store
        self._arguments = arguments
        self._label = label
        self._place = {"experiment_id": experiment_id, "step_id": step_id}

    def whole(
        self, parts: Sequence[HostPart], job: Job, show: Callable[[Result], None] | None
    ) -> Measured:
        """Merge, show and save; where it cannot be merged, save what each host measured."""
        try:
            result = merged(parts, job.request, self._arguments)
        except FathomError as error:
            raise self._apart(parts, job.request, error) from error
        failures = [one for part in parts for one in part.failures]
        lost = [f"host '{one.name}' was lost: {one.lost}" for one in parts if one.lost]
        is_whole = all(span.complete or span.failure for span in result.time_spans)
        # The loss may be seen only after the others have come to their end.
        if lost and not (is_whole and job.fleet.on_host_loss == "continue"):
            failures = [*lost, *failures]
        try:
            if show is not None:
                show(result)
        finally:
            run_id = self._kept(result, self._label, failures)
        kind = DataFaultError if result.faulty_blocks else RunFailedError
        failed = kind("; ".join(failures), result) if failures else None
        return Measured(run_id, result, failed)

    def _apart(self, parts: Sequence[HostPart], asked: Request, error: FathomError) -> FathomError:
        """Save the part of each host as a run of its own, and return the error that says so."""
        kept = []
        for part in parts:
            # What has not begun measured nothing, and cannot be merged even with itself.
            if part.measured is not None and part.began_ns() is not None:
                alone = merged([replace(part, lost=None)], asked, self._arguments)
                words = f"{self._label} ({part.name})".strip()
                kept.append(self._kept(alone, words, [str(error)]))
        runs = ", ".join(f"run {one}" for one in kept if one is not None)
        where = f"; what each host measured is saved by itself ({runs})" if runs else ""
        return FathomError(f"{error}{where}")

    def _kept(self, result: Result, label: str, failures: Sequence[str]) -> int | None:
        if self._store is None:
            return None
        return save_run(
            self._store, result, self._arguments, label=label, failures=failures, **self._place
        )

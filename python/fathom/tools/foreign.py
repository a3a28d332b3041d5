"""Another tool behind the seam: guarded, prepared and saved as our own runs are.

Before the other tool starts, our engine prepares the same run: it refuses what it would refuse,
makes the files, and tells what the targets are. While the tool works, this process holds the
permission to write: the kernel's exclusive claim on each block device that is written keeps others
from mounting it.
"""

from __future__ import annotations

import json
import shlex
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from fathom._addresses import is_address
from fathom._permission import NOTHING, Permission, refuse_permissions
from fathom._signals import held_back
from fathom.errors import InvalidRequestError, RunFailedError, RunInterrupted
from fathom.grant import WriteGrant
from fathom.result import Result
from fathom.runners.measure import Measured, noted_override
from fathom.runners.native import stored_figures
from fathom.runners.runner import RunOutcome
from fathom.runners.saving import save_run
from fathom.tools._process import ToolRun, cpu_rows, run_tool
from fathom.tools.load import read_load

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fathom.store import Store
    from fathom.tools.load import Load

__all__ = ["NO_WAITS", "ForeignRunner", "Tool", "ToolSpan"]

# How long a tool may take beside its warm-up and its measured time: to start, and to write logs.
_OVERHEAD_S = 60.0
NO_WAITS = {
    "completion_waits": 0,
    "throttle_waits": 0,
    "throttle_sleeps": 0,
    "lookasides": 0,
    "lookaside_completions": [0] * 8,
}
"""The waits of a thread, of which no tool tells."""


@dataclass(frozen=True)
class ToolSpan:
    """What a tool measured, in the form of our results (``schema/result.schema.json``).

    ``failure`` is the tool's own words if it failed; ``stop`` holds what is known of the mean.
    """

    measured_ns: int
    threads: list[dict[str, Any]]
    stop: dict[str, Any] | None
    failure: str | None


class Tool(Protocol):
    """A tool that can run a load."""

    name: str
    version: str

    def command(self, load: Load, folder: Path) -> list[str]:
        """Return the command for a load, and write what it reads into the folder.

        Raises
        ------
        InvalidRequestError
            If the tool cannot make this load.

        """

    def measured(self, load: Load, folder: Path, run: ToolRun) -> ToolSpan:
        """Read what the command has left in the folder."""


class ForeignRunner:
    """Runs with another tool."""

    def __init__(self, store: Store | None, tool: Tool, permission: Permission = NOTHING) -> None:
        """Save into this store, or nowhere; ``permission`` is what a person has typed."""
        self._store = store
        self._tool = tool
        self._permission = permission

    def permitted(self, permission: Permission) -> ForeignRunner:
        """Return a runner with this permission; see ``PermittedRunner``."""
        return ForeignRunner(self._store, self._tool, permission)

    @property
    def tool(self) -> str:
        """The tool's name, such as ``fio``."""
        return self._tool.name

    @property
    def name(self) -> str:
        """The tool and its version, such as ``fio 3.33``."""
        return f"{self._tool.name} {self._tool.version}"

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
        if found.failure is not None:
            return RunOutcome(found.run_id, None, found.failure)
        return RunOutcome(found.run_id, stored_figures(found.result), None)

    def measure(
        self,
        arguments: Sequence[str],
        *,
        label: str = "",
        experiment_id: int | None = None,
        step_id: int | None = None,
        show: Callable[[Result], None] | None = None,
    ) -> Measured:
        """Run and save, and return the whole result; ``show`` gets it before it is saved.

        Rules that end a run once its mean is known are left out: the longest time is taken, and
        what is then known of the mean stands in the result.

        Raises
        ------
        InvalidRequestError
            If the tool cannot make this load, or the arguments are wrong; nothing was touched.
        RefusedError
            If a target holds data that must not be lost; nothing was touched.
        RunInterrupted
            If Ctrl-C ended the run; what was measured is saved.

        """
        # Between the end of the tool and the store, nothing ends the process.
        with held_back():
            return self._measured(arguments, label, experiment_id, step_id, show)

    def _measured(
        self,
        arguments: Sequence[str],
        label: str,
        experiment_id: int | None,
        step_id: int | None,
        show: Callable[[Result], None] | None,
    ) -> Measured:
        if any(one.startswith("-X") for one in arguments):
            raise InvalidRequestError(
                "-X: another tool is driven by arguments; fathom translate --to diskspd gives them"
            )
        refuse_permissions(arguments, "the arguments of this run")
        load = read_load(arguments)
        self._check(load)
        noted = noted_override(self._store, self._permission, arguments, experiment_id)
        with tempfile.TemporaryDirectory(prefix="fathom-run-") as name:
            folder = Path(name)
            # Before anything is made: the load may be one that the tool does not know.
            command = self._tool.command(load, folder)
            try:
                grant = WriteGrant(
                    arguments,
                    overwrite=self._permission.overwrite,
                    allow_write=self._permission.allow_write,
                )
            except RunFailedError as error:
                # A target that cannot be opened or made: the other tool is not even started.
                return Measured(None, error.result, error)
            with grant:
                began_unix_s = int(time.time())
                span = load.profile["time_spans"][0]
                limit_s = span["duration_s"] + span["warm_up_s"] + _OVERHEAD_S
                run = run_tool(command, folder, limit_s)
                # What the tool writes is as much ours as what the engine writes; if it cannot be
                # started or waited for, what the files hold decides.
                grant.written_by(run.session)
                found = self._tool.measured(load, folder, run)
        result = self._result(load, grant.result, command, (began_unix_s, run, found))
        if show is not None:
            show(result)
        failures = [found.failure] if found.failure and not run.interrupted else []
        run_id = None
        if self._store is not None:
            run_id = save_run(
                self._store, result, arguments, label=label, failures=failures,
                experiment_id=experiment_id, step_id=step_id,
            )  # fmt: skip
            self._store.overrides.ended(noted, run_id)
        if run.interrupted:
            raise RunInterrupted(result)
        return Measured(run_id, result, RunFailedError(failures[0], result) if failures else None)

    def _check(self, load: Load) -> None:
        if len(load.profile["time_spans"]) > 1:
            raise InvalidRequestError(f"{self._tool.name} is driven with one time span at a time")
        if any(one["path"].startswith(("#", "*")) for one in _targets(load)):
            raise InvalidRequestError("name the target by its path, such as /dev/nvme0n1")
        if any(is_address(one["path"]) for one in _targets(load)):
            raise InvalidRequestError(
                f"{self._tool.name} cannot be driven over the network; leave --runner out"
            )

    def _result(
        self,
        load: Load,
        prepared: Result,
        command: Sequence[str],
        seen: tuple[int, ToolRun, ToolSpan],
    ) -> Result:
        began_unix_s, run, found = seen
        outcome: Any = {"failed": found.failure} if found.failure else "complete"
        if run.interrupted:
            outcome = "interrupted"
        planned = prepared.raw["time_spans"][0]
        span = planned | {
            "outcome": outcome,
            "measured_ns": found.measured_ns,
            "interval_ns": 0,
            "stop": found.stop,
            "cost": None,
            "cpu": cpu_rows(run.samples, found.measured_ns / 1e9),
            "threads": found.threads,
        }
        raw = dict(prepared.raw) | {
            "tool": {"name": self._tool.name, "version": self._tool.version},
            "command_line": shlex.join(command),
            "started_at_unix_s": began_unix_s,
            "request": load.request.to_dict(),
            "profile": load.profile,
            "time_spans": [span],
        }
        return Result.from_json(json.dumps(raw))


def _targets(load: Load) -> list[dict[str, Any]]:
    return [target for span in load.profile["time_spans"] for target in span["targets"]]

"""Writing a target piece by piece through the engine, so that a killed session goes on."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from fathom.errors import InvalidRequestError
from fathom.experiments.prepare._pieces import Piece
from fathom.experiments.prepare.target import TargetFacts, target_facts
from fathom.experiments.session import Session, Step, Strategy
from fathom.store.damage import damage_told
from fathom.units import MIB

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fathom.runners import Figures, Runner
    from fathom.store import Experiment, Store

__all__ = ["Meter", "Progress", "WritePlan", "Written", "begin", "taken_up", "write"]

# No piece takes longer; the measured time ends with the pass over it.
_LONGEST_S = 86_400
# Seconds before which a rate is chance.
_SETTLED_S = 1.0


@dataclass(frozen=True)
class WritePlan:
    """What is written where.

    Attributes
    ----------
    kind
        Filling, or the workload independent preconditioning of the SNIA.
    target
        As it was when this was planned.
    compress_percent, dedupe_percent
        What a compressor saves of the data, and how many of the blocks repeat another.
    depth
        I/Os outstanding.
    left_bytes
        What holds nothing and yet is not written, being too scattered.
    for_experiment
        The experiment for which this is done, if there is one.

    """

    kind: Literal["fill", "wipc"]
    target: TargetFacts
    compress_percent: int = 0
    dedupe_percent: int = 0
    depth: int = 8
    left_bytes: int = 0
    for_experiment: int | None = None

    def as_dict(self) -> dict[str, object]:
        """Return it as JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> WritePlan:
        """Return the plan that was saved."""
        return cls(**{**data, "target": TargetFacts(**data["target"])})

    def arguments(self, piece: Piece) -> list[str]:
        """Return the arguments that write one piece, each byte of it once."""
        direct = self.target.is_direct and piece.is_aligned
        return [
            f"-b{piece.block_bytes}",
            "-t1",
            f"-o{self.depth}",
            "-w100",
            "-Su" if direct else "-Sb",
            "-W0",
            f"-d{_LONGEST_S}",
            "--stop-pass",
            f"-B{piece.offset}:{piece.bytes}",
            f"--compress={self.compress_percent}",
            f"--dedupe={self.dedupe_percent}",
            self.target.path,
        ]


@dataclass(frozen=True)
class Progress:
    """How far writing is; the rate is that of this session, None in its first second."""

    done_bytes: int
    total_bytes: int
    elapsed_s: float
    rate_bytes_per_s: float | None
    remaining_s: float | None


@dataclass
class Meter:
    """Counts what is written, also within a piece: ``on_event`` gets the events of its run."""

    clock: Callable[[], float]
    on_progress: Callable[[Progress], None] = lambda _progress: None
    total_bytes: int = 0
    done_bytes: int = 0
    _skipped_bytes: int = 0
    _in_piece_bytes: int = 0
    _began_s: float = 0.0

    def start(self, total_bytes: int, skipped_bytes: int) -> None:
        """Begin to count; so much was done by earlier sessions."""
        self.total_bytes, self.done_bytes = total_bytes, skipped_bytes
        self._skipped_bytes, self._in_piece_bytes = skipped_bytes, 0
        self._began_s = self.clock()

    def on_event(self, name: str, fields: dict[str, Any]) -> None:
        """Take what each second of a run tells."""
        if name == "live":
            self._in_piece_bytes += int(fields["bytes"])
            self._tell()

    def piece_done(self, size_bytes: int) -> None:
        """Take a piece that is done."""
        self.done_bytes += size_bytes
        self._in_piece_bytes = 0
        self._tell()

    def _tell(self) -> None:
        done = min(self.done_bytes + self._in_piece_bytes, self.total_bytes)
        elapsed_s = self.clock() - self._began_s
        rate = (done - self._skipped_bytes) / elapsed_s if elapsed_s >= _SETTLED_S else None
        left_s = (self.total_bytes - done) / rate if rate else None
        self.on_progress(Progress(done, self.total_bytes, elapsed_s, rate, left_s))


@dataclass
class Written:
    """What a session wrote, in bytes and seconds; ``failure`` says why it ended before its end."""

    experiment_id: int
    total_bytes: int
    session_bytes: int = 0
    elapsed_s: float = 0.0
    failure: str | None = None
    pieces: list[Piece] = field(default_factory=list)

    @property
    def mib_per_s(self) -> float | None:
        """The rate of the session."""
        if not self.elapsed_s:
            return None
        return self.session_bytes / MIB / self.elapsed_s


def begin(store: Store, plan: WritePlan, pieces: Sequence[Piece]) -> int:
    """Save the plan, and return its experiment."""
    steps = [(_label(piece), asdict(piece)) for piece in pieces]
    name = f"{plan.kind} {plan.target.path}"
    return store.experiments.begin("prepare", name, plan.as_dict(), steps)


def _label(piece: Piece) -> str:
    return f"pass {piece.pass_number}: {piece.bytes} bytes from {piece.offset}"


def taken_up(store: Store, experiment_id: int) -> tuple[Experiment, WritePlan]:
    """Return what was begun and is not complete, after a look at its target.

    Raises
    ------
    InvalidRequestError
        If there is nothing to go on with, or the target is not what it was.

    """
    experiment = store.experiments.get(experiment_id)
    kind = experiment.plan.get("kind")
    if experiment.verb != "prepare" or kind not in ("fill", "wipc"):
        raise InvalidRequestError(f"experiment e{experiment_id} wrote nothing that could go on")
    if experiment.state == "complete":
        raise InvalidRequestError(f"experiment e{experiment_id} is complete")
    with damage_told(experiment_id):
        plan = WritePlan.from_dict(dict(experiment.plan))
    now = target_facts(plan.target.path)
    if (now.identity, now.size_bytes) != (plan.target.identity, plan.target.size_bytes):
        raise InvalidRequestError(
            f"{plan.target.path} is not what it was when e{experiment_id} was begun: begin again"
        )
    return experiment, plan


def write(store: Store, runner: Runner, experiment_id: int, meter: Meter) -> Written:
    """Write all pieces of an experiment that are not done yet; each is noted when it is.

    Raises
    ------
    InvalidRequestError, RefusedError
        If the engine refuses; nothing was written then.
    RunInterrupted
        If Ctrl-C ended it; ``write`` goes on with the piece in which it was.

    """
    _experiment, plan = taken_up(store, experiment_id)
    session = Session(store, experiment_id, runner)
    steps = session.resume("prepare", "wrote nothing that could go on").steps
    with damage_told(experiment_id):
        pieces = {step.id: Piece(**step.parameters) for step in steps}
    todo = {step.id: pieces[step.id] for step in steps if step.state != "done"}
    done = Written(
        experiment_id, sum(one.bytes for one in pieces.values()), pieces=[*pieces.values()]
    )
    meter.start(done.total_bytes, done.total_bytes - sum(one.bytes for one in todo.values()))
    done.failure = session.run(_all_written(plan, todo, meter, done))
    done.elapsed_s = session.elapsed_s
    if done.failure is not None:
        session.finish(None, done.failure, is_failed=True)
    return done


def _all_written(
    plan: WritePlan, todo: Mapping[int, Piece], meter: Meter, done: Written
) -> Strategy[str | None]:
    """Write one piece behind the other; return why one failed.

    A piece is done once it is stable, which is later than its run is saved.
    """
    for step_id, piece in todo.items():
        seen = yield Step(
            f"prepare {plan.kind}",
            plan.arguments(piece),
            step_id=step_id,
            check=partial(_not_stable, plan.target.path, piece),
        )
        seen.raise_refusal()
        if seen.failure is not None:
            return seen.failure
        done.session_bytes += piece.bytes
        meter.piece_done(piece.bytes)
    return None


def _not_stable(path: str, piece: Piece, figures: Figures) -> str | None:
    """Bring a piece to stable storage; return why it is not there, if so."""
    written = round(figures.mib_per_s * figures.measured_s * MIB)
    if written != piece.bytes:
        return f"{written} of {piece.bytes} bytes from {piece.offset} on were written"
    return _synced(path)


def _synced(path: str) -> str | None:
    """Wait until a target is on stable storage: also what the device keeps in its cache."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        return f"{path}: what was written cannot be brought to the device: {error.strerror}"
    return None

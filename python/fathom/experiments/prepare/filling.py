"""Filling a target with data that compress and repeat as far as asked."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fathom._hanging import must_answer
from fathom._own_stores import refuse_own_store
from fathom._permission import NOTHING, Permission
from fathom._provenance import is_among_devices
from fathom.errors import FathomError, InvalidRequestError
from fathom.experiments.prepare._guard import refuse_foreign
from fathom.experiments.prepare._pieces import Missing, cut, missing_spans, piece_bytes
from fathom.experiments.prepare._survey import survey
from fathom.experiments.prepare.looking import target_layout
from fathom.experiments.prepare.target import described_error, refuse_address, target_facts
from fathom.experiments.prepare.write import WritePlan, begin, taken_up, write

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fathom.experiments.prepare._pieces import Piece
    from fathom.experiments.prepare._survey import Survey
    from fathom.experiments.prepare.target import TargetFacts
    from fathom.experiments.prepare.write import Meter
    from fathom.runners import Runner
    from fathom.store import Store

__all__ = ["Asked", "Filled", "check_fill", "fill", "plan_fill"]

_BLOCK_BYTES = 1 << 20
# Repeats are of whole blocks: many small ones give the share of each piece exactly.
_REPEATING_BLOCK_BYTES = 64 << 10
# Beyond it less than the engine's word of 8 bytes in 512 would be incompressible.
_GREATEST_RATIO = 50.0
_CHECKED_PIECES = 2


@dataclass(frozen=True)
class Asked:
    """What is to be filled, and with what.

    Attributes
    ----------
    size_bytes
        Of a new file; of what exists, how much of it from its beginning. None for all of it.
    compress_ratio, dedupe_ratio
        Bytes over what a compressor leaves, and blocks over different ones; 1 for neither.
    only_missing
        Write only where the target holds nothing: holes, unwritten parts and zeros.
    permission
        What a person has typed, for this look at the target: what writes has its own.

    """

    size_bytes: int | None = None
    compress_ratio: float = 1.0
    dedupe_ratio: float = 1.0
    only_missing: bool = False
    permission: Permission = NOTHING

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises
        ------
        InvalidRequestError
            If a value is out of its range.

        """
        for name, ratio in (("compress", self.compress_ratio), ("dedupe", self.dedupe_ratio)):
            if not 1 <= ratio <= _GREATEST_RATIO:
                raise InvalidRequestError(
                    f"--{name} is a ratio from 1 (not at all) to {_GREATEST_RATIO:g}, not {ratio:g}"
                )
        if self.size_bytes is not None and self.size_bytes <= 0:
            raise InvalidRequestError(f"a size is greater than 0, not {self.size_bytes} bytes")

    @property
    def compress_percent(self) -> int:
        """What the engine is told: it knows whole percents."""
        return round(100 * (1 - 1 / self.compress_ratio))

    @property
    def dedupe_percent(self) -> int:
        """What the engine is told: it knows whole percents."""
        return round(100 * (1 - 1 / self.dedupe_ratio))


@dataclass(frozen=True)
class Filled:
    """What filling did.

    Attributes
    ----------
    experiment_id
        In the store.
    path
        What was filled.
    total_bytes, session_bytes
        Of the whole filling, and of this session of it.
    left_bytes
        What holds nothing and yet was not written, being scattered in less than 64 KiB.
    elapsed_s, mib_per_s
        Of this session.
    compress_ratio, dedupe_ratio
        What was requested of the engine, which knows whole percents.
    check
        What stands there now, read past the page cache; None if nothing was to be written.
    failure
        Why it ended before its end, if it did.

    """

    experiment_id: int
    path: str
    total_bytes: int
    session_bytes: int
    left_bytes: int
    elapsed_s: float
    mib_per_s: float | None
    compress_ratio: float
    dedupe_ratio: float
    check: Survey | None
    failure: str | None


def check_fill(path: str | os.PathLike[str], asked: Asked) -> None:
    """Refuse what ``plan_fill`` would, as far as it can be told before anything is made.

    Raises
    ------
    InvalidRequestError
        If the target is of a kind or size that cannot be filled so.
    RefusedError
        If a file has data that Fathom has not made.
    FathomError
        If there is too little room, or the target cannot be read or written.

    """
    refuse_address(path)
    must_answer([path])
    # A new or empty file is made without asking the engine.
    refuse_own_store(path)
    _check_writable(path)
    if _is_new(Path(path)):
        _check_new(Path(path), asked.size_bytes)
    else:
        target = target_facts(path)
        _wanted_bytes(target, asked)
        if not asked.only_missing and _has_data(target):
            refuse_foreign(target, asked.permission)


def plan_fill(store: Store, path: str | os.PathLike[str], asked: Asked) -> int:
    """Plan to fill a target, make it if it is a new file, and return the experiment.

    Nothing that exists is written; a new file is made with all its blocks reserved.

    Raises
    ------
    InvalidRequestError
        If the target is of a kind or size that cannot be filled so.
    RefusedError
        If a file has data that Fathom has not made.
    FathomError
        If there is too little room, the target cannot be read, or the store cannot be written.

    """
    check_fill(path, asked)
    store.check_writable()
    if not _is_new(Path(path)):
        return _planned(store, path, asked, is_new=False)
    was_there = Path(path).exists()
    _make(Path(path), _check_new(Path(path), asked.size_bytes))
    try:
        return _planned(store, path, asked, is_new=True)
    except BaseException:
        _unmake(Path(path), was_there=was_there)
        raise


def _planned(
    store: Store,
    path: str | os.PathLike[str],
    asked: Asked,
    *,
    is_new: bool,
) -> int:
    target = target_facts(path)
    size_bytes = _wanted_bytes(target, asked)
    missing = _where(target, asked, size_bytes, is_new=is_new)
    repeating = asked.dedupe_percent > 0
    block = _REPEATING_BLOCK_BYTES if repeating else _BLOCK_BYTES
    total = sum(end - start for start, end in missing.spans)
    pieces = cut(missing.spans, block, piece_bytes(total, repeating=repeating))
    plan = WritePlan(
        "fill",
        target,
        compress_percent=asked.compress_percent,
        dedupe_percent=asked.dedupe_percent,
        left_bytes=missing.left_bytes,
    )
    return begin(store, plan, pieces)


def fill(store: Store, runner: Runner, experiment_id: int, meter: Meter) -> Filled:
    """Fill as planned, or go on with it, and check by reading what stands there.

    Raises
    ------
    InvalidRequestError, RefusedError
        If the target is not what it was, or the engine refuses to write to it.
    RunInterrupted
        If Ctrl-C ended it.
    FathomError
        If it cannot be read back.

    """
    _, plan = taken_up(store, experiment_id)
    done = write(store, runner, experiment_id, meter)
    check = None
    if done.failure is None:
        try:
            check = _checked(plan.target.path, done.pieces)
        except OSError as error:
            store.experiments.finish(experiment_id, "failed", failure=str(error))
            raise described_error(plan.target.path, "it cannot be read back", error) from error
    found = Filled(
        experiment_id=experiment_id,
        path=plan.target.path,
        total_bytes=done.total_bytes,
        session_bytes=done.session_bytes,
        left_bytes=plan.left_bytes,
        elapsed_s=done.elapsed_s,
        mib_per_s=done.mib_per_s,
        compress_ratio=_ratio(plan.compress_percent),
        dedupe_ratio=_ratio(plan.dedupe_percent),
        check=check,
        failure=done.failure,
    )
    if done.failure is None:
        store.experiments.finish(experiment_id, "complete", outcome=asdict(found))
    return found


def _ratio(percent: int) -> float:
    return 100 / (100 - percent)


def _check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse what the account may not write, before anything is planned for it."""
    if Path(path).exists() and not os.access(path, os.W_OK):
        raise FathomError(f"{path} cannot be written: use an account that may, or another target")


def _is_new(path: Path) -> bool:
    """Whether nothing is there yet, or a file without a byte."""
    return not path.exists() or (path.is_file() and not path.stat().st_size)


def _check_new(path: Path, size_bytes: int | None) -> int:
    """Return the size of a file that can be made."""
    if path.is_symlink():
        raise InvalidRequestError(f"{path} is a link that leads to nothing")
    if is_among_devices(path):
        raise InvalidRequestError(f"{path}: there is no such device")
    if size_bytes is None:
        raise InvalidRequestError(f"{path} does not exist: say how large it is to be (--size 10G)")
    if not path.absolute().parent.is_dir():
        raise InvalidRequestError(f"{path}: there is no folder {path.absolute().parent}")
    _check_room(path, size_bytes)
    return size_bytes


def _make(path: Path, size_bytes: int) -> None:
    """Make a file and reserve its blocks, or leave nothing behind."""
    was_there = path.exists()
    try:
        with path.open("r+b" if was_there else "xb") as file:
            try:
                os.posix_fallocate(file.fileno(), 0, size_bytes)
            except OSError:
                file.truncate(0)
                if not was_there:
                    path.unlink()
                raise
    except OSError as error:
        raise described_error(str(path), "it cannot be made", error) from error


def _unmake(path: Path, *, was_there: bool) -> None:
    """Take back a file that was made and not written yet."""
    with suppress(OSError):
        if was_there:
            os.truncate(path, 0)
        else:
            path.unlink()


def _check_room(path: Path, needed_bytes: int) -> None:
    free = shutil.disk_usage(path.absolute().parent).free
    if needed_bytes > free:
        raise FathomError(
            f"{path}: {needed_bytes:,} bytes are needed, and the file system has {free:,} left; "
            "make room, or fill less (--size)"
        )


def _wanted_bytes(target: TargetFacts, asked: Asked) -> int:
    size_bytes = target.size_bytes if asked.size_bytes is None else asked.size_bytes
    if not target.size_bytes:
        raise InvalidRequestError(f"{target.path} has no bytes: is there a medium in it?")
    if size_bytes > target.size_bytes:
        kind = "device" if target.is_device else "file"
        raise InvalidRequestError(
            f"{target.path} is a {kind} of {target.size_bytes:,} bytes, less than the "
            f"{size_bytes:,} of --size; leave --size out to fill all of it"
        )
    return size_bytes


def _where(target: TargetFacts, asked: Asked, size_bytes: int, *, is_new: bool) -> Missing:
    with _told_if_unreadable(target):
        layout = target_layout(target)
        if not target.is_device and not is_new:
            _check_room(Path(target.path), layout.hole_bytes)
        if asked.only_missing:
            return missing_spans(target.path, layout, size_bytes)
    return Missing([(0, size_bytes)], 0)


def _has_data(target: TargetFacts) -> bool:
    with _told_if_unreadable(target):
        return bool(target_layout(target).written)


@contextmanager
def _told_if_unreadable(target: TargetFacts) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise described_error(target.path, "it cannot be read", error) from error


def _checked(path: str, pieces: Sequence[Piece]) -> Survey | None:
    """Read back: all of it if it is small, else samples of all pieces and some pieces whole.

    Repeats are of blocks of the same piece, so whole pieces tell how much repeats.
    """
    if not pieces:
        return None
    spans = [(piece.offset, piece.offset + piece.bytes) for piece in pieces]
    found = survey(path, spans)
    if found.dedupe_ratio is not None:
        return found
    step = max(len(spans) // _CHECKED_PIECES, 1)
    whole = survey(path, spans[::step][:_CHECKED_PIECES], whole=True)
    return replace(
        found, dedupe_ratio=whole.dedupe_ratio, read_bytes=found.read_bytes + whole.read_bytes
    )

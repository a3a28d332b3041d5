"""The experiments as functions: what the command's verbs do, without a terminal.

Each takes a ``Request`` or DiskSpd's arguments as ``run`` does (what they allow is allowed by
whoever calls), saves each run in the store as it ends, and returns what ``--json`` prints, as
types. ``store`` is a ``Store``, or where it is; without it, the store that the command uses.

``on_progress`` gets how far the experiment is, after each run. ``cancel`` ends it before the next
run, once it is set: by ``ExperimentInterrupted``, as Ctrl-C does, and what was measured is kept.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fathom._files import is_file
from fathom._given import (
    amount,
    as_wrong_request,
    check_flags,
    check_followers,
    check_text,
    check_texts,
    chosen,
    each_path,
    named_target,
    named_targets,
    number,
    spelled,
    spelled_axes,
    whole,
)
from fathom._permission import Permission, typed
from fathom.errors import ExperimentInterrupted, InvalidRequestError
from fathom.experiments import repeat as repeating
from fathom.experiments.asked import asked_words
from fathom.experiments.assess import EFFORTS, foresee, writing_loads
from fathom.experiments.assess import assess as assess_targets
from fathom.experiments.axes import OPTIONS, parse_axes
from fathom.experiments.compare import interleaved
from fathom.experiments.compare.saved import (
    DEFAULT_METRICS,
    compare_runs,
)
from fathom.experiments.first_look import refuse_what_cannot_run
from fathom.experiments.prepare import (
    Asked,
    Meter,
    check_fill,
    fill,
    plan_fill,
)
from fathom.experiments.sweep.experiment import sweep as sweep_planned
from fathom.experiments.sweep.plan import plan_sweep
from fathom.experiments.tune.experiment import plan_tune
from fathom.experiments.tune.experiment import tune as tune_planned
from fathom.experiments.tune.knee_search import Goal
from fathom.metrics import check_share, metric_column
from fathom.report import gather, html_page, pdf_pages
from fathom.report import markdown as markdown_of
from fathom.runners import NativeRunner
from fathom.store import NoStoreError, Store
from fathom.store.where import store_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from threading import Event

    from fathom._given import Paths, Values
    from fathom.experiments.assess import Assessment
    from fathom.experiments.compare.comparison import RunComparison
    from fathom.experiments.compare.interleaved import TurnsComparison
    from fathom.experiments.prepare import Filled
    from fathom.experiments.prepare import Progress as WriteProgress
    from fathom.experiments.progress import Progress
    from fathom.experiments.repeat import Repetition
    from fathom.experiments.sweep.experiment import Sweep
    from fathom.experiments.tune.result import Tuning
    from fathom.report import Material
    from fathom.request import Request

    Where = Store | str | os.PathLike[str] | None
    Arguments = Request | str | Sequence[str]

__all__ = [
    "Report",
    "assess",
    "compare",
    "compare_interleaved",
    "prepare",
    "repeat",
    "sweep",
    "tune",
]


def repeat(  # noqa: PLR0913 - All but the first have defaults and names.
    arguments: Arguments,
    *,
    store: Where = None,
    metric: str = "iops",
    precision: float = 0.008,
    confidence: float = 0.95,
    pilot: int = 10,
    most: int = 60,
    label: str = "",
    on_run: Callable[[int, int | None], None] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    cancel: Event | None = None,
) -> Repetition:
    """Repeat a run until the interval of its mean is narrow enough.

    ``precision`` is half of the interval as a share of the mean of ``metric``. After ``pilot`` runs
    their spread decides how many there will be, never more than ``most``. ``on_run`` gets how many
    runs are done, and how many there will be once that is known, before ``on_progress``.

    Raises
    ------
    InvalidRequestError, RefusedError
        If a value is out of its range, ``metric`` is a latency that the arguments do not measure
        (``-L``), or the run cannot be made; nothing was made, measured or saved.
    TargetError
        If that is because of a target: it is not there, or of a kind that cannot be measured.
    ExperimentInterrupted, RunInterrupted
        If ``cancel`` was set, or Ctrl-C ended it.

    """
    check_text("metric", metric)
    check_text("label", label)
    precision = number("precision", precision) or 0.0
    confidence = number("confidence", confidence) or 0.0
    counts = [whole(field, one, least=1) or 0 for field, one in (("pilot", pilot), ("most", most))]
    check_followers(cancel, on_run=on_run, on_progress=on_progress)
    with as_wrong_request():
        policy = repeating.RepeatPolicy(metric, precision, confidence, *counts)
    words = asked_words(arguments)
    load, permission = typed(words)
    policy.refuse_unmeasured(load)
    refuse_what_cannot_run([load], permission)
    told = _told(on_progress, cancel)
    with _opened(store) as opened:
        return repeating.repeat(
            opened,
            words,
            policy,
            label=label,
            on_run=on_run or (lambda _done, _planned: None),
            on_progress=told,
        )


def sweep(  # noqa: PLR0913 - All but the first have defaults and names.
    arguments: Arguments,
    parameters: Mapping[str, Values],
    *,
    store: Where = None,
    duration_s: int | None = None,
    warm_up_s: int | None = None,
    tolerance: float | None = None,
    seed: int = 0,
    label: str = "",
    on_progress: Callable[[Progress], None] | None = None,
    cancel: Event | None = None,
) -> Sweep:
    """Measure all combinations of parameters, or as many as show where the others lie.

    ``parameters`` are named as in the command, and their values written as there or listed:
    ``{"block": "4K..64K", "threads": [1, 2, 4], "--rate": "1000..8000"}``. Each run
    ends once its mean is known, or after ``duration_s``. ``tolerance`` is by how much an
    interpolated rate may be wrong, as a share: 0.05, or 0 (measure all) where a duration is given.
    Of a ``Request`` the parameters take the place of its fields, and so do the times of the runs.

    Raises
    ------
    InvalidRequestError, RefusedError
        If the arguments or parameters are wrong, or no run can be made.
    TargetError
        If that is because of a target, or the first run fails because of it.
    ExperimentInterrupted, RunInterrupted
        If ``cancel`` was set, or Ctrl-C ended it.

    """
    check_text("label", label)
    tolerance = number("tolerance", tolerance)
    duration_s = whole("duration_s", duration_s, least=1)
    warm_up_s = whole("warm_up_s", warm_up_s, least=0)
    seed = whole("seed", seed, least=0) or 0
    check_followers(cancel, on_progress=on_progress)
    axes = parse_axes(*spelled_axes(parameters, OPTIONS))
    words, permission = typed(asked_words(arguments, [axis.option for axis in axes]))
    more: dict[str, object] = {}
    if duration_s is not None:
        more = {"mode": "fixed", "duration_s": duration_s, "warm_up_s": 5}
    if warm_up_s is not None:
        more["warm_up_s"] = warm_up_s
    share = (0.05 if duration_s is None else 0.0) if tolerance is None else tolerance
    plan, _forecast = plan_sweep(words, axes, tolerance=share, seed=seed, **more)
    refuse_what_cannot_run(plan.typical_loads(), permission, some_can_run=True)
    told = _told(on_progress, cancel)
    with _opened(store) as opened:
        runner = NativeRunner(opened, permission=permission)
        return sweep_planned(opened, runner, plan, label=label, on_progress=told)


def tune(  # noqa: PLR0913 - All but the first have defaults and names.
    arguments: Arguments,
    *,
    store: Where = None,
    threads: Values | None = None,
    depths: Values = "1..128",
    p99_ns: float | None = None,
    mean_ns: float | None = None,
    grow: bool = True,
    label: str = "",
    on_progress: Callable[[Progress], None] | None = None,
    cancel: Event | None = None,
) -> Tuning:
    """Find the threads and the queue depth of the knee, or the best under a limit of latency.

    ``threads`` and ``depths`` are ranges as in the command, or lists of numbers; without
    ``threads``, 1 to twice the CPUs, 64 at most. Give one limit or none: ``p99_ns`` or ``mean_ns``.
    ``grow`` widens a range, twice as far and twice at most, where the best lies at its end.

    Raises
    ------
    InvalidRequestError, RefusedError
        If the arguments are wrong, both limits are given, or no run can be made.
    TargetError
        If that is because of a target, or the first run fails because of it.
    ExperimentInterrupted, RunInterrupted
        If ``cancel`` was set, or Ctrl-C ended it.

    """
    if p99_ns is not None and mean_ns is not None:
        raise InvalidRequestError("give one limit: p99_ns or mean_ns")
    p99_ns, mean_ns = amount("p99_ns", p99_ns), amount("mean_ns", mean_ns)
    check_flags(grow=grow)
    check_text("label", label)
    check_followers(cancel, on_progress=on_progress)
    goal = Goal("mean", mean_ns) if p99_ns is None else Goal("p99", p99_ns)
    counts = f"1..{min(2 * (os.cpu_count() or 1), 64)}"
    counts = counts if threads is None else spelled("threads", threads)
    words, permission = typed(asked_words(arguments, ("-t", "-o")))
    plan = plan_tune(words, counts, spelled("depths", depths), goal=goal, grow=grow)
    refuse_what_cannot_run(plan.typical_loads(), permission, some_can_run=True)
    told = _told(on_progress, cancel)
    with _opened(store) as opened:
        runner = NativeRunner(opened, permission=permission)
        return tune_planned(opened, runner, plan, label=label, on_progress=told)


def compare(
    a: str | int,
    b: str | int,
    *,
    store: Where = None,
    metrics: Sequence[str] = (),
    confidence: float = 0.95,
) -> RunComparison:
    """Compare saved runs: ``a`` and ``b`` name runs (12), experiments or baselines (``"e3"``).

    Raises
    ------
    NotFoundError
        If one names nothing.
    FathomError
        If one names no complete run.
    InvalidRequestError
        If a metric or the confidence is none.

    """
    check_texts("metrics", metrics)
    confidence = number("confidence", confidence) or 0.0
    wanted = [*metrics] or DEFAULT_METRICS
    with as_wrong_request():
        for metric in wanted:
            metric_column(metric)
        check_share("confidence", confidence)
    with _opened(store, make=False) as opened:
        return compare_runs(opened, str(a), str(b), metrics=wanted, confidence=confidence)


def compare_interleaved(  # noqa: PLR0913 - All but the first two have defaults and names.
    a: Arguments,
    b: Arguments,
    *,
    store: Where = None,
    metrics: Sequence[str] = (),
    label: str = "",
    on_progress: Callable[[Progress], None] | None = None,
    cancel: Event | None = None,
) -> TurnsComparison:
    """Measure A and B interleaved, until their difference is known well enough.

    What the arguments of one side allow holds for both.

    Raises
    ------
    InvalidRequestError, RefusedError
        If a metric is none, or a latency that the arguments of a side do not measure (``-L``), or
        a run of a side cannot be made; nothing was made, measured or saved.
    TargetError
        If that is because of a target: it is not there, or of a kind that cannot be measured.
    ExperimentInterrupted, RunInterrupted
        If ``cancel`` was set, or Ctrl-C ended it.

    """
    check_texts("metrics", metrics)
    check_text("label", label)
    check_followers(cancel, on_progress=on_progress)
    (a_words, mine), (b_words, other) = typed(asked_words(a)), typed(asked_words(b))
    figures = tuple(metrics) or DEFAULT_METRICS
    with as_wrong_request():
        plan = interleaved.TurnsPlan(tuple(a_words), tuple(b_words), figures)
    permission = type(mine)(
        mine.overwrite or other.overwrite, (*mine.allow_write, *other.allow_write)
    )
    plan.refuse_unmeasured()
    refuse_what_cannot_run([plan.a, plan.b], permission)
    told = _told(on_progress, cancel)
    with _opened(store) as opened:
        runner = NativeRunner(opened, permission=permission)
        return interleaved.compare_interleaved(opened, runner, plan, label=label, on_progress=told)


def assess(  # noqa: PLR0913 - All but the first have defaults and names.
    targets: Paths,
    *,
    store: Where = None,
    effort: str = "default",
    writes: bool = False,
    overwrite: bool = False,
    allow_write: Paths = (),
    on_cell: Callable[[str, int, int, float], None] | None = None,
    cancel: Event | None = None,
) -> Assessment:
    """Measure what storage can do, and say what it is good for.

    ``targets`` are files, folders or devices; ``effort`` is ``quick``, ``default`` or ``thorough``.
    ``on_cell`` gets, before each measurement: what it is, its number, how many there are, and the
    seconds that are left.

    Raises
    ------
    InvalidRequestError
        If there is no target, or no such effort.
    TargetError
        If a target cannot be assessed; nothing was measured.
    RefusedError
        If writing would destroy data.
    AssessmentInterrupted
        If ``cancel`` was set, or Ctrl-C ended it; ``assessment`` is what was found until then.
    ExperimentInterrupted
        If ``cancel`` was set before it began; nothing is saved.

    """

    def told(cell: str, number: int, count: int, left_s: float) -> None:
        _end_if(cancel)
        if on_cell is not None:
            on_cell(cell, number, count, left_s)

    check_followers(cancel, on_cell=on_cell)
    names, wanted = named_targets(targets), chosen("effort", effort, EFFORTS)
    check_flags(writes=writes, overwrite=overwrite)
    devices = each_path(allow_write, "allow_write")
    _end_if(cancel)
    if writes:
        permission = Permission(overwrite, tuple(devices))
        refuse_what_cannot_run(writing_loads(names), permission)
    if not _is_there(store):
        foresee(names, wanted, writes=writes)
    with _opened(store) as opened:
        return assess_targets(
            opened,
            NativeRunner(opened),
            names,
            wanted,
            writes=writes,
            overwrite=overwrite,
            allow_write=devices,
            on_cell=told,
        )


def prepare(  # noqa: PLR0913 - All but the first have defaults and names.
    target: str | os.PathLike[str],
    *,
    store: Where = None,
    size_bytes: int | None = None,
    compress_ratio: float = 1.0,
    dedupe_ratio: float = 1.0,
    only_missing: bool = False,
    overwrite: bool = False,
    allow_write: Paths = (),
    on_progress: Callable[[WriteProgress], None] | None = None,
) -> Filled:
    """Fill a target with data that compress and repeat as far as asked, and check them by reading.

    ``size_bytes`` is that of a new file; of what exists, how much of it. ``overwrite`` and
    ``allow_write`` allow what ``--overwrite`` and ``--allow-write`` do.

    Raises
    ------
    InvalidRequestError
        If the target is of a kind or size that cannot be filled so.
    RefusedError
        If it has data that must not be lost.
    FathomError
        If there is too little room, or the store cannot be written; nothing was made.
    RunInterrupted
        If Ctrl-C ended it.

    """
    name = named_target(target)
    check_flags(only_missing=only_missing, overwrite=overwrite)
    permission = Permission(overwrite, tuple(each_path(allow_write, "allow_write")))
    size_bytes = whole("size_bytes", size_bytes, least=1)
    compress_ratio = amount("compress_ratio", compress_ratio) or 1.0
    dedupe_ratio = amount("dedupe_ratio", dedupe_ratio) or 1.0
    check_followers(None, on_progress=on_progress)
    asked = Asked(size_bytes, compress_ratio, dedupe_ratio, only_missing, permission)
    check_fill(name, asked)
    with _opened(store) as opened:
        experiment_id = plan_fill(opened, name, asked)
        meter = Meter(time.monotonic, on_progress or (lambda _progress: None))
        runner = NativeRunner(opened, on_event=meter.on_event, permission=permission)
        return fill(opened, runner, experiment_id, meter)


class Report:
    """What experiments, runs and files of results show."""

    def __init__(self, *references: str | int, store: Where = None) -> None:
        """Collect it: ``"e3"`` is an experiment, 12 a run; without any, the newest.

        Raises
        ------
        NotFoundError
            If a reference names nothing, or there is no store: reading makes none.
        ReportError
            If there is nothing to show.

        """
        wanted = [str(one) for one in references]
        try:
            with _opened(store, make=False) as opened:
                self._material: Material = gather(opened, wanted)
        except NoStoreError:
            # Files of results need none.
            if store is not None or not wanted or not all(is_file(one) for one in wanted):
                raise
            self._material = gather(None, wanted)

    def html(self) -> str:
        """Return it as one page."""
        return html_page(self._material)

    def markdown(self) -> str:
        """Return it as GitHub-flavoured Markdown."""
        return markdown_of(self._material)

    def pdf(self) -> bytes:
        """Return it as PDF, which needs the extra ``pictures``."""
        return pdf_pages(self._material)


@contextmanager
def _opened(store: Where, *, make: bool = True) -> Iterator[Store]:
    """Return a store; one that is opened here is closed again. Who only reads makes none."""
    if isinstance(store, Store):
        yield store
        return
    with Store(store, make=make) as opened:
        yield opened


def _is_there(store: Where) -> bool:
    """Whether there is a store already; a server's database is taken to be one."""
    file = None if isinstance(store, Store) else store_file(store)
    return file is None or file.exists()


def _end_if(cancel: Event | None) -> None:
    if cancel is not None and cancel.is_set():
        raise ExperimentInterrupted


def _told(
    on_progress: Callable[[Progress], None] | None, cancel: Event | None
) -> Callable[[Progress], None]:
    """Return what tells how far it is, and ends the experiment once ``cancel`` is set."""
    _end_if(cancel)

    def told(progress: Progress) -> None:
        if on_progress is not None:
            on_progress(progress)
        _end_if(cancel)

    return told

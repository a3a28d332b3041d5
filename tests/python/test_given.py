"""Wrong values end a call as a wrong request, before anything is measured or kept."""

from __future__ import annotations

import math
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fathom
import numpy as np
import pytest
from fathom.experiments.asked import asked_words

if TYPE_CHECKING:
    from collections.abc import Callable

LOAD = "--engine=null -c16M -b4K -L {}"
RUN = "--engine=null -c16M -b4K -d1 -W0 --stop-ios=9 {}"
DEPTH = {"depth": "1,2"}
NUMBERS = (math.nan, math.inf, -1, 0, "2ms", True)
COUNTS = (3.7, "4", True, -1, 0)


def _cases() -> list[tuple[str, dict[str, Any]]]:
    found: list[tuple[str, dict[str, Any]]] = [
        *(("tune", {limit: one}) for limit in ("p99_ns", "mean_ns") for one in NUMBERS),
        *(("tune", {name: one}) for name in ("threads", "depths") for one in (1.5, b"12", [2.0])),
        *(("repeat", {name: one}) for name in ("pilot", "most") for one in COUNTS),
        *(("repeat", {name: one}) for name in ("precision", "confidence") for one in NUMBERS),
        *(("repeat", {"metric": one}) for one in (None, 5, b"iops", ["iops"])),
        *(("sweep", {"seed": one}) for one in (-1, 1.5, "1", True)),
        *(("sweep", {"duration_s": one}) for one in COUNTS),
        *(("sweep", {"warm_up_s": one, "duration_s": 1}) for one in COUNTS[:-1]),
        *(("sweep", {"tolerance": one}) for one in (math.nan, math.inf, -1, "2", 1)),
        ("sweep", {"parameters": "depth=1"}),
        ("sweep", {"parameters": None}),
        *(("sweep", {"parameters": {one: [1]}}) for one in (1, None, b"depth")),
        *(
            ("sweep", {"parameters": {"depth": one}})
            for one in (b"12", 1.5, [1.5], [b"1"], None, True)
        ),
        *(("interleaved", {"metrics": one}) for one in ("iops", b"iops", [5], None)),
        *((verb, {"label": 5}) for verb in ("repeat", "sweep", "tune", "interleaved")),
        *((verb, {"cancel": True}) for verb in ("repeat", "sweep", "tune", "interleaved")),
        *((verb, {"on_progress": 5}) for verb in ("repeat", "sweep", "tune", "interleaved")),
    ]
    return found


def _calls(load: str, store: fathom.Store) -> dict[str, Callable[..., Any]]:
    return {
        "tune": lambda **more: fathom.tune(load, store=store, **more),
        "repeat": lambda **more: fathom.repeat(load, store=store, **more),
        "sweep": lambda parameters=DEPTH, **more: fathom.sweep(
            load, parameters, store=store, **more
        ),
        "interleaved": lambda **more: fathom.compare_interleaved(load, load, store=store, **more),
    }


def test_wrong_values_were_measured_with_first(tmp_path: Path) -> None:
    """A limit of NaN, a text or a count with a fraction failed behind the first runs, or never."""
    with fathom.Store(tmp_path / "s.sqlite") as store:
        calls = _calls(LOAD.format(tmp_path / "x.dat"), store)
        for verb, more in _cases():
            with pytest.raises(fathom.InvalidRequestError):
                calls[verb](**more)
        for wrong in ("iops", [5], None, b"iops"):
            with pytest.raises(fathom.InvalidRequestError):
                fathom.compare(1, 2, store=store, metrics=wrong)  # type: ignore[arg-type]
        with pytest.raises(fathom.InvalidRequestError):
            fathom.compare(1, 2, store=store, confidence="x")  # type: ignore[arg-type]
        assert store.runs.list() == []
        assert store.experiments.list() == []


@pytest.mark.parametrize("wrong", [b"x.dat", 5, None, ["x.dat"]])
def test_items_that_are_no_text_were_named_by_what_python_calls_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: object
) -> None:
    monkeypatch.chdir(tmp_path)
    words: list[Any] = [*RUN.format("y.dat").split(), wrong]
    for call in (fathom.run, fathom.parse, fathom.explain, fathom.repeat, fathom.tune):
        with pytest.raises(fathom.InvalidRequestError, match="no argument of a run"):
            call(words)
    assert [*tmp_path.iterdir()] == []
    words[-2:] = [Path("y.dat")]
    fathom.run(words)


@pytest.mark.usefixtures("short_runs")
def test_whole_numbers_of_other_libraries_are_values(tmp_path: Path) -> None:
    load = f"--engine=null -c16M -b4K -L {tmp_path / 'x.dat'}"
    second: Any = np.int64(1)
    with fathom.Store(tmp_path / "s.sqlite") as store:
        found = fathom.sweep(
            load, {"depth": np.array([1, 2])}, store=store, duration_s=second, warm_up_s=0
        )
    assert len(found.cells) == 2


@pytest.mark.usefixtures("short_runs")
def test_numbers_of_other_libraries_were_no_numbers(tmp_path: Path) -> None:
    """Limits and shares that numpy had computed were refused, and an array of one value broke."""
    load, cancel = f"--engine=null -c16M -b4K -r -L {tmp_path / 'x.dat'}", threading.Event()
    limit: Any = np.int64(2_000_000)
    share: Any = np.float32(0.5)
    depth: Any = np.array(2)
    stopped: dict[str, Any] = {"cancel": cancel, "on_progress": lambda _told: cancel.set()}
    with fathom.Store(tmp_path / "s.sqlite") as store:
        for call in (
            lambda: fathom.tune(
                load, threads=1, depths="1,2", p99_ns=limit, store=store, **stopped
            ),
            lambda: fathom.repeat(f"-d1 -W0 {load}", precision=share, store=store, **stopped),
            lambda: fathom.sweep(load, {"depth": depth}, tolerance=share, store=store, **stopped),
        ):
            cancel.clear()
            with pytest.raises(fathom.ExperimentInterrupted):
                call()
        sweep, repeat, tune = (
            store.experiments.get(one.id).plan for one in store.experiments.list()
        )
    assert tune["goal"]["limit_ns"] == 2_000_000.0
    assert (repeat["relative_half_width"], sweep["tolerance"]) == (0.5, 0.5)
    assert sweep["axes"][0]["values"] == ["2"]
    wrong: Any
    for wrong in (np.array(1.5), [np.array([1, 2])], np.True_):
        with pytest.raises(fathom.InvalidRequestError, match="is no value"):
            fathom.sweep(load, {"depth": wrong})
    for wrong in (np.float32("nan"), np.True_, 10**400):
        with pytest.raises(fathom.InvalidRequestError, match="is no number"):
            fathom.tune(load, p99_ns=wrong)


REQUESTS = (
    "-b8K -r -w30 -t2 -o4 -Sh -L -d1 -W0",
    "-b64K -s -o2 -oc1 --rate=2000 -D100 -C1 -z7 -d1 -W0 --stop-ios=100 -Rjson -v",
    "-b4K -rs50 --skew=zipf:1.1 --fsync=8 -w100 -Zr -F2 -d1 -W0 --stop-confidence=95:2",
)


@pytest.mark.parametrize("words", REQUESTS)
def test_a_request_was_taken_by_run_alone(tmp_path: Path, words: str) -> None:
    request = fathom.parse(f"--engine=null --stop-ios=1000 -c1M {words} {tmp_path / 'x.dat'}")
    again = fathom.parse(asked_words(request))
    plain = {"format": "text", "verbose": False}
    assert again.to_dict()["options"] == request.to_dict()["options"]
    assert again.to_dict()["profile"] == request.to_dict()["profile"] | plain
    with fathom.Store(tmp_path / "s.sqlite") as store:
        repeated = fathom.repeat(request, store=store, pilot=3, most=3)
        run = store.runs.get(repeated.run_ids[0]).result.request
        assert run is not None
        assert run.to_dict()["profile"]["time_spans"] == request["time_spans"]


def test_the_parameters_of_a_sweep_take_the_place_of_a_request_s_fields(tmp_path: Path) -> None:
    words = "--engine=null -c1M -b8K -r -o4 -oc2 -t2 -L -d9 -W5 --rate=2000"
    request = fathom.parse(f"{words} {tmp_path / 'x.dat'}")
    with fathom.Store(tmp_path / "s.sqlite") as store:
        parameters: dict[str, Any] = {"block": "4K,16K", "--rate": [500, 1000]}
        swept = fathom.sweep(request, parameters, store=store, duration_s=1, warm_up_s=0)
        assert len(swept.cells) == 4
        spans = [
            store.runs.get(one.id).result.request["time_spans"][0] for one in store.runs.list()
        ]
        assert {one["targets"][0]["block_bytes"] for one in spans} == {4096, 16384}
        kept = ("outstanding", "threads")
        assert {tuple(one["targets"][0][key] for key in kept) for one in spans} == {(4, 2)}
        assert {(one["duration_s"], one["tuning"]["completion_depth"]) for one in spans} == {(1, 2)}
        stop = threading.Event()
        stop.set()
        with pytest.raises(fathom.ExperimentInterrupted):
            fathom.compare_interleaved(request, words + " x.dat", store=store, cancel=stop)
        request = fathom.parse(f"-c1M -r -o4 -t2 {tmp_path / 'x.dat'}")
        with pytest.raises(fathom.ExperimentInterrupted):
            fathom.tune(request, store=store, cancel=stop)


def test_a_request_that_no_arguments_say_is_no_experiment(tmp_path: Path) -> None:
    request = fathom.parse(f"-b8K {tmp_path / 'x.dat'}")
    spans = request.profile.time_spans
    twice = fathom.Request.from_dict(request.to_dict())
    twice = type(request)(
        profile=type(request.profile)(time_spans=(*spans, *spans)), options=twice.options
    )
    with (
        fathom.Store(tmp_path / "s.sqlite") as store,
        pytest.raises(fathom.InvalidRequestError, match="one time span"),
    ):
        fathom.repeat(twice, store=store)


def test_an_array_without_a_dimension_was_a_traceback(tmp_path: Path) -> None:
    wrong: Any = np.array(2)
    with pytest.raises(fathom.InvalidRequestError, match="is no path"):
        fathom.assess(wrong, store=tmp_path / "s.sqlite")

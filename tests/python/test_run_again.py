"""A stored run is run again, whole, by ``fathom run @12``; what was allowed then is not."""

from __future__ import annotations

import json
import os
from dataclasses import fields, is_dataclass, replace
from types import UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

import fathom
import pytest
from commands import command
from fabricated import TEXT
from fathom._permission import Permission
from fathom._request_parts import GREATEST, Profile, RunOptions
from fathom.experiments.axes import parse_axes
from fathom.experiments.sweep.experiment import sweep
from fathom.experiments.sweep.plan import plan_sweep
from fathom.report import gather, markdown
from fathom.request import Request
from fathom.result import Result
from fathom.runners.measure import measure
from fathom.store import Store
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from simulated_storage import SimulatedStorage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PACED = ["--engine=null", "-c1M", "-r", "-d1", "-W0", "--stop-ios=50", "--rate=500"]
SKEWED = [*PACED, "--skew=zipf:1.1"]


@pytest.fixture
def kept() -> Iterator[Store]:
    with Store(os.environ["FATHOM_STORE"]) as opened:
        yield opened


def _requests(store: Store) -> list[Request]:
    return [store.runs.get(one.id).result.request for one in store.runs.list()]


def test_rate_and_skew_survive_result_store_report_and_the_run_again(
    kept: Store, tmp_path: Path
) -> None:
    target = str(tmp_path / "x.dat")
    first = command("run", "--json", "--label", "paced", *SKEWED, target)
    assert first.returncode == 0, first.stderr
    again = command("run", "--json", "@1")
    assert again.returncode == 0, again.stderr
    once_more = command("run", "@2")
    assert once_more.returncode == 0, once_more.stderr
    results = [Result.from_json(one.stdout) for one in (first, again)]
    requests = [*_requests(kept), *(one.request for one in results)]
    assert requests == [requests[0]] * 5
    assert requests[0] == fathom.parse([*SKEWED, target])
    assert requests[0].options.total_iops == 500
    # Its words are kept, too, and so is its label.
    assert [one.command_line for one in results] == [results[0].command_line] * 2
    assert [one.label for one in kept.runs.list()] == ["paced"] * 3
    for run in ("1", "2", "3"):
        assert "--rate=500 --skew=zipf:1.1" in markdown(gather(kept, [run]))


def test_a_request_that_no_words_belong_to_is_named_by_its_run(kept: Store, tmp_path: Path) -> None:
    request = fathom.parse([*SKEWED, str(tmp_path / "x.dat")])
    done = measure(kept, [], request=request)
    assert done.result.request == request
    assert f"fathom run @{done.run_id}" in markdown(gather(kept, [str(done.run_id)]))


def test_what_was_allowed_for_a_run_is_typed_again(kept: Store, tmp_path: Path) -> None:
    file = tmp_path / "theirs.dat"
    file.write_bytes(b"somebody's letters " * 1000)
    words = ["-b4K", "-r", "-w100", "-d1", "-W0", "--stop-ios=5", "-L"]
    measure(kept, [*words, str(file)], permission=Permission(overwrite=True))
    file.unlink()
    file.write_bytes(b"others' letters " * 1000)
    before = file.read_bytes()
    done = command("run", "@1")
    assert (done.returncode, file.read_bytes()) == (2, before)
    assert "--overwrite" in done.stderr
    done = command("run", "@1", "--overwrite")
    assert done.returncode == 0, done.stderr
    assert file.read_bytes() != before
    noted = kept.overrides.list()
    assert [(one.run_id, one.target_path, one.permission) for one in noted] == [
        (2, str(file), "--overwrite"),
        (1, str(file), "--overwrite"),
    ]


@pytest.mark.parametrize("more", [["-o4"], ["other.dat"], ["--strict"], ["--runner", "fio"]])
def test_nothing_else_may_be_said_of_a_run_that_is_made_again(
    kept: Store, tmp_path: Path, more: list[str]
) -> None:
    measure(kept, [*SKEWED, str(tmp_path / "x.dat")])
    done = command("run", "@1", *more)
    assert done.returncode == 3
    assert "run again as it was" in done.stderr
    assert more[-1] in done.stderr


def test_a_run_whose_options_are_not_known_is_refused_in_words(kept: Store, tmp_path: Path) -> None:
    raw = json.loads(TEXT)
    raw["profile"] = raw.pop("request")["profile"]
    kept.runs.save(Result.from_json(json.dumps(raw)), ["-b4K", str(tmp_path / "x.dat")])
    done = command("run", "@1")
    assert done.returncode == 3
    assert "did not keep all options, such as --rate" in done.stderr
    assert "fathom show 1" in done.stderr


def test_a_run_that_is_not_there_is_told(kept: Store) -> None:
    done = command("run", "@7")
    assert done.returncode == 3
    assert "there is no run 7" in done.stderr
    assert not kept.runs.list()


def test_a_sweep_with_a_fixed_depth_and_threads_shows_them(kept: Store) -> None:
    load = ["-r", "-Su", "-L", "-O8", "-F4", "x.dat"]
    plan, _ = plan_sweep(load, parse_axes({"block": "4K,64K"}), seed=5)
    found = sweep(kept, SimulatedStorage(kept), plan)
    (side,) = gather(kept, [f"e{found.experiment_id}"]).sides
    points = [cell.point for cell in side.grid if cell.point is not None]
    assert [(one.threads, one.depth, one.block_bytes) for one in points] == [
        (4, 8, 4096),
        (4, 8, 65536),
    ]
    done = measure(kept, ["--engine=null", "-c1M", "-d1", "-W0", "--stop-ios=9", *load[:-1], "x"])
    (side,) = gather(kept, [str(done.run_id)]).sides
    assert [(run.point.threads, run.point.depth) for run in side.runs] == [(4, 8)]


def _drawn(kind: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401 - Any part of a request.
    """Draw a part of a request, whose numbers have as many bits as the engine's."""
    hints = get_type_hints(kind)
    given = {
        one.name: _value(hints[one.name], GREATEST.get(f"{kind.__name__}.{one.name}", 2**32 - 1))
        for one in fields(kind)
    }
    return st.builds(kind, **given)


def _value(hint: Any, greatest: int) -> st.SearchStrategy[Any]:  # noqa: ANN401 - A type of a field.
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return st.one_of(*[_value(one, greatest) for one in get_args(hint)])
    if origin is tuple:
        return st.lists(_value(get_args(hint)[0], greatest), max_size=3).map(tuple)
    if is_dataclass(hint):
        return _drawn(hint)
    return st.integers(0, greatest) if hint is int else st.from_type(hint)


_REQUESTS = st.builds(Request, profile=_drawn(Profile), options=_drawn(RunOptions))


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(request=_REQUESTS)
def test_any_request_is_the_same_behind_result_and_store(kept: Store, request: Request) -> None:
    """Every field is drawn: what the types have, the engine's request has."""
    assert Request.from_dict(json.loads(request.to_json())) == request
    raw = json.loads(TEXT) | {"request": request.to_dict()}
    result = Result.from_json(json.dumps(raw))
    assert result.request == request
    # The columns of lists are made of the first time span, which a measured run has.
    span = fathom.parse("-b4K x").profile.time_spans
    profile = replace(request.profile, time_spans=(*span, *request.profile.time_spans))
    whole = replace(request, profile=profile)
    result = Result.from_json(json.dumps(raw | {"request": whole.to_dict()}))
    number = kept.runs.save(result, [])
    assert kept.runs.get(number).result.request == whole


def test_a_file_beside_was_taken_for_what_a_stored_run_was_meant_to_be(
    kept: Store, tmp_path: Path
) -> None:
    """``run @10`` was refused, and a label, where a file of nearly that name was there."""
    for name in ("@2", "@10", "labels"):
        (tmp_path / name).write_bytes(b"")
    first = command("run", *PACED, "x.dat", "--label", "label", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    again = command("run", "--json", "@1", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert len(_requests(kept)) == 2
    missing = command("run", "@11", cwd=tmp_path)
    assert "did you mean" not in missing.stderr
    assert "11" in missing.stderr
    labelled = command("run", *PACED[:1], *PACED[2:], "x.dat", "--label", "label", cwd=tmp_path)
    assert "did you mean" not in labelled.stderr


def test_a_file_behind_the_end_of_options_was_taken_for_a_stored_run(tmp_path: Path) -> None:
    done = command("run", "--json", *PACED, "--", "@1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    request = Result.from_json(done.stdout).request.to_dict()
    assert request["profile"]["time_spans"][0]["targets"][0]["path"] == "./@1"

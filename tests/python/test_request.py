"""A request is the same wherever it goes: words, types, JSON, result and store."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

import fathom
import pytest
from fabricated import TEXT
from fathom._asked import asked_load
from fathom.request import Request
from fathom.result import Result
from fathom.store import Store
from fathom.tools import read_load, to_arguments

if TYPE_CHECKING:
    from pathlib import Path

LINES = (
    "-b8K -r -w30 -t2 -o4 --rate=500 --skew=zipf:1.1 --arrivals=poisson x",
    "-L -D100 --interval-latency --remove-created --engine=sync --verify x",
    "-F4 -O8 -r --skew=normal:0.007 --verify-journal=j --engine=uring x y",
    "-r --skew=pareto:0.2 --polled --sqpoll=3 -Su x",
    "-Z1M --on-error=count=3 --read-pattern=random,block=4K --fsync=8 -w50 --stop-steady=5 x",
    "-gi100 -r -rdpct10/20:90/80 -u4 x".replace("-gi100", "-g100i"),
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("line", LINES)
def test_a_request_comes_back_from_the_json_the_result_and_the_store(
    line: str, tmp_path: Path
) -> None:
    request = fathom.parse(line)
    assert Request.from_dict(json.loads(request.to_json())) == request
    raw = json.loads(TEXT) | {"request": request.to_dict()}
    result = Result.from_json(json.dumps(raw))
    assert result.request == request
    with Store(str(tmp_path / "s.sqlite")) as store:
        run_id = store.runs.save(result, shlex.split(line))
        assert store.runs.get(run_id).result.request == request


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("line", LINES[:4])
def test_the_options_of_a_run_survive_a_translation_to_arguments(line: str) -> None:
    lines, _notes = to_arguments(read_load(shlex.split(line)))
    assert fathom.parse(lines[0]).options == fathom.parse(line).options


def test_what_is_typed_for_one_run_is_no_part_of_a_request() -> None:
    plain = fathom.parse("-w100 x")
    for word in ("--overwrite", "--protect=y", "--strict", "--json=r.json"):
        assert fathom.parse(f"-w100 {word} x") == plain


@pytest.mark.filterwarnings("ignore")
def test_fixed_depth_and_threads_of_all_targets_are_those_of_the_load() -> None:
    asked = asked_load(fathom.parse("-r -O8 -F4 --rate=500 x").to_dict())
    assert (asked.threads, asked.depth, asked.is_paced) == (4, 8, True)


def test_a_newer_or_damaged_request_is_refused() -> None:
    data = fathom.parse("x").to_dict()
    with pytest.raises(fathom.InvalidRequestError, match="version 9"):
        Request.from_dict(data | {"request_version": 9})
    with pytest.raises(fathom.InvalidRequestError, match="bogus"):
        Request.from_dict(data | {"options": {"bogus": 1}})


def test_a_typed_request_is_run_as_its_words_are(tmp_path: Path) -> None:
    request = fathom.parse(f"--engine=null -c1M -d1 -W0 --stop-ios=9 --rate=5000 {tmp_path}/x")
    result = fathom.run(request)
    assert (result.total.ios, result.request) == (9, request)

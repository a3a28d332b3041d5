"""A request is the same wherever it goes: words, types, JSON, result and store."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import fathom
import pytest
from fabricated import TEXT
from fathom._asked import asked_load
from fathom._fathom import is_for_one_run
from fathom._request_parts import (
    Access,
    CpuId,
    Profile,
    RunOptions,
    SteadyRule,
    StopRules,
)
from fathom.engine import load_of
from fathom.request import Request
from fathom.result import Result
from fathom.runners.measure import measure
from fathom.store import Store
from fathom.tools import read_load, to_arguments

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


FOR_ONE_RUN = {
    "--overwrite": "give overwrite=True to run",
    "--allow-write=S4EW": "give allow_write= to run",
    "--protect=y": "give protect= to run",
    "--strict": "give strict=True to run",
    "--credentials=c": "FATHOM_CREDENTIALS",
    "--json=r.json": "Result.raw",
    "--live": "on_event=",
    "--live=json": "on_event=",
    "--lease=10": "RunHandle",
    "--explain": "use explain",
    "-Rp": "leave it out",
    "-Rpxml": "leave it out",
}


def test_what_is_typed_for_one_run_is_no_part_of_a_request() -> None:
    plain = fathom.parse("-w100 x")
    for word in FOR_ONE_RUN:
        if not word.startswith("-Rp"):
            assert load_of(["-w100", word, "x"]) == plain


@pytest.mark.parametrize(("word", "instead"), FOR_ONE_RUN.items())
def test_what_no_request_can_hold_is_refused_by_name_and_not_dropped(
    word: str, instead: str
) -> None:
    for read in (fathom.parse, Request.of_words):
        with pytest.raises(fathom.InvalidRequestError) as refusal:
            read(["-w100", word, "x"])
        (line,) = str(refusal.value).splitlines()
        assert line.startswith("-Rp" if word.startswith("-Rp") else word.partition("=")[0])
        assert instead in line
    # Behind -- it is the name of a file.
    assert fathom.parse(["-w100", "--", word]).profile.time_spans[0].targets[0].path == word


def test_each_option_for_one_run_has_what_takes_its_place() -> None:
    names = re.findall(
        r"^### `(--[a-z-]+)", Path("docs/reference.md").read_text("utf-8"), re.MULTILINE
    )
    known = {word.partition("=")[0] for word in FOR_ONE_RUN}
    assert {one for one in names if is_for_one_run(one)} == {
        one for one in known if one.startswith("--")
    }


def test_what_was_protected_in_words_is_not_written_by_their_request(tmp_path: Path) -> None:
    mine = tmp_path / "x.dat"
    fathom.run(f"-c64K -b4K -d0 -W0 {mine}", check=False)
    words = ["-b4K", "-w100", "-W0", "-d0", f"--protect={mine}", str(mine)]
    before = mine.read_bytes()
    with pytest.raises(fathom.RefusedError):
        fathom.run(words)
    with pytest.raises(fathom.InvalidRequestError, match="give protect= to run"):
        fathom.run(fathom.parse(words))
    with pytest.raises(fathom.RefusedError, match="protect"):
        fathom.sweep([*words[:2], *words[4:]], {"depth": [1, 2]}, store=tmp_path / "s.sqlite")
    request = load_of(words)
    with pytest.raises(fathom.RefusedError):
        fathom.run(request, protect=mine)
    # A request of a store is known by its words, and what they protect stays protected.
    with pytest.raises(fathom.RefusedError):
        measure(None, words, request=request)
    assert mine.read_bytes() == before


def test_strict_is_given_beside_a_request_as_among_words(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[object, ...]] = []

    def told(_asked: object, permission: tuple[object, ...], _stores: object) -> str:
        seen.append(permission)
        return "{}"

    monkeypatch.setattr("fathom.engine._fathom.explain_job", told)
    fathom.explain(fathom.parse("x"), strict=True)
    fathom.explain(fathom.parse("x"))
    assert seen == [(False, [], [], True), (False, [], [], False)]


BASE = fathom.parse("-b4K -r -w30 --engine=null x")


def _with(**change: Any) -> Request:  # noqa: ANN401 - Of any type, rightly or wrongly.
    return replace(BASE, **change)


def _loose(**change: Any) -> RunOptions:  # noqa: ANN401 - The same.
    return replace(BASE.options, **change)


def _with_target(**change: Any) -> Request:  # noqa: ANN401 - The same.
    return _with_span(targets=(replace(BASE.profile.time_spans[0].targets[0], **change),))


def _with_span(**change: Any) -> Request:  # noqa: ANN401 - The same.
    span = replace(BASE.profile.time_spans[0], **change)
    return replace(BASE, profile=replace(BASE.profile, time_spans=(span,)))


_TARGET = r"profile\.time_spans\[0\]\.targets\[0\]"


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (_with_target(block_bytes="4K"), f"{_TARGET}.block_bytes: '4K' stands where a whole num"),
        (_with_target(block_bytes=4096.0), rf"{_TARGET}.block_bytes: 4096\.0 stands where a whole"),
        (_with_target(block_bytes=-1), f"{_TARGET}.block_bytes: -1 is not from 0 to 4294967295"),
        (_with_target(block_bytes=2**32), f"{_TARGET}.block_bytes: 4294967296 is not from 0 to"),
        (_with_target(base_bytes=2**64), f"{_TARGET}.base_bytes: 18446744073709551616 is not from"),
        (_with_target(write_percent=True), f"{_TARGET}.write_percent: True stands where a whole"),
        (_with_target(path=None), f"{_TARGET}.path: None stands where a text should"),
        (_with_target(path="\ud800"), f"{_TARGET}.path: .* is no UTF-8"),
        (_with_target(caching="x"), f"{_TARGET}.caching: 'x' is none of 'cached', 'unbuffered'"),
        (_with_target(write_data="zero"), f"{_TARGET}.write_data: 'zero' stands where WriteData"),
        (_with_target(rate=5), f"{_TARGET}.rate: 5 is no form of RateBytesPerMs or RateIops"),
        (_with_target(rate=RunOptions()), f"{_TARGET}.rate: .* is no form of RateBytesPerMs or"),
        (_with_span(duration_s=float("nan")), "duration_s: nan stands where a whole number"),
        (_with_span(targets="x"), r"profile\.time_spans\[0\]\.targets: 'x' stands where a list"),
        (
            _with_span(cpus=(CpuId(group=0, index=256),)),
            r"cpus\[0\].index: 256 is not from 0 to 255",
        ),
        (replace(BASE, options=RunOptions(total_iops=2**64)), "options.total_iops: .* is not from"),
        (_with(options=_loose(polled="no")), "options.polled: 'no' stands where True or"),
        (_with(options=None), "options: None stands where RunOptions should"),
        (replace(BASE, request_version=99), "version 99"),
        (replace(BASE, request_version=True), "version True"),
    ],
)
def test_a_wrong_type_is_refused_by_the_name_of_its_field(request_: Request, words: str) -> None:
    for use in (fathom.run, fathom.explain, Request.to_dict):
        with pytest.raises(fathom.InvalidRequestError, match=words):
            use(request_)


def test_lists_and_paths_stand_for_tuples_and_texts(tmp_path: Path) -> None:
    loose = _with_span(targets=[*_with_target(path=tmp_path / "x").profile.time_spans[0].targets])
    assert loose.to_dict() == BASE.on(str(tmp_path / "x")).to_dict()
    assert BASE.on(tmp_path / "x") == BASE.on(str(tmp_path / "x"))
    with pytest.raises(fathom.InvalidRequestError, match="stands where a path should"):
        BASE.on(["x"])  # type: ignore[arg-type]
    assert Request.of_words(["-b4K", Path("x")]) == fathom.parse("-b4K x")  # type: ignore[list-item]
    with pytest.raises(fathom.InvalidRequestError, match="words are a list"):
        Request.of_words("-b4K x")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"overwrite": True}, "a request has no 'overwrite'"),
        ({"request_version": "1"}, "version '1'"),
        ({"request_version": 1.0}, r"version 1\.0"),
        ({"profile": []}, "profile: .* stands where Profile should"),
        ({"options": None}, "options: None stands where RunOptions should"),
        ({"profile": {"time_spans": {}}}, "profile.time_spans: {} stands where a list should"),
        ({"options": {"skew": {}}}, "options.skew: {} is no form of SkewZipf or"),
        (
            {"options": {"skew": {"zipf": {}}}},
            "options.skew.zipf: SkewZipf has a 'theta_milli', wh",
        ),
    ],
)
def test_what_is_no_request_is_refused_by_the_name_of_its_field(
    change: dict[str, Any], words: str
) -> None:
    with pytest.raises(fathom.InvalidRequestError, match=words):
        Request.from_dict(BASE.to_dict() | change)


@pytest.mark.parametrize("nothing", [None, [], "x", 5, {}])
def test_what_is_no_object_is_no_request(nothing: Any) -> None:  # noqa: ANN401 - The same.
    with pytest.raises(fathom.InvalidRequestError, match="this is no request"):
        Request.from_dict(nothing)


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (_with_target(write_percent=101), r"share of writes \(-w\) must be from 0 to 100, not 101"),
        (_with_target(weight=0), "weight of a target must be greater than 0"),
        (
            _with_span(
                stop=StopRules(
                    interval_ms=0, steady=SteadyRule(intervals=3, range_milli=1, slope_milli=1)
                )
            ),
            "milliseconds of --stop-interval must be greater than 0",
        ),
        (_with_span(targets=()), "a time span has no target"),
        (replace(BASE, profile=Profile(time_spans=())), "there is no time span"),
        (
            replace(BASE, options=RunOptions(total_iops=0)),
            r"rate \(--rate\) must be greater than 0",
        ),
        (replace(BASE, options=RunOptions(verify_journal="j")), "kept of a verification only"),
        (
            _with_target(access=Access(random_percent=5, align_bytes=1, interlocked=True)),
            "-si .* conflicts with -r",
        ),
    ],
)
def test_a_typed_request_is_checked_as_its_words_are(request_: Request, words: str) -> None:
    for use in (fathom.run, fathom.explain, fathom.RunHandle):
        with pytest.raises(fathom.InvalidRequestError, match=words):
            use(request_)


def test_a_typed_request_of_several_targets_tells_which_one_is_wrong() -> None:
    (target,) = BASE.profile.time_spans[0].targets
    with pytest.raises(fathom.InvalidRequestError, match=r"^target 'y': the weight of a target"):
        fathom.explain(_with_span(targets=(target, replace(target, path="y", weight=0))))


def test_a_rate_beyond_31_bits_is_kept_whole_or_refused() -> None:
    assert fathom.parse("--rate=3000000000 x").options.total_iops == 3_000_000_000
    with pytest.raises(fathom.InvalidRequestError, match="too great: at most"):
        fathom.parse("--rate=18446744073709551616 x")


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

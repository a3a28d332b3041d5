"""A request is the same wherever it goes: words, types, JSON, result and store."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import fathom
import pytest
from fabricated import TEXT
from fathom._asked import asked_load
from fathom._fathom import is_for_one_run
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
    seen: list[tuple[bool, list[str], bool]] = []

    def told(_asked: object, permission: tuple[bool, list[str], bool], _protect: object) -> str:
        seen.append(permission)
        return "{}"

    monkeypatch.setattr("fathom.engine._fathom.explain_job", told)
    fathom.explain(fathom.parse("x"), strict=True)
    fathom.explain(fathom.parse("x"))
    assert seen == [(False, [], True), (False, [], False)]


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

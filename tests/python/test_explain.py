"""What a run would do, told before it does it; and what the lab's runs must never write."""

from __future__ import annotations

import json
from pathlib import Path

import fathom
import pytest
from fathom._permission import Permission
from fathom.runners.measure import measure
from fathom.store import Store
from jsonschema import validate  # type: ignore[import-untyped]

SCHEMA = Path(__file__).parents[2] / "schema/explain.schema.json"


def test_an_explanation_tells_files_bytes_and_verdict_and_does_nothing(tmp_path: Path) -> None:
    target = tmp_path / "t.dat"
    told = fathom.explain(["-c1M", "-b4K", "-W0", "-d2", "-w100", "--rate=100", str(target)])
    validate(told, json.loads(SCHEMA.read_text()))
    assert told["would_run"]
    assert told["duration_s"] == 2
    assert told["files"][0]["fate"] == "made"
    assert told["targets"][0]["writes"]["bytes_at_most"] == 201 * 4096
    assert not target.exists()


def test_the_verdict_is_that_of_the_moment(tmp_path: Path) -> None:
    target = tmp_path / "t.dat"
    target.write_bytes(bytes(1 << 20))
    args = f"-b4K -d1 -w100 {target}"
    assert fathom.explain(args)["would_run"]
    target.write_text("Dear Ada, how are you?\n" * 1000)
    verdict = fathom.explain(args)["targets"][0]["verdict"]
    assert verdict["is_refused"]
    assert "text" in verdict["reason"]


def test_wrong_arguments_are_an_error_and_run_explains_nothing(tmp_path: Path) -> None:
    with pytest.raises(fathom.InvalidRequestError, match="missing"):
        fathom.explain(["-w100", str(tmp_path / "missing.dat")])
    with pytest.raises(fathom.InvalidRequestError, match="explain"):
        fathom.run(["--explain", str(tmp_path / "t.dat")])


def test_what_is_protected_is_never_written(tmp_path: Path) -> None:
    store = tmp_path / "results"
    store.write_bytes(bytes(1 << 20))
    link = tmp_path / "t.dat"
    link.hardlink_to(store)
    args = ["-b4K", "-W0", "-d1", "-w100", "--overwrite", str(link)]
    with pytest.raises(fathom.RefusedError, match="it is protected"):
        fathom.run(args, protect=[store])
    assert not fathom.explain(args, protect=[store])["would_run"]
    assert fathom.explain(args)["would_run"]
    assert store.read_bytes() == bytes(1 << 20)


def test_the_store_of_the_lab_is_protected(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    with Store(path) as store:
        before = path.read_bytes()
        args = ["-b4K", "-W0", "-d1", "-w100", str(path)]
        with pytest.raises(fathom.RefusedError, match="it is protected"):
            measure(store, args, permission=Permission(overwrite=True))
        assert path.read_bytes() == before

"""Which cache a step of the latency can be: of the device, of a host, or the page cache."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fathom.experiments.assess import EFFORTS, assess
from fathom.report.collect.gather import gather
from fathom.report.render.markdown import markdown
from fathom.store import Store
from reported import figures
from simulated_storage import SimulatedStorage, Truth

if TYPE_CHECKING:
    from fathom.report.material import Material, Side

MIB = 1 << 20
QUICK = replace(EFFORTS["quick"], size_bytes=64 * MIB)
OF_THE_DEVICE = "A step from one size to the next is a cache of the device or controller that "


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("own", "other"):
        Path(name).mkdir()


def reported(*names: str, **truths: Truth) -> Material:
    with Store(os.environ["FATHOM_STORE"]) as store:
        runner = SimulatedStorage(store, {**truths, "": Truth()}, size_bytes=64 * MIB)
        return gather(store, [f"e{assess(store, runner, [*names], QUICK).experiment_id}"])


def caption(material: Material) -> str:
    return figures(material)["cache-step"].caption


def test_a_step_past_the_page_cache_is_one_of_the_device() -> None:
    told = caption(reported("own"))
    assert "by the size of that part, and through the page cache of this machine. " in told
    assert told.partition("machine. ")[2].startswith(OF_THE_DEVICE)


def test_a_step_of_the_page_cache_was_a_cache_of_the_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without O_DIRECT all parts are read through memory of this host, and it blamed the device."""
    monkeypatch.setattr("fathom.experiments.assess.target._is_direct", lambda _path: False)
    material = reported("own")
    told = caption(material)
    assert OF_THE_DEVICE not in told
    assert "All of these reads went through the page cache of this machine" in told
    assert "is that memory, or a cache of the device or controller, that the larger part" in told
    # None of them is set apart as the one through it.
    assert "by the size of that part. " in told
    assert "through the page cache of this machine" in markdown(material)


def test_memory_beneath_the_target_can_be_the_step() -> None:
    beneath = Truth(doubts=(("not_the_device", "The device read 4 % of it."),))
    told = caption(reported("own", own=beneath))
    assert OF_THE_DEVICE not in told
    assert "A step from one size to the next can be the memory of a host" in told


def test_each_of_several_targets_has_its_own_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "fathom.experiments.assess.target._is_direct", lambda path: "other" not in str(path)
    )
    told = caption(reported("own", "other"))
    assert f"Of own: {OF_THE_DEVICE}" in told
    assert "Of other: All of these reads went through the page cache" in told


def test_a_step_of_what_another_host_serves_can_be_its_memory() -> None:
    material = reported("own")

    def served(side: Side) -> Side:
        runs = [
            replace(one, beneath=[{**dict(it), "path": "nbd://server/disk"} for it in one.beneath])
            for one in side.runs
            if one.key != "cached"
        ]
        return replace(side, runs=tuple(runs))

    told = caption(replace(material, sides=tuple(map(served, material.sides))))
    assert "is the memory of the host that serves the target, or a cache of its device" in told

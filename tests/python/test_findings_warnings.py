"""Each kind of the engine's warnings is a finding of the lab, or there is a reason why not."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest
from fabricated import GIB, fabricated
from fathom._claims import WEAKENING
from fathom.experiments.told_runs import told_run
from fathom.findings import TargetEvidence, find
from fathom.findings.observed import Observed, observe
from fathom.findings.rules import of_the_engine
from fathom.findings.search import apply

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "schema/result.schema.json"
STALL = (
    "The measured time ended in a stall: 1 I/O was in flight at its end, the oldest for 0.624 s, "
    "while the mean is 3.135 ms."
)


def kinds() -> list[str]:
    """Return all kinds that the engine knows."""
    listed = json.loads(SCHEMA.read_text())["$defs"]["WarningKind"]["oneOf"]
    return [name for one in listed for name in one.get("enum", [one.get("const")])]


def found_by(kind: str) -> list[str]:
    """Return the findings of a run with one warning of this kind."""
    run = observe(fabricated(warnings=[(kind, "7 % of it were so for 1.0 s.")]))
    assert isinstance(run, Observed)
    return [one.rule for one in apply(TargetEvidence("made-up.dat", [run], 16 * GIB))]


@pytest.mark.parametrize("kind", kinds())
def test_no_kind_of_warning_is_forgotten(kind: str) -> None:
    """No finding of the lab used ``stalled_at_end``."""
    is_known = bool(of_the_engine.NO_FINDING.get(kind))
    assert bool(found_by(kind)) is not is_known, f"{kind}: a finding, or a reason in NO_FINDING"


# No test of the engine raises these: kernels that refuse counters, and networks that lose segments.
NOT_RAISED_BY_TESTS = {"events_not_counted", "retransmits"}


@cache
def engine_code() -> tuple[str, str]:
    """Return the engine's code that is no test, and its tests."""
    code: list[str] = []
    tests: list[str] = []
    for path in [*ROOT.glob("crates/**/*.rs"), *ROOT.glob("tests/**/*.rs")]:
        body, _, inner = path.read_text(encoding="utf-8").partition("#[cfg(test)]\nmod tests {")
        is_test = "tests" in {*path.relative_to(ROOT).parts, path.stem}
        (tests if is_test else code).append(body if path.name != "warning.rs" else "")
        tests.append(inner)
    return "".join(code), "".join(tests)


@pytest.mark.parametrize("kind", kinds())
def test_each_kind_of_warning_is_raised_and_tested(kind: str) -> None:
    """A warning without a test of its own broke nothing."""
    code, tests = engine_code()
    variant = re.compile(rf"WarningKind::{kind.title().replace('_', '')}\b")
    assert variant.search(code), f"{kind}: a file of crates/core/src/result/warnings raises it"
    is_tested = bool(variant.search(tests)) or f'"{kind}"' in tests
    assert is_tested is not (kind in NOT_RAISED_BY_TESTS), f"{kind}: a test in warnings/tests"


def test_reasons_are_of_kinds_that_there_are() -> None:
    assert set(of_the_engine.NO_FINDING) < set(kinds())


def test_a_run_that_ended_in_a_stall_is_marked() -> None:
    """A sweep showed 319 IOPS beside 860 to 880, without a word of the stall of 0.6 s."""
    told = told_run(fabricated(warnings=[("stalled_at_end", STALL)]), 57)
    assert told.rules == ["stalled"]
    assert "stalled" in WEAKENING


@pytest.mark.parametrize("kind", ["stalled_at_end", "stalled", "io_limited", "cpu_throttled"])
def test_what_explains_a_slow_run_is_not_put_down_to_somebody_else(kind: str) -> None:
    """Of runs that ended in a stall it said *Somebody else was busy*."""
    alike = [fabricated(rates=rate) for rate in (873.0, 881.0, 897.0)]
    slow = fabricated(rates=263.0, warnings=[(kind, STALL)])
    names = [one.rule for one in find([*alike, slow])]
    assert "noisy-neighbour" not in names
    assert kind.split("_", maxsplit=1)[0] in "".join(names)
    # It still is said of what nothing explains.
    names = [one.rule for one in find([*alike, slow, fabricated(rates=400.0)])]
    assert "noisy-neighbour" in names


def test_a_limit_that_was_only_near_is_not_certain() -> None:
    """A load that makes as many without a limit was said to have met one, for certain."""

    def confidence(measured: str) -> str:
        words = f"A group allows 475 reads per second of vda, and 440.0 there were: {measured}."
        told = find([fabricated(warnings=[("io_limited", words)])])
        return next(one.confidence for one in told if one.rule == "io-limited")

    assert confidence("the limit was measured, and not the device") == "certain"
    assert confidence("the limit may have been measured, and not the device") == "likely"

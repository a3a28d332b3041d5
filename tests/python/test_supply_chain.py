"""What may be built in, told from what packages say of their licence."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "supply_chain.py"


@pytest.fixture(scope="module")
def chain() -> ModuleType:
    sys.path.insert(0, str(SCRIPT.parent))  # It uses another script.
    specification = importlib.util.spec_from_file_location("supply_chain", SCRIPT)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["supply_chain"] = module
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT OR Apache-2.0", True),
        ("GPL-3.0-only OR MIT", True),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-3.0-only", False),
        ("MIT AND GPL-2.0-only", False),
    ],
)
def test_a_licence_is_allowed_if_one_way_to_meet_it_is(
    chain: ModuleType, expression: str, *, allowed: bool
) -> None:
    assert chain.is_allowed(expression, chain.FREE) is allowed


def test_what_is_no_licence_is_a_fault_and_so_is_one_that_is_not_on_the_list(
    chain: ModuleType,
) -> None:
    faults: list[str] = []
    told = [("good", "MIT"), ("silent", ""), ("odd", "do as you like"), ("strict", "AGPL-3.0-only")]
    packages = [chain.Package("cargo", name, "1", licence) for name, licence in told]
    chain.check_licences(packages, faults)
    assert [fault.split(":")[0] for fault in faults] == ["silent", "odd", "strict"]


def test_weak_copyleft_may_be_loaded_but_not_built_in(chain: ModuleType) -> None:
    faults: list[str] = []
    kinds = ("cargo", "pypi")
    chain.check_licences([chain.Package(kind, kind, "1", "MPL-2.0") for kind in kinds], faults)
    assert [fault.split(":")[0] for fault in faults] == ["cargo"]


def test_the_list_is_the_same_for_the_same_packages(chain: ModuleType) -> None:
    packages = [chain.Package("cargo", name, "1.0", "MIT") for name in ("b", "a")]
    assert chain.sbom(packages) == chain.sbom(packages[::-1])
    assert '"purl": "pkg:cargo/a@1.0"' in chain.sbom(packages)

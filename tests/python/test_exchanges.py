"""Names that are exchanged during runs: no byte of somebody's is written (scripts/exchanges.py).

``make soak`` makes 10,000 exchanges.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support import diskspd

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[2]
EXCHANGES = 60


def script() -> ModuleType:
    """Return the script."""
    spec = importlib.util.spec_from_file_location("exchanges", ROOT / "scripts/exchanges.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look for the module of their annotations.
    sys.modules["exchanges"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["files", "links", "parents"])
def test_break_4_no_exchange_of_names_leads_a_run_to_another_file(
    name: str, tmp_path: Path
) -> None:
    """8 of 695 runs wrote the database that took the place of the target."""
    exchanges = script()
    names = tmp_path / "a", tmp_path / "b"
    for one in names:
        one.write_text(one.name)
    if not exchanges.exchange(*(str(one).encode() for one in names)):
        pytest.skip(f"no exchange of names here: errno {ctypes.get_errno()}")
    outcome = exchanges.hunt(str(diskspd()), name, EXCHANGES, seed=7)
    assert outcome.exchanges >= EXCHANGES
    assert outcome.changed == 0, str(outcome)

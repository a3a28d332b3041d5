"""A coordinator that is killed, a store that is full, and a clock that is set: one round of each.

``make soak`` makes 20 rounds of these and of all others (fleet_faults.py); of those, hosts that are
killed, stopped or cut off and a client that is killed are in test_fleet_tls.py.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import fleet_hosts
import pytest
from fleet_faults import HOSTS, clock_library, rounds
from fleet_hosts import Fleet, fleet_of

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    if os.geteuid():
        pytest.skip("network namespaces and a small file system need root")
    with fleet_of(tmp_path_factory.mktemp("fleet"), HOSTS) as found:
        yield found


@pytest.mark.parametrize("kind", ["coordinator", "store", "clock"])
def test_a_fault_is_told_nothing_is_lost_and_the_next_command_works(
    fleet: Fleet, kind: str
) -> None:
    if kind == "clock" and clock_library() is None:
        pytest.skip("libfaketime is not installed (Debian: faketime)")
    *_each, whole = rounds(fleet, [kind], 1, seed=1)
    assert whole.startswith(f"{kind}: 1 times")


def test_the_network_that_a_killed_run_left_behind_was_taken_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fleet_hosts, "ip", lambda *_words: "")
    mine = fleet_hosts._free_net()
    left = f"7: fl6323    inet {mine}.254/24 scope global fl6323"
    monkeypatch.setattr(fleet_hosts, "ip", lambda *_words: left)
    assert fleet_hosts._free_net() not in ("", mine)

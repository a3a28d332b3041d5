"""Three hosts in network namespaces of their own, with mutual TLS: the same instant, and a cut link."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from fathom.fleet.address import FleetAddress
from fathom.fleet.certificates import make_certificates
from fathom.fleet.runner import FleetRunner
from fleet_hosts import Running, start

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAMES = ("a", "b", "c")
LOAD = ["-c1M", "-b4K", "-r", "-L", "-W0", "-d2", "--engine=null"]
# Addresses for documentation (RFC 5737), which no host of a lab has.
_NET = "198.51.100"
_BRIDGE = f"fl{os.getpid() % 100_000}"
_NEVER_S = 60.0


def _ip(*words: str) -> None:
    subprocess.run([shutil.which("ip") or "ip", *words], check=True, capture_output=True)


def _space(name: str) -> str:
    return f"{_BRIDGE}{name}"


@contextmanager
def _network() -> Iterator[None]:
    """Make a bridge, and for each host a namespace with a link to it."""
    with ExitStack() as made:
        _ip("link", "add", _BRIDGE, "type", "bridge")
        made.callback(_ip, "link", "delete", _BRIDGE)
        _ip("address", "add", f"{_NET}.254/24", "dev", _BRIDGE)
        _ip("link", "set", _BRIDGE, "up")
        for number, name in enumerate(NAMES, 1):
            space, link = _space(name), f"{_BRIDGE}{name}0"
            _ip("netns", "add", space)
            made.callback(_ip, "netns", "delete", space)
            _ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", space)
            _ip("link", "set", link, "master", _BRIDGE, "up")
            _ip("-n", space, "address", "add", f"{_NET}.{number}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                _ip("-n", space, "link", "set", device, "up")
        yield


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FleetAddress]:
    folder = tmp_path_factory.mktemp("namespaces")
    with ExitStack() as running:
        try:
            running.enter_context(_network())
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"network namespaces need root and ip: {error}")
        yield FleetAddress(_started(folder, running), str(folder / "tls"))


def _started(folder: Path, running: ExitStack) -> str:
    tls = folder / "tls"
    make_certificates(tls, NAMES)
    address = f"{_NET}.1:8786"

    def begin(name: str, log: str, words: list[Any]) -> Running:
        inside = [shutil.which("ip") or "ip", "netns", "exec", _space(name)]
        found = start(words, folder / log, inside)
        running.callback(found.end)
        return found

    words = ["start", "--tls", tls, "--host", "a", "--listen", address]
    begin("a", "coordinator", words).wait_for("coordinator of version")
    hosts = [
        begin(name, name, ["join", "--tls", tls, "--host", name, "--listen", f"{_NET}.{number}", address])
        for number, name in enumerate(NAMES, 1)
    ]  # fmt: skip
    for host in hosts:
        host.wait_for("has joined")
    return address


def test_three_hosts_begin_together_and_clocks_are_told_right(
    fleet: FleetAddress, tmp_path: Path
) -> None:
    runner = FleetRunner(None, fleet)
    result = runner.measure([*LOAD, f"{tmp_path}/{{host}}.dat"]).result
    runner.close()
    hosts = result.raw["hosts"]
    assert [one["name"] for one in hosts] == [*NAMES]
    assert len(result.raw["parts"]) == 3
    # Namespaces of one machine have one clock, so that the true offset is known: it is nothing.
    assert all(abs(one["clock_offset_ns"]) <= one["clock_uncertainty_ns"] for one in hosts)
    assert min(one["start_skew_ns"] for one in hosts) == 0
    assert result.total.ios == sum(
        row["read"]["ios"]
        for thread in result.raw["time_spans"][0]["threads"]
        for row in thread["targets"]
    )


def test_a_link_that_is_cut_ends_the_run_and_the_host_is_back_later(
    fleet: FleetAddress, tmp_path: Path
) -> None:
    link = f"{_BRIDGE}c0"
    cut: list[str] = []

    def on_event(name: str, _fields: dict[str, Any]) -> None:
        if name == "live" and not cut:
            cut.append(link)
            _ip("link", "set", link, "down")

    runner = FleetRunner(None, fleet, on_event=on_event)
    try:
        told = runner.measure([*LOAD[:-2], "-d600", "--engine=null", f"{tmp_path}/{{host}}.dat"])
    finally:
        _ip("link", "set", link, "up")
        runner.close()
    assert "host 'c' was lost: it has not answered for" in str(told.failure)
    assert [one["lost"] is None for one in told.result.raw["hosts"]] == [True, True, False]
    assert told.result.total.ios > 0
    end = time.monotonic() + _NEVER_S
    # Its lease has ended what ran there; then it measures again.
    again = FleetRunner(None, fleet)
    while True:
        try:
            assert again.measure([*LOAD, f"{tmp_path}/{{host}}.dat"]).error is None
            break
        except Exception:
            if time.monotonic() > end:
                raise
            time.sleep(1)
    again.close()

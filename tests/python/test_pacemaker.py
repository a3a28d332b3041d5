"""A real Pacemaker of three nodes: what was done to it, and what the report tells, to a second."""

from __future__ import annotations

import os
import re
import tempfile
import time
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import pytest
from commands import command
from fathom.cli.exit_codes import EXIT_WORSE
from fathom.clusters import read_source, report_of
from fathom.clusters.pacemaker import read_state
from fathom.metrics import interval_series
from fathom.report import gather, with_events
from fathom.runners import NativeRunner
from fathom.store import Store
from pacemaker_cluster import NODES, Cluster, missing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom import Result
    from fathom.clusters import ClusterReport

LACKS = missing()
pytestmark = pytest.mark.skipif(LACKS is not None, reason=LACKS or "")


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    # Its own account has to reach its folders.
    with tempfile.TemporaryDirectory(prefix="fathom-cluster-") as folder:
        Path(folder).chmod(0o755)
        made = Cluster(Path(folder))
        try:
            yield made
        finally:
            made.close()


def report(cluster: Cluster) -> ClusterReport:
    logs = [read_source(cluster.log(name), "lab") for name in NODES]
    return report_of([read_state(cluster.state("n1").encode(), "lab"), *logs])


@contextmanager
def measured(cluster: Cluster) -> Iterator[None]:
    """Measure meanwhile; the run is the first of the store."""
    words = ["-b4K", "-r", "-o1", "-W0", "-d10", "-D100", "-L", "--reconnect=30", cluster.address]
    began = Event()
    failures: list[str | None] = []

    def look(name: str, fields: dict[str, Any]) -> None:
        if name == "phase_started" and fields["phase"] == "measured":
            began.set()

    def run() -> None:
        cluster.enter_network()
        with Store(os.environ["FATHOM_STORE"]) as store:
            failures.append(NativeRunner(store, on_event=look).run(words).failure)

    load = Thread(target=run)
    load.start()
    assert began.wait(60)
    yield
    load.join()
    assert failures == [None]


def held_its_ios(result: Result) -> None:
    """Check that no I/O failed, and that what was in flight waited for the connection."""
    (span,) = result.raw["time_spans"]
    (network,) = span["network"]
    # The address may be there before the server behind it is, and then goes once more.
    assert network["reconnects"] >= 1
    assert network["lost_connections"] == 0
    (row,) = span["threads"][0]["targets"]
    assert row["read"]["errors"] == 0
    assert "reconnected" in {one.kind for one in result.warnings}


def page_of(told: Path, page: Path) -> str:
    """Return the page of the run with what the cluster did."""
    done = command("report", "1", "--events", told, "--output", page)
    assert done.returncode == 0, done.stderr
    return unescape(page.read_text())


def test_what_was_done_to_a_cluster_stands_in_its_report_and_beside_the_run_that_it_stalled(
    cluster: Cluster, tmp_path: Path
) -> None:
    cluster.wait_begun()
    moved_s = time.time()
    cluster.run("n1", "crm_resource", "--move", "--resource", "files", "--node", "n2")
    cluster.wait_online("n2")
    first = report(cluster)
    (move,) = first.moves
    assert (move.from_node, move.to_node) == ("n1", "n2")
    assert move.began_unix_s == pytest.approx(moved_s, abs=1)
    assert {(one.resource, one.node, one.status) for one in first.rows} == {
        ("address", "n2", "Started"),
        ("export", "n2", "Started"),
        ("ready", "n2", "Started"),
    }
    assert first.bad == ()

    failed_s = time.time()
    cluster.run("n1", "crm_resource", "--fail", "--resource", "export", "--node", "n2")
    cluster.wait_for("Simulated failure")
    cluster.wait_online("n2")
    (bad,) = report(cluster).bad
    assert bad.resource == "export"
    assert bad.last_error_unix_s == pytest.approx(failed_s, abs=1)

    with measured(cluster):
        time.sleep(1)
        cut_s = time.time()
        cluster.cut("n2")
        cluster.wait_for('<node name="n2" id="2" online="false"')
        cluster.wait_online("n1", "n3")
    failover = report(cluster).moves[-1]
    assert failover.from_node == "n2"
    assert failover.to_node in ("n1", "n3")
    # Corosync takes a second and more to be sure of the loss; then the group is up at once.
    assert cut_s < failover.began_unix_s < time.time()
    assert failover.ended_unix_s >= failover.began_unix_s

    # The run went on behind the stall, which its page shows together with what the cluster did.
    (tmp_path / "crm_mon.xml").write_text(cluster.state("n1"))
    sources = [f"lab={one}" for one in (tmp_path / "crm_mon.xml", *map(cluster.log, NODES))]
    told = tmp_path / "resources.json"
    assert command("resources", *sources, "--output", told).returncode == EXIT_WORSE
    with Store(os.environ["FATHOM_STORE"]) as store:
        material = with_events(gather(store, ["1"]), [told])
    (run,) = material.sides[0].runs
    words = f"files: n2 to {failover.to_node}"
    (at_s,) = [one.at_s for one in run.happened if one.words == words]
    assert any(one.words.startswith("n2 node lost") for one in run.happened)
    held_its_ios(run.result)
    rates = interval_series(run.result, "iops")
    assert rates is not None
    assert rates[int(10 * at_s)] == 0
    finding = material.sides[0].advice[0]
    assert finding.title == "It stalled while the cluster moved or failed"
    # Where it begins to stall, or has just come back, on a busy machine, a few I/Os may be done.
    assert re.search(r"IOPS were (0|at most [\d,]+) for", finding.evidence), (finding, rates)
    assert f"the group files moved from n2 to {failover.to_node} at" in finding.evidence
    page = page_of(told, tmp_path / "page.html")
    assert words in page
    assert finding.evidence in page

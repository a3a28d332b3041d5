"""A real Pacemaker of three nodes: what was done to it, and what the report tells, to a second."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fathom.clusters import read_source, report_of
from fathom.clusters.pacemaker import read_state
from pacemaker_cluster import NODES, Cluster, missing

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def test_what_was_done_to_a_cluster_stands_in_its_report_to_a_second(cluster: Cluster) -> None:
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
    }
    assert first.bad == ()

    failed_s = time.time()
    cluster.run("n1", "crm_resource", "--fail", "--resource", "export", "--node", "n2")
    cluster.wait_for("Simulated failure")
    cluster.wait_online("n2")
    (bad,) = report(cluster).bad
    assert bad.resource == "export"
    assert bad.last_error_unix_s == pytest.approx(failed_s, abs=1)

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

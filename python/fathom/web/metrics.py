"""``/metrics``: figures of what runs, and the last result of each label, for Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest

from fathom.metrics_text import METRICS, live_samples
from fathom.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.web.state import Served

__all__ = ["CONTENT_TYPE", "metrics"]

CONTENT_TYPE = CONTENT_TYPE_LATEST
_MOST_LABELS = 200
_LAST = {
    "fathom_last_iops": ("IOPS of the newest run with this label.", "total_iops", 1.0),
    "fathom_last_mib_per_second": ("MiB/s of the same.", "total_mib_per_s", 1.0),
    "fathom_last_latency_p50_seconds": ("Median latency.", "total_latency_p50_ns", NS_PER_S),
    "fathom_last_latency_p99_seconds": ("99th percentile.", "total_latency_p99_ns", NS_PER_S),
    "fathom_last_started_seconds": (
        "When it began, since 1970-01-01T00:00:00Z.",
        "started_at_unix_s",
        1.0,
    ),
}


class _Collected:
    """What is read again each time."""

    def __init__(self, served: Served) -> None:
        self._served = served

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield from self._live()
        yield from self._last()
        hub = self._served.hub
        yield _alone("fathom_viewers", "Pages that follow what runs.", hub.viewers)
        yield _alone("fathom_dropped_viewers", "Pages that were too slow.", hub.dropped)

    def _live(self) -> Iterator[GaugeMetricFamily]:
        samples = []
        running = [one for one in self._served.hub.told() if one["state"] == "running"]
        for one in running:
            labels = (("id", str(one["id"])), ("verb", str(one["verb"])))
            known = self._served.hub.figures_of(str(one["id"]))
            if known is not None and known.history:
                samples += live_samples(known.history[-1], labels)
        yield _alone("fathom_up", METRICS["fathom_up"], len(running))
        for name, words in METRICS.items():
            mine = [sample for sample in samples if sample[0] == name]
            if not mine:
                continue
            names = sorted({label for _, given, _ in mine for label, _ in given})
            family = GaugeMetricFamily(name, words, labels=names)
            for _, given, value in mine:
                family.add_metric([dict(given).get(label, "") for label in names], value)
            yield family

    def _last(self) -> Iterator[GaugeMetricFamily]:
        newest = self._served.store.runs.newest_of_each_label(limit=_MOST_LABELS)
        for name, (words, column, divisor) in _LAST.items():
            family = GaugeMetricFamily(name, words, labels=["label", "target", "run"])
            for run in newest:
                value = run.columns[column]
                if value is not None:
                    target = str(run.columns["target_path"] or "")
                    family.add_metric([run.label, target, str(run.id)], value / divisor)
            yield family


def _alone(name: str, words: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, words, value=value)


def metrics(served: Served) -> bytes:
    """Return all metrics in the form of OpenMetrics."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collected(served))
    found: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]
    return found

"""Figures as text for Prometheus: what the node exporter reads from a file.

https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
"""

from __future__ import annotations

import json
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from fathom._events_file import listen
from fathom._files import read_text, replacing, why_no_file
from fathom._processes import is_gone, this_process
from fathom.errors import InvalidRequestError
from fathom.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = ["METRICS", "check_kept", "kept_in", "live_samples", "metrics_text"]

METRICS: Mapping[str, str] = {
    "fathom_up": "Whether a run is under way.",
    "fathom_iops": "I/Os completed in the last second.",
    "fathom_bytes_per_second": "Bytes transferred in the last second.",
    "fathom_in_flight": "I/Os in flight.",
    "fathom_latency_seconds": "Latency of the last second that this share did not exceed.",
    # Apart from the above, so that a sum counts nothing twice.
    "fathom_target_iops": "The same of each of 2 to 16 targets.",
    "fathom_target_bytes_per_second": "Bytes transferred in the last second, of each target.",
    "fathom_target_latency_seconds": "Latency of the last second, of each target.",
    "fathom_last_update_seconds": "When these figures were taken, since 1970-01-01T00:00:00Z.",
}
_QUANTILES = {"0.5": "p50", "0.99": "p99", "0.999": "p999"}
_EVERY_S = 1.0
_MOST_MIB = 16
_BEGINNING = "# HELP fathom_up "
_KEPT = "# kept by "

Sample = tuple[str, tuple[tuple[str, str], ...], float]


def metrics_text(samples: Sequence[Sample]) -> str:
    """Return samples as text: a name, its labels, and the value."""
    lines = []
    for name, words in METRICS.items():
        mine = [one for one in samples if one[0] == name]
        if not mine:
            continue
        lines += [f"# HELP {name} {words}", f"# TYPE {name} gauge"]
        lines += [f"{name}{_labels(labels)} {value!r}" for _, labels, value in mine]
    return "\n".join(lines) + "\n"


def _labels(labels: Sequence[tuple[str, str]]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def live_samples(second: Mapping[str, object], labels: Sequence[tuple[str, str]]) -> list[Sample]:
    """Return the samples of one second of a run, those of each target included."""
    own = tuple(labels)
    found: list[Sample] = [
        ("fathom_iops", own, _number(second.get("ios"))),
        ("fathom_bytes_per_second", own, _number(second.get("bytes"))),
        ("fathom_in_flight", own, _number(second.get("in_flight"))),
    ]
    found += _latencies(second, own)
    told = second.get("targets")
    targets = told if isinstance(told, list) else []
    names = [str(one["target"]) for one in targets]
    for number, (name, target) in enumerate(zip(names, targets, strict=True), 1):
        of_target = (*own, ("target", name))
        if names.count(name) > 1:
            # Of two samples with the same labels, a reader takes neither, nor what else there is.
            of_target = (*of_target, ("number", str(number)))
        found.append(("fathom_target_iops", of_target, _number(target["ios"])))
        found.append(("fathom_target_bytes_per_second", of_target, _number(target["bytes"])))
        found += _latencies(target, of_target, "fathom_target_latency_seconds")
    return found


def _latencies(
    second: Mapping[str, object],
    labels: tuple[tuple[str, str], ...],
    name: str = "fathom_latency_seconds",
) -> Iterator[Sample]:
    if not second.get("ios"):
        return
    for quantile, word in _QUANTILES.items():
        value = _number(second.get(f"latency_ns_{word}")) / NS_PER_S
        yield name, (*labels, ("quantile", quantile)), value


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def check_kept(path: Path) -> None:
    """Refuse a file that no run could keep.

    Raises
    ------
    InvalidRequestError
        If its name is none for it, there is no place for it, it holds something else, or another
        run keeps it.

    """
    if path.suffix != ".prom":
        raise InvalidRequestError(
            f"{path}: end the name with .prom, as the node exporter reads no other files"
        )
    try:
        why = why_no_file(path)
        if why is not None:
            raise InvalidRequestError(f"{path} {why}")
        _check_ours(path)
    except (OSError, UnicodeDecodeError) as error:
        words = getattr(error, "strerror", None) or "it is no text"
        raise InvalidRequestError(f"{path} cannot be written: {words}") from error


@contextmanager
def kept_in(path: Path | None, label: str) -> Iterator[None]:
    """Keep a file up to date while something runs, and say at its end that nothing does.

    Raises
    ------
    InvalidRequestError
        If the file cannot be written, holds something else, or another run keeps it.

    """
    if path is None:
        yield
        return
    check_kept(path)
    labels = (("label", label),) if label else ()
    try:
        _write(path, [("fathom_up", labels, 1.0)])
    except OSError as error:
        raise InvalidRequestError(f"{path} cannot be written: {error.strerror}") from error
    last_s = 0.0

    def take(name: str, fields: Mapping[str, object]) -> None:
        nonlocal last_s
        if name != "live" or time.monotonic() - last_s < _EVERY_S / 2:
            return
        last_s = time.monotonic()
        # A disk that is full costs the figures, and not the measurement.
        with suppress(OSError):
            _write(path, [("fathom_up", labels, 1.0), *live_samples(fields, labels)])

    stop = listen(take)
    try:
        yield
    finally:
        stop()
        _end(path, labels)


def _end(path: Path, labels: tuple[tuple[str, str], ...]) -> None:
    """Say that nothing runs; on a full disk no file says that something does."""
    try:
        _write(path, [("fathom_up", labels, 0.0)])
    except OSError:
        with suppress(OSError):
            if _may_go(path):
                path.unlink()


def _check_ours(path: Path) -> None:
    """Refuse a file of another program, whose figures would be lost, and one that a run keeps."""
    if not path.exists():
        return
    text = read_text(path, most_mib=_MOST_MIB)
    if not _is_ours(text):
        raise InvalidRequestError(
            f"{path} exists and is no file of Fathom's figures: name another, or remove it"
        )
    noted = text.rpartition(_KEPT)[2] if _KEPT in text else ""
    with suppress(ValueError, RecursionError):
        process = json.loads(noted)
        if is_gone(process) is False and process != this_process():
            raise InvalidRequestError(
                f"another run keeps {path} at this moment: name another file, one for each run"
            )


def _is_ours(text: str) -> bool:
    return not text or text.startswith(_BEGINNING)


def _may_go(path: Path) -> bool:
    """Whether a file still is one of figures: it may have been replaced since the run began."""
    with suppress(OSError, UnicodeDecodeError):
        return _is_ours(read_text(path, most_mib=_MOST_MIB))
    return False


def _write(path: Path, samples: Sequence[Sample]) -> None:
    now = ("fathom_last_update_seconds", samples[0][1], round(time.time(), 3))
    with replacing(path, may_go=_may_go) as unfinished:
        text = metrics_text([*samples, now])
        if samples[0][2]:
            # By this others see whose it is; a run that was killed keeps it no more.
            text += f"{_KEPT}{json.dumps(this_process())}\n"
        unfinished.write_text(text, encoding="utf-8")
    # The node exporter is another user, and the file has figures alone.
    path.chmod(_READABLE)


_READABLE = 0o644

"""The settings of a run beside its load, in DiskSpd's words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._request_parts import SkewNormal, SkewPareto, SkewZipf

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fathom._request_parts import RunOptions, Skew

__all__ = ["option_words", "skew_words"]


def option_words(options: RunOptions) -> Iterable[str]:
    """Return the arguments that stand for the settings."""
    thread, journal = options.submission_thread, options.verify_journal
    cpu = None if thread is None else thread.cpu
    words = (
        (options.engine, f"--engine={options.engine}"),
        (options.connections, f"--connections={options.connections}"),
        (options.total_iops, f"--rate={options.total_iops}"),
        (options.arrivals != "constant", f"--arrivals={options.arrivals}"),
        (options.skew, f"--skew={options.skew and skew_words(options.skew)}"),
        (options.verify and journal is None, "--verify"),
        (journal, f"--verify-journal={journal}"),
        (options.polled, "--polled"),
        (thread, "--sqpoll" if cpu is None else f"--sqpoll={cpu}"),
        (options.interval_latency, "--interval-latency"),
        (options.remove_created, "--remove-created"),
    )
    return (word for is_given, word in words if is_given)


def skew_words(skew: Skew) -> str:
    """Return a skew such as ``zipf:1.1``, as fio writes it, too."""
    match skew:
        case SkewZipf():
            return f"zipf:{_thousandths(skew.theta_milli)}"
        case SkewPareto():
            return f"pareto:{_thousandths(skew.h_milli)}"
        case SkewNormal():
            return f"normal:{_thousandths(skew.deviation_milli)}"


def _thousandths(milli: int) -> str:
    """Return a whole number of thousandths as a decimal, exactly."""
    return f"{milli // 1000}.{milli % 1000:03}".rstrip("0").rstrip(".")

"""What settings are called in sentences, where the store and results have names of fields."""

from __future__ import annotations

__all__ = ["setting", "term"]

_TERMS = {
    "host_name": "host",
    "cpu_model": "processor",
    "cpu_count": "number of CPUs",
    "cpu_governor": "CPU governor",
    "memory_bytes": "memory (bytes)",
    "device_model": "model",
    "device_serial": "serial number",
    "device_firmware": "firmware",
    "device_scheduler": "I/O scheduler",
    "target_file_system": "file system",
    "target_size_bytes": "size (bytes)",
    "tool_version": "version",
    "block_bytes": "block size (bytes)",
    "outstanding": "depth",
    "outstanding_per_thread": "depth",
    "thread_count": "number of threads",
    "request_count": "outstanding I/Os of each thread over all its targets (-O)",
    "random_percent": "share of random offsets (%)",
    "iops": "requested rate (IOPS)",
    "write_percent": "share of writes (%)",
    "total_iops": "requested rate of all threads together (IOPS)",
    "precision_milli": "precision of the mean (%)",
    "level_milli": "confidence of the mean (%)",
    "range_milli": "range of a steady rate (%)",
    "slope_milli": "slope of a steady rate (%)",
}
# Units stand at the end of a name.
_UNITS = {
    "bytes": "bytes",
    "percent": "%",
    "ms": "ms",
    "ns": "ns",
    "s": "s",
}
_MILLI = 1000


def term(name: str) -> str:
    """Return what a setting is called: ``block size (bytes)`` for ``block_bytes``."""
    *place, last = name.split(".")
    if last in _TERMS:
        return _TERMS[last]
    words, _, unit = last.rpartition("_")
    found = f"{words} ({_UNITS[unit]})" if words and unit in _UNITS else last
    # A short name alone, such as of a part of the stop rules, tells too little.
    before = place[-1].partition("[")[0] if place else ""
    named = f"{before} {found}" if before and before not in ("time_spans", "targets") else found
    return named.replace("_", " ")


def differing(name: str, a: object, b: object) -> str:
    """Return a setting in which two sides differ, with both values."""
    return f"{term(name)} is {setting(name, a)} in A and {setting(name, b)} in B"


def setting(name: str, value: object) -> str:
    """Return a value of a setting in words."""
    if value is None:
        return "not given"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("_milli") and isinstance(value, int | float):
        return f"{value / _MILLI:g}"
    return str(value)

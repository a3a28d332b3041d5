"""A source of each format, and what holds for each one that is imported: for tests and fuzzer."""

from __future__ import annotations

import json
import math
import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fathom.imported import ImportFormatError, result_view
from fathom.imported.model import ImportedResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.imported import ImportedDirection, Reading

HERE = Path(__file__).parent
DATA = HERE / "data/import"
RUNS = HERE.parent / "golden/diskspd/runs"
FIO = {
    "fio version": "fio-3.33",
    "timestamp": 1,
    "global options": {"bs": "4k"},
    "jobs": [
        {
            "jobname": name,
            "groupid": 0,
            "error": 0,
            "job options": {"rw": "randrw", "iodepth": "4", "filename": "/x"},
            **{
                side: {
                    "io_bytes": 4096 * 3,
                    "bw_bytes": 12288,
                    "iops": 3.0,
                    "runtime": 1000,
                    "total_ios": 3,
                    "clat_ns": {
                        "min": 100,
                        "max": 300,
                        "mean": 200.0,
                        "stddev": 1.5,
                        "N": 3,
                        "percentile": {"50.000000": 200, "99.000000": 300},
                        "bins": {"100": 1, "200": 1, "300": 1},
                    },
                }
                for side in ("read", "write", "trim")
            },
            "usr_cpu": 1.5,
            "sys_cpu": 2.5,
        }
        for name in ("a", "b")
    ],
}
LOG = "".join(f"{ms}, {ms * 3}, {ms % 2}, 4096, 0\n" for ms in range(1, 30)).encode()
BINS = ", ".join("1" if one % 7 == 0 else "0" for one in range(1856))
SAMPLES: dict[str, bytes] = {
    "fathom-json": (HERE / "fixtures/result.json").read_bytes(),
    "fio-json": json.dumps(FIO, indent=1).encode(),
    "diskspd-xml": (RUNS / "02-mix-LD-xml.xml").read_bytes(),
    "iometer-csv": (DATA / "iometer.csv").read_bytes(),
    "iometer-icf": (DATA / "iometer.icf").read_bytes(),
    "crystaldiskmark-text": (DATA / "crystaldiskmark-8.0.4.txt").read_bytes(),
    "fio-hist-log": f"50, 0, 4096, {BINS}\n100, 1, 4096, {BINS}\n".encode(),
    **{f"fio-{kind}-log": LOG for kind in ("bw", "iops", "lat", "clat", "slat")},
    "diskspd-text": (HERE / "fixtures/result.txt").read_bytes(),
}


@contextmanager
def refused() -> Iterator[None]:
    """Let a source be refused, in words."""
    try:
        yield
    except ImportFormatError as error:
        words = f"{error}"
        assert len(words) > 10
        # Not the name of an error of Python's; a source may hold any word.
        assert not re.match(r"\w*Error\b", words), words


def check(reading: Reading, content: bytes) -> None:
    """Hold what was read: each named line is there, each result survives its JSON form."""
    lines = len(re.split(b"\r\n|\n|\r", content))
    assert all(0 < line.number <= lines for line in reading.unparsed)
    for result in reading.results:
        again = ImportedResult.from_dict(json.loads(json.dumps(result.to_dict())))
        assert json.dumps(again.to_dict()) == json.dumps(result.to_dict())
        for part in parts(result):
            figures = (part.ios, part.bytes, part.iops, part.mib_per_s)
            assert all(one is None or math.isfinite(one) for one in figures), result
        assert result_view(result).time_spans
    for own in reading.own:
        assert own.command_line is not None


def parts(result: ImportedResult) -> Iterator[ImportedDirection]:
    """Return all directions of a result."""
    yield from (
        one
        for name in ("read", "write", "total", "sync", "trim")
        if (one := getattr(result, name)) is not None
    )

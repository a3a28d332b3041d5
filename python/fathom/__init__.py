"""The lab for measuring storage.

``run`` measures once, in this process, with DiskSpd's own arguments:

>>> import fathom
>>> result = fathom.run("-c64M -b8K -r -d1 -W0 -L scratch.dat")  # doctest: +SKIP
>>> result.total.iops  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from fathom.engine import EventCallback, explain, parse, run, version
from fathom.errors import (
    DataFaultError,
    ExperimentInterrupted,
    FathomError,
    InvalidRequestError,
    RefusedError,
    RunFailedError,
    RunInterrupted,
)

if TYPE_CHECKING:
    from fathom.request import Request
    from fathom.result import (
        Awaited,
        Direction,
        Fault,
        KnownMean,
        Latency,
        Origin,
        OutstandingIo,
        Result,
        SteadyWindow,
        Stop,
        Thread,
        TimeSpan,
        Warning_,
    )

__version__ = version()

__all__ = [
    "Awaited",
    "DataFaultError",
    "Direction",
    "EventCallback",
    "ExperimentInterrupted",
    "FathomError",
    "Fault",
    "InvalidRequestError",
    "KnownMean",
    "Latency",
    "Origin",
    "OutstandingIo",
    "RefusedError",
    "Request",
    "Result",
    "RunFailedError",
    "RunInterrupted",
    "SteadyWindow",
    "Stop",
    "Thread",
    "TimeSpan",
    "Warning_",
    "__version__",
    "explain",
    "parse",
    "run",
    "version",
]


def __getattr__(name: str) -> object:
    """Import the types of requests and results when one is asked for (PEP 562): help needs none."""
    # Submodules are asked for here too, so that only what stands in __all__ may import anything.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "fathom.request" if name == "Request" else "fathom.result"
    found: object = getattr(import_module(module), name)
    globals()[name] = found
    return found

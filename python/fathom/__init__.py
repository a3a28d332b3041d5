"""The lab for measuring storage.

``run`` measures once, in this process, with DiskSpd's own arguments:

>>> import fathom
>>> result = fathom.run("-c1M -b8K -r -d1 -W0 -L scratch.dat")
>>> result.total.ios > 0
True
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
    from fathom.api import (
        Report,
        assess,
        compare,
        compare_interleaved,
        prepare,
        repeat,
        sweep,
        tune,
    )
    from fathom.grant import WriteGrant
    from fathom.handle import RunEvent, RunHandle
    from fathom.merging import merge
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
    from fathom.store import Store

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
    "Report",
    "Request",
    "Result",
    "RunEvent",
    "RunFailedError",
    "RunHandle",
    "RunInterrupted",
    "SteadyWindow",
    "Stop",
    "Store",
    "Thread",
    "TimeSpan",
    "Warning_",
    "WriteGrant",
    "__version__",
    "assess",
    "compare",
    "compare_interleaved",
    "explain",
    "merge",
    "parse",
    "prepare",
    "repeat",
    "run",
    "sweep",
    "tune",
    "version",
]

# Where each name is that is not imported before it is asked for: help needs none of them.
_LATER = {
    "Request": "fathom.request",
    "RunEvent": "fathom.handle",
    "RunHandle": "fathom.handle",
    "Store": "fathom.store",
    "merge": "fathom.merging",
    "WriteGrant": "fathom.grant",
    **dict.fromkeys(
        (
            "Report",
            "assess",
            "compare",
            "compare_interleaved",
            "prepare",
            "repeat",
            "sweep",
            "tune",
        ),
        "fathom.api",
    ),
}


def __getattr__(name: str) -> object:
    """Import experiments, requests and the types of results when one is asked for (PEP 562)."""
    # Submodules are asked for here too, so that only what stands in __all__ may import anything.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(_LATER.get(name, "fathom.result")), name)
    globals()[name] = found
    return found

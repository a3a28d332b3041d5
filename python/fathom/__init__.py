"""The lab for measuring storage.

``run`` measures once, in this process, with DiskSpd's own arguments:

>>> import fathom
>>> result = fathom.run("-c1M -b8K -r -d1 -W0 -L scratch.dat")
>>> result.total.ios > 0
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._fathom import version
from fathom._later import later
from fathom.errors import (
    DataFaultError,
    ExperimentInterrupted,
    FathomError,
    InvalidRequestError,
    RefusedError,
    RunFailedError,
    RunInterrupted,
    TargetError,
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
    from fathom.engine import EventCallback, explain, parse, run
    from fathom.experiments.assess import AssessmentInterrupted
    from fathom.grant import WriteGrant
    from fathom.handle import RunEvent, RunHandle
    from fathom.merging import merge
    from fathom.report import ReportError
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
    from fathom.store import NotFoundError, Store

__version__ = version()

__all__ = [
    "AssessmentInterrupted",
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
    "NotFoundError",
    "Origin",
    "OutstandingIo",
    "RefusedError",
    "Report",
    "ReportError",
    "Request",
    "Result",
    "RunEvent",
    "RunFailedError",
    "RunHandle",
    "RunInterrupted",
    "SteadyWindow",
    "Stop",
    "Store",
    "TargetError",
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

if not TYPE_CHECKING:
    # Help needs none of these, and all of them are slow to import.
    __getattr__ = later(__name__)


def __dir__() -> list[str]:
    """Return what is public, loaded or not."""
    return __all__

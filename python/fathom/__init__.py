"""The lab for measuring storage.

``run`` measures once, in this process, with DiskSpd's own arguments:

>>> import fathom
>>> result = fathom.run("-c64M -b8K -r -d1 -W0 -L scratch.dat")  # doctest: +SKIP
>>> result.total.iops  # doctest: +SKIP
"""

from fathom._errors import (
    DataFaultError,
    FathomError,
    InvalidRequestError,
    RefusedError,
    RunFailedError,
    RunInterrupted,
)
from fathom._result import (
    Direction,
    KnownMean,
    Latency,
    Result,
    SteadyWindow,
    Stop,
    Thread,
    TimeSpan,
    Warning_,
)
from fathom._run import EventCallback, parse, run, version

__version__ = version()

__all__ = [
    "DataFaultError",
    "Direction",
    "EventCallback",
    "FathomError",
    "InvalidRequestError",
    "KnownMean",
    "Latency",
    "RefusedError",
    "Result",
    "RunFailedError",
    "RunInterrupted",
    "SteadyWindow",
    "Stop",
    "Thread",
    "TimeSpan",
    "Warning_",
    "__version__",
    "parse",
    "run",
    "version",
]

"""What this machine did meanwhile: counters of its CPUs, memory, devices and control groups."""

from fathom.host.counters import Counters, read_counters
from fathom.host.limit import Limit, limit_between

__all__ = ["Counters", "Limit", "limit_between", "read_counters"]

"""What hosts and those who drive them have agreed on: times, and the names of requests."""

from __future__ import annotations

__all__ = [
    "AT_ONCE",
    "BEAT_S",
    "HOST_REQUESTS",
    "LEASE_S",
    "LOST_AFTER_S",
    "POLL_S",
]

LEASE_S = 8.0
"""A run ends itself where nobody has asked for its news for so long; it is quiet within 10 s."""

BEAT_S = 0.5
"""The measuring process says so often that it is alive."""

POLL_S = 0.5
"""A host answers at the latest after so long, with news or without."""

LOST_AFTER_S = 4.0
"""A host that says nothing for so long is lost."""

AT_ONCE = 16
"""So many hosts are asked at a time, so that the last of many has its whole time to answer."""

HOST_REQUESTS = (
    "fathom_hello",
    "fathom_clock",
    "fathom_begin",
    "fathom_say",
    "fathom_poll",
    "fathom_end",
)
"""All that a client may ask of a host."""

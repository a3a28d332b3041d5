"""Many hosts, one instant, one result: a fleet is one more runner behind the seam of runners.

Dask (distributed) brings the hosts together; what measures is our engine, on each host in a process
of its own. Nobody sends functions, and no message is unpickled: hosts and coordinator know a few
named requests, and the role in a certificate says who may ask for which (``comm``, ``roles``).

Its parts are imported when they are used: distributed is an extra, and takes a second to load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._later import later

if TYPE_CHECKING:
    from fathom.fleet.certificates import make_certificates
    from fathom.fleet.runner import FleetRunner
    from fathom.fleet.serving import serve_coordinator, serve_host
    from fathom.fleet.showing import shown_hosts

__all__ = ["FleetRunner", "make_certificates", "serve_coordinator", "serve_host", "shown_hosts"]

if not TYPE_CHECKING:
    __getattr__ = later(__name__)

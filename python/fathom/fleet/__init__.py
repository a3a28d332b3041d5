"""Many hosts, one instant, one result: a fleet is one more runner behind the seam of runners.

Dask (distributed) brings the hosts together; what measures is our engine, on each host in a process
of its own. Nobody sends functions, and no message is unpickled: hosts and coordinator know a few
named requests, and the role in a certificate says who may ask for which (``comm``, ``roles``).

Nothing is imported here: distributed is an extra, and takes a second to load.
"""

"""Databases of our own, to be loaded and thrown away: private PostgreSQL clusters under pgbench.

Nothing here reaches a server that it did not make: each has a folder of its own with a socket in
it, listens on no port, and variables of the environment that lead to others are taken away.
"""

"""Processes for tests, forked from one that has loaded what they need."""

from __future__ import annotations

import multiprocessing
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext

__all__ = ["forkserver"]

# A process of tests has one server for all its tests, which loads what it is given first: all is
# here. Modules are named themselves, as packages load theirs later.
_LOADED = (
    "alembic.command",
    "alembic.config",
    "fathom.cli.commands._run_do",
    "fathom.cli.commands.fleet",
    "fathom.cli.commands.run",
    "fathom.experiments.repeat",
    "fathom.experiments.sweep.experiment",
    "fathom.experiments.tune.experiment",
    "fathom.fleet.runner",
    "fathom.fleet.serving",
    "fathom.result",
    "fathom.runners.native",
    "fathom.store.moving",
    "fathom.store.store",
    "psycopg",
    "scipy.optimize",
    "sqlalchemy.dialects.postgresql",
    "sqlalchemy.dialects.sqlite",
)


@cache
def forkserver() -> ForkServerContext:
    """Return what starts them."""
    # What cannot be loaded would be left out without a word.
    assert [name for name in _LOADED if find_spec(name) is None] == []
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload([*_LOADED])
    return found

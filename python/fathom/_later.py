"""Imports that are done when their names are first used (PEP 562): how rooms keep a start quick.

A room whose parts are slow to import has its imports under ``if TYPE_CHECKING``, where type
checkers read them, and ``__getattr__ = later(__name__)``, which reads the same lines once the
first name is used. So who imports the room at the top of a file pays for nothing before that:
``fathom --help`` loads neither NumPy nor the store.
"""

from __future__ import annotations

import ast
import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["later"]


def later(room: str) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a room: it does the import that a name stands in."""

    def __getattr__(name: str) -> object:  # noqa: N807 - As Python calls it.
        home = _homes(room).get(name)
        if home is None:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        found = _imported(*home)
        setattr(sys.modules[room], name, found)
        return found

    return __getattr__


def _imported(module: str, name: str | None) -> object:
    if name is None:
        return import_module(module)
    try:
        return getattr(import_module(module), name)
    except AttributeError:
        # `from package import module`.
        return import_module(f"{module}.{name}")


@cache
def _homes(room: str) -> dict[str, tuple[str, str | None]]:
    """Return in which module each name is, and under which name: None for the module itself."""
    found: dict[str, tuple[str, str | None]] = {}
    spec = find_spec(room)
    source = getattr(spec and spec.loader, "get_source")(room)  # noqa: B009 - Each loader of files.
    for block in ast.parse(source).body:
        if not (isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"):
            continue
        for line in block.body:
            if isinstance(line, ast.ImportFrom):
                found |= {
                    one.asname or one.name: (line.module or "", one.name) for one in line.names
                }
            elif isinstance(line, ast.Import):
                found |= {one.asname or one.name: (one.name, None) for one in line.names}
    return found

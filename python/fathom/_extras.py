"""What only some installations have: the extras of the package, and the line that adds one."""

from __future__ import annotations

from importlib.util import find_spec
from typing import NamedTuple

__all__ = ["DISTRIBUTION", "EXTRAS", "Extra", "install_line", "missing_of"]

# `fathom` is somebody else's on PyPI.
DISTRIBUTION = "fathom-storage"


class Extra(NamedTuple):
    """One extra: the modules that it brings, and what they are for."""

    modules: tuple[str, ...]
    purpose: str


EXTRAS = {
    "pictures": Extra(("fpdf", "vl_convert"), "reports and figures as PDF, PNG and SVG"),
    "parquet": Extra(("pyarrow",), "export as Parquet"),
    "xlsx": Extra(("openpyxl",), "export for Excel"),
    "clusters": Extra(("evtx",), "event logs of Windows clusters"),
    "web": Extra(("argon2", "fastapi", "prometheus_client", "uvicorn"), "fathom serve"),
    "postgresql": Extra(("psycopg",), "a store in PostgreSQL"),
    "fleet": Extra(("distributed", "cryptography"), "measuring from many hosts at once"),
}


def install_line(extra: str) -> str:
    """Return the line that installs an extra into this environment."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def missing_of(extra: str) -> list[str]:
    """Return the modules of an extra that are not installed; none is imported."""
    return [module for module in EXTRAS[extra].modules if find_spec(module) is None]

"""Packages of others that are slow to import, or that only an extra brings.

Each is imported when the first of its names is used: measured on one CPU, as ``python -X
importtime`` tells it, Rich and jinja2 take 0.1 s, lxml 0.07 s, NumPy 0.3 s, Alembic 0.5 s
and fpdf 1.1 s, where all of ``fathom --help`` takes 0.13 s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._later import later

if TYPE_CHECKING:
    import evtx
    import jinja2
    import numpy as np
    import openpyxl
    import platformdirs
    import pyarrow as pa
    import vl_convert
    from alembic import command
    from alembic.config import Config
    from argon2 import PasswordHasher
    from argon2.exceptions import Argon2Error, InvalidHashError
    from fpdf import FPDF
    from lxml import etree
    from openpyxl.cell import WriteOnlyCell
    from pyarrow import parquet
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text
    from sqlalchemy.dialects.postgresql import insert
    from sqlalchemy.engine import URL, make_url
    from sqlalchemy.exc import ArgumentError

__all__ = [
    "FPDF",
    "URL",
    "Argon2Error",
    "ArgumentError",
    "Config",
    "Console",
    "InvalidHashError",
    "PasswordHasher",
    "Table",
    "Text",
    "WriteOnlyCell",
    "cell_len",
    "command",
    "etree",
    "evtx",
    "insert",
    "jinja2",
    "make_url",
    "np",
    "openpyxl",
    "pa",
    "parquet",
    "platformdirs",
    "vl_convert",
]

if not TYPE_CHECKING:
    __getattr__ = later(__name__)

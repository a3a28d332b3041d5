"""What the package promises to its users."""

from __future__ import annotations

import tomllib
from pathlib import Path

import fathom

ROOT = Path(__file__).parents[2]


def test_the_exported_names_are_these() -> None:
    assert fathom.__all__ == sorted(fathom.__all__)
    assert fathom.__all__ == [
        "Direction",
        "FathomError",
        "InvalidRequestError",
        "Latency",
        "RefusedError",
        "Result",
        "RunFailedError",
        "TimeSpan",
        "Warning_",
        "__version__",
        "parse",
        "run",
        "version",
    ]
    assert all(hasattr(fathom, name) for name in fathom.__all__)


def test_the_version_is_that_of_the_workspace() -> None:
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text())
    assert fathom.__version__ == manifest["workspace"]["package"]["version"]


def test_every_error_has_one_base() -> None:
    errors = (fathom.InvalidRequestError, fathom.RefusedError, fathom.RunFailedError)
    assert all(issubclass(error, fathom.FathomError) for error in errors)

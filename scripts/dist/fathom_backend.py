"""The build backend: maturin's, after ``diskspd`` has been put where the wheel takes it from.

So every wheel has both commands, also one that pip makes of the source distribution. ``make dist``
has put manual pages and completions there, too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import maturin
from maturin import (
    build_editable,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_wheel,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_wheel",
]

# Where maturin looks for what a wheel installs outside its package.
DATA = Path("fathom._fathom.data")


def build_wheel(
    wheel_directory: str,
    config_settings: Mapping[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build the binary, and then the wheel with it."""
    command = ["cargo", "build", "--release", "--locked", "--bin", "diskspd"]
    subprocess.run(command, check=True)  # noqa: S603 - All words are ours.
    scripts = DATA / "scripts"
    scripts.mkdir(parents=True, exist_ok=True)
    built = Path(os.environ.get("CARGO_TARGET_DIR", "target")) / "release" / "diskspd"
    shutil.copy2(built, scripts / "diskspd")
    name: str = maturin.build_wheel(wheel_directory, config_settings, metadata_directory)
    return name


def build_sdist(_sdist_directory: str, _config_settings: Mapping[str, Any] | None = None) -> str:
    """Refuse: maturin's would lack the binary and the page's bundle.

    Raises
    ------
    RuntimeError
        Always.

    """
    raise RuntimeError("the source distribution is made by `make dist`")

"""Where workloads are found: the user's own folder first, then those of this package."""

from __future__ import annotations

import os
from pathlib import Path

from fathom import _packages
from fathom.workloads.workload import Workload, WorkloadError, read_workload

__all__ = ["ENVIRONMENT", "all_workloads", "find_workload", "user_folder", "workload_names"]

ENVIRONMENT = "FATHOM_WORKLOADS"
_PACKAGED = Path(__file__).parent


def user_folder() -> Path:
    """Return the folder of the user's own: FATHOM_WORKLOADS, else in the configuration folder."""
    asked = os.environ.get(ENVIRONMENT)
    if asked:
        return Path(asked)

    return Path(_packages.platformdirs.user_config_dir("fathom", appauthor=False)) / "workloads"


def _files() -> dict[str, Path]:
    """Return the file of each name; the user's own stand before those of the package."""
    packaged = sorted(_PACKAGED.glob("*.toml"))
    own = sorted(user_folder().glob("*.toml"))
    return {path.stem: path for path in (*packaged, *own)}


def workload_names() -> list[str]:
    """Return all names."""
    return sorted(_files())


def all_workloads() -> list[Workload]:
    """Return all, by name.

    Raises
    ------
    WorkloadError
        If one of the files is wrong.

    """
    return [read_workload(path) for _name, path in sorted(_files().items())]


def find_workload(name: str) -> Workload:
    """Return the workload with this name.

    Raises
    ------
    WorkloadError
        If there is none, or its file is wrong.

    """
    path = _files().get(name)
    if path is None:
        raise WorkloadError(
            f"there is no workload {name!r}; there are {', '.join(workload_names())}, and those "
            f"that you put into {user_folder()}"
        )
    return read_workload(path)

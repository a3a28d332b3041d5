"""The Pacemaker of this machine: what crm_mon says now, and what its log says of before."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from fathom.clusters.model import ClusterError, EmptySourceError
from fathom.clusters.pacemaker import read_state
from fathom.clusters.read import read_source

if TYPE_CHECKING:
    from fathom.clusters.model import Found

__all__ = ["local_sources"]

_LOGS = ("/var/log/pacemaker/pacemaker.log", "/var/log/pacemaker.log")
_TIMEOUT_S = 60
_WORDS = ("-1", "--inactive", "--output-as=xml")


def local_sources(cluster: str = "cluster") -> list[Found]:
    """Return what can be read here.

    Raises
    ------
    ClusterError
        If there is no Pacemaker, or it does not answer.

    """
    program = shutil.which("crm_mon") or shutil.which("crm_mon", path="/usr/sbin:/sbin")
    if program is None:
        raise ClusterError(
            "there is no Pacemaker here (crm_mon): name files of a cluster, such as fathom "
            "resources lab=crm_mon.xml lab=pacemaker.log"
        )
    try:
        told = subprocess.run(  # noqa: S603 - crm_mon, with words of our own.
            [program, *_WORDS], capture_output=True, check=False, timeout=_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ClusterError(f"crm_mon does not answer: {error}") from error
    if not told.stdout.lstrip().startswith(b"<"):
        last = (told.stderr or told.stdout).decode(errors="replace").strip().splitlines()
        raise ClusterError(f"crm_mon told nothing: {last[-1] if last else 'it printed nothing'}")
    found = [read_state(told.stdout, cluster)]
    for one in map(Path, _LOGS):
        # One that was just rotated says nothing, and the other may.
        try:
            found += [read_source(one, cluster)] if one.exists() else []
        except EmptySourceError:
            pass
        except ClusterError as error:
            found[0].unread.append(str(error))
    return found

"""From a file to what it tells; its content says what it is, and not its name."""

from __future__ import annotations

import gzip
import io
import zlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from fathom._files import read_bytes
from fathom._text import decoded
from fathom.clusters.model import ClusterError, EmptySourceError, Found
from fathom.clusters.pacemaker import is_json_lines, read_journal, read_log, read_state
from fathom.clusters.windows import objects_of, read_clixml, read_evtx, read_objects
from fathom.clusters.written import events_of_report, is_report
from fathom.units import MIB

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_source", "read_text_of"]

_MOST_MIB = 512
_EVTX = b"ElfFile\0"
# RFC 1952; logrotate packs what it rotated.
_GZIP = b"\x1f\x8b"
_OF_CLUSTERS = ("Result of ", "pacemaker", " state is now ")


def read_source(path: Path, cluster: str) -> Found:
    """Return what a file tells of a cluster of this name.

    Raises
    ------
    EmptySourceError
        If it holds nothing.
    ClusterError
        If it cannot be read, or is none of the forms that are known; the message names it.

    """
    try:
        data = read_bytes(path, most_mib=_MOST_MIB)
        if data.startswith(_EVTX):
            return read_evtx(path, cluster)
        if data.startswith(_GZIP):
            data = _unpacked(data)
        return read_text_of(data, cluster, datetime.fromtimestamp(path.stat().st_mtime, UTC))
    except OSError as error:
        raise ClusterError(f"{path} cannot be read: {error.strerror or error}") from error
    except ClusterError as error:
        raise type(error)(f"{path}: {error}") from error


def _unpacked(data: bytes) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            found = file.read(_MOST_MIB * MIB + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise ClusterError(f"it is packed by gzip, and damaged: {error}") from error
    if len(found) > _MOST_MIB * MIB:
        raise ClusterError(f"unpacked, it has more than {_MOST_MIB:,} MiB")
    return found


def read_text_of(data: bytes, cluster: str, newest: datetime) -> Found:
    """Return what a text tells; ``newest`` is when it was last written.

    Raises
    ------
    EmptySourceError
        If it holds nothing.
    ClusterError
        If it is none of the forms that are known.

    """
    if not data.strip():
        raise EmptySourceError("it holds nothing")
    text = _decoded(data)
    start = text.lstrip()[:4096]
    if start.startswith("<"):
        is_state = "<pacemaker-result" in start or "<crm_mon" in start
        # What a declaration says of the encoding is true of the bytes as they were.
        return (read_state if is_state else read_clixml)(data, cluster)
    if is_json_lines(text):
        return read_journal(text, cluster)
    if start.startswith(("[", "{")):
        found = objects_of(text)
        if is_report(found):
            return events_of_report(found, cluster)
        if found is None:
            raise ClusterError("it begins as JSON, and is none")
        return read_objects(found, cluster)
    if not any(one in text for one in _OF_CLUSTERS):
        raise ClusterError(
            "it is neither crm_mon's XML, a log of Pacemaker, an event log (.evtx), nor a text of "
            "Export-Clixml or ConvertTo-Json"
        )
    return read_log(text, cluster, newest)


def _decoded(data: bytes) -> str:
    return decoded(data, errors="replace")

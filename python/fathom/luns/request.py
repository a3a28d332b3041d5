"""What a LUN is to be: from options or a TOML file, with each mistake named."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from fathom._addresses import place_of
from fathom._files import read_text
from fathom._text import one_line
from fathom._toml import read_toml
from fathom.errors import InvalidRequestError
from fathom.units import SIZES

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FIELDS", "LEAST_BYTES", "LunRequest", "bytes_of", "request_from", "secret_from"]

PROVIDERS = ("tgt", "ontap", "lio")
_SIZE = re.compile(r"(\d{1,12})([KMGTP]?)(?:i?B)?", re.IGNORECASE)
# RFC 3722, 3720 3.2.6.3: iqn, eui or naa.
_NAME = re.compile(
    r"(?:iqn\.\d{4}-\d\d\.[a-z0-9.-]{1,100}(?::[a-z0-9.:_-]{1,120})?|(?:eui|naa)\.[0-9a-fA-F]{16,32})"
)
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,254}")
# A host by name or number, the latter of IPv6 in brackets, with or without a port; or a network.
_HOST = re.compile(
    r"(?:\[[0-9a-fA-F:.]{2,45}\]|[0-9a-zA-Z._-]{1,253}|[0-9.]{7,15}/\d{1,2})(?::\d{1,5})?"
)
_MOST_MIB = 1
LEAST_BYTES = 4096
"""What is smaller is no disk."""

_SECRET_LEAST, _SECRET_MOST = 12, 64


@dataclass(frozen=True)
class LunRequest:
    """A LUN and how it is reached; what is None was not said.

    ``path`` is the LUN's: a file or device for ``tgt`` and ``lio``, ``/vol/...`` for ``ontap``.
    Sizes are as typed. ``target`` is the name of the iSCSI target, ``portal`` where it is reached.
    Secrets are in files or the environment alone.
    """

    on: str
    path: str
    size: str | None = None
    type: str | None = None
    target: str | None = None
    lun: int = 1
    portal: str | None = None
    initiator: str | None = None
    initiator_address: str | None = None
    chap_user: str | None = None
    chap_password_file: str | None = None
    control_port: int | None = None
    controller: str | None = None
    svm: str | None = None
    user: str | None = None
    password_file: str | None = None
    ca: str | None = None
    node: str | None = None
    aggregate: str | None = None
    disk_count: int | None = None
    volume: str | None = None
    volume_size: str | None = None
    snapshot_reserve: int | None = None
    igroup: str | None = None
    igroup_protocol: str | None = None
    igroup_type: str | None = None


FIELDS = tuple(one.name for one in fields(LunRequest))
_WHOLE = ("lun", "control_port", "disk_count", "snapshot_reserve")
_NAMES = ("svm", "node", "aggregate", "volume", "igroup", "chap_user")
_ONTAP = ("controller", "igroup")


def request_from(given: Mapping[str, object], file: Path | None = None) -> LunRequest:
    """Return what options say, over what a TOML file says.

    Raises
    ------
    InvalidRequestError
        If something is missing, unknown or wrong; the message names it.

    """
    told = {} if file is None else _of_file(file)
    whole = {**told, **{name: one for name, one in given.items() if one is not None}}
    unknown = sorted(set(whole) - set(FIELDS))
    if unknown:
        raise InvalidRequestError(
            f"{file}: there is no {unknown[0]}; there are {', '.join(FIELDS)}"
        )
    for name, value in whole.items():
        kind = int if name in _WHOLE else str
        if not isinstance(value, kind) or isinstance(value, bool):
            what = "a whole number" if kind is int else "a text"
            raise InvalidRequestError(f"{_option(name)} has to be {what}, not {value!r}")
    for name in ("on", "path"):
        if not whole.get(name):
            raise InvalidRequestError(f"{_option(name)} is missing: {_WHAT[name]}")
    request = LunRequest(**whole)  # type: ignore[arg-type]
    _check(request)
    return request


_WHAT = {"on": "tgt, ontap or lio", "path": "a file, a device, or /vol/volume/lun"}


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _of_file(file: Path) -> dict[str, object]:
    try:
        found = read_toml(file)
    except OSError as error:
        raise InvalidRequestError(f"{file} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise InvalidRequestError(f"{file} is no TOML: {error}") from error
    table = found.get("lun", found)
    if not isinstance(table, dict):
        raise InvalidRequestError(f"{file}: [lun] has to be a table")
    if any(one in table for one in ("password", "chap_password")):
        raise InvalidRequestError(
            f"{file}: a secret does not stand in it: name its file (password_file, "
            "chap_password_file), or put it into the environment"
        )
    return {name.replace("-", "_"): value for name, value in table.items()}


def _check(request: LunRequest) -> None:
    if request.on not in PROVIDERS:
        raise InvalidRequestError(f"--on is {', '.join(PROVIDERS)}, not {request.on}")
    _check_names(request)
    _check_numbers(request)
    if request.on == "ontap":
        missing = [name for name in _ONTAP if getattr(request, name) is None]
        if missing:
            raise InvalidRequestError(f"{_option(missing[0])} is missing: --on ontap needs it")
    elif request.target is None:
        raise InvalidRequestError("--target is missing: such as iqn.2026-11.org.lab:disk1")
    if request.on == "tgt" and request.lun == 0:
        raise InvalidRequestError("--lun 0 is the target's controller in tgt: take 1 or more")


def _check_names(request: LunRequest) -> None:
    if one_line(request.path) != request.path:
        raise InvalidRequestError("--path holds characters that no path needs")
    # It would begin a parameter of their own: another file would be behind the LUN than was looked
    # at, which may hold data of others.
    if request.on != "ontap" and "," in (whole := str(Path(request.path).absolute())):
        raise InvalidRequestError(
            f"--path {whole} has a comma, at which the path ends for tgtd and the kernel: name "
            "another file or folder"
        )
    for name in ("controller", "portal"):
        place = getattr(request, name)
        if place is not None and not _is_place(place):
            raise InvalidRequestError(
                f"{_option(name)} {one_line(place)!r} is no host such as 10.0.0.1 or 10.0.0.1:3260"
            )
    forms = {**dict.fromkeys(_NAMES, _PLAIN), "target": _NAME, "initiator": _NAME}
    forms["initiator_address"] = _HOST
    for name, form in forms.items():
        value = getattr(request, name)
        is_any = name.startswith("initiator") and value == "ALL"
        if value is not None and not is_any and not form.fullmatch(value):
            example = " such as iqn.2026-11.org.lab:x" if form is _NAME else ""
            raise InvalidRequestError(f"{_option(name)} {one_line(value)!r} is no name{example}")


def _is_place(text: str) -> bool:
    """Whether a connection can be asked for: a host's name or number, and a port that there is."""
    found = place_of(text)
    return found is not None and found[1] != 0 and "%" not in text


def _check_numbers(request: LunRequest) -> None:
    for name in ("size", "volume_size"):
        value = getattr(request, name)
        if value is not None:
            bytes_of(value, _option(name))
    is_file = request.on != "ontap" and request.size is not None
    if is_file and bytes_of(request.size or "", "--size") < LEAST_BYTES:
        raise InvalidRequestError(f"--size {request.size} is no disk: write 4K or more")
    limits = {"lun": (0, 16383), "disk_count": (1, 1000), "snapshot_reserve": (0, 100)}
    # tgtd holds it in 16 bits with a sign, and ends with ERANGE beyond.
    limits["control_port"] = (0, 32767)
    for name, (least, most) in limits.items():
        value = getattr(request, name)
        if value is not None and not least <= value <= most:
            raise InvalidRequestError(f"{_option(name)} is from {least} to {most}, not {value}")


def bytes_of(text: str, option: str) -> int:
    """Return the bytes of ``10G``.

    Raises
    ------
    InvalidRequestError
        If it is no size.

    """
    found = _SIZE.fullmatch(text.strip())
    count = int(found[1]) * SIZES[found[2].upper()] if found else 0
    if not 0 < count < 1 << 62:
        raise InvalidRequestError(f"{option} {one_line(text)!r} is no size: write 64M or 10G")
    return count


def secret_from(file: str | None, variable: str, what: str) -> str:
    """Return a secret from its file, else from a variable of the environment.

    Raises
    ------
    InvalidRequestError
        If there is none.

    """
    if file is None:
        found = os.environ.get(variable)
        if not found:
            raise InvalidRequestError(f"{what} is in no file and not in {variable}")
        return found
    try:
        return read_text(Path(file), most_mib=_MOST_MIB).rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequestError(f"{what} cannot be read from {file}: {error}") from error


def chap_secret(request: LunRequest) -> str:
    """Return the secret of CHAP, which has 12 to 64 characters (RFC 3720, 8.2.1).

    Raises
    ------
    InvalidRequestError
        If there is none, or it has another length.

    """
    found = secret_from(request.chap_password_file, "FATHOM_CHAP_PASSWORD", "the CHAP secret")
    if not _SECRET_LEAST <= len(found) <= _SECRET_MOST:
        raise InvalidRequestError(f"a CHAP secret has {_SECRET_LEAST} to {_SECRET_MOST} characters")
    return found

"""Telling somebody: a mail by this machine's ``sendmail``, or a request to a webhook."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from email.message import EmailMessage
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from fathom.errors import FathomError, InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["NotToldError", "check_address", "notify"]

_WAIT_S = 10.0
_ADDRESS = re.compile(r"[^@\s<>,;\x00-\x1f]+@[^@\s<>,;\x00-\x1f]+")
# Debian keeps it off the path of ordinary users.
_PLACES = "/usr/sbin:/usr/lib:/sbin"


class NotToldError(FathomError):
    """Nobody could be told; the message says why."""


def check_address(address: str) -> None:
    """Refuse what is neither ``mailto:NAME@HOST`` nor the address of a webhook.

    Raises
    ------
    InvalidRequestError
        If it is neither; its secrets are not shown.

    """
    parts = urlsplit(address)
    if parts.scheme == "mailto" and _ADDRESS.fullmatch(unquote(parts.path)):
        return
    if parts.scheme in ("http", "https") and parts.hostname:
        return
    raise InvalidRequestError("who is to be told is written mailto:NAME@HOST or https://HOST/PATH")


def notify(address: str, subject: str, facts: Mapping[str, object]) -> None:
    """Tell somebody a sentence with what it rests on.

    Raises
    ------
    NotToldError
        If it cannot be done within a short time.

    """
    check_address(address)
    parts = urlsplit(address)
    if parts.scheme == "mailto":
        _mail(unquote(parts.path), subject, facts)
    else:
        _post(address, str(parts.hostname), subject, facts)


def _mail(to: str, subject: str, facts: Mapping[str, object]) -> None:
    program = shutil.which("sendmail") or shutil.which("sendmail", path=_PLACES)
    if program is None:
        raise NotToldError(f"{to} cannot be told: there is no sendmail on this machine")
    message = EmailMessage()
    message["To"] = to
    message["Subject"] = " ".join(subject.split())
    message.set_content("\n".join([subject, "", *(f"{key}: {one}" for key, one in facts.items())]))
    try:
        done = subprocess.run(  # noqa: S603 - Its arguments are fixed.
            [program, "-t", "-i"],
            input=message.as_bytes(),
            capture_output=True,
            timeout=_WAIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotToldError(f"{to} cannot be told: {error}") from error
    if done.returncode:
        why = done.stderr.decode(errors="replace").strip()
        raise NotToldError(f"{to} cannot be told: sendmail ended with {done.returncode}: {why}")


def _post(address: str, host: str, subject: str, facts: Mapping[str, object]) -> None:
    # The field that chats show.
    body = json.dumps({"text": subject, **facts}).encode()
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(address, body, headers)  # noqa: S310 - It was checked.
    try:
        with urllib.request.urlopen(request, timeout=_WAIT_S):  # noqa: S310 - The same.
            pass
    except (OSError, ValueError) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        # The address itself is a secret of many webhooks.
        raise NotToldError(f"the webhook on {host} cannot be told: {error}") from error

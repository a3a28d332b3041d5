"""Telling somebody: a mail by this machine's ``sendmail``, or a request to a webhook."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from email.message import EmailMessage
from http import HTTPStatus
from http.client import HTTPException
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from fathom._hanging import HangingError, within
from fathom._text import one_line, without_secrets
from fathom.errors import FathomError, InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["NotToldError", "check_address", "notify"]

_WAIT_S = 10.0
# A colon would make it a group, a bracket a comment (RFC 5322, 3.4); and sendmail gets ASCII.
_ADDRESS = re.compile(r"[^@\s<>()\[\]:,;\"\\\x00-\x1f\x7f-\U0010ffff]+@[\w.-]+", re.ASCII)
_URL = re.compile(r"[!-~]+")
_MEANT = "who is to be told is written mailto:NAME@HOST or https://HOST/PATH"
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
    try:
        parts = urlsplit(address)
        is_url = _URL.fullmatch(address) is not None and parts.port != 0
    except ValueError:
        # Brackets that hold no address, or a port that is none.
        raise InvalidRequestError(_MEANT) from None
    if parts.scheme == "mailto" and _ADDRESS.fullmatch(unquote(parts.path)):
        return
    if parts.scheme not in ("http", "https") or not parts.hostname or not is_url:
        raise InvalidRequestError(_MEANT)
    if parts.username is not None:
        raise InvalidRequestError(
            f"a user and a password are not sent to the webhook on {parts.hostname}: leave out "
            "what stands before @"
        )


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
        within(_WAIT_S, "tell the webhook", lambda: _send(request))
    except HangingError as error:
        words = f"it has not answered for {_WAIT_S:.0f} s"
        raise NotToldError(f"the webhook on {host} cannot be told: {words}") from error
    except (OSError, ValueError, HTTPException) as error:
        # The address itself is a secret of many webhooks.
        words = without_secrets(one_line(_words(error)))
        raise NotToldError(f"the webhook on {host} cannot be told: {words}") from error


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows nothing: urllib would ask elsewhere by GET, and lose what was to be told."""

    def redirect_request(self, *_asked: object) -> None:
        """Leave the answer as it is, an error."""


def _send(request: urllib.request.Request) -> None:
    # A server that answers byte by byte, or a name server that does not, is no socket's timeout.
    with urllib.request.build_opener(_NoRedirect).open(request, timeout=_WAIT_S):
        pass


def _words(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        error.close()
        names = {one.value: one.phrase for one in HTTPStatus}
        words = f"HTTP Error {error.code}: {names.get(error.code, 'unknown')}"
        if 300 <= error.code < 400:  # noqa: PLR2004 - Redirections.
            words += "; name the address that it leads to"
        return words
    if isinstance(error, HTTPException) and not isinstance(error, OSError):
        return f"its answer is no HTTP ({type(error).__name__})"
    return str(error)

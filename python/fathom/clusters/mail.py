"""Sending a report: SMTP, always through TLS."""

from __future__ import annotations

import smtplib
import ssl
from typing import TYPE_CHECKING, NamedTuple

from fathom._hanging import HangingError, within
from fathom._text import without_secrets
from fathom.clusters.model import ClusterError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from email.message import EmailMessage

__all__ = ["MailServer", "send"]

_TIMEOUT_S = 30.0
# A server that answers byte by byte keeps to the above for days.
_MOST_S = 300.0
_TLS_AT_ONCE = 465


class MailServer(NamedTuple):
    """Where mail is handed in.

    ``certificates`` is a file of those that are trusted, else those of this system; ``password`` is
    never shown.
    """

    host: str
    port: int
    user: str | None = None
    password: str | None = None
    certificates: str | None = None


def send(server: MailServer, message: EmailMessage) -> None:
    """Hand a mail in.

    Raises
    ------
    ClusterError
        If it was not taken, with the server's own words and what to do.

    """
    where = f"{server.host}:{server.port}"
    if server.user is not None and not f"{server.user}{server.password or ''}".isascii():
        raise ClusterError(
            f"the mail server {where} gets no login: user and password have to be of ASCII"
        )
    try:
        refused = within(_MOST_S, "send the mail", lambda: _handed_in(server, message))
    except HangingError as error:
        raise ClusterError(
            f"the mail server {where} has not come to an end for {_MOST_S:.0f} s, and it is not "
            "known whether it took the mail"
        ) from error
    except smtplib.SMTPNotSupportedError as error:
        raise ClusterError(
            f"the mail server {where} offers no TLS or no login, and nothing was sent: {error}; "
            "name its port with TLS, such as :465"
        ) from error
    except (smtplib.SMTPException, ssl.SSLError, OSError, UnicodeError) as error:
        words = without_secrets(str(error), (server.password,) if server.password else ())
        raise ClusterError(f"the mail server {where} did not take the mail: {words}") from error
    if refused:
        raise ClusterError(f"the mail server {where} refused {', '.join(map(str, refused))}")


def _handed_in(server: MailServer, message: EmailMessage) -> Iterable[str]:
    """Return who is refused."""
    context = ssl.create_default_context(cafile=server.certificates)
    if server.port == _TLS_AT_ONCE:
        client: smtplib.SMTP = smtplib.SMTP_SSL(
            server.host, server.port, timeout=_TIMEOUT_S, context=context
        )
    else:
        client = smtplib.SMTP(server.host, server.port, timeout=_TIMEOUT_S)
    with client:
        if server.port != _TLS_AT_ONCE:
            client.starttls(context=context)
        if server.user is not None:
            client.login(server.user, server.password or "")
        return client.send_message(message)

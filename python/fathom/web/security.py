"""What every request passes before anything else sees it.

In this order: is it meant for this server (``Host``), does it come from its own pages (``Origin``),
who is it, and may that person change something. Answers carry the headers that keep a browser from
running or loading what is not ours. Sizes and times are bounded.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, NamedTuple

from starlette.exceptions import HTTPException

from fathom.web.sessions import Viewer

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from fathom.web.accounts import Accounts
    from fathom.web.sessions import Attempts, Session, Sessions
    from fathom.web.settings import Settings

__all__ = ["COOKIE_OF", "HEADERS", "Doors", "Guarded", "session_cookie"]

MOST_BODY_BYTES = 64 << 10
# How long a client may take to send its request, and to take a piece of the answer.
BODY_S, SEND_S = 15.0, 20.0
COOKIE_OF = {"http": "fathom", "https": "__Host-fathom"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), usb=()",
}
_SAFE = {"GET", "HEAD", "OPTIONS"}
# What may be seen by whoever reaches the server: the form to log in, and what draws it.
_OPEN = ("/login", "/static/")
_YEAR_S = 365 * 24 * 3600


class Refusal(NamedTuple):
    """Why a request goes no further."""

    status: int
    words: str
    wait_s: int = 0


class Doors(NamedTuple):
    """Who may come in, and by what: ``token`` is the one in the address that is printed."""

    settings: Settings
    accounts: Accounts
    sessions: Sessions
    attempts: Attempts
    token: str


def session_cookie(settings: Settings, secret: str, *, age_s: int | None = None) -> str:
    """Return the header that gives a browser its session; no script reads it, no site sends it."""
    parts = [f"{COOKIE_OF[settings.scheme]}={secret}", "HttpOnly", "SameSite=Strict", "Path=/"]
    if settings.scheme == "https":
        parts.append("Secure")
    if age_s is not None:
        parts.append(f"Max-Age={age_s}")
    return "; ".join(parts)


class Guarded:
    """An application behind all checks."""

    def __init__(self, app: ASGIApp, doors: Doors) -> None:
        """Guard this one."""
        self._app = app
        self._doors = doors
        self._hosts = doors.settings.hosts()
        self._origins = {f"{doors.settings.scheme}://{host}" for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        send = self._dressed(scope, send)
        headers = _headers(scope)
        refusal = self._stranger(scope, headers) or self._unknown(scope, headers)
        if refusal is not None:
            await _refuse(scope, send, refusal)
            return
        bounded = _Bounded(receive)
        try:
            await self._app(scope, bounded.receive, send)
        except _TooMuchError as error:
            if not bounded.has_answered(scope):
                await _refuse(scope, send, error.refusal)

    def _stranger(self, scope: Scope, headers: dict[str, str]) -> Refusal | None:
        """Refuse what is meant for another server, or comes from another's page."""
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or headers.get("host", "").lower() not in self._hosts:
            return Refusal(421, "this server does not answer under that name: see --name")
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in self._origins:
            return Refusal(403, "another site's page may ask for nothing here")
        is_foreign = headers.get("sec-fetch-site") in ("cross-site", "same-site")
        is_opened = headers.get("sec-fetch-mode") == "navigate" and scope["method"] == "GET"
        if is_foreign and not is_opened:
            return Refusal(403, "another site's page may ask for nothing here")
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length) > MOST_BODY_BYTES:
            return Refusal(413, f"a request has at most {MOST_BODY_BYTES} bytes")
        return None

    def _unknown(self, scope: Scope, headers: dict[str, str]) -> Refusal | None:
        """Refuse who is nobody, or may not do this; note who it is."""
        session = self.session_of(headers)
        viewer = session.viewer if session is not None else None
        bearer = headers.get("authorization", "")
        if viewer is None and bearer:
            found = self._bearer(scope, bearer)
            if isinstance(found, Refusal):
                return found
            viewer = found
        scope["fathom.viewer"] = viewer
        scope["fathom.doors"] = self._doors
        path = scope["path"]
        if viewer is None:
            is_open = path.startswith(_OPEN) or (path == "/" and scope["query_string"])
            return None if is_open else Refusal(401, "log in first")
        if scope["method"] in _SAFE or path == "/login":
            return None
        if viewer.csrf and path != "/logout":
            given = headers.get("x-csrf-token", "")
            if not secrets.compare_digest(given.encode(), viewer.csrf.encode()):
                return Refusal(403, "the request does not carry this session's word (CSRF)")
        if not viewer.may_measure and path != "/logout":
            return Refusal(403, f"{viewer.name} may look, and not measure")
        return None

    def session_of(self, headers: dict[str, str]) -> Session | None:
        """Return the session of a browser's cookie; not of a user who is gone or was changed."""
        settings, accounts, sessions, *_ = self._doors
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return None
        cookie = cookies.get(COOKIE_OF[settings.scheme])
        found = None if cookie is None else sessions.find(cookie.value)
        if found is None or found.is_local:
            return found
        known = {one.name: (one.role, one.hash) for one in accounts.users()}
        if known.get(found.viewer.name) != (found.viewer.role, found.proved_by):
            return None
        return found

    def _bearer(self, scope: Scope, header: str) -> Viewer | Refusal:
        doors = self._doors
        address = client_of(scope)
        wait_s = doors.attempts.wait_s(address)
        if wait_s:
            return Refusal(429, f"too many wrong tokens: wait {wait_s} s", wait_s)
        viewer = self._owner(header)
        if viewer is not None:
            return viewer
        doors.attempts.fail(address)
        return Refusal(401, "the token is not known here")

    def program_of(self, headers: dict[str, str]) -> Viewer | None:
        """Return the program whose token stands in these headers, as long as it is known."""
        return self._owner(headers.get("authorization", ""))

    def _owner(self, header: str) -> Viewer | None:
        """Return whose token a header has."""
        kind, _, token = header.partition(" ")
        if kind.lower() != "bearer" or not token:
            return None
        if self._doors.token and secrets.compare_digest(token.encode(), self._doors.token.encode()):
            return Viewer("token", "measure")
        account = self._doors.accounts.token_of(token)
        return None if account is None else Viewer(account.name, account.role)

    def _dressed(self, scope: Scope, send: Send) -> Send:
        """Return what sends with the headers of ours, and waits for no slow client."""
        more = dict(HEADERS)
        if self._doors.settings.scheme == "https":
            more["strict-transport-security"] = f"max-age={_YEAR_S}"

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                scope["fathom.answered"] = True
                have = {name for name, _ in message["headers"]}
                if b"cache-control" not in have:
                    more["cache-control"] = "no-store"
                added = [(name.encode(), value.encode()) for name, value in more.items()]
                message["headers"] = [*message["headers"], *added]
            async with asyncio.timeout(SEND_S):
                await send(message)

        return dressed


class _TooMuchError(HTTPException):
    """A request is too large or too slow; of a kind that no reader of bodies takes for a fault."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.status, refusal.words)
        self.refusal = refusal


class _Bounded:
    """Receives a request of bounded size within a bounded time."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._left_bytes = MOST_BODY_BYTES
        self._ends_s = asyncio.get_running_loop().time() + BODY_S
        self._is_whole = False

    async def receive(self) -> Message:
        if self._is_whole:
            # From here on it is only told that the client has gone.
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._ends_s):
                message = await self._receive()
        except TimeoutError:
            raise _TooMuchError(Refusal(408, "the request did not come in time")) from None
        self._left_bytes -= len(message.get("body", b""))
        if self._left_bytes < 0:
            raise _TooMuchError(Refusal(413, f"a request has at most {MOST_BODY_BYTES} bytes"))
        self._is_whole = not message.get("more_body", False)
        return message

    @staticmethod
    def has_answered(scope: Scope) -> bool:
        return bool(scope.get("fathom.answered"))


def client_of(scope: Scope) -> str:
    """Return the address that a request came from."""
    client = scope.get("client")
    return "unknown" if client is None else str(client[0])


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


async def _refuse(scope: Scope, send: Send, refusal: Refusal) -> None:
    """Answer in words; a person who opens a page without a session is led to the form."""
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    if refusal.status == 401:  # noqa: PLR2004 - Known to everybody.
        accepts = _headers(scope).get("accept", "")
        if scope["method"] == "GET" and "text/html" in accepts:
            headers.append((b"location", b"/login"))
            refusal = refusal._replace(status=303)
        else:
            headers.append((b"www-authenticate", b"Bearer"))
    if refusal.wait_s:
        headers.append((b"retry-after", str(refusal.wait_s).encode()))
    body = json.dumps({"detail": refusal.words}).encode()
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})

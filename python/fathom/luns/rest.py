"""ONTAP's REST interface: calls as its documentation has them, with errors in its own words.

https://docs.netapp.com/us-en/ontap-restapi/ (9.6 and later). A few calls through Python's own HTTP
client; the vendor's library would be 30 MB of generated classes for them.
"""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import time
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode

from fathom._text import json_of, one_line
from fathom.luns.steps import LunError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Controller", "Rest"]

_TIMEOUT_S = 60.0
_JOB_S = 600.0
_POLL_S, _LONGEST_POLL_S = 0.02, 1.0
# Far more than any controller needs; what links to itself has an end, too.
_MOST_PAGES = 1000
_MOST_BYTES = 16 << 20
_OK = range(200, 300)
_UNAUTHORISED = 401
_RUNNING = ("queued", "running", "paused", "pausing")


class Controller(NamedTuple):
    """Where the controller is, and who asks; ``ca`` is a file of certificates that are trusted."""

    host: str
    user: str
    password: str
    ca: str | None = None


class Rest:
    """A connection to one controller."""

    def __init__(self, controller: Controller) -> None:
        """Ask this one, through TLS alone."""
        self._controller = controller
        secret = f"{controller.user}:{controller.password}".encode()
        self._headers = {
            "Authorization": f"Basic {base64.b64encode(secret).decode()}",
            "Accept": "application/json",
            "Content-Type": "application/json",
        }

    def records(self, path: str, **query: str) -> list[dict[str, Any]]:
        """Return the records of a collection, of all its pages.

        Raises
        ------
        LunError
            If the controller refuses, with its own words, or its pages have no end.

        """
        more = {name.replace("__", "."): value for name, value in query.items()}
        page = f"{path}?{urlencode(more, safe='/,*')}"
        records: list[dict[str, Any]] = []
        for _ in range(_MOST_PAGES):
            found = self._call("GET", page)
            records += [one for one in found.get("records", []) if isinstance(one, dict)]
            following = _next_page(found)
            if following is None:
                return records
            page = following
        raise LunError(
            f"{self._controller.host} has more than {_MOST_PAGES:,} pages of {path}: name one by "
            "--svm, --path and --igroup"
        )

    def post(self, path: str, body: Mapping[str, object]) -> None:
        """Make something, and wait until it is.

        Raises
        ------
        LunError
            If the controller refuses, or its job fails, with its own words.

        """
        self._wait(self._call("POST", path, body))

    def delete(self, path: str) -> None:
        """Take something away, and wait until it is.

        Raises
        ------
        LunError
            As ``post``.

        """
        self._wait(self._call("DELETE", path))

    def _wait(self, answer: Mapping[str, Any]) -> None:
        """Wait for the job that the controller answers with, where it takes its time."""
        job = answer.get("job")
        uuid = job.get("uuid") if isinstance(job, dict) else None
        if not uuid:
            return
        until_s, poll_s = time.monotonic() + _JOB_S, _POLL_S
        while time.monotonic() < until_s:
            fields = urlencode({"fields": "state,message,code,error"}, safe=",")
            found = self._call("GET", f"/api/cluster/jobs/{quote(str(uuid), safe='')}?{fields}")
            if found.get("state") == "success":
                return
            if found.get("state") not in _RUNNING:
                error = found.get("error")
                told = error if isinstance(error, dict) else found
                raise LunError(_words(told, str(found.get("state"))))
            time.sleep(poll_s)
            poll_s = min(2 * poll_s, _LONGEST_POLL_S)
        raise LunError(
            f"a job of {self._controller.host} has not ended after {_JOB_S:.0f} s: {uuid}"
        )

    def _call(
        self, method: str, path: str, body: Mapping[str, object] | None = None
    ) -> dict[str, Any]:
        context = _trusting(self._controller.ca)
        try:
            connection = http.client.HTTPSConnection(
                self._controller.host, timeout=_TIMEOUT_S, context=context
            )
            try:
                text = None if body is None else json.dumps(body)
                connection.request(method, path, text, self._headers)
                answer = connection.getresponse()
                data = answer.read(_MOST_BYTES)
            finally:
                connection.close()
        except (OSError, ssl.SSLError, http.client.HTTPException, ValueError) as error:
            raise LunError(f"{self._controller.host} does not answer: {error}") from error
        return self._told(answer.status, data)

    def _told(self, status: int, data: bytes) -> dict[str, Any]:
        try:
            found = json_of(data.decode()) if data.strip() else {}
        except (ValueError, RecursionError):
            found = None
        if status == _UNAUTHORISED:
            raise LunError(
                f"{self._controller.host} does not know the user {self._controller.user}, or the "
                "password is another (code 401)"
            )
        error = found.get("error") if isinstance(found, dict) else None
        if status not in _OK or error:
            told = error if isinstance(error, dict) else {}
            raise LunError(_words(told, f"HTTP status {status}"))
        if not isinstance(found, dict):
            raise LunError(
                f"{self._controller.host} answers with no JSON: is it an ONTAP controller?"
            )
        return found


def _next_page(answer: Mapping[str, Any]) -> str | None:
    """Return where a collection goes on, as a path of the same controller; None at its end."""
    links = answer.get("_links")
    following = links.get("next") if isinstance(links, dict) else None
    href = following.get("href") if isinstance(following, dict) else None
    return href if isinstance(href, str) and href.startswith("/") else None


def _trusting(ca: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ValueError) as error:
        raise LunError(f"the certificates in {ca} cannot be used (--ca): {error}") from error


def _words(error: Mapping[str, Any], otherwise: str) -> str:
    """Return an error in the controller's words, with its code and the field that it means."""
    message = one_line(str(error.get("message") or otherwise))[:500]
    code, target = error.get("code"), error.get("target")
    field = f", field {one_line(str(target))}" if target else ""
    return f"{message} (code {one_line(str(code))}{field})" if code else message

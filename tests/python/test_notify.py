"""Telling of an alert: a mail and a webhook get what is worse, and nothing else does."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import pytest
from fathom.errors import InvalidRequestError
from fathom.notify import NotToldError, check_address, notify

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FACTS = {"outcome": "worse", "run": 12}
GOT: list[dict[str, object]] = []


class _Hook(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        GOT.append(json.loads(body))
        self.send_response(204 if self.path == "/here" else 500)
        self.end_headers()

    def log_message(self, *_words: object) -> None:
        pass


@pytest.fixture
def hook() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Hook) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_webhook_gets_the_sentence_and_what_it_rests_on(hook: str) -> None:
    notify(f"{hook}/here", "IOPS fell", FACTS)
    assert GOT[-1] == {"text": "IOPS fell", **FACTS}
    with pytest.raises(
        NotToldError, match=r"on 127\.0\.0\.1 cannot be told: HTTP Error 500"
    ) as told:
        notify(f"{hook}/secret-of-the-hook", "IOPS fell", FACTS)
    assert "secret" not in str(told.value)


def test_a_mail_goes_through_sendmail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "sendmail"
    program.write_text(f"#!/bin/sh\ncat > {tmp_path}/mail\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    notify("mailto:ann@example.org", "IOPS fell\nBcc: evil@example.org", FACTS)
    head, _, body = (tmp_path / "mail").read_text().partition("\n\n")
    assert "To: ann@example.org" in head
    # What is reported begins no header of its own.
    assert "\nBcc:" not in head
    assert "run: 12" in body
    program.write_text("#!/bin/sh\necho no >&2; exit 75\n")
    with pytest.raises(NotToldError, match="ended with 75: no"):
        notify("mailto:ann@example.org", "IOPS fell", FACTS)


@pytest.mark.parametrize(
    "address",
    ["ann@example.org", "mailto:", "mailto:a@b,c@d", "file:///etc/passwd", "https://", "ftp://x/y"],
)
def test_other_addresses_are_refused(address: str) -> None:
    with pytest.raises(InvalidRequestError, match="mailto:NAME@HOST or https"):
        check_address(address)

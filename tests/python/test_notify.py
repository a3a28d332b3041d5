"""Telling of an alert: a mail and a webhook get what is worse, and nothing else does."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import fathom.notify as telling
import pytest
from commands import command
from fathom import report as reports
from fathom.cli import main
from fathom.errors import InvalidRequestError
from fathom.notify import NotToldError, check_address, notify
from fathom.store import Store
from test_trend import history, save

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

FACTS = {"outcome": "worse", "run": 12}
GOT: list[dict[str, object]] = []


class _Hook(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def do_POST(self) -> None:
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("location", "/secret")
            self.end_headers()
            return
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


@pytest.mark.parametrize(
    "address",
    [
        "http://[::1/secret",
        "https://host:secret/",
        "https://host/sec ret",
        "https://host/secr\N{LATIN SMALL LETTER E WITH ACUTE}t",
        "https://me:secret@host/",
        "mailto:secret:a@b",
        "mailto:(secret)a@b",
        "mailto:s\N{LATIN SMALL LETTER E WITH ACUTE}cret@b",
    ],
)
def test_an_address_that_reaches_nobody_was_taken_or_ended_in_a_traceback(address: str) -> None:
    with pytest.raises(InvalidRequestError) as told:
        check_address(address)
    assert "secret" not in str(told.value)


@pytest.fixture
def answering() -> Iterator[Callable[[bytes, float], str]]:
    """Make servers that answer a request with some bytes, and then with one more each time."""
    ends: list[socket.socket] = []

    def serve(answer: bytes, every_s: float) -> str:
        server = socket.create_server(("127.0.0.1", 0))
        ends.append(server)

        def once() -> None:
            with server.accept()[0] as one:
                one.recv(65536)
                one.sendall(answer)
                while every_s:
                    time.sleep(every_s)
                    one.sendall(b"x")

        def run() -> None:
            # Whoever asked does not wait for all of it.
            try:
                once()
            except OSError:
                return

        threading.Thread(target=run, daemon=True).start()
        return f"http://127.0.0.1:{server.getsockname()[1]}/secret"

    yield serve
    for one in ends:
        one.close()


@pytest.mark.parametrize(
    "answer", [b"\0 no HTTP\r\n\r\n", b"HTTP/1.1 2xx\r\n\r\n", b"", b"x" * 70000]
)
def test_an_answer_that_is_no_http_ended_in_a_traceback(
    answering: Callable[[bytes, float], str], answer: bytes
) -> None:
    with pytest.raises(NotToldError, match=r"the webhook on 127\.0\.0\.1 cannot be told") as told:
        notify(answering(answer, 0), "IOPS fell", FACTS)
    assert "secret" not in str(told.value)


def test_a_server_that_answers_byte_by_byte_was_waited_for_without_end(
    answering: Callable[[bytes, float], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telling, "_WAIT_S", 1.0)
    with pytest.raises(NotToldError, match="has not answered for 1 s"):
        notify(answering(b"HTTP/1.1 200 OK\r\n", 0.2), "IOPS fell", FACTS)


def test_what_was_to_be_told_was_lost_at_a_redirection_and_called_told(hook: str) -> None:
    with pytest.raises(NotToldError, match="HTTP Error 302: Found; name the address") as told:
        notify(f"{hook}/moved", "IOPS fell", FACTS)
    assert "secret" not in str(told.value)


def test_a_picture_that_could_not_be_written_kept_an_alert_from_being_told(
    hook: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Store(os.environ["FATHOM_STORE"]) as kept:
        save(kept, history())
    before = len(GOT)
    # Its folder went behind the first look.
    monkeypatch.setattr(reports, "check_place", lambda *_args, **_more: None)
    alert = ["trend", "60", "--alert", "--notify", f"{hook}/here"]
    monkeypatch.setattr(sys, "argv", ["fathom", *alert, "-o", str(tmp_path / "none/t.json")])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert (ended.value.code, "none/t.json cannot be written" in said.err) == (1, True), said.err
    assert "IOPS changed once" in said.out
    assert len(GOT) == before + 1


def test_who_is_to_be_told_is_not_swallowed_where_series_are_listed(hook: str) -> None:
    done = command("trend", "--notify", f"{hook}/here")
    assert (done.returncode, "--notify is for one series" in done.stderr) == (3, True)

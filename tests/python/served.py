"""A real ``fathom serve`` for tests, in a folder of its own."""

from __future__ import annotations

import os
import re
import shutil
import signal
import ssl
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import httpx
import pytest
from commands import COMMAND, Forked, forked, program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

START_S = 90.0


class Server(NamedTuple):
    """A server that answers: its process, where it is, and the token that it printed."""

    process: Forked
    base: str
    token: str
    folder: Path

    @property
    def port(self) -> int:
        """The port that it took."""
        return int(self.base.rpartition(":")[2])

    def client(self, **more: object) -> httpx.Client:
        """Return one who has no session."""
        return httpx.Client(base_url=self.base, timeout=60, **more)  # type: ignore[arg-type]

    def program(self) -> httpx.Client:
        """Return a program with the token."""
        return self.client(headers={"authorization": f"Bearer {self.token}"})

    def browser(self) -> tuple[httpx.Client, dict[str, str]]:
        """Return a browser's session, and the header of requests that change something."""
        found = self.client()
        assert found.get("/", params={"token": self.token}).status_code == 303
        page = found.get("/").text
        word = re.search('name="fathom-csrf" content="([^"]+)"', page)
        assert word is not None
        return found, {"x-csrf-token": word[1]}

    def kill(self) -> None:
        """End it as a power cut does."""
        self.process.end(signal.SIGKILL)


@contextmanager
def served(folder: Path, *words: str) -> Iterator[Server]:
    """Start a server, and end it. It is forked, and so is what it starts."""
    environment = {"FATHOM_STORE": str(folder / "store.sqlite")}
    asked = ["serve", "--port", "0", "--folder", str(folder / "serve"), *words]
    near, far = os.pipe()
    with open(near, encoding="utf-8") as told:  # noqa: PTH123 - A pipe has no path.
        process = forked(*asked, out=far, cwd=folder, environment=environment, before=_forking())
        os.close(far)
        try:
            line = told.readline()
            found = re.search(r"(https?://\S+?)/(?:\?token=(\S+))?$", line.strip())
            assert found is not None, line
            yield Server(process, found[1], found[2] or "", folder)
        finally:
            process.end()


def _forking() -> str:
    """Return what has a server start a ``fathom`` that is forked."""
    how = f"asking.command = processes.command = lambda: [{str(program())!r}]"
    return f"from fathom.web import asking, processes\n{how}"


def wait_for(what: Callable[[], object], answer: object = True, most_s: float = 90.0) -> None:  # noqa: FBT002
    """Wait until a function answers so."""
    ends_s = time.monotonic() + most_s
    seen = what()
    while seen != answer:
        assert time.monotonic() < ends_s, seen
        time.sleep(0.1)
        seen = what()


def explained(client: httpx.Client, headers: dict[str, str], *words: str) -> dict[str, str]:
    """Return what starts a run that was explained."""
    asked = {"verb": "run", "arguments": [*words]}
    told = client.post("/api/v1/explanations", json=asked, headers=headers)
    assert told.status_code == 200, told.text
    assert told.json()["would_run"], told.text
    return {"explanation": told.json()["id"]}


def started(client: httpx.Client, headers: dict[str, str], *words: str) -> str:
    """Explain and start a run, and return its id."""
    wanted = explained(client, headers, *words)
    begun = client.post("/api/v1/processes", json=wanted, headers=headers)
    assert begun.status_code == 201, begun.text
    name: str = begun.json()["id"]
    return name


def certified(folder: Path) -> tuple[Path, Path]:
    """Return a certificate for this machine, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    words = "openssl req -x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:P-256 -days 2"
    words += " -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    made = [*words.split(), "-out", str(certificate), "-keyout", str(key)]
    subprocess.run(made, check=True, capture_output=True)
    return certificate, key


def trusting(folder: Path) -> ssl.SSLContext:
    """Return what believes the certificate of a folder alone."""
    return ssl.create_default_context(cafile=str(folder / "certificate.pem"))


def typed(line: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command that reads a line."""
    return subprocess.run(
        [*COMMAND, *words], input=f"{line}\n", capture_output=True, text=True, check=False
    )

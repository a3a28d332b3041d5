"""Certificates of a fleet that no other end takes are refused where they are, and are renewed."""

from __future__ import annotations

import datetime as dt
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

import fathom
import pytest
from commands import command
from cryptography import x509
from fathom.fleet.certificates import certificate_files, make_certificates
from fleet_hosts import start
from ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fathom.fleet.roles import Role


def _copied(tls: Path, folder: Path, **other: str) -> Path:
    """Copy certificates; ``other`` are those that are put in the place of a role's."""
    shutil.copytree(tls, folder)
    for role, instead in other.items():
        for end in ("pem", "key"):
            shutil.copyfile(tls / f"{instead}-a.{end}", folder / f"{role}-a.{end}")
    return folder


def test_renewed_certificates_were_of_an_authority_that_had_expired(tmp_path: Path) -> None:
    tls = tmp_path / "tls"
    begun = dt.datetime.now(tz=dt.UTC) - dt.timedelta(days=8)
    make_certificates(tls, ["a", "b"], 7, at=begun)
    old, key = (tls / "ca.pem").read_bytes(), (tls / "ca.key").read_bytes()
    with pytest.raises(fathom.FathomError, match=r"ca\.pem has expired \(\d{4}-.*ca\.key is"):
        certificate_files(tls, "worker", "a")
    make_certificates(tls, ["a"], 7)
    assert certificate_files(tls, "worker", "a").host() == "a"
    # The others are refused by name, and what a host kept of the authority knows the new ones.
    with pytest.raises(fathom.FathomError, match=r"worker-b\.pem has expired"):
        certificate_files(tls, "worker", "b")
    assert (tls / "ca.key").read_bytes() == key
    authority = x509.load_pem_x509_certificate(old)
    made = x509.load_pem_x509_certificate((tls / "worker-a.pem").read_bytes())
    made.verify_directly_issued_by(authority)


def test_files_that_no_other_end_takes_were_found_out_by_the_silence(tmp_path: Path) -> None:
    tls = tmp_path / "tls"
    make_certificates(tls, ["a"])
    foreign = _copied(tls, tmp_path / "foreign")
    make_certificates(tmp_path / "another", ["a"])
    shutil.copyfile(tmp_path / "another/ca.pem", foreign / "ca.pem")
    with pytest.raises(fathom.FathomError, match=r"client-a\.pem is of another authority than"):
        certificate_files(foreign, "client", "a")
    with pytest.raises(fathom.FathomError, match=r"ca\.pem is of another key"):
        make_certificates(foreign, ["b"])
    swapped = _copied(tls, tmp_path / "swapped", worker="client", client="worker")
    roles: tuple[Role, ...] = ("worker", "client")
    for role in roles:
        with pytest.raises(fathom.FathomError, match=rf"{role}-a\.pem is no {role}'s certificate"):
            certificate_files(swapped, role, "a")
    later = dt.datetime.now(tz=dt.UTC) + dt.timedelta(days=2)
    make_certificates(tmp_path / "later", ["a"], at=later)
    with pytest.raises(fathom.FathomError, match=r"valid from \d{4}.*clock of this host.*set it"):
        certificate_files(tmp_path / "later", "coordinator", "a")


@contextmanager
def _coordinator(folder: Path) -> Iterator[str]:
    """Start a coordinator with certificates of its own, and yield its address."""
    make_certificates(folder / "tls", ["127.0.0.1"])
    place = f"127.0.0.1:{free_port()}"
    words = ["fleet", "start", "--tls", str(folder / "tls"), "--listen", place]
    running = start(words, folder / "coordinator")
    try:
        running.wait_for("coordinator of version")
        yield place
    finally:
        running.end()


def test_a_host_of_another_authority_waited_for_ever_without_a_word(tmp_path: Path) -> None:
    make_certificates(tmp_path / "other", ["a"])
    with _coordinator(tmp_path) as place:
        done = command("fleet", "join", "--tls", tmp_path / "other", place)
    assert done.returncode == 1
    assert f"host a cannot join {place}" in done.stderr
    assert "certificates of one authority" in done.stderr


def test_a_coordinator_that_is_not_there_yet_is_waited_for_and_that_is_said(
    tmp_path: Path,
) -> None:
    make_certificates(tmp_path / "tls", ["a"])
    place = f"127.0.0.1:{free_port()}"
    words = ["fleet", "join", "--tls", str(tmp_path / "tls"), place]
    host = start(words, tmp_path / "log")
    try:
        host.wait_for(f"the coordinator {place} gives no answer")
        host.wait_for("waiting for it")
    finally:
        host.end()

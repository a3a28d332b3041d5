"""The certificates of a fleet: an authority of its own, and one certificate per role and host."""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
import re
import shlex
import ssl
from typing import TYPE_CHECKING, NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fathom._files import is_empty, nothing, replacing
from fathom.errors import FathomError, InvalidRequestError
from fathom.fleet.roles import ROLES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from fathom.fleet.roles import Role

__all__ = ["Identity", "certificate_files", "make_certificates"]

_ORGANISATION = "Fathom fleet"
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._:-]{0,62}[A-Za-z0-9])?")
_DAYS = 365
# Clocks of hosts differ, and a certificate that is not valid yet is hard to find.
_EARLIER = dt.timedelta(hours=1)
_CURVE = ec.SECP256R1
_USES = {
    # A coordinator and a worker listen, and connect to others as well.
    "coordinator": (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH),
    "worker": (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH),
    "client": (ExtendedKeyUsageOID.CLIENT_AUTH,),
}


class Identity(NamedTuple):
    """The files that one end needs: the authority's certificate, its own, and its key."""

    authority: Path
    certificate: Path
    key: Path

    def host(self) -> str:
        """Return the host that the certificate was made for, which its file may not spell."""
        found = x509.load_pem_x509_certificate(self.certificate.read_bytes())
        (name,) = found.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        return str(name.value)


class _Validity(NamedTuple):
    begins: dt.datetime
    days: int

    def ends(self) -> dt.datetime:
        return self.begins + dt.timedelta(days=self.days)


class _Signer(NamedTuple):
    """An authority: its certificate and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def make_certificates(
    folder: Path, hosts: Sequence[str], days: int = _DAYS, *, at: dt.datetime | None = None
) -> list[Path]:
    """Write the certificates of these hosts, and return their files.

    Certificates of a fleet that are there for them are replaced, and no other file is. The
    authority is made once; later calls add hosts, signed by it. Where it would end before them, its
    certificate is renewed, and every host needs the new ``ca.pem``. Who has ``ca.key`` can make any
    certificate, so it is for the administrator alone, and no host needs it. ``at`` is when they
    begin to be valid; now by default.

    Raises
    ------
    InvalidRequestError
        If a name is not that of a host.
    FathomError
        If a file cannot be written, one of somebody else's is there, or the authority that is there
        cannot be read.

    """
    wrong = [host for host in hosts if not _HOST.fullmatch(host) and not _is_address(host)]
    if wrong or not hosts:
        named = repr(wrong[0]) if wrong else "no host"
        raise InvalidRequestError(f"--hosts: {named} is not the name or address of a host")
    if not 1 <= days <= 10 * _DAYS:
        raise InvalidRequestError(f"--days is from 1 to {10 * _DAYS}, not {days}")
    valid = _Validity(at or dt.datetime.now(tz=dt.UTC), days)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for host in hosts:
            for role in ROLES:
                _refuse_others(*_files_of(folder, host, role))
        signer = _authority(folder, valid)
        made = [
            file
            for host in dict.fromkeys(hosts)
            for role in ROLES
            for file in _issued(folder, signer, host, role, valid)
        ]
    except OSError as error:
        words = f"{error.filename or folder}: {error.strerror or error}"
        raise FathomError(f"the certificates cannot be written to {folder}: {words}") from error
    except ValueError as error:
        raise FathomError(f"{folder}/ca.key is not an authority's key: {error}") from error
    return [folder / "ca.pem", folder / "ca.key", *made]


def certificate_files(folder: Path, role: Role, host: str | None = None) -> Identity:
    """Return the files of a role; of the only host that the folder has, if none is named.

    Raises
    ------
    FathomError
        If they are not there, are no certificate and key that belong together, are not valid now,
        or others may read the key; it says what to do.

    """
    if host is None:
        found = sorted(folder.glob(f"{role}-*.pem"))
        if len(found) > 1:
            names = ", ".join(one.stem.removeprefix(f"{role}-") for one in found)
            raise InvalidRequestError(
                f"{folder} has certificates of several hosts ({names}): say which with --host"
            )
        stem = found[0].stem if found else f"{role}-HOST"
    else:
        stem = f"{role}-{_file_name(host)}"
    files = Identity(folder / "ca.pem", folder / f"{stem}.pem", folder / f"{stem}.key")
    for file in files:
        if not os.access(file, os.R_OK):
            why = "cannot be read" if file.exists() else "is not there"
            raise FathomError(
                f"{file} {why}: fathom fleet certificates makes certificates, and each host needs "
                f"ca.pem and the two files of its role"
            )
    _must_be_kept(files.key)
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(files.authority)
        context.load_cert_chain(files.certificate, files.key)
    except ssl.SSLError as error:
        names = ", ".join(one.name for one in files)
        raise FathomError(
            f"{names} in {folder} are no certificates with their key ({error.reason or error}): "
            "copy them again, or make others (fathom fleet certificates)"
        ) from error
    _check_that_it_is_valid(files, role)
    return files


def _check_that_it_is_valid(files: Identity, role: Role) -> None:
    """Refuse what no other end takes: it would be known there alone, and here as no answer."""
    authority, own = (
        x509.load_pem_x509_certificate(one.read_bytes())
        for one in (files.authority, files.certificate)
    )
    try:
        own.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        raise FathomError(
            f"{files.certificate} is of another authority than {files.authority}: copy both again "
            "from the folder that fathom fleet certificates has written"
        ) from None
    units = own.subject.get_attributes_for_oid(NameOID.ORGANIZATIONAL_UNIT_NAME)
    if [one.value for one in units] != [role]:
        raise FathomError(
            f"{files.certificate} is no {role}'s certificate: copy that and its key again from the "
            "folder that fathom fleet certificates has written"
        )
    now = dt.datetime.now(tz=dt.UTC)
    for file, found in ((files.authority, authority), (files.certificate, own)):
        if now > found.not_valid_after_utc:
            raise FathomError(
                f"{file} has expired ({found.not_valid_after_utc:%Y-%m-%d %H:%M} UTC): make it "
                "again where ca.key is (fathom fleet certificates), and copy it to its hosts"
            )
        if now < found.not_valid_before_utc:
            raise FathomError(
                f"{file} is valid from {found.not_valid_before_utc:%Y-%m-%d %H:%M} UTC on, and the "
                f"clock of this host shows {now:%Y-%m-%d %H:%M} UTC: set it"
            )


def _must_be_kept(key: Path) -> None:
    """Refuse a key that others may read: whoever has it is taken for this host."""
    if key.stat().st_mode & 0o077:
        raise FathomError(f"{key} may be read by others: chmod 600 {shlex.quote(str(key))}")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return "%" not in host


def _file_name(host: str) -> str:
    return host.replace(":", "_")


def _authority(folder: Path, valid: _Validity) -> _Signer:
    certificate, key = folder / "ca.pem", folder / "ca.key"
    if key.exists() and certificate.exists():
        kept = serialization.load_pem_private_key(key.read_bytes(), None)
        if not isinstance(kept, ec.EllipticCurvePrivateKey):
            raise ValueError("it is of another kind")
        known = x509.load_pem_x509_certificate(certificate.read_bytes())
        if known.public_key() != kept.public_key():
            raise ValueError("ca.pem is of another key")
        if known.not_valid_after_utc < valid.ends() - _EARLIER:
            # Nobody takes a certificate for longer than the authority's own. The key stays, so that
            # hosts which have the old one know what it signs until that ends.
            known = _signed_by_itself(kept, known.subject, valid)
            _write(certificate, _pem_of_certificate(known), 0o644, _is_certificate)
        return _Signer(known, kept)
    for one, other in ((certificate, key), (key, certificate)):
        if os.path.lexists(one):
            raise FathomError(
                f"{one} is there without {other.name}, and an authority has both: put that back, "
                "or move this away to have another authority made"
            )
    made = ec.generate_private_key(_CURVE())
    # Random, so that two authorities do not look alike in a message.
    name = _subject(f"authority {x509.random_serial_number():x}"[:42], "authority")
    signed = _signed_by_itself(made, name, valid)
    _write(key, _pem_of(made), 0o600, nothing)
    _write(certificate, _pem_of_certificate(signed), 0o644, nothing)
    return _Signer(signed, made)


def _signed_by_itself(
    made: ec.EllipticCurvePrivateKey, name: x509.Name, valid: _Validity
) -> x509.Certificate:
    builder = _begun(name, name, made, valid).add_extension(
        x509.BasicConstraints(ca=True, path_length=0), critical=True
    )
    builder = builder.add_extension(
        x509.KeyUsage(
            digital_signature=False, content_commitment=False, key_encipherment=False,
            data_encipherment=False, key_agreement=False, key_cert_sign=True, crl_sign=True,
            encipher_only=False, decipher_only=False,
        ),
        critical=True,
    )  # fmt: skip
    identifier = x509.SubjectKeyIdentifier.from_public_key(made.public_key())
    return builder.add_extension(identifier, critical=False).sign(made, hashes.SHA256())


def _issued(folder: Path, signer: _Signer, host: str, role: Role, valid: _Validity) -> list[Path]:
    key = ec.generate_private_key(_CURVE())
    builder = _begun(_subject(host, role), signer.certificate.subject, key, valid)
    for extension, is_critical in (
        (x509.BasicConstraints(ca=False, path_length=None), True),
        (x509.ExtendedKeyUsage(_USES[role]), False),
        (x509.SubjectAlternativeName([_alternative(host)]), False),
        (x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.key.public_key()), False),
    ):
        builder = builder.add_extension(extension, critical=is_critical)
    signed = builder.sign(signer.key, hashes.SHA256())
    files = _files_of(folder, host, role)
    _write(files[0], _pem_of_certificate(signed), 0o644, _is_certificate)
    _write(files[1], _pem_of(key), 0o600, _is_key)
    return files


def _files_of(folder: Path, host: str, role: Role) -> list[Path]:
    return [folder / f"{role}-{_file_name(host)}{end}" for end in (".pem", ".key")]


def _refuse_others(certificate: Path, key: Path) -> None:
    """Refuse files that no fleet has put there; a key is known by the certificate beside it."""
    is_ours = _is_certificate(certificate)
    for file, may_go in (
        (certificate, is_ours),
        (key, is_empty(key) or (is_ours and _is_key(key))),
    ):
        if os.path.lexists(file) and not may_go:
            raise FathomError(
                f"{file} is not of a fleet of Fathom's, and is not replaced: move it away, or name "
                "another folder"
            )


def _is_certificate(file: Path) -> bool:
    """Whether a file is a certificate of a fleet, or empty."""
    if is_empty(file):
        return True
    try:
        found = x509.load_pem_x509_certificate(file.read_bytes())
        names = found.issuer.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    except (OSError, ValueError):
        return False
    return [one.value for one in names] == [_ORGANISATION]


def _is_key(file: Path) -> bool:
    """Whether a file is a key of the kind that a fleet has, or empty."""
    if is_empty(file):
        return True
    try:
        found = serialization.load_pem_private_key(file.read_bytes(), None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm):
        return False
    return isinstance(found, ec.EllipticCurvePrivateKey) and isinstance(found.curve, _CURVE)


def _subject(name: str, unit: str) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, _ORGANISATION),
            x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, unit),
            x509.NameAttribute(NameOID.COMMON_NAME, name),
        ]
    )


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _begun(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, valid: _Validity
) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer)
    builder = builder.public_key(key.public_key()).serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(valid.begins - _EARLIER)
    return builder.not_valid_after(valid.ends())


def _pem_of_certificate(found: x509.Certificate) -> bytes:
    return found.public_bytes(serialization.Encoding.PEM)


def _pem_of(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _write(path: Path, data: bytes, mode: int, may_go: Callable[[Path], bool]) -> None:
    """Write a file that nobody else can read meanwhile, and put it in its place at once."""
    if path.exists() and may_go(path):
        # What replaces it has its mode.
        path.chmod(mode)
    with replacing(path, may_go=may_go) as unfinished:
        unfinished.write_bytes(data)
    path.chmod(mode)

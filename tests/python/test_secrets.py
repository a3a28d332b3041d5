"""Passwords of addresses are printed by nothing."""

from __future__ import annotations

import traceback

import pytest
from commands import command
from fathom._text import without_secrets
from fathom.store import Store, StoreError

SECRET = "s3cr3t-Wort"  # noqa: S105 - Of nothing.
ADDRESSES = (
    f"postgresql://host.invalid/db?user=u&password={SECRET}",
    f"postgresql://user:{SECRET}@host.invalid/db",
    f"postgresql://user:p@{SECRET}@host.invalid/db",
    f"postgresql://user:{SECRET}%40x@host.invalid/db",
    f"postgresql://user@host.invalid/db?sslpassword={SECRET}&sslmode=require",
    f"postgresql://user@host.invalid/db?passfile=/tmp/{SECRET}",
    f"postgresql://user@host.invalid/db?options=-c%20password%3D{SECRET}",
    f"postgresql://user@host.invalid/db?password={SECRET}&no_such_option=1",
    f"postgresql://user@host.invalid:port/db?password={SECRET}",
    f"mysql://user:{SECRET}@host.invalid/db?password={SECRET}",
    f"sqlite:///?password={SECRET}",
    f"postgresql://user:{SECRET}@[host.invalid/db",
)


@pytest.mark.parametrize("address", ADDRESSES)
def test_break_7_no_password_is_printed(address: str) -> None:
    with pytest.raises(StoreError) as told:
        Store(address, wait_s=0.1)
    error: BaseException | None = told.value
    assert SECRET not in "".join(traceback.format_exception(error))
    while error is not None:
        assert SECRET not in str(error)
        error = error.__cause__


@pytest.mark.parametrize("address", ADDRESSES[:3])
def test_break_7_no_command_prints_it(address: str) -> None:
    ways = [(["--store", address], {}), ([], {"FATHOM_STORE": address})]
    for words, environment in ways:
        done = command("list", *words, environment={**environment, "PGPASSWORD": SECRET})
        assert done.returncode == 1
        assert SECRET not in done.stdout + done.stderr
        assert "store" in done.stderr
    helped = command("list", "--help", environment={"FATHOM_STORE": address})
    assert SECRET not in helped.stdout


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://u:p@ss@host/db", "postgresql://u:***@host/db"),
        ("postgresql://h/db?user=u&password=P&x=1", "postgresql://h/db?user=u&password=***&x=1"),
        ("host=h password='a b' user=u", "host=h password=*** user=u"),
        ("host=h PGPASSWORD=x", "host=h PGPASSWORD=***"),
        ("https://host/path?x=1", "https://host/path?x=1"),
        ("postgresql://user@host/db", "postgresql://user@host/db"),
        ("-b4K -r -w100 x.dat", "-b4K -r -w100 x.dat"),
    ],
)
def test_only_secrets_are_hidden(text: str, shown: str) -> None:
    assert without_secrets(text) == shown

"""What is redacted names no host, serial number, path or user, in no form and no corner of it."""

from __future__ import annotations

import copy
import json
import re
import sqlite3
import zipfile
import zlib
from contextlib import closing
from typing import TYPE_CHECKING, Any

import fathom
import pytest
from commands import command
from fathom._redact import Pseudonyms
from fathom.store import Store
from store_worker import RESULT

if TYPE_CHECKING:
    from pathlib import Path

HOST, USER, SERIAL = "dbprod7", "zoe77", "S4EWNX0R123456"
PATH = f"/home/{USER}/wages/scratch.dat"
UUID = "8c3f6f3e-1111-4b5c-9d0e-aabbccddeeff"
WWN = "naa.5000c500a1b2c3d4"
SECRETS = (HOST, USER, SERIAL, PATH, "wages", UUID, WWN)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a store, in which two runs of one host and disk name them all over."""
    monkeypatch.setenv("FATHOM_STORE", str(tmp_path / "store.sqlite"))
    raw: dict[str, Any] = copy.deepcopy(dict(RESULT.raw))
    text = json.dumps(raw).replace("scratch.dat", PATH)
    raw = json.loads(text)
    raw["host"]["name"] = HOST
    raw["warnings"][0]["evidence"] = f"{PATH} on {HOST} lies on {SERIAL} ({WWN}, {UUID})"
    result = fathom.Result.from_json(json.dumps(raw))
    with Store() as store:
        for label in (f"night on {HOST}", f"{PATH} again"):
            store.runs.save(result, ["-b4K", "-r", "-L", f"-X{PATH}.xml", PATH], label=label)
        store.runs.save(result, ["-b4K", "-r", "-w30", PATH], label="plain")
    with closing(sqlite3.connect(tmp_path / "store.sqlite")) as connection, connection:
        connection.execute("UPDATE run_targets SET device_serial = ?", [SERIAL])
    connection.close()
    return tmp_path


def unpacked(path: Path) -> str:
    """Return all that a file says, however it is packed."""
    data = path.read_bytes()
    if path.suffix == ".xlsx":
        with zipfile.ZipFile(path) as packed:
            data = b"".join(packed.read(name) for name in packed.namelist())
    elif path.suffix == ".parquet":
        import pyarrow.parquet as pq  # noqa: PLC0415 - Slow to import.

        table = pq.read_table(path)
        data = (str(table.schema) + str(table.to_pylist())).encode()
    elif path.suffix == ".pdf":
        for piece in re.findall(rb"stream\n(.*?)\nendstream", data, re.DOTALL):
            try:
                data += zlib.decompress(piece)
            except zlib.error:
                continue
    return data.decode("utf-8", "replace")


def test_a_redacted_report_names_nothing_of_its_owner(here: Path) -> None:
    for form in ("html", "md", "pdf"):
        done = command("report", "1", "2", "--redact", "-o", f"r.{form}", cwd=here)
        assert done.returncode == 0, done.stderr
        told = unpacked(here / f"r.{form}")
        assert [one for one in SECRETS if one in told] == []
    page = (here / "r.html").read_text()
    assert "path-1" in page
    shown = command("report", "1", "--redact", "--json", cwd=here).stdout
    shown += command("report", "1", "--redact", "--terminal", cwd=here).stdout
    assert [one for one in SECRETS if one in shown] == []
    plain = command("report", "1", "--json", cwd=here).stdout
    assert PATH in plain
    assert command("report", "1", "--redact", cwd=here).returncode == 0
    assert (here / "fathom-report-redacted.html").exists()


def test_a_redacted_export_names_nothing_of_its_owner_and_still_joins(here: Path) -> None:
    for form in ("csv", "json", "xlsx", "parquet"):
        done = command("export", "--redact", "-o", f"x.{form}", cwd=here)
        assert done.returncode == 0, done.stderr
        told = unpacked(here / f"x.{form}")
        assert [one for one in SECRETS if one in told] == []
    rows = json.loads((here / "x.json").read_text())
    for name in ("host_name", "device_serial"):
        assert len({row[name] for row in rows}) == 1
    assert {row["host_name"] for row in rows} == {"host-1"}
    done = command("export", "--redact", "--table", "whole", "--format", "json", cwd=here)
    assert done.returncode == 0, done.stderr
    assert [one for one in SECRETS if one in done.stdout] == []
    for form in ("fio", "diskspd", "xml"):
        done = command("export", "3", "--redact", "--format", form, cwd=here)
        assert done.returncode == 0, done.stderr
        assert [one for one in SECRETS if one in done.stdout] == []


def test_the_same_value_has_the_same_name_wherever_it_stands() -> None:
    names = Pseudonyms()
    names.learn("host", "db7")
    names.learn("path", "/srv/a b/x.dat")
    assert names.text("db7 wrote /srv/a b/x.dat on db7.") == "host-1 wrote path-1 on host-1."
    other = names.text("/etc/x and C:\\Users\\bob\\x.dat")
    assert other == "path-2 and path-3"
    assert names.text("at /etc/x, I/O of 5 MiB/s, read/write, 1/2") == (
        "at path-2, I/O of 5 MiB/s, read/write, 1/2"
    )
    assert names.text("mydb7 db7x") == "mydb7 db7x"

"""Private databases: what they use of the machine is theirs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fathom.databases.account import account_for
from fathom.databases.postgresql import Binaries, Databases, Settings

# A server whose connection has ended, and which has not seen that: it never looks.
_SERVER = """
import os, resource, sys
if not os.fork():
    while sum(resource.getrusage(resource.RUSAGE_SELF)[:2]) < 0.3:
        pass
    print(flush=True)
    os._exit(0)
sys.stdin.read()
"""


def test_what_a_connection_had_used_was_called_other_programs_until_its_server_saw_its_end() -> (
    None
):
    binaries, account = Binaries(Path("/nowhere"), "15"), account_for()
    databases = Databases(Path("/nowhere"), binaries, account, Settings(1, 1, "select-only"))
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", _SERVER], stdin=pipe, stdout=pipe) as process:
        before_s = databases.own_cpu_s()
        servers: list[Any] = [SimpleNamespace(process=process)]
        databases.servers = servers
        assert process.stdout is not None
        process.stdout.readline()
        assert databases.own_cpu_s() - before_s >= 0.25
        databases.servers.clear()

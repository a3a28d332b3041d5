"""Kill servers and clients in the middle of verified loads, and see what the verification says.

    scripts/remote_kills.py [--count 200] [--seed 1] [--only iSCSI]

Each time a load writes and reads over the network with ``--verify``, and at a moment drawn over
its life either the server or the client is killed (SIGKILL). Two of the servers want a login: CHAP
of both sides, and a password, of which nothing may be left behind. The run that lost its server
has to say so, with as many failed I/Os as were outstanding and no false alarm. Then the server is
started again, and ``--verify-only`` reads all that the journal knows: nothing may be called wrong.
In every third round one byte of each block is changed on the server's side then: no block may be
called right any more. Of a block whose writes overlapped or were in flight it cannot be told
whether it is wrong; how many were found is shown.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "python"))

from storage_servers import (  # noqa: E402 - Found by the line above.
    KINDS,
    LUN_BYTES,
    PASSWORD,
    SECRETS,
    Server,
)

SIZE_BYTES = LUN_BYTES
LONGEST_S = 60
# Exit codes of diskspd.
COMPLETE, FAILED, FAULTS = 0, 1, 4


class WrongError(Exception):
    """Something was not as it has to be."""


def expect(is_so: bool, words: str) -> None:  # noqa: FBT001 - As assert, which -O leaves out.
    """Raise if it is not so."""
    if not is_so:
        raise WrongError(words)


class Round:
    """One load on one server, and one kill."""

    def __init__(self, diskspd: str, server: Server, place: Path, chance: random.Random) -> None:
        """Draw what is done."""
        self.diskspd, self.server, self.place = diskspd, server, place
        self.depth, self.threads = chance.choice([1, 4, 16]), chance.choice([1, 2])
        self.block = chance.choice([4096, 8192, 65536])
        self.after_s = chance.uniform(0.05, 1.2)
        self.kills_server = chance.choice([False, True])
        self.damages = chance.random() < 1 / 3
        self.damaged = self.found = 0
        self.chance = chance
        self.name = "disk.dat"
        self.environment = {**os.environ, **server.environment()}
        self.journal = place / "journal"
        self.result = place / "result.json"

    def __str__(self) -> str:
        """Return it in words."""
        victim = "server" if self.kills_server else "client"
        return (
            f"{self.server.name}: the {victim} killed after {self.after_s:.3f} s, -b{self.block} "
            f"-o{self.depth} -t{self.threads}{', all blocks damaged' if self.damages else ''}"
        )

    @property
    def file(self) -> Path:
        """The file on the server's side."""
        return self.server.folder / self.name

    def run(self) -> str:
        """Do all of it, and return what came of it."""
        self._prepare()
        code = self._killed_load()
        self._judge_secrets()
        if self.kills_server:
            self._judge_result(code)
            self.server.start()
        elif self.server.child is None or self.server.child.poll() is not None:
            # nbdkit 1.32 has been seen to abort where a client leaves with I/Os in flight.
            self.server.start()
        if not self.journal.exists() or not self.journal.stat().st_size:
            return "killed before the load"
        right, faults = self._verified(COMPLETE)
        expect(faults == 0, f"{faults} blocks called wrong")
        if not self.damages or right <= self.depth * self.threads:
            return "right, and called right"
        self._damage()
        still_right, faults = self._verified(FAULTS)
        expect(still_right == 0, f"{still_right} of {right} damaged blocks called right")
        expect(0 < faults <= right, f"{faults} of {right} damaged blocks found")
        self.damaged, self.found = right, faults
        return "damaged, found, and none called right"

    def _verified(self, wanted: int) -> tuple[int, int]:
        """Verify what the journal knows; return how many blocks are right, and how many wrong."""
        place = self.place / "verified.json"
        done = self._diskspd(f"--verify-only={self.journal}", f"--json={place}")
        said = f"exit code {done.returncode}: {done.stdout}{done.stderr}"
        expect(done.returncode == wanted, said)
        (found,) = json.loads(place.read_text(encoding="utf-8"))["verification"]["targets"]
        wrong = ("corrupt", "misdirected", "stale", "torn", "newer")
        return found["verified_blocks"], sum(found[f"{kind}_blocks"] for kind in wrong)

    def _prepare(self) -> None:
        for one in (self.journal, self.result):
            one.unlink(missing_ok=True)
        with self.file.open("wb") as file:
            file.truncate(SIZE_BYTES)

    def _arguments(self) -> list[str]:
        address = self.server.address(self.name)
        place = address.partition("://")[2]
        return [
            f"-b{self.block}", "-r", "-w50", f"-o{self.depth}", f"-t{self.threads}",
            f"-d{LONGEST_S}", "-W0", "--io-timeout=20", f"--verify-journal={self.journal}",
            f"--json={self.result}", f"--allow-write={place}:{SIZE_BYTES}", address,
        ]  # fmt: skip

    def _diskspd(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603 - The command under test.
            [self.diskspd, *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST_S,
            env=self.environment,
        )

    def _killed_load(self) -> int:
        load = subprocess.Popen(  # noqa: S603 - The command under test.
            [self.diskspd, *self._arguments()],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
        )
        end = time.monotonic() + LONGEST_S
        while not self._is_under_way() and load.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(self.after_s)
        if load.poll() is not None:
            words = load.stderr.read() if load.stderr else ""
            raise WrongError(f"the load ended by itself: {words}")
        if self.kills_server:
            self.server.kill()
        else:
            load.kill()
        _, self.errors = load.communicate(timeout=LONGEST_S)
        return load.returncode

    def _is_under_way(self) -> bool:
        """Whether the server's file has got its first data."""
        return self.file.stat().st_blocks > 0

    def _judge_result(self, code: int) -> None:
        result: dict[str, Any] = json.loads(self.result.read_text(encoding="utf-8"))
        kinds = [one["kind"] for one in result["failures"]]
        expect(code == FAILED, f"exit code {code}: {self.errors}")
        expect(kinds[:1] == ["disconnected"], f"failures {kinds}: {self.errors}")
        found = result["verification"]["first_faults"]
        expect(not found, f"false alarm: {result['verification']}")
        span = result["time_spans"][0]
        lost = span["network"][0]["lost_connections"]
        expect(1 <= lost <= self.threads, f"{lost} connections of {self.threads} lost")
        # The first thread that sees it ends the run, and the other one may have ended in time.
        failed = [
            sum(thread["targets"][0][way]["errors"] for way in ("read", "write"))
            for thread in span["threads"]
        ]
        expect(max(failed) == self.depth, f"{failed} failed of {self.depth} outstanding")

    def _judge_secrets(self) -> None:
        """See that what a killed load leaves has no secret in it."""
        left = [one.read_bytes() for one in (self.journal, self.result) if one.exists()]
        for secret in (PASSWORD, *SECRETS):
            is_there = any(secret.encode() in one for one in [self.errors.encode(), *left])
            expect(not is_there, "a secret was left behind")

    def _damage(self) -> None:
        """Change one byte of each block."""
        with self.file.open("r+b") as file:
            data = bytearray(file.read())
            for place in range(0, SIZE_BYTES, self.block):
                data[place + self.chance.randrange(self.block)] ^= 0x5A
            file.seek(0)
            file.write(data)


def main() -> int:
    """Do all rounds; 1 if something was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=200, help="kills in all (default 200)")
    parser.add_argument("--seed", type=int, default=1, help="of the drawn moments (default 1)")
    parser.add_argument("--only", help="one protocol, such as NFS or 'iSCSI with CHAP'")
    arguments = parser.parse_args()
    diskspd = os.environ.get("DISKSPD", str(ROOT / "target" / "release" / "diskspd"))
    chance = random.Random(arguments.seed)  # noqa: S311 - Drawn moments, no secrets.
    with tempfile.TemporaryDirectory(prefix="fathom-kills-") as place:
        servers = []
        for kind in KINDS:
            why = kind.obstacle()
            if arguments.only in (None, kind.name) and why is None:
                servers.append(kind(Path(place) / kind.name))
            elif why is not None:
                print(f"skipped: {kind.name}: {why}")
        try:
            return rounds(arguments.count, diskspd, servers, Path(place), chance)
        finally:
            for server in servers:
                server.kill()


def rounds(
    count: int, diskspd: str, servers: list[Server], place: Path, chance: random.Random
) -> int:
    """Do so many rounds, on all servers by turns."""
    for server in servers:
        server.start()
    outcomes: Counter[str] = Counter()
    wrong = damaged = found = 0
    for number in range(count if servers else 0):
        one = Round(diskspd, servers[number % len(servers)], place, chance)
        try:
            outcomes[f"{one.server.name}: {one.run()}"] += 1
            damaged, found = damaged + one.damaged, found + one.found
        except (WrongError, subprocess.TimeoutExpired, RuntimeError) as error:
            wrong += 1
            print(f"round {number}: {one}: {error}", flush=True)
            if one.server.child is None or one.server.child.poll() is not None:
                one.server.start()
    for outcome, times in sorted(outcomes.items()):
        print(f"{times:5} {outcome}")
    print(f"{found} of {damaged} damaged blocks found, the others called unverifiable")
    print(f"{sum(outcomes.values()) + wrong} kills, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

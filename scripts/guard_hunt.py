"""Draw sequences of our runs and of what others do to files; see that no byte of theirs is lost.

    scripts/guard_hunt.py [--seconds 300] [--seed 1] [--steps 8] [--odd] [--tables] [--folder DIR]

Steps are runs of diskspd that create, write and are killed, copies, renames, links, touches, and
writes of somebody else. A model keeps for each inode where somebody else wrote. Two things must
hold after each step: what somebody else wrote stays, and a run that would write there is refused;
a file that only our runs wrote, wherever it went since, is not refused. A sequence that breaks
one is made as short as possible and printed. ``--odd`` draws also what is known not to be provable,
``--tables`` mostly I/Os that count at small multiples, and tables of characters that look like
them. What counts in pieces as short as such a table may be refused where neither state nor sum
proves it any more, and then the refusal must say so (docs/data-safety.md).
"""

from __future__ import annotations

import argparse
import contextlib
import math
import mmap
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from dataclasses import replace as replace_fields
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).resolve().parent.parent
KIB = 1 << 10
SECTOR = 512
REFUSED = 2
# Nothing completed in the measured time: a loaded machine.
FINISHED = (0, 5)
# Stamps of which I/Os at odd places have left a part.
DAMAGED = 4
# What a run says, having written nothing, of a file that somebody cut.
TOO_SMALL = "The file is too small"
# What a refusal says of data that may be ours as well as somebody's.
UNTOLD = "nothing proves any more whose they are"
LONGEST_S = 60
FILES_MOST = 5
SIZES = (64 * KIB, 128 * KIB, 256 * KIB, 1024 * KIB, 2048 * KIB)
ODD_SIZES = (4096, 100_000, 131_584, 1_000_003)
BLOCKS = (
    ["-b512"],
    ["-b4K", "-r"],
    ["-b8K"],
    ["-b64K", "-r4K"],
    ["-b1000"],
    ["-b48", "-r16"],
    ["-b528", "-r16"],
    ["-b1536", "-r512"],
    ["-b4K", "-r16"],
)
# Where these overlap, pieces of fewer than 16 bytes are left, which prove nothing once the state of
# the mark is gone (docs/data-safety.md). The same goes for -b1000 beside another size.
ODD_BLOCKS = (["-b24", "-r8"], ["-b520", "-r8"], ["-b4K", "-r8"])
WHOLE_BLOCKS = BLOCKS[:4]
# Shorter pieces prove nothing.
PIECE = 16
SOURCES: tuple[list[str], ...] = (
    [],
    ["-Z"],
    ["-Zr"],
    ["-Z64K"],
    ["-Z64K,FEED"],
    ["--compress=50"],
    ["--compress=25", "--dedupe=20"],
    ["--verify"],
)
WAYS: tuple[list[str], ...] = (
    [],
    [],
    ["-Sm"],
    ["--engine=sync"],
    ["--engine=aio"],
    ["--trim=20"],
    ["-t2"],
)
TABLES = (
    bytes(range(ord("A"), ord("Z") + 1)),
    bytes(range(32, 127)),
    bytes(range(1, 256)),
    bytes(range(128)),
    bytes(range(256)),
)
SMALL_BLOCKS = (
    ["-b4K", "-r16"],
    ["-b528", "-r16"],
    ["-b1040", "-r80"],
    ["-b48", "-r16"],
    ["-b256", "-r16"],
    ["-b1000", "-r1000"],
)
# So many are drawn until one fits.
PLACES = 200
# A counting pattern starts again after so many bytes.
COUNT = 256
# What counts in pieces shorter than this may be a table.
TABLE_MOST = 260
WORDS = b"Dear Ada, the engine weaves patterns just as the loom weaves flowers.\n" * 40
# Lines that a file may hold that feeds the writes, all of them different.
FEED = b"".join(b"%06d: %x\n" % (at, at * 0x9E3779B97F4A7C15 % 2**64) for at in range(3000))


class Violation(Exception):  # noqa: N818 - It is what was found, not an error of this program.
    """A byte of somebody's was changed, or a file of ours was refused."""


@dataclass
class State:
    """What is known of one inode."""

    # Where somebody else wrote, and what still must stand there.
    theirs: dict[int, bytes] = field(default_factory=dict)
    # Cut or stretched by somebody: our bytes alone, but no whole ones.
    is_cut: bool = False
    # A file fed writes: in a copy its data may as well be those of a copy of that file.
    is_fed: bool = False
    # The counting pattern was written, and something where no sector begins: in short pieces it
    # proves nothing in a copy.
    is_counted: bool = False
    is_odd: bool = False
    # It was created with data that compress or repeat.
    is_reduced: bool = False
    # No attribute tells of anything before.
    is_untold: bool = False
    # All I/Os began and ended at multiples of it; 0 if there were none.
    step: int = 0
    # How long they were.
    lengths: frozenset[int] = frozenset()
    # A run was killed: I/Os may end where sectors do.
    is_torn: bool = False
    # It was written through a mapping: where that was cut short, I/Os may end anywhere.
    is_mapped: bool = False
    # Several threads wrote at once through a mapping, with the same effect.
    is_mixed: bool = False
    # The last run ended well, and left a sum of all data where these alone prove too little.
    is_summed: bool = False

    def copy(self, *, with_attributes: bool) -> State:
        """Return the state of a copy."""
        is_summed = self.is_summed and with_attributes
        is_less = self.is_counted and self.is_odd
        is_untold = self.is_untold or not with_attributes
        state = replace_fields(self, theirs=dict(self.theirs), is_untold=is_untold, is_fed=False)
        state.is_summed = is_summed
        state.is_cut |= self.is_fed or (is_less and not is_summed)
        return state

    def ended(self) -> None:
        """Note that a run has ended well."""
        self.is_summed = self.is_like_tables() or 0 < self.step < PIECE

    def edge(self) -> int:
        """Return what all I/Os began and ended at multiples of, also those that were cut short."""
        if self.is_mixed or (self.is_torn and self.is_mapped):
            return 1
        return math.gcd(self.step, SECTOR) if self.is_torn else self.step

    def is_like_tables(self) -> bool:
        """Tell whether a table may look like what our runs left."""
        return self.is_counted and 0 < self.edge() < TABLE_MOST

    def tells_order(self) -> bool:
        """Tell whether parts of what a file fed show whether one I/O has written them so."""
        return self.edge() >= TABLE_MOST and not self.is_mapped

    def is_provable_beside_tables(self) -> bool:
        """Tell whether the data show whose they are, but for what looks like a table."""
        is_long = self.step == 0 or self.step >= PIECE
        is_told = not (self.is_untold and self.is_odd and (self.is_counted or self.is_reduced))
        is_whole = not (self.is_mixed or (self.is_torn and self.is_mapped)) or self.is_counted
        return is_long and is_told and is_whole and not self.is_cut

    def is_provable(self) -> bool:
        """Tell whether a sum, or the data alone, show whose they are."""
        is_shown = self.is_provable_beside_tables() and not self.is_like_tables()
        return is_shown or (self.is_summed and not self.is_cut)


@dataclass
class World:
    """A folder, its files by name, and what was done there."""

    diskspd: str
    folder: Path
    is_odd: bool = False
    is_of_tables: bool = False
    states: dict[int, State] = field(default_factory=dict)
    names: int = 0
    log: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def files(self) -> list[Path]:
        """Return the targets that are there, in a settled order."""
        return sorted(self.folder.glob("*.dat"))

    def new_name(self) -> Path:
        """Return a name that nothing has."""
        self.names += 1
        return self.folder / f"{self.names}.dat"

    def state(self, path: Path) -> State:
        """Return what is known of the file at a path."""
        return self.states.setdefault(path.stat().st_ino, State())

    def known(self, inode: int | None) -> State:
        """Return what is known of an inode, which may be gone."""
        return self.states.get(inode, State()) if inode is not None else State()

    def forget(self) -> None:
        """Forget inodes that are gone, as the next file may get their number."""
        there = {path.stat().st_ino for path in self.files()}
        self.states = {inode: one for inode, one in self.states.items() if inode in there}

    def wrote(self, path: Path, offset: int, data: bytes) -> None:
        """Note what somebody wrote."""
        self.state(path).theirs[offset] = data
        self.settle(path)

    def settle(self, path: Path) -> None:
        """Note again what stands where somebody wrote, after somebody changed the file."""
        state, held = self.state(path), path.read_bytes()
        now = {at: held[at : at + len(data)] for at, data in state.theirs.items()}
        kept = {at: data for at, data in now.items() if data.strip(b"\0")}
        # What a cut or zeros left of them need not be anything that only they would write.
        state.is_cut |= kept != state.theirs
        state.theirs = kept


Fingerprint = tuple[bytes, int, int, int]


def fingerprint(path: Path) -> Fingerprint:
    """Return what must stay of a file if a run is refused."""
    found = path.stat()
    return path.read_bytes(), found.st_mtime_ns, found.st_nlink, found.st_ino


def chance(drawn: random.Random, share: float) -> bool:
    """Tell whether something happens that does so in this share of all cases."""
    return drawn.random() < share


def command(world: World, path: Path, drawn: random.Random) -> list[str]:
    """Draw the command line of a run that writes."""
    there = path.exists()
    size = path.stat().st_size if there else 0
    words = []
    if not size or chance(drawn, 0.3):
        wanted = drawn.choice(SIZES + ODD_SIZES)
        # At the same size, a file is kept.
        wanted = size if size and chance(drawn, 0.4) else wanted
        size = wanted
        words.append(f"-c{size}")
    blocks = drawn.choice(BLOCKS + (ODD_BLOCKS if world.is_odd else ()))
    if world.is_of_tables and chance(drawn, 0.7):
        blocks = drawn.choice(SMALL_BLOCKS)
    # The journal of a run that was killed is kept for a look, and refused; it is no part of this.
    for journal in world.folder.glob("*.verify-journal"):
        journal.unlink()
    # Parts of stamped sectors prove nothing, so these stand where no I/O cuts them.
    source = drawn.choice(SOURCES if world.is_odd else SOURCES[:-1])
    source = [] if world.is_of_tables and chance(drawn, 0.6) else source
    way = drawn.choice(WAYS)
    if source == ["--verify"]:
        # Stamps stand in whole sectors, and nothing else may be asked of the data.
        blocks, way = drawn.choice(WHOLE_BLOCKS), []
    if size < 64 * KIB and blocks[0] in ("-b64K", "-b8K"):
        blocks = ["-b512"]
    words += [f"-w{drawn.choice([30, 100, 100])}", *blocks, *source, *way]
    feed = world.folder / "feed"
    if not feed.exists():
        feed.write_bytes(FEED if chance(drawn, 0.7) else random.Random(99).randbytes(64 * KIB))  # noqa: S311
    words = [word.replace("FEED", "feed") for word in words]
    return [world.diskspd, *words, "-W0", "-d1", path.name]


def check(
    world: World,
    before: dict[Path, Fingerprint],
    path: Path,
    code: int | None,
    told: str,
) -> None:
    """Compare all files with what they must hold after a run; without a code it was killed."""
    inode = before[path][-1] if path in before else None
    for one, held in before.items():
        is_spared = code == REFUSED or held[-1] != inode or world.known(held[-1]).theirs
        if is_spared and (not one.exists() or fingerprint(one) != held):
            raise Violation(f"{one.name} was changed, which no run may (exit code {code})")
    state = world.known(inode)
    if state.theirs and code in FINISHED:
        raise Violation(f"{path.name} was let pass (exit code {code}), and it is somebody's")
    if code != REFUSED or state.theirs:
        return
    if state.is_provable():
        raise Violation(f"{path.name} was refused, and nobody else wrote to it: {told}")
    if state.is_provable_beside_tables() and UNTOLD not in told:
        raise Violation(f"{path.name} was refused, and not for what looks like a table: {told}")
    world.counts["refused, like a table" if UNTOLD in told else "refused, not provable"] += 1


def note_writes(world: World, path: Path, words: list[str]) -> None:
    """Note what a target's writes are, where that proves less."""
    if not path.exists():
        return
    state = world.state(path)
    state.is_fed |= "-Z64K,feed" in words
    is_told = any(word.startswith(("-Z", "--compress", "--verify")) for word in words)
    state.is_counted |= not is_told
    state.is_reduced |= words[1].startswith("-c") and any("--compress" in word for word in words)
    for word in words:
        if word[:2] in ("-b", "-r") and word != "-r":
            state.step = math.gcd(state.step, size_of(word[2:]))
        if word.startswith("-b"):
            state.lengths |= {size_of(word[2:])}
    state.is_odd = state.step % SECTOR != 0
    state.is_mapped |= "-Sm" in words
    state.is_mixed |= "-Sm" in words and "-t2" in words


def note_kill(world: World, path: Path) -> None:
    """Note that I/Os to a file may have been cut short."""
    if path.exists():
        state = world.state(path)
        state.is_torn, state.is_summed = True, False


def size_of(text: str) -> int:
    """Return the bytes of a size as it is given to diskspd."""
    return int(text.removesuffix("K")) * (KIB if text.endswith("K") else 1)


def run(world: World, drawn: random.Random) -> None:
    """Run diskspd to its end, on a file that is there or on a new one."""
    path = target(world, drawn)
    words = command(world, path, drawn)
    words.insert(-1, f"--stop-ios={drawn.choice([1, 8, 60])}")
    before = {one: fingerprint(one) for one in world.files()}
    done = subprocess.run(  # noqa: S603
        words, cwd=world.folder, capture_output=True, timeout=LONGEST_S, check=False
    )
    world.log.append(f"diskspd {shlex.join(words[1:])}  # {done.returncode}")
    world.counts["refused" if done.returncode == REFUSED else "run"] += 1
    told = done.stderr.decode(errors="replace").strip().splitlines()[-3:]
    if done.returncode == REFUSED:
        world.log.append(f"    {told}")
    elif done.returncode == DAMAGED and "--verify" in words and world.state(path).is_odd:
        world.counts["damaged by ours"] += 1
    elif done.returncode not in FINISHED and TOO_SMALL not in " ".join(told):
        raise Violation(f"exit code {done.returncode}: {told}")
    check(world, before, path, done.returncode, " ".join(told))
    if done.returncode != REFUSED:
        note_writes(world, path, words)
    if done.returncode in FINISHED:
        world.state(path).ended()
    world.forget()


def kill(world: World, drawn: random.Random) -> None:
    """Kill a run at a drawn moment: before it writes, while it creates, or while it writes."""
    path = target(world, drawn)
    words = command(world, path, drawn)
    after_s = drawn.choice([0.02, 0.06, 0.12, 0.25]) * drawn.uniform(0.5, 1.5)
    before = {one: fingerprint(one) for one in world.files()}
    with (world.folder / "told").open("wb") as told:
        process = subprocess.Popen(words, cwd=world.folder, stdout=told, stderr=told)  # noqa: S603
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=after_s)
    process.kill()
    code = process.wait()
    world.log.append(f"timeout -sKILL {after_s:.3f} diskspd {shlex.join(words[1:])}  # {code}")
    last = (world.folder / "told").read_text(errors="replace").strip().splitlines()[-3:]
    if code == REFUSED:
        world.log.append(f"    {last}")
    world.counts["killed" if code < 0 else "run"] += 1
    check(world, before, path, code if code >= 0 else None, " ".join(last))
    if code != REFUSED:
        note_writes(world, path, words)
        note_kill(world, path)
    world.forget()


def target(world: World, drawn: random.Random) -> Path:
    """Draw a file that is there, or a new name."""
    files = world.files()
    if not files or (len(files) < FILES_MOST and chance(drawn, 0.2)):
        return world.new_name()
    return drawn.choice(files)


def copy(world: World, drawn: random.Random) -> None:
    """Copy a file, mostly with all that stands about it, to a new name or over another file."""
    source = drawn.choice(world.files())
    others = [one for one in world.files() if not one.samefile(source)]
    to = drawn.choice(others) if others and chance(drawn, 0.3) else world.new_name()
    with_attributes = not chance(drawn, 0.3)
    words = ["cp", "-a"] if with_attributes else ["cp"]
    world.log.append(f"{' '.join(words)} {source.name} {to.name}")
    subprocess.run([*words, source, to], check=True)  # noqa: S603
    world.states[to.stat().st_ino] = world.state(source).copy(with_attributes=with_attributes)


def rename(world: World, drawn: random.Random) -> None:
    """Give a file another name, or that of another file."""
    source = drawn.choice(world.files())
    others = [one for one in world.files() if not one.samefile(source)]
    to = drawn.choice(others) if others and chance(drawn, 0.2) else world.new_name()
    world.log.append(f"mv {source.name} {to.name}")
    source.rename(to)
    world.forget()


def link(world: World, drawn: random.Random) -> None:
    """Give a file a second name."""
    source, to = drawn.choice(world.files()), world.new_name()
    world.log.append(f"ln {source.name} {to.name}")
    to.hardlink_to(source)


def touch(world: World, drawn: random.Random) -> None:
    """Change a file's times, mode or attributes, and no byte."""
    path = drawn.choice(world.files())
    how = drawn.choice(["touch", "chmod", "attribute", "old"])
    world.log.append(f"{how} {path.name}")
    if how == "touch":
        path.touch()
    elif how == "chmod":
        path.chmod(drawn.choice([0o600, 0o644]))
    elif how == "old":
        os.utime(path, ns=(10**18, 10**18))
    else:
        with contextlib.suppress(OSError):
            os.setxattr(path, "user.other", b"1")


def stretch(world: World, drawn: random.Random) -> None:
    """Cut a file, or stretch it with a hole; nobody writes a byte."""
    path = drawn.choice(world.files())
    size = path.stat().st_size
    to = drawn.choice([size // 2, size // 4096 * 2048, size + 4096])
    world.log.append(f"truncate -s {to} {path.name}")
    os.truncate(path, to)
    world.settle(path)
    world.state(path).is_cut = True


def foreign(world: World, drawn: random.Random) -> None:
    """Write what we would not write, in one of the ways in which programs do."""
    path = drawn.choice(world.files())
    size = path.stat().st_size
    offset = drawn.randrange(size) if size else 0
    data = theirs(drawn)
    found = path.stat()
    if chance(drawn, 0.3):
        # The smallest change there is.
        with path.open("rb") as file:
            file.seek(offset)
            held = (file.read(1) or b"\0")[0]
        data = bytes([drawn.choice([byte for byte in range(1, 256) if byte != held])])
    how = drawn.choice(["write", "append", "cut", "mapping", "whole", "replace", "link"])
    if how == "mapping" and offset + len(data) > size:
        how = "append"
    world.log.append(f"{how} {len(data)} bytes at {offset} of {path.name}: {data[:20]!r}")
    world.counts[f"foreign {how}"] += 1
    FOREIGN[how](world, path, offset, data)
    if how not in ("whole", "replace", "append") and chance(drawn, 0.5):
        world.log.append(f"the old time of {path.name}")
        os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def rearrange(world: World, drawn: random.Random) -> None:
    """Change the order of lines that a file fed, in place."""
    path = drawn.choice(world.files())
    state, held = world.state(path), path.read_bytes()
    places = (drawn.randrange(len(held)) for _ in range(PLACES if held else 0))
    found = ((at, held[at : at + drawn.choice([40, 100, 300])]) for at in places)
    fed = [(at, data) for at, data in found if len(data) > PIECE and data in FEED]
    if not fed or not state.tells_order():
        return
    offset, data = fed[0]
    turned = data[PIECE:] + data[:PIECE]
    world.log.append(f"rearrange {len(data)} bytes at {offset} of {path.name}")
    world.counts["rearranged"] += 1
    put(world, path, offset, turned)


def table(world: World, drawn: random.Random) -> None:
    """Write characters in order that look like an I/O of ours that counts, or a part of one."""
    path = drawn.choice(world.files())
    state, held = world.state(path), path.read_bytes()
    ways = (fitting, like_an_io, joining, anywhere)
    drawn_places = (drawn.choice(ways)(state, held, drawn) for _ in range(PLACES))
    # One that changes nothing is lost by nobody.
    fit = (one for one in drawn_places if one and held[one[0] :][: len(one[1])] != one[1])
    offset, data = next(fit, (0, b""))
    if not data:
        return
    world.log.append(f"table of {len(data)} bytes from {data[0]} on at {offset} of {path.name}")
    world.counts["foreign table"] += 1
    FOREIGN[drawn.choice(["write", "mapping", "link"])](world, path, offset, data)


def fitting(state: State, held: bytes, drawn: random.Random) -> tuple[int, bytes] | None:
    """Draw a place and a table that begins and ends at multiples with values that fit."""
    phase = math.gcd(state.step, COUNT)
    longest = min(COUNT, len(held)) // state.step * state.step if state.step else 0
    if phase < PIECE or not longest:
        return None
    offset = drawn.randrange(0, len(held) - longest + 1, state.step)
    first = offset % phase + phase * drawn.randrange((COUNT - state.step) // phase + 1)
    length = drawn.randrange(state.step, min(COUNT - first, longest) + 1, state.step)
    return offset, bytes(range(first, first + length))


def like_an_io(state: State, held: bytes, drawn: random.Random) -> tuple[int, bytes] | None:
    """Draw a table that is byte for byte a whole I/O, or the first or last bytes of one."""
    length = drawn.choice(sorted(state.lengths)) if state.lengths else 0
    shown = min(length, drawn.choice([length, *range(PIECE, COUNT, PIECE)]), COUNT)
    if not shown or len(held) < length:
        return None
    begin = drawn.randrange(0, len(held) - length + 1, state.step or 1)
    skipped = drawn.choice([0, length - shown])
    return begin + skipped, bytes((skipped + at) % COUNT for at in range(shown))


def joining(_state: State, held: bytes, drawn: random.Random) -> tuple[int, bytes] | None:
    """Draw a table that goes on from the bytes before it, or the bytes behind from it, or both."""
    at = drawn.randrange(1, len(held)) if len(held) > 1 else 0
    # From here on another piece may begin.
    is_break = (one for one in range(at, min(at + SECTOR, len(held))) if breaks(held, one))
    at = next(is_break, at) if at else 0
    if not at:
        return None
    ends = [one for one in range(at + 1, min(at + COUNT, len(held))) if breaks(held, one)]
    end = drawn.choice([*ends, min(at + drawn.choice([PIECE, 26, 95, 128]), len(held))])
    first = (held[at - 1] + 1) % COUNT
    if end < len(held) and chance(drawn, 0.5):
        first = (held[end] - (end - at)) % COUNT
    return at, bytes((first + number) % COUNT for number in range(end - at))


def breaks(held: bytes, at: int) -> bool:
    """Tell whether a byte does not go on from the one before."""
    return (held[at - 1] + 1) % COUNT != held[at]


def anywhere(_state: State, held: bytes, drawn: random.Random) -> tuple[int, bytes] | None:
    """Draw a usual table at any place."""
    data = drawn.choice(TABLES)
    if len(held) < len(data):
        return None
    return drawn.randrange(len(held) - len(data) + 1), data


def theirs(drawn: random.Random) -> bytes:
    """Draw data of somebody's: text, noise or a table of characters, no byte of them zero."""
    length = drawn.choice([4, 16, 100, 512, 2000])
    start = drawn.randrange(200)
    noise = bytes(drawn.randrange(1, 256) for _ in range(length))
    return drawn.choice([WORDS[start : start + length], noise, drawn.choice(TABLES)])


def put(world: World, path: Path, offset: int, data: bytes) -> None:
    """Write in place."""
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)
    world.settle(path)
    world.wrote(path, offset, data)


def append(world: World, path: Path, _offset: int, data: bytes) -> None:
    """Write behind the end; one byte might be the one that we would have written there."""
    data = data if len(data) > 1 else WORDS[:9]
    put(world, path, path.stat().st_size, data)


def cut(world: World, path: Path, offset: int, data: bytes) -> None:
    """Cut the file, then write."""
    os.truncate(path, offset + len(data))
    world.settle(path)
    put(world, path, offset, data)


def through_mapping(world: World, path: Path, offset: int, data: bytes) -> None:
    """Write through a mapping."""
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[offset : offset + len(data)] = data
    world.settle(path)
    world.wrote(path, offset, data)


def whole(world: World, path: Path, _offset: int, data: bytes) -> None:
    """Write all of the file again, in the same inode."""
    path.write_bytes(data + WORDS)
    world.states[path.stat().st_ino] = State({0: data + WORDS})


def replace(world: World, path: Path, _offset: int, data: bytes) -> None:
    """Put another file in its place, as editors do."""
    other = world.folder / "edited"
    other.write_bytes(data + WORDS)
    other.rename(path)
    world.states[path.stat().st_ino] = State({0: data + WORDS})
    world.forget()


def through_link(world: World, path: Path, offset: int, data: bytes) -> None:
    """Write through another name, which goes again."""
    other = world.folder / "alias"
    other.hardlink_to(path)
    put(world, other, offset, data)
    other.unlink()


FOREIGN: dict[str, Callable[[World, Path, int, bytes], None]] = {
    "write": put,
    "append": append,
    "cut": cut,
    "mapping": through_mapping,
    "whole": whole,
    "replace": replace,
    "link": through_link,
}
STEPS: dict[str, tuple[int, Callable[[World, random.Random], None]]] = {
    "run": (8, run),
    "kill": (4, kill),
    "copy": (2, copy),
    "rename": (1, rename),
    "link": (1, link),
    "touch": (3, touch),
    "stretch": (1, stretch),
    "foreign": (3, foreign),
    "table": (2, table),
    "rearrange": (2, rearrange),
}

Step = tuple[str, int]


def sequence(seed: int, steps: int) -> list[Step]:
    """Draw the steps of one sequence; each has a seed of its own, so that others may go."""
    drawn = random.Random(seed)  # noqa: S311
    weights = [weight for weight, _ in STEPS.values()]
    kinds = ["run", *drawn.choices(list(STEPS), weights, k=steps - 1)]
    return [(kind, drawn.getrandbits(32)) for kind in kinds]


def play(world: World, steps: Sequence[Step]) -> str | None:
    """Make the steps; return what was violated, if anything."""
    for kind, seed in steps:
        if kind not in ("run", "kill") and not world.files():
            continue
        try:
            STEPS[kind][1](world, random.Random(seed))  # noqa: S311
        except Violation as violation:
            return str(violation)
    return None


def attempt(world: World, steps: Sequence[Step]) -> tuple[str | None, list[str]]:
    """Play steps in a folder of their own; return what was violated, and what was done."""
    with tempfile.TemporaryDirectory(prefix="guard-", dir=world.folder) as folder:
        inner = World(world.diskspd, Path(folder), world.is_odd, world.is_of_tables)
        found = play(inner, steps)
        world.counts.update(inner.counts)
        return found, inner.log


def shortest(world: World, steps: list[Step]) -> tuple[str, list[str]] | None:
    """Leave out steps as long as something is still violated; none if it does not come again."""
    best: tuple[str, list[str]] | None = None
    at = len(steps)
    while at >= 0:
        shorter = steps[:at] + steps[at + 1 :]
        found, log = attempt(world, shorter)
        if found:
            steps, best = shorter, (found, log)
        at -= 1
    return best


@dataclass
class Outcome:
    """What a hunt came to."""

    sequences: int = 0
    violations: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        """Tell it as one line."""
        what = ", ".join(f"{count} {name}" for name, count in sorted(self.counts.items()))
        return f"{self.sequences} sequences ({what}), {len(self.violations)} violations"


def hunt(world: World, seeds: Sequence[int], steps: int, longest_s: float) -> Outcome:
    """Play a sequence for each seed, for so long at most."""
    outcome, began = Outcome(), time.monotonic()
    for seed in seeds:
        if time.monotonic() - began > longest_s:
            break
        drawn = sequence(seed, steps)
        found, log = attempt(world, drawn)
        outcome.sequences += 1
        if found:
            brief, brief_log = shortest(world, drawn) or (found, log)
            lines = "\n  ".join(brief_log)
            outcome.violations.append(f"seed {seed}: {brief}\n  {lines}")
    outcome.counts = world.counts
    return outcome


def main() -> int:
    """Hunt for so long, and tell what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--odd", action="store_true")
    parser.add_argument("--tables", action="store_true")
    parser.add_argument("--folder", type=Path, default=ROOT / "target")
    parser.add_argument("--diskspd", default=str(ROOT / "target/release/diskspd"))
    asked = parser.parse_args()
    if shutil.which(asked.diskspd) is None:
        parser.error("no diskspd: run `make build`")
    world = World(asked.diskspd, asked.folder, asked.odd, asked.tables)
    outcome = hunt(world, range(asked.seed, sys.maxsize), asked.steps, asked.seconds)
    for violation in outcome.violations:
        print(violation, file=sys.stderr)
    print(outcome)
    return int(bool(outcome.violations))


if __name__ == "__main__":
    sys.exit(main())

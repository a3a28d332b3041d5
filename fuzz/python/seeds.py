"""What each target of this folder begins with: one file of each form that is known.

seeds.py FOLDER    writes FOLDER/importers and FOLDER/translate
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import fathom
from fathom.tools import job_file, read_load, to_fio
from imported import DATA, RUNS, SAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = RUNS.parent / "cases.jsonl"


def imports() -> Iterator[tuple[str, bytes]]:
    """Return a head and a rest for each file that tests import."""
    yield from SAMPLES.items()
    for path in sorted([*DATA.glob("*.*"), *RUNS.glob("*.*")]):
        if path.suffix in (".csv", ".icf", ".txt", ".xml"):
            yield "x", path.read_bytes()


def loads() -> Iterator[tuple[str, bytes]]:
    """Return a head and a rest for each load that DiskSpd was seen to take, and for fio's."""
    for path in sorted(DATA.glob("*.icf")):
        yield "file", path.read_bytes()
    for line in CASES.read_text().splitlines():
        case = json.loads(line)
        yield "diskspd", "\n".join(case["args"]).encode()
        if profile := re.search(r"<Profile>.*</Profile>", case["stdout"], re.DOTALL):
            yield "profile", profile[0].encode()
        try:
            jobs, _notes = to_fio(read_load(case["args"]))
        except fathom.InvalidRequestError:
            continue
        yield "file", job_file(jobs).encode()
        options = [f"--{name}={value}" for name, value in jobs[0].options.items()]
        yield "fio", "\n".join(options).encode()


def main(folder: Path) -> None:
    """Write all seeds."""
    # What is doubtful about a load is no matter here.
    warnings.simplefilter("ignore", UserWarning)
    for target, seeds in (("importers", imports()), ("translate", loads())):
        (folder / target).mkdir(parents=True, exist_ok=True)
        for number, (head, rest) in enumerate(seeds):
            (folder / target / f"golden-{number}").write_bytes(head.encode() + b"\n" + rest)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Makes a dictionary of what results have in common, for ``fathom.store.packing``.

A dictionary that was used for a store that anybody keeps must never change: a better one is a new
file with a new number, listed behind those before.

    python scripts/store_dictionary.py > python/fathom/store/dictionary-2.json
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path

import fathom

# From the rarest to the most usual: zlib reaches the end of a dictionary most cheaply.
LOADS = (
    "-b64K -w30 -t2 -o4 -L --on-error=continue",
    "-b128K -s -t1 -o8 -L -D",
    "-b8K -r -w30 -t4 -o8 -L -D --interval-latency",
    "-b4K -r -t2 -o32 -L -D -Sh",
    "-b4K -r -w50 -t1 -o1 -L",
)
LISTS = re.compile(r"\[-?[0-9][0-9,.e+-]{60,}\]")
NUMBERS = re.compile(r"(?<=:)\d{4,}(?:\.\d+)?")
MOST_BYTES = 32_000


def main() -> None:
    """Write the dictionary to standard output."""
    parts = []
    with tempfile.TemporaryDirectory() as folder:
        for load in LOADS:
            place = Path(folder) / "x.dat"
            words = f"-c8M -d1 -W0 --engine=null --overwrite {load}".split()
            result = fathom.run([*words, str(place)])
            host = {**result.raw["host"], "name": "host", "kernel": "Linux 6.1.0", "cpu_model": ""}
            raw = {**result.raw, "host": host}
            text = json.dumps(raw, separators=(",", ":"))
            text = text.replace(str(place), "/x.dat").replace("bucket_lower_ns", "bucket_steps")
            # What differs in each run is in none of them.
            parts.append(NUMBERS.sub("0", LISTS.sub("[1,2,2,4,8,16]", text)))
    sys.stdout.write("".join(parts)[-MOST_BYTES:])


if __name__ == "__main__":
    main()

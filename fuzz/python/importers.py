"""Imports: whatever a file holds, it is read or refused in words, and what was read can be kept.

The head of an input is a format, or else the file's name.
"""

from __future__ import annotations

import atheris
import harness

with atheris.instrument_imports(include=["fathom"]):
    from fathom.tools.formats import FORMATS, read_source
    from imported import check, refused

# Names by which the format of fio's logs is recognised, and one that tells nothing.
HEADS = (*FORMATS, "x", "job_clat.1.log", "job_bw.log")


def one_input(data: bytes) -> None:
    """Import a file as ``fathom import`` does."""
    head, content = harness.head_and_rest(data)
    with refused():
        check(read_source(content, head if head in FORMATS else None, head), content)


if __name__ == "__main__":
    harness.fuzz(one_input, HEADS)

"""What `make test` has to build, and what it does not build twice."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINDING = "fathom-storage-py"


def crates(*words: str) -> set[str]:
    """Each crate that is built, with its version and features."""
    tree = subprocess.run(
        [
            shutil.which("cargo") or "cargo",
            "tree",
            "--locked",
            "--prefix=none",
            "--format={p} {f}",
            *words,
        ],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    return {line.removesuffix(" (*)") for line in tree.stdout.splitlines()}


def test_all_that_the_binding_shares_with_the_tests_has_the_same_features() -> None:
    """With others, the engine is compiled a second time."""
    own = crates("--package", BINDING, "--features=as-in-tests", "--edges=normal,build")
    tests = crates("--workspace", "--edges=normal,build,dev")
    assert {line.split()[0] for line in own - tests} == {BINDING}

"""Fuzz the readers: build once, run each target for a while, and tell executions and coverage.

The committed corpus (``fuzz/corpus``, an archive per target) is where each target begins. What is
found in addition stays below ``fuzz/target``; ``--keep`` merges it into the committed corpus, as
little of it as reaches the same code. ``--seeds`` adds the golden data.

Readers of the engine run under libFuzzer without a sanitizer: the code that is reached is safe
Rust, and so a stable compiler does. The flags are those that cargo-fuzz gives it.
Those in Python (``fuzz/python``) run under Atheris, which is libFuzzer, too; it has wheels for some
Pythons and systems, and elsewhere these are left out.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FUZZ = ROOT / "fuzz"
GOLDEN = ROOT / "tests" / "golden" / "diskspd"
TRIPLE = "x86_64-unknown-linux-gnu"
# What libFuzzer sees of the code: its edges, how often each was passed, and what was compared.
INSTRUMENTED = (
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cllvm-args=-sanitizer-coverage-stack-depth",
    "-Cllvm-args=-simplifycfg-branch-fold-threshold=0",
    "--cfg fuzzing",
)
# All at once: what they share is time of the processors, and the clock runs once.
PARALLEL = 8
TIMEOUT_S = 10
MEMORY_MIB = 2048
LENGTH_MAX = 16_384
IN_PYTHON = ("importers", "translate")


def build() -> None:
    """Build all targets with the fuzzer's instrumentation."""
    words = ["cargo", "build", "--quiet", "--release", "--locked", "--target", TRIPLE]
    flags = " ".join([os.environ.get("RUSTFLAGS", ""), *INSTRUMENTED])
    subprocess.run(words, check=True, cwd=FUZZ, env={**os.environ, "RUSTFLAGS": flags})  # noqa: S603


def targets() -> list[str]:
    """Return the names of all targets."""
    return sorted([*(path.stem for path in (FUZZ / "targets").glob("*.rs")), *IN_PYTHON])


def is_missing(target: str) -> bool:
    """Tell whether a target is one of Python's, and its fuzzer is not installed."""
    return target in IN_PYTHON and importlib.util.find_spec("atheris") is None


def found(target: str) -> Path:
    """Return the folder of what a run finds."""
    folder = FUZZ / "target" / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def command(target: str) -> list[str]:
    """Return what starts a target, before libFuzzer's arguments."""
    if target in IN_PYTHON:
        return [sys.executable, str(FUZZ / "python" / f"{target}.py")]
    return [str(FUZZ / "target" / TRIPLE / "release" / target)]


def environment() -> dict[str, str]:
    """Return the environment, in which targets find the tests' checks and samples."""
    return {**os.environ, "PYTHONPATH": str(ROOT / "tests" / "python")}


def fuzz(target: str, seconds: int, seed: int) -> tuple[str, str | None]:
    """Run one target; return a line of figures, and what was wrong."""
    artifacts = FUZZ / "artifacts" / target
    artifacts.mkdir(parents=True, exist_ok=True)
    limits = [f"-max_total_time={seconds}", f"-timeout={TIMEOUT_S}", f"-max_len={LENGTH_MAX}"]
    limits += [f"-rss_limit_mb={MEMORY_MIB}", f"-artifact_prefix={artifacts}/", f"-seed={seed}"]
    folders = [str(found(target)), str(unpacked(target))]
    words = [*command(target), *limits, "-print_final_stats=1", *folders]
    ran = subprocess.run(  # noqa: S603
        words, check=False, capture_output=True, text=True, errors="replace", env=environment()
    )
    executions = re.search(r"number_of_executed_units: (\d+)", ran.stderr)
    coverage = re.findall(r"cov: (\d+) ft: (\d+)", ran.stderr)
    if ran.returncode or executions is None or not coverage:
        # What a reader in Python raised stands far above libFuzzer's last words.
        raised = ran.stderr.find("Uncaught Python exception")
        return f"{target}: stopped", ran.stderr[raised:] if raised >= 0 else ran.stderr[-4000:]
    edges, features = coverage[-1]
    line = f"{target:<16}{int(executions[1]):>12,} executions{int(edges):>8,} edges"
    return f"{line}{int(features):>9,} features", None


def archive(target: str) -> Path:
    """Return the committed corpus of a target."""
    return FUZZ / "corpus" / f"{target}.tar.gz"


def unpacked(target: str) -> Path:
    """Return a folder with the committed corpus."""
    folder = FUZZ / "target" / "committed" / target
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if archive(target).exists():
        with tarfile.open(archive(target)) as packed:
            # Python 3.11.2, which Debian 12 has, knows no filter.
            packed.extraction_filter = getattr(tarfile, "data_filter", None)
            packed.extractall(folder)  # noqa: S202 - It is our own.
    return folder


def keep(target: str) -> None:
    """Put the least that has the same coverage into the committed corpus."""
    merged = FUZZ / "target" / "merged" / target
    shutil.rmtree(merged, ignore_errors=True)
    merged.mkdir(parents=True)
    folders = [str(merged), str(unpacked(target)), str(found(target))]
    # Edges alone: how often one was passed would multiply the inputs by ten.
    how = ["-merge=1", "-use_counters=0", f"-max_len={LENGTH_MAX}"]
    words = [*command(target), *how, *folders]
    subprocess.run(words, check=True, capture_output=True, env=environment())  # noqa: S603
    inputs = sorted(merged.iterdir())
    archive(target).parent.mkdir(exist_ok=True)
    # The same inputs make the same archive: without its name, and of no time.
    with (
        archive(target).open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w") as packed,
    ):
        for path in inputs:
            entry = tarfile.TarInfo(path.name)
            entry.size = path.stat().st_size
            with path.open("rb") as content:
                packed.addfile(entry, content)
    print(f"{target}: {len(inputs)} inputs kept")


def seeds() -> None:
    """Put what DiskSpd was seen to read and print into the folders of what was found."""
    script = [sys.executable, str(FUZZ / "python" / "seeds.py"), str(FUZZ / "target" / "corpus")]
    subprocess.run(script, check=True, env=environment())  # noqa: S603
    lines = (GOLDEN / "cases.jsonl").read_text().splitlines()
    for number, line in enumerate(lines):
        case = json.loads(line)
        (found("arguments") / f"golden-{number}").write_text("\n".join(case["args"]))
        profile = re.search(r"<Profile>.*</Profile>", case["stdout"], re.DOTALL)
        if profile:
            (found("profile_xml") / f"golden-{number}").write_text(profile[0])
    target = {"name": "t", "path": "/t", "identity": 9, "block_bytes": 4096}
    head = {"seed": 7, "targets": [{**target, "start_bytes": 0, "blocks": 16}]}
    (found("verify_journal") / "head").write_bytes(b"\x01" + json.dumps(head).encode())
    (found("verify_stamp") / "zeros").write_bytes(bytes(550))


def main() -> int:
    """Fuzz all targets, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", nargs="*", help="default: all")
    parser.add_argument("--seconds", type=int, default=120, help="for each target (default 120)")
    parser.add_argument("--seed", type=int, default=0, help="of chance; 0 draws one (default)")
    parser.add_argument("--seeds", action="store_true", help="begin with the golden data, too")
    parser.add_argument("--keep", action="store_true", help="extend the committed corpus")
    asked = parser.parse_args()
    names = asked.target or targets()
    unknown = sorted(set(names) - set(targets()))
    if unknown:
        parser.error(f"no such target: {', '.join(unknown)}; there are {', '.join(targets())}")
    for name in filter(is_missing, names):
        print(
            f"{name}: skipped: atheris is not installed; requirements-dev.txt says where it can be"
        )
    names = [name for name in names if not is_missing(name)]
    if not set(names) <= set(IN_PYTHON):
        build()
    if asked.seeds:
        seeds()
    failed = 0
    with ThreadPoolExecutor(PARALLEL) as pool:
        for line, wrong in pool.map(lambda name: fuzz(name, asked.seconds, asked.seed), names):
            print(line, flush=True)
            if wrong is not None:
                failed += 1
                print(wrong, file=sys.stderr)
    if asked.keep and not failed:
        for name in names:
            keep(name)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

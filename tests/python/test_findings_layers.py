"""Who answered, by the counters of the layers beneath a target."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fabricated import GIB, fabricated
from fathom import Result
from fathom.findings import find
from test_findings_causes import with_beneath

if TYPE_CHECKING:
    from fathom.findings import Finding


def test_btrfs_itself_answers_where_no_read_reaches_the_first_layer() -> None:
    """A remedy for the loop device did nothing: no read had come as far as it."""
    told = ("not_the_device", "Of 250,644 reads (979.1 MiB), 0 (0 bytes) reached vda.")
    none = dict.fromkeys(("read_ios", "read_bytes", "write_ios", "write_bytes"), 0)
    asked = none | {"read_ios": 250_644, "read_bytes": 1_026_637_824}

    def one(system: str, reached: dict[str, int]) -> Finding:
        layers = [
            {"name": system, "kind": "file_system", "about": "", "seen": None, "below": [1]},
            {"name": "loop22", "kind": "loop", "about": "", "seen": reached, "below": [2]},
            {"name": "vda", "kind": "disk", "about": "", "seen": none, "below": []},
        ]
        target = {"target": 0, "asked": asked, "layers": [0, 1, 2]}
        target |= {"answered_by": "above_device", "sentence": told[1]}
        run = with_beneath(fabricated(warnings=[told]), layers=layers, targets=[target])
        (finding,) = [one for one in find([run]) if one.rule == "not-the-device"]
        return finding

    assert "0 (0 bytes) reached even loop22" in one("btrfs", none).evidence
    assert "btrfs itself answered" in one("btrfs", none).evidence
    assert "compress" in one("btrfs", none).remedy
    assert "ext4 itself answered" in one("ext4", none).evidence
    # What the loop device saw, a layer beneath it answered: that the engine tells.
    assert one("btrfs", asked).evidence == told[1]
    assert one("btrfs", asked).remedy == "Mend it."


READS = "9 reads went through the page cache, which held 97.0 % of the 4 MiB that were read from."
WRITES = "9 writes (36 KiB) ended in the page cache, and reach the device at some later time."
LOOP = (
    "Whether 9 reads (36 KiB) reached vda cannot be told: the loop device loop2 answers, and vda "
    "saw 500 MiB of everybody."
)


def through_the_page_cache(
    words: str,
    system: str = "ext4",
    *,
    answered_by: str = "not_counted",
    share: float = 1.0,
    caching: str = "cached",
) -> Finding:
    """Return the finding of a run of which the first layer saw this share of the bytes."""
    asked = dict.fromkeys(("read_ios", "read_bytes", "write_ios", "write_bytes"), 36_864)
    seen = {name: round(share * number) for name, number in asked.items()}
    layers = [
        {"name": system, "kind": "file_system", "about": "", "seen": None, "below": [1]},
        {"name": "vda", "kind": "disk", "about": "", "seen": seen, "below": []},
    ]
    target = {"target": 0, "asked": asked, "layers": [0, 1]}
    target |= {"answered_by": answered_by, "sentence": f"{share:.0%} of it reached vda"}
    run = fabricated(caching=caching, warnings=[("page_cache", words)])
    found = find([with_beneath(run, layers=layers, targets=[target])])
    (finding,) = [one for one in found if one.rule == "page-cache"]
    return finding


def too_good(
    *, caching: str = "unbuffered", write: int = 0, answered_by: str | None = None
) -> Finding:
    """Return the finding of a run that was quicker than a device, of which a layer counted so."""
    run = fabricated(latency_ns=1.5, rates=600e3, caching=caching, write=write)
    if answered_by is not None:
        asked = dict.fromkeys(("read_ios", "read_bytes", "write_ios", "write_bytes"), 36_864)
        layers = [{"name": "vda", "kind": "disk", "about": "", "seen": asked, "below": []}]
        target = {"target": 0, "asked": asked, "layers": [0], "answered_by": answered_by}
        target["sentence"] = "all of it reached vda"
        run = with_beneath(run, layers=layers, targets=[target])
    (finding,) = [one for one in find([run]) if one.rule == "too-good"]
    return finding


def test_what_went_past_the_page_cache_did_not_come_from_it() -> None:
    """*Look at what answered: page cache* stood beside reads with O_DIRECT."""
    found = too_good()
    assert "past the page cache: half of them" in found.evidence
    assert "page cache" not in found.remedy
    assert "blocks that were never written, a RAM disk" in found.remedy
    assert "the page cache, " in too_good(caching="cached").remedy
    assert "past the page cache" not in too_good(caching="cached").evidence


def test_what_the_device_counted_did_not_come_from_above_it() -> None:
    found = too_good(caching="cached", answered_by="device")
    assert found.evidence.endswith("the quickest devices need 5 us. All of it reached vda.")
    assert found.remedy == (
        "Look at what answered: blocks that were never written, or the cache of the device or of a "
        "hypervisor."
    )
    written = too_good(write=100, answered_by="device")
    assert written.remedy == "Look at what answered: the cache of the device or of a hypervisor."
    assert "the server" in too_good(answered_by="unseen").remedy


def test_the_page_cache_is_certain_only_where_the_counters_of_the_device_say_so() -> None:
    """It read "The page cache was measured (certain)" above "cannot be told"."""
    sure = through_the_page_cache(READS, answered_by="above_device", share=0.02)
    assert (sure.title, sure.confidence) == ("The page cache was measured", "certain")
    assert "2% of it reached vda" in sure.evidence
    sure = through_the_page_cache(WRITES, answered_by="above_device", share=0.0)
    assert sure.confidence == "certain"
    # What the device saw, the cache need not have answered; of a loop device nobody knows.
    open_ = through_the_page_cache(READS, answered_by="device")
    assert (open_.title, open_.confidence) == ("The page cache may have answered", "possible")
    open_ = through_the_page_cache(LOOP, caching="unbuffered")
    assert (open_.title, open_.confidence) == ("The page cache may have answered", "likely")
    # Writes are done when they are in the cache, wherever they go later.
    assert through_the_page_cache(WRITES).confidence == "likely"


def test_reads_that_few_fetches_served_are_the_page_caches() -> None:
    """It was only possible, and *all of 131,072 reads* had reached the disk: in 12,453 fetches."""

    def told(random: int, fetches: int, merged: int = 0) -> Finding:
        none = dict.fromkeys(("read_ios", "read_bytes", "write_ios", "write_bytes"), 0)
        asked = none | {"read_ios": 131_072, "read_bytes": 64 << 20}
        seen = asked | {"read_ios": fetches, "reads_merged": merged}
        layers = [
            {"name": "ext4", "kind": "file_system", "about": "", "seen": None, "below": [1]},
            {"name": "vda", "kind": "disk", "about": "", "seen": seen, "below": []},
        ]
        target = {"target": 0, "asked": asked, "layers": [0, 1], "answered_by": "device"}
        target["sentence"] = f"{fetches:,} fetches served 131,072 reads"
        run = fabricated(caching="cached", random=random, warnings=[("page_cache", READS)])
        found = find([with_beneath(run, layers=layers, targets=[target])])
        (finding,) = [one for one in found if one.rule == "page-cache"]
        return finding

    few = told(100, 12_453)
    assert (few.title, few.confidence) == ("The page cache was measured", "certain")
    assert "12,453 fetches served 131,072 reads" in few.evidence
    # One fetch for each read, though the disk merged them; and what is read in order, ahead.
    assert told(100, 131_072).confidence == "possible"
    assert told(100, 31_072, 100_000).confidence == "possible"
    assert told(0, 12_453).confidence == "possible"


def test_a_file_system_with_a_cache_of_its_own_proves_nothing_of_the_page_cache() -> None:
    for system in ("zfs", "fuseblk"):
        told = through_the_page_cache(READS, system, answered_by="above_device", share=0.02)
        assert told.confidence == "likely"
    # Compression makes bytes fewer, too.
    told = through_the_page_cache(READS, "btrfs", answered_by="partly_device", share=0.3)
    assert told.confidence == "likely"
    told = through_the_page_cache(READS, "btrfs", answered_by="above_device", share=0.0)
    assert told.confidence == "certain"
    served = through_the_page_cache(READS, "fuse.sshfs", answered_by="unseen", share=0.0)
    assert served.confidence == "possible"


def test_what_nobody_counted_follows_from_what_the_cache_held() -> None:
    def of(words: str) -> str:
        run = fabricated(caching="cached", warnings=[("page_cache", words)])
        (told,) = [one for one in find([run]) if one.rule == "page-cache"]
        return told.confidence

    assert of(READS) == "likely"
    assert of(READS.replace("97.0", "12.0")) == "possible"
    assert of(WRITES) == "likely"


def of_hosts(*ranges: tuple[int, int]) -> Result:
    """Return a result of hosts, each of which used this range of a target."""
    raw = dict(fabricated(size=2 * GIB).raw)
    span = raw["time_spans"][0]
    (thread,), (target,) = span["threads"], span["targets"]
    span["threads"], span["targets"], raw["parts"], raw["hosts"] = [], [], [], []
    for number, (base, limit) in enumerate(ranges):
        own = json.loads(json.dumps(thread)) | {"index": number}
        own["targets"][0]["target"] = number
        span["threads"].append(own)
        span["targets"].append({**target, "working_set_bytes": (limit or 2 * GIB) - base})
        request = json.loads(json.dumps(raw["request"]))
        request["profile"]["time_spans"][0]["targets"][0] |= {
            "base_bytes": base,
            "limit_bytes": limit,
        }
        told = {"first_thread": number, "threads": 1, "measured_ns": span["measured_ns"], "cpu": []}
        part = {"host": {"name": f"h{number}"}, "request": request, "time_spans": [told]}
        raw["parts"].append(part)
        raw["hosts"].append(
            {"name": f"h{number}", "version": "1", "kernel": "Linux 6", "clock_offset_ns": 0}
            | {"clock_uncertainty_ns": 9, "start_skew_ns": 0, "lost": None}
        )
    return Result.from_json(json.dumps(raw))


def test_the_working_set_of_hosts_that_split_a_target_is_that_of_all_of_them() -> None:
    """A finding named 1 GiB, which was the first host's part of 2 GiB."""

    def told(*ranges: tuple[int, int]) -> str:
        (found,) = [one for one in find([of_hosts(*ranges)]) if one.rule == "working-set-small"]
        return found.evidence

    assert "was 2 GiB of 2 hosts together;" in told((0, GIB), (GIB, 2 * GIB))
    # Those that use the whole, or files of their own, do not touch twice as much for sure.
    assert "was 2 GiB on each of 2 hosts;" in told((0, 0), (0, 0))
    assert "was 2 GiB;" in told((0, 0))

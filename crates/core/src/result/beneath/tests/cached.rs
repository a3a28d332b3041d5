//! Bytes that a device saw, beside I/Os that the page cache answered.

use super::{AnsweredBy, BYTES, Fake, READS, beneath, plan, read_through_cached_loop, result};
use crate::plan::{Order, TargetPlan};
use crate::result::{RunResult, WarningKind};
use crate::units::MIB;

/// Reads whose bytes the disk saw in so many fetches, of which it merged some.
fn fetched(
    path: &str,
    [fetches, merged]: [u64; 2],
    change: impl FnOnce(&mut TargetPlan),
) -> RunResult {
    let fake = Fake::new();
    fake.write("a.img", "x");
    fake.loop_over(2, "/a.img", false);
    let mut span = plan(&[path]);
    span.targets[0].open.direct = false;
    span.targets[0].offsets.order = Order::Random;
    change(&mut span.targets[0]);
    let observed = fake.observe(&span, |fake| {
        fake.counts("loop2", [READS, BYTES, 0, 0]);
        let sectors = BYTES / 512;
        let line = format!("{fetches} {merged} {sectors} 0 0 0 0 0 0 0 0\n");
        fake.write("sys/devices/sda/stat", &line);
        fake.fetched(BYTES);
    });
    result(&span, observed, &[(READS, 0)])
}

fn said(result: &RunResult) -> (AnsweredBy, &str) {
    let origin = &beneath(result).targets[0];
    (origin.answered_by, &origin.sentence)
}

fn is_told(result: &RunResult, kind: WarningKind) -> bool {
    result.warnings.iter().any(|one| one.kind == kind)
}

/// "All of 131,072 reads (64 MiB) reached vda" was said where 12,453 fetches had brought 64 MiB, and nine of
/// ten reads were answered by the page cache.
#[test]
fn reads_that_the_page_cache_answered_are_not_the_disks_for_their_bytes() {
    let few = fetched("/x.dat", [1_250, 0], |_| {});
    let words = "1,250 fetches of 39.1 MiB from sda served 10,000 reads (39.1 MiB); the page cache answered \
                 the rest";
    assert_eq!(said(&few), (AnsweredBy::PartlyDevice, words));
    assert!(is_told(&few, WarningKind::NotTheDevice));
    let mapped = fetched("/x.dat", [1_250, 0], |target| {
        (target.open.direct, target.open.mapped) = (true, true);
    });
    assert_eq!(said(&mapped), (AnsweredBy::PartlyDevice, words));
    // So does the cache of a file below a loop device.
    let below = fetched("/dev/loop2", [1_250, 0], |target| target.open.direct = true);
    assert_eq!(said(&below), (AnsweredBy::PartlyDevice, words));
}

#[test]
fn a_fetch_for_each_read_is_the_disks() {
    let all = "all of 10,000 reads (39.1 MiB) reached sda";
    let each = fetched("/x.dat", [READS, 0], |_| {});
    assert_eq!(said(&each), (AnsweredBy::Device, all));
    assert!(!is_told(&each, WarningKind::NotTheDevice));
    // What the queue of the disk took together was fetched for each read, too.
    let merged = fetched("/x.dat", [READS / 4, READS * 3 / 4], |_| {});
    assert_eq!(said(&merged), (AnsweredBy::Device, all));
    let past = fetched("/x.dat", [READS / 8, 0], |target| target.open.direct = true);
    assert_eq!(said(&past), (AnsweredBy::Device, all));
}

/// Each fetch that reads ahead serves many reads that follow each other.
#[test]
fn reads_in_order_are_neither_the_disks_nor_the_page_caches() {
    let ahead = fetched("/x.dat", [312, 0], |target| target.offsets.order = Order::Sequential);
    let words = "312 fetches of 39.1 MiB from sda served 10,000 reads (39.1 MiB), as the page cache reads \
                 ahead";
    assert_eq!(said(&ahead), (AnsweredBy::NotCounted, words));
    assert!(!is_told(&ahead, WarningKind::NotTheDevice));
}

/// "Of 12,000 writes (750 MiB), 465 (267 MiB) reached vda" was said where none of them had left the page
/// cache: another process wrote to the disk.
#[test]
fn what_others_write_does_not_pass_for_writes_that_are_still_in_the_page_cache() {
    let fake = Fake::new();
    let written = |[reads, writes]: [u64; 2], bytes: u64| {
        let mut span = plan(&["/x.dat"]);
        span.targets[0].open.direct = false;
        span.targets[0].open.write = true;
        fake.counts("sda", [0; 4]);
        fake.fetched(0);
        let observed = fake.observe(&span, |fake| {
            fake.counts("sda", [reads, reads * 4096, 465, bytes]);
            fake.fetched(reads * 4096);
        });
        result(&span, observed, &[(reads, writes)])
    };
    let some = written([0, READS], 14 * MIB);
    let most =
        "of 10,000 writes (39.1 MiB), at most 14 MiB reached sda, which saw that of everybody";
    assert_eq!(said(&some), (AnsweredBy::NotCounted, most));
    let kinds: Vec<WarningKind> = some.warnings.iter().map(|one| one.kind).collect();
    assert_eq!(kinds, [WarningKind::PageCache], "it says where they ended");
    let both = written([500, READS], 14 * MIB);
    let words = format!("all of 500 reads (2.0 MiB) reached sda; {most}");
    assert_eq!(said(&both), (AnsweredBy::NotCounted, words.as_str()));
    let hardly =
        "of 10,000 writes (39.1 MiB), at most 1 MiB reached sda, which saw that of everybody";
    assert_eq!(said(&written([0, READS], MIB)), (AnsweredBy::AboveDevice, hardly));
}

/// The same of reads of a loop device through the page cache, which are on nobody's account.
#[test]
fn what_others_read_is_no_more_than_the_most_that_a_cached_loop_device_can_have_read() {
    let result = read_through_cached_loop([READS / 2, BYTES / 2, 0, 0]);
    let expected = "of 10,000 reads (39.1 MiB), at most 19.5 MiB reached sda, which saw that of everybody; \
                    the loop device loop2, over /a.img, through the page cache saw them";
    assert_eq!(said(&result), (AnsweredBy::PartlyDevice, expected));
}

/// "156 (19.5 MiB) reached sda" was said of reads of 4 KiB, half of which had come: fetches that read ahead
/// were counted as reads.
#[test]
fn fetches_of_another_size_are_no_number_of_reads() {
    let fake = Fake::new();
    let mut span = plan(&["/x.dat"]);
    span.targets[0].open.direct = false;
    let observed = fake.observe(&span, |fake| {
        fake.counts("sda", [156, BYTES / 2, 0, 0]);
        fake.fetched(BYTES / 2);
    });
    let result = result(&span, observed, &[(READS, 0)]);
    let expected = "of 10,000 reads (39.1 MiB), 19.5 MiB reached sda";
    assert_eq!(said(&result), (AnsweredBy::PartlyDevice, expected));
}

/// Each read of one file was fetched, and fetches that read ahead in the other one made it *partly* the
/// page cache's.
#[test]
fn one_file_read_in_order_leaves_open_what_was_fetched_for_another() {
    let fake = Fake::new();
    let mut span = plan(&["/x.dat", "/y.dat"]);
    for target in &mut span.targets {
        target.open.direct = false;
    }
    span.targets[0].offsets.order = Order::Random;
    span.targets[1].offsets.order = Order::Sequential;
    let observed = fake.observe(&span, |fake| {
        fake.counts("sda", [1_312, BYTES + BYTES / 10, 0, 0]);
        fake.fetched(BYTES + BYTES / 10);
    });
    let result = result(&span, observed, &[(READS / 10, 0), (READS, 0)]);
    for origin in &beneath(&result).targets {
        assert_eq!(origin.answered_by, AnsweredBy::NotCounted, "{}", origin.sentence);
    }
    assert!(!is_told(&result, WarningKind::NotTheDevice));
}

//! So few I/Os that those in flight at the edges of the measured time count.

use super::{AnsweredBy, Fake, beneath, plan, result};
use crate::plan::SpanPlan;
use crate::result::WarningKind;

const FEW: u64 = 137;

/// A load of 137 reads at a depth of 128 on a loop device whose file is cached, of which the disk saw so
/// many.
fn said(
    path: &str,
    seen: u64,
    change: impl FnOnce(&mut SpanPlan),
) -> (AnsweredBy, String, Vec<WarningKind>) {
    let fake = Fake::new();
    fake.write("a.img", "x");
    fake.loop_over(2, "/a.img", false);
    let mut span = plan(&[path]);
    span.threads[0].assignments[0].outstanding = 128;
    change(&mut span);
    let observed = fake.observe(&span, |fake| {
        fake.counts("loop2", [FEW, FEW * 4096, 0, 0]);
        fake.counts("sda", [seen, seen * 4096, 0, 0]);
        fake.fetched(FEW * 4096);
    });
    let result = result(&span, observed, &[(FEW, 0)]);
    let origin = &beneath(&result).targets[0];
    let kinds = result.warnings.iter().map(|one| one.kind).collect();
    (origin.answered_by, origin.sentence.clone(), kinds)
}

/// "All of 137 reads (2.1 GiB) reached vda" was said of a disk that saw 2.4 MB, as no more I/Os were asked
/// than twice those in flight: but the counted time held the load from beginning to end.
#[test]
fn a_load_that_is_counted_as_a_whole_has_nothing_at_its_edges() {
    let (answered_by, sentence, kinds) = said("/dev/loop2", 2, |_| {});
    assert_eq!(answered_by, AnsweredBy::AboveDevice);
    let expected = "of 137 reads (548 KiB), 2 (8 KiB) reached sda; the loop device loop2, over /a.img, \
                    through the page cache saw them";
    assert_eq!(sentence, expected);
    assert_eq!(kinds, [WarningKind::NotTheDevice]);
    let all = "all of 137 reads (548 KiB) reached sda".to_owned();
    assert_eq!(said("/dev/loop2", FEW, |_| {}), (AnsweredBy::Device, all, vec![]));
}

#[test]
fn what_may_lie_at_the_edges_of_the_time_is_not_said_to_have_reached_the_disk() {
    let warmed = |span: &mut SpanPlan| span.warm_up_ns = 1;
    let (answered_by, sentence, kinds) = said("/dev/loop2", 20, warmed);
    assert_eq!(answered_by, AnsweredBy::NotCounted);
    let expected = "whether 137 reads (548 KiB) reached sda cannot be told: 20 (80 KiB) reached sda, and the \
                    rest may have been in flight at the edges of the measured time; the loop device loop2, \
                    over /a.img, through the page cache saw them";
    assert_eq!(sentence, expected);
    assert_eq!(kinds, [WarningKind::PageCache]);
    // More is missing than one edge holds, though not more than two.
    assert_eq!(said("/dev/loop2", 2, warmed).0, AnsweredBy::AboveDevice);
    let both = |span: &mut SpanPlan| (span.warm_up_ns, span.cool_down_ns) = (1, 1);
    assert_eq!(said("/dev/loop2", 2, both).0, AnsweredBy::NotCounted);
    let (answered_by, _, kinds) = said("/x.dat", 130, warmed);
    assert_eq!((answered_by, kinds), (AnsweredBy::Device, vec![]));
}

/// "All of 14,000 reads" was said where the disk saw 92 % of them.
#[test]
fn what_is_missing_of_a_load_that_reached_the_disk_is_a_number() {
    let (answered_by, sentence, kinds) = said("/x.dat", 126, |_| {});
    assert_eq!(answered_by, AnsweredBy::Device);
    assert_eq!(sentence, "of 137 reads (548 KiB), 126 (504 KiB) reached sda");
    assert_eq!(kinds, []);
}

/// The disk also saw the 128 reads that were in flight at the end, and a loop device that had answered none
/// of its own was said to hide behind others.
#[test]
fn what_was_in_flight_at_the_end_does_not_pass_for_the_io_of_others() {
    assert_eq!(said("/dev/loop2", 265, |_| {}).0, AnsweredBy::Device);
    assert_eq!(said("/dev/loop2", 300, |_| {}).0, AnsweredBy::NotCounted);
}

/// "0 reached sda, and the rest may have been in flight at the edges" was said of writes that end in the page
/// cache.
#[test]
fn cached_writes_that_no_disk_saw_are_not_those_at_the_edges() {
    let fake = Fake::new();
    let mut span = plan(&["/x.dat"]);
    (span.targets[0].open.direct, span.targets[0].open.write) = (false, true);
    span.threads[0].assignments[0].outstanding = 128;
    span.warm_up_ns = 1;
    let observed = fake.observe(&span, |fake| fake.counts("sda", [0; 4]));
    let result = result(&span, observed, &[(0, 100)]);
    let origin = &beneath(&result).targets[0];
    assert_eq!(origin.answered_by, AnsweredBy::NotCounted);
    let expected = "whether 100 writes (400 KiB) reached sda cannot be told: they end in the page cache, \
                    and sda saw 0 bytes of everybody";
    assert_eq!(origin.sentence, expected);
}

//! A target that stalls while its thread goes on with others is seen, and only that one; a target that has
//! nothing to do does not stall.

use std::ops::Range;

use fathom_core::engine::backend::SimDevice;
use fathom_core::engine::simulate::simulate;
use fathom_core::plan::{Burst, EngineKind, Pace, SpanPlan};
use fathom_core::units::{NANOS_PER_MILLI, NANOS_PER_SEC};

use crate::plans::{Tell, span};

const FROM_NS: u64 = NANOS_PER_SEC;
const LENGTH_NS: u64 = 1_500 * NANOS_PER_MILLI;

/// A thread with two targets for 4 s.
fn two_targets() -> SpanPlan {
    let mut plan = span(64 << 20).random().seconds(4);
    plan.targets.push(plan.targets[0].clone());
    let mut second = plan.threads[0].assignments[0].clone();
    second.target = 1;
    plan.threads[0].assignments.push(second);
    plan
}

/// The file hangs from 1 s on for 1.5 s.
fn hanging(file: u32) -> SimDevice {
    SimDevice {
        stall_from_ns: FROM_NS,
        stall_ns: LENGTH_NS,
        stalled_file: Some(file),
        ..SimDevice::default()
    }
}

/// The stretches of each target of the thread.
fn stretches(plan: &SpanPlan, device: &SimDevice) -> Vec<Vec<Range<u64>>> {
    let found = simulate(plan, device).unwrap().stretches;
    let [thread] = found.as_slice() else { panic!("one thread") };
    thread.iter().map(|one| one.longest().to_vec()).collect()
}

/// Whether these are those of one stall, which began at most so long before or behind 1 s.
fn is_one_stall(found: &[Range<u64>], within_ns: u64) -> bool {
    let [one] = found else { return false };
    one.start.abs_diff(FROM_NS) <= within_ns && one.end == FROM_NS + LENGTH_NS
}

/// A FUSE server held all I/Os of one file while it answered those of the other, and no stall was told: the
/// thread always came back.
#[test]
fn a_target_that_stalls_is_seen_while_its_thread_goes_on_with_another() {
    for outstanding in [1, 8] {
        for hung in [0, 1] {
            let mut plan = two_targets().outstanding(outstanding);
            plan.threads[0].assignments[1].outstanding = outstanding;
            let found = stretches(&plan, &hanging(hung));
            let (hung, other) = (&found[hung as usize], &found[1 - hung as usize]);
            assert!(is_one_stall(hung, NANOS_PER_MILLI), "{found:?}");
            assert_eq!(other, &[], "{found:?}");
        }
    }
}

/// Where one call follows the other, or all slots are soon with the target that hangs, the other target gets
/// nothing, and has not stalled.
#[test]
fn a_target_that_gets_nothing_while_another_hangs_has_not_stalled() {
    let mut calls = two_targets();
    calls.threads[0].engine = EngineKind::Sync;
    let mut shared = two_targets();
    shared.shared_outstanding = 4;
    shared.threads[0].assignments[0].weight = 9;
    for plan in [calls, shared] {
        for hung in [0, 1] {
            let found = stretches(&plan, &hanging(hung));
            assert!(is_one_stall(&found[hung as usize], 5 * NANOS_PER_MILLI), "{found:?}");
            assert_eq!(found[1 - hung as usize], [], "{found:?}");
        }
    }
}

/// Few I/Os are no stall: by a rate, by bursts, or by their share of the slots.
#[test]
fn a_target_with_few_ios_has_not_stalled() {
    let mut slow = two_targets();
    slow.threads[0].assignments[1].pace = Some(Pace::constant(1, NANOS_PER_SEC));
    let mut bursts = two_targets();
    bursts.threads[0].assignments[1].burst = Some(Burst { ios: 50, gap_ns: NANOS_PER_SEC / 2 });
    let mut rare = two_targets();
    rare.shared_outstanding = 2;
    rare.threads[0].assignments[0].weight = 10_000;
    let alone = span(64 << 20).seconds(4).outstanding(4).pace(2, NANOS_PER_SEC);
    let mut called = slow.clone();
    called.threads[0].engine = EngineKind::Sync;
    for plan in [slow, bursts, rare, alone, called] {
        for one in stretches(&plan, &SimDevice::default()) {
            assert_eq!(one, [], "{:?}", plan.threads);
        }
    }
}

/// At 20 I/Os per second and 64 outstanding ones the thread came back for each that was due, and was never
/// away for long.
#[test]
fn a_stall_of_a_slow_rate_with_free_slots_is_seen() {
    let plan = span(64 << 20).seconds(4).outstanding(64).pace(20, NANOS_PER_SEC);
    let found = stretches(&plan, &hanging(0));
    assert!(is_one_stall(&found[0], 50 * NANOS_PER_MILLI), "{found:?}");
}

/// What is in flight as the load ends, or never comes back, has not come back until then.
#[test]
fn a_stall_that_lasts_until_the_end_is_seen() {
    let dying = SimDevice { stall_ns: 600 * NANOS_PER_SEC, ..hanging(1) };
    let found = stretches(&two_targets(), &dying);
    let [stall] = found[1].as_slice() else { panic!("{found:?}") };
    assert!(stall.start.abs_diff(FROM_NS) <= NANOS_PER_MILLI, "{found:?}");
    assert!(stall.end >= 4 * NANOS_PER_SEC, "{found:?}");
    assert_eq!(found[0], [], "{found:?}");
}

/// Each thread is as it was where it has one target and nothing else to wait for.
#[test]
fn a_thread_with_one_target_and_no_schedule_is_left_to_the_coordinator() {
    let plan = span(64 << 20).outstanding(4).seconds(4);
    assert_eq!(simulate(&plan, &hanging(0)).unwrap().stretches[0].len(), 0);
}

//! Offsets, seen by a recorder that knows nothing of how they were made.

use fathom_core::engine::backend::{Operation, SimDevice, Transfer};
use fathom_core::engine::offsets::{Offsets, SharedOffsets};
use fathom_core::engine::random::Random;
use fathom_core::engine::simulate::simulate;
use fathom_core::plan::{OffsetPlan, Order, Skew, SpanPlan};
use proptest::prelude::*;

use crate::plans::{BLOCK, Tell, span};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

fn transfers(plan: &SpanPlan) -> Vec<Vec<Transfer>> {
    let device = SimDevice { latency_ns: 10_000, ..SimDevice::default() };
    let records = simulate(plan, &device).unwrap().records;
    let transfer = |thread: Vec<fathom_core::engine::backend::SimRecord>| {
        thread.into_iter().map(|record| record.transfer).collect()
    };
    records.into_iter().map(transfer).collect()
}

fn offsets(plan: &SpanPlan) -> Vec<u64> {
    let first = transfers(plan).swap_remove(0);
    first.into_iter().map(|transfer| transfer.offset_bytes).collect()
}

/// The chi-square statistic of counts that should all be equal, as distance from its mean in
/// standard deviations: beyond 5 has a chance below one in a million for many degrees of freedom.
fn chi_square_deviation(counts: &[u64]) -> f64 {
    let total: u64 = counts.iter().sum();
    let expected = total as f64 / counts.len() as f64;
    let sum: f64 = counts.iter().map(|&n| (n as f64 - expected).powi(2) / expected).sum();
    let freedom = (counts.len() - 1) as f64;
    (sum - freedom) / (2.0 * freedom).sqrt()
}

#[test]
fn random_offsets_are_uniform_over_every_block() {
    let plan = span(4 * MIB).random().outstanding(4).seconds(3);
    let mut counts = vec![0_u64; 1024];
    let offsets = offsets(&plan);
    assert!(offsets.len() >= 1_000_000);
    for offset in offsets {
        assert_eq!(offset % BLOCK, 0);
        counts[usize::try_from(offset / BLOCK).unwrap()] += 1;
    }
    let deviation = chi_square_deviation(&counts);
    assert!(deviation.abs() < 5.0, "{deviation}");
}

#[test]
fn random_offsets_keep_an_alignment_that_is_no_power_of_two() {
    let plan = span(3 * MIB).random().align(3_000).range(1_000, 2 * MIB);
    for offset in offsets(&plan) {
        assert_eq!((offset - 1_000) % 3_000, 0);
        assert!(offset >= 1_000 && offset + BLOCK <= 2 * MIB);
    }
}

#[test]
fn shares_of_a_distribution_are_held_within_half_a_percent() {
    let shares =
        [(90.0, 0, 800 * KIB), (5.0, 1_600 * KIB, 3_200 * KIB), (5.0, 3_200 * KIB, 8 * MIB)];
    let plan = span(8 * MIB).random().outstanding(8).seconds(2).shares(&shares);
    let offsets = offsets(&plan);
    let total = offsets.len() as f64;
    for (percent, start, end) in shares {
        let inside = offsets.iter().filter(|&&offset| (start..end).contains(&offset)).count();
        let share = inside as f64 * 100.0 / total;
        assert!((share - percent).abs() < 0.5, "{share} instead of {percent}");
    }
    let hole = 800 * KIB..1_600 * KIB;
    assert!(!offsets.iter().any(|offset| hole.contains(offset)));
}

#[test]
fn sequential_offsets_step_by_the_stride_and_wrap_to_the_base() {
    let plan = span(MIB).align(12_288).range(8_192, 60_000);
    let offsets = offsets(&plan);
    let pass = [8_192, 20_480, 32_768, 45_056];
    assert!(offsets.len() > 90_000);
    assert!(offsets.iter().enumerate().all(|(index, &offset)| offset == pass[index % 4]));
}

#[test]
fn a_thread_stride_moves_each_threads_first_offset() {
    let mut plan = span(MIB).threads(4);
    for (index, thread) in plan.threads.iter_mut().enumerate() {
        thread.assignments[0].start_bytes = index as u64 * 256 * KIB;
    }
    for (index, thread) in transfers(&plan).iter().enumerate() {
        assert_eq!(thread[0].offset_bytes, index as u64 * 256 * KIB);
        assert_eq!(thread[1].offset_bytes, index as u64 * 256 * KIB + BLOCK);
    }
}

#[test]
fn interlocked_threads_take_turns_without_gap_or_repeat() {
    // 100 blocks fit, so that the passes do not end where a thread ends.
    let plan = span(100 * BLOCK).order(Order::Interlocked).threads(3);
    let all: Vec<u64> = transfers(&plan).concat().iter().map(|t| t.offset_bytes).collect();
    let expected = (0..all.len() as u64).map(|k| k % 100 * BLOCK);
    assert!(all.iter().copied().eq(expected));
}

#[test]
fn interlocked_offsets_are_handed_out_once_to_racing_threads() {
    let plan = span(40_000 * BLOCK).order(Order::Interlocked);
    let offset_plan = &plan.targets[0].offsets;
    let shared = SharedOffsets::new(offset_plan);
    let walk = || {
        let mut offsets = Offsets::new(offset_plan, 0, 1, &shared);
        let mut random = Random::new(0);
        (0..10_000).map(|_| offsets.next(0, &mut random)).collect::<Vec<_>>()
    };
    let mut all = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(walk)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    all.sort_unstable();
    assert!(all.into_iter().eq((0..40_000).map(|k| k * BLOCK)));
}

#[test]
fn outstanding_ios_of_the_same_offset_walk_side_by_side() {
    let plan = span(MIB).order(Order::SameOffset).outstanding(4);
    let thread = transfers(&plan).swap_remove(0);
    for slot in 0..4 {
        let walk = thread.iter().filter(|transfer| transfer.slot == slot);
        let expected = (0..).map(|k| k % 256 * BLOCK);
        assert!(walk.zip(expected).all(|(transfer, offset)| transfer.offset_bytes == offset));
    }
}

#[test]
fn runs_of_a_mix_have_geometric_length_and_one_direction() {
    let plan = span(1 << 40)
        .order(Order::Mixed { random_percent: 20 })
        .outstanding(4)
        .writes(50)
        .seconds(3);
    let thread = transfers(&plan).swap_remove(0);
    let mut runs = 1_u64;
    for pair in thread.windows(2) {
        let goes_on = pair[1].offset_bytes == pair[0].offset_bytes + BLOCK;
        runs += u64::from(!goes_on);
        assert!(!goes_on || pair[0].operation == pair[1].operation);
    }
    let mean = thread.len() as f64 / runs as f64;
    assert!((mean / 5.0 - 1.0).abs() < 0.01, "{mean}");
    let writes = thread.iter().filter(|transfer| transfer.operation == Operation::Write).count();
    let share = writes as f64 / thread.len() as f64;
    assert!((share - 0.5).abs() < 0.01, "{share}");
}

/// What a thread of this seed does that walks in order but for few I/Os.
fn mostly_in_order(random_percent: u32, writes: u32, seed: u64) -> Vec<Transfer> {
    let mut plan = span(1 << 40).order(Order::Mixed { random_percent }).writes(writes);
    plan.threads[0].seed = seed;
    transfers(&plan.milliseconds(50)).swap_remove(0)
}

/// A walk may begin with a stretch in order. Its I/Os had a direction that nobody had drawn: they were reads.
#[test]
fn a_load_of_writes_began_with_reads_where_it_began_in_order() {
    for seed in 0..20 {
        let all = mostly_in_order(5, 100, seed);
        assert!(all.iter().all(|transfer| transfer.operation == Operation::Write), "{seed}");
    }
}

#[test]
fn the_first_stretch_in_order_is_of_writes_as_often_as_any_other() {
    let begins_with_write = |seed| mostly_in_order(1, 50, seed)[0].operation == Operation::Write;
    let writes = (0..200).filter(|seed| begins_with_write(*seed)).count();
    assert!((65..=135).contains(&writes), "{writes} of 200");
}

fn orders() -> impl Strategy<Value = Order> {
    prop_oneof![
        Just(Order::Sequential),
        Just(Order::Interlocked),
        Just(Order::SameOffset),
        Just(Order::Random),
        (1_u32..100).prop_map(|random_percent| Order::Mixed { random_percent }),
    ]
}

proptest! {
    #[test]
    fn no_offset_leaves_the_range(
        order in orders(),
        base_bytes in 0_u64..1 << 40,
        block_bytes in 1_u64..1 << 20,
        beyond in 0_u64..1 << 22,
        align_bytes in 1_u64..1 << 21,
        seed in any::<u64>(),
    ) {
        let end_bytes = base_bytes + block_bytes + beyond;
        let ranges = Vec::new();
        let plan = OffsetPlan { base_bytes, end_bytes, block_bytes, align_bytes, order, ranges, skew: None };
        let shared = SharedOffsets::new(&plan);
        let mut offsets = Offsets::new(&plan, base_bytes, 2, &shared);
        let mut random = Random::new(seed);
        for k in 0..500 {
            let offset = offsets.next(k % 2, &mut random);
            prop_assert!(offset >= base_bytes && offset + block_bytes <= end_bytes);
        }
    }
}

/// The share of I/Os that fall below each of some places, in blocks.
fn shares_below(plan: &SpanPlan, places: &[u64]) -> Vec<f64> {
    let offsets = offsets(plan);
    let below = |place: &u64| offsets.iter().filter(|&&offset| offset < place * BLOCK).count();
    places.iter().map(|place| below(place) as f64 / offsets.len() as f64).collect()
}

#[test]
fn zipf_gives_each_place_its_share() {
    let (blocks, theta) = (1_000_000_u64, 1.2);
    let plan = span(blocks * BLOCK).random().outstanding(8).seconds(3);
    let plan = plan.skew(Skew::Zipf { theta_milli: 1_200 });
    let weight = |to: u64| (1..=to).map(|k| (k as f64).powf(-theta)).sum::<f64>();
    let places = [1, 2, 10, 100, 10_000, 300_000];
    for (share, place) in shares_below(&plan, &places).into_iter().zip(places) {
        let theory = weight(place) / weight(blocks);
        assert!((share / theory - 1.0).abs() < 0.01, "{place}: {share} instead of {theory}");
    }
}

#[test]
fn pareto_of_a_fifth_sends_four_fifths_there_and_so_on() {
    let plan = span(1_000_000 * BLOCK).random().outstanding(8).seconds(3);
    let plan = plan.skew(Skew::Pareto { h_milli: 200 });
    let shares = shares_below(&plan, &[200_000, 40_000, 8_000]);
    for (share, theory) in shares.into_iter().zip([0.8, 0.64, 0.512]) {
        assert!((share / theory - 1.0).abs() < 0.01, "{share} instead of {theory}");
    }
}

#[test]
fn normal_gathers_around_the_middle() {
    let plan = span(1_000_000 * BLOCK).random().outstanding(8).seconds(12);
    let plan = plan.skew(Skew::Normal { deviation_milli: 10_000 });
    let shares = shares_below(&plan, &[300_000, 400_000, 500_000, 600_000, 700_000]);
    let theory = [0.022_750, 0.158_655, 0.5, 0.841_345, 0.977_250];
    for (index, (share, theory)) in shares.iter().zip(theory).enumerate() {
        // Of either tail, so that one percent is one percent of little too.
        let (share, theory) =
            if index > 2 { (1.0 - share, 1.0 - theory) } else { (*share, theory) };
        assert!((share / theory - 1.0).abs() < 0.01, "{share} instead of {theory}");
    }
}

//! Files that drawn runs have left: no byte of ours is somebody's, and no table of characters is ours.

use std::os::unix::fs::FileExt;

use proptest::collection::vec;
use proptest::prelude::*;

use super::counted::{Counted, Torn, Writes};
use super::lengths::Lengths;
use super::proof::{self, Hints};
use super::*;
use crate::divisor::greatest_common_divisor;
use crate::noise;

const SIZE: usize = 40_000;
/// Length of I/Os, and what their offsets are multiples of.
const BLOCKS: [(usize, usize); 9] = [
    (512, 512),
    (4096, 4096),
    (8192, 8192),
    (16_384, 4096),
    (1000, 1000),
    (48, 16),
    (528, 16),
    (1536, 512),
    (4096, 16),
];
/// Shorter pieces prove nothing.
const PIECE: u64 = 16;

#[derive(Debug, Clone, Copy)]
enum Data {
    Counting,
    Zeros,
    Random(u64),
    Compressed(u64),
}

#[derive(Debug, Clone)]
struct Run {
    block: (usize, usize),
    data: Data,
    places: Vec<usize>,
    /// Bytes that the last I/O lacks, as the process was killed.
    lacks: usize,
}

fn runs() -> impl Strategy<Value = Vec<Run>> {
    let data = prop_oneof![
        2 => Just(Data::Counting),
        1 => Just(Data::Zeros),
        1 => any::<u64>().prop_map(Data::Random),
        1 => any::<u64>().prop_map(Data::Compressed),
    ];
    let block = proptest::sample::select(&BLOCKS[..]);
    let lacks = prop_oneof![Just(0_usize), 1_usize..16];
    let run = (block, data, vec(0..SIZE, 1..40), lacks)
        .prop_map(|(block, data, places, lacks)| Run { block, data, places, lacks });
    let is_told = |runs: &Vec<Run>| writes(runs).step_bytes >= PIECE;
    vec(run, 1..4).prop_filter("pieces that prove something", is_told)
}

fn writes(runs: &[Run]) -> Writes {
    let of = |run: &Run| {
        let (length, align) = (run.block.0 as u64, run.block.1 as u64);
        let step_bytes = greatest_common_divisor(length, align);
        let counted = Counted { step: step_bytes, lengths: Lengths::of([length]) };
        Writes {
            step_bytes,
            counted: matches!(run.data, Data::Counting).then_some(counted),
            zeros: matches!(run.data, Data::Zeros).then_some(length),
            others: matches!(run.data, Data::Random(_) | Data::Compressed(_)).then_some(length),
            torn: if run.lacks > 0 { Torn::AtSectors } else { Torn::Nowhere },
        }
    };
    runs.iter().map(of).reduce(Writes::and).expect("a run")
}

fn fill(data: Data, bytes: &mut [u8]) {
    match data {
        Data::Counting => (0_u8..=255).cycle().zip(bytes).for_each(|(count, byte)| *byte = count),
        Data::Zeros => bytes.fill(0),
        Data::Random(key) => noise::fill(key, bytes),
        Data::Compressed(key) => {
            for (grain, bytes) in (0..).zip(bytes.chunks_mut(512)) {
                noise::fill_grain(key, grain, 256, bytes);
            }
        }
    }
}

/// What an I/O has written.
#[derive(Debug, Clone, Copy)]
struct Io {
    start: usize,
    /// Less than a block where it was cut short.
    length: usize,
    data: Data,
}

impl Io {
    const fn end(&self) -> usize {
        self.start + self.length
    }
}

fn ios(runs: &[Run]) -> Vec<Io> {
    let of = |(number, run): (u64, &Run)| {
        let ((length, align), run) = (run.block, run.clone());
        let last = run.places.len() as u64 - 1;
        (0_u64..).zip(run.places.clone()).map(move |(index, place)| {
            let start = place % (SIZE - length) / align * align;
            let data = match run.data {
                Data::Random(key) => Data::Random(noise::mix(key ^ (index << 8) ^ number)),
                other => other,
            };
            // A write that is cut short ends where a sector does.
            let end = ((start + length) / 512).saturating_sub(run.lacks) * 512;
            let is_torn = index == last && run.lacks > 0;
            Io { start, length: if is_torn { end.saturating_sub(start) } else { length }, data }
        })
    };
    (0..).zip(runs).flat_map(of).collect()
}

/// What a file holds that was created, and what proves whose it is.
fn left_by(runs: &[Run]) -> (Vec<u8>, Hints) {
    let seed = Content::signed(77);
    let content = Content { seed, size_bytes: SIZE as u64, reduction: Reduction::default() };
    let mut held = vec![0; SIZE];
    content.fill(0, &mut held);
    let mut bytes = vec![0; 1 << 14];
    for io in ios(runs) {
        fill(io.data, &mut bytes);
        held[io.start..io.end()].copy_from_slice(&bytes[..io.length]);
    }
    let mut hints = Hints::new(Some(content), true);
    hints.writes = Some(writes(runs));
    (held, hints)
}

fn whose_are(held: &[u8], hints: Hints) -> Whose {
    let file = tempfile::tempfile().expect("a temporary file");
    file.write_all_at(held, 0).expect("a write");
    proof::look(&file, held.len() as u64, hints).expect("reads")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn what_drawn_runs_of_ours_left_is_ours(runs in runs()) {
        let (held, hints) = left_by(&runs);
        let found = whose_are(&held, hints);
        prop_assert!(!matches!(found, Whose::Theirs(_)), "{:?}", found);
    }

    #[test]
    fn a_table_of_characters_within_is_somebodys(
        runs in runs(),
        table in proptest::sample::select(vec![b'A'..=b'Z', b'a'..=b'~', b' '..=b'~', b'!'..=b'~', 1..=255]),
        at in 0..SIZE - 300,
    ) {
        let (mut held, hints) = left_by(&runs);
        let table: Vec<u8> = table.collect();
        let before = held.get(at.wrapping_sub(1)).copied();
        // As the bytes around it, it may be part of an I/O.
        prop_assume!(before != Some(table[0].wrapping_sub(1)));
        prop_assume!(held[at + table.len()] != table[table.len() - 1].wrapping_add(1));
        held[at..at + table.len()].copy_from_slice(&table);
        prop_assert!(matches!(whose_are(&held, hints), Whose::Theirs(_)));
    }
}

/// A file with a table at a place where an I/O may begin, over this one.
fn with_table(run: &Run, at: usize, table: std::ops::RangeInclusive<u8>) -> (Vec<u8>, Hints) {
    let (mut held, hints) = left_by(std::slice::from_ref(run));
    let table: Vec<u8> = table.collect();
    held[at..at + table.len()].copy_from_slice(&table);
    (held, hints)
}

#[test]
fn no_table_is_ours_where_no_run_of_ours_counted() {
    for data in [Data::Zeros, Data::Random(4), Data::Compressed(4)] {
        let run = Run { block: (4096, 16), data, places: vec![0, 4096, 8192], lacks: 3 };
        for table in [0x20..=0x7f, 0x80..=0xff, 0..=0x7f, 0..=0xff] {
            let (held, hints) = with_table(&run, 4096, table);
            assert!(matches!(whose_are(&held, hints), Whose::Theirs(4096 | 4097)), "{data:?}");
        }
    }
}

#[test]
fn no_io_counts_further_than_it_is_long() {
    let run = Run { block: (48, 16), data: Data::Counting, places: vec![0, 64, 1024], lacks: 0 };
    for table in [0x20..=0x7f, 0x80..=0xff, 0..=0x7f, 0..=0xff] {
        let (held, hints) = with_table(&run, 1024, table);
        assert!(matches!(whose_are(&held, hints), Whose::Theirs(_)));
    }
}

#[test]
fn what_another_of_our_files_is_copied_into_shows_its_own_seed() {
    let other =
        Content { seed: Content::signed(8), size_bytes: 77_001, reduction: Reduction::default() };
    let mut held = vec![0; 77_001];
    other.fill(0, &mut held);
    let before = Content { seed: Content::signed(9), ..other };
    assert_eq!(whose_are(&held, Hints::new(Some(before), true)), Whose::Ours);
}

#[test]
fn a_table_at_the_start_of_an_io_is_somebodys_where_no_mark_tells_where_ios_began() {
    let places = vec![0, 4096, 8192, 12_288];
    let run = Run { block: (4096, 4096), data: Data::Random(9), places, lacks: 0 };
    for writes in [Some(Writes::ANY), None] {
        let (held, mut hints) = with_table(&run, 8192, b'A'..=b'Z');
        hints.writes = writes;
        assert_eq!(whose_are(&held, hints), Whose::Theirs(8192));
    }
}

/// Length of I/Os, and what their offsets are multiples of: where tables may begin and end as these do.
const SMALL_BLOCKS: [&[(usize, usize)]; 3] = [
    &[(48, 16), (528, 16), (4096, 16), (4096, 48), (256, 128), (1040, 80)],
    &[(1000, 1000), (3000, 1000), (4000, 2000)],
    &[(512, 512), (4096, 48), (1536, 512), (4096, 4096)],
];

fn runs_of_small_multiples() -> impl Strategy<Value = Vec<Run>> {
    let run = |blocks: &'static [(usize, usize)]| {
        let data = prop_oneof![
            3 => Just(Data::Counting),
            1 => Just(Data::Zeros),
            1 => any::<u64>().prop_map(Data::Random),
            1 => any::<u64>().prop_map(Data::Compressed),
        ];
        let lacks = prop_oneof![6 => Just(0_usize), 1 => 1_usize..16];
        (proptest::sample::select(blocks), data, vec(0..SIZE, 1..60), lacks)
            .prop_map(|(block, data, places, lacks)| Run { block, data, places, lacks })
    };
    let runs = proptest::sample::select(&SMALL_BLOCKS[..])
        .prop_flat_map(move |blocks| vec(run(blocks), 1..4));
    runs.prop_filter("I/Os that count", |runs| writes(runs).counted.is_some())
}

/// Values of a table, and from which I/O on so many bytes it begins.
fn tables() -> impl Strategy<Value = std::ops::RangeInclusive<u8>> {
    let known = [b'A'..=b'Z', b'a'..=b'z', b' '..=b'~', b' '..=127, b'0'..=b'9', 0..=127, 0..=255];
    let drawn =
        (0_u8..=230, 16_u8..=255).prop_map(|(first, more)| first..=first.saturating_add(more));
    prop_oneof![3 => proptest::sample::select(known.to_vec()), 1 => drawn]
}

/// Whether a table begins and ends where I/Os do, as far as the bytes beside it show: with others in another
/// order the same would stand there.
fn may_be_left(ios: &[Io], was_killed: bool, place: usize, table: &[u8]) -> bool {
    let end = place + table.len();
    let counts = |io: &&Io| matches!(io.data, Data::Counting);
    let owner = |at: usize| ios.iter().rev().find(|io| (io.start..io.end()).contains(&at));
    let is_length =
        |bytes: usize| ios.iter().filter(counts).any(|io| io.length % 256 == bytes % 256);
    let is_torn = |at: usize| was_killed && at.is_multiple_of(512);
    let begins = table[0] == 0;
    let ends = is_length(usize::from(table[table.len() - 1]) + 1) || is_torn(end);
    let is_long = ios.iter().filter(counts).any(|io| io.length <= table.len());
    let is_whole = is_long || (was_killed && place / 512 < end / 512);
    let left = place.checked_sub(1).and_then(owner).filter(counts);
    let is_left = left.is_some_and(|io| is_length(place - io.start) || is_torn(place));
    let is_cut = owner(end).filter(counts).is_some_and(|io| (end - io.start).is_multiple_of(256));
    // Zeros and random data do not show where their I/Os began and ended.
    let is_untold = |at: usize| owner(at).is_some_and(|io| !counts(&io));
    let is_beside = is_untold(end) || place.checked_sub(1).is_some_and(is_untold);
    let is_later = begins && ends && is_whole;
    is_beside || is_later || (is_left && ends) || (begins && is_cut) || (is_left && is_cut)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn what_small_multiples_left_is_ours(runs in runs_of_small_multiples()) {
        let (held, hints) = left_by(&runs);
        let found = whose_are(&held, hints);
        prop_assert!(!matches!(found, Whose::Theirs(_)), "{:?}", found);
    }

    #[test]
    fn a_table_where_an_io_may_begin_is_somebodys(
        runs in runs_of_small_multiples(),
        table in tables(),
        at in 0..SIZE - 300,
    ) {
        let (mut held, hints) = left_by(&runs);
        let step = usize::try_from(writes(&runs).step_bytes).expect("a multiple");
        let (at, table) = (at / step * step, table.collect::<Vec<u8>>());
        let was_killed = runs.iter().any(|run| run.lacks > 0);
        prop_assume!(held[at..at + table.len()] != table);
        prop_assume!(!may_be_left(&ios(&runs), was_killed, at, &table));
        held[at..at + table.len()].copy_from_slice(&table);
        prop_assert!(matches!(whose_are(&held, hints), Whose::Theirs(_)));
    }
}

//! Files that drawn runs have left: no byte of ours is somebody's, and no table of characters is ours.

use proptest::collection::vec;
use proptest::prelude::*;

use fathom_sys::contract::file::PositionedIo;

use super::counted::{Torn, Writes};
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
        Writes {
            step_bytes,
            counted: matches!(run.data, Data::Counting),
            zeros: matches!(run.data, Data::Zeros),
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
    if !runs.is_empty() {
        hints.writes = writes(runs);
    }
    (held, hints)
}

fn whose_are(held: &[u8], hints: Hints) -> Whose {
    let file = tempfile::tempfile().expect("a temporary file");
    file.write_all_at(held, 0).expect("a write");
    proof::look(&file, held.len() as u64, hints).expect("reads")
}

/// Whether data of ours alone are taken for what the docs say: only what counts in short pieces is untold.
fn is_as_told(found: Whose, runs: &[Run]) -> bool {
    match found {
        Whose::Ours | Whose::Empty => true,
        Whose::Untold(_) => writes(runs).slot_bytes().is_none(),
        Whose::Theirs(_) => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn what_drawn_runs_of_ours_left_is_ours_or_untold(runs in runs()) {
        let (held, hints) = left_by(&runs);
        let found = whose_are(&held, hints);
        prop_assert!(is_as_told(found, &runs), "{:?}", found);
    }

    #[test]
    fn a_table_of_characters_within_is_somebodys(
        runs in runs(),
        table in proptest::sample::select(vec![b'A'..=b'Z', b'a'..=b'~', b' '..=b'~', b'!'..=b'~', 1..=255]),
        at in 0..SIZE - 300,
    ) {
        let (mut held, hints) = left_by(&runs);
        let table: Vec<u8> = table.collect();
        prop_assume!(held[at..at + table.len()] != table);
        held[at..at + table.len()].copy_from_slice(&table);
        prop_assert!(whose_are(&held, hints).theirs().is_some());
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
fn a_copy_of_which_no_sector_is_as_it_was_created_is_ours() {
    let content =
        Content { seed: Content::signed(3), size_bytes: 4096, reduction: Reduction::default() };
    let mut held = vec![0; 4096];
    content.fill(0, &mut held);
    for at in (16..3568).step_by(512) {
        held[at..at + 480].fill(0);
    }
    assert_eq!(whose_are(&held, Hints::new(None, false)), Whose::Ours);
    held[100] = 7;
    assert_eq!(whose_are(&held, Hints::new(None, false)), Whose::Theirs(100));
}

/// One byte in 256 that somebody writes is by chance what the file was created with.
#[test]
fn a_byte_that_is_by_chance_as_created_is_somebodys() {
    let created = left_by(&[]).0;
    for data in [Data::Random(4), Data::Compressed(4), Data::Counting] {
        let run = Run { block: (16_384, 4096), data, places: vec![0, 16_384], lacks: 0 };
        let (left, _) = left_by(std::slice::from_ref(&run));
        for at in (8000..9000).filter(|at| left[*at] != created[*at]).step_by(37) {
            let (mut held, hints) = left_by(std::slice::from_ref(&run));
            held[at] = created[at];
            assert!(whose_are(&held, hints).theirs().is_some(), "{data:?} at {at}");
        }
    }
}

/// Found by drawn runs: a zero that completes the counting pattern of an I/O by one byte.
#[test]
fn a_zero_between_two_of_our_pieces_is_somebodys() {
    for data in [Data::Random(4), Data::Compressed(4)] {
        let counting = Run { block: (1536, 512), data: Data::Counting, places: vec![0], lacks: 0 };
        let over = Run { block: (512, 512), data, places: vec![512], lacks: 3 };
        let runs = [counting, Run { lacks: 0, ..over.clone() }, Run { places: vec![4096], ..over }];
        let (mut held, hints) = left_by(&runs);
        assert!(held[512] != 0 && whose_are(&held, left_by(&runs).1) == Whose::Ours);
        held[512] = 0;
        assert!(whose_are(&held, hints).theirs().is_some(), "{data:?}");
    }
}

#[test]
fn zeros_within_repeated_words_are_somebodys() {
    let run =
        Run { block: (4096, 4096), data: Data::Compressed(4), places: vec![0, 4096], lacks: 0 };
    let (whole, _) = left_by(std::slice::from_ref(&run));
    // The second half of a grain of 512 bytes repeats a word.
    for (at, length) in [(4096 + 300, 1), (4096 + 333, 5), (4096 + 401, 15)] {
        let (mut held, hints) = left_by(std::slice::from_ref(&run));
        held[at..at + length].fill(0);
        assert_ne!(held, whole);
        assert!(whose_are(&held, hints).theirs().is_some(), "{length} at {at}");
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
    for (is_marked, expected) in [(true, Whose::Theirs(8192)), (false, Whose::Untold(8192))] {
        let (held, mut hints) = with_table(&run, 8192, b'A'..=b'Z');
        (hints.writes, hints.is_marked) = (Writes::ANY, is_marked);
        assert_eq!(whose_are(&held, hints), expected);
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
    runs.prop_filter("I/Os that count", |runs| writes(runs).counted)
}

/// Values of a table, and from which I/O on so many bytes it begins.
fn tables() -> impl Strategy<Value = std::ops::RangeInclusive<u8>> {
    let known = [b'A'..=b'Z', b'a'..=b'z', b' '..=b'~', b' '..=127, b'0'..=b'9', 0..=127, 0..=255];
    let drawn =
        (0_u8..=230, 16_u8..=255).prop_map(|(first, more)| first..=first.saturating_add(more));
    prop_oneof![3 => proptest::sample::select(known.to_vec()), 1 => drawn]
}

/// Where a table may stand as if it were the rest of an I/O: it goes on from the byte before, or the byte
/// behind goes on from it.
fn joining(held: &[u8], table: &[u8], at: usize) -> usize {
    let mut places = (at..SIZE - 300).take(4096);
    let goes_on = |at: &usize| {
        let before = at.checked_sub(1).map(|before| held[before].wrapping_add(1));
        let behind = held[at + table.len()].wrapping_sub(1);
        before == table.first().copied() || table.last() == Some(&behind)
    };
    places.find(goes_on).unwrap_or(at)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn what_small_multiples_left_is_ours_or_untold(runs in runs_of_small_multiples()) {
        let (held, hints) = left_by(&runs);
        let found = whose_are(&held, hints);
        prop_assert!(is_as_told(found, &runs), "{:?}", found);
    }

    #[test]
    fn a_table_is_somebodys_wherever_it_begins_and_ends(
        runs in runs_of_small_multiples(),
        table in tables(),
        at in 0..SIZE - 300,
        (is_aligned, joins) in any::<(bool, bool)>(),
    ) {
        let (mut held, hints) = left_by(&runs);
        let step = usize::try_from(writes(&runs).step_bytes).expect("a multiple");
        let table: Vec<u8> = table.collect();
        let at = if is_aligned { at / step * step } else { at };
        let at = if joins { joining(&held, &table, at) } else { at };
        prop_assume!(held[at..at + table.len()] != table);
        held[at..at + table.len()].copy_from_slice(&table);
        prop_assert!(whose_are(&held, hints).theirs().is_some());
    }

    /// Even one that is, byte for byte, what an I/O left, and was written over since.
    #[test]
    fn a_table_that_completes_an_io_is_somebodys(
        runs in runs_of_small_multiples(),
        at in 0..SIZE - 300,
        length in 16_usize..=256,
    ) {
        let (before, _) = left_by(&runs[..1]);
        prop_assume!(counted::counting(&before[at..at + length]) == length);
        let (mut held, hints) = left_by(&runs);
        prop_assume!(held[at..at + length] != before[at..at + length]);
        held[at..at + length].copy_from_slice(&before[at..at + length]);
        prop_assert!(whose_are(&held, hints).theirs().is_some());
    }
}

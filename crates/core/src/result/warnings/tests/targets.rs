//! Doubts about what real files hold.

use std::fs::File;

use fathom_sys::contract::file::PositionedIo;
use fathom_sys::space;

use super::{Case, SECOND, direction, has, lacks, resident, writes_without_room};
use crate::plan::mix::{MixPlan, StreamPlan, SyncCadence};
use crate::plan::{FilePlan, OffsetPlan, Order, PayloadPlan, TargetKind};
use crate::result::warnings::{
    TargetResidency, after, before, before_span, cached_targets, residency,
};
use crate::result::{Outcome, ThreadTargetResult, Warning, WarningKind};
use crate::storage::Location;
use crate::units::{GIB, MIB};

/// A case whose target is a real file of 1 MiB, and that file.
fn on_file() -> (Case, tempfile::NamedTempFile) {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.as_file().set_len(MIB).expect("a length");
    let mut case = Case::new(1);
    case.target().location = Location::here(file.path());
    case.target().offsets.end_bytes = MIB;
    case.target().size_bytes = MIB;
    (case, file)
}

/// Zeros, or data that do not repeat.
fn write(file: &File, from: u64, to: u64, byte: u8) {
    let data: Vec<u8> =
        (from..to).map(|at| if byte == 0 { 0 } else { mixed(at).to_be_bytes()[0] }).collect();
    file.write_all_at(&data, from).expect("a write");
}

/// The finalizer of SplitMix64: no compressor finds anything in it.
fn mixed(number: u64) -> u64 {
    let first = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let second = (first ^ (first >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let third = (second ^ (second >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    third ^ (third >> 31)
}

fn kinds(warnings: &[Warning]) -> Vec<WarningKind> {
    warnings.iter().map(|warning| warning.kind).collect()
}

#[test]
fn blocks_that_were_never_written_are_doubted_with_their_share() {
    let (mut case, file) = on_file();
    let found = before(&case.plan);
    assert_eq!(kinds(&found), [WarningKind::UnwrittenExtents]);
    has(&found[0].evidence, &["100.0 % of the 1 MiB"]);
    has(&found[0].remedy, &["-c1048576", "-w100"]);
    write(file.as_file(), 0, 3 * MIB / 4, 7);
    let found = before(&case.plan);
    assert_eq!(kinds(&found), [WarningKind::UnwrittenExtents]);
    has(&found[0].evidence, &["25.0 %", "256 KiB in holes"]);
    case.target().offsets.end_bytes = 3 * MIB / 4;
    assert_eq!(before(&case.plan), []);
}

#[test]
fn zeros_are_doubted_from_one_place_of_twenty_on() {
    let (case, file) = on_file();
    write(file.as_file(), 0, MIB, 0);
    let found = before(&case.plan);
    assert_eq!(kinds(&found), [WarningKind::AllZeroData]);
    has(&found[0].evidence, &["64 of 64 places"]);
    write(file.as_file(), 0, MIB / 2, 7);
    has(&before(&case.plan)[0].evidence, &["32 of 64 places"]);
    write(file.as_file(), 0, MIB - 3 * 16_384, 7);
    assert_eq!(before(&case.plan), []);
}

#[test]
fn data_that_repeat_are_doubted_and_others_are_not() {
    let (case, file) = on_file();
    let counting: Vec<u8> = (0..=255).cycle().take(usize::try_from(MIB).expect("small")).collect();
    file.as_file().write_all_at(&counting, 0).expect("a write");
    let found = before(&case.plan);
    assert_eq!(kinds(&found), [WarningKind::ConstantData]);
    has(&found[0].evidence, &["64 of 64 places"]);
    write(file.as_file(), 0, MIB - 3 * 16_384, 7);
    assert_eq!(before(&case.plan), []);
}

/// A target was to be written once with random data by a load that went on to write the pattern into it.
#[test]
fn a_load_that_writes_the_pattern_itself_was_not_advised_to_write_random_data() {
    let (mut case, file) = on_file();
    write(file.as_file(), 0, MIB, 0);
    let advice = "let this load write random data, too (-Zr)";
    assert!(!before(&case.plan)[0].remedy.contains(advice));
    case.target().write_percent = 30;
    has(&before(&case.plan)[0].remedy, &["-w100 -Zr", advice]);
    case.target().payload = PayloadPlan::FreshRandom;
    assert!(!before(&case.plan)[0].remedy.contains(advice));
}

#[test]
fn data_that_compress_are_doubted_and_may_be_the_applications_own() {
    let (case, file) = on_file();
    let lines = (0_u64..)
        .flat_map(|number| format!("order {number}: 3 of part {}\n", number * 7919).into_bytes());
    let text: Vec<u8> = lines.take(usize::try_from(MIB).expect("small")).collect();
    file.as_file().write_all_at(&text, 0).expect("a write");
    let found = before(&case.plan);
    assert_eq!(kinds(&found), [WarningKind::CompressibleData]);
    has(&found[0].evidence, &["64 places", "times shorter"]);
    has(&found[0].remedy, &["data of the application", "-w100 -Zr"]);
    write(file.as_file(), 0, MIB / 2, 0);
    let found = before(&case.plan);
    assert_eq!(kinds(&found), [WarningKind::AllZeroData, WarningKind::CompressibleData]);
    has(&found[1].evidence, &["the data of 32 places"]);
}

/// Files in memory get memory, and some file systems give each write new blocks.
fn keeps_its_blocks(file: &File) -> bool {
    let answers =
        [space::is_in_memory(file), space::is_served(file), space::allocates_each_write(file)];
    answers.into_iter().all(|answer| answer.is_ok_and(|is_so| !is_so))
}

#[test]
fn writes_that_have_to_find_blocks_are_doubted_once_with_their_share() {
    let (mut case, file) = on_file();
    if !keeps_its_blocks(file.as_file()) {
        return;
    }
    case.target().write_percent = 100;
    case.plan.spans.push(case.plan.spans[0].clone());
    let found = before(&case.plan);
    assert_eq!(kinds(&found), [WarningKind::AllocatingWrites]);
    has(&found[0].evidence, &["100.0 % of the 1 MiB", "(1 MiB in holes)"]);
    has(&found[0].remedy, &["-w100 -Zr", "-c1048576"]);
    write(file.as_file(), 0, 15 * MIB / 16, 7);
    has(&before(&case.plan)[0].evidence, &["6.2 %", "64 KiB in holes"]);
    write(file.as_file(), 0, MIB, 7);
    assert_eq!(before(&case.plan), []);
}

#[test]
fn of_data_only_reads_are_in_question_and_each_stretch_once() {
    let (mut case, file) = on_file();
    write(file.as_file(), 0, MIB, 0);
    case.target().write_percent = 100;
    assert_eq!(before(&case.plan), []);
    case.target().write_percent = 99;
    case.plan.spans.push(case.plan.spans[0].clone());
    assert_eq!(before(&case.plan).len(), 1);
    case.plan.spans[1].index = 1;
    assert_eq!(before_span(&case.plan, &case.plan.spans[1], &|_| {})[0].time_span, Some(1));
    case.plan.spans.iter_mut().for_each(|span| span.targets[0].kind = TargetKind::Virtual);
    assert_eq!(before(&case.plan), []);
}

#[test]
fn a_file_that_the_run_makes_is_not_advised_to_be_made() {
    let (mut case, _file) = on_file();
    let location = case.target().location.clone();
    case.plan.precreate.push(FilePlan { location, size_bytes: MIB, ..FilePlan::default() });
    lacks(&before(&case.plan)[0].remedy, "-c");
}

/// Sixteen blocks of a large file were read out of the page cache: too small a share of the file to be said.
#[test]
fn what_the_page_cache_held_is_a_share_of_what_the_load_can_touch() {
    let (mut case, file) = on_file();
    write(file.as_file(), 0, MIB, 7);
    case.target().open.direct = false;
    case.target().offsets.align_bytes = MIB / 2;
    let span = &case.plan.spans[0];
    let found = residency(span, cached_targets(&case.plan, span, &|_| {}), &|_| {});
    assert_eq!((found[0].range_bytes, found[0].resident_bytes), (8192, 8192));
}

#[test]
fn residency_of_a_fresh_file_is_whole() {
    let (mut case, file) = on_file();
    write(file.as_file(), 0, MIB, 7);
    let nobody = cached_targets(&case.plan, &case.plan.spans[0], &|_| {});
    assert!(nobody.iter().all(Option::is_none), "it is used past the page cache");
    case.target().open.direct = false;
    let span = &case.plan.spans[0];
    let found = residency(span, cached_targets(&case.plan, span, &|_| {}), &|_| {});
    assert_eq!((found[0].range_bytes, found[0].resident_bytes), (MIB, MIB));
    assert!(found[0].memory_bytes > MIB);
    case.target().location = Location::here("/nowhere/test.dat");
    let span = &case.plan.spans[0];
    assert_eq!(residency(span, cached_targets(&case.plan, span, &|_| {}), &|_| {}), []);
}

#[test]
fn reads_beside_trims_are_doubted_unless_they_go_elsewhere() {
    let mut case = Case::new(2);
    assert_eq!(case.all(), []);
    case.used(1).trim = Some(Box::new(direction(77)));
    let found = case.all();
    assert_eq!(kinds(&found), [WarningKind::UnwrittenExtents]);
    has(&found[0].evidence, &["77 trims", "20,000 reads"]);
    let offsets = case.target().offsets.clone();
    let stream = |base_bytes, end_bytes| StreamPlan {
        offsets: OffsetPlan { base_bytes, end_bytes, ..offsets.clone() },
        sizes: Vec::new(),
    };
    let mix = MixPlan {
        exact: true,
        trim_percent: 1,
        sync: None,
        separate: true,
        read: stream(0, GIB / 2),
        write: stream(GIB / 2, GIB),
    };
    case.target().mix = Some(mix.clone());
    assert_eq!(case.all(), []);
    case.target().mix = Some(MixPlan { read: stream(0, GIB), ..mix });
    assert_eq!(case.all().len(), 1);
}

#[test]
fn writes_that_are_synced_one_by_one_are_not_late() {
    let mut case = Case::new(1);
    case.target().open.direct = false;
    *case.used(0) = ThreadTargetResult {
        target: 0,
        read: direction(0),
        write: direction(512),
        ..ThreadTargetResult::default()
    };
    let stream = StreamPlan { offsets: case.target().offsets.clone(), sizes: Vec::new() };
    for (every_writes, warnings) in [(1, 0), (2, 1)] {
        case.target().mix = Some(MixPlan {
            exact: false,
            trim_percent: 0,
            sync: Some(SyncCadence { every_writes, data_only: true }),
            separate: false,
            read: stream.clone(),
            write: stream.clone(),
        });
        assert_eq!(case.all().len(), warnings);
    }
}

/// `-Su` was advised for a file on squashfs, which refused the open with "Invalid argument".
#[test]
fn the_cache_is_to_be_bypassed_only_where_the_file_system_can() {
    let mut case = Case::new(1);
    case.target().open.direct = false;
    case.used(0).write = direction(512);
    case.measured().threads[0].cpu_ns = SECOND;
    let refusing = TargetResidency { refuses_direct: true, ..resident(GIB / 2) };
    let found = after(&case.plan, &case.result, &[refusing]);
    for warning in &found {
        lacks(&warning.remedy, "ypass the page cache (-Su)");
    }
    let of_cache: Vec<_> = found.iter().filter(|one| one.kind == WarningKind::PageCache).collect();
    has(&of_cache[0].remedy, &["measure the block device itself", "far more than the 4 GiB"]);
    has(&of_cache[1].remedy, &["-Sw"]);
    let other = TargetResidency { target: 1, refuses_direct: true, ..resident(0) };
    has(&after(&case.plan, &case.result, &[other])[0].remedy, &["ypass the page cache (-Su)"]);
}

/// "1 reads went through the page cache" and "1 writes ended in the page cache, and reach the device".
#[test]
fn a_single_io_was_told_as_many() {
    let mut case = Case::new(1);
    case.target().open.direct = false;
    (case.used(0).read, case.used(0).write) = (direction(1), direction(1));
    let told: Vec<String> = case.all().into_iter().map(|one| one.evidence).collect();
    let begins = |words: &str| told.iter().any(|one| one.starts_with(words));
    assert!(begins("1 read went through the page cache"), "{told:?}");
    assert!(begins("1 write (4 KiB) ended in the page cache, and reaches the device"), "{told:?}");
}

/// Beside the warning that there was no room stood that the kernel's log has the errors.
#[test]
fn where_no_write_found_room_people_were_sent_to_the_kernels_log() {
    let mut case = Case::new(1);
    (case.used(0).read, case.used(0).write) = (direction(0), direction(0));
    case.used(0).write.errors = 5;
    case.measured().outcome = Outcome::NoIo;
    let remedy = |case: &Case| {
        let all = case.all();
        let found = all.iter().find(|one| one.kind == WarningKind::NoIoCompleted);
        found.unwrap().remedy.clone()
    };
    has(&remedy(&case), &["kernel's log"]);
    case.used(0).faults = vec![writes_without_room(5)];
    has(&remedy(&case), &["make room where the targets lie"]);
}

/// -T268435456 was advised for a target of 1 GiB, and refused because another one has 4 MiB.
#[test]
fn a_stride_was_advised_that_another_target_has_no_room_for() {
    let mut case = Case::new(4);
    case.target().offsets.order = Order::Sequential;
    has(&case.only(WarningKind::SharedSequentialBlocks).remedy, &["-si", "-T268435456"]);
    let mut small = case.target().clone();
    small.offsets.end_bytes = 4 * MIB;
    case.plan.spans[0].targets.push(small);
    for thread in &mut case.plan.spans[0].threads {
        let second = thread.assignments[0].clone();
        thread.assignments.push(second);
        thread.assignments[1].target = 1;
    }
    let remedy = case.only(WarningKind::SharedSequentialBlocks).remedy;
    has(&remedy, &["-si"]);
    lacks(&remedy, "-T");
}

/// -b4K -s8K -T4K reads each block once, and was said to read what another thread read as well.
#[test]
fn threads_in_the_gaps_of_a_stride_were_said_to_read_blocks_of_each_other() {
    let strided = |blocks_apart: u64, part: u64| {
        let mut case = Case::new(4);
        let offsets = &mut case.target().offsets;
        (offsets.order, offsets.align_bytes) = (Order::Sequential, 4 * offsets.block_bytes);
        let apart = blocks_apart * offsets.block_bytes / part;
        for (index, thread) in (0..).zip(&mut case.plan.spans[0].threads) {
            thread.assignments[0].start_bytes = index * apart;
        }
        case
    };
    assert_eq!(strided(1, 1).all(), []);
    assert_eq!(strided(5, 1).all(), []);
    let evidence = |case: &Case| case.only(WarningKind::SharedSequentialBlocks).evidence.clone();
    has(&evidence(&strided(2, 1)), &["2 of 4 threads"]);
    has(&evidence(&strided(1, 2)), &["3 of 4 threads"]);
    has(&evidence(&strided(4, 1)), &["3 of 4 threads"]);
}

/// Reads and writes with an order and a range of their own, of two threads.
fn separate(read: OffsetPlan, write: OffsetPlan) -> MixPlan {
    let stream = |offsets| StreamPlan { offsets, sizes: Vec::new() };
    MixPlan {
        exact: true,
        trim_percent: 0,
        sync: None,
        separate: true,
        read: stream(read),
        write: stream(write),
    }
}

/// --read-pattern=random of two threads was said to read in order, and --read-pattern=sequential of a random
/// load was not.
#[test]
fn reads_were_said_to_share_blocks_by_the_order_of_all_and_not_by_their_own() {
    let mut case = Case::new(2);
    let random = case.target().offsets.clone();
    let walk = OffsetPlan { order: Order::Sequential, ..random.clone() };
    case.target().offsets = walk.clone();
    case.target().mix = Some(separate(random.clone(), walk.clone()));
    assert_eq!(case.all(), []);
    case.target().offsets = random.clone();
    case.target().mix = Some(separate(walk, random));
    let found = case.only(WarningKind::SharedSequentialBlocks);
    has(&found.evidence, &["1 of 2 threads"]);
    has(&found.remedy, &["--read-pattern=interlocked"]);
}

/// Of reads and writes in the half of a file that has data, half was said to lie in holes.
#[test]
fn holes_were_looked_for_where_neither_reads_nor_writes_go() {
    let (mut case, file) = on_file();
    write(file.as_file(), 0, MIB / 2, 7);
    case.target().write_percent = 50;
    let whole = case.target().offsets.clone();
    let first = OffsetPlan { end_bytes: MIB / 2, ..whole.clone() };
    let second = OffsetPlan { base_bytes: MIB / 2, ..whole };
    case.target().mix = Some(separate(first.clone(), first.clone()));
    assert_eq!(before(&case.plan), []);
    case.target().mix = Some(separate(first.clone(), second.clone()));
    let found = before(&case.plan);
    assert_eq!(kinds(&found), [WarningKind::AllocatingWrites]);
    has(&found[0].evidence, &["100.0 % of the 512 KiB"]);
    case.target().mix = Some(separate(second, first));
    let found = before(&case.plan);
    assert_eq!(kinds(&found), [WarningKind::UnwrittenExtents]);
    has(&found[0].evidence, &["100.0 % of the 512 KiB"]);
}

/// Of errors of an NBD server one was sent to the kernel's log, which has none of them.
#[test]
fn what_a_server_fails_at_was_to_be_looked_for_in_the_log_of_this_kernel() {
    let mut case = Case::new(1);
    case.used(0).read.errors = 3;
    let found = case.only(WarningKind::IoErrors);
    has(&found.remedy, &["kernel's log"]);
    has(&found.evidence, &["reads failed"]);
    lacks(&found.evidence, "writes");
    let address = "nbd://localhost:10809/";
    case.target().location = Location::named(address, std::time::Duration::from_secs(1));
    let found = case.only(WarningKind::IoErrors);
    has(&found.remedy, &["log of its server"]);
    lacks(&found.remedy, "kernel");
}

/// Of a file and an export one was sent to the kernel's log alone.
#[test]
fn the_kernel_was_blamed_for_what_a_server_beside_a_file_may_have_stalled() {
    let here = Case::new(1).target().clone();
    let mut served = here.clone();
    served.location = Location::named("nbd://localhost:10809/", std::time::Duration::from_secs(1));
    let who = super::super::words::answering([&here, &served]);
    has(who.look_whether_it_answers(), &["kernel log", "log of the server"]);
    has(who.log(), &["kernel", "server"]);
}

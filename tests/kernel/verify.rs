//! Verified runs on real files: what is written can be proven, good data raise no fault, and bad data do.

use std::collections::BTreeMap;
use std::path::Path;

use fathom_core::engine::random::Random;
use fathom_core::verify::journal::Journal;
use fathom_core::verify::stamp::{SECTOR_BYTES, STAMP_BYTES, Stamp};
use serde_json::Value;

use crate::bench::{Bench, bytes, wait_for};

const BLOCK: usize = 4096;

/// What verification counted on one target of a result.
fn target(result: &Value, index: usize) -> BTreeMap<String, u64> {
    let target = result["verification"]["targets"][index].as_object().unwrap();
    let count = |(name, value): (&String, &Value)| Some((name.clone(), value.as_u64()?));
    target.iter().filter_map(count).collect()
}

fn faults(target: &BTreeMap<String, u64>) -> [u64; 5] {
    ["corrupt", "misdirected", "stale", "torn", "newer"]
        .map(|kind| target[&format!("{kind}_blocks")])
}

/// The pass over a journal: exit code and result.
fn pass(bench: &Bench, args: &str) -> (Option<i32>, Value) {
    let output = bench.run(&format!("-Rjson {args}"));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let result = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{stderr}"));
    (output.status.code(), result)
}

#[test]
fn good_data_raise_no_fault_in_any_order_by_any_engine_and_afterwards() {
    let bench = Bench::new();
    for (args, block_bytes) in [
        ("-b4K -r -w50 -o16 -t2", 4096),
        ("-b4K -r -w50 -o8 -t2 -Su", 4096),
        ("-b4K -r -w50 -o8 -x -Su", 4096),
        ("-b4K -r -w50 -Sm -t2", 4096),
        ("-b8K -si -w30 -o1 -t2", 8192),
        ("-b64K -rs50 -w40 -o4 -B512K", 65_536),
        ("-b16K -r4K -w50 -o8 -t2 -f256K", 4096),
        ("-b4K -p -o8 -w50 -f64K -Zr", 4096),
        ("-b4K -r -w50 -F2 -O8 -Z64K", 4096),
        ("--block-mix=4K:50,12K:20,16K:30 -r -w50 -o8 -t2 --fsync=9", 4096),
        ("-b8K --read-pattern=sequential,range=0:1M --write-pattern=random -w50 -o8", 8192),
    ] {
        let result = bench.measure_ios(8_000, &format!("--verify {args} t.dat"));
        let run = target(&result, 0);
        assert_eq!(faults(&run), [0; 5], "{args}: {}", result["verification"]);
        assert!(run["verified_blocks"] > 0, "{args}: {run:?}");
        assert_eq!(run["block_bytes"], block_bytes, "{args}");
        let (code, result) = pass(&bench, "--verify-only=t.dat.verify-journal");
        let after = target(&result, 0);
        assert_eq!((code, faults(&after)), (Some(0), [0; 5]), "{args}: {}", result["verification"]);
        assert!(after["verified_blocks"] > 0 && after["in_flight_blocks"] == 0, "{args}");
    }
}

#[test]
fn without_verify_nothing_is_stamped_and_nothing_is_told() {
    let bench = Bench::new();
    let result = bench.measure_ios(2_000, "-b4K -r -w100 t.dat");
    assert!(result["verification"].is_null());
    let contents = bytes(&bench.path("t.dat"));
    assert!(contents.chunks(SECTOR_BYTES).all(|sector| Stamp::read(sector).is_err()));
    assert!(!bench.path("t.dat.verify-journal").exists());
}

#[test]
fn every_sector_says_where_it_belongs_and_carries_the_write_data_behind_the_stamp() {
    for (data, byte) in [("", None), ("-Z", Some(0))] {
        let bench = Bench::new();
        // Once over the file, however slow the disk is.
        let once = format!("--verify -W0 -d60 --stop-ios=2048 -b4K -w100 -o4 {data} t.dat");
        assert!(bench.run(&once).status.success());
        let contents = bytes(&bench.path("t.dat"));
        let first = Stamp::read(&contents[..SECTOR_BYTES]).unwrap();
        for (index, sector) in contents.chunks(SECTOR_BYTES).enumerate() {
            let stamp = Stamp::read(sector).unwrap();
            assert_eq!(stamp.offset_bytes, (index * SECTOR_BYTES) as u64);
            assert_eq!((stamp.seed, stamp.target), (first.seed, first.target));
            assert!(stamp.generation > 0 && stamp.block_bytes == 4096);
            for (at, &found) in sector.iter().enumerate().skip(STAMP_BYTES) {
                // The counting pattern begins in its middle beneath a stamp.
                assert_eq!(found, byte.unwrap_or(u8::try_from((at + 128) % 256).unwrap()));
            }
        }
    }
}

/// Does one of four kinds of faults to a block: by turns corruption, misdirection, staleness, tearing.
fn spoil(contents: &mut [u8], clean: &[u8], block: usize, turn: usize, random: &mut Random) {
    let below =
        |random: &mut Random, bound: usize| usize::try_from(random.below(bound as u64)).unwrap();
    let place = block * BLOCK..(block + 1) * BLOCK;
    let mut old = clean[place.clone()].to_vec();
    for sector in old.chunks_exact_mut(SECTOR_BYTES) {
        let stamp = Stamp::read(sector).unwrap();
        Stamp { generation: stamp.generation - 1, ..stamp }.write(sector);
    }
    match turn % 4 {
        0 => contents[place.start + below(random, BLOCK)] ^= 1 << below(random, 8),
        1 => {
            let blocks = clean.len() / BLOCK;
            // A block that was never written carries no stamp of another place: it would be corrupt here.
            let other = loop {
                let other = (block + 1 + below(random, blocks - 1)) % blocks;
                let bytes = &clean[other * BLOCK..(other + 1) * BLOCK];
                if Stamp::read(&bytes[..SECTOR_BYTES]).is_ok() {
                    break bytes;
                }
            };
            contents[place].copy_from_slice(other);
        }
        2 => contents[place].copy_from_slice(&old),
        _ => {
            let cut = (1 + below(random, 7)) * SECTOR_BYTES;
            contents[place.start + cut..place.end].copy_from_slice(&old[cut..]);
        }
    }
}

/// Blocks in random order that were written at least twice, the last time alone and to the end.
fn settled(journal: &Path, random: &mut Random) -> Vec<usize> {
    let journal = Journal::open(journal).unwrap();
    let count = usize::try_from(journal.head.targets[0].blocks).unwrap();
    let windows = journal.windows(0, 0, count).unwrap();
    let is_settled = |&block: &usize| {
        let window = windows[block];
        window.oldest() == window.newest() && window.newest() >= 2
    };
    let mut blocks: Vec<usize> = (0..count).filter(is_settled).collect();
    for index in (1..blocks.len()).rev() {
        blocks.swap(index, usize::try_from(random.below(index as u64 + 1)).unwrap());
    }
    blocks
}

#[test]
fn after_kill_9_all_of_a_thousand_seeded_corruptions_are_found_and_nothing_else() {
    let bench = Bench::new();
    let journal = "--verify-journal=run.journal";
    let run = bench.start(&format!("{journal} -b4K -r -w70 -o16 -t2 -W0 -d600 t.dat"));
    // However slow the disk is: it may stand still for seconds.
    let twice = || {
        // The run holds its own.
        std::fs::copy(bench.path("run.journal"), bench.path("copy.journal")).unwrap();
        settled(&bench.path("copy.journal"), &mut Random::new(8)).len() > 1200
    };
    wait_for("1,200 blocks are written twice", twice);
    run.kill();
    let (code, clean) = pass(&bench, "--verify-only=run.journal");
    let clean = target(&clean, 0);
    assert_eq!((code, faults(&clean)), (Some(0), [0; 5]), "{clean:?}");
    assert_eq!(clean["verified_blocks"] + clean["unverifiable_blocks"], 2048);

    let mut random = Random::new(8);
    let blocks = settled(&bench.path("run.journal"), &mut random);
    assert!(blocks.len() >= 1000, "only {} blocks were written twice", blocks.len());
    let good = bytes(&bench.path("t.dat"));
    let mut bad = good.clone();
    for (turn, &block) in blocks[..1000].iter().enumerate() {
        spoil(&mut bad, &good, block, turn, &mut random);
    }
    std::fs::write(bench.path("t.dat"), &bad).unwrap();
    let (code, result) = pass(&bench, "--verify-only=run.journal");
    let found = target(&result, 0);
    assert_eq!((code, faults(&found)), (Some(4), [250, 250, 250, 250, 0]), "{found:?}");
    assert_eq!(found["verified_blocks"], clean["verified_blocks"] - 1000);
    let listed = result["verification"]["first_faults"].as_array().unwrap();
    assert_eq!(listed.len(), 20);
    for fault in listed {
        let offset = usize::try_from(fault["offset_bytes"].as_u64().unwrap()).unwrap();
        let turn = blocks[..1000].iter().position(|&block| block * BLOCK == offset).unwrap();
        assert_eq!(fault["kind"], ["corrupt", "misdirected", "stale", "torn"][turn % 4]);
        assert_eq!(fault["path"], "t.dat");
    }
}

#[test]
fn a_killed_run_with_writes_in_flight_past_the_page_cache_leaves_no_fault() {
    let bench = Bench::new();
    for args in ["-Su -o32", "-Su -x -o32", "-o1 -t4", "-Sm -t2"] {
        let journal = bench.path("kill.journal");
        let start =
            format!("--verify-journal=kill.journal -b16K -r4K -w100 -W0 -d600 {args} t.dat");
        // A kill may come between two writes to a mapping, so that nothing is in flight.
        let has_met_one = (0..20).any(|_| {
            bench.start(&start).kill();
            let (code, result) = pass(&bench, "--verify-only=kill.journal");
            let found = target(&result, 0);
            let told = &result["verification"];
            assert_eq!((code, faults(&found)), (Some(0), [0; 5]), "{args}: {told}");
            std::fs::remove_file(&journal).unwrap();
            found["in_flight_blocks"] > 0
        });
        assert!(has_met_one, "{args}: nothing was in flight");
    }
}

#[test]
fn a_file_that_this_tool_made_is_known_to_the_last_sector() {
    let bench = Bench::new();
    bench.measure_ios(64, "-c4M -b4K new.dat");
    let made = bytes(&bench.path("new.dat"));
    for (file, args) in [("new.dat", "-c4M"), ("newer.dat", "-c4M"), ("new.dat", "")] {
        let result = bench.measure_ios(4_000, &format!("--verify {args} -b8K -r -w5 -o4 {file}"));
        let found = target(&result, 0);
        assert_eq!(found["unverifiable_blocks"], 0, "{file} {args}: {found:?}");
        assert_eq!(faults(&found), [0; 5], "{file} {args}");
        // Made again, so that the next turn begins with a file that is as it was made.
        std::fs::write(bench.path("new.dat"), &made).unwrap();
    }
    bench.measure_ios(20, "--verify --verify-journal=w -c4M -b4K -r -w100 -o1 newest.dat");
    let (code, clean) = pass(&bench, "--verify-only=w");
    assert_eq!((code, target(&clean, 0)["verified_blocks"]), (Some(0), 1024));
    let good = bytes(&bench.path("newest.dat"));
    let is_stamped = |block: &usize| Stamp::read(&good[block * BLOCK..][..SECTOR_BYTES]).is_ok();
    let untouched = (1..1024).find(|block| !is_stamped(block)).unwrap();
    // A changed byte where nothing was written; the write of a block that never arrived.
    let mut bad = good.clone();
    bad[untouched * BLOCK + 77] ^= 1;
    std::fs::write(bench.path("newest.dat"), &bad).unwrap();
    let (code, found) = pass(&bench, "--verify-only=w");
    assert_eq!((code, faults(&target(&found, 0))), (Some(4), [1, 0, 0, 0, 0]));
    std::fs::write(bench.path("newest.dat"), &good).unwrap();
    let output = bench.run("--verify -W0 -d1 -b4K -w100 -o1 -B4K:4K new.dat");
    assert_eq!(output.status.code(), Some(0));
    let mut lost = bytes(&bench.path("new.dat"));
    lost[BLOCK..2 * BLOCK].copy_from_slice(&made[BLOCK..2 * BLOCK]);
    std::fs::write(bench.path("new.dat"), &lost).unwrap();
    let (code, found) = pass(&bench, "--verify-only=new.dat.verify-journal");
    assert_eq!((code, faults(&target(&found, 0))), (Some(4), [0, 0, 1, 0, 0]));
    let words = found["verification"]["first_faults"][0]["found"].as_str().unwrap();
    assert_eq!(words, "the data that the file was made with");
}

#[test]
fn the_next_run_checks_the_stamps_of_the_one_before_it() {
    let bench = Bench::new();
    bench.measure_ios(4_096, "--verify -b4K -w100 -o4 t.dat");
    let mut contents = bytes(&bench.path("t.dat"));
    let clean = contents.clone();
    contents[5 * BLOCK + 600] ^= 0x80;
    contents[9 * BLOCK..10 * BLOCK].copy_from_slice(&clean[7 * BLOCK..8 * BLOCK]);
    std::fs::write(bench.path("t.dat"), contents).unwrap();
    let reads =
        |form: &str| bench.run(&format!("{form} -W0 -d1 --verify -b4K -o4 -B16K:32K t.dat"));
    let output = reads("-Rjson");
    assert_eq!(output.status.code(), Some(4));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = target(&result, 0);
    let [corrupt, misdirected, stale, torn, newer] = faults(&found);
    assert!(corrupt > 0 && misdirected > 0 && found["verified_blocks"] > 0, "{found:?}");
    assert_eq!([stale, torn, newer, found["unverifiable_blocks"]], [0; 4]);
    let text = String::from_utf8(reads("-Rtext").stdout).unwrap();
    assert!(text.contains("corrupt block of 't.dat' at offset 20480, seen in the sector at 20992"));
    assert!(text.contains("misdirected block of 't.dat' at offset 36864"), "{text}");
    let xml = String::from_utf8(reads("-Rxml").stdout).unwrap();
    let document = roxmltree::Document::parse(&xml).unwrap();
    let fault = document.descendants().find(|node| node.has_tag_name("VerificationFault")).unwrap();
    assert_eq!(fault.attribute("Kind"), Some("corrupt"));
    let offset = fault.children().find(|node| node.has_tag_name("Offset")).unwrap();
    assert_eq!(offset.text(), Some("20480"));
}

#[test]
fn what_somebody_else_changes_during_the_run_is_found_by_the_run_itself() {
    let bench = Bench::new();
    assert!(bench.run("--verify -W0 -d60 --stop-ios=2048 -b4K -w100 -o4 t.dat").status.success());
    let mut run = bench.start_for_a_second("--verify -b4K -r -o4 -W0 -d600 -Rjson t.dat");
    // Holes: zeros carry no stamp, so nobody knows what should be there; shifted blocks are known.
    let contents = bytes(&bench.path("t.dat"));
    let shifted = [&contents[BLOCK..], &contents[..BLOCK]].concat();
    // In place: a file that is cut, be it for a moment, gives short reads.
    let file = std::fs::OpenOptions::new().write(true).open(bench.path("t.dat")).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &shifted, 0).unwrap();
    run.until_a_second_is_served();
    run.interrupt();
    let ended = run.wait();
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    let result: Value = serde_json::from_str(&ended.stdout).unwrap();
    let found = target(&result, 0);
    assert!(found["verified_blocks"] > 0 && found["misdirected_blocks"] > 0, "{found:?}");
}

#[test]
fn a_file_that_lost_a_write_or_its_end_is_faulty_afterwards() {
    let bench = Bench::new();
    bench.fill("other.dat", 1 << 20);
    // One thread for both: two would share the writes as the host lets them, and one may have none.
    let args = "--verify -b4K -w100 -o4 -F1 -f1M t.dat other.dat";
    bench.measure_ios(2_048, args);
    let before = bytes(&bench.path("other.dat"));
    bench.measure_ios(2_048, args);
    let after = bytes(&bench.path("other.dat"));
    let mut lost = after.clone();
    lost[..BLOCK].copy_from_slice(&before[..BLOCK]);
    std::fs::write(bench.path("other.dat"), &lost[..(1 << 20) - BLOCK]).unwrap();
    let (code, result) = pass(&bench, "--verify-only=t.dat.verify-journal");
    assert_eq!(code, Some(4));
    assert_eq!(faults(&target(&result, 0)), [0; 5]);
    // The write of the earlier run stands where one of the later run has completed; the end is gone.
    assert_eq!(faults(&target(&result, 1)), [1, 0, 1, 0, 0]);
}

#[test]
fn time_spans_with_different_blocks_share_what_is_known_of_a_file() {
    let bench = Bench::new();
    let span = |block: u32, write: u32| {
        format!(
            "<TimeSpan><Warmup>0</Warmup><Duration>1</Duration><Targets><Target><Path>t.dat</Path>\
             <BlockSize>{block}</BlockSize><WriteRatio>{write}</WriteRatio><RequestCount>4\
             </RequestCount><Random>{block}</Random></Target></Targets></TimeSpan>"
        )
    };
    let spans = [span(16_384, 50), span(12_288, 50), span(4096, 0)].concat();
    let profile = format!("<Profile><TimeSpans>{spans}</TimeSpans></Profile>");
    std::fs::write(bench.path("p.xml"), profile).unwrap();
    let output = bench.run("-Xp.xml --verify -Rjson");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", result["verification"]);
    let found = target(&result, 0);
    assert_eq!((found["block_bytes"], faults(&found)), (4096, [0; 5]));
    assert!(found["verified_blocks"] > 0);
}

//! The journal: which files it is written over, and which are refused when it is read.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use fathom_core::engine::random::Random;
use fathom_core::verify::pass::{self, Findings, Passed};

use crate::bench::{Bench, bytes};

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder with the journal `run.journal` of a run that has ended.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.measure_ios(6_000, "--verify-journal=run.journal -b4K -r -w50 t.dat");
    bench
}

fn must_fail(bench: &Bench, args: &str, code: i32, words: &str) {
    let output = bench.run(args);
    let stderr = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{args}: {stderr}");
    assert!(stderr.contains(words), "{args}: {stderr}");
}

#[test]
fn the_journal_lies_beside_the_result_or_is_named_after_the_target() {
    let bench = Bench::new();
    bench.measure_ios(64, "--verify -b4K t.dat");
    assert!(bench.path("t.dat.verify-journal").exists());
    bench.measure_ios(64, "--verify --json=result.json -b4K t.dat");
    assert!(bench.path("result.json.verify-journal").exists());
}

#[test]
fn a_file_that_is_no_journal_is_left_alone() {
    let bench = Bench::new();
    bench.fill("precious.txt", 100_000);
    let before = (bytes(&bench.path("precious.txt")), bytes(&bench.path("t.dat")));
    let load = "-W0 -d1 -b4K -w100 t.dat";
    for name in ["precious.txt", "."] {
        must_fail(&bench, &format!("--verify-journal={name} {load}"), 2, "left alone");
    }
    must_fail(&bench, &format!("--verify-journal=t.dat {load}"), 3, "journal at once");
    must_fail(&bench, &format!("--verify-journal=no/where {load}"), 1, "no/where");
    let made = "--verify-journal=./made.dat -c1M -W0 -d1 -b4K -w100 made.dat";
    must_fail(&bench, made, 2, "is a target too");
    assert!(!bench.path("made.dat").exists());
    let after = (bytes(&bench.path("precious.txt")), bytes(&bench.path("t.dat")));
    assert!(before == after);
}

#[test]
fn a_journal_where_the_result_or_the_output_goes_is_refused() {
    let bench = Bench::new();
    bench.fill("t.dat", 1 << 20);
    let load = "-W0 -d1 -b4K --verify t.dat";
    std::fs::create_dir(bench.path("folder")).unwrap();
    std::os::unix::fs::symlink("folder", bench.path("link")).unwrap();
    for (result, journal) in [("r", "./r"), ("folder/r", "link/r")] {
        for explained in ["", "--explain"] {
            let both = format!("{explained} --json={result} --verify-journal={journal} {load}");
            must_fail(&bench, &both, 2, "the journal of this run's verification");
            assert!(!bench.path(result).exists());
        }
    }
    let said = std::fs::File::create(bench.path("said")).unwrap();
    for explained in ["", "--explain"] {
        let mut command =
            bench.command(&format!("{explained} --verify-journal=/dev/stdout {load}"));
        let status = command.stdout(said.try_clone().unwrap()).status().unwrap();
        assert_eq!(status.code(), Some(2), "{explained}");
    }
}

#[test]
fn the_journal_of_a_run_that_ended_is_written_over_and_that_of_a_killed_one_is_not() {
    let bench = bench();
    bench.measure_ios(500, "--verify-journal=run.journal -b4K -r -w50 t.dat");
    bench.start("--verify-journal=run.journal -b4K -r -w50 -W0 -d600 t.dat").kill();
    let again = "--verify-journal=run.journal -W0 -d1 -b4K -r -w50 t.dat";
    must_fail(&bench, again, 2, "did not end");
    assert_eq!(bench.run("--verify-only=run.journal").status.code(), Some(0));
    std::fs::remove_file(bench.path("run.journal")).unwrap();
    assert_eq!(bench.run(again).status.code(), Some(0));
}

/// Its place has a journal that is whole, or what stood there before: whatever ends the making of one.
#[test]
fn a_run_killed_while_it_made_its_journal_left_one_that_nothing_took() {
    let bench = Bench::new();
    std::fs::File::create(bench.path("t.dat")).unwrap().set_len(64 << 20).unwrap();
    let journal = bench.path("run.journal");
    let load = "--verify-journal=run.journal -b512 -r -w50 --stop-ios=200 -W0 -d600 t.dat";
    let is_making = |id: u32| {
        let open = std::fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten().flatten();
        let ours = |path: &Path| path.parent() == journal.parent() && !path.ends_with("t.dat");
        open.flat_map(|one| one.path().read_link()).any(|path| ours(&path))
    };
    for earlier in [false, true] {
        if earlier {
            assert_eq!(bench.run(load).status.code(), Some(0));
        }
        let before = earlier.then(|| bytes(&journal));
        let was_in_the_making = (0..100).any(|_| {
            let mut run = bench.command(load).stdout(Stdio::null()).spawn().unwrap();
            while !is_making(run.id()) && run.try_wait().unwrap().is_none() {}
            run.kill().unwrap();
            run.wait().unwrap();
            let is_as_before = match &before {
                Some(before) => bytes(&journal) == *before,
                None => !journal.exists(),
            };
            if !is_as_before {
                // Killed behind that.
                assert_eq!(bench.run("--verify-only=run.journal").status.code(), Some(0));
                std::fs::remove_file(&journal).unwrap();
                if let Some(before) = &before {
                    std::fs::write(&journal, before).unwrap();
                }
            }
            is_as_before
        });
        assert!(was_in_the_making, "each of 100 runs was killed behind that");
        let left: Vec<_> = std::fs::read_dir(journal.parent().unwrap()).unwrap().collect();
        assert_eq!(left.len(), 1 + usize::from(earlier), "{left:?}");
        assert_eq!(bench.run(load).status.code(), Some(0));
        assert_eq!(bench.run("--verify-only=run.journal").status.code(), Some(0));
        std::fs::remove_file(&journal).unwrap();
    }
}

/// It was emptied first, and then there was no room, so that nothing proved any more what the earlier run
/// had written.
#[test]
fn a_journal_for_which_there_was_no_room_took_the_earlier_one_with_it() {
    let bench = bench();
    let earlier = bytes(&bench.path("run.journal"));
    let load = "--verify-journal=run.journal -W0 -d600 --stop-ios=10 -b512 -r -w50 t.dat";
    for explained in ["--explain", ""] {
        let limited = format!("ulimit -f 16; exec \"$0\" {explained} {load}");
        let mut command = std::process::Command::new("bash");
        command.current_dir(bench.path(".")).arg("-c").arg(&limited);
        let output = command.arg(env!("CARGO_BIN_EXE_diskspd")).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains("ulimit -f"), "{}", stderr(&output));
        assert!(bytes(&bench.path("run.journal")) == earlier, "{explained}");
    }
}

/// A file that was given the name meanwhile was made the journal's, though another run had it.
#[test]
fn of_two_runs_that_make_one_journal_at_once_one_is_refused() {
    let bench = Bench::new();
    std::fs::write(bench.path("u.dat"), bytes(&bench.path("t.dat"))).unwrap();
    for _ in 0..10 {
        let start = |target: &str| {
            let load = format!(
                "--verify-journal=run.journal -W0 -d600 --stop-ios=3000 -b4K -w50 {target}"
            );
            bench.command(&load).stdout(Stdio::null()).spawn().unwrap()
        };
        let both = [start("t.dat"), start("u.dat")];
        let codes = both.map(|run| run.wait_with_output().unwrap().status.code());
        assert!(codes.contains(&Some(0)), "{codes:?}");
        assert!(codes.iter().all(|code| matches!(code, Some(0 | 2))), "{codes:?}");
        assert_eq!(bench.run("--verify-only=run.journal").status.code(), Some(0));
    }
}

/// It was said to be shorter than it had been, and to have lost what nobody had written.
#[test]
fn a_run_killed_before_it_made_its_target_was_said_to_have_lost_data() {
    let bench = bench();
    let load = "--verify-journal=new.journal -b4K -r -w50 -W0 -d600 -c2G short.dat";
    bench.fill("short.dat", 1 << 20);
    let mut run = bench.command(load).stdout(Stdio::null()).spawn().unwrap();
    while !bench.path("new.journal").exists() && run.try_wait().unwrap().is_none() {}
    run.kill().unwrap();
    run.wait().unwrap();
    bench.fill("short.dat", 1 << 20);
    let output = bench.run("--verify-only=new.journal");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("1048576 bytes") && said.contains("2147483648"), "{said}");
    assert!(said.contains("nothing that the journal knows to be written is missed"), "{said}");
    assert!(!said.contains("is lost"), "{said}");
}

/// It was made as a file, which `--verify-only` did not find by that name.
#[test]
fn a_journal_named_as_a_folder_was_made() {
    let bench = Bench::new();
    let load = "--verify-journal=run.journal/ -W0 -d1 -b4K -w50 t.dat";
    must_fail(&bench, load, 2, "the name of a folder");
    assert_eq!(bench.run(&format!("--explain {load}")).status.code(), Some(2));
    assert!(!bench.path("run.journal").exists());
}

#[test]
fn the_journal_of_a_run_under_way_is_neither_written_over_nor_read() {
    let bench = Bench::new();
    let run = bench.start("--verify-journal=run.journal -b4K -r -w50 -W0 -d600 t.dat");
    must_fail(&bench, "--verify-only=run.journal", 1, "under way");
    must_fail(&bench, "--verify-journal=run.journal -W0 -d1 -b4K t.dat", 2, "under way");
    run.interrupt();
    assert_eq!(run.wait().code, Some(130));
    assert_eq!(bench.run("--verify-only=run.journal").status.code(), Some(0));
}

#[test]
fn a_journal_that_is_foreign_cut_or_changed_is_refused_in_words() {
    let bench = bench();
    let good = bytes(&bench.path("run.journal"));
    let changed = |at: usize, byte: u8| {
        let mut bad = good.clone();
        bad[at] ^= byte;
        bad
    };
    let json = |from: &str, to: &str| {
        let length = good[32..4096].iter().position(|&byte| byte == 0).unwrap();
        let text = std::str::from_utf8(&good[32..32 + length]).unwrap();
        let text = text.replace(from, to);
        let mut bad = good.clone();
        bad[32..4096].fill(0);
        bad[32..32 + text.len()].copy_from_slice(text.as_bytes());
        bad[16..20].copy_from_slice(&u32::try_from(text.len()).unwrap().to_ne_bytes());
        bad[20..24].copy_from_slice(&crc32c::crc32c(text.as_bytes()).to_ne_bytes());
        let fixed = crc32c::crc32c_append(crc32c::crc32c(&bad[..12]), &bad[16..24]);
        bad[24..28].copy_from_slice(&fixed.to_ne_bytes());
        bad
    };
    for (bad, words) in [
        (b"no journal at all, but long enough".to_vec(), "does not begin as one"),
        (Vec::new(), "too short"),
        (good[..20].to_vec(), "too short"),
        (good[..30].to_vec(), "too short"),
        (good[..100].to_vec(), "cut short"),
        (good[..good.len() - 8].to_vec(), "bytes where"),
        ([good.as_slice(), &[0; 8]].concat(), "bytes where"),
        (changed(3, 1), "does not begin as one"),
        (changed(8, 4), "version"),
        (changed(12, 4), "state"),
        (changed(19, 0x80), "head"),
        (changed(40, 1), "checksum"),
        (changed(17, 1), "checksum"),
        (json("\"blocks\":2048", "\"blocks\":4096"), "bytes where"),
        (json("\"block_bytes\":4096", "\"block_bytes\":0"), "impossible"),
        (json("\"block_bytes\":4096", "\"block_bytes\":1000"), "impossible"),
        (json("\"blocks\":2048", "\"blocks\":18446744073709551615"), "impossible"),
        (json("\"seed\"", "\"need\""), "seed"),
    ] {
        std::fs::write(bench.path("bad.journal"), &bad).unwrap();
        must_fail(&bench, "--verify-only=bad.journal", 1, words);
        assert!(bytes(&bench.path("bad.journal")) == bad, "{words}: the file was changed");
    }
    must_fail(&bench, "--verify-only=.", 1, "not a regular file");
    must_fail(&bench, "--verify-only=missing", 1, "missing");
    must_fail(&bench, "--verify-only=run.journal -w50", 3, "'-w50' cannot be used");
    must_fail(&bench, "--verify-only=run.journal --verify", 3, "'--verify' cannot be used");
    must_fail(&bench, "--verify-only=run.journal -Rpxml", 3, "cannot be used");
}

#[test]
fn targets_that_moved_are_named_and_wrong_ones_are_told() {
    let bench = bench();
    std::fs::rename(bench.path("t.dat"), bench.path("moved.dat")).unwrap();
    must_fail(&bench, "--verify-only=run.journal", 1, "t.dat");
    must_fail(&bench, "--verify-only=run.journal .", 1, "neither");
    must_fail(&bench, "--verify-only=run.journal moved.dat moved.dat", 1, "2 are named");
    assert_eq!(bench.run("--verify-only=run.journal moved.dat").status.code(), Some(0));
    bench.fill("wrong.dat", 8 << 20);
    must_fail(&bench, "--verify-only=run.journal wrong.dat", 4, "is it the target");
}

/// What lay behind the end of a target that was cut was called corrupt, without a word of its length.
#[test]
fn a_target_that_was_shortened_was_called_corrupt_without_its_sizes() {
    let bench = Bench::new();
    bench.measure_ios(2048, "--verify-journal=run.journal -b4K -B1M -si -w100 t.dat");
    let cut = |size_bytes: u64| {
        let file = std::fs::File::options().write(true).open(bench.path("t.dat")).unwrap();
        file.set_len(size_bytes).unwrap();
    };
    // In the midst of a sector, and before all that was written.
    for size_bytes in [(5 << 20) + 700, 4096] {
        cut(size_bytes);
        let output = bench.run("--verify-only=run.journal --json=pass.json");
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(4), "{said}");
        let words = format!("is shorter than the journal: it has {size_bytes} bytes");
        assert!(said.contains(&words) && said.contains("is about 8388608"), "{said}");
        assert!(!said.contains("is it the target"), "{said}");
        let result = bytes(&bench.path("pass.json"));
        let result: serde_json::Value = serde_json::from_slice(&result).unwrap();
        let first = &result["verification"]["first_faults"][0];
        let found = format!("nothing: the target ends before, it has {size_bytes} bytes");
        assert_eq!(first["found"], found, "{first}");
        assert!(!output.stdout.is_empty());
        assert!(!String::from_utf8_lossy(&output.stdout).contains("without a stamp"));
    }
}

#[test]
fn a_pass_changes_nothing_and_writes_all_forms() {
    let bench = bench();
    let before = (bytes(&bench.path("t.dat")), bytes(&bench.path("run.journal")));
    let text = bench.run("--verify-only=run.journal --json=pass.json");
    assert!(String::from_utf8(text.stdout).unwrap().contains("no fault was found"));
    let json: serde_json::Value = serde_json::from_slice(&bytes(&bench.path("pass.json"))).unwrap();
    assert_eq!(json["verification"]["journal"], "run.journal");
    let xml = String::from_utf8(bench.run("-Rxml --verify-only=run.journal").stdout).unwrap();
    let document = roxmltree::Document::parse(&xml).unwrap();
    assert!(document.descendants().any(|node| node.has_tag_name("VerifiedBlocks")));
    assert!(before == (bytes(&bench.path("t.dat")), bytes(&bench.path("run.journal"))));
}

/// A folder with a target of 16 blocks, and the journal of a run that wrote all of them and ended.
fn small() -> (Bench, Vec<u8>) {
    let bench = Bench::new();
    bench.measure_ios(500, "--verify-journal=run.journal -c64K -b4K -w100 -r -o4 s.dat");
    let journal = bytes(&bench.path("run.journal"));
    (bench, journal)
}

/// What a pass with these bytes for a journal says; nothing if they are refused.
fn passed(folder: &Path, journal: &[u8]) -> Option<Passed> {
    let place = folder.join("bad.journal");
    std::fs::write(&place, journal).unwrap();
    let (findings, names) = (Findings::default(), [folder.join("s.dat").display().to_string()]);
    let outcome = pass::run(&place, &names, (&AtomicBool::new(false), &|_| {}), &findings);
    outcome.ok().map(|()| findings.passed(&place))
}

/// Nothing of the target is blamed; whether the journal was found damaged, or was refused.
fn blames_nobody(folder: &Path, journal: &[u8], what: &str) -> bool {
    let Some(found) = passed(folder, journal) else { return true };
    assert_eq!(found.verification.faulty_blocks(), 0, "{what}");
    assert!(found.failures.is_empty(), "{what}: {:?}", found.failures);
    found.verification.damaged_words() > 0
}

/// Of 40 bits of the journal that flipped, 23 gave faults of the target.
#[test]
fn break_11_a_flipped_bit_of_the_journal_blamed_the_target() {
    let (bench, journal) = small();
    let folder = bench.path(".");
    assert!(!blames_nobody(&folder, &journal, "whole"));
    let words_at = 4096;
    let head = 32 + journal[32..words_at].iter().position(|&byte| byte == 0).unwrap();
    let mut flips = 0;
    for at in (0..head).chain(words_at..journal.len()) {
        for bit in 0..8 {
            let mut bad = journal.clone();
            bad[at] ^= 1 << bit;
            let is_found = blames_nobody(&folder, &bad, &format!("byte {at}, bit {bit}"));
            // Four bytes of the head hold nothing yet.
            assert!(is_found || (28..32).contains(&at), "byte {at}, bit {bit}");
            flips += 1;
        }
    }
    assert!(flips > 2_000, "{flips}");
    let mut random = Random::new(11);
    let mut below = |bound: usize| usize::try_from(random.below(bound as u64)).unwrap();
    for _ in 0..500 {
        let mut bad = journal.clone();
        let byte = words_at + below(journal.len() - words_at);
        let others = byte / 8 * 8 + below(8);
        bad[byte] ^= 1 << below(8);
        bad[others] ^= 1 << below(8);
        blames_nobody(&folder, &bad, &format!("bytes {byte}, {others}"));
        bad = journal.clone();
        bad[below(head)] ^= 1 << below(8);
        bad[below(head)] ^= 1 << below(8);
        blames_nobody(&folder, &bad, "two bits of the head");
    }
}

#[test]
fn words_that_were_moved_zeroed_or_cut_blame_nobody() {
    let (bench, journal) = small();
    let folder = bench.path(".");
    let words = (4096..journal.len()).step_by(8);
    for one in words.clone() {
        for other in words.clone().filter(|other| *other > one) {
            let mut bad = journal.clone();
            bad[one..one + 8].copy_from_slice(&journal[other..other + 8]);
            bad[other..other + 8].copy_from_slice(&journal[one..one + 8]);
            blames_nobody(&folder, &bad, &format!("{one} for {other}"));
        }
        let mut bad = journal.clone();
        bad[one..one + 8].fill(0);
        blames_nobody(&folder, &bad, &format!("{one} is gone"));
    }
    let mut lost = journal.clone();
    lost[4096..].fill(0);
    assert!(blames_nobody(&folder, &lost, "a page of zeros"));
    for length in 0..journal.len() {
        assert!(passed(&folder, &journal[..length]).is_none(), "{length}");
    }
}

#[test]
fn a_damaged_journal_is_told_as_such_in_each_form() {
    let (bench, journal) = small();
    let mut bad = journal.clone();
    let last = journal.len() - 8;
    bad[last] ^= 1;
    std::fs::write(bench.path("bad.journal"), &bad).unwrap();
    let output = bench.run("--verify-only=bad.journal --json=r.json");
    assert_eq!(output.status.code(), Some(6), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("JOURNAL is damaged, not the target"), "{text}");
    assert!(text.contains("1 | words of the journal are damaged"), "{text}");
    let json: serde_json::Value = serde_json::from_slice(&bytes(&bench.path("r.json"))).unwrap();
    let target = &json["verification"]["targets"][0];
    assert_eq!(
        (&target["journal_damaged_words"], &target["unverifiable_blocks"]),
        (&1.into(), &1.into())
    );
    let xml = String::from_utf8(bench.run("-Rxml --verify-only=bad.journal").stdout).unwrap();
    assert!(xml.contains("<JournalDamagedWords>1<"), "{xml}");
    // A fault of the target weighs more.
    let mut data = bytes(&bench.path("s.dat"));
    data[0] ^= 1;
    std::fs::write(bench.path("s.dat"), data).unwrap();
    assert_eq!(bench.run("--verify-only=bad.journal").status.code(), Some(4));
}

/// A journal as version 1 had it, of the same windows.
fn version_1(journal: &[u8]) -> Vec<u8> {
    let length = journal[32..4096].iter().position(|&byte| byte == 0).unwrap();
    let json = &journal[32..32 + length];
    let words = [1, 2, u32::try_from(length).unwrap(), crc32c::crc32c(json)].map(u32::to_ne_bytes);
    let mut old = [b"FathomVJ".as_slice(), &words.concat(), json].concat();
    old.resize(4096 + 24, 0);
    for word in journal[4096 + 32..].chunks_exact(8) {
        let word = u64::from_ne_bytes(word.try_into().unwrap()) & ((1 << 48) - 1);
        old.extend(word.to_ne_bytes());
    }
    old
}

#[test]
fn an_older_journal_is_read_and_said_to_be_without_checks() {
    let (bench, journal) = small();
    std::fs::write(bench.path("old.journal"), version_1(&journal)).unwrap();
    let output = bench.run("--verify-only=old.journal");
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    assert!(
        text.contains("version 1, without checks") && text.contains("no fault was found"),
        "{text}"
    );
    let found = passed(&bench.path("."), &version_1(&journal)).unwrap().verification;
    let whole = passed(&bench.path("."), &journal).unwrap().verification;
    assert_eq!(found.targets[0].verified_blocks, whole.targets[0].verified_blocks);
}

/// A process that is being started has copies of all descriptors until it executes its program.
#[test]
fn a_journal_that_was_read_stayed_in_use_while_another_process_was_started() {
    let (bench, journal) = small();
    let (folder, has_ended) = (bench.path("."), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !has_ended.load(Ordering::Relaxed) {
                Command::new("true").status().unwrap();
            }
        });
        let read = (0..500).filter(|_| passed(&folder, &journal).is_some()).count();
        has_ended.store(true, Ordering::Relaxed);
        assert_eq!(read, 500);
    });
}

#[test]
fn a_journal_with_data_of_others_was_replaced() {
    let bench = bench();
    let path = bench.path("run.journal");
    let whole = bytes(&path);
    let load = "--verify-journal=run.journal -W0 -d30 -b4K -w100 --stop-ios=9 t.dat";
    let targets_end = whole.windows(2).position(|two| two == b"]}").unwrap() + 2;
    let behind = [&whole[..], b"my notes"].concat();
    let mut between = whole.clone();
    between[targets_end + 8..targets_end + 14].copy_from_slice(b"theirs");
    let cut = whole[..whole.len() - 1].to_vec();
    for (others, words) in [(behind, "bytes where"), (between, "between"), (cut, "bytes where")] {
        std::fs::write(&path, &others).unwrap();
        must_fail(&bench, load, 2, words);
        must_fail(&bench, load, 2, "move it away");
        assert!(bytes(&path) == others, "{words}");
    }
    std::fs::write(&path, &whole).unwrap();
    bench.measure_ios(500, "--verify-journal=run.journal -b4K -r -w50 t.dat");
}

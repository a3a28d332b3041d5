//! The journal: which files it is written over, and which are refused when it is read.

use std::process::Output;

use crate::bench::{Bench, bytes};

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder with the journal `run.journal` of a run that has ended.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.measure("--verify-journal=run.journal -b4K -r -w50 t.dat");
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
    bench.measure("--verify -b4K t.dat");
    assert!(bench.path("t.dat.verify-journal").exists());
    bench.measure("--verify --json=result.json -b4K t.dat");
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
fn the_journal_of_a_run_that_ended_is_written_over_and_that_of_a_killed_one_is_not() {
    let bench = bench();
    bench.measure("--verify-journal=run.journal -b4K -r -w50 t.dat");
    bench.start("--verify-journal=run.journal -b4K -r -w50 -W0 -d600 t.dat").kill();
    let again = "--verify-journal=run.journal -W0 -d1 -b4K -r -w50 t.dat";
    must_fail(&bench, again, 2, "did not end");
    assert_eq!(bench.run("--verify-only=run.journal").status.code(), Some(0));
    std::fs::remove_file(bench.path("run.journal")).unwrap();
    assert_eq!(bench.run(again).status.code(), Some(0));
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
        let length = good[24..4096].iter().position(|&byte| byte == 0).unwrap();
        let text = std::str::from_utf8(&good[24..24 + length]).unwrap();
        let text = text.replace(from, to);
        let mut bad = good.clone();
        bad[24..4096].fill(0);
        bad[24..24 + text.len()].copy_from_slice(text.as_bytes());
        bad[16..20].copy_from_slice(&u32::try_from(text.len()).unwrap().to_ne_bytes());
        bad[20..24].copy_from_slice(&crc32c::crc32c(text.as_bytes()).to_ne_bytes());
        bad
    };
    for (bad, words) in [
        (b"no journal at all, but long enough".to_vec(), "does not begin as one"),
        (Vec::new(), "too short"),
        (good[..20].to_vec(), "too short"),
        (good[..100].to_vec(), "cut short"),
        (good[..good.len() - 8].to_vec(), "bytes where"),
        ([good.as_slice(), &[0; 8]].concat(), "bytes where"),
        (changed(3, 1), "does not begin as one"),
        (changed(8, 2), "version"),
        (changed(12, 4), "state"),
        (changed(19, 0x80), "head"),
        (changed(30, 1), "checksum"),
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

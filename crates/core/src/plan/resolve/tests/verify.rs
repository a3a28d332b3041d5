//! What is verified: blocks, ranges, the journal, and what is refused.

use fathom_sys::identity::{FileId, Identity};

use super::*;
use crate::plan::{VerifyPlan, VerifyTarget};
use crate::request::Job;

fn verifying() -> RunOptions {
    RunOptions { verify: true, ..RunOptions::default() }
}

fn verified(spans: Vec<TimeSpan>, options: &RunOptions) -> (Vec<SpanPlan>, VerifyPlan) {
    let plan = resolve(&profile(spans), options, &host()).expect("a plan").plan;
    (plan.spans, plan.verify.expect("a verification"))
}

/// Block size, first byte and end of each target.
fn blocks(plan: &VerifyPlan) -> Vec<(u32, u64, u64)> {
    let shown = |target: &VerifyTarget| (target.block_bytes, target.start_bytes, target.end_bytes);
    plan.targets.iter().map(shown).collect()
}

fn aligned(block_bytes: u32, align_bytes: u64, base_bytes: u64) -> Target {
    let mut target = Target { block_bytes, base_bytes, ..target() };
    target.access.align_bytes = align_bytes;
    target
}

#[test]
fn nothing_is_verified_unless_asked_for() {
    let plan = resolve(&profile(vec![span(vec![target()])]), &RunOptions::default(), &host());
    assert_eq!(plan.expect("a plan").plan.verify, None);
}

#[test]
fn a_block_is_what_all_ios_consist_of() {
    for (target, block_bytes) in [
        (aligned(65_536, 65_536, 0), 65_536),
        (aligned(65_536, 4096, 0), 4096),
        (aligned(12_288, 8192, 0), 4096),
        (aligned(65_536, 65_536, 1024), 1024),
        (Target { thread_stride_bytes: 512, threads: 2, ..target() }, 512),
    ] {
        let base_bytes = target.base_bytes;
        let (_, plan) = verified(vec![span(vec![target])], &verifying());
        let rest = (8 * MIB - base_bytes) % u64::from(block_bytes);
        assert_eq!(blocks(&plan), [(block_bytes, base_bytes, 8 * MIB - rest)]);
    }
}

#[test]
fn uses_of_one_file_share_its_blocks_and_other_files_have_their_own() {
    let mut facts = host();
    add(&mut facts, "u.dat", file(MIB));
    let first = span(vec![aligned(16_384, 16_384, 4 * MIB), named("u.dat")]);
    let second = span(vec![Target { limit_bytes: 5 * MIB, ..aligned(12_288, 12_288, 12_288) }]);
    let request = profile(vec![first, second]);
    let plan = resolve(&request, &verifying(), &facts).expect("a plan").plan;
    let verify = plan.verify.expect("a verification");
    assert_eq!(blocks(&verify), [(4096, 12_288, 8 * MIB), (4096, 0, MIB)]);
    assert_eq!(verify.targets[0].path(), PathBuf::from("/t.dat"));
    assert_eq!(verify.targets[0].blocks(), (8 * MIB - 12_288) / 4096);
}

#[test]
fn the_end_of_a_range_is_a_place_of_whole_blocks() {
    let mut facts = host();
    add(&mut facts, "t.dat", file(8 * MIB + 700));
    let plan = resolve(&profile(vec![span(vec![target()])]), &verifying(), &facts);
    let plan = plan.expect("a plan").plan;
    assert_eq!(plan.spans[0].targets[0].offsets.end_bytes, 8 * MIB);
    assert_eq!(blocks(&plan.verify.expect("a verification")), [(4096, 0, 8 * MIB)]);
}

#[test]
fn the_journal_has_the_name_that_is_given_or_lies_beside_the_result_or_is_the_targets() {
    let journal = |job: &Job| {
        verified(vec![span(vec![target()])], &job.options()).1.journal.display().to_string()
    };
    let mut job = Job::default();
    job.request.options = verifying();
    assert_eq!(journal(&job), "t.dat.verify-journal");
    job.json_file = Some("out/result.json".into());
    assert_eq!(journal(&job), "out/result.json.verify-journal");
    job.request.options.verify_journal = Some("x".into());
    assert_eq!(journal(&job), "x");
}

#[test]
fn what_cannot_be_verified_is_refused() {
    let refused = |target: Target, options: &RunOptions, words: &[&str]| {
        let errors = with(span(vec![target]), options, &host()).expect_err("an error");
        assert_says(&only(&errors), ErrorClass::Request, words);
    };
    refused(aligned(4096, 100, 0), &verifying(), &["alignment", "100 bytes", "512"]);
    refused(aligned(4096, 4096, 8), &verifying(), &["base offset", "8 bytes", "512"]);
    let many = Target { outstanding: 2048, threads: 2, ..target() };
    refused(many, &verifying(), &["4096 I/Os", "4095"]);
    let null = RunOptions { engine: Some(EngineChoice::Null), ..verifying() };
    refused(target(), &null, &["null"]);
    let journal = RunOptions { verify_journal: Some("/t.dat".into()), ..verifying() };
    refused(target(), &journal, &["t.dat", "journal at once"]);
    // Engines that serve one at a time keep a thread from having more in flight.
    let sync = RunOptions { engine: Some(EngineChoice::Sync), ..verifying() };
    let many = Target { outstanding: 2048, threads: 2, ..target() };
    assert!(with(span(vec![many]), &sync, &host()).is_ok());
}

#[test]
fn the_stamps_of_a_file_under_two_names_were_called_misdirected() {
    let one = |inode: u64| {
        let identity = Some(Identity::File(FileId { device: (8, 1), inode }));
        PathFacts { identity, ..file(8 * MIB) }
    };
    let mut facts = host();
    add(&mut facts, "t.dat", one(12));
    add(&mut facts, "hard.dat", one(12));
    add(&mut facts, "other.dat", one(13));
    let both = |second: &str| profile(vec![span(vec![target(), named(second)])]);
    let errors = resolve(&both("hard.dat"), &verifying(), &facts).expect_err("an error");
    let words = ["'t.dat' and 'hard.dat' are one and the same", "give it one name"];
    assert_says(&only(&errors), ErrorClass::Request, &words);
    // Neither another file, nor the same name once more, nor a load that verifies nothing.
    assert!(resolve(&both("other.dat"), &verifying(), &facts).is_ok());
    assert!(resolve(&both("t.dat"), &verifying(), &facts).is_ok());
    assert!(resolve(&both("hard.dat"), &RunOptions::default(), &facts).is_ok());
}

//! Results of parts that were measured together are merged into that of the whole, without loss.

use fathom_core::report::json;
use fathom_core::request::{EngineChoice, Target};
use fathom_core::result::merge::MergeError;
use fathom_core::result::totals::{Kind, of_span};
use fathom_core::result::{EndedBy, FleetHost, Outcome, RunResult, Tool};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::results::result;

type Threads = Vec<(Vec<u64>, Vec<u64>)>;

fn threads() -> impl Strategy<Value = Threads> {
    vec((vec(1_u64..1 << 34, 0..40), vec(1_u64..1 << 34, 0..40)), 1..7)
}

/// The threads of a whole, dealt to parts; none is empty.
fn dealt(all: &Threads, cuts: &[usize]) -> Vec<Threads> {
    let mut parts = Vec::new();
    let mut rest = all.as_slice();
    for cut in cuts {
        let (part, left) = rest.split_at((*cut).clamp(1, rest.len()));
        parts.push(part.to_vec());
        rest = left;
        if rest.is_empty() {
            return parts;
        }
    }
    parts.push(rest.to_vec());
    parts
}

fn on(host: &str, mut part: RunResult) -> RunResult {
    host.clone_into(&mut part.host.name);
    part
}

/// Sums of both, which have every bucket, the exact sum of all latencies, and series.
fn agree(whole: &RunResult, merged: &RunResult) -> Result<(), TestCaseError> {
    for kind in [Kind::Total, Kind::Read, Kind::Write] {
        let one = of_span(&whole.time_spans[0], kind);
        let two = of_span(&merged.time_spans[0], kind);
        prop_assert_eq!((one.ios, one.bytes, one.errors), (two.ios, two.bytes, two.errors));
        prop_assert!(one.latency.buckets().eq(two.latency.buckets()));
        prop_assert_eq!(one.latency.sum_ns(), two.latency.sum_ns());
        prop_assert_eq!(one.latency.min_ns(), two.latency.min_ns());
        prop_assert_eq!(one.latency.max_ns(), two.latency.max_ns());
        let (mine, theirs) = (one.latency.stddev_ns(), two.latency.stddev_ns());
        prop_assert!((mine - theirs).abs() <= 1e-6 * mine.max(1.0), "{mine} {theirs}");
        prop_assert_eq!(one.series, two.series);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn parts_of_one_host_merge_into_the_whole_itself(
        all in threads(),
        cuts in vec(1_usize..4, 0..5),
    ) {
        let whole = result(&all);
        let parts = dealt(&all, &cuts).iter().map(|part| result(part)).collect();
        let mut merged = RunResult::merge(parts).unwrap();
        agree(&whole, &merged)?;
        prop_assert_eq!(json::read(&json::write(&merged)).unwrap(), merged.clone());
        let threads: u32 = merged.parts.iter().map(|part| part.time_spans[0].threads).sum();
        prop_assert_eq!(threads as usize, all.len());
        // But for what the parts had alone, nothing differs: no thread, no target, no warning.
        merged.parts.clear();
        merged.time_spans[0].cost = whole.time_spans[0].cost;
        prop_assert_eq!(merged, whole);
    }

    #[test]
    fn hosts_merge_into_the_same_sums_in_any_tree(
        all in threads(),
        cuts in vec(1_usize..4, 0..5),
        at in 0_usize..6,
    ) {
        let parts: Vec<_> = (0..)
            .zip(dealt(&all, &cuts))
            .map(|(number, part)| on(&format!("host{number}"), result(&part)))
            .collect();
        let flat = RunResult::merge(parts.clone()).unwrap();
        agree(&result(&all), &flat)?;
        let (left, right) = parts.split_at(at.min(parts.len()));
        let halves = [left, right].into_iter().filter(|half| !half.is_empty());
        let halves = halves.map(|half| RunResult::merge(half.to_vec()).unwrap()).collect();
        let tree = RunResult::merge(halves).unwrap();
        agree(&flat, &tree)?;
        prop_assert_eq!(tree.parts, flat.parts);
        prop_assert_eq!(tree.host.name, flat.host.name);
    }
}

fn two(change: impl Fn(&mut RunResult)) -> Result<RunResult, MergeError> {
    let one = on("a", result(&[(vec![1_000], vec![])]));
    let mut other = on("b", one.clone());
    change(&mut other);
    RunResult::merge(vec![one, other])
}

fn refused(change: impl Fn(&mut RunResult), words: &str) {
    let told = two(change).unwrap_err().to_string();
    assert!(told.contains(words), "{told}");
}

#[test]
fn what_cannot_be_added_is_refused_in_words() {
    refused(
        |other| other.tool = Tool { name: "test".to_owned(), version: "9".to_owned() },
        "'b' is of test 9, that of 'a' of test 0",
    );
    refused(|other| other.time_spans.clear(), "differ in how many time spans they have");
    refused(|other| other.time_spans[0].interval_ns = 7, "intervals (-D)");
    refused(|other| other.time_spans[0].request_count = 7, "differ in -O");
    refused(|other| other.request.profile.time_spans[0].measure_latency = false, "latency was");
    refused(|other| other.request.profile.time_spans[0].warm_up_s = 99, "warm-up (-W)");
    refused(|other| other.time_spans[0].began_unix_ns = None, "'b' began nobody knows when");
    let later = |other: &mut RunResult| {
        let began_ns = other.time_spans[0].began_unix_ns.as_mut().unwrap();
        *began_ns += 100_000_000;
    };
    refused(later, "'b' began 0.100 s later than the first");
    let shorter = |other: &mut RunResult| other.time_spans[0].measured_ns = 1_900_000_000;
    refused(shorter, "measured for 1.900 s where others were for 2.000 s");
    assert_eq!(RunResult::merge(Vec::new()), Err(MergeError::Nothing));
}

/// Results of -w30 and -w31, of other rates, depths and targets, and of another engine were added.
#[test]
fn results_of_another_load_are_refused_naming_the_field() {
    let target = |change: fn(&mut Target)| {
        move |other: &mut RunResult| change(&mut other.request.profile.time_spans[0].targets[0])
    };
    let place = "'b' and 'a' differ in profile.time_spans[0].targets";
    refused(target(|one| one.write_percent = 31), &format!("{place}[0].write_percent (31 and 0)"));
    refused(target(|one| one.outstanding = 9), &format!("{place}[0].outstanding (9 and 2)"));
    refused(target(|one| one.access.random_percent = 7), "access.random_percent (7 and 0)");
    let second = |other: &mut RunResult| {
        let targets = &mut other.request.profile.time_spans[0].targets;
        targets.push(targets[0].clone());
    };
    refused(second, &format!("{place} (of which there are 2 and 1)"));
    let rate = |other: &mut RunResult| other.request.options.total_iops = Some(2_000);
    refused(rate, "differ in options.total_iops (2000 and null)");
    let null = |other: &mut RunResult| other.request.options.engine = Some(EngineChoice::Null);
    refused(null, r#"differ in options.engine ("null" and null)"#);
}

#[test]
fn what_belongs_to_a_part_may_differ() {
    let merged = two(|other| {
        let span = &mut other.request.profile.time_spans[0];
        (span.random_seed, span.disable_affinity) = (7, true);
        let target = &mut span.targets[0];
        target.path = "other.dat".into();
        (target.base_bytes, target.limit_bytes) = (1 << 20, 2 << 20);
    });
    assert_eq!(merged.unwrap().parts.len(), 2);
}

/// A load that differs is seen inside of what was merged before, too.
#[test]
fn a_merged_result_is_compared_by_its_parts() {
    let whole = two(|_| ()).unwrap();
    let mut third = on("c", result(&[(vec![1_000], vec![])]));
    third.request.profile.time_spans[0].targets[0].write_percent = 31;
    let told = RunResult::merge(vec![third, whole]).unwrap_err().to_string();
    assert!(told.contains("'a' and 'c' differ in profile"), "{told}");
}

/// One result counted twice where it was listed twice, or beside what it had been merged into.
#[test]
fn a_result_that_is_there_twice_is_refused() {
    let one = on("a", result(&[(vec![1_000], vec![2_000]), (vec![3_000], vec![])]));
    let other = on("b", one.clone());
    let whole = RunResult::merge(vec![other.clone(), one.clone()]).unwrap();
    for twice in [
        vec![one.clone(), one.clone()],
        vec![whole.clone(), one.clone()],
        vec![whole.clone(), whole],
    ] {
        let told = RunResult::merge(twice).unwrap_err();
        assert!(matches!(told, MergeError::Twice { .. }), "{told}");
        assert!(told.to_string().contains("is there twice"), "{told}");
    }
    // What began at the same instant and counted something else is another part.
    let beside = on("a", result(&[(vec![1_000], vec![2_000]), (vec![3_001], vec![])]));
    assert!(RunResult::merge(vec![one, beside]).is_ok());
}

#[test]
fn a_little_apart_is_told_and_who_ended_one_ended_the_whole() {
    let merged = two(|other| {
        *other.time_spans[0].began_unix_ns.as_mut().unwrap() += 300_000;
        other.time_spans[0].measured_ns = 2_000_900_000;
        other.time_spans[0].outcome = Outcome::Interrupted;
        other.ended_by = Some(EndedBy::Lease { lease_ns: 10 });
    })
    .unwrap();
    let span = &merged.time_spans[0];
    assert_eq!((span.measured_ns, &span.outcome), (2_000_900_000, &Outcome::Interrupted));
    assert_eq!(merged.ended_by, Some(EndedBy::Lease { lease_ns: 10 }));
    assert_eq!(merged.host.name, "a, b");
    let [one, other] = &merged.parts[..] else { panic!("{:?}", merged.parts) };
    let began = |part: &fathom_core::result::merge::Part| part.time_spans[0].began_unix_ns;
    assert_eq!(began(other) - began(one), 300_000);
    // The same name on two hosts is not the same target.
    assert_eq!(span.targets.len(), 2);
    assert_eq!(span.threads[1].targets[0].target, 1);
}

#[test]
fn parts_that_were_ended_early_need_not_end_together_and_hosts_stand_beside_each_other() {
    let named = |name: &str| FleetHost { name: name.to_owned(), ..FleetHost::default() };
    let mut one = on("a", result(&[(vec![1_000], vec![])]));
    one.hosts = vec![named("a")];
    one.time_spans[0].outcome = Outcome::Interrupted;
    let mut other = on("b", one.clone());
    other.hosts = vec![named("b")];
    other.time_spans[0].measured_ns = 1_700_000_000;
    let merged = RunResult::merge(vec![one, other]).unwrap();
    assert_eq!(merged.time_spans[0].outcome, Outcome::Interrupted);
    assert_eq!(merged.time_spans[0].measured_ns, 2_000_000_000);
    assert_eq!(merged.hosts, vec![named("a"), named("b")]);
}

/// Parts of one host that share a file by ranges have one target; what they touch together is not told.
#[test]
fn ranges_of_one_file_stay_one_target_on_a_host() {
    let part = |latency_ns, working_set_bytes| {
        let mut part = result(&[(vec![latency_ns], vec![])]);
        part.time_spans[0].targets[0].working_set_bytes = Some(working_set_bytes);
        part
    };
    let alike = RunResult::merge(vec![part(1_000, 4_096), part(2_000, 4_096)]).unwrap();
    let apart = RunResult::merge(vec![part(1_000, 4_096), part(2_000, 8_192)]).unwrap();
    for (merged, told) in [(alike, Some(4_096)), (apart, None)] {
        let [target] = &merged.time_spans[0].targets[..] else { panic!("{merged:?}") };
        assert_eq!(target.working_set_bytes, told);
    }
}

#[test]
fn what_parts_measured_on_a_target_that_each_names_twice_went_to_its_first_name() {
    let part = |first_ns: u64, second_ns: u64| {
        let mut part = result(&[(vec![first_ns], vec![]), (vec![second_ns; 2], vec![])]);
        let span = &mut part.time_spans[0];
        span.targets.push(span.targets[0].clone());
        span.threads[1].targets[0].target = 1;
        part
    };
    let merged = RunResult::merge(vec![part(1_000, 2_000), part(3_000, 4_000)]).unwrap();
    let span = &merged.time_spans[0];
    let ios = |place: u32| -> u64 {
        let rows = span.threads.iter().flat_map(|thread| &thread.targets);
        rows.filter(|row| row.target == place).map(|row| row.read.ios).sum()
    };
    assert_eq!((span.targets.len(), ios(0), ios(1)), (2, 2, 4));
    // A target that each part names once stays one.
    let once = |latency_ns| result(&[(vec![latency_ns], vec![])]);
    let merged = RunResult::merge(vec![once(1_000), once(3_000)]).unwrap();
    assert_eq!(merged.time_spans[0].targets.len(), 1);
}

//! When I/Os are issued and counted: bursts (`-i -j`), warm-up and cool-down (`-W -C`), progress (`-P`).

use super::trace::Trace;
use crate::bench::{Bench, ios, records, sum};

/// I/Os of each interval of the measured time.
fn per_interval(result: &serde_json::Value) -> Vec<u64> {
    let cells = &records(result, "read").next().unwrap()["series"]["cells"];
    cells.as_array().unwrap().iter().map(|cell| cell["ios"].as_u64().unwrap()).collect()
}

#[test]
fn bursts_have_gaps_between_them() {
    let bench = Bench::new();
    for engine in ["-o1", "-o2"] {
        let args = format!("-b4K -r {engine} -D10 --engine=null");
        // A host that was suspended for most of a second, which is rare, is asked again.
        let mut asked = (0..3).map(|_| bench.measure(&format!("{args} -i10 -j100 null")));
        let bursts = asked.find(|bursts| ios(bursts) >= 20).expect("20 I/Os in one of three runs");
        let counts = per_interval(&bursts);
        assert_eq!(counts.len(), 100);
        let empty = counts.iter().filter(|count| **count == 0).count();
        // Ten bursts of ten I/Os, each in one interval, or two where it straddles them; a host that stands
        // still makes bursts fewer and never more.
        assert!(empty >= 80, "{engine}: {empty} of 100 intervals are empty: {counts:?}");
        assert!(ios(&bursts) <= 100, "{engine}: {}", ios(&bursts));
        assert!(counts.iter().all(|count| *count <= 20), "{counts:?}");
        let steady = ios(&bench.measure(&format!("{args} null")));
        assert!(steady > 100 * ios(&bursts), "{engine}: {steady} without bursts");
    }
}

/// How many I/Os a run made and how many of them it counted; none where that cannot be traced.
fn made_and_counted(bench: &Bench, args: &str) -> Option<(u64, u64)> {
    let trace = Trace::of(bench, "pread64,openat", args)?;
    Some((trace.of_load("pread64").count() as u64, ios(&trace.result)))
}

#[test]
fn warm_up_and_cool_down_have_load_that_is_not_counted() {
    let bench = Bench::new();
    // Three seconds of 200 I/Os each are requested, and those of one count. A host that stands still in the
    // warm-up makes its I/Os up in the measured time, as DiskSpd does, and one that stands still at the end
    // loses them; it is asked again.
    let mut seen = Vec::new();
    let is_seen = (0..5).any(|_| {
        let run = made_and_counted(&bench, "-W1 -C1 -b4K -r -o1 -g200i t.dat");
        seen.extend(run);
        run.is_none_or(|(made, counted)| {
            assert!(made <= 620 && counted < made, "{made} made, {counted} counted");
            (100..=202).contains(&counted) && counted + 150 <= made
        })
    });
    assert!(is_seen, "made and counted: {seen:?}");
    let Some((made, counted)) = made_and_counted(&bench, "-b4K -r -o1 -g200i t.dat") else {
        return;
    };
    assert!(made.abs_diff(counted) <= 2, "{made} made, {counted} counted");
}

#[test]
fn the_phases_are_told_in_their_order() {
    let bench = Bench::new();
    let output = bench.run("-v -W1 -C1 -d1 -b4K -r t.dat");
    let text = String::from_utf8(output.stdout).unwrap();
    let place = |words: &str| text.find(words).unwrap_or_else(|| panic!("no '{words}': {text}"));
    let places = [
        "starting warm up",
        "starting measurements",
        "stopped measurements",
        "starting cool down",
        "finished test",
    ]
    .map(place);
    assert!(places.is_sorted(), "{places:?}");
    let quiet = bench.run("-W0 -d1 -b4K -r t.dat");
    assert!(!String::from_utf8(quiet.stdout).unwrap().contains("starting"));
}

/// What is reported with `-v` before the report, without the time of day.
fn told(text: &str) -> Vec<&str> {
    let lines = text.lines().take_while(|line| !line.is_empty());
    lines.map(|line| line.split_once(": ").unwrap().1).collect()
}

/// Which thread speaks first is chance; what each says is not. Where `DiskSpd` asks Windows for its CPU
/// times, and where we put buffers, is no part of it.
#[test]
fn what_a_run_tells_is_what_the_recorded_one_told() {
    let recorded = include_str!("../../golden/diskspd/runs/16-affinity-v.txt");
    let output = Bench::new().run("-W0 -d1 -ag0,0,1 -t2 -r -b4K -v t.dat");
    let text = String::from_utf8(output.stdout).unwrap();
    let of = |text, who: &str| -> Vec<String> {
        let lines = told(text).into_iter().filter(|line| line.starts_with(who));
        let lines = lines.filter(|line| !line.contains("I/O buffers at"));
        lines.map(|line| line.replace("1.01s", "1.00s")).collect()
    };
    for who in ["Generating", "creating", "thread 0", "thread 1", "start", "stop", "finish"] {
        assert_eq!(of(&text, who), of(recorded, who), "{text}");
    }
}

/// Dots before the report, and the report.
fn dots(text: &str) -> usize {
    text.chars().take_while(|c| *c == '.' || *c == '\n').filter(|c| *c == '.').count()
}

#[test]
fn progress_is_a_dot_for_so_many_ios_of_each_thread() {
    let bench = Bench::new();
    // A disk that stands still for a second would leave nothing to show.
    let paced = "-W0 -d1 -b4K -r -g1000i --engine=null";
    for every in [50_u64, 200] {
        let args = format!("{paced} -t2 -P{every} --json=r.json null");
        let output = bench.run(&args);
        let shown = dots(&String::from_utf8(output.stdout).unwrap()) as u64;
        let result = serde_json::from_slice(&crate::bench::bytes(&bench.path("r.json"))).unwrap();
        let expected: u64 =
            records(&result, "read").map(|record| record["ios"].as_u64().unwrap() / every).sum();
        assert!(expected > 0 && shown.abs_diff(expected) <= 2, "{shown} dots, not {expected}");
    }
    // The report follows on the next line, as DiskSpd's does.
    let output = bench.run(&format!("{paced} -P100 null"));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.trim_start_matches('.').starts_with("\nCommand Line"), "{text}");
    // Where a program reads the result the dots stay out of its way.
    let output = bench.run(&format!("{paced} -P100 -Rjson null"));
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let expected = sum(&result, "read", "ios") / 100;
    let stderr = String::from_utf8(output.stderr).unwrap();
    let shown = stderr.matches('.').count() as u64;
    assert!(expected > 0 && shown.abs_diff(expected) <= 2, "{shown}, not {expected}: {stderr}");
    let silent = bench.run(&format!("{paced} null"));
    assert_eq!(dots(&String::from_utf8(silent.stdout).unwrap()), 0);
}

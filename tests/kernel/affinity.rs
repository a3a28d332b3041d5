//! Where threads really run: what /proc says while the load is under way.

use std::collections::BTreeMap;
use std::process::Command;

use crate::bench::{Bench, skip};

/// The CPUs that each thread of load may use, by its number, and those that the result tells.
fn places(args: &str) -> (BTreeMap<u32, String>, BTreeMap<u32, Option<u64>>) {
    let bench = Bench::new();
    let running = bench.start(&format!("-W0 -d60 -b4K -r -Rjson {args} t.dat"));
    let number = |name: &str| name.strip_prefix("load ")?.parse().ok();
    let seen = running.threads().into_iter();
    let seen = seen.filter_map(|(name, cpus)| Some((number(&name)?, cpus))).collect();
    running.interrupt();
    let ended = running.wait();
    assert_eq!(ended.code, Some(130), "{args}: {}", ended.stderr);
    let result: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let threads = result["time_spans"][0]["threads"].as_array().unwrap();
    let told = |thread: &serde_json::Value| {
        let index = u32::try_from(thread["index"].as_u64().unwrap()).unwrap();
        (index, thread["pinned_os_cpu"].as_u64())
    };
    (seen, threads.iter().map(told).collect())
}

/// The CPUs of this host if the tests may use at least two that begin with 0 and 1.
fn two_cpus() -> bool {
    let usable = fathom_sys::cpu::usable().unwrap_or_default();
    let enough = usable.starts_with(&[0, 1]);
    if !enough {
        skip("CPU 0 and CPU 1 are not both there");
    }
    enough
}

#[test]
fn threads_run_where_the_result_says() {
    if !two_cpus() {
        return;
    }
    for (args, expected) in [
        ("-t3 -a1,0", ["1", "0", "1"]),
        ("-t3 -a0-1", ["0", "1", "0"]),
        ("-t3 -a1", ["1", "1", "1"]),
        ("-t3 -ag0,1,0", ["1", "0", "1"]),
        ("-t3 -a1 -a0", ["1", "0", "1"]),
    ] {
        let (seen, told) = places(args);
        let expected: BTreeMap<u32, String> = (0..).zip(expected.map(str::to_owned)).collect();
        assert_eq!(seen, expected, "{args}");
        let told: BTreeMap<u32, String> =
            told.into_iter().map(|(index, cpu)| (index, cpu.unwrap().to_string())).collect();
        assert_eq!(told, expected, "{args}");
    }
}

#[test]
fn each_way_of_ordering_gives_each_thread_one_cpu_of_its_own() {
    if !two_cpus() {
        return;
    }
    for args in ["", "-ag", "-ac", "-as", "-acs", "-ap", "-aP", "-ae", "-aE", "-aup"] {
        let (seen, told) = places(&format!("-t2 {args}"));
        let mut cpus: Vec<String> = seen.values().cloned().collect();
        let told: Vec<String> = told.values().map(|cpu| cpu.unwrap().to_string()).collect();
        assert_eq!(cpus, told, "{args}");
        cpus.sort_unstable();
        cpus.dedup();
        assert_eq!(cpus.len(), 2, "{args}: {seen:?}");
        assert!(cpus.iter().all(|cpu| !cpu.contains(['-', ','])), "{args}: {seen:?}");
    }
}

#[test]
fn n_leaves_threads_to_the_scheduler() {
    if !two_cpus() {
        return;
    }
    let (seen, told) = places("-t2 -n");
    assert!(told.values().all(Option::is_none));
    assert!(seen.values().all(|cpus| cpus.contains(['-', ','])), "{seen:?}");
}

#[test]
fn a_cpu_that_this_process_may_not_use_is_told_before_the_run() {
    if !two_cpus() {
        return;
    }
    let bench = Bench::new();
    let restricted = |args: &str| {
        Command::new("taskset")
            .args(["-c", "0", env!("CARGO_BIN_EXE_diskspd"), "-W0", "-d1", "-Rjson"])
            .args(args.split_whitespace())
            .current_dir(bench.path("."))
            .output()
    };
    let Ok(output) = restricted("-a1 -c1M new.dat") else {
        return skip("there is no taskset");
    };
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("restricted to other cpus"), "{stderr}");
    assert!(stderr.contains("choose from group 0 cpu 0"), "{stderr}");
    assert!(!bench.path("new.dat").exists());
    // Without a list the CPUs that are left are taken.
    let output = restricted("-t2 -b4K t.dat").unwrap();
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for thread in result["time_spans"][0]["threads"].as_array().unwrap() {
        assert_eq!(thread["pinned_os_cpu"], 0);
    }
}

/// Whether a thread of a run may now run on these CPUs only.
fn moved(thread: &str, cpus: &str) -> bool {
    let moved = Command::new("taskset").args(["-pc", cpus, thread]).output();
    let is_moved = moved.is_ok_and(|output| output.status.success());
    if !is_moved {
        skip("taskset moves no thread");
    }
    is_moved
}

#[test]
fn a_thread_that_is_moved_from_outside_is_told_in_each_form() {
    if !two_cpus() {
        return;
    }
    let bench = Bench::new();
    let told = "Thread 1 had been pinned to CPU 1, and could run on CPU 0 at its end: something outside \
                changed where it may run (taskset, a control group).";
    for form in ["text", "xml"] {
        let options = format!("-W0 -d1 -b4K -r -t2 -a0,1 -R{form} --json=result.json");
        let running = bench.start(&format!("{options} t.dat"));
        let thread = running.load_thread(1);
        if !moved(&thread, "0") {
            return;
        }
        let ended = running.wait();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert!(ended.stdout.contains(told), "{}", ended.stdout);
        let json = std::fs::read_to_string(bench.path("result.json")).unwrap();
        let result: serde_json::Value = serde_json::from_str(&json).unwrap();
        let warnings = result["warnings"].as_array().unwrap();
        let found = warnings.iter().filter(|one| one["kind"] == "affinity_changed");
        let evidence: Vec<_> = found.map(|one| one["evidence"].as_str().unwrap()).collect();
        assert_eq!(evidence, [told]);
    }
}

#[test]
fn threads_that_stay_and_those_that_nobody_pinned_raise_no_doubt() {
    if !two_cpus() {
        return;
    }
    let bench = Bench::new();
    for (options, cpus) in [("-a0,1", "1"), ("-n", "0")] {
        let running = bench.start(&format!("-W0 -d1 -b4K -r -t2 {options} -Rjson t.dat"));
        let thread = running.load_thread(1);
        if !moved(&thread, cpus) {
            return;
        }
        let ended = running.wait();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert!(!ended.stdout.contains("affinity_changed"), "{}", ended.stdout);
        assert!(!ended.stdout.contains("cpu_offline"), "{}", ended.stdout);
    }
}

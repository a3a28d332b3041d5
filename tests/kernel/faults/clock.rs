//! The clock of the day is stepped: no duration notices, because none is taken from it.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::bench::{Bench, skip, sum};

/// A clock of the day that jumps by an hour to and fro at each look, and counts the looks. The machine's own
/// clock is left alone.
const SHIM: &str = r"
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static unsigned looks;
static long jump(void) {
    return (__atomic_fetch_add(&looks, 1, __ATOMIC_RELAXED) & 1 ? 3600 : -3600) - 400L * 86400;
}
static int is_of_day(clockid_t clock) {
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}
int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && is_of_day(clock)) now->tv_sec += jump();
    return result;
}
int gettimeofday(struct timeval *now, void *zone) {
    struct timespec time;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &time);
    now->tv_sec = time.tv_sec;
    now->tv_usec = time.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
";

fn shim(bench: &Bench) -> Option<PathBuf> {
    let (source, library) = (bench.path("shim.c"), bench.path("shim.so"));
    std::fs::write(&source, SHIM).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).args([&library, &source]);
    match compiler.output() {
        Ok(output) if output.status.success() => Some(library),
        Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => {
            skip(&format!("there is no C compiler: {error}"));
            None
        }
    }
}

#[test]
fn a_clock_of_the_day_that_jumps_changes_no_duration() {
    let bench = Bench::new();
    let Some(library) = shim(&bench) else { return };
    let before = bench.measure("-b4K -r -L t.dat")["started_at_unix_s"].as_i64().unwrap();
    for args in [
        "-r -o4 -L --engine=uring -D100 --io-timeout=5",
        "-r -o1 -L --engine=sync -g200i --live",
        "-r -L --engine=aio -i4 -j10",
        "-r --stop-ios=1000 -c8M made.dat",
    ] {
        let target = if args.contains("made.dat") { "" } else { "t.dat" };
        let all = format!("-W1 -d1 -C0 -b4K -Rjson {args} {target}");
        let output = bench.command(&all).env("LD_PRELOAD", &library).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{args}: {told}");
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        let span = &result["time_spans"][0];
        assert_eq!(span["outcome"], "complete", "{args}");
        let measured = span["measured_ns"].as_u64().unwrap();
        let is_whole = measured == 1_000_000_000;
        assert!(is_whole || args.contains("--stop") && measured < 1_000_000_000, "{measured}");
        assert!(sum(&result, "read", "ios") > 0, "{args}");
        for thread in span["threads"].as_array().unwrap() {
            let latency = &thread["targets"][0]["read"]["latency"];
            if let Some(longest) = latency["max_ns"].as_u64() {
                assert!(longest < 2_000_000_000, "{args}: {longest}");
            }
        }
        // The clock did jump: the run believes that it began more than a year ago.
        let started = result["started_at_unix_s"].as_i64().unwrap();
        assert!(started < before - 300 * 86_400, "{args}: {started} {before}");
    }
}

//! System information, and the head of a time span.

use std::collections::BTreeSet;

use crate::result::{Cpu, Host, TimeSpanResult};

/// The block `System information:`.
pub fn write_system(text: &mut String, host: &Host, started_at_unix_s: i64) {
    let started = start_time(started_at_unix_s);
    let distinct = |key: fn(&Cpu) -> u32| host.cpus.iter().map(key).collect::<BTreeSet<_>>().len();
    let mixed = if distinct(|cpu| u32::from(cpu.efficiency_class)) > 1 { 'y' } else { 'n' };
    let scheme = if host.power_scheme.is_empty() { "<unknown>" } else { &host.power_scheme };
    text.push_str("\nSystem information:\n\n");
    text.push_str(&format!("\tcomputer name: {}\n\tstart time: {started}\n\n", host.name));
    for (name, count) in [
        ("cpu count", host.cpus.len()),
        ("core count", distinct(|cpu| cpu.core)),
        ("group count", distinct(|cpu| u32::from(cpu.group))),
        ("node count", distinct(|cpu| cpu.node)),
        ("socket count", distinct(|cpu| cpu.socket)),
    ] {
        text.push_str(&format!("\t{name}:\t\t{count}\n"));
    }
    text.push_str(&format!("\theterogeneous cores:\t{mixed}\n\n"));
    text.push_str(&format!("\tactive power scheme:\t{scheme}\n"));
}

/// A start time in the form `2026/11/21 03:29:02 UTC`.
pub fn start_time(unix_s: i64) -> String {
    let time = jiff::Timestamp::from_second(unix_s).unwrap_or_default();
    time.strftime("%Y/%m/%d %H:%M:%S UTC").to_string()
}

/// Measured time, threads and requests of a time span.
pub fn write_run(text: &mut String, span: &TimeSpanResult) {
    let seconds = span.measured_ns as f64 / 1e9;
    text.push_str(&format!("\nactual test time:\t{seconds:.2}s\n"));
    text.push_str(&format!("thread count:\t\t{}\n", span.thread_count));
    if span.request_count > 0 {
        text.push_str(&format!("request count:\t\t{}\n", span.request_count));
    }
    text.push('\n');
}

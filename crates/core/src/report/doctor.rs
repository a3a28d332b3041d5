//! A diagnosis as text: the tool's own cost, then what to mend, then what is well.

use crate::doctor::{Diagnosis, Finding, MeasuredCost, Verdict};
use crate::shown;

/// The diagnosis, for people.
#[must_use]
pub fn write(diagnosis: &Diagnosis) -> String {
    let plain = shown::of(diagnosis);
    let diagnosis = plain.as_ref().unwrap_or(diagnosis);
    let host = &diagnosis.host;
    let mut text =
        format!("{}: {}, {}, {} CPUs\n\n", host.name, host.kernel, host.cpu_model, host.cpus.len());
    write_cost(&mut text, &diagnosis.cost);
    for (verdict, title) in [
        (Verdict::Slow, "Takes speed or adds latency"),
        (Verdict::Unsteady, "Makes figures vary"),
        (Verdict::Unknown, "Cannot be told"),
        (Verdict::Good, "Nothing to mend"),
    ] {
        let of_kind = diagnosis.findings.iter().filter(|finding| finding.verdict == verdict);
        let lines: Vec<String> = of_kind.map(line).collect();
        if !lines.is_empty() {
            text.push_str(&format!("\n{title}:\n{}", lines.concat()));
        }
    }
    text
}

fn write_cost(text: &mut String, cost: &MeasuredCost) {
    text.push_str("The tool itself, on an engine that does nothing, with latency, on one core:\n");
    for (depth, ns) in [(128, cost.batched_ns_per_io), (1, cost.single_ns_per_io)] {
        let cost =
            ns.map_or_else(|| "not measured: other processes left it no CPU".into(), of_an_io);
        text.push_str(&format!("  queue depth {depth:<5} {cost}\n"));
    }
    text.push_str(&format!("  a look at the clock {:6.1} ns\n", cost.clock_read_ns));
    text.push_str(&format!("  a system call       {:6.1} ns\n", cost.system_call_ns));
    let late_us = cost.timer_late_ns as f64 / 1e3;
    text.push_str(&format!("  a sleep ends        {late_us:6.1} µs late\n"));
}

fn of_an_io(ns: f64) -> String {
    format!("{ns:8.1} ns of CPU time per I/O (at most {:.1} million IOPS)", 1e3 / ns)
}

fn line(finding: &Finding) -> String {
    let target = finding.target.as_ref().map(|target| format!("{target}: ")).unwrap_or_default();
    let remedy = match finding.remedy.as_str() {
        "" => String::new(),
        remedy => format!("\n    -> {remedy}"),
    };
    format!("- {target}{}: {}{remedy}\n", finding.subject, finding.evidence)
}

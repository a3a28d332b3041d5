//! What else the machine does: busy CPUs, time taken by the hypervisor, pressure, swap, writeback.

use super::Finding;
use super::tree::{Tree, field};
use crate::units::percent;

/// How long the machine is watched.
pub const SAMPLE_NS: u64 = 200_000_000;
/// More than this share of the CPUs' time shows in the figures of a measurement.
const BUSY_PERCENT: f64 = 5.0;
const STEAL_PERCENT: f64 = 0.5;
const PRESSURE_PERCENT: f64 = 5.0;
const DIRTY_KIB: u64 = 64 << 10;

/// Counters at one instant, over all CPUs, in clock ticks and pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sample {
    busy: u64,
    steal: u64,
    total: u64,
    swapped: u64,
}

impl Sample {
    /// Reads them.
    pub fn take(tree: &Tree) -> Self {
        let stat = tree.text("proc/stat").unwrap_or_default();
        let all = stat.lines().next().unwrap_or_default();
        let ticks: Vec<u64> =
            all.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
        let at = |index: usize| ticks.get(index).copied().unwrap_or(0);
        // user nice system idle iowait irq softirq steal (proc_stat(5)); guest time is in user.
        let busy = at(0) + at(1) + at(2) + at(5) + at(6);
        let vmstat = tree.text("proc/vmstat").unwrap_or_default();
        let count = |name: &str| {
            let line = vmstat.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|number| number.trim().parse::<u64>().ok()).unwrap_or(0)
        };
        let swapped = count("pswpin ") + count("pswpout ");
        Self { busy, steal: at(7), total: busy + at(3) + at(4) + at(7), swapped }
    }

    fn since(self, before: Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(before.busy),
            steal: self.steal.saturating_sub(before.steal),
            total: self.total.saturating_sub(before.total),
            swapped: self.swapped.saturating_sub(before.swapped),
        }
    }
}

pub fn examine(tree: &Tree, before: &Sample, after: &Sample) -> Vec<Finding> {
    let now = after.since(*before);
    let mut findings = vec![other_load(now), steal(now, *after)];
    findings.extend(["cpu", "io", "memory"].iter().filter_map(|kind| pressure(tree, kind)));
    findings.extend(swap(tree, now));
    findings.extend(writeback(tree));
    findings
}

fn other_load(now: Sample) -> Finding {
    let (subject, busy) = ("other load", percent(now.busy, now.total));
    if busy <= BUSY_PERCENT {
        return Finding::good(subject, format!("The CPUs are {busy:.1} % busy without this tool."));
    }
    Finding::unsteady(
        subject,
        format!("The CPUs are {busy:.1} % busy without this tool."),
        "Stop what else runs (top shows it), or pin the threads to CPUs that are free (-a).",
    )
}

fn steal(now: Sample, since_boot: Sample) -> Finding {
    let (recent, ever) =
        (percent(now.steal, now.total), percent(since_boot.steal, since_boot.total));
    let subject = "time taken by the hypervisor";
    let evidence = format!(
        "The hypervisor takes {recent:.1} % of the CPUs' time, {ever:.2} % since the start."
    );
    if recent.max(ever) <= STEAL_PERCENT {
        return Finding::good(subject, evidence);
    }
    Finding::unsteady(
        subject,
        evidence,
        "Use an instance with CPUs of its own, and interleave repeated runs (A B A B).",
    )
}

/// Share of the last ten seconds in which something waited for a resource (PSI).
fn pressure(tree: &Tree, kind: &str) -> Option<Finding> {
    let text = tree.text(&format!("proc/pressure/{kind}"))?;
    let average = text.split_whitespace().find_map(|word| word.strip_prefix("avg10="))?;
    let percent: f64 = average.parse().ok()?;
    let subject = format!("pressure on {kind}");
    let evidence = format!("Something waited for {kind} in {percent:.1} % of the last 10 s.");
    if percent <= PRESSURE_PERCENT {
        return Some(Finding::good(&subject, evidence));
    }
    Some(Finding::unsteady(&subject, evidence, "Let it end, or stop it, before measuring."))
}

fn swap(tree: &Tree, now: Sample) -> Option<Finding> {
    let memory = tree.text("proc/meminfo")?;
    let kib = |name: &str| -> Option<u64> {
        field(&memory, name)?.split_whitespace().next()?.parse().ok()
    };
    let used_kib = kib("SwapTotal")?.saturating_sub(kib("SwapFree")?);
    let subject = "swap";
    if now.swapped > 0 {
        return Some(Finding::unsteady(
            subject,
            format!("{} pages were swapped while the machine was watched.", now.swapped),
            "Free memory first: buffers and the page cache compete for it.",
        ));
    }
    Some(Finding::good(
        subject,
        format!("Nothing is being swapped; {} MiB are swapped out.", used_kib >> 10),
    ))
}

fn writeback(tree: &Tree) -> Option<Finding> {
    let memory = tree.text("proc/meminfo")?;
    let kib = |name: &str| -> Option<u64> {
        field(&memory, name)?.split_whitespace().next()?.parse().ok()
    };
    let waiting_kib = kib("Dirty")? + kib("Writeback")?;
    let subject = "writeback";
    let evidence = format!("{} MiB wait to be written back to disks.", waiting_kib >> 10);
    if waiting_kib <= DIRTY_KIB {
        return Some(Finding::good(subject, evidence));
    }
    Some(Finding::unsteady(subject, evidence, "Run sync before measuring."))
}

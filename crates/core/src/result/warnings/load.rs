//! Whether the load was what was requested, and whether the host or the device was its limit.

use std::collections::BTreeSet;

use super::super::{CpuUse, ThreadResult, Warning, WarningKind};
use super::caching::lies_in_page_cache;
use super::causes::{OTHERS_PERCENT, others_percent, outside};
use super::words::{count, either, list, rate};
use super::{Seen, at_end, number};
use crate::measure::InFlight;
use crate::plan::{TargetPlan, ThreadPlan};
use crate::units::{MIB, NANOS_PER_SEC};

/// A rate that is this close to the one requested, as a share, counts as reached.
const RATE_TOLERANCE: f64 = 0.01;
/// From this use on, in percent, a CPU or a thread is at its limit.
const SATURATED_PERCENT: f64 = 95.0;
/// More stolen time than this, in percent, shows in the results.
const STOLEN_PERCENT_MAX: f64 = 5.0;
/// Items that are named in a sentence before the rest is counted.
const NAMED: usize = 4;

/// Doubts about the load of one time span.
pub(super) fn warnings(seen: &Seen) -> Vec<Warning> {
    if seen.measured.measured_ns == 0 {
        return Vec::new();
    }
    let found =
        [rate_not_reached(seen), core_saturated(seen), cpu_stolen(seen), one_at_a_time(seen)];
    found.into_iter().flatten().collect()
}

/// Where the fastest way of those that were tried is one plain call at a time, no more is in flight. That is
/// so of the targets of those threads, and others may be answered otherwise.
fn one_at_a_time(seen: &Seen) -> Option<Warning> {
    let is_single =
        |one: &&ThreadResult| one.backend.name == "sync" && !one.backend.tried.is_empty();
    let singles: Vec<&ThreadPlan> = seen
        .measured
        .threads
        .iter()
        .filter(is_single)
        .flat_map(|single| seen.span.threads.iter().filter(|one| number(one.index) == single.index))
        .collect();
    let asked = |thread: &&ThreadPlan| -> u64 {
        thread.assignments.iter().map(|one| u64::from(one.outstanding)).sum()
    };
    let most = singles.iter().map(asked).max().filter(|&most| most > 1)?;
    let used = singles.iter().flat_map(|thread| &thread.assignments).map(|one| one.target);
    let used: BTreeSet<usize> = used.collect();
    let targets: Vec<&TargetPlan> =
        used.into_iter().filter_map(|target| seen.span.targets.get(target)).collect();
    let (whose, answers) = match targets.as_slice() {
        [_] => (String::new(), "the target answers"),
        all => {
            let names: Vec<String> = all.iter().map(|one| format!("'{}'", one.name)).collect();
            (format!(" of {}", list(&names, NAMED)), "these targets answer")
        }
    };
    let evidence = format!(
        "{most} I/Os per thread{whose} are to be outstanding, and one was: {answers} within the call, and \
         of the ways that were tried one plain call at a time was the fastest"
    );
    let remedy = "read the latencies as those of one outstanding I/O, or choose another way \
                  (--engine=uring), which was slower in that trial";
    let warning = seen.warning(WarningKind::NoEffect, evidence, remedy.to_owned());
    Some(match targets.as_slice() {
        [target] => seen.about(target, warning),
        _ => warning,
    })
}

/// What was asked of all paced threads together, what they delivered, and what failed, each of which took its
/// place in the schedule.
#[derive(Default)]
struct Rates {
    asked_ios: f64,
    delivered_ios: u64,
    failed_ios: u64,
    paced_uses: u32,
    in_flight: InFlight,
    /// Due at the end and not issued.
    not_issued: InFlight,
}

fn rates(seen: &Seen) -> Rates {
    let mut sum = Rates::default();
    for thread in &seen.span.threads {
        let measured =
            seen.measured.threads.iter().find(|found| found.index == number(thread.index));
        for assignment in &thread.assignments {
            let Some(pace) = assignment.pace.filter(|pace| pace.per_ns > 0) else { continue };
            let used = measured.and_then(|found| {
                found.targets.iter().find(|used| used.target == number(assignment.target))
            });
            let measured_ns = seen.measured.measured_ns as f64;
            sum.asked_ios += measured_ns * pace.ios as f64 / pace.per_ns as f64;
            // Syncs have no place in the schedule; trims have.
            let parts = used.into_iter().flat_map(|used| {
                [Some(&used.read), Some(&used.write), used.trim.as_deref()].into_iter().flatten()
            });
            for part in parts {
                sum.delivered_ios += part.ios;
                sum.failed_ios += part.errors + part.short_ios;
                sum.in_flight.merge(&part.edges.at_end);
                sum.not_issued.merge(&part.edges.not_issued);
            }
            sum.paced_uses += 1;
        }
    }
    sum
}

/// Whether a rate was requested and not delivered.
pub(super) fn is_rate_missed(seen: &Seen) -> bool {
    rates(seen).is_missed()
}

/// Whether a rate was asked of all threads and delivered: then nothing has to be explained.
pub(super) fn is_rate_met(seen: &Seen) -> bool {
    let threads = &seen.span.threads;
    let all_paced = threads
        .iter()
        .all(|one| one.assignments.iter().all(|assignment| assignment.pace.is_some()));
    all_paced && !threads.is_empty() && !is_rate_missed(seen)
}

impl Rates {
    fn is_missed(&self) -> bool {
        // The I/O under way when the measured time ends is due in it but completes after it.
        let issued = (self.delivered_ios + self.failed_ios) as f64 + f64::from(self.paced_uses);
        issued < self.asked_ios * (1.0 - RATE_TOLERANCE)
    }

    /// Whether all was issued when it was due until I/Os stalled that are still in flight at the end: no
    /// lower rate would have been reached.
    fn is_met_before_the_end(&self) -> bool {
        let waiting = self.in_flight.ios + self.not_issued.ios;
        let all = Self { delivered_ios: self.delivered_ios + waiting, ..*self };
        !all.is_missed() && self.not_issued.age_ns_max <= self.in_flight.age_ns_max
    }
}

fn rate_not_reached(seen: &Seen) -> Option<Warning> {
    let rates = rates(seen);
    if !rates.is_missed() {
        return None;
    }
    let delivered = rates.delivered_ios as f64;
    let seconds = seen.measured.measured_ns as f64 / NANOS_PER_SEC as f64;
    let mut evidence = format!(
        "{} I/Os per second were requested and {} delivered, which is {:.1} %",
        rate(rates.asked_ios / seconds),
        rate(delivered / seconds),
        delivered * 100.0 / rates.asked_ios,
    );
    if rates.failed_ios > 0 {
        evidence.push_str(&format!(", and {} failed", rate(rates.failed_ios as f64 / seconds)));
    }
    if let Some(cause) = outside(seen) {
        let evidence = format!("{evidence}: {}", cause.words);
        return Some(seen.warning(WarningKind::RateNotReached, evidence, cause.remedy));
    }
    if at_end::is_told(seen) && rates.is_met_before_the_end() {
        let evidence =
            format!("{evidence}; the others were in flight or due when the measured time ended");
        let remedy = "find what stalled the target, and measure for longer (-d), so that the stall ends \
                      within the measured time";
        return Some(seen.warning(WarningKind::RateNotReached, evidence, remedy.to_owned()));
    }
    let remedies =
        ["ask for a lower rate (-g)".to_owned(), "allow more outstanding I/O (-o)".to_owned()];
    Some(seen.warning(WarningKind::RateNotReached, evidence, either(&remedies)))
}

fn busy_percent(cpu: &CpuUse) -> f64 {
    100.0 - cpu.idle_percent - cpu.steal_percent
}

fn core_saturated(seen: &Seen) -> Option<Warning> {
    let measured_ns = seen.measured.measured_ns as f64;
    let real = |thread: &&ThreadResult| thread.backend.name != "null";
    let threads: Vec<&ThreadResult> = seen.measured.threads.iter().filter(real).collect();
    let runs_load = |cpu: &&CpuUse| threads.iter().any(|one| one.pinned_os_cpu == Some(cpu.os_id));
    let full = |cpu: &&CpuUse| busy_percent(cpu) >= SATURATED_PERCENT;
    let is_ours =
        |cpu: &&CpuUse| others_percent(seen, cpu.os_id, busy_percent(cpu)) < OTHERS_PERCENT;
    let cpus = seen.measured.cpu.iter().filter(full).filter(runs_load).filter(is_ours);
    let mut items: Vec<String> =
        cpus.map(|cpu| format!("CPU {} was {:.1} % busy", cpu.os_id, busy_percent(cpu))).collect();
    for thread in &threads {
        // A thread that hands over many I/Os at once notices the end of the time late.
        let percent = (thread.cpu_ns as f64 * 100.0 / measured_ns).min(100.0);
        if percent >= SATURATED_PERCENT {
            items.push(format!("thread {} used {percent:.1} % of one CPU", thread.index));
        }
    }
    if items.is_empty() || is_rate_met(seen) {
        return None;
    }
    let evidence =
        format!("{}, so the host and not the device may be the limit", list(&items, NAMED));
    Some(seen.warning(WarningKind::CoreSaturated, evidence, relief(seen, &threads)))
}

/// What takes work off a core, as far as it is not done already.
fn relief(seen: &Seen, threads: &[&ThreadResult]) -> String {
    let mut remedies = Vec::new();
    let mut tell = |applies: bool, remedy: &str| {
        if applies {
            remedies.push(remedy.to_owned());
        }
    };
    // Where ways were tried, the fastest is in use.
    let is_slower = |one: &&ThreadResult| {
        !matches!(one.backend.name.as_str(), "io_uring" | "net")
            && one.backend.fallback.is_none()
            && one.backend.tried.is_empty()
    };
    let slower = threads.iter().any(is_slower);
    let targets = &seen.span.targets;
    tell(threads.len() < seen.cpu_count, "use more threads (-t)");
    let has_room = threads.len() <= seen.cpu_count;
    tell(has_room && share_a_cpu(threads), "give each thread a CPU of its own (-a)");
    tell(slower && !targets.iter().any(|one| one.open.mapped), "use --engine=uring");
    tell(targets.iter().any(|one| u64::from(one.block_bytes) < MIB), "use larger blocks (-b)");
    // Of a file in memory the page cache is all there is.
    let is_cached = |(index, target): (usize, &TargetPlan)| {
        !target.open.direct && !lies_in_page_cache(seen, index) && !seen.refuses_direct(index)
    };
    tell(targets.iter().enumerate().any(is_cached), "bypass the page cache (-Su)");
    if remedies.is_empty() {
        return "read the result as a lower bound of what the device can do".to_owned();
    }
    either(&remedies)
}

fn share_a_cpu(threads: &[&ThreadResult]) -> bool {
    let mut cpus: Vec<u32> = threads.iter().filter_map(|thread| thread.pinned_os_cpu).collect();
    cpus.sort_unstable();
    cpus.windows(2).any(|two| two[0] == two[1])
}

fn cpu_stolen(seen: &Seen) -> Option<Warning> {
    let stolen = seen.measured.cpu.iter().filter(|cpu| cpu.steal_percent > STOLEN_PERCENT_MAX);
    let items: Vec<String> =
        stolen.map(|cpu| format!("{:.1} % of CPU {}", cpu.steal_percent, cpu.os_id)).collect();
    if items.is_empty() {
        return None;
    }
    let evidence = format!(
        "the hypervisor took {} ({} in all), which adds to latency and takes from rates",
        list(&items, NAMED),
        count(items.len() as u64, "CPU"),
    );
    let remedy = "repeat the run when the host of this virtual machine is quiet, or give the \
                  machine dedicated CPUs";
    Some(seen.warning(WarningKind::CpuStolen, evidence, remedy.to_owned()))
}

//! Who took what the load needed: a quota, a limit, other processes, or a target that stood still. A warning
//! names the one that explains a figure, with its share, and others keep silent about theirs.

use std::collections::BTreeMap;

use super::super::beneath::loaded_ns;
use super::super::{CpuShares, GroupUse, IoLimitUse, LayerUse, OtherProcess, Warning, WarningKind};
use super::load::is_rate_met;
use super::words::{count, grouped, quoted, rate};
use super::{Seen, stalls};
use crate::beneath::LimitKind;

/// From this share of their time on, threads that wait for a CPU are reported.
const WAITED: f64 = 0.1;
/// Others that used less of a CPU than this do not explain anything.
const OTHERS: f64 = 0.2;
/// From this share of the periods on, a quota shows in the results.
const THROTTLED: f64 = 0.05;
/// From this share of a limit on, the limit may have been measured.
const NEAR_LIMIT: f64 = 0.9;
/// From this share on, it was: a device that completes as many by itself is no likely chance.
const AT_LIMIT: f64 = 0.97;
/// No limit lets more of its rate through than this, but for a short burst.
const OVER_LIMIT: f64 = 1.1;
/// Where slots had nothing in flight for more of their time than this, the load itself set the rate. A limit
/// holds back what is in flight.
const PAUSED: f64 = 0.1;

/// What a process calls itself that measures for a fleet (`fathom/fleet/measuring.py`).
const HOST_OF_FLEET: &str = "fathom-host";

/// What explains that threads did not get on, in words, with its share of the time.
pub(super) struct Cause {
    share: f64,
    /// No thread was kept from running for longer than this; nothing of a limit, which keeps I/Os.
    most_ns: Option<u64>,
    /// A clause with numbers.
    pub(super) words: String,
    pub(super) remedy: String,
}

/// Doubts about one time span.
pub(super) fn warnings(seen: &Seen) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let groups = seen.measured.beneath.iter().flat_map(|beneath| &beneath.groups);
    for group in groups {
        if let Some(cause) = throttled(group) {
            warnings.push(seen.warning(WarningKind::CpuThrottled, cause.words, cause.remedy));
        }
        let limits = group.io.iter().filter_map(|limit| limited(seen, group, limit));
        warnings.extend(
            limits.map(|cause| seen.warning(WarningKind::IoLimited, cause.words, cause.remedy)),
        );
    }
    if let Some(cause) = contended(seen).filter(|_| !is_rate_met(seen)) {
        warnings.push(seen.warning(WarningKind::CpuContended, cause.words, cause.remedy));
    }
    warnings.extend(stalls::warning(seen));
    warnings
}

/// What outside of this run kept its threads or their I/Os from getting on, if anything did: the greatest of
/// all.
pub(super) fn outside(seen: &Seen) -> Option<Cause> {
    outside_for(seen, 0)
}

/// The same of a time so long in which nothing came back.
fn outside_for(seen: &Seen, length_ns: u64) -> Option<Cause> {
    let groups = || seen.measured.beneath.iter().flat_map(|beneath| &beneath.groups);
    let limits =
        groups().flat_map(|group| group.io.iter().filter_map(|limit| limited(seen, group, limit)));
    let all = groups().filter_map(throttled).chain(limits).chain(contended(seen));
    // A thread that waited for a CPU waited for its I/O, too.
    let is_long = |cause: &Cause| cause.most_ns.is_none_or(|most_ns| most_ns >= length_ns / 4 * 3);
    all.filter(is_long).max_by(|one, other| one.share.total_cmp(&other.share))
}

/// A quota that stopped this process.
fn throttled(group: &GroupUse) -> Option<Cause> {
    let cpus = group.cpu_limit?;
    let share = group.throttled_periods as f64 / group.periods.max(1) as f64;
    if share < THROTTLED || group.throttled_ns == 0 {
        return None;
    }
    let words = format!(
        "the control group {} allows {cpus:.2} CPUs, and stopped what ran in it in {} of {} periods \
         ({:.1} %), for {:.1} ms over all CPUs",
        group.folder,
        group.throttled_periods,
        group.periods,
        share * 100.0,
        group.throttled_ns as f64 / 1e6,
    );
    let remedy =
        "raise or remove the quota (cpu.max, cpu.cfs_quota_us) for the measurement".to_owned();
    Some(Cause { share, most_ns: Some(group.throttled_ns), words, remedy })
}

/// Other processes that used CPUs while threads of load waited for one.
fn contended(seen: &Seen) -> Option<Cause> {
    let cpu = seen.measured.beneath.as_ref()?.cpu.as_ref()?;
    let cpus = |nanos: u64| nanos as f64 / cpu.counted_ns.max(1) as f64;
    let threads = seen.measured.threads.len().max(1) as f64;
    let shared = Shared::of(seen);
    let stopped = Stopped::of(seen, cpu.counted_ns);
    // Threads begin to wait before the measured time, and may still do so behind it.
    let share = (cpus(cpu.waited_ns?) / threads).min(1.0);
    let else_ns = shared.waited_ns.saturating_add(stopped.waited_ns);
    let for_others = cpus(cpu.waited_ns?.saturating_sub(else_ns)) / threads;
    if cpus(cpu.others_ns) < OTHERS || for_others < WAITED {
        return None;
    }
    let words = format!(
        "other processes used {:.2} of {} CPUs{}, and the threads of load waited {:.1} % of their time \
         for a CPU{}{}",
        used_by_others(cpu),
        cpu.cpu_count,
        named(seen, cpu),
        share * 100.0,
        shared.words,
        stopped.words,
    );
    let mut remedy = relief(seen, cpu);
    if !shared.words.is_empty() {
        remedy.push_str(", or use no more threads than CPUs (-t)");
    }
    Some(Cause { share, most_ns: cpu.waited_ns, words, remedy })
}

/// How far threads of load wait for each other, as there are more of them than CPUs that they may use.
#[derive(Default)]
struct Shared {
    /// They cannot have waited longer for each other, over all threads.
    waited_ns: u64,
    /// What is to be said of it; empty if each has a CPU of its own.
    words: String,
}

impl Shared {
    fn of(seen: &Seen) -> Self {
        let threads = &seen.measured.threads;
        let pinned: Option<Vec<_>> =
            threads.iter().map(|one| Some((one.pinned_os_cpu?, one.cpu_ns))).collect();
        let (cpu_count, waited_ns) = match pinned {
            Some(pinned) => on_their_own(&pinned),
            None => {
                on_any(threads.iter().map(|one| one.cpu_ns).sum(), threads.len(), seen.cpu_count)
            }
        };
        if cpu_count >= threads.len() {
            return Self::default();
        }
        let words = format!(
            "; {} of them share {}, and wait for each other, too",
            threads.len(),
            count(cpu_count as u64, "CPU"),
        );
        Self { waited_ns, words }
    }
}

/// Of threads that are kept to a CPU each: how many CPUs these are, and how long they wait for each other at
/// the most. While one of them runs, all others of its CPU wait.
fn on_their_own(pinned: &[(u32, u64)]) -> (usize, u64) {
    let mut on: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for &(os_id, cpu_ns) in pinned {
        let (count, ran_ns) = on.entry(os_id).or_default();
        (*count, *ran_ns) = (*count + 1, *ran_ns + cpu_ns);
    }
    (on.len(), on.values().map(|&(count, ran_ns)| (count - 1) * ran_ns).sum())
}

/// The same of threads that run wherever the process may. While they have all of these CPUs, those that are
/// more than that wait; while others have some, they share what is left.
fn on_any(ran_ns: u64, threads: usize, cpu_count: usize) -> (usize, u64) {
    let (more, cpus) = (threads.saturating_sub(cpu_count), cpu_count.max(1));
    let waited_ns = u128::from(ran_ns) * more as u128 / cpus as u128;
    (cpus, u64::try_from(waited_ns).unwrap_or(u64::MAX))
}

/// How far a quota kept threads of load from running: the kernel counts that as a wait for a CPU, too.
#[derive(Default)]
struct Stopped {
    /// They cannot have waited longer for it, over all threads.
    waited_ns: u64,
    /// What is to be said of it; empty if no quota shows in the results.
    words: String,
}

impl Stopped {
    fn of(seen: &Seen, counted_ns: u64) -> Self {
        let groups = seen.measured.beneath.iter().flat_map(|beneath| &beneath.groups);
        let stopped: Vec<&GroupUse> = groups.filter(|group| throttled(group).is_some()).collect();
        if stopped.is_empty() {
            return Self::default();
        }
        // A group is stopped on each CPU by itself, with all of its threads that are there.
        let threads = seen.measured.threads.len() as u64;
        let on_a_cpu = threads.div_ceil(seen.cpu_count.max(1) as u64);
        let all_ns = stopped.iter().map(|group| group.throttled_ns).sum::<u64>();
        let waited_ns = all_ns.saturating_mul(on_a_cpu).min(counted_ns.saturating_mul(threads));
        Self { waited_ns, words: "; a quota stopped them, too".to_owned() }
    }
}

fn named(seen: &Seen, cpu: &CpuShares) -> String {
    let one = |other: &OtherProcess| {
        format!("{}{} {:.2}", in_words(other), serves(seen, other), used(other))
    };
    let named: Vec<String> = cpu.most.iter().map(one).collect();
    if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) }
}

fn in_words(other: &OtherProcess) -> String {
    format!("process {} ({})", other.pid, other.name)
}

/// What a process has to do with the targets.
fn serves(seen: &Seen, other: &OtherProcess) -> String {
    let (verb, targets) = match other.serves.as_slice() {
        [] => ("may serve", &other.may_serve),
        _ => ("serves", &other.serves),
    };
    let target = |&target: &u32| seen.span.targets.get(usize::try_from(target).ok()?);
    let names = quoted(targets.iter().filter_map(target).map(|one| one.name.as_str()));
    if !names.is_empty() {
        return format!(", which {verb} {names},");
    }
    if other.name == HOST_OF_FLEET { ", a host of a fleet,".to_owned() } else { names }
}

/// What gives the threads CPUs. Who serves a target must go on: each I/O needs it.
fn relief(seen: &Seen, cpu: &CpuShares) -> String {
    let servers: Vec<&OtherProcess> = cpu.most.iter().filter(|one| one.is_server()).collect();
    if cpu.most.iter().any(|one| one.name == HOST_OF_FLEET) {
        // Those that are not named may be hosts, too; and each would pin its threads to the same CPUs.
        return "use fewer hosts on this machine, or fewer threads on each (-t), or stop what else runs and \
                is no host of the fleet and serves no target"
            .to_owned();
    }
    if servers.is_empty() {
        let layers = seen.measured.beneath.iter().flat_map(|beneath| &beneath.layers);
        let may_serve = layers.into_iter().any(LayerUse::may_be_served_here);
        let what = if may_serve { "what else runs and serves no target" } else { "what else runs" };
        return format!("stop {what}, or pin the threads to CPUs that are free (-a)");
    }
    let rest = used_by_others(cpu) - servers.iter().map(|one| used(one)).sum::<f64>();
    let names: Vec<String> = servers.iter().map(|one| in_words(one)).collect();
    let stop = if rest >= OTHERS { "stop what else runs, " } else { "" };
    format!(
        "leave {} running, as I/Os of the targets need it; {stop}pin the threads to CPUs that it leaves \
         free (-a), or use fewer of them (-t)",
        names.join(" and ")
    )
}

/// How many CPUs a process used.
fn used(other: &OtherProcess) -> f64 {
    other.cpu_ns as f64 / other.watched_ns.max(1) as f64
}

/// How many CPUs others used: as the CPUs count it in ticks, and no less than the processes that are named,
/// which are watched for another time. In a short measured time a tick may be longer than all of it: they
/// cannot have used more CPUs than there are.
fn used_by_others(cpu: &CpuShares) -> f64 {
    let in_hundredths = |one: &OtherProcess| (used(one) * 100.0).round();
    let named = cpu.most.iter().map(in_hundredths).sum::<f64>() / 100.0;
    let counted = named.max(cpu.others_ns as f64 / cpu.counted_ns.max(1) as f64);
    counted.min(f64::from(cpu.cpu_count))
}

/// How much of a CPU others used, on a CPU that was busy for so many percent.
pub(super) fn others_percent(seen: &Seen, os_id: u32, busy_percent: f64) -> f64 {
    let cpu = seen.measured.beneath.as_ref().and_then(|beneath| beneath.cpu.as_ref());
    let Some(cpu) = cpu else { return 0.0 };
    let here = seen.measured.threads.iter().filter(|one| one.pinned_os_cpu == Some(os_id));
    let own_ns: u64 = here.map(|one| one.cpu_ns).sum();
    let own_percent = own_ns as f64 * 100.0 / seen.measured.measured_ns.max(1) as f64;
    let all_percent = cpu.others_ns as f64 * 100.0 / cpu.counted_ns.max(1) as f64;
    (busy_percent - own_percent).min(all_percent).max(0.0)
}

/// From how many percent of a CPU on others explain that it is busy.
pub(super) const OTHERS_PERCENT: f64 = OTHERS * 100.0;

/// A limit of I/O that was reached. Where a rate was requested and kept, it is that rate.
fn limited(seen: &Seen, group: &GroupUse, limit: &IoLimitUse) -> Option<Cause> {
    let layer = limit.layer?;
    let beneath = seen.measured.beneath.as_ref()?;
    let seen_there = beneath.layers.get(layer as usize)?.seen;
    let counted = seen_there.map(|counters| match limit.kind {
        LimitKind::ReadIops => counters.read_ios,
        LimitKind::WriteIops => counters.write_ios,
        LimitKind::ReadBytesPerS => counters.read_bytes,
        LimitKind::WriteBytesPerS => counters.write_bytes,
    });
    let loaded_ns = loaded_ns(seen.span, seen.measured, beneath.counted_ns);
    let of_layer = counted.map(|count| crate::units::per_second(count, loaded_ns));
    let done = limit.done_per_s.or(of_layer)?;
    let share = done / limit.limit_per_s.max(1) as f64;
    let is_own_pace = is_own_pace(seen);
    if share < NEAR_LIMIT || is_rate_met(seen) || (is_own_pace && share < AT_LIMIT) {
        return None;
    }
    let what = match limit.kind {
        LimitKind::ReadIops => "reads per second",
        LimitKind::WriteIops => "writes per second",
        LimitKind::ReadBytesPerS => "bytes read per second",
        LimitKind::WriteBytesPerS => "bytes written per second",
    };
    let measured = if share < AT_LIMIT || is_own_pace {
        "the limit may have been measured"
    } else {
        "the limit was measured"
    };
    // Some kernels count I/Os as they come to the limit, and some of them still wait then.
    let came = if share > OVER_LIMIT { "came to it" } else { "there were" };
    let words = format!(
        "the control group {} allows {} {what} of {}, and {} {came}: {measured}, and not the device",
        group.folder,
        grouped(limit.limit_per_s),
        limit.device,
        rate(done),
    );
    let remedy =
        "raise or remove the limit (io.max, blkio.throttle) for the measurement".to_owned();
    Some(Cause { share: share.min(1.0), most_ns: None, words, remedy })
}

/// Whether the load's own pauses (think time, bursts) set the rate.
fn is_own_pace(seen: &Seen) -> bool {
    seen.measured.idle_share().is_some_and(|share| share > PAUSED)
}

/// What is said of a stall of this length, with what kept the threads from running meanwhile, if anything
/// did: who does not run does not see what comes back. What kept all of them together for far less explains
/// none.
pub(super) fn with_outside(
    seen: &Seen,
    length_ns: u64,
    evidence: String,
    remedy: &str,
) -> (String, String) {
    let Some(cause) = outside_for(seen, length_ns) else { return (evidence, remedy.to_owned()) };
    let evidence = format!("{evidence}; in the measured time {}", cause.words);
    (evidence, format!("{}; if it is there again, {remedy}", cause.remedy))
}

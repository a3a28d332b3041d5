//! From what was read at the edges to what a result says.

use super::{
    Asked, Beneath, CpuShares, GroupUse, IoLimitUse, LayerUse, OtherProcess, TargetOrigin, origin,
};
use crate::beneath::{
    Counters, Edge, GroupReading, IoLimit, Layers, Observation, ProcessTime, Reading,
};
use crate::plan::SpanPlan;
use crate::result::{ThreadTargetResult, TimeSpanResult};
use crate::units::per_second;

/// Other processes that are named.
const NAMED: usize = 3;
/// A process that used less than this share of a CPU is not named.
const LEAST_SHARE: f64 = 0.02;

/// What the layers saw of a time span; nothing if its load was not watched from beginning to end.
pub(in crate::result) fn of_span(
    plan: &SpanPlan,
    span: &TimeSpanResult,
    observed: &Observation,
    waited_ns: Option<u64>,
) -> Option<Beneath> {
    let (from, to) = window(plan, observed)?;
    let layers = layer_uses(&observed.layers, from, to);
    let process = from.process.zip(to.process).map(|(then, now)| now.since(then));
    let counted_ns = to.at_ns.saturating_sub(from.at_ns);
    let mut beneath = Beneath {
        counted_ns,
        layers,
        targets: origins(&observed.layers, span),
        process,
        cpu: None,
        pressure: None,
        groups: Vec::new(),
        stalls: observed.stalls.clone(),
    };
    origin::judge(&mut beneath, plan, span, observed.has_swap);
    if let (Some(begin), Some(end)) = (observed.at(Edge::Begin), observed.at(Edge::End)) {
        beneath.cpu = cpu_shares([begin, end], observed, span, waited_ns);
        beneath.pressure = begin.pressure.zip(end.pressure).map(|(then, now)| now.since(then));
        let loaded_ns = loaded_ns(plan, span, end.at_ns.saturating_sub(begin.at_ns));
        beneath.groups = group_uses(begin, end, &observed.layers, loaded_ns);
    }
    Some(beneath)
}

/// Where all of the load is measured, what was read before and after it counts each of its I/Os.
fn window<'a>(plan: &SpanPlan, observed: &'a Observation) -> Option<(&'a Reading, &'a Reading)> {
    let from = if plan.warm_up_ns == 0 { Edge::BeforeLoad } else { Edge::Begin };
    let to = if plan.cool_down_ns == 0 { Edge::AfterLoad } else { Edge::End };
    observed.at(from).zip(observed.at(to))
}

/// How much of a counted time had load. Where all of the load is measured, a look that came late counts time
/// in which nothing was done any more.
pub(in crate::result) fn loaded_ns(plan: &SpanPlan, span: &TimeSpanResult, counted_ns: u64) -> u64 {
    if plan.cool_down_ns == 0 { counted_ns.min(span.measured_ns) } else { counted_ns }
}

fn layer_uses(layers: &Layers, from: &Reading, to: &Reading) -> Vec<LayerUse> {
    let seen = |index: usize| -> Option<Counters> {
        let at = |reading: &Reading| reading.layers.get(index).copied().flatten();
        Some(at(to)?.since(at(from)?))
    };
    let layer = |(index, layer): (usize, &crate::beneath::Layer)| LayerUse {
        name: layer.name.clone(),
        kind: layer.kind,
        about: layer.about.clone(),
        seen: seen(index),
        below: layer.below.iter().map(|&below| number(below)).collect(),
    };
    layers.all.iter().enumerate().map(layer).collect()
}

fn origins(layers: &Layers, span: &TimeSpanResult) -> Vec<TargetOrigin> {
    let origin = |target: usize| TargetOrigin {
        target: number(target),
        asked: asked(span, number(target)),
        layers: layers.beneath(target).into_iter().map(number).collect(),
        answered_by: super::AnsweredBy::NotCounted,
        sentence: String::new(),
    };
    (0..span.targets.len()).map(origin).collect()
}

fn asked(span: &TimeSpanResult, target: u32) -> Asked {
    let uses = span.threads.iter().flat_map(|thread| &thread.targets);
    uses.filter(|used| used.target == target).map(asked_in).sum()
}

fn asked_in(used: &ThreadTargetResult) -> Asked {
    let (trim_ios, trim_bytes) = used.trim.as_deref().map_or((0, 0), |one| (one.ios, one.bytes));
    Asked {
        read_ios: used.read.ios,
        read_bytes: used.read.bytes,
        write_ios: used.write.ios,
        write_bytes: used.write.bytes,
        trim_ios,
        trim_bytes,
    }
}

fn cpu_shares(
    [begin, end]: [&Reading; 2],
    observed: &Observation,
    span: &TimeSpanResult,
    waited_ns: Option<u64>,
) -> Option<CpuShares> {
    let used = end.cpu?.since(begin.cpu?);
    let counted_ns = end.at_ns.saturating_sub(begin.at_ns);
    let watched_ns = observed.processes_watched_ns.unwrap_or(counted_ns);
    let own_ns = used.own_user_ns + used.own_system_ns;
    let rest_ns = (used.user_ns + used.system_ns).saturating_sub(own_ns);
    let kernel = observed.processes.iter().filter(|one| one.is_kernel);
    let kernel_ns: u64 = kernel.map(|one| one.cpu_ns).sum();
    // Processes are watched for longer than the measured time.
    let share = u128::from(kernel_ns) * u128::from(counted_ns) / u128::from(watched_ns.max(1));
    let kernel_threads_ns = u64::try_from(share).unwrap_or(kernel_ns).min(kernel_ns).min(rest_ns);
    Some(CpuShares {
        cpu_count: u32::try_from(span.cpu.len()).unwrap_or(u32::MAX),
        counted_ns,
        own_user_ns: used.own_user_ns,
        own_system_ns: used.own_system_ns,
        interrupts_ns: used.interrupts_ns,
        kernel_threads_ns,
        others_ns: rest_ns - kernel_threads_ns,
        stolen_ns: used.stolen_ns,
        waited_ns,
        most: most(observed, watched_ns),
    })
}

fn most(observed: &Observation, watched_ns: u64) -> Vec<OtherProcess> {
    let is_much =
        |one: &&ProcessTime| !one.is_kernel && one.cpu_ns as f64 > LEAST_SHARE * watched_ns as f64;
    let named = observed.processes.iter().filter(is_much).take(NAMED);
    let served = |pid: u32, is_certain: bool| {
        let of_it = observed.serving.iter();
        of_it
            .filter(|one| one.pid == pid && one.is_certain == is_certain)
            .map(|one| number(one.target))
            .collect()
    };
    let told = named.map(|one| OtherProcess {
        pid: one.pid,
        name: one.name.clone(),
        cpu_ns: one.cpu_ns,
        watched_ns,
        serves: served(one.pid, true),
        may_serve: served(one.pid, false),
    });
    told.collect()
}

/// What the control groups allowed and did in the measured time.
pub fn group_uses(
    begin: &Reading,
    end: &Reading,
    layers: &Layers,
    loaded_ns: u64,
) -> Vec<GroupUse> {
    let earlier = |folder: &str| begin.groups.iter().find(|group| group.folder == folder);
    let group_use = |now: &GroupReading| {
        let then = earlier(&now.folder)?;
        Some(GroupUse {
            folder: now.folder.clone(),
            cpu_limit: now.cpus,
            periods: now.periods.saturating_sub(then.periods),
            throttled_periods: now.throttled_periods.saturating_sub(then.throttled_periods),
            throttled_ns: now.throttled_ns.saturating_sub(then.throttled_ns),
            io: now.io.iter().map(|limit| io_use(limit, then, layers, loaded_ns)).collect(),
        })
    };
    end.groups.iter().filter_map(group_use).collect()
}

fn io_use(now: &IoLimit, then: &GroupReading, layers: &Layers, loaded_ns: u64) -> IoLimitUse {
    let is_same = |one: &&IoLimit| one.number == now.number && one.kind == now.kind;
    let before = then.io.iter().find(is_same).and_then(|limit| limit.done);
    let done = now.done.zip(before).map(|(now, then)| now.saturating_sub(then));
    let layer = layers.all.iter().position(|layer| layer.number == Some(now.number));
    let by_number = || format!("{}:{}", now.number.0, now.number.1);
    IoLimitUse {
        device: layer.map_or_else(by_number, |index| layers.all[index].name.clone()),
        layer: layer.map(number),
        kind: now.kind,
        limit_per_s: now.per_s,
        done_per_s: done.map(|done| per_second(done, loaded_ns)),
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

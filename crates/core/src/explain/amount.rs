//! How much a run would write to a target, as far as its plan bounds it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::{Assignment, SpanPlan, TargetPlan};

/// How much would be written to a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WriteAmount {
    /// At most so many bytes, at the mean share of writes; absent if nothing but the device's speed bounds
    /// them.
    pub bytes_at_most: Option<u64>,
    /// What bounds them, in words.
    pub bound: String,
    /// The same in sizes of the device; absent if one of the two cannot be told.
    pub drive_writes_at_most: Option<f64>,
}

const NANOS: f64 = 1e9;
const GIB: f64 = (1_u64 << 30) as f64;

/// The longest time of a time span, in ns.
pub(super) fn longest_ns(span: &SpanPlan) -> u64 {
    span.warm_up_ns.saturating_add(span.measured_ns).saturating_add(span.cool_down_ns)
}

/// How much `span` would write to its target `index`, on a device of `device_bytes`.
pub(super) fn of(
    span: &SpanPlan,
    index: usize,
    is_written: bool,
    device_bytes: Option<u64>,
) -> WriteAmount {
    if !is_written {
        let bound = "it is only read".to_owned();
        return WriteAmount { bytes_at_most: Some(0), bound, drive_writes_at_most: Some(0.0) };
    }
    let target = &span.targets[index];
    let bounds = [by_rate(span, index), by_rule(span, target)];
    let least = bounds.into_iter().flatten().min_by_key(|(bytes, _)| *bytes);
    let device_bytes = device_bytes.filter(|bytes| *bytes > 0);
    match least {
        Some((bytes, bound)) => WriteAmount {
            bytes_at_most: Some(bytes),
            bound,
            drive_writes_at_most: device_bytes.map(|whole| bytes as f64 / whole as f64),
        },
        None => unbounded(span, device_bytes),
    }
}

fn unbounded(span: &SpanPlan, device_bytes: Option<u64>) -> WriteAmount {
    let seconds = longest_ns(span) as f64 / NANOS;
    let wear = device_bytes.map_or_else(String::new, |whole| {
        let writes = seconds * GIB / whole as f64;
        format!(", which are {writes:.3} drive writes")
    });
    WriteAmount {
        bytes_at_most: None,
        bound: format!(
            "not bounded: as fast as the device takes it for {seconds:.0} s; each GiB/s writes \
             {seconds:.0} GiB{wear}"
        ),
        drive_writes_at_most: None,
    }
}

/// The share of writes, as a fraction.
fn share(target: &TargetPlan) -> f64 {
    f64::from(target.write_percent.min(100)) / 100.0
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "beyond 2^64 is a bound too"
)]
fn rounded_up(bytes: f64) -> u64 {
    bytes.ceil() as u64
}

/// By the rates of all threads that use the target, if each has one.
fn by_rate(span: &SpanPlan, index: usize) -> Option<(u64, String)> {
    let target = &span.targets[index];
    let streams = span.threads.iter().flat_map(|thread| &thread.assignments);
    let streams: Vec<&Assignment> =
        streams.filter(|assignment| assignment.target == index).collect();
    let seconds = longest_ns(span) as f64 / NANOS;
    let rates: Option<Vec<f64>> =
        streams.iter().map(|assignment| ios_per_second(assignment)).collect();
    let rate: f64 = rates.filter(|rates| !rates.is_empty())?.iter().sum();
    // The first I/O of each thread is due at once.
    let ios = rate * seconds + streams.len() as f64;
    let bytes = rounded_up(ios * f64::from(target.block_bytes) * share(target));
    Some((bytes, format!("{rate:.0} I/Os a second for {seconds:.0} s")))
}

fn ios_per_second(assignment: &Assignment) -> Option<f64> {
    let pace = assignment.pace.map(|pace| pace.ios as f64 * NANOS / pace.per_ns as f64);
    let burst = assignment.burst.filter(|burst| burst.gap_ns > 0);
    let burst = burst.map(|burst| f64::from(burst.ios) * NANOS / burst.gap_ns as f64);
    [pace, burst].into_iter().flatten().min_by(f64::total_cmp)
}

/// By a rule that counts, if nothing is written before the measured time and after it.
fn by_rule(span: &SpanPlan, target: &TargetPlan) -> Option<(u64, String)> {
    if span.warm_up_ns > 0 || span.cool_down_ns > 0 {
        return None;
    }
    let block = u64::from(target.block_bytes);
    let range = target.offsets.end_bytes.saturating_sub(target.offsets.base_bytes);
    let rules = [
        span.stop.bytes.map(|bytes| (bytes, "the rule that counts bytes")),
        span.stop.ios.map(|ios| (ios.saturating_mul(block), "the rule that counts I/Os")),
        span.stop.pass.then_some((range, "one pass over the range")),
    ];
    let (bytes, bound) = rules.into_iter().flatten().min_by_key(|(bytes, _)| *bytes)?;
    Some((rounded_up(bytes as f64 * share(target)), bound.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::guard::fixture::{span, target, thread};
    use crate::plan::{EngineKind, Pace};

    fn written(percent: u32) -> SpanPlan {
        let mut span = span(vec![target(Path::new("x"), percent)]);
        span.measured_ns = 10_000_000_000;
        span.threads = vec![thread(0, EngineKind::Sync, 0), thread(1, EngineKind::Sync, 0)];
        span
    }

    #[test]
    fn a_rate_bounds_what_is_written_only_if_every_thread_has_one() {
        let mut span = written(50);
        span.threads[0].assignments[0].pace = Some(Pace::constant(100, 1_000_000_000));
        assert_eq!(of(&span, 0, true, Some(1 << 30)).bytes_at_most, None);
        span.threads[1].assignments[0].pace = Some(Pace::constant(300, 1_000_000_000));
        let amount = of(&span, 0, true, Some(4096 * 2001));
        // 400 I/Os a second for 10 s, and the first of each thread; half of them are writes.
        assert_eq!(amount.bytes_at_most, Some(4002 * 4096 / 2));
        assert_eq!(amount.drive_writes_at_most, Some(1.0));
        assert!(amount.bound.contains("400 I/Os a second for 10 s"), "{}", amount.bound);
    }

    #[test]
    fn a_rule_bounds_what_is_written_only_without_warm_up() {
        let mut span = written(100);
        span.stop.ios = Some(7);
        assert_eq!(of(&span, 0, true, None).bytes_at_most, Some(7 * 4096));
        span.warm_up_ns = 1;
        assert_eq!(of(&span, 0, true, None).bytes_at_most, None);
    }

    #[test]
    fn without_a_bound_the_speed_of_the_device_is_named() {
        let amount = of(&written(100), 0, true, Some(10 << 30));
        assert_eq!((amount.bytes_at_most, amount.drive_writes_at_most), (None, None));
        assert!(
            amount.bound.contains("writes 10 GiB, which are 1.000 drive writes"),
            "{}",
            amount.bound
        );
        assert_eq!(of(&written(0), 0, false, None).bytes_at_most, Some(0));
    }
}

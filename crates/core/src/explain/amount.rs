//! How much a run would write to a target, as far as its plan bounds it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::offsets;
use crate::plan::{Arrivals, Assignment, Order, SpanPlan};

/// How much would be written to a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WriteAmount {
    /// At most so many bytes, at the mean share of writes; absent if nothing but the device's speed bounds
    /// them. Random arrivals exceed it with a chance of about one in a million.
    pub bytes_at_most: Option<u64>,
    /// What bounds them, in words.
    pub bound: String,
    /// The same in sizes of the device; absent if one of the two cannot be told.
    pub drive_writes_at_most: Option<f64>,
}

const NANOS: f64 = 1e9;
/// So many standard deviations, each the root of their mean count, random arrivals hardly ever exceed their
/// mean.
const DEVIATIONS: f64 = 5.0;
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
    let bounds = [by_rate(span, index), by_rule(span, index)];
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

/// The share of writes to the target `index`, as a fraction.
fn share(span: &SpanPlan, index: usize) -> f64 {
    f64::from(span.targets[index].write_percent.min(100)) / 100.0
}

/// All uses of the target `index` by threads.
fn streams(span: &SpanPlan, index: usize) -> impl Iterator<Item = &Assignment> {
    let streams = span.threads.iter().flat_map(|thread| &thread.assignments);
    streams.filter(move |assignment| assignment.target == index)
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
    let seconds = longest_ns(span) as f64 / NANOS;
    let rates: Option<Vec<Rate>> = streams(span, index).map(rate_of).collect();
    let rates = rates.filter(|rates| !rates.is_empty())?;
    let rate: f64 = rates.iter().map(|rate| rate.per_second).sum();
    let at_once: f64 = rates.iter().map(|rate| f64::from(rate.at_once)).sum();
    let random = rates.iter().filter(|rate| rate.is_random);
    let random: f64 = random.map(|rate| rate.per_second * seconds).sum();
    let ios = rate * seconds + at_once + DEVIATIONS * random.sqrt();
    let bytes = rounded_up(ios * f64::from(span.targets[index].block_bytes) * share(span, index));
    let digits = if rate < 10.0 { 2 } else { 0 };
    Some((bytes, format!("{rate:.digits$} I/Os a second for {seconds:.0} s")))
}

/// The rate of one thread on a target.
struct Rate {
    per_second: f64,
    /// I/Os that are due when the load begins.
    at_once: u32,
    is_random: bool,
}

/// By its pace, which makes bursts meaningless, or by its bursts.
fn rate_of(assignment: &Assignment) -> Option<Rate> {
    if let Some(pace) = assignment.pace {
        let per_second = pace.ios as f64 * NANOS / pace.per_ns as f64;
        let is_random = pace.arrivals == Arrivals::Poisson;
        return Some(Rate { per_second, at_once: 1, is_random });
    }
    let burst = assignment.burst.filter(|burst| burst.gap_ns > 0)?;
    let per_second = f64::from(burst.ios) * NANOS / burst.gap_ns as f64;
    Some(Rate { per_second, at_once: burst.ios, is_random: false })
}

/// By a rule that counts, if nothing is written before the measured time and after it.
fn by_rule(span: &SpanPlan, index: usize) -> Option<(u64, String)> {
    if span.warm_up_ns > 0 || span.cool_down_ns > 0 {
        return None;
    }
    let block = u64::from(span.targets[index].block_bytes);
    let whole = |bytes: u64| bytes.div_ceil(block.max(1)).saturating_mul(block);
    let rules = [
        span.stop.bytes.map(|bytes| (whole(bytes), "the rule that counts bytes".to_owned())),
        span.stop
            .ios
            .map(|ios| (ios.saturating_mul(block), "the rule that counts I/Os".to_owned())),
        span.stop.pass.then(|| by_pass(span, index)),
    ];
    let (bytes, bound) = rules.into_iter().flatten().min_by_key(|(bytes, _)| *bytes)?;
    Some((rounded_up(bytes as f64 * share(span, index)), bound))
}

/// By one pass over the range, of all threads together or of each on its own. Its I/Os may overlap.
fn by_pass(span: &SpanPlan, index: usize) -> (u64, String) {
    let target = &span.targets[index];
    let passes = match target.offsets.order {
        Order::Interlocked => 1,
        _ => streams(span, index).count() as u64,
    };
    let bytes = offsets::positions(&target.offsets).saturating_mul(u64::from(target.block_bytes));
    let of_each = if passes > 1 { format!(" by each of {passes} threads") } else { String::new() };
    (bytes.saturating_mul(passes), format!("one pass over the range{of_each}"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::guard::fixture::{span, target, thread};
    use crate::plan::{Burst, EngineKind, Pace};

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
    fn a_pass_of_each_thread_was_explained_as_one_pass_and_overlapping_blocks_as_one() {
        let mut span = written(100);
        span.stop.pass = true;
        span.targets[0].offsets.end_bytes = 64 << 10;
        let amount = of(&span, 0, true, None);
        assert_eq!(amount.bytes_at_most, Some(128 << 10));
        assert!(amount.bound.contains("by each of 2 threads"), "{}", amount.bound);
        span.targets[0].offsets.order = Order::Interlocked;
        let amount = of(&span, 0, true, None);
        assert_eq!(amount.bytes_at_most, Some(64 << 10));
        assert_eq!(amount.bound, "one pass over the range");
        // From 4 KiB to 4 KiB by half a block: 31 places.
        span.targets[0].offsets.align_bytes = 2048;
        assert_eq!(of(&span, 0, true, None).bytes_at_most, Some(31 * 4096));
    }

    #[test]
    fn bytes_of_a_rule_were_explained_as_parts_of_blocks() {
        let mut span = written(100);
        for (bytes, written) in [(10_000, 12_288), (12_288, 12_288)] {
            span.stop.bytes = Some(bytes);
            assert_eq!(of(&span, 0, true, None).bytes_at_most, Some(written));
        }
    }

    #[test]
    fn bursts_beside_a_rate_were_explained_though_the_rate_alone_counts() {
        let mut span = written(100);
        for thread in &mut span.threads {
            thread.assignments[0].burst = Some(Burst { ios: 5, gap_ns: 500_000_000 });
        }
        // Twenty bursts of each thread behind the first one, which is due at once.
        assert_eq!(of(&span, 0, true, None).bytes_at_most, Some(2 * 105 * 4096));
        for thread in &mut span.threads {
            thread.assignments[0].pace = Some(Pace::constant(20, 1_000_000_000));
        }
        assert_eq!(of(&span, 0, true, None).bytes_at_most, Some(402 * 4096));
    }

    #[test]
    fn random_arrivals_wrote_more_than_was_explained_as_the_most() {
        let mut span = written(100);
        for thread in &mut span.threads {
            let pace = Pace::constant(500, 1_000_000_000);
            thread.assignments[0].pace = Some(Pace { arrivals: Arrivals::Poisson, ..pace });
        }
        // 10,000 in the mean, with a standard deviation of 100.
        let ios = 10_002 + 5 * 100;
        assert_eq!(of(&span, 0, true, None).bytes_at_most, Some(ios * 4096));
    }

    #[test]
    fn a_rate_of_less_than_one_was_explained_as_none() {
        let mut span = written(100);
        for thread in &mut span.threads {
            thread.assignments[0].pace = Some(Pace::constant(1, 10_000_000_000));
        }
        assert_eq!(of(&span, 0, true, None).bound, "0.20 I/Os a second for 10 s");
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

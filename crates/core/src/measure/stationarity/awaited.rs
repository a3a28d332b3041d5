//! What a rule about the mean has not seen yet, though the interval of the mean may be narrow already.
//!
//! A mean is as good as the time behind it: an interval that is computed before the first stall, or within
//! one period of a slow wave, is narrow and wrong. Each test here has a name, and says what would suffice.
//!
//! Sources: W. Cochran, "Sampling Techniques", 1977, 2.15 (normality of means of skewed values); R. Brown,
//! J. Durbin & J. Evans, JRSS B 37, 1975 (cumulated sums).

use super::{BATCHES, batch_means, mean, median, variance};
use crate::measure::stop::{Awaited, AwaitedKind};

/// No rule stops before this.
pub const LEAST_NS: u64 = 2_000_000_000;
/// So many of the slowest periods, and so many episodes, tell how much they weigh.
const PERIODS: f64 = 4.0;
const EPISODES: usize = 5;
/// A wave crosses its mean after a quarter of its period.
const QUARTERS: f64 = 4.0;
/// An interval that lies this many deviations off the others belongs to an episode, such as a stall.
const EPISODE_DEVIATIONS: f64 = 6.0;
const MAD_TO_DEVIATION: f64 = 1.4826;
const MEAN_TO_DEVIATION: f64 = 1.2533;
/// Intervals between two episodes; with fewer they are one.
const APART: usize = 3;
/// With the skewness G, a mean is normal enough from this many times G^2 independent values on (Cochran).
const SKEWED: f64 = 25.0;
/// What the greatest cumulated sum exceeds in one of a hundred series without a change (Kolmogorov).
const CHANGED: f64 = 1.63;

/// Stalls or bursts that are too few to tell how often they come, where the mean shall be known to the share
/// `precision` of itself. One of a few may as well have been none or several.
pub fn few_episodes(rest: &[f64], precision: f64) -> Option<Awaited> {
    let (episodes, share) = episodes(rest);
    let is_few = episodes > 0 && episodes < EPISODES && share * EPISODES as f64 > precision;
    is_few.then(|| Awaited::new(AwaitedKind::Episodes, episodes as f64, EPISODES as f64))
}

/// What stands against a stop: nothing, if the rest of a series behind its transient has shown enough. So
/// many `effective` independent values know the mean as well.
pub fn awaited(rest: &[f64], interval_ns: u64, effective: f64) -> Option<Awaited> {
    let each_s = interval_ns as f64 / 1e9;
    let seconds = rest.len() as f64 * each_s;
    let least = LEAST_NS as f64 / 1e9;
    if seconds + each_s / 2.0 < least {
        return Some(Awaited::new(AwaitedKind::Seconds, seconds, least));
    }
    let needed = PERIODS * QUARTERS * crossing(rest) as f64 * each_s;
    if seconds < needed {
        return Some(Awaited::new(AwaitedKind::Periods, seconds, needed));
    }
    if has_changed(&batch_means(rest)) {
        return Some(Awaited::new(AwaitedKind::Level, seconds, 2.0 * seconds));
    }
    let needed = SKEWED * skewness(rest).powi(2);
    (effective < needed).then(|| Awaited::new(AwaitedKind::Values, effective, needed))
}

/// How often values lie far off the others, and what share of the whole one such episode is.
fn episodes(series: &[f64]) -> (usize, f64) {
    let centre = median(series);
    let distances: Vec<f64> = series.iter().map(|value| (value - centre).abs()).collect();
    let by_median = MAD_TO_DEVIATION * median(&distances);
    let deviation = if by_median > 0.0 { by_median } else { MEAN_TO_DEVIATION * mean(&distances) };
    let limit = EPISODE_DEVIATIONS * deviation;
    let (mut count, mut weight, mut since) = (0, 0.0, APART);
    for (value, distance) in series.iter().zip(&distances) {
        if deviation > 0.0 && *distance > limit {
            count += usize::from(since >= APART);
            weight += value - centre;
            since = 0;
        } else {
            since += 1;
        }
    }
    let whole = centre.abs() * series.len() as f64;
    (count, if whole > 0.0 { weight.abs() / whole / count.max(1) as f64 } else { 1.0 })
}

/// The first distance at which values no longer resemble each other; if there is none, the series' length.
fn crossing(series: &[f64]) -> usize {
    let mean = mean(series);
    let squares: f64 = series.iter().map(|value| (value - mean).powi(2)).sum();
    if squares <= 0.0 {
        return 1;
    }
    let limit = 2.0 / (series.len() as f64).sqrt() * squares;
    let product = |lag: usize| -> f64 {
        series.iter().zip(&series[lag..]).map(|(one, other)| (one - mean) * (other - mean)).sum()
    };
    // A longer period than that is too long anyway.
    (1..series.len() / 8).find(|&lag| product(lag) <= limit).unwrap_or(series.len())
}

/// Whether the level of batches differs from part to part of the series. The deviation comes from the
/// differences of neighbours, which one change of level hardly touches.
fn has_changed(batches: &[f64]) -> bool {
    let mean = mean(batches);
    let squares: f64 = batches.windows(2).map(|two| (two[1] - two[0]).powi(2)).sum();
    let deviation = (squares / 2.0 / (batches.len() - 1) as f64).sqrt();
    let mut sum = 0.0;
    let mut greatest = 0.0_f64;
    for batch in batches {
        sum += batch - mean;
        greatest = greatest.max(sum.abs());
    }
    greatest > CHANGED * deviation * (BATCHES as f64).sqrt() && greatest > 1e-9 * mean.abs()
}

/// The third moment in units of the deviation; 0 where nothing varies.
fn skewness(values: &[f64]) -> f64 {
    let (mean, deviation) = (mean(values), variance(values).sqrt());
    if deviation <= 0.0 {
        return 0.0;
    }
    let cubes: f64 = values.iter().map(|value| ((value - mean) / deviation).powi(3)).sum();
    cubes / values.len() as f64
}

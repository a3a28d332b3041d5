//! Whether a series of figures, one per interval, has become steady, and how well its mean is known.
//!
//! Pure functions of the series: whoever runs a measurement decides what to do with the answers.
//!
//! Sources: SNIA Solid State Storage Performance Test Specification 2.0.2, 2.1.24 (steady state);
//! K. P. White, "An effective truncation heuristic for bias reduction in simulation output", 1997, and
//! S. Spratt, 1998 (MSER-5); A. M. Law, "Simulation Modeling and Analysis", 9.5 (batch means);
//! A. Tafazzoli et al., "Performance of Skart", 2011 (batches that are still correlated).

mod awaited;
#[cfg(test)]
mod tests;
mod transient;

pub use awaited::LEAST_NS;
use awaited::{awaited, few_episodes};
pub use transient::transient;

use super::stop::{Awaited, AwaitedKind};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Figures of a window of intervals, by which steady state is judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steadiness {
    /// Arithmetic mean.
    pub mean: f64,
    /// Greatest minus least value, in percent of the mean.
    pub range_percent: f64,
    /// Rise or fall of the straight line of least squares from the first value of the window to the
    /// last, in percent of the mean; never negative.
    pub slope_percent: f64,
}

/// What is known about the mean of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Confidence {
    /// Arithmetic mean of what stands in steady state.
    pub mean: f64,
    /// The true mean lies at most this far from it, with the confidence that was requested.
    pub half_width: f64,
    /// So many independent values would know the mean as well as the correlated ones of the series do.
    pub effective_samples: f64,
    /// Values at the front that belong to the transient and are left out.
    pub transient: usize,
}

/// Batches into which a series is cut.
const BATCHES: usize = 20;
/// A batch is at least this many times as long as the values of the series remember each other, so that
/// the means of batches are nearly independent and nearly normal.
const BATCH_MEMORIES: f64 = 4.0;
/// Beyond this correlation of neighbours a series has no mean that any length of it would tell.
const CORRELATION_MAX: f64 = 0.99;

/// Fewest values by which a mean is judged, where each is independent of the others.
pub const SAMPLES_MIN: usize = 80;

/// The figures of a window; `None` if it has fewer than two values or their mean is not positive.
#[must_use]
pub fn steadiness(window: &[f64]) -> Option<Steadiness> {
    let mean = mean(window);
    if window.len() < 2 || mean.is_nan() || mean <= 0.0 {
        return None;
    }
    let greatest = window.iter().copied().fold(f64::MIN, f64::max);
    let least = window.iter().copied().fold(f64::MAX, f64::min);
    let rise = slope(window, mean) * (window.len() - 1) as f64;
    Some(Steadiness {
        mean,
        range_percent: (greatest - least) * 100.0 / mean,
        slope_percent: rise.abs() * 100.0 / mean,
    })
}

/// Slope per value of the straight line of least squares.
fn slope(values: &[f64], mean: f64) -> f64 {
    let middle = (values.len() - 1) as f64 / 2.0;
    let (mut products, mut squares) = (0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        let distance = index as f64 - middle;
        products += distance * (value - mean);
        squares += distance * distance;
    }
    products / squares
}

/// The mean in steady state, and the interval that holds the true one with a confidence of `level`
/// (0 to 1). `None` while the transient has not ended, or while there are too few values: the more these
/// resemble their neighbours, the more are needed.
#[must_use]
pub fn confidence(series: &[f64], level: f64) -> Option<Confidence> {
    let transient = transient(series)?;
    let rest = &series[transient..];
    (rest.len() >= length_needed(rest)).then(|| interval_of_mean(rest, transient, level))?
}

/// The same, if the series has also shown enough of what it does (`awaited`).
///
/// # Errors
/// What has not been seen yet.
pub fn known(
    series: &[f64],
    interval_ns: u64,
    level: f64,
    precision: f64,
) -> Result<Confidence, Awaited> {
    let seconds = |count: usize| count as f64 * interval_ns as f64 / 1e9;
    let unseen = |kind, seen, needed| Awaited::new(kind, seconds(seen), seconds(needed));
    let unfinished = || unseen(AwaitedKind::Transient, series.len(), series.len() * 2);
    let transient = transient(series).ok_or_else(unfinished)?;
    let rest = &series[transient..];
    few_episodes(rest, precision).map_or(Ok(()), Err)?;
    let needed = length_needed(rest);
    let short = || unseen(AwaitedKind::Seconds, rest.len(), needed);
    if rest.len() < needed {
        return Err(short());
    }
    let found = interval_of_mean(rest, transient, level).ok_or_else(short)?;
    awaited(rest, interval_ns, found.effective_samples).map_or(Ok(found), Err)
}

/// The interval of the mean of values behind a transient of so many others.
fn interval_of_mean(rest: &[f64], transient: usize, level: f64) -> Option<Confidence> {
    let batches = batch_means(rest);
    let error_squared = error_squared(&batches);
    let distance = student_t(level, batches.len() - 1)?;
    let samples = rest.len() as f64;
    let effective = variance(rest) / error_squared;
    Some(Confidence {
        mean: mean(rest),
        half_width: distance * error_squared.sqrt(),
        // Where nothing varies, each value tells all.
        effective_samples: if effective.is_finite() { effective.min(samples) } else { samples },
        transient,
    })
}

/// The length from which a series like this one may be judged. Values with the correlation r of
/// neighbours remember each other for (1 + r) / (1 - r) values.
fn length_needed(series: &[f64]) -> usize {
    let r = correlation(series).clamp(0.0, CORRELATION_MAX);
    let length = BATCHES as f64 * BATCH_MEMORIES * (1.0 + r) / (1.0 - r);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 80 and 15,920"
    )]
    let length = length as usize;
    length
}

/// The means of batches of equal length; what is left over at the front is left out.
fn batch_means(series: &[f64]) -> Vec<f64> {
    let length = series.len() / BATCHES;
    series[series.len() - length * BATCHES..].chunks_exact(length).map(mean).collect()
}

/// The squared standard error of the mean of batches. Batches that still resemble their neighbours know
/// less than so many independent ones, by (1 + r) / (1 - r).
fn error_squared(batches: &[f64]) -> f64 {
    let r = correlation(batches).clamp(0.0, CORRELATION_MAX);
    variance(batches) / batches.len() as f64 * (1.0 + r) / (1.0 - r)
}

/// The correlation of neighbours, freed of the bias that a short series gives it.
fn correlation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let products: f64 = values.windows(2).map(|two| (two[0] - mean) * (two[1] - mean)).sum();
    if squares > 0.0 { products / squares + 1.0 / values.len() as f64 } else { 0.0 }
}

/// The middle of the values, in the order of their size; the greater of two middles.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    let middle = sorted.len() / 2;
    *sorted.select_nth_unstable_by(middle, f64::total_cmp).1
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The variance of a sample.
fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

/// The distance from zero that a variable of Student's t distribution keeps within with the given chance.
fn student_t(level: f64, freedom: usize) -> Option<f64> {
    let distribution = StudentsT::new(0.0, 1.0, freedom as f64).ok()?;
    Some(distribution.inverse_cdf(f64::midpoint(level, 1.0)))
}

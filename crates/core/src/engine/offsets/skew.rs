//! Skewed distributions of random I/O, cut into stretches that differ little inside.
//!
//! A stretch of positions has its exact share; within it the positions are equally likely. The first
//! positions are stretches of their own and later ones grow by one percent, so that no position is off
//! by more than about a percent, and a billion positions need a few thousand stretches.

use crate::plan::Skew;

/// This many first positions are stretches of their own.
const SINGLE_POSITIONS: u64 = 2_048;
/// Stretches of the normal distribution, which has no first position that is special.
const EQUAL_STRETCHES: u64 = 4_096;

/// A stretch of positions and its share, which is relative to those of the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    pub first_position: u64,
    pub positions: u64,
    pub share: f64,
}

/// The stretches of a skew over a number of positions, in their order.
pub fn parts(skew: Skew, positions: u64) -> impl Iterator<Item = Part> {
    let edges = match skew {
        Skew::Normal { .. } => equal_edges(positions),
        Skew::Zipf { .. } | Skew::Pareto { .. } => growing_edges(positions),
    };
    let cumulative: Vec<f64> = match skew {
        Skew::Zipf { theta_milli } => zipf(&edges, f64::from(theta_milli) / 1e3),
        Skew::Pareto { h_milli } => pareto(&edges, f64::from(h_milli) / 1e3),
        Skew::Normal { deviation_milli } => normal(&edges, f64::from(deviation_milli) / 1e5),
    };
    let pairs: Vec<Part> = edges
        .windows(2)
        .zip(cumulative.windows(2))
        .map(|(edge, sum)| Part {
            first_position: edge[0],
            positions: edge[1] - edge[0],
            share: sum[1] - sum[0],
        })
        .collect();
    pairs.into_iter()
}

fn growing_edges(positions: u64) -> Vec<u64> {
    let mut edges: Vec<u64> = (0..=positions.min(SINGLE_POSITIONS)).collect();
    while let Some(&last) = edges.last()
        && last < positions
    {
        edges.push(last.saturating_add(last / 100).min(positions));
    }
    edges
}

fn equal_edges(positions: u64) -> Vec<u64> {
    let stretches = positions.clamp(1, EQUAL_STRETCHES);
    let edge = |index: u64| u128::from(positions) * u128::from(index) / u128::from(stretches);
    (0..=stretches).map(|index| u64::try_from(edge(index)).unwrap_or(positions)).collect()
}

/// The k-th position, from 1, has a share in proportion to k^-theta. Behind the single positions the sum
/// is the integral between the half points, whose error is far below a millionth there.
fn zipf(edges: &[u64], theta: f64) -> Vec<f64> {
    let mut sum = 0.0;
    let mut cumulative = vec![0.0];
    for pair in edges.windows(2) {
        let (from, to) = (pair[0] as f64, pair[1] as f64);
        sum += if pair[1] - pair[0] == 1 {
            to.powf(-theta)
        } else if (theta - 1.0).abs() < 1e-9 {
            ((to + 0.5) / (from + 0.5)).ln()
        } else {
            let power = 1.0 - theta;
            ((to + 0.5).powf(power) - (from + 0.5).powf(power)) / power
        };
        cumulative.push(sum);
    }
    cumulative
}

/// The first fraction h of the target has the share 1 - h, and so has the first fraction h of that.
fn pareto(edges: &[u64], h: f64) -> Vec<f64> {
    let power = (1.0 - h).ln() / h.ln();
    let positions = edges.last().copied().unwrap_or(1) as f64;
    edges.iter().map(|&edge| (edge as f64 / positions).powf(power)).collect()
}

/// A bell around the middle of the target; what would fall outside is left out.
fn normal(edges: &[u64], deviation: f64) -> Vec<f64> {
    let positions = edges.last().copied().unwrap_or(1) as f64;
    let place = |edge: u64| (edge as f64 / positions - 0.5) / deviation;
    edges.iter().map(|&edge| 0.5 * (1.0 + error_function(place(edge) / 2.0_f64.sqrt()))).collect()
}

/// The error function to 1.5e-7 (M. Abramowitz and I. Stegun, Handbook of Mathematical Functions, 7.1.26).
fn error_function(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x.abs());
    let series = t
        * (0.254_829_592
            + t * (-0.284_496_736
                + t * (1.421_413_741 + t * (-1.453_152_027 + t * 1.061_405_429))));
    (1.0 - series * (-x * x).exp()).copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(skew: Skew, positions: u64, below: u64) -> f64 {
        let all: Vec<Part> = parts(skew, positions).collect();
        let sum =
            |parts: &mut dyn Iterator<Item = &Part>| parts.map(|part| part.share).sum::<f64>();
        let total = sum(&mut all.iter());
        sum(&mut all.iter().filter(|part| part.first_position < below)) / total
    }

    #[test]
    fn stretches_cover_every_position_once() {
        for skew in [
            Skew::Zipf { theta_milli: 1_200 },
            Skew::Pareto { h_milli: 200 },
            Skew::Normal { deviation_milli: 10_000 },
        ] {
            for positions in [1, 2, 100, 2_049, 1_000_000_007] {
                let mut next = 0;
                for part in parts(skew, positions) {
                    assert_eq!(part.first_position, next);
                    assert!(part.positions > 0 && part.share >= 0.0);
                    next += part.positions;
                }
                assert_eq!(next, positions, "{skew:?}");
            }
        }
    }

    #[test]
    fn shares_are_those_of_theory() {
        let theta = 1.1;
        let weight = |from: u64, to: u64| (from..=to).map(|k| (k as f64).powf(-theta)).sum::<f64>();
        let expected = weight(1, 1_000) / weight(1, 3_000_000);
        let zipf = share(Skew::Zipf { theta_milli: 1_100 }, 3_000_000, 1_000);
        assert!((zipf / expected - 1.0).abs() < 1e-4, "{zipf} instead of {expected}");
        // Four fifths of the I/Os go to one fifth of the target.
        let pareto = share(Skew::Pareto { h_milli: 200 }, 1_000, 200);
        assert!((pareto - 0.8).abs() < 1e-9, "{pareto}");
        let below = |place| share(Skew::Normal { deviation_milli: 10_000 }, 1_000_000, place);
        // One deviation of 10 % around the middle holds 68.27 %.
        assert!((below(600_000) - below(400_000) - 0.6827).abs() < 0.001);
    }
}

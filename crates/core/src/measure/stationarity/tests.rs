//! Series whose answers are known by theory or by hand.

use super::*;
use crate::engine::random::Random;

/// A number of the standard normal distribution (G. Box and M. Muller, 1958).
fn normal(random: &mut Random) -> f64 {
    let mut uniform = || ((random.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    (-2.0 * uniform().ln()).sqrt() * (2.0 * std::f64::consts::PI * uniform()).cos()
}

/// Noise around 1,000 in which neighbours have the correlation `r`.
fn noise(seed: u64, length: usize, r: f64, deviation: f64) -> Vec<f64> {
    let mut random = Random::new(seed);
    let mut state = normal(&mut random);
    let mut next = || {
        state = r * state + (1.0 - r * r).sqrt() * normal(&mut random);
        1_000.0 + deviation * state
    };
    (0..length).map(|_| next()).collect()
}

fn close(left: f64, right: f64, tolerance: f64) -> bool {
    (left - right).abs() <= tolerance
}

#[test]
fn range_and_slope_are_those_of_the_specification() {
    // Five rounds; the line of least squares through them rises by 1.1 per round.
    let steady = steadiness(&[99.0, 97.0, 101.0, 100.0, 103.0]).unwrap();
    assert!(close(steady.mean, 100.0, 1e-9) && close(steady.range_percent, 6.0, 1e-9));
    assert!(close(steady.slope_percent, 4.4, 1e-9), "{steady:?}");
    let falling = steadiness(&[110.0, 105.0, 100.0, 95.0, 90.0]).unwrap();
    assert!(close(falling.range_percent, 20.0, 1e-9) && close(falling.slope_percent, 20.0, 1e-9));
}

#[test]
fn nothing_is_said_of_a_window_without_a_mean() {
    assert_eq!(steadiness(&[]), None);
    assert_eq!(steadiness(&[7.0]), None);
    assert_eq!(steadiness(&[0.0, 0.0, 0.0]), None);
}

#[test]
fn a_transient_is_cut_where_it_ends() {
    for ramp in [20_usize, 60, 100] {
        let mut series = noise(1, 400, 0.3, 20.0);
        for (index, value) in series.iter_mut().take(ramp).enumerate() {
            *value *= 3.0 - 2.0 * index as f64 / ramp as f64;
        }
        let cut = transient(&series).unwrap();
        assert!((ramp * 7 / 10..ramp + 20).contains(&cut), "{ramp}: {cut}");
        let known = confidence(&series, 0.95).unwrap();
        assert!(close(known.mean, 1_000.0, known.half_width * 2.0) && known.mean < 1_020.0);
        // With its transient the mean would be far off.
        assert!(mean(&series) > 1_000.0 + 2.0 * known.half_width);
    }
}

/// The cases of a golden file, each with its series.
fn cases(text: &str) -> Vec<(serde_json::Value, Vec<f64>)> {
    let cases: Vec<serde_json::Value> = serde_json::from_str(text).unwrap();
    assert!(cases.len() >= 15);
    let series = |case: &serde_json::Value| {
        case["series"].as_array().unwrap().iter().filter_map(serde_json::Value::as_f64).collect()
    };
    cases.into_iter().map(|case| (case.clone(), series(&case))).collect()
}

#[test]
fn defect_9_transients_are_those_that_the_lab_finds() {
    // The lab has the same rule in Python, and its tests read the same file.
    for (case, series) in cases(include_str!("../../../../../tests/golden/transients.json")) {
        let found = transient(&series).map(|count| count as u64);
        assert_eq!(found, case["transient"].as_u64(), "{}", case["name"]);
    }
}

#[test]
fn means_are_known_when_the_lab_s_simulations_know_them() {
    // What docs/statistics.md says of --stop-confidence was simulated with the rule in Python, whose
    // tests read the same file.
    for (case, series) in cases(include_str!("../../../../../tests/golden/known_means.json")) {
        for (length, expected) in case["known"].as_object().unwrap() {
            let seen = &series[..length.parse().unwrap()];
            let found = known(seen, 10_000_000, 0.95, 0.02).ok();
            let words = format!("{} {length}: {found:?} {expected}", case["name"]);
            assert_eq!(found.is_some(), expected.is_array(), "{words}");
            if let Some(one) = found {
                assert!(close(one.mean, expected[0].as_f64().unwrap(), 1e-3), "{words}");
                let share = one.half_width / one.mean;
                assert!(close(share, expected[1].as_f64().unwrap(), 1e-6), "{words}");
            }
        }
    }
}

#[test]
fn a_series_that_still_falls_has_no_mean() {
    let falling: Vec<f64> = (0..400).map(|index| 10_000.0 - 20.0 * f64::from(index)).collect();
    assert_eq!(transient(&falling), None);
    assert_eq!(confidence(&falling, 0.95), None);
    // A cliff near the end makes all before it a transient.
    let cliff: Vec<f64> = (0..400).map(|index| if index < 300 { 9.0 } else { 3.0 }).collect();
    assert_eq!(confidence(&cliff, 0.95), None);
}

#[test]
fn correlated_values_count_for_fewer() {
    let independent = confidence(&noise(5, 20_000, 0.0, 100.0), 0.95).unwrap();
    let correlated = confidence(&noise(5, 20_000, 0.8, 100.0), 0.95).unwrap();
    // Theory: a share of (1 - r) / (1 + r), which is one in nine; twenty batches tell it to about a half.
    let share = correlated.effective_samples / independent.effective_samples;
    assert!((0.03..0.35).contains(&share), "{share}");
    assert!(correlated.half_width > 1.5 * independent.half_width);
}

#[test]
fn more_correlation_needs_a_longer_series() {
    let length =
        |r| (1..200).map(|n| n * 20).find(|&n| confidence(&noise(9, n, r, 50.0), 0.95).is_some());
    assert!(length(0.0).unwrap() < 200);
    assert!(length(0.9).unwrap() > 800, "{:?}", length(0.9));
}

#[test]
fn a_constant_series_is_known_exactly() {
    let known = confidence(&[500.0; 100], 0.95).unwrap();
    assert!(close(known.mean, 500.0, 1e-9) && close(known.half_width, 0.0, 1e-9));
    assert!(close(known.effective_samples, 100.0, 1e-9));
    assert_eq!(known.transient, 0);
    assert_eq!(confidence(&[500.0; 60], 0.95), None);
}

/// The distances are those of printed tables of the distribution.
#[test]
fn students_distances_are_those_of_the_tables() {
    for (level, freedom, distance) in
        [(0.95, 19, 2.093_024), (0.99, 19, 2.860_935), (0.90, 1, 6.313_752), (0.95, 120, 1.979_930)]
    {
        assert!(close(student_t(level, freedom).unwrap(), distance, 1e-4), "{level} {freedom}");
    }
}

#[test]
fn at_a_fixed_length_the_interval_holds_the_truth_as_often_as_it_says() {
    for (r, length) in [(0.0, 120), (0.6, 600), (0.85, 2_000)] {
        let experiments =
            (0..1_000).filter_map(|seed| confidence(&noise(seed, length, r, 80.0), 0.95));
        let (mut held, mut all) = (0, 0);
        for known in experiments {
            all += 1;
            held += u32::from((known.mean - 1_000.0).abs() <= known.half_width);
        }
        let share = f64::from(held) / f64::from(all);
        assert!(all > 700 && (0.93..=0.97).contains(&share), "{r}: {share} of {all}");
    }
}

//! Rules that judge the rate: they get the I/Os of each interval in turn, and say when they are met.

use crate::measure::stationarity::{SAMPLES_MIN, confidence, steadiness};
use crate::measure::{ConfidenceEvidence, SteadyEvidence, StopCause};
use crate::profile::{ConfidenceRule, SteadyRule, StopRules};
use crate::units::{NANOS_PER_MILLI, per_second};

/// Judges the rates of a series of intervals.
#[derive(Debug, Clone)]
pub struct Judge {
    steady: Option<SteadyRule>,
    confidence: Option<ConfidenceRule>,
    interval_ns: u64,
    /// I/Os per second of each interval.
    rates: Vec<f64>,
    /// The mean is looked at when the series has this length.
    next_look: usize,
}

impl Judge {
    /// A judge of these rules, before the first interval.
    #[must_use]
    pub fn new(rules: &StopRules) -> Self {
        Self {
            steady: rules.steady,
            confidence: rules.confidence,
            interval_ns: u64::from(rules.interval_ms()) * NANOS_PER_MILLI,
            rates: Vec::new(),
            next_look: SAMPLES_MIN,
        }
    }

    /// Length of an interval.
    #[must_use]
    pub fn interval_ns(&self) -> u64 {
        self.interval_ns
    }

    /// Intervals seen.
    #[must_use]
    pub fn intervals(&self) -> usize {
        self.rates.len()
    }

    /// Takes the I/Os of the next interval; tells which rule is met, if any.
    pub fn next(&mut self, ios: u64) -> Option<StopCause> {
        self.rates.push(per_second(ios, self.interval_ns));
        if self.steady_evidence().is_some_and(|window| window.is_steady()) {
            return Some(StopCause::Steady);
        }
        self.is_mean_known().then_some(StopCause::Confidence)
    }

    /// Who looks after each interval stops at a moment at which the interval happens to be short, and is
    /// wrong more often than he says; looks that are far apart hardly suffer from it.
    fn is_mean_known(&mut self) -> bool {
        if self.rates.len() < self.next_look {
            return false;
        }
        self.next_look += self.next_look / 2;
        self.confidence_evidence().is_some_and(|known| known.is_known())
    }

    /// The last window.
    #[must_use]
    pub fn steady_evidence(&self) -> Option<SteadyEvidence> {
        let rule = self.steady?;
        let first = self.rates.len().checked_sub(rule.intervals as usize)?;
        let figures = steadiness(&self.rates[first..])?;
        Some(SteadyEvidence {
            window_intervals: rule.intervals,
            iops_mean: figures.mean,
            range_percent: figures.range_percent,
            range_percent_limit: f64::from(rule.range_milli) / 1e3,
            slope_percent: figures.slope_percent,
            slope_percent_limit: f64::from(rule.slope_milli) / 1e3,
        })
    }

    /// What is known of the mean.
    #[must_use]
    pub fn confidence_evidence(&self) -> Option<ConfidenceEvidence> {
        let rule = self.confidence?;
        let level_percent = f64::from(rule.level_milli) / 1e3;
        let known = confidence(&self.rates, level_percent / 100.0)?;
        let transient_intervals = known.transient as u64;
        Some(ConfidenceEvidence {
            level_percent,
            iops_mean: known.mean,
            iops_low: known.mean - known.half_width,
            iops_high: known.mean + known.half_width,
            precision_percent: if known.mean > 0.0 {
                known.half_width * 100.0 / known.mean
            } else {
                0.0
            },
            precision_percent_limit: f64::from(rule.precision_milli) / 1e3,
            effective_samples: known.effective_samples,
            transient_intervals,
            transient_ns: transient_intervals * self.interval_ns,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::Random;

    fn judge(steady: Option<SteadyRule>, confidence: Option<ConfidenceRule>) -> Judge {
        Judge::new(&StopRules { steady, confidence, ..StopRules::default() })
    }

    /// A number of the standard normal distribution (G. Box and M. Muller, 1958).
    fn normal(random: &mut Random) -> f64 {
        let mut uniform = || ((random.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        (-2.0 * uniform().ln()).sqrt() * (2.0 * std::f64::consts::PI * uniform()).cos()
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a conversion from float saturates, and there are no negative I/Os"
    )]
    fn whole(ios: f64) -> u64 {
        ios.max(0.0).round() as u64
    }

    /// I/Os of intervals around `mean`, with the share `deviation` of noise whose neighbours have the
    /// correlation `r`.
    struct Noise {
        random: Random,
        r: f64,
        state: f64,
        mean: f64,
        deviation: f64,
    }

    impl Noise {
        fn new(seed: u64, mean: f64, deviation: f64, r: f64) -> Self {
            let mut random = Random::new(seed);
            let state = normal(&mut random);
            Self { random, r, state, mean, deviation }
        }

        fn next(&mut self) -> u64 {
            self.state =
                self.r * self.state + (1.0 - self.r * self.r).sqrt() * normal(&mut self.random);
            whole(self.mean * (1.0 + self.deviation * self.state))
        }
    }

    const TWO_PERCENT: ConfidenceRule =
        ConfidenceRule { level_milli: 95_000, precision_milli: 2_000 };

    #[test]
    fn of_1000_runs_that_stop_at_95_percent_93_to_97_percent_hold_the_truth() {
        for (r, deviation) in [(0.0, 0.10), (0.5, 0.05), (0.8, 0.05), (0.9, 0.02)] {
            let mut held = 0;
            for seed in 0..1_000 {
                let mut judge = judge(None, Some(TWO_PERCENT));
                let mut noise = Noise::new(seed, 10_000.0, deviation, r);
                while judge.next(noise.next()).is_none() {}
                let known = judge.confidence_evidence().unwrap();
                assert!(known.precision_percent <= 2.0, "{known:?}");
                // An interval of 100 ms: 10,000 I/Os are 100,000 a second.
                held += u32::from((known.iops_low..=known.iops_high).contains(&100_000.0));
            }
            assert!((930..=970).contains(&held), "correlation {r}: {held} of 1000");
        }
    }

    #[test]
    fn a_transient_at_the_start_is_cut_and_not_averaged() {
        let mut judge = judge(None, Some(TWO_PERCENT));
        let mut noise = Noise::new(3, 1_000.0, 0.05, 0.3);
        for _ in 0..60 {
            assert_eq!(judge.next(noise.next() * 3), None);
        }
        while judge.next(noise.next()).is_none() {}
        let known = judge.confidence_evidence().unwrap();
        assert!((60..=120).contains(&known.transient_intervals), "{known:?}");
        assert_eq!(known.transient_ns, known.transient_intervals * judge.interval_ns());
        assert!((known.iops_mean / 10_000.0 - 1.0).abs() < 0.03, "{known:?}");
    }

    #[test]
    fn nothing_is_known_of_a_rate_of_zero_or_one_that_keeps_falling() {
        let mut idle = judge(None, Some(TWO_PERCENT));
        assert!((0..2_000).all(|_| idle.next(0).is_none()));
        let mut falling = judge(None, Some(TWO_PERCENT));
        assert!((0..2_000).all(|index| falling.next(100_000 - 40 * index).is_none()));
    }

    #[test]
    fn a_rate_that_settles_is_steady_once_the_window_has_settled() {
        let rule = SteadyRule { intervals: 10, ..SteadyRule::default() };
        let mut judge = judge(Some(rule), None);
        let mut noise = Noise::new(1, 1_000.0, 0.02, 0.0);
        for index in 0..20 {
            assert_eq!(judge.next(noise.next() * (40 - index) / 10), None, "{index}");
        }
        let met = (1..100).find(|_| judge.next(noise.next()).is_some()).unwrap();
        assert!((5..=10).contains(&met), "{met}");
        let window = judge.steady_evidence().unwrap();
        assert!(window.is_steady() && (window.iops_mean / 1_000.0 - 1.0).abs() < 0.1, "{window:?}");
    }

    #[test]
    fn what_never_is_steady_never_claims_it() {
        let mut random = Random::new(11);
        let mut never = |name: &str, rate: &mut dyn FnMut(u64, &mut Random) -> u64| {
            let mut judge = judge(Some(SteadyRule::default()), None);
            for index in 0..20_000 {
                assert_eq!(judge.next(rate(index, &mut random)), None, "{name} at {index}");
            }
        };
        never("noise of 30 %", &mut |_, random| whole(1e4 * (1.0 + 0.3 * normal(random))));
        never("a saw", &mut |index, _| 1_000 + 20 * (index % 40));
        let growth = |index: u64| 1.01_f64.powf((index % 3_000) as f64) * 1e3;
        never("a rise of 1 % each", &mut |index, _| whole(growth(index)));
        never("a stall in each window", &mut |index, _| if index % 25 == 0 { 0 } else { 1_000 });
        never("nothing", &mut |_, _| 0);
    }
}

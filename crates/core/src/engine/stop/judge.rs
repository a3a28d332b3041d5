//! Rules that judge the rate: they get the I/Os of each interval in turn, and say when they are met.

use crate::measure::stationarity::{self, LEAST_NS, SAMPLES_MIN, steadiness};
use crate::measure::{Awaited, AwaitedKind, ConfidenceEvidence, SteadyEvidence, StopCause};
use crate::request::{ConfidenceRule, SteadyRule, StopRules};
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
        let interval_ns = u64::from(rules.interval_ms()) * NANOS_PER_MILLI;
        let least = usize::try_from(LEAST_NS.div_ceil(interval_ns)).unwrap_or(usize::MAX);
        Self {
            steady: rules.steady,
            confidence: rules.confidence,
            interval_ns,
            rates: Vec::new(),
            next_look: SAMPLES_MIN.max(least),
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

    /// What is known of the mean; nothing while the series has not shown enough of what it does.
    #[must_use]
    pub fn confidence_evidence(&self) -> Option<ConfidenceEvidence> {
        self.known()?.ok()
    }

    /// What the rule about the mean still waits for; nothing if it is met, or if there is none.
    #[must_use]
    pub fn awaited(&self) -> Option<Awaited> {
        match self.known()? {
            Err(awaited) => Some(awaited),
            Ok(known) if known.is_known() => None,
            Ok(known) => Some(Awaited::new(
                AwaitedKind::Precision,
                known.precision_percent,
                known.precision_percent_limit,
            )),
        }
    }

    fn known(&self) -> Option<Result<ConfidenceEvidence, Awaited>> {
        let rule = self.confidence?;
        let level_percent = f64::from(rule.level_milli) / 1e3;
        let limit = f64::from(rule.precision_milli) / 1e3;
        let found = stationarity::known(
            &self.rates,
            self.interval_ns,
            level_percent / 100.0,
            limit / 100.0,
        );
        // A mean of 0 has no precision, and is never known.
        match found {
            Ok(known) if known.mean <= 0.0 => None,
            found => Some(found.map(|known| self.evidence(&known, level_percent, limit))),
        }
    }

    fn evidence(
        &self,
        known: &stationarity::Confidence,
        level_percent: f64,
        precision_percent_limit: f64,
    ) -> ConfidenceEvidence {
        let transient_intervals = known.transient as u64;
        let relative = known.half_width * 100.0 / known.mean;
        let head = &self.rates[..known.transient];
        ConfidenceEvidence {
            level_percent,
            iops_mean: known.mean,
            iops_low: (known.mean - known.half_width).max(0.0),
            iops_high: known.mean + known.half_width,
            precision_percent: relative,
            precision_percent_limit,
            effective_samples: known.effective_samples,
            transient_intervals,
            transient_ns: transient_intervals * self.interval_ns,
            transient_iops: head.iter().fold(0.0, |sum, rate| sum + rate)
                / head.len().max(1) as f64,
        }
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

    /// The judge of a run of so many seconds in intervals of 10 ms, and after how many of these it stopped.
    fn stopped(
        seconds: usize,
        seed: u64,
        rate: impl Fn(usize, f64) -> f64,
    ) -> (Judge, Option<usize>) {
        let rules = StopRules {
            confidence: Some(TWO_PERCENT),
            interval_ms: Some(10),
            ..StopRules::default()
        };
        let mut judge = Judge::new(&rules);
        let mut random = Random::new(seed);
        for index in 0..seconds * 100 {
            let ios = whole(rate(index, 1_000.0 * (1.0 + 0.03 * normal(&mut random))));
            if judge.next(ios).is_some() {
                return (judge, Some(index + 1));
            }
        }
        (judge, None)
    }

    #[test]
    fn the_stop_rule_does_not_discard_one_stall_as_a_transient() {
        let stall = |index, ios: f64| if (30..50).contains(&index) { ios * 0.05 } else { ios };
        let (judge, stopped) = stopped(10, 1, stall);
        assert_eq!(stopped, None);
        let awaited = judge.awaited().unwrap();
        assert_eq!((awaited.kind, awaited.seen), (AwaitedKind::Episodes, 1.0));
        assert_eq!(judge.confidence_evidence(), None);
    }

    #[test]
    fn stalls_every_two_seconds_are_in_each_mean_that_a_rule_gives() {
        for (seed, first) in (0..60).zip((0..200).step_by(3)) {
            let stall = |index: usize, ios: f64| {
                if (index + first) % 200 < 20 { ios * 0.05 } else { ios }
            };
            let (judge, stopped) = stopped(30, seed, stall);
            let truth = 100_000.0 * (1.0 - 0.1 * 0.95);
            if let Some(known) = judge.confidence_evidence() {
                assert!((known.iops_mean / truth - 1.0).abs() < 0.04, "{seed}: {known:?}");
            }
            assert!(stopped.is_none_or(|intervals| intervals >= 1_000), "{seed}: {stopped:?}");
        }
    }

    #[test]
    fn a_head_that_approaches_is_cut_and_told() {
        let warming = |index: usize, ios: f64| ios * (1.0 - 0.4 * (index as f64 / -10.0).exp());
        let (judge, stopped) = stopped(10, 2, warming);
        assert!(stopped.is_some_and(|intervals| intervals <= 450), "{stopped:?}");
        let known = judge.confidence_evidence().unwrap();
        assert!((10..=60).contains(&known.transient_intervals), "{known:?}");
        assert!((60_000.0..96_000.0).contains(&known.transient_iops), "{known:?}");
        assert!((known.iops_mean / 100_000.0 - 1.0).abs() < 0.01, "{known:?}");
    }

    #[test]
    fn calm_runs_end_after_two_seconds_and_slow_waves_do_not_within_four_of_them() {
        let (_, calm) = stopped(10, 3, |_, ios| ios);
        assert!(calm.is_some_and(|intervals| (200..=450).contains(&intervals)), "{calm:?}");
        let saw = |index: usize, ios: f64| ios * (0.8 + 0.4 * (index % 300) as f64 / 300.0);
        let (_, stopped_saw) = stopped(60, 4, saw);
        assert!(stopped_saw.is_none_or(|intervals| intervals >= 1_200), "{stopped_saw:?}");
        for at in [300, 700, 950] {
            let cliff = |index: usize, ios: f64| if index < at { ios } else { ios * 0.4 };
            let (judge, stopped) = stopped(10, 5, cliff);
            // A run that is over before the cliff cannot know of it; one that saw it does not hide it.
            assert!(stopped.is_none_or(|intervals| intervals <= at), "{at}: {stopped:?} {judge:?}");
        }
    }

    #[test]
    fn nothing_is_known_of_a_rate_of_zero_or_one_that_keeps_falling() {
        let mut idle = judge(None, Some(TWO_PERCENT));
        assert!((0..2_000).all(|_| idle.next(0).is_none()));
        assert_eq!((idle.confidence_evidence(), idle.awaited()), (None, None));
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

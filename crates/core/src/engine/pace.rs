//! When the next I/O is due.
//!
//! A rate is a schedule: the k-th I/O is due at `start + k * per_ns / ios`, exactly, so that any
//! length of time gets the number of I/Os that was requested. After a stall the schedule is caught
//! up with, as `DiskSpd`'s cumulative budget does.

use super::random::Random;
use crate::plan::{Arrivals, Burst, Pace};

/// Whether the next I/O may be issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Now.
    Now {
        /// The time at which it was meant to be issued.
        intended_ns: u64,
    },
    /// Not before this instant.
    At(u64),
}

/// I/Os of a schedule that were due and not issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overdue {
    /// When: for several, the middle one.
    pub due_ns: u64,
    /// How many.
    pub ios: u64,
}

/// So many that are overdue are entered one by one; of more, as many stretches, each by its middle. Who asks
/// for a thousand million a second would otherwise wait longer for the end than for the load.
const MOST_OVERDUE: u64 = 1_000_000;

/// No count goes beyond this one, so that those of all threads together are numbers still.
const MOST_COUNTED: u128 = 10_000_000_000_000;

/// The schedule of one thread on one target.
#[derive(Debug, Clone)]
pub struct Pacer {
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Unlimited,
    Rate(Rate),
    Poisson(Poisson),
    Bursts(Bursts),
}

/// The instants `start + k * per_ns / ios`, walked without division: `whole_ns + rest / ios` is the
/// distance between two of them.
#[derive(Debug, Clone)]
struct Rate {
    due_ns: u64,
    whole_ns: u64,
    rest: u64,
    ios: u64,
    carried: u64,
}

/// A Poisson process: the distances are exponential with the rate's mean. The instants are kept as a sum
/// of whole nanoseconds and a fraction, so that no rounding drifts.
#[derive(Debug, Clone)]
struct Poisson {
    due_ns: u64,
    fraction_ns: f64,
    mean_ns: f64,
    random: Random,
}

#[derive(Debug, Clone)]
struct Bursts {
    plan: Burst,
    issued: u32,
    wait_until_ns: u64,
    last_poll_ns: u64,
    from_completion: bool,
}

impl Pacer {
    /// A schedule that begins at `start_ns`. A rate makes bursts meaningless, as in `DiskSpd`. The seed
    /// decides random arrivals.
    #[must_use]
    pub fn new(pace: Option<Pace>, burst: Option<Burst>, start_ns: u64, seed: u64) -> Self {
        let kind = match (pace, burst) {
            (Some(pace), _) if pace.arrivals == Arrivals::Poisson => {
                Kind::Poisson(Poisson::new(pace, start_ns, seed))
            }
            (Some(pace), _) => Kind::Rate(Rate::new(pace, start_ns)),
            (None, Some(plan)) if plan.ios > 0 => Kind::Bursts(Bursts {
                plan,
                issued: 0,
                wait_until_ns: start_ns,
                last_poll_ns: start_ns,
                from_completion: false,
            }),
            _ => Kind::Unlimited,
        };
        Self { kind }
    }

    /// The same schedule for a backend whose issuing ends only when the I/O does: the gap behind a burst
    /// then begins with the end of its last I/O, as it does in `DiskSpd`.
    #[must_use]
    pub fn with_blocking_issue(mut self) -> Self {
        if let Kind::Bursts(bursts) = &mut self.kind {
            bursts.from_completion = true;
        }
        self
    }

    /// Enters that an I/O of this schedule has completed.
    #[inline]
    pub fn completed(&mut self, now_ns: u64) {
        if let Kind::Bursts(bursts) = &mut self.kind {
            bursts.completed(now_ns);
        }
    }

    /// Whether each I/O is due as soon as it can be issued.
    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        matches!(self.kind, Kind::Unlimited)
    }

    /// The I/Os that were due before an instant and have not been issued; nothing without a schedule.
    pub fn overdue(&self, until_ns: u64) -> impl Iterator<Item = Overdue> {
        let mut rest = self.clone();
        let mut left = rest.count_before(until_ns);
        let step = left.div_ceil(MOST_OVERDUE).max(1);
        std::iter::from_fn(move || {
            let due_ns = rest.next_due_ns().filter(|due_ns| *due_ns < until_ns)?;
            if step == 1 {
                rest.issued();
                return Some(Overdue { due_ns, ios: 1 });
            }
            let ios = step.min(left);
            left -= ios;
            let middle = (ios.checked_sub(1)?) / 2;
            rest.skip(middle);
            let due_ns = rest.next_due_ns()?;
            rest.skip(ios - middle);
            Some(Overdue { due_ns, ios })
        })
    }

    /// How many are due before an instant; of random arrivals, how many are expected.
    fn count_before(&self, until_ns: u64) -> u64 {
        let count = match &self.kind {
            Kind::Rate(rate) => rate.count_before(until_ns),
            Kind::Poisson(process) => process.count_before(until_ns),
            Kind::Unlimited | Kind::Bursts(_) => 0,
        };
        u64::try_from(count.min(MOST_COUNTED)).unwrap_or(0)
    }

    /// Passes over so many; of random arrivals, over the time that they are expected to take.
    fn skip(&mut self, ios: u64) {
        match &mut self.kind {
            Kind::Rate(rate) => rate.skip(ios),
            Kind::Poisson(process) => process.skip(ios),
            Kind::Unlimited | Kind::Bursts(_) => {}
        }
    }

    /// When the next I/O of a schedule is due; a rate without limit is none.
    fn next_due_ns(&self) -> Option<u64> {
        match &self.kind {
            Kind::Rate(rate) if rate.whole_ns > 0 || rate.rest > 0 => Some(rate.due_ns),
            Kind::Poisson(process) if process.mean_ns > 0.0 => Some(process.due_ns),
            _ => None,
        }
    }

    /// Whether the next I/O may be issued at `now_ns`.
    #[inline]
    pub fn poll(&mut self, now_ns: u64) -> Due {
        match &mut self.kind {
            Kind::Unlimited => Due::Now { intended_ns: now_ns },
            Kind::Rate(rate) => due(rate.due_ns, rate.due_ns, now_ns),
            Kind::Poisson(process) => due(process.due_ns, process.due_ns, now_ns),
            Kind::Bursts(bursts) => {
                bursts.last_poll_ns = now_ns;
                due(bursts.wait_until_ns, now_ns, now_ns)
            }
        }
    }

    /// Enters that the I/O which was polled for has been issued.
    #[inline]
    pub fn issued(&mut self) {
        match &mut self.kind {
            Kind::Unlimited => {}
            Kind::Rate(rate) => rate.advance(),
            Kind::Poisson(process) => process.advance(),
            Kind::Bursts(bursts) => bursts.advance(),
        }
    }
}

#[inline]
fn due(not_before_ns: u64, intended_ns: u64, now_ns: u64) -> Due {
    if not_before_ns <= now_ns { Due::Now { intended_ns } } else { Due::At(not_before_ns) }
}

impl Rate {
    fn new(pace: Pace, start_ns: u64) -> Self {
        let ios = pace.ios.max(1);
        Self {
            due_ns: start_ns.saturating_add(pace.phase_ns),
            whole_ns: pace.per_ns / ios,
            rest: pace.per_ns % ios,
            ios,
            carried: 0,
        }
    }

    #[inline]
    fn advance(&mut self) {
        self.due_ns = self.due_ns.saturating_add(self.whole_ns);
        // carried and rest are both below ios; their sum may exceed u64, so compare without adding.
        if self.carried >= self.ios - self.rest {
            self.carried -= self.ios - self.rest;
            self.due_ns = self.due_ns.saturating_add(1);
        } else {
            self.carried += self.rest;
        }
    }

    fn per_ns(&self) -> u128 {
        u128::from(self.whole_ns) * u128::from(self.ios) + u128::from(self.rest)
    }

    fn count_before(&self, until_ns: u64) -> u128 {
        let span = u128::from(until_ns.saturating_sub(self.due_ns)) * u128::from(self.ios);
        // A rate without limit is none.
        span.saturating_sub(u128::from(self.carried)).div_ceil(self.per_ns().max(1))
    }

    fn skip(&mut self, ios: u64) {
        let passed = u128::from(ios).saturating_mul(self.per_ns()) + u128::from(self.carried);
        let (whole_ns, carried) = (passed / u128::from(self.ios), passed % u128::from(self.ios));
        self.due_ns = self.due_ns.saturating_add(u64::try_from(whole_ns).unwrap_or(u64::MAX));
        self.carried = u64::try_from(carried).unwrap_or(0);
    }
}

impl Poisson {
    fn new(pace: Pace, start_ns: u64, seed: u64) -> Self {
        let mut process = Self {
            due_ns: start_ns,
            fraction_ns: 0.0,
            mean_ns: pace.per_ns as f64 / pace.ios.max(1) as f64,
            random: Random::new(seed ^ 0x5045_4143),
        };
        process.advance();
        process
    }

    #[inline]
    fn advance(&mut self) {
        // A uniform number above 0 and at most 1, of 53 bits.
        let uniform = ((self.random.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        let distance_ns = self.fraction_ns - self.mean_ns * uniform.ln();
        let whole_ns = distance_ns.floor();
        self.fraction_ns = distance_ns - whole_ns;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a distance is not negative, and the conversion saturates"
        )]
        let whole_ns = whole_ns as u64;
        self.due_ns = self.due_ns.saturating_add(whole_ns);
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count is not negative, and the conversion saturates"
    )]
    fn count_before(&self, until_ns: u64) -> u128 {
        let span_ns = until_ns.saturating_sub(self.due_ns) as f64;
        if self.mean_ns > 0.0 { (span_ns / self.mean_ns) as u128 } else { 0 }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a time is not negative, and the conversion saturates"
    )]
    fn skip(&mut self, ios: u64) {
        self.due_ns = self.due_ns.saturating_add((ios as f64 * self.mean_ns) as u64);
    }
}

impl Bursts {
    #[inline]
    fn advance(&mut self) {
        self.issued += 1;
        if self.issued == self.plan.ios {
            self.issued = 0;
            self.wait_until_ns = self.last_poll_ns.saturating_add(self.plan.gap_ns);
        }
    }

    #[inline]
    fn completed(&mut self, now_ns: u64) {
        if self.from_completion && self.issued == 0 {
            self.wait_until_ns = now_ns.saturating_add(self.plan.gap_ns);
        }
    }
}

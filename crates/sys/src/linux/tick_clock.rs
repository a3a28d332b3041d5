//! The monotonic clock, read by way of the processor's cycle counter.
//!
//! A read of the kernel's clock costs as much as the rest of the loop for one I/O. The cycle counter costs
//! less than half of that. It is used only where the kernel itself keeps time by it, which means that it
//! runs at one rate and is the same on all CPUs (`Documentation/timers/timekeeping.rst` of the kernel).
//! At least once in each millisecond of use the kernel's clock is read and the counter is tied to it
//! again, so that a steered clock is followed and errors do not add up.

use std::cell::Cell;
use std::sync::OnceLock;

use super::clock::now_ns;

/// Longest use of the counter before it is tied to the kernel's clock again.
const TIE_EVERY_NS: u64 = 1_000_000;
/// Least time from which the counter's rate is taken: an error of 100 ns in it is one in 20,000, and so
/// 50 ns until the next tie.
const RATE_FROM_NS: u64 = 2_000_000;
/// The rate is taken from the last one or two stretches of this length, so that it follows a clock that
/// is steered.
const RATE_STRETCH_NS: u64 = 500_000_000;
/// A reading of both clocks is good if no more ticks than this lie around it; about 200 ns.
const GOOD_PAIR_TICKS: u64 = 600;
/// A reading with more ticks around it was interrupted, and is not used.
const BAD_PAIR_TICKS: u64 = 3_000;
/// Attempts at a good reading.
const ATTEMPTS: usize = 4;
/// Binary digits behind the point of a rate.
const RATE_BITS: u32 = 32;

/// Both clocks at one instant.
#[derive(Debug, Clone, Copy, Default)]
struct Pair {
    ticks: u64,
    nanos: u64,
}

/// One thread's clock. It shows nanoseconds of the monotonic clock and never goes back.
#[derive(Debug)]
pub struct TickClock {
    /// The beginning of the stretch that the rate is taken from.
    base: Cell<Pair>,
    /// Where the next such stretch begins.
    next_base: Cell<Pair>,
    /// The last reading of both clocks.
    tie: Cell<Pair>,
    /// Nanoseconds per tick, shifted by [`RATE_BITS`].
    rate: Cell<u64>,
    /// Ticks after the last tie for which it holds; 0 while the rate is not known, or there is no counter.
    valid_ticks: Cell<u64>,
    last_ns: Cell<u64>,
    counts: bool,
}

impl TickClock {
    /// A clock for the calling thread.
    #[must_use]
    pub fn new() -> Self {
        let counts = kernel_keeps_time_by_the_counter();
        let first = if counts { pair().0 } else { Pair::default() };
        Self {
            base: Cell::new(first),
            next_base: Cell::new(first),
            tie: Cell::new(first),
            rate: Cell::new(0),
            valid_ticks: Cell::new(0),
            last_ns: Cell::new(0),
            counts,
        }
    }

    /// Nanoseconds on the monotonic clock.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        let tie = self.tie.get();
        let since = if self.counts { ticks().wrapping_sub(tie.ticks) } else { u64::MAX };
        let now = if since < self.valid_ticks.get() {
            tie.nanos + ((since * self.rate.get()) >> RATE_BITS)
        } else {
            self.tie_again()
        };
        let now = now.max(self.last_ns.get());
        self.last_ns.set(now);
        now
    }

    /// Reads the kernel's clock, and ties the counter to it.
    #[cold]
    fn tie_again(&self) -> u64 {
        if !self.counts {
            return now_ns();
        }
        let (tie, is_good) = pair();
        if !is_good {
            self.valid_ticks.set(0);
            return tie.nanos;
        }
        let base = self.base.get();
        let (span_ns, span_ticks) = (tie.nanos - base.nanos, tie.ticks.wrapping_sub(base.ticks));
        if span_ns >= RATE_FROM_NS && span_ticks > 0 {
            let rate = (u128::from(span_ns) << RATE_BITS) / u128::from(span_ticks);
            let valid = u128::from(TIE_EVERY_NS) * u128::from(span_ticks) / u128::from(span_ns);
            self.rate.set(u64::try_from(rate).unwrap_or(0));
            self.valid_ticks.set(u64::try_from(valid).unwrap_or(0));
        }
        if tie.nanos - self.next_base.get().nanos > RATE_STRETCH_NS {
            self.base.set(self.next_base.replace(tie));
        }
        self.tie.set(tie);
        tie.nanos
    }
}

impl Default for TickClock {
    fn default() -> Self {
        Self::new()
    }
}

/// Both clocks at one instant: the closest of a few readings, and whether it is close enough.
fn pair() -> (Pair, bool) {
    let mut best = (u64::MAX, Pair::default());
    for _ in 0..ATTEMPTS {
        let before = ticks();
        let nanos = now_ns();
        let around = ticks().wrapping_sub(before);
        if around < best.0 {
            best = (around, Pair { ticks: before + around / 2, nanos });
        }
        if around < GOOD_PAIR_TICKS {
            break;
        }
    }
    (best.1, best.0 < BAD_PAIR_TICKS)
}

/// Whether the kernel's own clock is the cycle counter; asked once, as thousands of threads want to know.
fn kernel_keeps_time_by_the_counter() -> bool {
    const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        cfg!(target_arch = "x86_64")
            && std::fs::read_to_string(SOURCE).is_ok_and(|source| source.trim() == "tsc")
    })
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn ticks() -> u64 {
    // SAFETY: the instruction exists on every x86-64 processor and touches no memory.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn ticks() -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bounds are readings of the kernel's clock around each reading of ours, so that a thread that is
    /// interrupted only widens them.
    #[test]
    fn the_counter_follows_the_kernels_clock_within_a_microsecond_and_never_goes_back() {
        let clock = TickClock::new();
        let mut last_ns = 0;
        for round in 0..200_000_u64 {
            let before_ns = now_ns();
            let shown_ns = clock.now_ns();
            let after_ns = now_ns();
            assert!(shown_ns + 1000 >= before_ns, "{shown_ns} is late, it is {before_ns}");
            assert!(shown_ns <= after_ns + 1000, "{shown_ns} is early, it is {after_ns}");
            assert!(shown_ns >= last_ns);
            last_ns = shown_ns;
            if round % 20_000 == 0 {
                super::super::clock::sleep_until_ns(after_ns + 3_000_000);
            }
        }
    }

    #[test]
    fn the_counter_is_used_where_the_kernel_uses_it() {
        let clock = TickClock::new();
        let until_ns = clock.now_ns() + 2 * RATE_FROM_NS;
        while clock.now_ns() < until_ns {}
        assert_eq!(clock.valid_ticks.get() > 0, kernel_keeps_time_by_the_counter());
    }
}

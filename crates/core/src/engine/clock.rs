//! Time is handed in, so that a simulated run and a real one share the loop.

/// A monotonic clock.
pub trait Clock {
    /// Nanoseconds since some fixed instant.
    fn now_ns(&self) -> u64;
    /// Waits until the clock shows `deadline_ns`; may return early.
    fn sleep_until_ns(&self, deadline_ns: u64);
}

/// The machine's monotonic clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealClock;

impl Clock for RealClock {
    #[inline]
    fn now_ns(&self) -> u64 {
        fathom_sys::clock::now_ns()
    }

    fn sleep_until_ns(&self, deadline_ns: u64) {
        fathom_sys::clock::sleep_until_ns(deadline_ns);
    }
}

/// The machine's monotonic clock for the loop of one thread, which reads it for each batch of I/Os.
#[derive(Debug, Default)]
pub struct LoopClock(fathom_sys::tick_clock::TickClock);

impl Clock for LoopClock {
    #[inline]
    fn now_ns(&self) -> u64 {
        self.0.now_ns()
    }

    fn sleep_until_ns(&self, deadline_ns: u64) {
        fathom_sys::clock::sleep_until_ns(deadline_ns);
    }
}

/// The instants of one time span, on the clock of its workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// Load begins.
    pub start_ns: u64,
    /// The measured time begins.
    pub measure_from_ns: u64,
    /// The measured time ends.
    pub measure_until_ns: u64,
    /// Load ends.
    pub stop_ns: u64,
}

impl Schedule {
    /// The phases of a plan, one after the other from `start_ns`.
    #[must_use]
    pub fn new(plan: &crate::plan::SpanPlan, start_ns: u64) -> Self {
        let measure_from_ns = start_ns.saturating_add(plan.warm_up_ns);
        let measure_until_ns = measure_from_ns.saturating_add(plan.measured_ns);
        let stop_ns = measure_until_ns.saturating_add(plan.cool_down_ns);
        Self { start_ns, measure_from_ns, measure_until_ns, stop_ns }
    }

    /// Moves the end of the measured time; what follows it moves along.
    #[inline]
    pub fn end_measured_at(&mut self, until_ns: u64) {
        if until_ns != self.measure_until_ns {
            let cool_down_ns = self.stop_ns - self.measure_until_ns;
            self.measure_until_ns = until_ns;
            self.stop_ns = until_ns.saturating_add(cool_down_ns);
        }
    }
}

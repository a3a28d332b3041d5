//! The one interface between running and showing. There is no event per I/O.

/// A phase of a time span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Load before the measured time.
    WarmUp,
    /// The measured time.
    Measured,
    /// Load after the measured time.
    CoolDown,
}

/// Something that happened while a run was under way.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A step of the run, in words, for verbose output.
    Step(String),
    /// A file is being filled.
    Filling {
        /// Name of the file.
        name: String,
        /// Bytes written so far.
        done_bytes: u64,
        /// Bytes to write.
        total_bytes: u64,
    },
    /// A target is being verified after its run.
    Verifying {
        /// Name of the target.
        name: String,
        /// Bytes verified so far.
        done_bytes: u64,
        /// Bytes to verify.
        total_bytes: u64,
    },
    /// A phase of a time span began.
    PhaseStarted {
        /// Position of the time span, from 0.
        span: usize,
        /// The phase.
        phase: Phase,
        /// Its planned length.
        planned_ns: u64,
    },
    /// The figures of one second of load, if somebody looks at them.
    Live {
        /// Seconds since the load began, at the end of the one that is told.
        second: u64,
        /// I/Os completed in it.
        ios: u64,
        /// Bytes that these transferred.
        bytes: u64,
        /// I/Os in flight at its end.
        in_flight: u64,
        /// Latency that 50, 99 and 99.9 percent of the I/Os did not exceed.
        latency_ns: [u64; 3],
    },
    /// Some thread completed another batch of I/Os, as often as the plan asks for.
    Progress,
    /// A target failed, in words.
    TargetFailed {
        /// Name of the target.
        name: String,
        /// What happened.
        reason: String,
    },
    /// The run waits for a target from now on, outside the load; for what, as a clause such as
    /// ``look at 'a'``. It is told to whoever supervises the run, and goes no further.
    Entered(String),
    /// What was entered has come back.
    Left,
    /// The time span is over.
    Finished {
        /// Position of the time span, from 0.
        span: usize,
    },
}

/// A consumer of events. Threads share it, so it must be quick and never fail.
pub type EventSink<'a> = &'a (dyn Fn(Event) + Sync);

//! A small language for plans in tests: `span(target(1 << 20)).random().seconds(60)`.

use fathom_core::plan::{
    Arrivals, Assignment, Burst, EffectiveRange, EngineKind, FaultPolicy, OffsetPlan, OpenPlan,
    Order, Pace, PayloadPlan, Skew, SpanPlan, StopRules, TargetKind, TargetPlan, ThreadPlan,
};
use fathom_core::request::{OnError, Priority};
use fathom_core::storage::Location;
use fathom_core::units::NANOS_PER_SEC;

/// Bytes per I/O in all plans.
pub const BLOCK: u64 = 4096;

/// One thread with one outstanding I/O, sequential over a virtual target of `size_bytes`, for 1 s.
pub fn span(size_bytes: u64) -> SpanPlan {
    let target = TargetPlan {
        location: Location::here("virtual"),
        name: "virtual".to_owned(),
        kind: TargetKind::Virtual,
        size_bytes,
        open: OpenPlan::default(),
        block_bytes: u32::try_from(BLOCK).unwrap(),
        offsets: OffsetPlan {
            base_bytes: 0,
            end_bytes: size_bytes,
            block_bytes: BLOCK,
            align_bytes: BLOCK,
            order: Order::Sequential,
            ranges: Vec::new(),
            skew: None,
        },
        write_percent: 0,
        mix: None,
        payload: PayloadPlan::CountingPattern,
        huge_pages: false,
        sector_bytes: 512,
        priority: Priority::Normal,
    };
    let span = SpanPlan {
        index: 0,
        create: Vec::new(),
        warm_up_ns: 0,
        measured_ns: NANOS_PER_SEC,
        stop: StopRules::default(),
        faults: FaultPolicy::default(),
        cool_down_ns: 0,
        interval_ns: 0,
        measure_latency: true,
        interval_latency: false,
        progress_every_ios: 0,
        shared_outstanding: 0,
        targets: vec![target],
        threads: Vec::new(),
    };
    span.threads(1)
}

/// Changes to a plan, each telling one thing.
pub trait Tell {
    /// Random, uniform.
    fn random(self) -> Self;
    /// In this order.
    fn order(self, order: Order) -> Self;
    /// Aligned to, or with a stride of, so many bytes.
    fn align(self, bytes: u64) -> Self;
    /// Within this range.
    fn range(self, base_bytes: u64, end_bytes: u64) -> Self;
    /// Shares in percent, start and end.
    fn shares(self, shares: &[(f64, u64, u64)]) -> Self;
    /// Skewed in this way.
    fn skew(self, skew: Skew) -> Self;
    /// So many outstanding I/Os per thread.
    fn outstanding(self, outstanding: u32) -> Self;
    /// So many threads, each starting at its own multiple of the given stride.
    fn threads(self, threads: usize) -> Self;
    /// The given share of writes.
    fn writes(self, percent: u32) -> Self;
    /// Measured for so many seconds.
    fn seconds(self, seconds: u64) -> Self;
    /// Measured for so many milliseconds.
    fn milliseconds(self, milliseconds: u64) -> Self;
    /// A rate for each thread.
    fn pace(self, ios: u64, per_ns: u64) -> Self;
    /// Random arrivals for the rate of each thread.
    fn poisson(self) -> Self;
    /// These rules end the measured time.
    fn stop(self, rules: StopRules) -> Self;
    /// Bursts for each thread.
    fn bursts(self, ios: u32, gap_ns: u64) -> Self;
    /// What an I/O that fails does.
    fn on_error(self, on_error: OnError) -> Self;
}

impl Tell for SpanPlan {
    fn random(self) -> Self {
        self.order(Order::Random)
    }

    fn order(mut self, order: Order) -> Self {
        self.targets[0].offsets.order = order;
        self
    }

    fn align(mut self, bytes: u64) -> Self {
        self.targets[0].offsets.align_bytes = bytes;
        self
    }

    fn range(mut self, base_bytes: u64, end_bytes: u64) -> Self {
        self.targets[0].offsets.base_bytes = base_bytes;
        self.targets[0].offsets.end_bytes = end_bytes;
        for thread in &mut self.threads {
            thread.assignments[0].start_bytes = base_bytes;
        }
        self
    }

    fn shares(mut self, shares: &[(f64, u64, u64)]) -> Self {
        let range = |&(io_percent, start_bytes, end_bytes)| EffectiveRange {
            io_percent,
            start_bytes,
            end_bytes,
        };
        self.targets[0].offsets.ranges = shares.iter().map(range).collect();
        self
    }

    fn skew(mut self, skew: Skew) -> Self {
        self.targets[0].offsets.skew = Some(skew);
        self
    }

    fn outstanding(mut self, outstanding: u32) -> Self {
        for thread in &mut self.threads {
            thread.assignments[0].outstanding = outstanding;
        }
        self
    }

    fn threads(mut self, threads: usize) -> Self {
        let thread = |index| ThreadPlan {
            index,
            cpu: None,
            engine: EngineKind::Null,
            worker_cpus: Vec::new(),
            tries_ways: false,
            registers_buffers: true,
            engine_fallback: None,
            tuning: fathom_core::plan::IoTuning::default(),
            seed: index as u64,
            assignments: vec![Assignment {
                target: 0,
                relative_thread: u32::try_from(index).unwrap(),
                outstanding: 1,
                weight: 1,
                start_bytes: self.targets[0].offsets.base_bytes,
                pace: None,
                burst: None,
            }],
        };
        self.threads = (0..threads).map(thread).collect();
        self
    }

    fn writes(mut self, percent: u32) -> Self {
        self.targets[0].write_percent = percent;
        self
    }

    fn seconds(mut self, seconds: u64) -> Self {
        self.measured_ns = seconds * NANOS_PER_SEC;
        self
    }

    fn milliseconds(mut self, milliseconds: u64) -> Self {
        self.measured_ns = milliseconds * 1_000_000;
        self
    }

    fn pace(mut self, ios: u64, per_ns: u64) -> Self {
        for thread in &mut self.threads {
            thread.assignments[0].pace = Some(Pace::constant(ios, per_ns));
        }
        self
    }

    fn poisson(mut self) -> Self {
        for thread in &mut self.threads {
            if let Some(pace) = &mut thread.assignments[0].pace {
                pace.arrivals = Arrivals::Poisson;
            }
        }
        self
    }

    fn stop(mut self, rules: StopRules) -> Self {
        self.stop = rules;
        self
    }

    fn on_error(mut self, on_error: OnError) -> Self {
        self.faults.on_error = Some(on_error);
        self
    }

    fn bursts(mut self, ios: u32, gap_ns: u64) -> Self {
        for thread in &mut self.threads {
            thread.assignments[0].burst = Some(Burst { ios, gap_ns });
        }
        self
    }
}

//! Small plans for tests.

use std::path::Path;

use crate::plan::{
    Assignment, EngineKind, FaultPolicy, OffsetPlan, OpenPlan, Order, PayloadPlan, SpanPlan,
    StopRules, TargetKind, TargetPlan, ThreadPlan,
};

/// A target that nothing has touched yet.
pub(crate) fn target(path: &Path, write_percent: u32) -> TargetPlan {
    TargetPlan {
        location: crate::storage::Location::here(path),
        name: path.display().to_string(),
        kind: TargetKind::File,
        size_bytes: 0,
        open: OpenPlan::default(),
        block_bytes: 4096,
        offsets: OffsetPlan {
            base_bytes: 0,
            end_bytes: 0,
            block_bytes: 4096,
            align_bytes: 4096,
            order: Order::Sequential,
            ranges: Vec::new(),
            skew: None,
        },
        write_percent,
        mix: None,
        payload: PayloadPlan::CountingPattern,
        huge_pages: false,
        sector_bytes: 512,
        priority: crate::request::Priority::Normal,
    }
}

/// A time span over `targets`, without threads.
pub(crate) fn span(targets: Vec<TargetPlan>) -> SpanPlan {
    SpanPlan {
        index: 0,
        create: Vec::new(),
        warm_up_ns: 0,
        measured_ns: 1,
        stop: StopRules::default(),
        faults: FaultPolicy::default(),
        cool_down_ns: 0,
        interval_ns: 0,
        measure_latency: false,
        interval_latency: false,
        progress_every_ios: 0,
        shared_outstanding: 0,
        targets,
        threads: Vec::new(),
    }
}

/// A thread on target 0 that starts at `start_bytes`.
pub(crate) fn thread(index: usize, engine: EngineKind, start_bytes: u64) -> ThreadPlan {
    let assignment = Assignment {
        target: 0,
        relative_thread: u32::try_from(index).unwrap_or(0),
        outstanding: 1,
        weight: 1,
        start_bytes,
        pace: None,
        burst: None,
    };
    ThreadPlan {
        index,
        cpu: None,
        engine,
        worker_cpus: Vec::new(),
        tries_ways: false,
        registers_buffers: true,
        engine_fallback: None,
        tuning: crate::plan::IoTuning::default(),
        seed: 0,
        assignments: vec![assignment],
    }
}

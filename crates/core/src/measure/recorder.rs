//! One thread's own statistics: nothing shared, nothing allocated while I/Os complete.

use std::hint::select_unpredictable;

use super::{
    Edges, FaultBook, FaultKind, IntervalFields, IntervalSeries, LatencyHistogram, Operation, Slots,
};
use crate::plan::SpanPlan;

/// Counters of one kind of operation on one target of one thread.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DirectionRecord {
    /// I/Os completed in the measured time.
    pub ios: u64,
    /// Bytes that were moved.
    pub bytes: u64,
    /// I/Os that moved fewer bytes than requested; not part of `ios`, though these bytes are of `bytes`.
    pub short_ios: u64,
    /// I/Os that failed in the measured time; not part of `ios`.
    pub errors: u64,
    /// Service times; absent when latency is not measured.
    pub latency: Option<LatencyHistogram>,
    /// Response times, from the intended start; absent when latency is not measured, or when I/Os are
    /// issued without a schedule and so have no intended start of their own.
    pub response: Option<Box<LatencyHistogram>>,
    /// I/Os per interval; empty when no series is kept.
    pub series: IntervalSeries,
    /// I/Os per interval by their latency; absent when that is not kept.
    pub interval_latency: Option<IntervalFields>,
    /// What was in flight at both ends of the measured time.
    pub edges: Edges,
    /// Ages of what was in flight at the end; absent if nothing was, or when latency is not measured.
    pub ages: Option<Box<LatencyHistogram>>,
    /// How late what was in flight at the end, or due and not issued, was then; absent if nothing was, or
    /// when response times are not kept.
    pub lateness: Option<Box<LatencyHistogram>>,
}

/// What one thread did to one target.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TargetRecord {
    /// Reads.
    pub read: DirectionRecord,
    /// Writes.
    pub write: DirectionRecord,
    /// Syncs of either kind; without a series.
    pub sync: DirectionRecord,
    /// Trims; without a series.
    pub trim: DirectionRecord,
    /// I/Os that went wrong, by kind.
    pub faults: FaultBook,
    /// The thread's slots for this target.
    pub slots: Slots,
}

impl TargetRecord {
    /// Reads and writes take turns by chance, so that a branch between them would be guessed wrong half of
    /// the time; the record is chosen without one.
    #[inline]
    fn of(&mut self, operation: Operation) -> &mut DirectionRecord {
        if !operation.moves_bytes() {
            return self.other(operation);
        }
        select_unpredictable(operation == Operation::Write, &mut self.write, &mut self.read)
    }

    #[cold]
    fn other(&mut self, operation: Operation) -> &mut DirectionRecord {
        if operation == Operation::Trim { &mut self.trim } else { &mut self.sync }
    }
}

/// What I/Os that completed at once have in common.
#[derive(Debug, Clone, Copy)]
pub struct Alike {
    /// Bytes that each moved.
    pub bytes: u64,
    /// When they completed, since the measured time began.
    pub since_start_ns: u64,
}

/// What is known of an I/O that completed.
#[derive(Debug, Clone, Copy)]
pub struct Completed {
    /// Bytes that it moved.
    pub bytes: u64,
    /// Its service time.
    pub latency_ns: u64,
    /// Its response time, which is entered where response times are kept.
    pub response_ns: u64,
    /// When it completed, since the measured time began.
    pub since_start_ns: u64,
}

impl DirectionRecord {
    #[inline]
    fn record_interval(&mut self, index: usize, bytes: u64, latency_ns: u64) {
        if let Some(cell) = self.series.cells.get_mut(index) {
            cell.add(bytes, latency_ns);
            if let Some(fields) = &mut self.interval_latency {
                fields.record(index, latency_ns);
            }
        }
    }

    fn new(measure_latency: bool, paced: bool, intervals: usize) -> Self {
        Self {
            latency: measure_latency.then(LatencyHistogram::new),
            response: (measure_latency && paced).then(Box::default),
            series: IntervalSeries::new(intervals),
            ..Self::default()
        }
    }
}

/// So many I/Os are entered together.
const TOGETHER: usize = 64;

/// I/Os that are entered together, all of one kind. One by one, each would wait for the memory of its bucket
/// before the next is issued; together, the processor fetches many at a time.
#[derive(Debug, Clone)]
struct Together {
    operation: Operation,
    bytes: u64,
    ios: usize,
    latencies_ns: [u64; TOGETHER],
}

/// The statistics of one thread.
#[derive(Debug, Clone)]
pub struct Recorder {
    targets: Vec<TargetRecord>,
    intervals: Intervals,
    together: Together,
}

/// The interval in which an I/O completed, found without a division as long as it is that of the last one.
#[derive(Debug, Clone, Copy)]
struct Intervals {
    interval_ns: u64,
    index: usize,
    from_ns: u64,
}

impl Intervals {
    #[inline]
    fn index_at(&mut self, since_start_ns: u64) -> usize {
        if self.is_over(since_start_ns) {
            self.move_to(since_start_ns);
        }
        self.index
    }

    #[inline]
    fn is_over(&self, since_start_ns: u64) -> bool {
        since_start_ns.wrapping_sub(self.from_ns) >= self.interval_ns
    }

    #[cold]
    fn move_to(&mut self, since_start_ns: u64) {
        let index = since_start_ns.checked_div(self.interval_ns).unwrap_or(0);
        self.from_ns = index * self.interval_ns;
        self.index = usize::try_from(index).unwrap_or(usize::MAX);
    }
}

impl Recorder {
    /// Books for `targets` targets of a time span; `paced` keeps response times beside service times.
    #[must_use]
    pub fn new(targets: usize, plan: &SpanPlan, paced: bool) -> Self {
        let (interval_ns, measured_ns) = (plan.interval_ns, plan.measured_ns);
        let intervals = if interval_ns == 0 { 0 } else { measured_ns.div_ceil(interval_ns) };
        let intervals = usize::try_from(intervals).unwrap_or(usize::MAX);
        let moving = || DirectionRecord {
            interval_latency: plan.interval_latency.then(|| IntervalFields::new(intervals)),
            ..DirectionRecord::new(plan.measure_latency, paced, intervals)
        };
        let record = TargetRecord {
            read: moving(),
            write: moving(),
            // A sync has no place in the schedule, so that it has no response time of its own.
            sync: DirectionRecord::new(plan.measure_latency, false, 0),
            trim: DirectionRecord::new(plan.measure_latency, paced, 0),
            faults: FaultBook::default(),
            slots: Slots::default(),
        };
        let intervals = Intervals { interval_ns, index: 0, from_ns: 0 };
        let (operation, latencies_ns) = (Operation::Read, [0; TOGETHER]);
        let together = Together { operation, bytes: 0, ios: 0, latencies_ns };
        Self { targets: vec![record; targets], intervals, together }
    }

    /// Enters a completion.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "once per I/O; left as a call of its own by each kind of worker, it saves and restores the \
                  registers of the hot loop (callgrind)"
    )]
    pub fn record(&mut self, target: usize, operation: Operation, completed: Completed) {
        let Completed { bytes, latency_ns, response_ns, since_start_ns } = completed;
        let record = self.targets[target].of(operation);
        record.ios += 1;
        record.bytes += bytes;
        if let Some(histogram) = &mut record.latency {
            histogram.record(latency_ns);
        }
        if let Some(histogram) = &mut record.response {
            histogram.record(response_ns);
        }
        if self.intervals.interval_ns > 0 {
            let index = self.intervals.index_at(since_start_ns);
            record.record_interval(index, bytes, latency_ns);
        }
    }

    /// Enters completions of one moment by their service times. They had no schedule, so that there are no
    /// response times of their own.
    #[inline]
    pub fn record_alike(
        &mut self,
        target: usize,
        operation: Operation,
        Alike { bytes, since_start_ns }: Alike,
        latencies_ns: impl ExactSizeIterator<Item = u64> + Clone,
    ) {
        let record = self.targets[target].of(operation);
        let ios = latencies_ns.len() as u64;
        record.ios += ios;
        record.bytes += ios * bytes;
        if let Some(histogram) = &mut record.latency {
            histogram.record_all(latencies_ns.clone());
        }
        if self.intervals.interval_ns > 0 {
            let index = self.intervals.index_at(since_start_ns);
            for latency_ns in latencies_ns {
                record.record_interval(index, bytes, latency_ns);
            }
        }
    }

    /// From now on, [`Self::record_repeated`] enters I/Os of this kind, on the first target.
    pub fn repeat(&mut self, operation: Operation, bytes: u64) {
        self.enter_together();
        (self.together.operation, self.together.bytes) = (operation, bytes);
    }

    /// Enters a completion of the kind that repeats, by its service time: it had no schedule, so that there
    /// is no response time of its own.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "once per I/O")]
    pub fn record_repeated(&mut self, latency_ns: u64, since_start_ns: u64) {
        if self.intervals.interval_ns > 0 && self.intervals.is_over(since_start_ns) {
            self.enter_together();
            self.intervals.move_to(since_start_ns);
        }
        let together = &mut self.together;
        together.latencies_ns[together.ios % TOGETHER] = latency_ns;
        together.ios += 1;
        if together.ios == TOGETHER {
            self.enter_together();
        }
    }

    #[inline(never)]
    fn enter_together(&mut self) {
        let Together { operation, bytes, ios, latencies_ns } = self.together;
        let alike = Alike { bytes, since_start_ns: self.intervals.from_ns };
        self.record_alike(0, operation, alike, latencies_ns[..ios].iter().copied());
        self.together.ios = 0;
    }

    /// Enters an I/O that was in flight when the measured time began, and its age then.
    #[cold]
    pub fn record_at_start(&mut self, target: usize, operation: Operation, age_ns: u64) {
        self.record_of(target, operation).edges.at_start.add(age_ns);
    }

    /// Enters an I/O that was in flight when the measured time ended, its age, and how late it was then.
    #[cold]
    pub fn record_at_end(
        &mut self,
        target: usize,
        operation: Operation,
        age_ns: u64,
        late_ns: u64,
    ) {
        let record = self.record_of(target, operation);
        record.edges.at_end.add(age_ns);
        if record.latency.is_some() {
            record.ages.get_or_insert_default().record(age_ns);
        }
        if record.response.is_some() {
            record.lateness.get_or_insert_default().record(late_ns);
        }
    }

    /// Enters I/Os that were due and not issued when the measured time ended, all of them so late.
    #[cold]
    pub fn record_not_issued(
        &mut self,
        target: usize,
        operation: Operation,
        ios: u64,
        late_ns: u64,
    ) {
        if ios == 0 {
            return;
        }
        let record = self.record_of(target, operation);
        record.edges.not_issued.add_several(ios, late_ns);
        if record.response.is_some() {
            record.lateness.get_or_insert_default().record_several(late_ns, ios);
        }
    }

    /// Enters the time that an I/O took whose latency does not count.
    #[cold]
    pub fn record_uncounted(&mut self, target: usize, operation: Operation, took_ns: u64) {
        let edges = &mut self.record_of(target, operation).edges;
        edges.uncounted_ns = edges.uncounted_ns.saturating_add(took_ns);
    }

    /// Counts an I/O that failed.
    #[cold]
    pub fn record_error(&mut self, target: usize, operation: Operation, errno: i32) {
        self.record_of(target, operation).errors += 1;
        self.targets[target].faults.add(operation, FaultKind::Errno(errno), true);
    }

    /// Counts an I/O that moved fewer bytes than requested, and these bytes.
    #[cold]
    pub fn record_short(&mut self, target: usize, operation: Operation, bytes: u64) {
        let record = self.record_of(target, operation);
        record.short_ios += 1;
        record.bytes += bytes;
        self.targets[target].faults.add(operation, FaultKind::Short, true);
    }

    /// Counts an I/O that completed outside of the measured time, if it went wrong: only that is known
    /// of it afterwards.
    #[cold]
    pub fn record_outside(&mut self, target: usize, operation: Operation, bytes: u32, result: i32) {
        let kind = match u32::try_from(result) {
            Err(_) => FaultKind::Errno(-result),
            Ok(moved) if operation.moves_bytes() && moved < bytes => FaultKind::Short,
            Ok(_) => return,
        };
        self.targets[target].faults.add(operation, kind, false);
    }

    /// Closes the statistics.
    #[must_use]
    pub fn finish(mut self) -> Vec<TargetRecord> {
        if self.together.ios > 0 {
            self.enter_together();
        }
        self.targets
    }

    fn record_of(&mut self, target: usize, operation: Operation) -> &mut DirectionRecord {
        self.targets[target].of(operation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::fixture;

    const BYTES: u64 = 4096;

    /// The records of so many I/Os, the latencies of which differ, one by one or together.
    fn recorded(ios: u64, interval_ns: u64, is_together: bool) -> Vec<TargetRecord> {
        let (measure_latency, interval_latency) = (true, interval_ns > 0);
        let measured_ns = ios * 900;
        let plan = crate::plan::SpanPlan {
            measured_ns,
            interval_ns,
            measure_latency,
            interval_latency,
            ..fixture::span(Vec::new())
        };
        let mut recorder = Recorder::new(1, &plan, false);
        let operation = Operation::Write;
        recorder.repeat(operation, BYTES);
        for io in 0..ios {
            let (latency_ns, since_start_ns) = (500 + io * 37 % 4_000, io * 1_000);
            if is_together {
                recorder.record_repeated(latency_ns, since_start_ns);
            } else {
                let response_ns = latency_ns;
                let completed = Completed { bytes: BYTES, latency_ns, response_ns, since_start_ns };
                recorder.record(0, operation, completed);
            }
        }
        recorder.finish()
    }

    /// Intervals begin in the midst of what is entered together, some pass without an I/O, and the last I/Os
    /// come behind all of them.
    #[test]
    fn what_is_entered_together_is_what_is_entered_one_by_one() {
        for ios in [0, 1, 63, 64, 65, 1_000] {
            for interval_ns in [0, 300, 7_500, 64_000] {
                let together = recorded(ios, interval_ns, true);
                assert_eq!(together, recorded(ios, interval_ns, false), "{ios}, {interval_ns}");
                assert_eq!(together[0].write.ios, ios);
            }
        }
    }
}

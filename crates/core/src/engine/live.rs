//! Figures of each second while a run is under way. Each thread keeps its own, and hands them over once a
//! second; nothing is shared in between.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::measure::{Event, EventSink, LatencyHistogram, TargetSecond};
use crate::units::NANOS_PER_SEC;

/// A second is reported once all threads have handed theirs over, or when this many later ones have passed:
/// a thread that waits for a slow I/O hands over late, and that counts in the first second still to be
/// reported.
const LATE_SECONDS: u64 = 2;

/// Targets beyond these are only told together: each has a histogram per thread.
const MOST_TARGETS: usize = 16;

#[derive(Debug, Default)]
struct Second {
    reports: usize,
    in_flight: u64,
    all: Part,
    /// Of each target, or nothing.
    targets: Vec<Part>,
}

/// What completed in a second, of one target or of all.
#[derive(Debug, Clone, Default)]
struct Part {
    ios: u64,
    bytes: u64,
    latency: LatencyHistogram,
}

impl Part {
    fn record(&mut self, bytes: u64, latency_ns: u64) {
        self.ios += 1;
        self.bytes += bytes;
        self.latency.record(latency_ns);
    }

    fn merge(&mut self, other: &Self) {
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.latency.merge(&other.latency);
    }
}

impl Second {
    fn of(targets: usize) -> Self {
        Self { targets: vec![Part::default(); targets], ..Self::default() }
    }
}

/// Where threads hand over their seconds.
#[derive(Debug)]
pub struct LiveBoard {
    threads: usize,
    /// The targets that are reported one by one; empty if there is one, or too many.
    names: Vec<String>,
    open: Mutex<Open>,
}

/// The seconds that are not reported yet, in their order.
#[derive(Debug, Default)]
struct Open {
    reported: u64,
    seconds: BTreeMap<u64, Second>,
    /// When the load of the last thread to begin it began, and when it ends.
    start_ns: u64,
    stop_ns: u64,
    /// What each thread had in flight when it last handed over.
    in_flight: Vec<u64>,
}

/// One thread's figures of the second under way.
#[derive(Debug)]
pub struct LiveFeed<'a> {
    board: &'a LiveBoard,
    thread: usize,
    start_ns: u64,
    stop_ns: u64,
    index: u64,
    current: Second,
    /// The target of each stream.
    places: Vec<usize>,
}

impl LiveBoard {
    /// A board for so many threads, and the targets of these names.
    #[must_use]
    pub fn new(threads: usize, mut names: Vec<String>) -> Self {
        if !(2..=MOST_TARGETS).contains(&names.len()) {
            names.clear();
        }
        Self { threads, names, open: Mutex::default() }
    }

    /// The figures of a thread whose load lasts from `start_ns` to `stop_ns` and keeps at most so many I/Os
    /// in flight; `places` is the target of each of its streams. There are no seconds behind its end, for
    /// however long it waits there.
    #[must_use]
    pub fn feed(
        &self,
        (start_ns, stop_ns): (u64, u64),
        most_in_flight: usize,
        places: Vec<usize>,
    ) -> LiveFeed<'_> {
        let current = Second::of(self.names.len());
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.start_ns = open.start_ns.max(start_ns);
        open.stop_ns = open.stop_ns.max(stop_ns);
        open.in_flight.push(most_in_flight as u64);
        let thread = open.in_flight.len() - 1;
        LiveFeed { board: self, thread, start_ns, stop_ns, index: 0, current, places }
    }

    fn add(&self, thread: usize, index: u64, part: &Second) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.in_flight[thread] = part.in_flight;
        let at = index.max(open.reported);
        let second = open.seconds.entry(at).or_insert_with(|| Second::of(self.names.len()));
        if at == index {
            second.reports += 1;
            second.in_flight += part.in_flight;
        }
        second.all.merge(&part.all);
        for (target, more) in second.targets.iter_mut().zip(&part.targets) {
            target.merge(more);
        }
    }

    /// Tells every second that is complete, in their order; where no thread hands anything over, as all of
    /// them wait, so many seconds without I/Os as have passed.
    pub fn tell(&self, sink: EventSink<'_>, now_ns: u64) {
        self.open_until(now_ns);
        self.tell_while(sink, |second, index, last| {
            second.reports >= self.threads || index + LATE_SECONDS <= last
        });
    }

    /// Tells all that is left, once no thread has anything more to hand over.
    pub fn tell_rest(&self, sink: EventSink<'_>) {
        self.tell_while(sink, |_, _, _| true);
    }

    /// Opens the second that is over, so that those before it are due.
    fn open_until(&self, now_ns: u64) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = now_ns.min(open.stop_ns).saturating_sub(open.start_ns) / NANOS_PER_SEC;
        if open.in_flight.is_empty() || passed <= open.reported + LATE_SECONDS {
            return;
        }
        for index in open.reported..passed {
            open.seconds.entry(index).or_insert_with(|| Second::of(self.names.len()));
        }
    }

    fn tell_while(&self, sink: EventSink<'_>, is_due: impl Fn(&Second, u64, u64) -> bool) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(last) = open.seconds.last_key_value().map(|(index, _)| *index)
            && let Some(first) = open.seconds.first_entry()
        {
            if !is_due(first.get(), *first.key(), last) {
                return;
            }
            let (index, mut second) = first.remove_entry();
            open.reported = index + 1;
            if second.reports < self.threads {
                // Whoever is silent has in flight what it last had.
                second.in_flight = open.in_flight.iter().sum();
            }
            sink(self.event(index, second));
        }
    }

    fn event(&self, index: u64, second: Second) -> Event {
        let told = |(name, part): (&String, Part)| TargetSecond {
            name: name.clone(),
            ios: part.ios,
            bytes: part.bytes,
            latency: Box::new(part.latency),
        };
        Event::Live {
            second: index + 1,
            ios: second.all.ios,
            bytes: second.all.bytes,
            in_flight: second.in_flight,
            latency: Box::new(second.all.latency),
            targets: self.names.iter().zip(second.targets).map(told).collect(),
        }
    }
}

impl LiveFeed<'_> {
    /// Enters a completion of a stream; a negative result is an I/O that failed.
    pub fn record(&mut self, stream: usize, result: i32, latency_ns: u64) {
        let Ok(bytes) = u64::try_from(result) else { return };
        self.current.all.record(bytes, latency_ns);
        let place = self.places.get(stream).copied().unwrap_or(usize::MAX);
        if let Some(target) = self.current.targets.get_mut(place) {
            target.record(bytes, latency_ns);
        }
    }

    /// Hands the second over when it has passed.
    #[inline]
    pub fn tick(&mut self, now_ns: u64, in_flight: usize) {
        let index = now_ns.min(self.stop_ns).saturating_sub(self.start_ns) / NANOS_PER_SEC;
        while self.index < index {
            // A thread that waited for a slow I/O has seconds in which nothing completed.
            self.current.in_flight = in_flight as u64;
            self.board.add(self.thread, self.index, &self.current);
            self.current = Second::of(self.board.names.len());
            self.index += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALWAYS: (u64, u64) = (0, u64::MAX);

    fn told(board: &LiveBoard) -> Vec<(u64, u64, u64)> {
        told_at(board, 0)
    }

    fn told_at(board: &LiveBoard, now_ns: u64) -> Vec<(u64, u64, u64)> {
        let told = Mutex::new(Vec::new());
        let keep = |event| {
            if let Event::Live { second, ios, in_flight, .. } = event {
                told.lock().unwrap().push((second, ios, in_flight));
            }
        };
        board.tell(&keep, now_ns);
        told.into_inner().unwrap()
    }

    #[test]
    fn a_second_is_told_when_all_threads_have_handed_it_over() {
        let board = LiveBoard::new(2, Vec::new());
        let (mut one, mut other) = (board.feed(ALWAYS, 0, vec![0]), board.feed(ALWAYS, 0, vec![0]));
        one.record(0, 4096, 1_000);
        other.record(0, 4096, 3_000);
        one.tick(NANOS_PER_SEC, 4);
        assert!(told(&board).is_empty());
        other.tick(NANOS_PER_SEC + 5, 3);
        assert_eq!(told(&board), [(1, 2, 7)]);
        assert!(told(&board).is_empty());
    }

    #[test]
    fn a_thread_that_waits_does_not_hold_up_the_others_for_ever() {
        let board = LiveBoard::new(2, Vec::new());
        let mut one = board.feed(ALWAYS, 0, vec![0]);
        for second in 1..=4 {
            one.record(0, 4096, 1_000);
            one.tick(second * NANOS_PER_SEC, 1);
        }
        assert_eq!(told(&board), [(1, 1, 1), (2, 1, 1)]);
    }

    #[test]
    fn a_second_was_told_again_with_what_a_thread_that_waited_handed_over_late() {
        let board = LiveBoard::new(2, Vec::new());
        let (mut one, mut other) = (board.feed(ALWAYS, 0, vec![0]), board.feed(ALWAYS, 0, vec![0]));
        other.record(0, 4096, 1_000);
        for second in 1..=4 {
            one.record(0, 4096, 1_000);
            one.tick(second * NANOS_PER_SEC, 1);
        }
        assert_eq!(told(&board), [(1, 1, 1), (2, 1, 1)]);
        // What had completed before the wait is no I/O of a second that was told; none is lost.
        other.tick(4 * NANOS_PER_SEC, 5);
        assert_eq!(told(&board), [(3, 2, 6), (4, 1, 6)]);
    }

    #[test]
    fn a_stall_is_told_as_seconds_without_ios() {
        let board = LiveBoard::new(1, Vec::new());
        let mut feed = board.feed(ALWAYS, 0, vec![0]);
        feed.record(0, 4096, 1_000);
        feed.tick(3 * NANOS_PER_SEC + 1, 2);
        assert_eq!(told(&board), [(1, 1, 2), (2, 0, 2), (3, 0, 2)]);
    }

    #[test]
    fn while_all_threads_waited_the_figures_of_the_second_before_were_those_of_now() {
        let board = LiveBoard::new(2, Vec::new());
        assert!(told_at(&board, 9 * NANOS_PER_SEC).is_empty());
        let start_ns = 10 * NANOS_PER_SEC;
        let (mut one, mut other) = (
            board.feed((start_ns, u64::MAX), 4, vec![0]),
            board.feed((start_ns, u64::MAX), 8, vec![0]),
        );
        one.record(0, 4096, 1_000);
        one.tick(start_ns + NANOS_PER_SEC, 3);
        let at = |seconds: u64| told_at(&board, start_ns + seconds * NANOS_PER_SEC);
        assert!(at(2).is_empty());
        // One had three in flight when it fell silent, and the other has not said anything yet.
        assert_eq!(at(3), [(1, 1, 11)]);
        assert_eq!(at(5), [(2, 0, 11), (3, 0, 11)]);
        one.record(0, 4096, 4_000_000_000);
        one.tick(start_ns + 6 * NANOS_PER_SEC, 4);
        other.record(0, 4096, 5_000_000_000);
        other.tick(start_ns + 6 * NANOS_PER_SEC, 8);
        let rest = at(6);
        assert_eq!(rest, [(4, 2, 12), (5, 0, 12), (6, 0, 12)]);
    }

    #[test]
    fn seconds_behind_the_end_were_told_while_a_thread_waited_there() {
        let board = LiveBoard::new(1, Vec::new());
        let mut feed = board.feed((0, 3 * NANOS_PER_SEC), 2, vec![0]);
        assert_eq!(told_at(&board, 12 * NANOS_PER_SEC), [(1, 0, 2)]);
        feed.tick(12 * NANOS_PER_SEC, 2);
        assert_eq!(told_at(&board, 12 * NANOS_PER_SEC), [(2, 0, 2), (3, 0, 2)]);
    }

    #[test]
    fn the_last_second_is_told_although_a_thread_never_handed_it_over() {
        let board = LiveBoard::new(2, Vec::new());
        let mut one = board.feed(ALWAYS, 0, vec![0]);
        one.record(0, 4096, 1_000);
        one.tick(NANOS_PER_SEC, 1);
        assert!(told(&board).is_empty());
        let rest = Mutex::new(0);
        board.tell_rest(&|_| *rest.lock().unwrap() += 1);
        assert_eq!(*rest.lock().unwrap(), 1);
    }

    #[test]
    fn failed_ios_are_not_counted() {
        let board = LiveBoard::new(1, Vec::new());
        let mut feed = board.feed(ALWAYS, 0, vec![0]);
        feed.record(0, -5, 1_000);
        feed.tick(NANOS_PER_SEC, 0);
        assert_eq!(told(&board), [(1, 0, 0)]);
    }

    #[test]
    fn each_of_several_targets_is_told_beside_the_whole() {
        let board = LiveBoard::new(1, vec!["a".to_owned(), "b".to_owned()]);
        let mut feed = board.feed(ALWAYS, 0, vec![1, 0]);
        feed.record(0, 4096, 1_000);
        feed.record(0, 4096, 1_000);
        feed.record(1, 512, 5_000);
        feed.tick(NANOS_PER_SEC, 1);
        let told = Mutex::new(Vec::new());
        let keep = |event| {
            if let Event::Live { ios, targets, .. } = event {
                let parts = targets.into_iter().map(|one| (one.name, one.ios, one.bytes));
                told.lock().unwrap().push((ios, parts.collect::<Vec<_>>()));
            }
        };
        board.tell(&keep, 0);
        let parts = vec![("a".to_owned(), 1, 512), ("b".to_owned(), 2, 8192)];
        assert_eq!(told.into_inner().unwrap(), [(3, parts)]);
    }

    #[test]
    fn one_target_alone_is_the_whole_and_many_are_not_told_apart() {
        for count in [1, MOST_TARGETS + 1] {
            let names = (0..count).map(|number| number.to_string()).collect();
            assert!(LiveBoard::new(1, names).names.is_empty());
        }
    }
}

//! I/Os per interval of all threads together. Each thread counts on its own and hands its count over when
//! an interval has passed; nothing is shared in between.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Where threads hand over their counts.
#[derive(Debug)]
pub struct IntervalBoard {
    threads: usize,
    interval_ns: u64,
    open: Mutex<Open>,
}

/// The intervals that not all threads have handed over.
#[derive(Debug, Default)]
struct Open {
    /// Index of the first of them.
    first: u64,
    /// Threads that have handed over, and their I/Os.
    counts: VecDeque<(usize, u64)>,
}

/// One thread's count of the interval under way.
#[derive(Debug)]
pub struct IntervalFeed<'a> {
    board: &'a IntervalBoard,
    index: u64,
    ends_ns: u64,
    from_ns: u64,
    ios: u64,
}

impl IntervalBoard {
    /// A board for so many threads and intervals of this length, which must not be 0.
    #[must_use]
    pub fn new(threads: usize, interval_ns: u64) -> Self {
        Self { threads, interval_ns, open: Mutex::default() }
    }

    /// A thread's counts from `from_ns` on.
    #[must_use]
    pub fn feed(&self, from_ns: u64) -> IntervalFeed<'_> {
        IntervalFeed { board: self, index: 0, ends_ns: from_ns + self.interval_ns, from_ns, ios: 0 }
    }

    /// The I/Os of each interval that all threads have handed over since the last time, in order.
    pub fn take(&self) -> Vec<u64> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let complete =
            open.counts.iter().take_while(|(threads, _)| *threads >= self.threads).count();
        open.first += complete as u64;
        open.counts.drain(..complete).map(|(_, ios)| ios).collect()
    }

    fn add(&self, index: u64, ios: u64) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // A thread hands each interval over once, so that no interval is taken before it has.
        let place = usize::try_from(index.saturating_sub(open.first)).unwrap_or(usize::MAX);
        if open.counts.len() <= place {
            open.counts.resize(place + 1, (0, 0));
        }
        open.counts[place].0 += 1;
        open.counts[place].1 += ios;
    }
}

impl IntervalFeed<'_> {
    /// Enters I/Os that completed at `now_ns`, and hands over each interval that has passed.
    #[inline]
    pub fn add(&mut self, now_ns: u64, ios: usize) {
        if now_ns < self.from_ns {
            return;
        }
        if now_ns >= self.ends_ns {
            self.hand_over(now_ns);
        }
        self.ios += ios as u64;
    }

    #[cold]
    fn hand_over(&mut self, now_ns: u64) {
        // A thread that waited for a slow I/O has seen nothing complete in several intervals.
        while now_ns >= self.ends_ns {
            self.board.add(self.index, std::mem::take(&mut self.ios));
            self.index += 1;
            self.ends_ns += self.board.interval_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_complete_when_all_threads_have_handed_it_over() {
        let board = IntervalBoard::new(2, 100);
        let (mut one, mut other) = (board.feed(1_000), board.feed(1_000));
        one.add(999, 50);
        one.add(1_000, 3);
        one.add(1_100, 1);
        assert!(board.take().is_empty());
        other.add(1_099, 4);
        other.add(1_100, 9);
        assert_eq!(board.take(), [7]);
        assert!(board.take().is_empty());
    }

    #[test]
    fn a_stall_makes_intervals_without_ios() {
        let board = IntervalBoard::new(1, 100);
        let mut feed = board.feed(0);
        feed.add(50, 2);
        feed.add(350, 1);
        feed.add(400, 5);
        assert_eq!(board.take(), [2, 0, 0, 1]);
        feed.add(500, 0);
        assert_eq!(board.take(), [5]);
    }
}

//! The I/Os that may still be issued and counted. Threads take them in portions, so that nothing is
//! shared per I/O, and yet the sum is exact.

use std::sync::{Mutex, PoisonError};

/// A portion is meant to last about this long: short enough that no thread waits long for another one
/// at the end, and long enough that taking it costs nothing.
const PORTION_NS: u64 = 1_000_000;
/// I/Os in a portion at most.
const PORTION_MAX: u64 = 4_096;

/// What is left for all threads.
#[derive(Debug)]
pub struct Pool {
    left: Mutex<Left>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Left {
    ios: u64,
    bytes: u64,
}

/// Which limit of a pool is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsedUp {
    /// That of the I/Os.
    Ios,
    /// That of the bytes.
    Bytes,
}

impl Pool {
    /// A pool of so many I/Os and bytes; what is absent is without limit.
    #[must_use]
    pub fn new(ios: Option<u64>, bytes: Option<u64>) -> Self {
        let left = Left { ios: ios.unwrap_or(u64::MAX), bytes: bytes.unwrap_or(u64::MAX) };
        Self { left: Mutex::new(left) }
    }

    /// Takes at most `wanted` I/Os of `block_bytes`; the last one may reach beyond the bytes.
    pub fn take(&self, wanted: u64, block_bytes: u64) -> u64 {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = left.available(block_bytes).min(wanted);
        left.subtract(taken, block_bytes);
        taken
    }

    /// Takes so many I/Os of so many bytes in all, or none.
    pub fn take_all(&self, ios: u64, bytes: u64) -> bool {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let enough = left.ios >= ios && left.bytes >= bytes;
        if enough {
            left.ios = left.ios.saturating_sub(ios);
            left.bytes = left.bytes.saturating_sub(bytes);
        }
        enough
    }

    /// The limit that is used up, if one is.
    pub fn used_up(&self) -> Option<UsedUp> {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        match (left.ios, left.bytes) {
            (0, _) => Some(UsedUp::Ios),
            (_, 0) => Some(UsedUp::Bytes),
            _ => None,
        }
    }
}

impl Left {
    fn available(self, block_bytes: u64) -> u64 {
        self.ios.min(self.bytes.div_ceil(block_bytes.max(1)))
    }

    fn subtract(&mut self, ios: u64, block_bytes: u64) {
        // What has no limit shrinks too, from so far up that no run sees its end.
        self.ios -= ios;
        self.bytes = self.bytes.saturating_sub(ios.saturating_mul(block_bytes));
    }
}

/// One stream's portions.
#[derive(Debug, Clone)]
pub struct Portions {
    size: u64,
    taken_ns: u64,
    /// I/Os of the stream's own pass that are left.
    pub pass_left: u64,
    /// Nothing is left for this stream.
    pub is_dry: bool,
}

impl Default for Portions {
    fn default() -> Self {
        Self { size: 1, taken_ns: 0, pass_left: u64::MAX, is_dry: false }
    }
}

impl Portions {
    /// The size of the next portion: more if the last one was used up soon, fewer if it lasted.
    pub fn next_size(&mut self, now_ns: u64) -> u64 {
        let lasted_ns = now_ns.saturating_sub(self.taken_ns);
        self.taken_ns = now_ns;
        self.size = if lasted_ns < PORTION_NS {
            (self.size * 2).min(PORTION_MAX)
        } else {
            self.size.div_ceil(2)
        };
        self.size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn racing_threads_take_exactly_what_there_is() {
        let pool = Pool::new(Some(100_003), None);
        let take_all =
            || std::iter::repeat_with(|| pool.take(7, 4096)).take_while(|&n| n > 0).sum::<u64>();
        let taken: u64 = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(take_all)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(taken, 100_003);
        assert_eq!(pool.used_up(), Some(UsedUp::Ios));
    }

    #[test]
    fn bytes_are_covered_by_whole_blocks() {
        let pool = Pool::new(None, Some(10_000));
        assert_eq!(pool.take(2, 4096), 2);
        assert_eq!(pool.used_up(), None);
        assert_eq!((pool.take(5, 512), pool.take(1, 512)), (4, 0));
        assert_eq!(pool.used_up(), Some(UsedUp::Bytes));
    }

    #[test]
    fn all_or_nothing_is_taken_of_what_is_under_way() {
        let pool = Pool::new(Some(10), Some(1 << 20));
        assert!(!pool.take_all(11, 0));
        assert!(pool.take_all(10, 40_960));
        assert_eq!(pool.take(1, 4096), 0);
    }

    #[test]
    fn portions_grow_while_they_are_short_and_shrink_when_they_last() {
        let mut portions = Portions::default();
        let sizes: Vec<u64> = (0..20).map(|turn| portions.next_size(turn * 1_000)).collect();
        assert_eq!((sizes[0], sizes[3], sizes[19]), (2, 16, PORTION_MAX));
        let slow: Vec<u64> =
            (1..20).map(|turn| portions.next_size(turn * 10 * PORTION_NS)).collect();
        assert_eq!(slow.last(), Some(&1));
    }
}

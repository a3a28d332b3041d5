//! The least that the way to a server and back takes.

use std::time::Duration;

use fathom_net::{Connection, Fault};
use fathom_sys::clock::now_ns;

use super::RoundTrip;

/// Round trips that are made before those that are measured: the first may find caches empty.
const BEFORE: usize = 3;
/// Round trips that are measured at most ...
const COUNT_MAX: usize = 100;
/// ... and at least, however long they take.
const COUNT_MIN: usize = 5;
/// Beyond so much time no more are made than are needed.
const ENOUGH: Duration = Duration::from_millis(300);
/// Beyond so much time one before and one that is measured must do.
const LONG: Duration = Duration::from_secs(2);

/// Measures round trips on a connection with nothing in flight; nothing if it is to end before one was.
pub(super) fn measure(
    connection: &mut Connection,
    goes_on: &dyn Fn() -> bool,
) -> Result<Option<RoundTrip>, Fault> {
    let begun_ns = now_ns();
    let mut took_ns = Vec::with_capacity(BEFORE + COUNT_MAX);
    while !is_enough(took_ns.len(), Duration::from_nanos(now_ns() - begun_ns)) && goes_on() {
        let took = connection.no_op()?;
        took_ns.push(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }
    Ok(measured(&took_ns).map(|(count, min_ns, median_ns)| RoundTrip {
        by: connection.no_op_in_words(),
        count,
        min_ns,
        median_ns,
    }))
}

/// Whether so many round trips in so much time are enough.
fn is_enough(made: usize, elapsed: Duration) -> bool {
    made >= BEFORE + COUNT_MAX
        || made >= BEFORE + COUNT_MIN && elapsed >= ENOUGH
        || made >= 2 && elapsed >= LONG
}

/// How many of these count, the shortest and the median. The first do not, but no more than half of them.
fn measured(took_ns: &[u64]) -> Option<(u32, u64, u64)> {
    let mut counted = took_ns[BEFORE.min(took_ns.len() / 2)..].to_vec();
    counted.sort_unstable();
    let count = u32::try_from(counted.len()).unwrap_or(u32::MAX);
    Some((count, *counted.first()?, counted[counted.len() / 2]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Round trips of a server that takes so many milliseconds for each, and the time that they take.
    fn asked(each_ms: u64) -> (usize, Duration) {
        let mut made = 0;
        let elapsed = |made: u64| Duration::from_millis(each_ms * made);
        while !is_enough(made, elapsed(made as u64)) {
            made += 1;
        }
        (made, elapsed(made as u64))
    }

    /// With answers of 2 s, a run of 1 s began after 16 s.
    #[test]
    fn a_server_that_took_seconds_for_each_answer_was_asked_eight_times() {
        assert_eq!(asked(1).0, 103);
        assert_eq!(asked(10).0, 30);
        assert_eq!(asked(100).0, 8);
        assert_eq!(asked(500), (4, LONG));
        assert_eq!(asked(2_000), (2, 2 * LONG));
        assert_eq!(asked(5_000).0, 2);
    }

    #[test]
    fn the_first_do_not_count_unless_there_are_hardly_others() {
        assert_eq!(measured(&[]), None);
        assert_eq!(measured(&[9]), Some((1, 9, 9)));
        assert_eq!(measured(&[1, 9]), Some((1, 9, 9)));
        assert_eq!(measured(&[1, 1, 4, 9]), Some((2, 4, 9)));
        assert_eq!(measured(&[1, 1, 1, 7, 5, 6, 9, 8]), Some((5, 5, 7)));
    }
}

//! The least that the way to a server and back takes.

use std::time::Duration;

use fathom_net::{Connection, Fault};
use fathom_sys::clock::now_ns;

use super::RoundTrip;

/// Round trips that are made before those that are measured: the first may find caches empty.
const BEFORE: u32 = 3;
/// Round trips that are measured at most ...
const COUNT_MAX: usize = 100;
/// ... and at least, however long they take.
const COUNT_MIN: usize = 5;
/// Beyond so much time no more are made than are needed.
const ENOUGH: Duration = Duration::from_millis(300);

/// Measures round trips on a connection with nothing in flight.
pub(super) fn measure(connection: &mut Connection) -> Result<RoundTrip, Fault> {
    for _ in 0..BEFORE {
        connection.no_op()?;
    }
    let begun_ns = now_ns();
    let mut took_ns = Vec::with_capacity(COUNT_MAX);
    while took_ns.len() < COUNT_MAX {
        let is_long = Duration::from_nanos(now_ns() - begun_ns) >= ENOUGH;
        if is_long && took_ns.len() >= COUNT_MIN {
            break;
        }
        let took = connection.no_op()?;
        took_ns.push(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }
    took_ns.sort_unstable();
    Ok(RoundTrip {
        by: connection.no_op_in_words(),
        count: u32::try_from(took_ns.len()).unwrap_or(u32::MAX),
        min_ns: took_ns[0],
        median_ns: took_ns[took_ns.len() / 2],
    })
}

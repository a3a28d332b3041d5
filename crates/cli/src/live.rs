//! The line of one second of a run under way. Its columns stand at the same places in every line, and each
//! figure is followed by its unit or preceded by its name, so that `awk` finds it by its position.

use fathom_core::units::MIB;

/// The figures of one second.
#[derive(Debug, Clone, Copy)]
pub struct Second {
    /// Seconds since the load began, at the end of this one.
    pub number: u64,
    /// I/Os completed in it.
    pub ios: u64,
    /// Bytes that these transferred.
    pub bytes: u64,
    /// I/Os in flight at its end.
    pub in_flight: u64,
    /// Latency that 50, 99 and 99.9 percent of the I/Os did not exceed.
    pub latency_ns: [u64; 3],
}

/// The line, without its end.
pub fn line(second: &Second) -> String {
    let Second { number, ios, bytes, in_flight, latency_ns } = *second;
    let mib = bytes as f64 / MIB as f64;
    // A second without I/Os has no latency; a dash keeps its column.
    let latency = |nanos: u64| {
        if ios == 0 { "-".to_owned() } else { format!("{:.3}", nanos as f64 / 1e6) }
    };
    let [p50, p99, p999] = latency_ns.map(latency);
    format!(
        "{number:6} s {ios:10} IOPS {mib:10.2} MiB/s  p50 {p50:>10}  p99 {p99:>10}  p99.9 {p999:>10} ms  \
         queue {in_flight:6}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUSY: Second = Second {
        number: 1,
        ios: 12_345_678,
        bytes: 50_567_897_088,
        in_flight: 4_096,
        latency_ns: [1_234, 98_765_432, 4_123_456_789],
    };
    const STALLED: Second =
        Second { number: 3_600, ios: 0, bytes: 0, in_flight: 1, latency_ns: [0; 3] };

    #[test]
    fn the_line_reads_like_this() {
        assert_eq!(
            line(&BUSY),
            "     1 s   12345678 IOPS   48225.30 MiB/s  p50      0.001  p99     98.765  \
             p99.9   4123.457 ms  queue   4096"
        );
        assert_eq!(
            line(&STALLED),
            "  3600 s          0 IOPS       0.00 MiB/s  p50          -  p99          -  \
             p99.9          - ms  queue      1"
        );
    }

    #[test]
    fn columns_stand_at_the_same_places_in_every_line() {
        let (busy, stalled) = (line(&BUSY), line(&STALLED));
        assert_eq!(busy.len(), stalled.len());
        let fields = |line: &str| line.split_whitespace().count();
        assert_eq!((fields(&busy), fields(&stalled)), (15, 15));
        for word in [" s ", " IOPS ", " MiB/s ", " p50 ", " p99 ", " p99.9 ", " ms ", " queue "] {
            assert_eq!(busy.find(word), stalled.find(word), "{word}");
        }
    }
}

//! Units at the doors: constants of size and time.

/// Bytes in a kibibyte.
pub const KIB: u64 = 1 << 10;
/// Bytes in a mebibyte.
pub const MIB: u64 = 1 << 20;
/// Bytes in a gibibyte.
pub const GIB: u64 = 1 << 30;
/// Bytes in a tebibyte.
pub const TIB: u64 = 1 << 40;
/// Nanoseconds in a millisecond.
pub const NANOS_PER_MILLI: u64 = 1_000_000;
/// Nanoseconds in a second.
pub const NANOS_PER_SEC: u64 = 1_000_000_000;

/// A share in percent; 0 of nothing.
pub(crate) fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

/// `bytes` over `elapsed_ns`, in MiB/s; 0 when no time passed.
#[must_use]
pub fn mib_per_second(bytes: u64, elapsed_ns: u64) -> f64 {
    per_second(bytes, elapsed_ns) / MIB as f64
}

/// `count` over `elapsed_ns`, per second; 0 when no time passed.
#[must_use]
pub fn per_second(count: u64, elapsed_ns: u64) -> f64 {
    if elapsed_ns == 0 {
        return 0.0;
    }
    count as f64 * NANOS_PER_SEC as f64 / elapsed_ns as f64
}

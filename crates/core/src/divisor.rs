//! Arithmetic of sizes and rates.

/// The greatest number of which both are multiples; of zero and another number, that number.
pub(crate) fn greatest_common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

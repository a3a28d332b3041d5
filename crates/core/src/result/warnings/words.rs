//! Numbers and names in sentences.

use crate::plan::TargetPlan;
use crate::storage::Answering;
pub(super) use crate::units::percent;
use crate::units::{GIB, KIB, MIB, TIB};

/// More targets are not named in a sentence.
const TARGETS_MOST: usize = 3;

/// A number of bytes in the greatest unit that fits, with one decimal unless it is whole.
pub(in crate::result) fn size(bytes: u64) -> String {
    let units = [(TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")];
    match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) if bytes.is_multiple_of(unit) => format!("{} {name}", bytes / unit),
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / unit as f64),
        None => format!("{bytes} bytes"),
    }
}

/// A count with commas between thousands.
pub(in crate::result) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A rate or a mean as counts are written, with one decimal where that says anything.
pub(in crate::result) fn rate(number: f64) -> String {
    if number < 999.95 {
        return format!("{number:.1}");
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is positive")]
    let whole = number.round() as u64;
    grouped(whole)
}

/// A count with its noun, in the plural where that is due.
pub(super) fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{} {noun}s", grouped(number)) }
}

/// Names of targets in a sentence.
pub(super) fn quoted<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("'{name}'")).collect();
    list(&names, TARGETS_MOST)
}

/// Items in a sentence; beyond `most`, the rest is counted.
pub(super) fn list(items: &[String], most: usize) -> String {
    if items.len() <= most {
        return items.join(", ");
    }
    format!("{} and {} more", items[..most].join(", "), items.len() - most)
}

/// Ascending numbers in short: `0-3, 8`.
pub(super) fn ranges(numbers: &[u32]) -> String {
    let runs = numbers.chunk_by(|one, next| one + 1 == *next);
    let run = |run: &[u32]| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    };
    runs.map(run).collect::<Vec<_>>().join(", ")
}

/// Alternatives in a sentence.
pub(super) fn either(remedies: &[String]) -> String {
    remedies.join(", or ")
}

/// Who answers for these targets.
pub(super) fn answering<'a>(targets: impl IntoIterator<Item = &'a TargetPlan>) -> Answering {
    Answering::of(targets.into_iter().map(|target| &target.location))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(size(0), "0 bytes");
        assert_eq!(size(4096), "4 KiB");
        assert_eq!(size(1536 * KIB), "1.5 MiB");
        assert_eq!(size(3 * TIB), "3 TiB");
        assert_eq!([0, 999, 1000, 834_436].map(grouped), ["0", "999", "1,000", "834,436"]);
        let rates = [0.0, 2.5, 999.94, 999.96, 4000.0, 4_347_256.5].map(rate);
        assert_eq!(rates, ["0.0", "2.5", "999.9", "1,000", "4,000", "4,347,257"]);
        assert_eq!(count(1, "thread"), "1 thread");
        assert_eq!(count(2, "thread"), "2 threads");
        assert_eq!(count(12_000, "I/O"), "12,000 I/Os");
        let items = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(list(&items, 3), "a, b, c");
        assert_eq!(list(&items, 1), "a and 2 more");
        assert_eq!(ranges(&[0, 1, 2, 5, 8, 9]), "0-2, 5, 8-9");
        assert!((percent(1, 4) - 25.0).abs() < 1e-9 && percent(1, 0) == 0.0);
    }
}

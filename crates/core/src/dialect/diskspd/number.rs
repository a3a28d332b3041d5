//! Numbers as `DiskSpd` writes them: counts, and sizes with a unit.
//!
//! `DiskSpd` reads counts with `atoi`, which lets trailing junk pass. That is refused here; the rest
//! is kept: leading blanks, a `+`, an empty count as 0, and saturation at 2^31 - 1.

use crate::units::{GIB, KIB, MIB, TIB};

/// The greatest count: `DiskSpd`'s counts saturate at the greatest 32-bit signed integer.
const COUNT_MAX: i64 = i32::MAX as i64;

/// Reads a count; empty is 0.
///
/// # Errors
/// A sentence, if there is anything but an integer.
pub fn count(text: &str) -> Result<i64, String> {
    let trimmed = text.trim_start_matches([' ', '\t', '\n', '\r', '\u{b}', '\u{c}']);
    let (sign, digits) = match trimmed.as_bytes().first() {
        Some(b'-') => (-1, &trimmed[1..]),
        Some(b'+') => (1, &trimmed[1..]),
        _ => (1, trimmed),
    };
    let junk = digits.bytes().any(|byte| !byte.is_ascii_digit());
    if junk || (digits.is_empty() && !trimmed.is_empty()) {
        return Err(format!("'{text}' is not a whole number"));
    }
    let magnitude = digits.parse::<i64>().unwrap_or(if digits.is_empty() { 0 } else { COUNT_MAX });
    Ok(sign * magnitude.min(COUNT_MAX))
}

/// Reads a count that must be at least 1.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn positive(text: &str) -> Result<u32, String> {
    let value = count(text)?;
    match u32::try_from(value) {
        Ok(value) if value > 0 => Ok(value),
        _ => Err(format!("'{text}' must be a whole number greater than 0")),
    }
}

/// Reads a number of ours, or a rate: one that is too great is refused, as whoever gave it would get another.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn exact<N: TryFrom<u64> + Into<u64>>(text: &str) -> Result<N, String> {
    let value = count(text)?;
    if value <= 0 {
        return Err(format!("'{text}' must be a whole number greater than 0"));
    }
    let digits = text.trim_start_matches([' ', '\t', '\n', '\r', '\u{b}', '\u{c}', '+']);
    let whole: Option<N> = digits.parse().ok().and_then(|value: u64| N::try_from(value).ok());
    whole.ok_or_else(|| format!("'{text}' is too great: at most {} can be kept", greatest::<N>()))
}

/// The greatest number of a type.
fn greatest<N>() -> u64 {
    u64::MAX >> (u64::BITS as usize - 8 * size_of::<N>())
}

/// Reads a count that must not be negative.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn not_negative(text: &str) -> Result<u32, String> {
    u32::try_from(count(text)?).map_err(|_| format!("'{text}' must not be negative"))
}

/// Reads a 32-bit seed: a negative one wraps and a greater one saturates, as `strtoul` does.
///
/// # Errors
/// A sentence, if there is anything but an integer.
pub fn seed(text: &str) -> Result<u32, String> {
    let wrong = || format!("invalid random seed '{text}': give a 32-bit whole number");
    let trimmed = text.trim_start_matches([' ', '\t']);
    let (negative, digits) = match trimmed.as_bytes().first() {
        Some(b'-') => (true, &trimmed[1..]),
        Some(b'+') => (false, &trimmed[1..]),
        _ => (false, trimmed),
    };
    if digits.is_empty() || digits.bytes().any(|byte| !byte.is_ascii_digit()) {
        return Err(wrong());
    }
    let value = digits.parse::<u64>().map_or(u32::MAX, |v| u32::try_from(v).unwrap_or(u32::MAX));
    Ok(if negative { value.wrapping_neg() } else { value })
}

/// Reads a size at the start of `text`: digits, then one of `K M G T b` in either case or nothing.
/// `b` counts blocks of `block_bytes`. Returns the bytes and what follows.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn size_prefix(text: &str, block_bytes: u64) -> Result<(u64, &str), String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits == 0 {
        return Err(format!("'{text}' is not a size: give digits and K, M, G, T or b (blocks)"));
    }
    let too_large = || format!("'{text}' is too large: sizes end at 2^64 - 1 bytes");
    let value: u64 = text[..digits].parse().map_err(|_| too_large())?;
    let rest = &text[digits..];
    let factor = match rest.bytes().next().map(|unit| unit.to_ascii_uppercase()) {
        Some(b'K') => KIB,
        Some(b'M') => MIB,
        Some(b'G') => GIB,
        Some(b'T') => TIB,
        Some(b'B') => block_bytes,
        _ => return Ok((value, rest)),
    };
    let bytes = value.checked_mul(factor).ok_or_else(too_large)?;
    Ok((bytes, &rest[1..]))
}

/// Reads a size and nothing else.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn size(text: &str, block_bytes: u64) -> Result<u64, String> {
    match size_prefix(text, block_bytes)? {
        (bytes, "") => Ok(bytes),
        (_, rest) => Err(format!(
            "'{text}' is not a size: '{rest}' follows it. Units are K, M, G, T and b (blocks)"
        )),
    }
}

/// A size for people: an exact multiple as a whole number, else two decimals; below 1 KiB a bare number.
#[must_use]
pub fn show_size(bytes: u64) -> String {
    let units = [(TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")];
    for (unit, name) in units {
        if bytes >= unit {
            let whole = bytes.is_multiple_of(unit);
            return if whole {
                format!("{}{name}", bytes / unit)
            } else {
                format!("{:.2}{name}", bytes as f64 / unit as f64)
            };
        }
    }
    bytes.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_keep_atois_manners_but_refuse_junk() {
        assert_eq!(count(""), Ok(0));
        assert_eq!(count(" 4"), Ok(4));
        assert_eq!(count("+5"), Ok(5));
        assert_eq!(count("-1"), Ok(-1));
        assert_eq!(count("99999999999999999999"), Ok(COUNT_MAX));
        for junk in ["8x", "x", "1.5", "+", "-", "5 ", "0x10", "1K"] {
            assert!(count(junk).is_err(), "{junk}");
        }
    }

    #[test]
    fn a_number_of_ours_is_kept_whole_or_refused() {
        assert_eq!(exact::<u64>("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(exact::<u32>(" +4294967295"), Ok(u32::MAX));
        let error = exact::<u32>("4294967296").unwrap_err();
        assert_eq!(error, "'4294967296' is too great: at most 4294967295 can be kept");
        assert!(exact::<u64>("18446744073709551616").is_err());
        for wrong in ["", "0", "-1", "1K", "1.5", "99999999999999999999999x"] {
            assert!(exact::<u32>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_have_units_and_no_overflow() {
        assert_eq!(size("8k", 1), Ok(8192));
        assert_eq!(size("3B", 4096), Ok(12288));
        assert_eq!(size("18446744073709551615", 1), Ok(u64::MAX));
        for wrong in ["", "K", "-1", "4X", "4KK", "4KB", "1.5G", "17179869184G", "16777216T"] {
            assert!(size(wrong, 4096).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_are_shown_as_diskspd_shows_them() {
        let shown = [8192, 1536, 1023, 0, 1 << 40, 1_049_600].map(show_size);
        assert_eq!(shown, ["8KiB", "1.50KiB", "1023", "0", "1TiB", "1.00MiB"]);
    }

    #[test]
    fn seeds_wrap_and_saturate() {
        assert_eq!(seed("-1"), Ok(u32::MAX));
        assert_eq!(seed("99999999999"), Ok(u32::MAX));
        assert_eq!(seed("010"), Ok(10));
        assert!(seed("x").is_err() && seed("5x").is_err() && seed("").is_err());
    }
}

//! `-rd<pct|abs>io/target[:io/target...]`: how random I/O is spread over the target.

use super::number::size_prefix;
use crate::request::{Distribution, DistributionRange};

/// Reads the text behind `-rd`, and adds the rest of the I/O on the rest of the target.
///
/// # Errors
/// A sentence that names the part that is wrong.
pub fn parse(text: &str, block_bytes: u64) -> Result<Distribution, String> {
    if let Some(list) = text.strip_prefix("pct") {
        return Ok(Distribution::Percent(complete_percent(parse_percent(list)?)));
    }
    if let Some(list) = text.strip_prefix("abs") {
        return Ok(Distribution::Absolute(complete_absolute(parse_absolute(list, block_bytes)?)));
    }
    Err(format!("'{text}' is not a random distribution: begin it with pct or abs"))
}

fn parse_percent(list: &str) -> Result<Vec<DistributionRange>, String> {
    let mut covered = 0;
    let range = |io_percent, target: &str| {
        let left = 100 - covered;
        let length = whole(target, "Target%")?;
        if length == 0 || length > left {
            return Err(format!("Target% {length} must be greater than 0 and at most {left}"));
        }
        covered += length;
        Ok(DistributionRange { io_percent, length })
    };
    parse_list(list, range)
}

fn parse_absolute(list: &str, block_bytes: u64) -> Result<Vec<DistributionRange>, String> {
    parse_list(list, |io_percent, target| match size_prefix(target, block_bytes)? {
        (length, "") => Ok(DistributionRange { io_percent, length }),
        (_, rest) => Err(format!("unexpected characters '{rest}' behind the size in '{target}'")),
    })
}

fn parse_list(
    list: &str,
    mut range: impl FnMut(u32, &str) -> Result<DistributionRange, String>,
) -> Result<Vec<DistributionRange>, String> {
    let parse_one = |part: &str| {
        let Some((io, target)) = part.split_once('/') else {
            return Err(format!("'{part}' must have the form IO%/target"));
        };
        let io_percent = whole(io, "IO%")?;
        if io_percent > 100 {
            return Err(format!("IO% {io_percent} must be at most 100"));
        }
        range(u32::try_from(io_percent).unwrap_or(100), target)
    };
    list.split(':').map(parse_one).collect()
}

fn whole(text: &str, what: &str) -> Result<u64, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits
        .then(|| text.parse().ok())
        .flatten()
        .ok_or_else(|| format!("'{text}' is not a whole number for {what}"))
}

/// Puts the I/O that is left on the part of the target that is left, if there is any of both.
#[must_use]
pub fn complete_percent(mut ranges: Vec<DistributionRange>) -> Vec<DistributionRange> {
    let io_left = io_left(&ranges);
    let length = 100_u64.saturating_sub(sum_lengths(&ranges));
    if io_left > 0 && length > 0 {
        ranges.push(DistributionRange { io_percent: io_left, length });
    }
    ranges
}

/// Puts the I/O that is left on the rest of the target, whose length 0 stands for its end.
#[must_use]
pub fn complete_absolute(mut ranges: Vec<DistributionRange>) -> Vec<DistributionRange> {
    let io_left = io_left(&ranges);
    if io_left > 0 {
        ranges.push(DistributionRange { io_percent: io_left, length: 0 });
    }
    ranges
}

fn io_left(ranges: &[DistributionRange]) -> u32 {
    let sum: u64 = ranges.iter().map(|range| u64::from(range.io_percent)).sum();
    u32::try_from(100_u64.saturating_sub(sum)).unwrap_or(0)
}

fn sum_lengths(ranges: &[DistributionRange]) -> u64 {
    ranges.iter().fold(0, |sum, range| sum.saturating_add(range.length))
}

/// What is wrong with a distribution, as sentences.
#[must_use]
pub fn check(distribution: &Distribution, block_bytes: u32) -> Vec<String> {
    let mut errors = Vec::new();
    let (Distribution::Percent(ranges) | Distribution::Absolute(ranges)) = distribution;
    let io_sum: u64 = ranges.iter().map(|range| u64::from(range.io_percent)).sum();
    if io_sum != 100 {
        errors.push(format!("the IO% of a random distribution must total 100, not {io_sum}"));
    }
    match distribution {
        Distribution::Percent(ranges) => {
            let covered = sum_lengths(ranges);
            if covered != 100 {
                errors.push(format!(
                    "the Target% of a random distribution must total 100, not {covered}"
                ));
            }
            if ranges.iter().any(|range| range.length == 0) {
                errors.push("a Target% of a random distribution must not be 0".to_owned());
            }
        }
        Distribution::Absolute(ranges) => errors.extend(check_absolute(ranges, block_bytes)),
    }
    errors
}

fn check_absolute(ranges: &[DistributionRange], block_bytes: u32) -> Vec<String> {
    let mut errors = Vec::new();
    let last = ranges.len().saturating_sub(1);
    for (index, range) in ranges.iter().enumerate() {
        let to_the_end = range.length == 0 && index == last;
        if range.length < u64::from(block_bytes) && !to_the_end {
            errors.push(format!(
                "a range of {} bytes in a random distribution is smaller than the block size \
                 ({block_bytes} bytes)",
                range.length
            ));
        }
    }
    let sum = ranges.iter().try_fold(0_u64, |sum, range| sum.checked_add(range.length));
    if sum.is_none() {
        errors.push("the ranges of a random distribution exceed 2^64 - 1 bytes".to_owned());
    }
    errors
}

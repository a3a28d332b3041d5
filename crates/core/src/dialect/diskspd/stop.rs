//! Rules that end the measured time: their words on the command line and in XML, and what they exclude.

use super::draft::Draft;
use super::number::{exact, size};
use super::validate::Findings;
use crate::request::{ConfidenceRule, Extensions, SteadyRule, StopRules, TimeSpan};

/// Names of the rules, as they stand behind `--stop-` and in XML, and their values as text.
#[must_use]
pub fn words(rules: &StopRules) -> Vec<(&'static str, String)> {
    let mut words = Vec::new();
    let mut add = |name, value: Option<String>| words.extend(value.map(|value| (name, value)));
    add("bytes", rules.bytes.map(|bytes| bytes.to_string()));
    add("ios", rules.ios.map(|ios| ios.to_string()));
    add("pass", rules.pass.then(String::new));
    add("steady", rules.steady.map(show_steady));
    add("confidence", rules.confidence.map(show_confidence));
    add("interval", rules.interval_ms.map(|millis| millis.to_string()));
    words
}

/// Enters a rule by its name and value.
///
/// # Errors
/// A sentence that says what is wrong with the value, or that there is no such rule.
pub fn enter(
    rules: &mut StopRules,
    name: &str,
    value: &str,
    block_bytes: u64,
) -> Result<(), String> {
    match name {
        "bytes" => match size(value, block_bytes)? {
            0 => return Err(format!("'{value}' must be greater than 0")),
            bytes => rules.bytes = Some(bytes),
        },
        "ios" => match value.parse() {
            Ok(ios) if ios > 0 => rules.ios = Some(ios),
            _ => return Err(format!("'{value}' must be a whole number greater than 0")),
        },
        "pass" if value.is_empty() => rules.pass = true,
        "steady" => rules.steady = Some(read_steady(value)?),
        "confidence" => rules.confidence = Some(read_confidence(value)?),
        "interval" => rules.interval_ms = Some(exact(value)?),
        _ => return Err(format!("there is no rule '{name}' with the value '{value}'")),
    }
    Ok(())
}

/// Enters a rule of the command line, which holds for all time spans.
fn apply(draft: &mut Draft, name: &str, value: &str) -> Result<(), String> {
    let block_bytes = draft.block_bytes();
    enter(&mut draft.overrides.stop, name, value, block_bytes)
}

/// `--stop-bytes`.
pub fn bytes(draft: &mut Draft, value: &str) -> Result<(), String> {
    apply(draft, "bytes", value)
}

/// `--stop-ios`.
pub fn ios(draft: &mut Draft, value: &str) -> Result<(), String> {
    apply(draft, "ios", value)
}

/// `--stop-pass`.
pub fn pass(draft: &mut Draft, value: &str) -> Result<(), String> {
    apply(draft, "pass", value)
}

/// `--stop-steady`.
pub fn steady(draft: &mut Draft, value: &str) -> Result<(), String> {
    apply(draft, "steady", value)
}

/// `--stop-confidence`.
pub fn confidence(draft: &mut Draft, value: &str) -> Result<(), String> {
    apply(draft, "confidence", value)
}

/// `--stop-interval`.
pub fn interval(draft: &mut Draft, value: &str) -> Result<(), String> {
    apply(draft, "interval", value)
}

/// `[intervals[:range[:slope]]]`; what is left out takes its default.
fn read_steady(value: &str) -> Result<SteadyRule, String> {
    let mut rule = SteadyRule::default();
    let mut parts = value.split(':').filter(|_| !value.is_empty());
    if let Some(intervals) = parts.next() {
        rule.intervals = exact(intervals)?;
    }
    if rule.intervals < SteadyRule::INTERVALS_MIN {
        return Err(format!(
            "a window of {} intervals is too short: give {} or more",
            rule.intervals,
            SteadyRule::INTERVALS_MIN
        ));
    }
    if let Some(range) = parts.next() {
        rule.range_milli = percent(range, SteadyRule::SHARE_MILLI_MAX)?;
    }
    if let Some(slope) = parts.next() {
        rule.slope_milli = percent(slope, SteadyRule::SHARE_MILLI_MAX)?;
    }
    no_more(value, parts.next())?;
    Ok(rule)
}

/// `level[:precision]`.
fn read_confidence(value: &str) -> Result<ConfidenceRule, String> {
    let mut parts = value.split(':');
    let level_milli = percent(parts.next().unwrap_or_default(), ConfidenceRule::LEVEL_MILLI_MAX)?;
    let precision_milli = match parts.next() {
        Some(precision) => percent(precision, ConfidenceRule::PRECISION_MILLI_MAX)?,
        None => ConfidenceRule::PRECISION_MILLI,
    };
    no_more(value, parts.next())?;
    Ok(ConfidenceRule { level_milli, precision_milli })
}

fn no_more(value: &str, part: Option<&str>) -> Result<(), String> {
    part.map_or(Ok(()), |part| Err(format!("'{value}' has a part too many: '{part}'")))
}

/// A number above 0 in percent, as thousandths of a percent.
fn percent(text: &str, greatest_milli: u32) -> Result<u32, String> {
    let wrong = || {
        let greatest = show_percent(greatest_milli);
        format!("'{text}' must be a number of percent above 0 and at most {greatest}")
    };
    let digits = text.strip_suffix('%').unwrap_or(text);
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number: f64 = digits.parse().ok().filter(|_| plain).ok_or_else(wrong)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a conversion from float saturates, and there is no sign"
    )]
    let milli = (number * 1e3).round() as u32;
    if (1..=greatest_milli).contains(&milli) { Ok(milli) } else { Err(wrong()) }
}

fn show_percent(milli: u32) -> String {
    format!("{}", f64::from(milli) / 1e3)
}

fn show_steady(rule: SteadyRule) -> String {
    let (range, slope) = (show_percent(rule.range_milli), show_percent(rule.slope_milli));
    format!("{}:{range}:{slope}", rule.intervals)
}

fn show_confidence(rule: ConfidenceRule) -> String {
    format!("{}:{}", show_percent(rule.level_milli), show_percent(rule.precision_milli))
}

/// What the rules of a time span exclude.
pub fn check(span: &TimeSpan, findings: &mut Findings) {
    let rules = &span.stop;
    findings.error_if(
        rules.interval_ms.is_some() && !rules.judges(),
        "--stop-interval needs a rule that judges the rate: add --stop-steady or --stop-confidence",
    );
    findings.error_if(
        rules.pass && span.targets.iter().any(|target| target.access.random_percent > 0),
        "--stop-pass needs sequential I/O, because random I/O never makes a pass: leave -r and -rs \
         out, or use --stop-bytes with the size of the range",
    );
    findings.error_if(
        rules.pass && span.targets.iter().any(|target| target.parallel_same_offset),
        "--stop-pass cannot be used with -p, where each outstanding I/O makes a pass of its own",
    );
    findings.error_if(
        rules.pass && span.targets.iter().any(|target| target.extensions.mixes_operations()),
        "--stop-pass cannot be used with patterns, block mixes, exact ratios, syncs or trims: use \
         --stop-bytes or --stop-ios",
    );
    findings.error_if(
        rules.bytes.is_some() && span.targets.iter().any(|target| has_sizes(&target.extensions)),
        "--stop-bytes cannot be used where I/Os have different sizes: use --stop-ios",
    );
    let mut trims_only = span.targets.iter().map(|target| target.trim_percent() == 100);
    findings.error_if(
        (rules.ios.is_some() || rules.bytes.is_some()) && trims_only.clone().any(|only| only),
        "--stop-ios and --stop-bytes count reads and writes, and a target with --trim=100 has none: use a \
         lower share of trims, or let -d end the measured time",
    );
    findings.error_if(
        rules.judges() && !span.targets.is_empty() && trims_only.all(|only| only),
        "--stop-steady and --stop-confidence judge the rate of reads and writes, and with --trim=100 there \
         are none: use a lower share of trims, or let -d end the measured time",
    );
    findings.warn_if(
        rules.any() && span.duration_s == 0,
        "a duration of 0 (-d0) leaves a stop rule no time",
    );
}

/// Whether I/Os of one target may have different sizes.
fn has_sizes(extensions: &Extensions) -> bool {
    let Extensions { read_pattern, write_pattern, .. } = extensions;
    let patterns = [read_pattern, write_pattern].into_iter().flatten();
    let mixes = [&extensions.block_mix, &extensions.read_block_mix, &extensions.write_block_mix];
    mixes.into_iter().any(|mix| !mix.is_empty())
        || patterns.into_iter().any(|pattern| pattern.block_bytes.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, value: &str) -> Result<StopRules, String> {
        let mut rules = StopRules::default();
        enter(&mut rules, name, value, 4096).map(|()| rules)
    }

    #[test]
    fn rules_are_read_with_their_defaults() {
        assert_eq!(read("bytes", "3b").unwrap().bytes, Some(12_288));
        assert_eq!(read("ios", "5000000000").unwrap().ios, Some(5_000_000_000));
        assert_eq!(read("steady", "").unwrap().steady, Some(SteadyRule::default()));
        let steady = SteadyRule { intervals: 5, range_milli: 20_000, slope_milli: 2_500 };
        assert_eq!(read("steady", "5:20%:2.5").unwrap().steady, Some(steady));
        let confidence = ConfidenceRule { level_milli: 99_900, precision_milli: 2_000 };
        assert_eq!(read("confidence", "99.9").unwrap().confidence, Some(confidence));
    }

    #[test]
    fn wrong_rules_are_refused_in_words() {
        for (name, value) in [
            ("bytes", "0"),
            ("ios", "0"),
            ("ios", "1K"),
            ("pass", "2"),
            ("steady", "2"),
            ("steady", "5:0"),
            ("steady", "5:20:10:1"),
            ("confidence", ""),
            ("confidence", "100"),
            ("confidence", "95:0"),
            ("confidence", "95:101"),
            ("confidence", "95:-1"),
            ("confidence", "nan"),
            ("confidence", "1e1"),
            ("interval", "0"),
            ("age", "1"),
        ] {
            assert!(read(name, value).is_err(), "{name}={value}");
        }
    }

    #[test]
    fn words_are_read_back_as_the_same_rules() {
        let rules = StopRules {
            bytes: Some(1 << 30),
            ios: Some(7),
            pass: true,
            steady: Some(SteadyRule { intervals: 4, range_milli: 1, slope_milli: 12_345 }),
            confidence: Some(ConfidenceRule { level_milli: 95_000, precision_milli: 500 }),
            interval_ms: Some(250),
        };
        let mut again = StopRules::default();
        for (name, value) in words(&rules) {
            enter(&mut again, name, &value, 1).unwrap();
        }
        assert_eq!(again, rules);
    }
}

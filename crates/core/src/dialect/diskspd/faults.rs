//! What a run does about I/Os that fail: its words on the command line and in XML.

use super::draft::Draft;
use crate::request::{FaultPolicy, OnError};

/// Names of the settings that are given, as they stand behind two dashes and in XML, and their values.
#[must_use]
pub fn words(policy: FaultPolicy) -> Vec<(&'static str, String)> {
    let on_error = policy.on_error.map(|on_error| match on_error {
        OnError::Stop => "stop".to_owned(),
        OnError::Continue => "continue".to_owned(),
        OnError::Count(errors) => format!("count={errors}"),
    });
    let timeout = policy.io_timeout_s.map(|seconds| seconds.to_string());
    let words = [("on-error", on_error), ("io-timeout", timeout)];
    words.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Enters a setting by its name and value; false if there is none of that name.
///
/// # Errors
/// A sentence that says what is wrong with the value.
pub fn enter(policy: &mut FaultPolicy, name: &str, value: &str) -> Result<bool, String> {
    match name {
        "on-error" => policy.on_error = Some(read_on_error(value)?),
        "io-timeout" => {
            let seconds =
                value.parse().map_err(|_| format!("'{value}' is not a number of seconds"));
            policy.io_timeout_s = Some(seconds?);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn read_on_error(value: &str) -> Result<OnError, String> {
    match (value, value.strip_prefix("count=")) {
        ("stop", _) => Ok(OnError::Stop),
        ("continue", _) => Ok(OnError::Continue),
        (_, Some(errors)) => match errors.parse() {
            Ok(count) if count > 0 => Ok(OnError::Count(count)),
            _ => Err(format!("'{errors}' is not a whole number from 1 to {}", u32::MAX)),
        },
        _ => Err(format!("'{value}' is not one of stop, continue and count=<errors>")),
    }
}

/// `--on-error`.
pub fn on_error(draft: &mut Draft, value: &str) -> Result<(), String> {
    enter(&mut draft.overrides.faults, "on-error", value).map(|_known| ())
}

/// `--io-timeout`.
pub fn io_timeout(draft: &mut Draft, value: &str) -> Result<(), String> {
    enter(&mut draft.overrides.faults, "io-timeout", value).map(|_known| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for on_error in [OnError::Stop, OnError::Continue, OnError::Count(7)] {
            let policy = FaultPolicy { on_error: Some(on_error), io_timeout_s: Some(7) };
            let mut read = FaultPolicy::default();
            for (name, value) in words(policy) {
                assert_eq!(enter(&mut read, name, &value), Ok(true));
            }
            assert_eq!(read, policy);
        }
        assert_eq!(words(FaultPolicy::default()), []);
    }

    #[test]
    fn other_values_are_told() {
        for value in ["", "Stop", "count", "count=", "count=0", "count=-1", "count=4294967296"] {
            let answer = enter(&mut FaultPolicy::default(), "on-error", value);
            assert!(answer.is_err_and(|words| words.contains('\'')), "{value}");
        }
    }
}

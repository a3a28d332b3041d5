//! What a run does about I/Os that fail: its words on the command line and in XML.

use super::draft::Draft;
use super::validate::Findings;
use crate::request::{FaultPolicy, OnError, Target, TimeSpan};

/// Names of the settings that are given, as they stand behind two dashes and in XML, and their values.
#[must_use]
pub fn words(policy: FaultPolicy) -> Vec<(&'static str, String)> {
    let on_error = policy.on_error.map(|on_error| match on_error {
        OnError::Stop => "stop".to_owned(),
        OnError::Continue => "continue".to_owned(),
        OnError::Count(errors) => format!("count={errors}"),
    });
    let timeout = policy.io_timeout_s.map(|seconds| seconds.to_string());
    let reconnect = policy.reconnect_s.map(|seconds| seconds.to_string());
    let words = [("on-error", on_error), ("io-timeout", timeout), ("reconnect", reconnect)];
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
        "reconnect" => {
            let seconds = value
                .parse()
                .ok()
                .filter(|seconds| (1..=FaultPolicy::RECONNECT_S_MAX).contains(seconds));
            let most = FaultPolicy::RECONNECT_S_MAX;
            let wrong = || format!("'{value}' is not a number of seconds from 1 to {most} (a day)");
            policy.reconnect_s = Some(seconds.ok_or_else(wrong)?);
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

/// `--reconnect`.
pub fn reconnect(draft: &mut Draft, value: &str) -> Result<(), String> {
    enter(&mut draft.overrides.faults, "reconnect", value).map(|_known| ())
}

/// What is wrong with the settings of a time span, as sentences.
pub fn check(span: &TimeSpan, findings: &mut Findings) {
    let policy = span.faults;
    let (Some(reconnect_s), Some(least_s)) = (policy.reconnect_s, policy.io_timeout_s_min()) else {
        return;
    };
    if let Some(timeout_s) = policy.io_timeout_s.filter(|given| (1..least_s).contains(given)) {
        findings.errors.push(format!(
            "--io-timeout={timeout_s} may end the run while a connection is made again \
             (--reconnect={reconnect_s}): give an --io-timeout of at least {least_s}, or none"
        ));
    }
    let is_local = |target: &&Target| target.path.remote().is_none();
    if let Some(first) = span.targets.first()
        && span.targets.iter().filter(is_local).count() == span.targets.len()
    {
        findings.errors.push(format!(
            "--reconnect makes connections to targets over the network again, and '{}' is none: leave it out",
            first.path
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for on_error in [OnError::Stop, OnError::Continue, OnError::Count(7)] {
            let policy = FaultPolicy {
                on_error: Some(on_error),
                io_timeout_s: Some(7),
                reconnect_s: Some(8),
            };
            let mut read = FaultPolicy::default();
            for (name, value) in words(policy) {
                assert_eq!(enter(&mut read, name, &value), Ok(true));
            }
            assert_eq!(read, policy);
        }
        assert_eq!(words(FaultPolicy::default()), []);
    }

    #[test]
    fn a_connection_is_made_again_for_no_longer_than_an_io_is_waited_for() {
        let complaints = |path: &str, io_timeout_s, reconnect_s| {
            let faults = FaultPolicy { io_timeout_s, reconnect_s, ..FaultPolicy::default() };
            let target = Target { path: path.into(), ..Target::default() };
            let mut findings = Findings::default();
            check(
                &TimeSpan { faults, targets: vec![target], ..TimeSpan::default() },
                &mut findings,
            );
            findings.errors.concat()
        };
        let told = complaints("nbd://host/", Some(39), Some(30));
        assert!(told.contains("--io-timeout of at least 40"), "{told}");
        for timeout in [None, Some(0), Some(40)] {
            assert_eq!(complaints("nbd://host/", timeout, Some(30)), "");
        }
        let told = complaints("t.dat", None, Some(30));
        assert!(told.contains("'t.dat' is none"), "{told}");
        assert_eq!(complaints("t.dat", Some(1), None), "");
        let long = FaultPolicy { reconnect_s: Some(300), ..FaultPolicy::default() };
        assert_eq!(long.io_timeout_ns(), Some(310_000_000_000));
        for wrong in ["", "0", "-1", "1.5", "86401", "x"] {
            let answer = enter(&mut FaultPolicy::default(), "reconnect", wrong);
            assert!(answer.is_err_and(|words| words.contains(wrong)), "{wrong}");
        }
    }

    #[test]
    fn other_values_are_told() {
        for value in ["", "Stop", "count", "count=", "count=0", "count=-1", "count=4294967296"] {
            let answer = enter(&mut FaultPolicy::default(), "on-error", value);
            assert!(answer.is_err_and(|words| words.contains('\'')), "{value}");
        }
    }
}

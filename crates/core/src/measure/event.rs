//! The one interface between running and showing. There is no event per I/O.

use serde::{Deserialize, Serialize};

use super::LatencyHistogram;
use crate::errors::Kind;
use crate::supervise::Doing;

/// A phase of a time span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Load before the measured time.
    WarmUp,
    /// The measured time.
    Measured,
    /// Load after the measured time.
    CoolDown,
}

/// Something that happened while a run was under way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A step of the run, in words, for verbose output.
    #[serde(with = "in_words")]
    Step(String),
    /// A file is being filled.
    Filling {
        /// Name of the file.
        #[serde(rename = "target")]
        name: String,
        /// Bytes written so far.
        done_bytes: u64,
        /// Bytes to write.
        total_bytes: u64,
    },
    /// A target is being verified after its run.
    Verifying {
        /// Name of the target.
        #[serde(rename = "target")]
        name: String,
        /// Bytes verified so far.
        done_bytes: u64,
        /// Bytes to verify.
        total_bytes: u64,
    },
    /// A phase of a time span began.
    PhaseStarted {
        /// Position of the time span, from 0.
        #[serde(rename = "time_span")]
        span: usize,
        /// The phase.
        phase: Phase,
        /// Its planned length.
        planned_ns: u64,
    },
    /// The figures of one second of load, if somebody looks at them.
    Live {
        /// Seconds since the load began, at the end of the one that is reported.
        second: u64,
        /// I/Os completed in it, and those that a thread which waited in an earlier one hands over only now.
        ios: u64,
        /// Bytes that these transferred.
        bytes: u64,
        /// I/Os in flight at its end.
        in_flight: u64,
        /// Their latencies, whole, so that those of several runs and seconds can be merged.
        latency: Box<LatencyHistogram>,
        /// The same of each target, where there are several and not many.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        targets: Vec<TargetSecond>,
    },
    /// All is prepared, and the load waits to be told when it begins.
    Ready,
    /// Some thread completed another batch of I/Os, as often as the plan asks for.
    Progress,
    /// A target failed, in words.
    TargetFailed {
        /// Name of the target.
        #[serde(rename = "target")]
        name: String,
        /// What happened.
        reason: String,
        /// Its kind.
        #[serde(default)]
        kind: Kind,
        /// The system's code, such as `EIO`; absent if the system did not answer.
        #[serde(default)]
        code: Option<String>,
    },
    /// The run waits for a target from now on, outside the load; for what, as a clause such as
    /// ``look at 'a'``. It is reported to whoever supervises the run, and goes no further. What is entered
    /// again gives a sign of life.
    #[serde(skip)]
    Entered(Doing),
    /// What was entered has come back.
    #[serde(skip)]
    Left,
    /// The time span is over.
    Finished {
        /// Position of the time span, from 0.
        #[serde(rename = "time_span")]
        span: usize,
    },
}

/// The figures of one second of load on one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetSecond {
    /// Name of the target.
    #[serde(rename = "target")]
    pub name: String,
    /// I/Os completed in it.
    pub ios: u64,
    /// Bytes that these transferred.
    pub bytes: u64,
    /// Their latencies.
    pub latency: Box<LatencyHistogram>,
}

/// A consumer of events. Threads share it, so it must be quick and never fail.
pub type EventSink<'a> = &'a (dyn Fn(Event) + Sync);

/// A text alone as a field of its event.
mod in_words {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct InWords<T> {
        words: T,
    }

    pub(super) fn serialize<S: Serializer>(words: &str, to: S) -> Result<S::Ok, S::Error> {
        InWords { words }.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
        InWords::deserialize(from).map(|one| one.words)
    }
}

/// An event as it leaves the run: which one it is of, where, and when. It is serialisable, so that a run may
/// be followed from another process or host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunEvent {
    /// The run: a word that no other run has.
    pub run: String,
    /// Name of the host.
    pub host: String,
    /// When it happened, in nanoseconds since 1970-01-01T00:00:00Z.
    pub at_unix_ns: u64,
    /// What happened; its target is a field of its own where it is about one.
    #[serde(flatten)]
    pub event: Event,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::json::{read_event, write_event};

    #[test]
    fn an_event_is_one_flat_object_and_comes_back() {
        let told =
            |event| RunEvent { run: "r".to_owned(), host: "h".to_owned(), at_unix_ns: 7, event };
        let step = told(Event::Step("opening".to_owned()));
        let text = r#"{"run":"r","host":"h","at_unix_ns":7,"event":"step","words":"opening"}"#;
        assert_eq!(write_event(&step), text);
        assert_eq!(read_event(text).unwrap(), step);
        let (name, reason) = ("x".to_owned(), "gone".to_owned());
        let events = [
            Event::Filling { name: "x".to_owned(), done_bytes: 1, total_bytes: 2 },
            Event::PhaseStarted { span: 1, phase: Phase::WarmUp, planned_ns: 5 },
            Event::TargetFailed { name, reason, kind: Kind::Medium, code: Some("EIO".into()) },
            Event::Ready,
            Event::Progress,
            Event::Finished { span: 0 },
        ];
        for event in events {
            let event = told(event);
            assert_eq!(read_event(&write_event(&event)).unwrap(), event);
        }
        assert!(write_event(&told(Event::Finished { span: 0 })).contains(r#""time_span":0"#));
    }
}

//! Warnings are data: the same ones show in text, XML, JSON and Python.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a reader must know before believing the numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// Which kind of warning.
    pub kind: WarningKind,
    /// The target in question, if it is about one.
    pub target: Option<String>,
    /// The time span in question, from 0, if it is about one.
    pub time_span: Option<u32>,
    /// What was seen, with its numbers, as one sentence.
    pub evidence: String,
    /// What to do about it, as one sentence.
    pub remedy: String,
}

impl Warning {
    /// The same, with evidence and remedy as whole sentences.
    #[must_use]
    pub fn in_sentences(self) -> Self {
        Self { evidence: sentence(&self.evidence), remedy: sentence(&self.remedy), ..self }
    }
}

/// A fragment as a sentence: a capital at the front and a full stop at the end. Names of files and
/// options keep their case.
#[must_use]
pub fn sentence(fragment: &str) -> String {
    let mut characters = fragment.trim().chars();
    let Some(first) = characters.next() else { return String::new() };
    let word: String = fragment.trim().chars().take_while(|c| !c.is_whitespace()).collect();
    let plain = word.chars().all(|c| c.is_ascii_lowercase() || c == ',');
    let first = if plain { first.to_ascii_uppercase() } else { first };
    let stop = if fragment.trim_end().ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{stop}", characters.as_str())
}

/// Which kind of warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WarningKind {
    /// Something else than the device answered I/Os: memory, a cache or a layer above it.
    NotTheDevice,
    /// No device can be seen beneath the target from here.
    DeviceUnseen,
    /// A server on the network answered, whose device and cache cannot be seen from here.
    ServerAnswered,
    /// A quota of CPU time stopped this process.
    CpuThrottled,
    /// Other processes used CPUs that threads of load waited for.
    CpuContended,
    /// A limit of I/O was reached, and measured in place of the device.
    IoLimited,
    /// Threads waited for I/Os, and none came back for half a second or a tenth of a shorter measured time.
    Stalled,
    /// A file lost blocks while it was measured.
    ExtentsChanged,
    /// The target holds one pattern over and over, which devices may compress or store once.
    ConstantData,
    /// A compressor makes the data much shorter; a device that compresses reads less than is counted.
    CompressibleData,
    /// So little was read so often that a cache of the device may hold all of it.
    SmallWorkingSet,
    /// The page cache may have answered instead of the device.
    PageCache,
    /// Blocks that were never written were read; they are answered without touching the disk.
    UnwrittenExtents,
    /// Blocks that are written have no place of their own yet: the first write to each also allocates one.
    AllocatingWrites,
    /// The target holds only zeros, which devices may store without writing.
    AllZeroData,
    /// Several threads read the same sequential blocks.
    SharedSequentialBlocks,
    /// A rate that was requested was not reached.
    RateNotReached,
    /// I/Os started later than they were due, which only their response times show.
    ResponseBehindSchedule,
    /// No rule to end the measured time was met before its duration had passed.
    StopRuleNotMet,
    /// A core was at its limit, so the tool and not the device may have been measured.
    CoreSaturated,
    /// The hypervisor took CPU time away.
    CpuStolen,
    /// I/Os failed.
    IoErrors,
    /// I/Os transferred fewer bytes than requested.
    ShortIo,
    /// A better backend was not available.
    BackendFallback,
    /// Threads ran on cores of different kinds.
    MixedCores,
    /// A setting had no effect.
    NoEffect,
    /// The target is smaller than the range that was requested.
    RangeBeyondTarget,
    /// Not all kernel events were counted.
    EventsNotCounted,
    /// A target was deleted, or another took its place, while it was used.
    TargetReplaced,
    /// Threads could run on other CPUs than those that they had been pinned to.
    AffinityChanged,
    /// A CPU was not online during the whole measured time.
    CpuOffline,
    /// Nothing of this process ran for a part of the measured time.
    #[serde(alias = "stood_still")]
    Suspended,
    /// No I/O completed in the measured time.
    NoIoCompleted,
    /// I/Os in flight when the measured time ended had taken far longer than the others.
    StalledAtEnd,
    /// There was time without I/Os in flight that nobody had requested.
    IdleBetweenIos,
    /// The run ended before its time.
    Interrupted,
    /// It could not be seen whether somebody else uses a target that was written.
    UsersUnseen,
    /// The network took a great part of the latency.
    NetworkShare,
    /// Segments were lost on the way, and sent again.
    Retransmits,
    /// A connection was lost, and made again.
    Reconnected,
    /// The server takes fewer I/Os at once than were to be outstanding, or does not keep connections in step.
    ServerWindow,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_become_sentences_and_names_keep_their_case() {
        assert_eq!(sentence("use more threads (-t)"), "Use more threads (-t).");
        assert_eq!(sentence("CPU 0 was busy"), "CPU 0 was busy.");
        assert_eq!(sentence("t.dat is sparse."), "t.dat is sparse.");
        assert_eq!(sentence("12 reads failed"), "12 reads failed.");
        assert_eq!(sentence(""), "");
    }
}

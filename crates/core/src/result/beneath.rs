//! What the layers beneath the targets saw of the load, beside what the tool itself counted.

mod answers;
mod flows;
mod make;
mod origin;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) use answers::is_of_all;
pub(super) use flows::SEEN;
pub(super) use make::{group_uses, loaded_ns, of_span};

use crate::beneath::{
    BY_PROCESS, COPIES, Counters, IN_MEMORY, LayerKind, LimitKind, OVER_NETWORK, OVER_NETWORK_DISK,
    Pressure, ProcessIo, Stall,
};

/// What the layers beneath the targets of a time span saw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Beneath {
    /// For how long the layers were counted: the measured time, and what of the load lay before and behind
    /// it where there was neither warm-up nor cool-down.
    pub counted_ns: u64,
    /// The layers, each once.
    pub layers: Vec<LayerUse>,
    /// Where the figures of each target come from.
    pub targets: Vec<TargetOrigin>,
    /// What this process moved from and to block devices meanwhile; absent if the kernel does not tell.
    pub process: Option<ProcessIo>,
    /// Who used the CPUs during the measured time; absent if the kernel does not tell.
    pub cpu: Option<CpuShares>,
    /// What was waited for during the measured time; absent if the kernel does not tell.
    pub pressure: Option<Pressure>,
    /// Control groups that limit this process, and how they did so during the measured time.
    pub groups: Vec<GroupUse>,
    /// Stretches in which a thread waited for I/Os of a target and none came back: of at least half a second,
    /// or of a tenth of a measured time of less than five seconds, but at least 0.2 s.
    pub stalls: Vec<Stall>,
}

/// One layer, and what it saw of everybody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LayerUse {
    /// Its name: of a device the kernel's, of a file system its type.
    pub name: String,
    /// What it is.
    pub kind: LayerKind,
    /// More about it, in words; empty if there is nothing to say.
    pub about: String,
    /// What it saw, of this run and of others; absent where nothing is counted.
    pub seen: Option<Counters>,
    /// The layers right beneath it, as positions.
    pub below: Vec<u32>,
}

impl LayerUse {
    /// A loop device that reads and writes its file through the page cache.
    pub(crate) fn is_cached_loop(&self) -> bool {
        self.kind == LayerKind::Loop && self.about.ends_with("through the page cache")
    }

    /// A file system over a device of this host that a process serves, which reads and writes that on its own
    /// account (NTFS-3G, exFAT over FUSE).
    pub(crate) fn is_served(&self) -> bool {
        self.kind == LayerKind::FileSystem && self.name == "fuseblk"
    }

    /// Whether a process of this host may answer its I/Os.
    pub(crate) fn may_be_served_here(&self) -> bool {
        let is_served_disk = || [OVER_NETWORK_DISK, BY_PROCESS].contains(&self.about.as_str());
        match self.kind {
            LayerKind::Unseen => true,
            LayerKind::Disk => is_served_disk(),
            _ => self.is_served(),
        }
    }

    /// How often it writes all data to what lies beneath it.
    pub(crate) fn copies(&self) -> u64 {
        let told = COPIES.iter().find(|(words, _)| self.about == *words);
        told.map_or(1, |(_, copies)| *copies)
    }

    /// A file system that is mounted from a server on the network.
    pub(crate) fn is_over_network(&self) -> bool {
        self.kind == LayerKind::Unseen && self.about == OVER_NETWORK
    }

    /// A file system whose files are nowhere but in the page cache, or in swap.
    pub(crate) fn is_file_system_in_memory(&self) -> bool {
        self.kind == LayerKind::Memory && IN_MEMORY.contains(&self.name.as_str())
    }
}

/// What answered the I/Os of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnsweredBy {
    /// The lowest device that this host can see saw at least nine tenths of the bytes.
    Device,
    /// It saw some of them.
    PartlyDevice,
    /// It saw less than one tenth of them: a cache or a layer above answered.
    AboveDevice,
    /// The target lies in memory.
    Memory,
    /// Nothing was touched.
    Nothing,
    /// No device can be seen beneath it from here.
    Unseen,
    /// The kernel counts nothing that tells.
    NotCounted,
}

impl AnsweredBy {
    /// Whether a figure may be taken for that of a device, as far as anybody can tell.
    #[must_use]
    pub fn is_device(self) -> bool {
        matches!(self, Self::Device | Self::NotCounted)
    }
}

/// I/Os that the tool asked of a target, and that completed in the measured time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Asked {
    /// Reads.
    pub read_ios: u64,
    /// Bytes of these.
    pub read_bytes: u64,
    /// Writes.
    pub write_ios: u64,
    /// Bytes of these.
    pub write_bytes: u64,
    /// Trims.
    #[serde(default)]
    pub trim_ios: u64,
    /// Bytes of these, which were given back.
    #[serde(default)]
    pub trim_bytes: u64,
}

impl std::iter::Sum for Asked {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            read_ios: sum.read_ios + one.read_ios,
            read_bytes: sum.read_bytes + one.read_bytes,
            write_ios: sum.write_ios + one.write_ios,
            write_bytes: sum.write_bytes + one.write_bytes,
            trim_ios: sum.trim_ios + one.trim_ios,
            trim_bytes: sum.trim_bytes + one.trim_bytes,
        })
    }
}

impl Asked {
    /// Whether nothing was asked, or nothing of it completed.
    pub(crate) fn is_nothing(self) -> bool {
        self == Self::default()
    }
}

/// Where the figures of a target come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetOrigin {
    /// Position of the target in its time span, from 0.
    pub target: u32,
    /// What was asked of it.
    pub asked: Asked,
    /// The layers beneath it, the nearest first, as positions.
    pub layers: Vec<u32>,
    /// What answered.
    pub answered_by: AnsweredBy,
    /// The same as a sentence with its numbers.
    pub sentence: String,
}

/// Who used the CPUs during the measured time, in nanoseconds over all CPUs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuShares {
    /// CPUs that were counted.
    pub cpu_count: u32,
    /// For how long they were counted.
    pub counted_ns: u64,
    /// This process, in user mode.
    pub own_user_ns: u64,
    /// This process, in the kernel, with threads that the kernel runs for it.
    pub own_system_ns: u64,
    /// Interrupts, and what they leave for later.
    pub interrupts_ns: u64,
    /// Threads of the kernel, which work for everybody.
    pub kernel_threads_ns: u64,
    /// All other processes, also those that came and went.
    pub others_ns: u64,
    /// Taken by the hypervisor.
    pub stolen_ns: u64,
    /// How long the threads of load were ready to run and had no CPU; absent if the kernel does not tell,
    /// or if a thread did not come back.
    pub waited_ns: Option<u64>,
    /// The other processes that used most, from before the load until after it.
    pub most: Vec<OtherProcess>,
}

/// CPU time of another process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OtherProcess {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// CPU time from before the load until after it, in nanoseconds.
    pub cpu_ns: u64,
    /// For how long it was watched, in nanoseconds.
    pub watched_ns: u64,
    /// Targets that it serves, as positions in the time span: its CPU time is a part of their I/Os.
    #[serde(default)]
    pub serves: Vec<u32>,
    /// Targets that it may serve: it serves some of their kind.
    #[serde(default)]
    pub may_serve: Vec<u32>,
}

impl OtherProcess {
    /// Whether targets need it, as far as can be told.
    pub(crate) fn is_server(&self) -> bool {
        !self.serves.is_empty() || !self.may_serve.is_empty()
    }
}

/// A control group that limits this process, and how it did so during the measured time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupUse {
    /// Its directory.
    pub folder: String,
    /// CPUs that it allows; absent if it does not limit them.
    pub cpu_limit: Option<f64>,
    /// Stretches of time that were counted out.
    pub periods: u64,
    /// Those in which the group was stopped.
    pub throttled_periods: u64,
    /// For how long it was stopped, over all CPUs, in nanoseconds.
    pub throttled_ns: u64,
    /// Limits of I/O.
    pub io: Vec<IoLimitUse>,
}

/// A limit of I/O to one device, and what the group did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoLimitUse {
    /// The device, by the kernel's name if it is one of the layers, or its number.
    pub device: String,
    /// Position of the device among the layers, if it is one of them.
    pub layer: Option<u32>,
    /// What is limited.
    pub kind: LimitKind,
    /// So many per second are allowed.
    pub limit_per_s: u64,
    /// So many per second there were; absent if the kernel does not tell.
    pub done_per_s: Option<f64>,
}

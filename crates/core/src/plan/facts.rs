//! What a request is resolved against: the facts of one host, as plain data.
//!
//! They are gathered once, before anything is opened for I/O, and can be invented for a host that
//! is not at hand.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use fathom_sys::device::{self, Disk, PathFacts};
use fathom_sys::ring::takes_locked_memory;
use fathom_sys::trace::{Group, TraceError};
use fathom_sys::{cache, cpu, host, limits};

use crate::control_groups::{self, MemoryLeft};
use crate::errors::Failure;
use crate::measure::EventSink;
use crate::network::{RemoteFacts, RemotePlan};
use crate::request::{Caching, Profile, Target, WriteSource};
use crate::result::{Cache, Cpu, Host, SystemReport, Tool};
use crate::storage::{Facts, Location};
use crate::supervise::{Doing, within};
use crate::tree::Tree;

/// Which of the kernel's asynchronous interfaces work here; where one does not, why, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineAvailability {
    /// `io_uring`.
    pub uring: Result<(), String>,
    /// Linux native asynchronous I/O.
    pub aio: Result<(), String>,
    /// Discarding ranges of devices through `io_uring`.
    pub uring_discard: Result<(), String>,
}

/// Memory that this account may lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lockable {
    /// How much, in bytes.
    pub bytes: u64,
    /// Whether the kernel counts rings, too, and not only the buffers that they register.
    pub takes_rings: bool,
}

/// All that a plan needs to know of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFacts {
    /// Its name.
    pub name: String,
    /// Operating system and kernel release.
    pub kernel: String,
    /// Model of the processor.
    pub cpu_model: String,
    /// The frequency governor; empty if there is none.
    pub power_scheme: String,
    /// Its memory in bytes, if the kernel tells it.
    pub memory_bytes: Option<u64>,
    /// What the control groups of this process leave of it; absent if they set no limit.
    pub memory_left: Option<MemoryLeft>,
    /// Memory that this account may lock; absent if there is no limit for it.
    pub lockable: Option<Lockable>,
    /// Memory that the page directory entries in one cache line describe, in bytes.
    pub page_directory_line_bytes: u64,
    /// The CPUs that are online, by group and index.
    pub cpus: Vec<Cpu>,
    /// The kernel's numbers of those that this process may use.
    pub usable_cpus: BTreeSet<u32>,
    /// The whole disks, in the order that gives them their numbers; empty if no target is named
    /// by its number.
    pub disks: Vec<Disk>,
    /// What each target leads to, by its name in the profile, or why it cannot be told.
    pub targets: BTreeMap<String, Result<Facts, Failure>>,
    /// Whether each file of write data can be read, by its name, or why not, in words.
    pub data_files: BTreeMap<String, Result<(), String>>,
    /// Which engines work here.
    pub engines: EngineAvailability,
    /// Groups of kernel events that are requested and cannot be counted here, with the reasons.
    pub uncountable: Vec<(Group, TraceError)>,
}

impl HostFacts {
    /// The host as results describe it.
    #[must_use]
    pub fn host(&self) -> Host {
        Host {
            name: self.name.clone(),
            kernel: self.kernel.clone(),
            cpu_model: self.cpu_model.clone(),
            power_scheme: self.power_scheme.clone(),
            cpus: self.cpus.clone(),
        }
    }

    /// What a target of this host leads to; nothing if that is not known, or it lies elsewhere.
    pub(crate) fn here(&self, target: &Target) -> Option<&PathFacts> {
        match self.targets.get(target.path.as_str()) {
            Some(Ok(Facts::Here(known))) => Some(known),
            _ => None,
        }
    }

    /// What the server says of a target; nothing if that is not known, or it is this host's.
    pub(crate) fn served(&self, target: &Target) -> Option<&RemoteFacts> {
        match self.targets.get(target.path.as_str()) {
            Some(Ok(Facts::Served(known))) => Some(known),
            _ => None,
        }
    }

    /// Looks at the targets of `profile`, each of which may hang.
    pub fn look_at_targets(&mut self, profile: &Profile, sink: EventSink<'_>) {
        let targets = || profile.time_spans.iter().flat_map(|span| &span.targets);
        let is_numbered = |target: &Target| target.path.disk_number().is_some();
        self.disks = if targets().any(is_numbered) { device::disks() } else { Vec::new() };
        for target in targets() {
            let what = format!("look at '{}'", target.path);
            let doing = match Location::of(&target.path, &self.disks, RemotePlan::default()) {
                Ok(location) => Doing::at(&location, what),
                Err(_) => what.into(),
            };
            let name = target.path.to_string();
            if !self.targets.contains_key(&name) {
                let found = within(sink, doing, || look(target, profile, &self.disks));
                self.targets.insert(name, found);
            }
            if let WriteSource::Buffer { file: Some(name), .. } = &target.write_data.source {
                let found = within(sink, format!("open '{name}'"), || readable(Path::new(name)));
                self.data_files.insert(name.clone(), found.map_err(|error| error.to_string()));
            }
        }
    }
}

/// Gathers the facts of this host that `profile` needs.
///
/// Nothing is written, created, or opened for I/O. What goes wrong with one target is part of the
/// facts, so that all of it can be told at once.
#[must_use]
pub fn gather(profile: &Profile, engines: EngineAvailability, sink: EventSink<'_>) -> HostFacts {
    let mut host = of_host(profile, engines);
    host.look_at_targets(profile, sink);
    host
}

/// The name of this host.
#[must_use]
pub fn host_name() -> String {
    host::name()
}

/// The facts of this host alone: no target is looked at.
#[must_use]
pub fn of_host(profile: &Profile, engines: EngineAvailability) -> HostFacts {
    HostFacts {
        name: host::name(),
        kernel: host::kernel(),
        cpu_model: cpu::model_name(),
        power_scheme: cpu::governor(),
        memory_bytes: host::memory_bytes(),
        memory_left: control_groups::memory_left(&Tree::new(Path::new("/"))),
        lockable: limits::lockable_bytes().map(|bytes| Lockable {
            bytes,
            takes_rings: takes_locked_memory(host::kernel().trim_start_matches("Linux ")),
        }),
        page_directory_line_bytes: cache::page_directory_line_bytes(),
        // Without a topology no CPU is known, and the plan says so to whoever asks for one.
        cpus: cpu::topology().unwrap_or_default().iter().map(cpu_of).collect(),
        usable_cpus: cpu::usable().unwrap_or_default().into_iter().collect(),
        targets: BTreeMap::new(),
        data_files: BTreeMap::new(),
        disks: Vec::new(),
        engines,
        uncountable: super::tracing::uncountable(profile),
    }
}

/// The longest time for making a connection: far more than any server needs that will ever answer, but no
/// more than the time spans wait for an I/O.
#[must_use]
pub fn patience(profile: &Profile) -> Duration {
    const LONGEST: Duration = Duration::from_secs(10);
    let waits = profile.time_spans.iter().filter_map(|span| span.faults.io_timeout_ns());
    // The client gives up first, as it has better words than whoever supervises it.
    waits.map(|ns| Duration::from_nanos(ns / 10 * 9)).fold(LONGEST, Duration::min)
}

/// Looks at a target, for all that the profile does with it.
fn look(target: &Target, profile: &Profile, disks: &[Disk]) -> Result<Facts, Failure> {
    let targets = profile.time_spans.iter().flat_map(|span| &span.targets);
    let mut same = targets.filter(|one| one.path == target.path).peekable();
    let is_unbuffered = same.peek().is_some_and(|first| first.caching == Caching::Unbuffered);
    let may_be_made = same.any(|one| one.create_bytes.is_some_and(|bytes| bytes > 0));
    let timeout = patience(profile);
    let reached = RemotePlan { is_unbuffered, timeout, ..RemotePlan::default() };
    Location::of(&target.path, disks, reached)?.storage().look(may_be_made)
}

/// Looks at this host alone, at the instant `seen_at_unix_s`.
#[must_use]
pub fn system(seen_at_unix_s: i64) -> SystemReport {
    let cpus: Vec<Cpu> = cpu::topology().unwrap_or_default().iter().map(cpu_of).collect();
    let os_ids: Vec<u32> = cpus.iter().map(|cpu| cpu.os_id).collect();
    SystemReport {
        tool: Tool::this(),
        seen_at_unix_s,
        host: Host {
            name: host::name(),
            kernel: host::kernel(),
            cpu_model: cpu::model_name(),
            power_scheme: cpu::governor(),
            cpus,
        },
        page_bytes: cache::page_bytes(),
        caches: cache::caches(&os_ids).into_iter().map(cache_of).collect(),
    }
}

fn cache_of(cache: cache::Cache) -> Cache {
    let cache::Cache { level, kind, size_bytes, line_bytes, ways, cpus } = cache;
    Cache { level, kind, size_bytes, line_bytes, ways, os_cpus: cpus }
}

fn cpu_of(cpu: &cpu::Cpu) -> Cpu {
    let cpu::Cpu { os_id, group, index, node, socket, core, efficiency_class } = *cpu;
    Cpu { os_id, group, index, node, socket, core, efficiency_class }
}

/// Asks for the kind before opening: opening a pipe would wait for somebody to write to it.
fn readable(path: &Path) -> std::io::Result<()> {
    if path.metadata()?.is_file() {
        return File::open(path).map(drop);
    }
    Err(std::io::Error::other("it is not a regular file"))
}

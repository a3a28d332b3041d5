//! Which layers lie beneath the targets of a time span.

use std::path::{Path, PathBuf};

use fathom_sys::identity::Identity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::places;
use super::servers::Server;
use crate::guard::blocks::Blocks;
use crate::guard::machine::{Machine, Number};
use crate::plan::{EngineKind, SpanPlan, TargetKind};

/// Layers deeper than this are not followed: a loop device may lie over a file on itself.
const DEEPEST: usize = 16;

/// What is said of a disk that a server on the network has.
pub(crate) const OVER_NETWORK_DISK: &str = "over the network";
/// What is said of what a process serves.
pub(crate) const BY_PROCESS: &str = "served by a process";

/// What a layer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LayerKind {
    /// The null engine, which touches nothing.
    Nothing,
    /// A file system over a layer below.
    FileSystem,
    /// Memory: a file system or a device that stores nothing elsewhere.
    Memory,
    /// Something whose device cannot be seen here: FUSE, or a file system of another host.
    Unseen,
    /// A partition of a disk.
    Partition,
    /// A volume over other devices: device mapper, md, bcache.
    Volume,
    /// A loop device over a file or a device.
    Loop,
    /// A disk, as far as this host can see.
    Disk,
}

/// One layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// Its name: of a device the kernel's, of a file system its type.
    pub name: String,
    /// What it is.
    pub kind: LayerKind,
    /// More about it, in words; empty if there is nothing to say.
    pub about: String,
    /// What tells it from others of its name, where it has no number.
    pub(super) key: String,
    /// Major and minor number, where it is a block device.
    pub number: Option<(u32, u32)>,
    /// The kernel counts its I/Os.
    pub is_counted: bool,
    /// A block device whose I/Os the page cache may answer before it.
    pub is_cached: bool,
    /// Who answers its I/Os, where that may be a process of this host.
    pub server: Option<Server>,
    /// The layers right beneath it, as indices.
    pub below: Vec<usize>,
}

/// All layers beneath the targets of a time span.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layers {
    /// The layers, each once.
    pub all: Vec<Layer>,
    /// The nearest layer of each target, in the order of the targets.
    pub nearest: Vec<Option<usize>>,
}

impl Layers {
    /// The layers beneath the targets of a time span of this machine.
    #[must_use]
    pub fn of(span: &SpanPlan) -> Self {
        Self::on(&Machine::this(), span)
    }

    /// The same on a machine that may be made of files.
    pub(crate) fn on(machine: &Machine, span: &SpanPlan) -> Self {
        let (blocks, found) = (Blocks::new(machine), Self::default());
        let mut finder = Finder { machine, blocks, found, is_written: false };
        for (index, target) in span.targets.iter().enumerate() {
            finder.is_written = target.open.write;
            let is_used = |kind| {
                span.threads.iter().any(|thread| {
                    thread.engine == kind
                        && thread.assignments.iter().any(|assignment| assignment.target == index)
                })
            };
            let nearest = match target.kind {
                _ if is_used(EngineKind::Null) => {
                    Some(finder.leaf("null engine", LayerKind::Nothing, ""))
                }
                TargetKind::Virtual => Some(finder.leaf("simulation", LayerKind::Nothing, "")),
                TargetKind::Network => target.location.served().map(|served| {
                    let facts = &served.plan.facts;
                    let about = format!(
                        "of {}, whose device and cache cannot be seen from here",
                        facts.server
                    );
                    finder.served(&facts.kind, &about, Server::of_words(&facts.server))
                }),
                TargetKind::BlockDevice => finder.device_at(target.path()),
                TargetKind::File => finder.file(target.path(), 0),
            };
            finder.found.nearest.push(nearest);
        }
        finder.found
    }

    /// All layers beneath a target, the nearest first.
    #[must_use]
    pub fn beneath(&self, target: usize) -> Vec<usize> {
        let mut found: Vec<usize> =
            self.nearest.get(target).copied().flatten().into_iter().collect();
        let mut next = 0;
        while let Some(&layer) = found.get(next) {
            for &below in &self.all[layer].below {
                if !found.contains(&below) {
                    found.push(below);
                }
            }
            next += 1;
        }
        found
    }
}

/// Enters layers.
pub(super) struct Finder<'a> {
    pub(super) machine: &'a Machine,
    blocks: Blocks<'a>,
    found: Layers,
    /// The load opens the target for writing.
    pub(super) is_written: bool,
}

impl Finder<'_> {
    /// A layer with nothing beneath it.
    pub(super) fn leaf(&mut self, name: &str, kind: LayerKind, about: &str) -> usize {
        self.enter(Layer {
            name: name.to_owned(),
            kind,
            about: about.to_owned(),
            key: about.to_owned(),
            number: None,
            is_counted: false,
            is_cached: false,
            server: None,
            below: Vec::new(),
        })
    }

    /// A layer whose device cannot be seen, which somebody serves. Each has a layer of its own.
    pub(super) fn served(&mut self, name: &str, about: &str, server: Option<Server>) -> usize {
        self.enter(Layer {
            name: name.to_owned(),
            kind: LayerKind::Unseen,
            about: about.to_owned(),
            key: format!("{about} {server:?}"),
            number: None,
            is_counted: false,
            is_cached: false,
            server,
            below: Vec::new(),
        })
    }

    /// A file system, whose devices are to be told. `key` tells it from others of its kind.
    pub(super) fn file_system(&mut self, name: &str, key: String) -> usize {
        self.enter(Layer {
            name: name.to_owned(),
            kind: LayerKind::FileSystem,
            about: String::new(),
            key,
            number: None,
            is_counted: false,
            is_cached: false,
            server: None,
            below: Vec::new(),
        })
    }

    /// Lays a file system over its devices; without any, its device cannot be seen.
    pub(super) fn lay(&mut self, layer: usize, below: Vec<usize>) {
        let layer = &mut self.found.all[layer];
        if below.is_empty() {
            layer.kind = LayerKind::Unseen;
            layer.about.push_str("whose device cannot be seen from here");
        }
        layer
            .below
            .extend(below.into_iter().filter(|one| !layer.below.contains(one)).collect::<Vec<_>>());
    }

    /// Says more about a layer about which nothing is said.
    pub(super) fn say(&mut self, layer: usize, words: &str) {
        let about = &mut self.found.all[layer].about;
        if about.is_empty() {
            words.clone_into(about);
        }
    }

    /// Each layer is entered once; layers without a number are known by their names and words.
    fn enter(&mut self, layer: Layer) -> usize {
        let is_same = |one: &Layer| {
            one.number == layer.number && one.name == layer.name && one.key == layer.key
        };
        if let Some(index) = self.found.all.iter().position(is_same) {
            return index;
        }
        self.found.all.push(layer);
        self.found.all.len() - 1
    }

    /// What lies beneath a file; nothing if its mount cannot be told.
    pub(super) fn file(&mut self, path: &Path, depth: usize) -> Option<usize> {
        if depth > DEEPEST { None } else { places::of_file(self, path, depth) }
    }

    /// The layer of the block device that a path leads to.
    pub(super) fn device_at(&mut self, path: &Path) -> Option<usize> {
        match self.machine.identity(path)? {
            Identity::Device(number) => self.device(number, 0),
            _ => None,
        }
    }

    /// A block device, and what lies beneath it; nothing if the kernel does not show it.
    pub(super) fn device(&mut self, number: Number, depth: usize) -> Option<usize> {
        if let Some(index) = self.found.all.iter().position(|one| one.number == Some(number)) {
            return Some(index);
        }
        self.blocks.directory(number)?;
        let (kind, about) = self.device_in_words(number);
        let index = self.enter(Layer {
            name: self.blocks.name(number),
            kind,
            about,
            key: String::new(),
            number: Some(number),
            is_counted: self.is_counted(number),
            is_cached: kind == LayerKind::Loop
                && self.blocks.file(number, "loop/dio").as_deref() != Some("1"),
            server: self.server_of(number),
            below: Vec::new(),
        });
        if depth < DEEPEST {
            let below = self.below(number, depth + 1);
            self.found.all[index].below = below;
        }
        Some(index)
    }

    /// Who serves a block device, if a process does.
    fn server_of(&self, number: Number) -> Option<Server> {
        let directory = self.blocks.directory(number)?;
        Server::of_device(self.machine.files(), &self.blocks.name(number), &directory)
    }

    /// Whoever answers the I/Os of a layer.
    pub(super) fn serve(&mut self, layer: usize, server: Option<Server>) {
        self.found.all[layer].server = server;
    }

    fn below(&mut self, number: Number, depth: usize) -> Vec<usize> {
        if let Some(disk) = self.blocks.disk(number) {
            return self.device(disk, depth).into_iter().collect();
        }
        if self.blocks.has(number, "loop/backing_file") {
            return self.below_loop(number, depth).into_iter().collect();
        }
        let parts = self.blocks.slaves(number);
        parts.into_iter().filter_map(|part| self.device(part, depth)).collect()
    }

    fn below_loop(&mut self, number: Number, depth: usize) -> Option<usize> {
        match self.blocks.loop_device(number).and_then(|device| device.under) {
            Some(Identity::Device(under)) => self.device(under, depth),
            Some(Identity::File(id)) => {
                places::of_backing_file(self, &self.backing_file(number), Some(id.device), depth)
            }
            // Only its path is known to whoever may not ask the device.
            _ => places::of_backing_file(self, &self.backing_file(number), None, depth),
        }
    }

    fn backing_file(&self, number: Number) -> PathBuf {
        self.blocks.backing_file(number).unwrap_or_default()
    }

    /// Whether the kernel counts the I/Os of a device, or of the disk that a partition lies on.
    fn is_counted(&self, number: Number) -> bool {
        let disk = self.blocks.disk(number).unwrap_or(number);
        self.blocks.file(disk, "queue/iostats").as_deref() != Some("0")
            && self.blocks.has(number, "stat")
    }

    fn device_in_words(&self, number: Number) -> (LayerKind, String) {
        let name = self.blocks.name(number);
        let is = |driver: &str| {
            let digits = name.strip_prefix(driver);
            digits.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        let model = || self.blocks.file(number, "device/model").unwrap_or_default();
        match () {
            () if self.blocks.disk(number).is_some() => (LayerKind::Partition, String::new()),
            () if is("zram") => (LayerKind::Memory, "compressed in memory".to_owned()),
            () if is("ram") => (LayerKind::Memory, "a RAM disk".to_owned()),
            () if is("nullb") => {
                (LayerKind::Memory, "null_blk, which stores nothing on media".to_owned())
            }
            () if model() == "scsi_debug" => {
                (LayerKind::Memory, "scsi_debug, in memory".to_owned())
            }
            () if self.blocks.has(number, "loop/backing_file") => {
                (LayerKind::Loop, self.loop_in_words(number))
            }
            () if is("nbd") || is("rbd") || is("drbd") => {
                (LayerKind::Disk, OVER_NETWORK_DISK.to_owned())
            }
            () if is("ublkb") => (LayerKind::Disk, BY_PROCESS.to_owned()),
            () if !self.blocks.slaves(number).is_empty() => {
                (LayerKind::Volume, self.blocks.volume_in_words(number))
            }
            () => (LayerKind::Disk, String::new()),
        }
    }

    fn loop_in_words(&self, number: Number) -> String {
        let file = self.backing_file(number);
        let how = match self.blocks.file(number, "loop/dio").as_deref() {
            Some("1") => "past the page cache",
            _ => "through the page cache",
        };
        format!("over {}, {how}", file.display())
    }
}

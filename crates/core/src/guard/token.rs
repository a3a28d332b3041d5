//! The word that permits writing to one device: what is written on it, so that it can't be said of
//! another by a slip.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fathom_sys::device::{self, Label};
use fathom_sys::identity::Identity;

use super::Guard;
use super::blocks::{Blocks, path_of};
use super::machine::{Machine, Number};
use crate::request::Permission;

/// A device, as the person who gives leave knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceLabel {
    /// Its path by the kernel's name.
    pub path: String,
    /// Model of the disk, where it has one.
    pub model: Option<String>,
    /// Serial number of the disk, where it has one.
    pub serial: Option<String>,
    /// World-wide name of the disk, where it has one.
    pub wwn: Option<String>,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// The words that permit writing to it, the first one preferred.
    pub tokens: Vec<String>,
}

/// The labels of the devices that paths lead to, or that the files behind them lie on, as far as these can be
/// told.
#[must_use]
pub fn labels_of<'p>(paths: impl Iterator<Item = &'p Path>) -> BTreeMap<PathBuf, DeviceLabel> {
    let (machine, permission) = (Machine::this(), Permission::default());
    let guard = Guard::new(&machine, Vec::new(), &permission, &|_| {});
    let label = |path: &Path| Some((path.to_owned(), guard.label(machine.identity(path)?)?));
    paths.filter_map(label).collect()
}

impl Guard<'_> {
    /// The label of a device, or of the one that a file lies on.
    pub(super) fn label(&self, identity: Identity) -> Option<DeviceLabel> {
        let blocks = &self.sight.blocks;
        let (number, is_sure) = match identity {
            Identity::Device(number) => (number, true),
            Identity::File(file) => (file.device, false),
            Identity::Other => return None,
        };
        let mut labels = self.labels.borrow_mut();
        let look = || {
            let is_there = is_sure || blocks.directory(number).is_some();
            is_there.then(|| label(self.machine, blocks, number))
        };
        labels.entry(number).or_insert_with(look).clone()
    }
}

/// The label of a device.
///
/// Leave is given by the disk's serial number, or its world-wide name; a partition adds `-part` and its
/// number, as the names below `/dev/disk/by-id` do. A serial number that two disks have names neither of
/// them. Where there is neither, leave is given by path and size.
pub(super) fn label(machine: &Machine, blocks: &Blocks<'_>, number: Number) -> DeviceLabel {
    let disk = blocks.disk(number).unwrap_or(number);
    let Label { model, serial, wwn } = label_of(machine, blocks, disk);
    let part = blocks.file(number, "partition").map(|part| format!("-part{part}"));
    let part = part.unwrap_or_default();
    let path = path_of(&blocks.name(number));
    let size_bytes = blocks.size_bytes(number);
    let is_single = |serial: &&String| !is_shared(machine, serial);
    let names = serial.as_ref().filter(is_single).into_iter().chain(&wwn);
    let mut tokens: Vec<String> = names.map(|name| format!("{}{part}", plain(name))).collect();
    if tokens.is_empty() {
        tokens.push(format!("{path}:{size_bytes}"));
    }
    DeviceLabel { path, model, serial, wwn, size_bytes, tokens }
}

fn label_of(machine: &Machine, blocks: &Blocks<'_>, disk: Number) -> Label {
    let directory = blocks.directory(disk);
    directory.map(|name| device::label(&machine.files().path(&name))).unwrap_or_default()
}

fn is_shared(machine: &Machine, serial: &str) -> bool {
    let disks = machine.files().names("sys/block").into_iter();
    let same = disks.filter(|name| {
        let directory = machine.files().path(&format!("sys/block/{name}"));
        device::label(Path::new(&directory)).serial.as_deref() == Some(serial)
    });
    same.count() > 1
}

/// Blanks become underscores, as in the names below `/dev/disk/by-id`.
pub(crate) fn plain(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join("_")
}

impl DeviceLabel {
    /// Whether one of these words permits writing to it.
    #[must_use]
    pub fn is_allowed_by(&self, words: &[String]) -> bool {
        words.iter().any(|word| self.tokens.contains(&plain(word)))
    }

    /// The option that gives leave.
    #[must_use]
    pub fn option(&self) -> String {
        let token = self.tokens.first().map_or("", String::as_str);
        format!("--allow-write={token}")
    }

    /// Model and size in words.
    #[must_use]
    pub fn in_words(&self) -> String {
        let size = format!("{} bytes", self.size_bytes);
        let parts =
            [self.model.clone(), self.serial.as_ref().map(|serial| format!("serial {serial}"))];
        parts.into_iter().flatten().chain([size]).collect::<Vec<_>>().join(", ")
    }
}

//! Machines made of the files that a kernel shows.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::{Edge, Layers, Observation, Watch};
use crate::guard::machine::{Machine, Number};
use crate::plan::SpanPlan;

/// A machine with the disk `sda`, its partition `sda1` with the root, and the disk `sdb`.
pub(crate) struct Fake {
    root: tempfile::TempDir,
    mounts: String,
}

impl Fake {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        let mut fake = Self { root, mounts: String::new() };
        fake.device("sda", (8, 0));
        fake.device("sda/sda1", (8, 1));
        fake.device("sdb", (8, 16));
        fake.write("sys/devices/sda/sda1/partition", "1");
        fake.mount("8:1 / / rw - ext4 /dev/sda1 rw");
        fake.write("proc/self/io", "read_bytes: 0\nwrite_bytes: 0\n");
        fake
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, text).expect("a file");
    }

    pub(crate) fn link(&self, from: &str, to: &Path) {
        let path = self.path(from);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        symlink(to, path).expect("a link");
    }

    /// A device in its directory, whose counters stand at nothing, and the links that lead there.
    pub(crate) fn device(&self, place: &str, (major, minor): Number) {
        let name = place.rsplit('/').next().expect("a name");
        self.write(&format!("sys/devices/{place}/dev"), &format!("{major}:{minor}\n"));
        self.write(&format!("sys/devices/{place}/size"), "2048\n");
        self.counts(place, [0; 4]);
        let directory = self.path(&format!("sys/devices/{place}"));
        self.link(&format!("sys/dev/block/{major}:{minor}"), &directory);
        self.link(&format!("sys/class/block/{name}"), &directory);
        if !place.contains('/') {
            self.link(&format!("sys/block/{name}"), &directory);
        }
    }

    /// Sets the counters of a device: reads and their bytes, writes and their bytes.
    pub(crate) fn counts(&self, place: &str, [reads, bytes, writes, bytes_written]: [u64; 4]) {
        let (read, written) = (bytes / 512, bytes_written / 512);
        let line = format!("{reads} 0 {read} 0 {writes} 0 {written} 0 0 0 0 0 0 0 0 0 0\n");
        self.write(&format!("sys/devices/{place}/stat"), &line);
    }

    /// Sets what this process has fetched from devices.
    pub(crate) fn fetched(&self, bytes: u64) {
        self.write("proc/self/io", &format!("read_bytes: {bytes}\nwrite_bytes: 0\n"));
    }

    pub(crate) fn volume(&self, name: &str, number: Number, members: &[&str]) {
        self.device(name, number);
        for member in members {
            let short = member.rsplit('/').next().expect("a name");
            let other = self.path(&format!("sys/devices/{member}"));
            self.link(&format!("sys/devices/{name}/slaves/{short}"), &other);
        }
    }

    pub(crate) fn loop_over(&self, index: u32, file: &str, is_direct: bool) {
        let name = format!("loop{index}");
        self.device(&name, (7, index));
        self.write(&format!("sys/devices/{name}/loop/backing_file"), file);
        self.write(&format!("sys/devices/{name}/loop/dio"), if is_direct { "1" } else { "0" });
    }

    /// Mounts something, by the rest of its line.
    pub(crate) fn mount(&mut self, line: &str) {
        self.mount_as(30, line);
    }

    /// The same, where its number tells it from others.
    pub(crate) fn mount_as(&mut self, id: u32, line: &str) {
        self.mounts.push_str(&format!("{id} 1 {line}\n"));
        self.write("proc/self/mountinfo", &self.mounts);
    }

    /// Sets what the kernel tells of a path: its mount and the number of its file system.
    pub(crate) fn stands(&self, path: &str, told: &str) {
        self.write(&format!("made/standing{path}"), told);
    }

    pub(crate) fn layers(&self, span: &SpanPlan) -> Layers {
        Layers::on(&Machine::below(self.root.path()), span)
    }

    /// What a watch reads, where `load` changes the counters.
    pub(crate) fn observe(&self, span: &SpanPlan, load: impl FnOnce(&Self)) -> Observation {
        let watch = Watch::below(self.root.path(), self.layers(span));
        watch.look(Edge::BeforeLoad);
        watch.look(Edge::Begin);
        load(self);
        watch.look(Edge::End);
        watch.look(Edge::AfterLoad);
        watch.take()
    }
}

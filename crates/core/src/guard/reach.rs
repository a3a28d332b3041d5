//! What a write to a target reaches: all that is built on it, and what it is built on itself.
//!
//! Both directions matter. A whole disk reaches its partitions and the volumes on them; a partition must
//! not be written where the whole disk is claimed; a file may lie under a loop device, and a loop device
//! over a file that another one lies over too. The kernel's exclusive opening knows the first two only.

use std::collections::BTreeSet;

use fathom_sys::identity::Identity;

use super::blocks::{Blocks, LoopDevice};
use super::machine::Number;

/// Something that a write reaches.
#[derive(Debug)]
pub(super) struct Reached {
    pub(super) node: Identity,
    /// It, as the subject of a sentence.
    pub(super) subject: String,
    /// What being there says already, as a sentence; empty if nothing.
    pub(super) link: String,
}

/// All that a write to `target` reaches, the target itself first; `subject` stands for it.
pub(super) fn reach(blocks: &Blocks<'_>, target: Identity, subject: &str) -> Vec<Reached> {
    let mut walk = Walk { blocks, seen: BTreeSet::new(), found: Vec::new() };
    walk.up(target, subject, String::new());
    walk.down(target);
    walk.found
}

struct Walk<'a> {
    blocks: &'a Blocks<'a>,
    seen: BTreeSet<Identity>,
    found: Vec<Reached>,
}

impl Walk<'_> {
    /// Enters something; whether it is new.
    fn enter(&mut self, node: Identity, subject: &str, link: String) -> bool {
        let is_new = self.seen.insert(node);
        if is_new {
            self.found.push(Reached { node, subject: subject.to_owned(), link });
        }
        is_new
    }

    /// What is built on `node`.
    fn up(&mut self, node: Identity, subject: &str, link: String) {
        if !self.enter(node, subject, link) {
            return;
        }
        if let Identity::Device(number) = node {
            for part in self.blocks.partitions(number) {
                let name = self.blocks.name(part);
                self.up(Identity::Device(part), &format!("its partition {name}"), String::new());
            }
            self.volumes_on(number, subject);
        }
        self.loops_over(node, subject);
    }

    fn volumes_on(&mut self, number: Number, subject: &str) {
        for volume in self.blocks.holders(number) {
            let words = self.blocks.volume_in_words(volume);
            let link = format!("{subject} is part of the volume {words}");
            self.up(Identity::Device(volume), &format!("the volume {words}"), link);
        }
    }

    fn loops_over(&mut self, node: Identity, object: &str) {
        let blocks = self.blocks;
        for device in blocks.loops.iter().filter(|device| device.under == Some(node)) {
            self.loop_over(device, &format!("lies over {object}"));
        }
    }

    fn loop_over(&mut self, device: &LoopDevice, how: &str) {
        let subject = format!("the loop device {}", self.blocks.name(device.number));
        let link = format!("{subject} {how}");
        self.up(Identity::Device(device.number), &subject, link);
    }

    /// What `node` is built on. Of that, only what reaches back to the same bytes is looked at: the other
    /// partitions of a disk and the other volumes of a group are not touched by a write here.
    fn down(&mut self, node: Identity) {
        let Identity::Device(number) = node else { return };
        if let Some(disk) = self.blocks.disk(number) {
            let subject = format!("the disk {} that it lies on", self.blocks.name(disk));
            if self.enter(Identity::Device(disk), &subject, String::new()) {
                self.volumes_on(disk, &subject);
                self.loops_over(Identity::Device(disk), &subject);
                self.down(Identity::Device(disk));
            }
        }
        for part in self.blocks.slaves(number) {
            let subject = format!("{}, which it is made of,", self.blocks.name(part));
            if self.enter(Identity::Device(part), &subject, String::new()) {
                self.loops_over(Identity::Device(part), &subject);
                self.down(Identity::Device(part));
            }
        }
        self.below_loop(number);
    }

    fn below_loop(&mut self, number: Number) {
        let blocks = self.blocks;
        let Some(own) = blocks.loop_device(number) else { return };
        let Some(under) = own.under else { return };
        if let Identity::Device(number) = under {
            let subject = format!("{}, which lies under it,", blocks.name(number));
            self.up(under, &subject, String::new());
            self.down(under);
            return;
        }
        self.enter(under, "the file behind it", String::new());
        for other in &blocks.loops {
            if other.number != number && other.overlaps(own) {
                self.loop_over(other, "lies over the same data");
            }
        }
    }
}

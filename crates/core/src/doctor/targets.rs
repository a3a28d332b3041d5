//! From a target to the disk that holds it.

use std::path::Path;

use fathom_sys::contract::file::FileFacts;
use fathom_sys::device::{self, PathKind};
use fathom_sys::holders::device_number;

use super::tree::Tree;
use super::{Finding, devices};
use crate::storage::Target;

/// Looks at these targets and their disks; at all disks if there are none.
pub fn examine(tree: &Tree, targets: &[String]) -> Vec<Finding> {
    if targets.is_empty() {
        let disks = device::disks();
        return disks.iter().flat_map(|disk| devices::examine(tree, &disk.name)).collect();
    }
    let mut findings = Vec::new();
    let mut seen = Vec::new();
    for target in targets {
        findings.push(place(target).about(target));
        match disk_of(tree, target) {
            Some(disk) if !seen.contains(&disk) => {
                findings.extend(devices::examine(tree, &disk));
                seen.push(disk);
            }
            Some(_) => {}
            None => findings.push(no_disk(target)),
        }
    }
    findings
}

fn no_disk(target: &str) -> Finding {
    Finding::unknown("disk", "The disk that holds it cannot be told.").about(target)
}

/// The file that a target names.
fn path_of(target: &str) -> String {
    let number = Target::from(target).disk_number();
    let disk = number.and_then(|number| device::disks().into_iter().nth(number));
    disk.map_or_else(|| target.to_owned(), |disk| disk.path.display().to_string())
}

/// What kind of place the target is.
fn place(target: &str) -> Finding {
    let subject = "place";
    if let Some((what, remedy)) = Target::from(target).obstacle() {
        return Finding::unknown(subject, format!("It {what}: {remedy}."));
    }
    if Target::from(target).remote().is_some() {
        return Finding::unsteady(
            subject,
            "Another host serves it: the network is measured too.".to_owned(),
            "Measure on the serving host as well to tell the two apart.",
        );
    }
    let facts = match device::look(Path::new(&path_of(target))) {
        Ok(facts) => facts,
        Err(error) => {
            return Finding::unknown(subject, format!("It cannot be looked at: {error}."));
        }
    };
    if facts.kind == PathKind::BlockDevice {
        return Finding::good(subject, "It is a block device.");
    }
    let system = &facts.file_system;
    if facts.is_remote {
        return Finding::unsteady(
            subject,
            format!("It is on {system}, which another host serves: the network is measured too."),
            "Measure on the serving host as well to tell the two apart.",
        );
    }
    if facts.is_direct_possible == Some(false) {
        return Finding::slow(
            subject,
            format!("It is on {system}, where I/O past the page cache is impossible."),
            "Use a file on another file system, or a device, to measure a disk.",
        );
    }
    Finding::good(subject, format!("It is on {system}."))
}

/// The whole disk that a device is, or that a file lies on.
fn disk_of(tree: &Tree, target: &str) -> Option<String> {
    let path = path_of(target);
    let path = Path::new(&path);
    let existing = if path.exists() { path } else { path.parent()? };
    let existing = if existing.as_os_str().is_empty() { Path::new(".") } else { existing };
    let metadata = std::fs::metadata(existing).ok()?;
    let facts = device::look(existing).ok()?;
    let is_device = facts.kind == PathKind::BlockDevice;
    let number = if is_device { metadata.represented_device() } else { metadata.number().0 };
    let (major, minor) = device_number(number);
    whole_disk(tree, &format!("sys/dev/block/{major}:{minor}"))
}

/// The name of a device's disk: of a partition that of the device around it.
pub(super) fn whole_disk(tree: &Tree, link: &str) -> Option<String> {
    let folder = tree.follow(link)?;
    let folder = if tree.has(&format!("{folder}/partition")) {
        folder.rsplit_once('/')?.0.to_owned()
    } else {
        folder
    };
    Some(folder.rsplit('/').next()?.to_owned())
}

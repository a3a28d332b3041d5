//! What a target must be for the request to make sense on it.

use fathom_sys::device::{PathFacts, PathKind};

use super::ranges::Room;
use super::targets::is_file_or_missing;
use super::{Place, Resolver};
use crate::errors::Kind;
use crate::plan::TargetKind;
use crate::request::{Caching, Precreate, Target, WriteSource};
use crate::result::WarningKind;
use crate::storage::Location;

/// A target as it is when its time span starts.
pub(super) struct Found {
    pub(super) location: Location,
    pub(super) kind: TargetKind,
    pub(super) size_bytes: u64,
    pub(super) sector_bytes: u32,
}

impl Resolver<'_> {
    pub(super) fn check_data_file(&mut self, target: &Target) {
        let WriteSource::Buffer { file: Some(name), .. } = &target.write_data.source else {
            return;
        };
        let why = match self.facts.data_files.get(name) {
            Some(Ok(())) => return,
            Some(Err(why)) => why.as_str(),
            None => "it was not looked at",
        };
        let path = &target.path;
        let message = format!("the file of write data '{name}' of '{path}' cannot be read: {why}");
        self.findings.target(message, "correct its path");
    }

    /// The kind of a target; none if no test can be run on it.
    pub(super) fn check_kind(
        &mut self,
        target: &Target,
        known: &PathFacts,
        is_made: bool,
    ) -> Option<TargetKind> {
        let name = &target.path;
        match known.kind {
            // A file would be made, of the name without its slash.
            PathKind::Missing if is_made && name.as_str().ends_with('/') => {
                self.findings.target_is(
                    Kind::NotFound,
                    format!("the target '{name}' does not exist, and is named as a folder"),
                    "correct the path, or name a file in a folder, which -c makes",
                );
            }
            PathKind::Missing if known.is_among_devices => self.findings.target_is(
                Kind::NotFound,
                format!("the target '{name}' does not exist"),
                "correct the name: a file that is made there lies in memory",
            ),
            kind if is_made && is_file_or_missing(kind) => return Some(TargetKind::File),
            PathKind::File => return Some(TargetKind::File),
            PathKind::BlockDevice if !is_made => return Some(TargetKind::BlockDevice),
            PathKind::Missing if super::files::makes_nothing(target) => self.findings.target_is(
                Kind::NotFound,
                format!("the target '{name}' does not exist, and -c0 makes no file"),
                "give the size that the file is to have, for instance -c1G",
            ),
            PathKind::Missing => self.findings.target_is(
                Kind::NotFound,
                format!("the target '{name}' does not exist"),
                "correct the path, or have the file created with -c<size>, for instance -c1G",
            ),
            PathKind::BlockDevice => self.findings.target(
                format!("the target '{name}' is a block device and cannot be created with -c"),
                "leave -c out to use the device as it is",
            ),
            other => self.findings.target_is(
                Kind::Unsupported,
                format!("the target '{name}' is {}", in_words(other)),
                "name a regular file or a block device",
            ),
        }
        None
    }

    /// `-c0` is taken as by `DiskSpd`, which makes no file then; a warning says so.
    pub(super) fn check_creation(&mut self, place: Place<'_>, is_made: bool) {
        let target = place.target;
        if super::files::makes_nothing(target)
            && !is_made
            && self.profile.precreate == Precreate::None
        {
            let evidence = format!("-c0 makes no file: '{}' is used as it is", target.path);
            let remedy = "Leave -c0 out, or give the size that the file is to have.";
            self.findings.warn(WarningKind::NoEffect, place, evidence, remedy);
        }
    }

    pub(super) fn check_access(&mut self, target: &Target, known: &PathFacts) {
        let creates = super::files::create_bytes(target).is_some();
        let is_written = target.is_changed() || creates;
        if !known.is_read_only || !is_written {
            return self.check_account(target, known, is_written);
        }
        let holder = match known.kind {
            PathKind::BlockDevice => "a device that takes no writes",
            _ => "on a file system that is mounted read-only",
        };
        let message = format!("the target '{}' is {holder}", target.path);
        self.findings.target_is(
            Kind::ReadOnly,
            message,
            "test reads only, with -w0 and without -c, or name another",
        );
    }

    /// Whether this account may do with it what the run does. It is opened for reading in any case.
    fn check_account(&mut self, target: &Target, known: &PathFacts, is_written: bool) {
        let unwritable = known.unwritable.as_ref().filter(|_| is_written);
        let what = match known.kind {
            PathKind::Missing => "made",
            _ if unwritable.is_some() => "written to",
            _ => "read",
        };
        let Some(why) = unwritable.or(known.unreadable.as_ref()) else { return };
        self.findings.target_is(
            Kind::of(&std::io::Error::from(why.kind)),
            format!("the target '{}' may not be {what}: {}", target.path, why.words),
            why.remedy,
        );
    }

    /// Whether the caches can be bypassed as asked, for I/Os of this size and alignment.
    pub(super) fn check_caching(&mut self, target: &Target, known: &PathFacts) {
        let name = &target.path;
        match target.caching {
            Caching::Cached => {}
            Caching::RemoteUnbuffered if known.is_remote => {}
            Caching::RemoteUnbuffered => {
                let message = format!(
                    "the target '{name}' is {}, and local caching can only be disabled for remote \
                     file systems",
                    where_it_is(known)
                );
                self.findings.target(message, "use -Su to bypass the page cache instead of -Sr");
            }
            Caching::Unbuffered if known.is_direct_possible == Some(false) => {
                let message = format!(
                    "the target '{name}' is {}, which cannot bypass the page cache{}",
                    where_it_is(known),
                    for_what(known)
                );
                self.findings.target(message, without_bypass(known));
            }
            Caching::Unbuffered => self.check_sector(target, known.logical_sector_bytes),
        }
    }

    fn check_sector(&mut self, target: &Target, sector_bytes: u32) {
        let sector_bytes = u64::from(sector_bytes.max(1));
        for (what, bytes) in [
            ("block size", u64::from(target.block_bytes)),
            ("base offset", target.base_bytes),
            ("alignment or stride", target.access.align_bytes),
            ("thread stride", target.thread_stride_bytes),
        ] {
            if bytes % sector_bytes != 0 {
                let message = format!(
                    "the {what} of '{}' is {bytes} bytes, but I/O past the page cache needs \
                     multiples of the sector, which is {sector_bytes} bytes",
                    target.path
                );
                let remedy = format!(
                    "give a multiple of {sector_bytes}, or leave -Su and -Sh out to use the cache"
                );
                self.findings.target(message, remedy);
            }
        }
    }

    /// Whether one block fits into the range.
    pub(super) fn check_room(&mut self, place: Place<'_>, found: &Found, room: Room) -> bool {
        let (name, size_bytes) = (&place.target.path, found.size_bytes);
        let is_unsized = self.facts.here(place.target).is_some_and(|known| known.is_unsized);
        if size_bytes == 0 && is_unsized {
            let message =
                format!("the size of '{name}' is not known: /sys does not show the device");
            self.findings.target(message, "run it where sysfs is mounted at /sys");
        } else if size_bytes == 0 {
            let message = format!("the target '{name}' is empty");
            let remedy = match found.kind {
                TargetKind::Network if !name.is_of_files() => {
                    "have its server give it a size, or name another"
                }
                TargetKind::BlockDevice => "insert a medium, or name another device",
                _ if super::files::makes_nothing(place.target) => {
                    "no block has room in a file of -c0: give a size, for instance -c1G"
                }
                _ => "have it created with -c<size>, for instance -c1G, or name another",
            };
            self.findings.target(message, remedy);
        } else if room.base_bytes >= room.end_bytes {
            let message = format!(
                "the base offset {} of '{name}' is not before the end of its range at {} bytes \
                 (file size: {size_bytes})",
                room.base_bytes, room.end_bytes
            );
            self.findings.target(message, "give a smaller base offset with -B");
        } else if room.end_bytes - room.base_bytes < room.block_bytes {
            self.too_small(place.target, 0, size_bytes);
        } else {
            return true;
        }
        false
    }

    /// Says that the first I/O of a thread does not fit, in the words that scripts look for.
    pub(super) fn too_small(&mut self, target: &Target, relative_thread: u32, size_bytes: u64) {
        let message = format!(
            "The file is too small. File: '{}' relative thread {relative_thread}: file size: \
             {size_bytes}, base offset: {}, thread stride: {}, block size: {}",
            target.path,
            target.base_bytes,
            target.thread_stride_bytes,
            target.largest_block_bytes()
        );
        let remedy = "use a larger file, a wider range, smaller blocks, or a smaller thread stride";
        self.findings.target(message, remedy);
    }
}

fn where_it_is(known: &PathFacts) -> String {
    match known.file_system.as_str() {
        "" => "a local device".to_owned(),
        file_system => format!("on a file system of type {file_system}"),
    }
}

/// File systems that bypass the page cache for most files, and not for those whose data they journal,
/// encrypt, verify or keep in the inode (`ext4_dio_alignment`, `f2fs_force_buffered_io` of the kernel).
const FOR_MOST: [&str; 2] = ["ext4", "f2fs"];

/// For which files a file system does not bypass the page cache, where that is not for all.
fn for_what(known: &PathFacts) -> &'static str {
    match known.file_system.as_str() {
        _ if known.is_journalled => " as long as it is mounted with data=journal",
        name if FOR_MOST.contains(&name) => {
            " for this file, as for those with an attribute (lsattr) that has their data journalled, \
             encrypted or verified, or kept in the inode"
        }
        _ => "",
    }
}

fn without_bypass(known: &PathFacts) -> &'static str {
    if known.is_journalled {
        return "leave -Su and -Sh out, mount it without data=journal, or name another target";
    }
    "leave -Su and -Sh out, or name another target"
}

/// What something that is no target is, with article.
fn in_words(kind: PathKind) -> &'static str {
    match kind {
        PathKind::File => "a regular file",
        PathKind::BlockDevice => "a block device",
        PathKind::Directory => "a directory",
        PathKind::CharacterDevice => "a character device",
        PathKind::Fifo => "a named pipe",
        PathKind::Socket => "a socket",
        PathKind::Missing => "missing",
    }
}

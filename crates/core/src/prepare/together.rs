//! Room for several files at once.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fathom_sys::contract::file::FileFacts;
use fathom_sys::places::{real_path, whole_path};
use fathom_sys::space::Space;

use super::{Created, PrepareError, room};
use crate::measure::EventSink;
use crate::plan::FilePlan;
use crate::supervise::within;

/// What is wanted of one file system.
struct Wanted {
    paths: Vec<PathBuf>,
    /// Bytes of all files, less those that the files there hold already. Wide, because it may be negative.
    bytes: i128,
    room: Space,
}

fn look(path: &Path) -> String {
    format!("look at the room for '{}'", path.display())
}

/// Checks, before the first of them is made, that all files fit together: each alone may fit where their
/// sum does not. A file that is named several times counts once, with its greatest size. What cannot be
/// looked at here is reported when that file is made.
pub fn check_room<'a>(
    files: impl IntoIterator<Item = &'a FilePlan>,
    sink: EventSink<'_>,
) -> Result<(), PrepareError> {
    let mut sizes: BTreeMap<PathBuf, u64> = BTreeMap::new();
    // The room of a server shows when it is taken.
    let here = |file: &'a FilePlan| Some((file.location.local()?, file.size_bytes));
    for (path, bytes) in files.into_iter().filter_map(here) {
        let path = within(sink, look(path), || whole_path(path));
        let Some(path) = path else { continue };
        let size_bytes = sizes.entry(path).or_default();
        *size_bytes = bytes.max(*size_bytes);
    }
    let mut systems: BTreeMap<u64, Wanted> = BTreeMap::new();
    for (path, size_bytes) in sizes {
        within(sink, look(&path), || want(&mut systems, path.clone(), size_bytes));
    }
    systems.into_values().try_for_each(fits)
}

/// Whether all files that a run would make find room as things are; nothing is changed.
///
/// # Errors
/// What the run would end with.
pub fn foresee_room<'a>(
    files: impl Iterator<Item = &'a FilePlan> + Clone,
    sink: EventSink<'_>,
) -> Result<(), PrepareError> {
    check_room(files.clone(), sink)?;
    files.into_iter().try_for_each(|file| match file.location.local() {
        Some(path) => within(sink, look(path), || has_room(file, &real_path(path))),
        None => Ok(()),
    })
}

fn has_room(file: &FilePlan, path: &Path) -> Result<(), PrepareError> {
    let given_back_bytes = fs::metadata(path).map_or(0, |found| found.allocated_bytes());
    match room::check(path, file.size_bytes, given_back_bytes) {
        // What else speaks against the file is said where that is looked at. One that is kept takes no room.
        Err(why @ (PrepareError::NoSpace { .. } | PrepareError::TooLarge { .. }))
            if !matches!(super::fate(file), Ok(Created::Kept)) =>
        {
            Err(why)
        }
        _ => Ok(()),
    }
}

fn want(systems: &mut BTreeMap<u64, Wanted>, path: PathBuf, size_bytes: u64) {
    let Some(directory) = path.parent() else { return };
    let (Ok(place), Ok(room)) = (fs::metadata(directory), room::at(directory)) else {
        return;
    };
    let held_bytes = fs::metadata(&path).map_or(0, |found| i128::from(found.allocated_bytes()));
    let blocks = i128::from(size_bytes.div_ceil(room.block_bytes));
    let wanted = systems.entry(place.number().0);
    let wanted = wanted.or_insert_with(|| Wanted { paths: Vec::new(), bytes: 0, room });
    wanted.bytes += blocks * i128::from(room.block_bytes) - held_bytes;
    wanted.paths.push(path);
}

/// A single file is left to its own making, which says more about it.
fn fits(wanted: Wanted) -> Result<(), PrepareError> {
    let Some(free_bytes) = wanted.room.available_bytes else { return Ok(()) };
    let needed_bytes = u64::try_from(wanted.bytes.max(0)).unwrap_or(u64::MAX);
    if wanted.paths.len() < 2 || needed_bytes <= free_bytes {
        return Ok(());
    }
    Err(PrepareError::NoSpaceTogether { paths: wanted.paths, needed_bytes, free_bytes })
}

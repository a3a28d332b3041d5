//! Which layer of an overlay holds the data of a file (`overlayfs.rst` of the kernel).

use std::ffi::CStr;
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

use fathom_sys::attributes;
use fathom_sys::contract::file::FileFacts;
use fathom_sys::device::mounts::Mount;

use crate::guard::machine::Machine;

/// Marks a file of a layer that has all but its data, which lie in a layer below. Only the superuser may read
/// the first of each pair.
const METACOPY: [&CStr; 2] = [c"trusted.overlay.metacopy", c"user.overlay.metacopy"];
/// Says by which name a layer below has them.
const REDIRECT: [&CStr; 2] = [c"trusted.overlay.redirect", c"user.overlay.redirect"];

/// The file of the layer that holds the data of a file at `path` on an overlay; nothing where that cannot be
/// told.
pub(super) fn holder(machine: &Machine, mount: &Mount, path: &Path) -> Option<PathBuf> {
    // A bind mount of a folder begins within the layers, one of a file is that file.
    let inside: PathBuf = mount.inside(path)?.strip_prefix("/").ok()?.components().collect();
    if mount.has_relative_layers() {
        return None;
    }
    let layers = mount.overlay();
    let merged: Vec<PathBuf> = layers.upper.into_iter().chain(layers.lower).collect();
    let search = Search { machine, shown: machine.metadata(path) };
    let of_layer = |folder: &PathBuf| search.shows(&folder.join(&inside));
    let at = merged.iter().position(of_layer)?;
    search.data(&merged[at], &inside, merged[at + 1..].iter().chain(&layers.data))
}

/// A look for a file that an overlay shows.
struct Search<'a> {
    machine: &'a Machine,
    /// The file as the overlay shows it: the sizes and times are those of its layer, the blocks are those of
    /// the file that has the data (`ovl_getattr` of the kernel).
    shown: Option<Metadata>,
}

impl Search<'_> {
    /// Whether a file of a layer is the one that the overlay shows. Another one has its name where a folder
    /// was renamed or emptied in a layer above, or where something else is mounted over the layer.
    fn shows(&self, real: &Path) -> bool {
        self.machine.metadata(real).is_some_and(|found| {
            self.shown.as_ref().is_none_or(|shown| {
                has_same_data(&found, shown) && found.changed_ns() == shown.changed_ns()
            })
        })
    }

    /// The file with the data of the one in a layer: that one itself, or one of the layers below.
    fn data<'a>(
        &self,
        layer: &Path,
        inside: &Path,
        below: impl Iterator<Item = &'a PathBuf>,
    ) -> Option<PathBuf> {
        let real = layer.join(inside);
        let is_marked = self.attribute(&real, METACOPY).is_some();
        let Some(shown) = self.shown.as_ref().filter(|_| is_marked || self.lacks_blocks(&real))
        else {
            return Some(real);
        };
        let mut name = self.redirected(&real, inside.to_owned());
        for folder in below {
            let real = folder.join(&name);
            let Some(found) = self.machine.metadata(&real) else { continue };
            let is_it = found.len() == shown.len()
                && found.allocated_bytes() == shown.allocated_bytes()
                && (is_marked || has_same_data(&found, shown));
            if is_it {
                return Some(real);
            }
            name = self.redirected(&real, name);
        }
        None
    }

    /// Whether a file has holes where the overlay shows blocks, or the other way round.
    fn lacks_blocks(&self, real: &Path) -> bool {
        let both = self.machine.metadata(real).zip(self.shown.as_ref());
        both.is_some_and(|(found, shown)| {
            let bytes = found.allocated_bytes();
            bytes < found.len() && bytes != shown.allocated_bytes()
        })
    }

    /// The name that a file has in the layers below: a path of these, or a name in the same folder.
    fn redirected(&self, real: &Path, name: PathBuf) -> PathBuf {
        let told = self.attribute(real, REDIRECT).and_then(|bytes| String::from_utf8(bytes).ok());
        match told {
            Some(told) => match told.strip_prefix('/') {
                Some(path) => PathBuf::from(path),
                None => name.with_file_name(told),
            },
            None => name,
        }
    }

    fn attribute(&self, real: &Path, names: [&CStr; 2]) -> Option<Vec<u8>> {
        let file = File::open(self.machine.files().place(real)).ok()?;
        names.into_iter().find_map(|name| attributes::get(&file, name).ok().flatten())
    }
}

/// Whether two looks found files of the same length, written to at the same time.
fn has_same_data(one: &Metadata, other: &Metadata) -> bool {
    one.len() == other.len() && one.modified().ok() == other.modified().ok()
}

//! Files of overlays, which are the same under other names: what is written through the merged directory is
//! written to a layer, and the other way round, and the kernel shows two numbers for it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fathom_sys::contract::file::FileFacts;
use fathom_sys::device::mounts::{self, Mount};
use fathom_sys::identity::{self, Identity};

use super::mounts::Table;

/// The same file in another layer.
#[derive(Debug, Clone)]
pub(super) struct Layer {
    pub(super) identity: Identity,
    pub(super) path: PathBuf,
}

impl Layer {
    /// It, as the subject of a sentence.
    pub(super) fn words(&self) -> String {
        format!("the same file at {} (overlay)", self.path.display())
    }
}

/// What a file is in other layers.
#[derive(Debug, Clone, Default)]
pub(super) struct Layered {
    pub(super) layers: Vec<Layer>,
    /// It lies on an overlay whose layers cannot be reached from here.
    pub(super) is_hidden: bool,
}

/// The overlays of this machine.
pub(super) struct Overlays<'a> {
    own: &'a [Mount],
    overlays: Vec<Overlay>,
}

struct Overlay {
    /// Where it is mounted, as it is reached from here.
    place: PathBuf,
    /// What of it is mounted there.
    root: PathBuf,
    has_upper: bool,
    layers: Vec<(PathBuf, (u64, u64))>,
}

impl<'a> Overlays<'a> {
    pub(super) fn new(tables: &'a [Table]) -> Self {
        let own = tables.iter().find(|table| table.pid.is_none());
        let mut seen = BTreeSet::new();
        let mut overlays = Vec::new();
        for table in tables {
            let before = table.pid.map(|pid| PathBuf::from(format!("/proc/{pid}/root")));
            let mounts = table.mounts.iter().filter(|mount| mount.file_system == "overlay");
            for mount in mounts.filter(|mount| seen.insert((mount.number, mount.root.clone()))) {
                overlays.push(Overlay::new(mount, before.as_deref()));
            }
        }
        Self { own: own.map_or(&[], |table| &table.mounts), overlays }
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.overlays.is_empty()
    }

    /// What the file at `path` is in other layers; `path` has no symbolic links.
    pub(super) fn of(&self, path: &Path) -> Layered {
        let mut found = Layered::default();
        if !self.overlays.is_empty() {
            let mut seen: BTreeSet<Identity> = identity::of(path).into_iter().collect();
            self.walk(path, &mut seen, &mut found);
        }
        found
    }

    fn walk(&self, path: &Path, seen: &mut BTreeSet<Identity>, found: &mut Layered) {
        let overlay = self.overlay_of(path);
        let below = overlay.and_then(|mount| below(mount, path));
        found.is_hidden |=
            overlay.is_some_and(|mount| below.is_none() || mount.has_relative_layers());
        for path in below.into_iter().chain(self.above(path)) {
            let Ok(identity @ Identity::File(_)) = identity::of(&path) else { continue };
            if seen.insert(identity) {
                found.layers.push(Layer { identity, path: path.clone() });
                self.walk(&path, seen, found);
            }
        }
    }

    /// The overlay that a path lies on, if it does.
    fn overlay_of(&self, path: &Path) -> Option<&'a Mount> {
        let mount = mounts::find(self.own, path, mounts::standing(path).ok())?;
        (mount.file_system == "overlay").then_some(mount)
    }

    /// Where the file of a layer stands in merged directories.
    fn above(&self, path: &Path) -> Vec<PathBuf> {
        let folders = path.ancestors().skip(1);
        let folders: Vec<_> = folders.filter_map(|one| Some((one, number(one)?))).collect();
        let of = |overlay: &Overlay| {
            let layers = overlay.layers.iter().enumerate();
            let mut pairs = layers.flat_map(|layer| folders.iter().map(move |one| (layer, one)));
            let ((index, _), (folder, _)) = pairs.find(|((_, layer), one)| layer.1 == one.1)?;
            let within = path.strip_prefix(folder).ok()?;
            // A file that was copied up is another one than that of the layer below.
            let is_covered =
                index > 0 && overlay.has_upper && overlay.layers[0].0.join(within).exists();
            let shown = Path::new("/").join(within);
            let shown = shown.strip_prefix(&overlay.root).ok()?;
            (!is_covered).then(|| overlay.place.join(shown))
        };
        self.overlays.iter().filter_map(of).collect()
    }
}

impl Overlay {
    fn new(mount: &Mount, before: Option<&Path>) -> Self {
        let reached = |path: &Path| match before {
            Some(before) => before.join(path.strip_prefix("/").unwrap_or(path)),
            None => path.to_owned(),
        };
        // Paths of layers are as whoever mounted it saw them: often not as the process in it does.
        let layer = |path: PathBuf| {
            let candidates = [path.clone(), reached(&path)];
            candidates.into_iter().find_map(|path| Some((path.clone(), number(&path)?)))
        };
        let has_upper = mount.options.split(',').any(|option| option.starts_with("upperdir="));
        Self {
            place: reached(&mount.place),
            root: mount.root.clone(),
            has_upper,
            layers: mount.layers().into_iter().filter_map(layer).collect(),
        }
    }
}

/// The file of a layer that stands for a path on an overlay.
fn below(overlay: &Mount, path: &Path) -> Option<PathBuf> {
    let within = overlay.inside(path)?;
    let within = within.strip_prefix("/").unwrap_or(&within);
    for place in overlay.layers().into_iter().map(|layer| layer.join(within)) {
        match fs::metadata(&place) {
            Ok(found) if found.is_file() => return Some(place),
            // It may stand in a layer that this account may not look at.
            Err(error) if !is_absent(&error) => return None,
            Ok(_) | Err(_) => {}
        }
    }
    None
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// What tells a directory from others.
fn number(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|found| found.number())
}

//! Whether something lies below what the policy protects, by whatever name it is reached.
//!
//! A path does not tell: a bind mount shows a folder, or one file, elsewhere. So what counts is the file
//! system and the path within it, of which the mount that a descriptor was opened through shows a part
//! (`/proc/PID/fdinfo` and `mountinfo`, proc(5)). A hard link has a place of its own, and the kernel tells no
//! other: a file with several names is refused where one of them may lie below.

use std::path::{Path, PathBuf};

use fathom_sys::contract::file::FileFacts;
use fathom_sys::device::mounts::{self, Mount};
use fathom_sys::held::{Directory, Held};
use fathom_sys::identity::Identity;
use fathom_sys::places::{folder_of, real_path};
use fathom_sys::reached::{self, Reached};

use super::checked::Found;
use super::machine::Number;
use super::policy::policy_protects;
use super::{Guard, Target};

/// Where something lies in its file system.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Spot {
    number: Number,
    path: PathBuf,
}

impl Spot {
    fn lies_below(&self, folder: &Self) -> bool {
        self.within(folder).is_some()
    }

    /// Its path within a folder, if it lies there.
    fn within(&self, folder: &Self) -> Option<&Path> {
        let is_there = self.number == folder.number;
        if is_there { self.path.strip_prefix(&folder.path).ok() } else { None }
    }
}

/// A folder that the policy protects, and where it and what is mounted below it lie.
#[derive(Debug)]
struct Region {
    folder: PathBuf,
    spots: Vec<Spot>,
}

/// All that the policy protects.
#[derive(Debug, Default)]
pub(super) struct Regions {
    mounts: Vec<Mount>,
    regions: Vec<Region>,
}

impl Regions {
    /// Looks where the folders lie that are protected; at nothing if there is none.
    pub(super) fn of(protect: &[PathBuf]) -> Self {
        if protect.is_empty() {
            return Self::default();
        }
        let mut found = Self { mounts: mounts::read(), regions: Vec::new() };
        found.regions = protect.iter().map(|folder| found.region(folder)).collect();
        found
    }

    fn region(&self, folder: &Path) -> Region {
        let found = Held::take(folder).ok().and_then(|held| reached::object(&held));
        let own = found.as_ref().and_then(|found| self.spot(found));
        let is_below = |mount: &&Mount| {
            found.as_ref().is_some_and(|found| mount.place.starts_with(&found.path))
        };
        let mounts = self.mounts.iter().filter(is_below);
        let below = mounts.map(|mount| Spot { number: mount.number, path: mount.root.clone() });
        let mut spots: Vec<Spot> = own.into_iter().chain(below).collect();
        let shown: Vec<Spot> = spots.iter().flat_map(|spot| self.overlays_over(spot)).collect();
        spots.extend(shown);
        Region { folder: folder.to_owned(), spots }
    }

    /// Where what lies somewhere is written through overlays.
    fn overlays_over(&self, spot: &Spot) -> impl Iterator<Item = Spot> {
        let overlays = self.mounts.iter().filter(|mount| mount.options.contains("upperdir="));
        overlays.filter_map(move |mount| {
            let upper = Held::take(mount.layers().first()?).ok()?;
            let upper = self.spot(&reached::object(&upper)?)?;
            let within = if upper.lies_below(spot) { "".as_ref() } else { spot.within(&upper)? };
            Some(Spot { number: mount.number, path: Path::new("/").join(within) })
        })
    }

    /// Where something lies that was reached through a mount.
    fn spot(&self, found: &Reached) -> Option<Spot> {
        let mount = self.mounts.iter().find(|mount| mount.id == found.mount)?;
        let within = found.path.strip_prefix(&mount.place).ok()?;
        let path = if within.as_os_str().is_empty() {
            mount.root.clone()
        } else {
            mount.root.join(within)
        };
        Some(Spot { number: mount.number, path })
    }

    /// Why what is held may not be written, as a clause.
    pub(super) fn forbid(&self, held: &Held, path: &Path) -> Option<String> {
        if self.regions.is_empty() {
            return None;
        }
        let again = if held.has_descriptor() { None } else { Held::take(path).ok() };
        let held = again.as_ref().unwrap_or(held);
        let Some(spot) = reached::object(held).and_then(|found| self.spot(&found)) else {
            return self.unknown();
        };
        self.below(&spot).or_else(|| {
            let found = held.metadata(path).ok().filter(std::fs::Metadata::is_file)?;
            if found.name_count() > 1 { self.beside(&spot, found.name_count()) } else { None }
        })
    }

    /// Why nothing may be made in a folder under a name, as a clause.
    fn forbid_new(&self, folder: &Directory, name: &std::ffi::OsStr) -> Option<String> {
        let Some(mut spot) = reached::directory(folder).and_then(|found| self.spot(&found)) else {
            return self.unknown();
        };
        spot.path.push(name);
        self.below(&spot)
    }

    /// Why nothing may be put at a path, as a clause.
    pub(super) fn forbid_place(&self, path: &Path) -> Option<String> {
        if self.regions.is_empty() {
            return None;
        }
        if let Ok(held) = Held::take(path) {
            return self.forbid(&held, path);
        }
        let path = real_path(path);
        self.forbid_new(&Directory::take(folder_of(&path)).ok()?, path.file_name()?)
    }

    fn below(&self, spot: &Spot) -> Option<String> {
        let is_it = |region: &&Region| region.spots.iter().any(|folder| spot.lies_below(folder));
        let region = self.regions.iter().find(is_it)?;
        Some(policy_protects(&region.folder, "it lies below that, under another name"))
    }

    fn unknown(&self) -> Option<String> {
        let region = self.regions.first()?;
        Some(policy_protects(&region.folder, "it cannot be told whether it lies below that"))
    }

    /// Why a file may not be written that has several names.
    fn beside(&self, spot: &Spot, names: u64) -> Option<String> {
        let is_there = |region: &&Region| region.spots.iter().any(|one| one.number == spot.number);
        let region = self.regions.iter().find(is_there)?;
        let why = format!(
            "the file has {names} names (hard links), and another one of them may lie below that, in the \
             same file system"
        );
        Some(policy_protects(&region.folder, &why))
    }
}

impl Guard<'_> {
    /// Why a target lies below what the policy protects, or may, by any name, as a clause.
    pub(super) fn lies_below(&self, target: &Target<'_>) -> Option<String> {
        match &target.found {
            Found::There(held) => self.regions.forbid(held, target.path).or_else(|| {
                let mut more = self.other_names(held.identity()).into_iter();
                more.find_map(|path| self.regions.forbid_place(&path))
            }),
            Found::Nothing(Some(place)) => self.regions.forbid_new(&place.directory, &place.name),
            _ => None,
        }
    }

    /// The same data under other paths: files in layers of overlays, and those behind loop devices.
    fn other_names(&self, target: Identity) -> Vec<PathBuf> {
        let layers = self.layers.get(&target).into_iter().flat_map(|layered| &layered.layers);
        let layers = layers.map(|layer| layer.path.clone());
        layers.chain(self.sight.files_behind(target)).collect()
    }
}

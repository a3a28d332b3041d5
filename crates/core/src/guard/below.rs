//! Whether something lies below what is protected, by whatever name it is reached.
//!
//! A path does not tell: a bind mount shows a folder, or one file, elsewhere. So what counts is the file
//! system and the path within it, of which the mount that a descriptor was opened through shows a part
//! (`/proc/PID/fdinfo` and `mountinfo`, proc(5)). A hard link has a place of its own, and the kernel tells no
//! other: a file with several names is refused where one of them may lie below.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use fathom_sys::contract::file::FileFacts;
use fathom_sys::device::mounts::{self, Mount};
use fathom_sys::held::{Directory, Held};
use fathom_sys::identity::{self, Identity};
use fathom_sys::places::{folder_of, real_path};
use fathom_sys::reached::{self, Reached};

use super::blocks::Blocks;
use super::checked::Found;
use super::machine::{Machine, Number};
use super::mounts::{btrfs_groups, devices_of};
use super::policy::{lies_below, policy_protects};
use super::reach::reach;
use super::{Finding, Guard, Target, Use};

/// Something that must never be written, nor anything below it.
#[derive(Debug, Clone)]
pub(super) struct Protection {
    path: PathBuf,
    /// The policy of the machine says so, and not an option of the run.
    is_policy: bool,
}

/// What the policy and the options of a run protect.
pub(super) fn protections(policy: &[PathBuf], options: &[PathBuf]) -> Vec<Protection> {
    let of = |paths: &[PathBuf], is_policy| {
        let one = |path: &PathBuf| Protection { path: path.clone(), is_policy };
        paths.iter().map(one).collect::<Vec<_>>()
    };
    [of(policy, true), of(options, false)].concat()
}

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

/// Something that is protected, and where it lies with what is below it.
#[derive(Debug)]
struct Region {
    protection: Protection,
    /// It may have something below it.
    is_tree: bool,
    spots: Vec<Spot>,
    /// The file systems that lie on it.
    systems: BTreeSet<Number>,
    /// Something of it lies on an overlay whose layers cannot be reached.
    has_hidden_layers: bool,
}

/// The layers of an overlay that can be reached.
#[derive(Debug, Default)]
struct Shown {
    spots: Vec<Spot>,
    /// There are others.
    is_part: bool,
}

/// What the data of a file system lie on.
#[derive(Debug)]
struct Ground {
    system: Number,
    /// The devices beneath it, and the files beneath those.
    nodes: BTreeSet<Identity>,
    /// Where the files lie.
    files: Vec<Spot>,
}

/// Why something may lie below what is protected.
#[derive(Debug, Clone, Copy)]
enum Why {
    Below,
    OnIt,
    Unknown,
    Names(u64),
}

/// All that is protected with what is below it.
#[derive(Debug, Default)]
pub(super) struct Regions {
    mounts: Vec<Mount>,
    regions: Vec<Region>,
}

impl Regions {
    /// Looks where that lies which is protected; at nothing if there is none.
    pub(super) fn of(machine: &Machine, blocks: &Blocks<'_>, protect: &[Protection]) -> Self {
        if protect.is_empty() {
            return Self::default();
        }
        let mut found = Self { mounts: mounts::read(), regions: Vec::new() };
        let grounds = found.grounds(machine, blocks);
        found.regions = protect.iter().map(|one| found.region(one, &grounds)).collect();
        found
    }

    fn region(&self, protection: &Protection, grounds: &[Ground]) -> Region {
        let path = &protection.path;
        // A file and a device are known by what they are: nothing lies below them.
        let is_tree = protection.is_policy || path.is_dir();
        let Shown { spots, is_part } = if is_tree { self.tree(path) } else { Shown::default() };
        let mut region = Region {
            protection: protection.clone(),
            is_tree,
            spots,
            systems: BTreeSet::new(),
            has_hidden_layers: is_part,
        };
        let own = identity::of(path).ok().filter(|own| *own != Identity::Other);
        while self.grow(&mut region, own, grounds) {}
        region
    }

    /// Where a folder lies, what is mounted below it, and the layers of overlays that it shows.
    fn tree(&self, folder: &Path) -> Shown {
        let Some((path, own)) = self.place_of(folder) else { return Shown::default() };
        let mounts = self.mounts.iter().filter(|mount| mount.place.starts_with(&path));
        let below = mounts.map(|mount| Spot { number: mount.number, path: mount.root.clone() });
        let mut spots: Vec<Spot> = own.into_iter().chain(below).collect();
        let shown: Vec<Shown> = spots.iter().map(|spot| self.layers_of(spot)).collect();
        let is_part = shown.iter().any(|one| one.is_part);
        spots.extend(shown.into_iter().flat_map(|one| one.spots));
        Shown { spots, is_part }
    }

    /// The path and spot of a folder; nothing if there is none. Where this account may not look into those
    /// above it, the names of the mounts tell.
    fn place_of(&self, folder: &Path) -> Option<(PathBuf, Option<Spot>)> {
        match Held::take(folder) {
            Ok(held) => {
                let found = reached::object(&held)?;
                let spot = self.spot(&found);
                Some((found.path, spot))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(_) => {
                let path = by_names(folder);
                let mount = self.mounts.iter().rfind(|mount| mount.holds(&path));
                let spot = mount.and_then(|mount| spot_in(mount, &path));
                Some((path, spot))
            }
        }
    }

    /// Adds where what lies in a region is written under other names; whether there was more.
    fn grow(&self, region: &mut Region, own: Option<Identity>, grounds: &[Ground]) -> bool {
        let shown: Vec<Spot> =
            region.spots.iter().flat_map(|spot| self.overlays_over(spot)).collect();
        let is_on_it = |ground: &&Ground| {
            let is_below = |file: &Spot| region.spots.iter().any(|spot| file.lies_below(spot));
            own.is_some_and(|own| ground.nodes.contains(&own)) || ground.files.iter().any(is_below)
        };
        let systems: Vec<Number> =
            grounds.iter().filter(is_on_it).map(|ground| ground.system).collect();
        let whole = systems.iter().map(|number| Spot { number: *number, path: "/".into() });
        let more: Vec<Spot> = shown.into_iter().chain(whole).collect();
        region.systems.extend(systems);
        let before = region.spots.len();
        for spot in more {
            if !region.spots.contains(&spot) {
                region.spots.push(spot);
            }
        }
        region.spots.len() > before
    }

    /// What each file system lies on that is mounted.
    fn grounds(&self, machine: &Machine, blocks: &Blocks<'_>) -> Vec<Ground> {
        let (groups, mut seen) = (btrfs_groups(machine), BTreeSet::new());
        let mounts = self.mounts.iter().filter(|mount| seen.insert(mount.number));
        let of = |mount: &Mount| {
            let devices = devices_of(machine, mount, &groups)?.into_iter();
            let below = devices.flat_map(|one| reach(blocks, Identity::Device(one), ""));
            let nodes: BTreeSet<Identity> = below.map(|reached| reached.node).collect();
            let files = nodes.iter().filter_map(|node| self.behind(blocks, *node)).collect();
            Some(Ground { system: mount.number, nodes, files })
        };
        mounts.filter_map(of).collect()
    }

    /// Where the file lies that is behind a loop device.
    fn behind(&self, blocks: &Blocks<'_>, node: Identity) -> Option<Spot> {
        let held = Held::take(&blocks.file_behind(node)?).ok()?;
        self.spot(&reached::object(&held)?)
    }

    /// The same in the layers of an overlay, where what is written changes what it shows.
    fn layers_of(&self, spot: &Spot) -> Shown {
        let overlay = self.mounts.iter().find(|mount| mount.number == spot.number);
        let layers: Vec<PathBuf> = overlay.into_iter().flat_map(Mount::layers).collect();
        let of = |layer: &PathBuf| {
            let mut found = self.spot_of_layer(layer)?;
            found.path.extend(spot.path.strip_prefix("/").ok().filter(|path| **path != *""));
            Some(found)
        };
        let spots: Vec<Spot> = layers.iter().filter_map(of).collect();
        let is_part = spots.len() < layers.len() || overlay.is_some_and(Mount::has_relative_layers);
        Shown { spots, is_part }
    }

    fn spot_of_layer(&self, layer: &Path) -> Option<Spot> {
        self.spot(&reached::object(&Held::take(layer).ok()?)?)
    }

    /// Where what lies somewhere is written through overlays.
    fn overlays_over(&self, spot: &Spot) -> impl Iterator<Item = Spot> {
        let overlays = self.mounts.iter().filter(|mount| mount.options.contains("upperdir="));
        overlays.filter_map(move |mount| {
            let upper = self.spot_of_layer(mount.layers().first()?)?;
            let within = if upper.lies_below(spot) { "".as_ref() } else { spot.within(&upper)? };
            Some(Spot { number: mount.number, path: Path::new("/").join(within) })
        })
    }

    /// Where something lies that was reached through a mount.
    fn spot(&self, found: &Reached) -> Option<Spot> {
        let mount = self.mounts.iter().find(|mount| mount.id == found.mount)?;
        spot_in(mount, &found.path)
    }

    /// Why it is not certain that no target lies below what is protected, as a sentence.
    pub(super) fn doubt(&self) -> Option<String> {
        let hidden = self.regions.iter().filter(|region| region.has_hidden_layers);
        let names = hidden.map(|region| region.protection.path.display().to_string());
        let names: Vec<String> = names.collect();
        let lies = if names.len() == 1 { "lies on an overlay" } else { "lie on overlays" };
        (!names.is_empty()).then(|| {
            format!(
                "The protected {} {lies} whose layers cannot be reached from here: whether a target lies in \
                 them cannot be told.",
                names.join(", ")
            )
        })
    }

    /// Why what is held may not be written.
    pub(super) fn forbid(&self, held: &Held, path: &Path) -> Option<Finding> {
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

    /// Why nothing may be made in a folder under a name.
    fn forbid_new(&self, folder: &Directory, name: &std::ffi::OsStr) -> Option<Finding> {
        let Some(mut spot) = reached::directory(folder).and_then(|found| self.spot(&found)) else {
            return self.unknown();
        };
        spot.path.push(name);
        self.below(&spot)
    }

    /// Why nothing may be put at a path.
    pub(super) fn forbid_place(&self, path: &Path) -> Option<Finding> {
        if self.regions.is_empty() {
            return None;
        }
        if let Ok(held) = Held::take(path) {
            return self.forbid(&held, path);
        }
        let path = real_path(path);
        self.forbid_new(&Directory::take(folder_of(&path)).ok()?, path.file_name()?)
    }

    /// Why nothing may be written at a path of this name; the policy compares names itself.
    pub(super) fn forbid_named(&self, path: &Path) -> Option<Finding> {
        let mut trees = self.regions.iter().filter(|one| one.is_tree && !one.protection.is_policy);
        trees.find(|one| lies_below(path, &one.protection.path)).map(|one| one.refuse(Why::Below))
    }

    fn below(&self, spot: &Spot) -> Option<Finding> {
        let is_it = |region: &&Region| region.spots.iter().any(|folder| spot.lies_below(folder));
        let region = self.regions.iter().find(is_it)?;
        let is_on_it = region.systems.contains(&spot.number);
        Some(region.refuse(if is_on_it { Why::OnIt } else { Why::Below }))
    }

    fn unknown(&self) -> Option<Finding> {
        let mut regions = self.regions.iter();
        let region = regions.find(|region| region.is_tree || !region.spots.is_empty())?;
        Some(region.refuse(Why::Unknown))
    }

    /// Why a file may not be written that has several names.
    fn beside(&self, spot: &Spot, names: u64) -> Option<Finding> {
        let is_there = |region: &&Region| region.spots.iter().any(|one| one.number == spot.number);
        let region = self.regions.iter().find(is_there)?;
        Some(region.refuse(Why::Names(names)))
    }
}

/// Where a path of a mount lies.
fn spot_in(mount: &Mount, path: &Path) -> Option<Spot> {
    Some(Spot { number: mount.number, path: mount.inside(path)? })
}

/// The path of something that may not be looked at: that of the last folder above it that may, and the names
/// behind it.
fn by_names(path: &Path) -> PathBuf {
    let known = path.ancestors().skip(1).find_map(|above| {
        let real = std::fs::canonicalize(above).ok()?;
        Some(real.join(path.strip_prefix(above).ok()?))
    });
    known.unwrap_or_else(|| path.to_owned())
}

impl Region {
    fn refuse(&self, why: Why) -> Finding {
        let path = &self.protection.path;
        if self.protection.is_policy {
            let other = if matches!(why, Why::Below) { ", under another name" } else { "" };
            return Finding::Forbidden(policy_protects(path, &(why.in_words("that") + other)));
        }
        let protected = format!("the protected {}", path.display());
        Finding::Protected(Use::Protected(why.in_words(&protected)))
    }
}

impl Why {
    fn in_words(self, protected: &str) -> String {
        match self {
            Self::Below => format!("it lies below {protected}"),
            Self::OnIt => format!("its file system lies on {protected}"),
            Self::Unknown => format!("it cannot be told whether it lies below {protected}"),
            Self::Names(names) => format!(
                "the file has {names} names (hard links), and another one of them may lie below {protected}, \
                 in the same file system"
            ),
        }
    }
}

impl Guard<'_> {
    /// Why a target lies below what is protected, or may, by any name.
    pub(super) fn lies_below(&self, target: &Target<'_>) -> Option<Finding> {
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

//! Which files are made, when, and how large they are afterwards.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::facts::{self, HostFacts};
use crate::network::RemotePlan;
use crate::plan::{FilePlan, Reduction};
use crate::request::{Extensions, Precreate, Profile, Target, TimeSpan};
use crate::storage::{Location, Served};

/// The files that this run makes, as far as it has been planned.
///
/// A file may have several names in a request, such as `t.dat` and `./t.dat`: it is known by the
/// path that the facts give it.
#[derive(Debug, Default)]
pub(super) struct Files {
    is_virtual: bool,
    /// Sizes in bytes of those that are made before the first time span.
    early: BTreeMap<PathBuf, u64>,
    /// Sizes in bytes of all that have been made by now.
    made: BTreeMap<PathBuf, u64>,
    /// How their data compress and repeat, where the first target that makes a file says so.
    reductions: BTreeMap<PathBuf, Reduction>,
    /// Where the targets lie.
    locations: BTreeMap<PathBuf, Location>,
}

impl Files {
    /// The files that are made before the first time span; none if nothing is to be touched.
    pub(super) fn new(profile: &Profile, facts: &HostFacts, is_virtual: bool) -> Self {
        if is_virtual {
            return Self { is_virtual, ..Self::default() };
        }
        let mut mentions: BTreeMap<PathBuf, Vec<u64>> = BTreeMap::new();
        let (mut reductions, mut locations) = (BTreeMap::new(), BTreeMap::new());
        let timeout = facts::patience(profile);
        for target in profile.time_spans.iter().flat_map(|span| &span.targets) {
            let location = location_of(target, facts, timeout);
            let sizes = mentions.entry(location.path().to_owned()).or_default();
            sizes.push(create_bytes(target).unwrap_or(0));
            if let (Some(reduction), Some(_)) = (reduction(target), create_bytes(target)) {
                reductions.entry(location.path().to_owned()).or_insert(reduction);
            }
            locations.entry(location.path().to_owned()).or_insert(location);
        }
        let early = |(path, sizes): (PathBuf, Vec<u64>)| {
            Some((path, early_bytes(profile.precreate, &sizes)?))
        };
        let early: BTreeMap<PathBuf, u64> = mentions.into_iter().filter_map(early).collect();
        Self { is_virtual, made: early.clone(), early, reductions, locations }
    }

    /// The files to make before this time span. Of two sizes for one file the last one counts.
    pub(super) fn create(&mut self, span: &TimeSpan, facts: &HostFacts) -> Vec<FilePlan> {
        let mut now = BTreeMap::new();
        let mut order = Vec::new();
        for target in span.targets.iter().filter(|_| !self.is_virtual) {
            let Some(bytes) = create_bytes(target) else { continue };
            let path = path_of(target, facts);
            if self.early.contains_key(&path) {
                continue;
            }
            if now.insert(path.clone(), bytes).is_none() {
                order.push(path);
            }
        }
        let plan = |path: PathBuf| self.plan(&path, now[&path]);
        let plans: Vec<FilePlan> = order.into_iter().map(plan).collect();
        self.made.extend(now);
        plans
    }

    /// The size in bytes that this run has given to a target, if it has made it.
    pub(super) fn size_bytes(&self, target: &Target, facts: &HostFacts) -> Option<u64> {
        self.made.get(&path_of(target, facts)).copied()
    }

    /// The files to make before the first time span.
    pub(super) fn precreate(&self) -> Vec<FilePlan> {
        self.early.iter().map(|(path, &size_bytes)| self.plan(path, size_bytes)).collect()
    }

    fn plan(&self, path: &Path, size_bytes: u64) -> FilePlan {
        let reduction = self.reductions.get(path).copied().unwrap_or_default();
        let location = self.locations[path].clone();
        FilePlan { location, size_bytes, reduction }
    }
}

/// How far the data that a target is made and written with compress and repeat; absent if nothing is
/// said about that.
pub(super) fn reduction(target: &Target) -> Option<Reduction> {
    let Extensions { compress_percent, dedupe_percent, .. } = target.extensions;
    (compress_percent.is_some() || dedupe_percent.is_some()).then(|| Reduction {
        compress_percent: compress_percent.unwrap_or(0),
        dedupe_percent: dedupe_percent.unwrap_or(0),
    })
}

/// The size with which a target is to be made; a size of 0 makes nothing, as in `DiskSpd`.
pub(super) fn create_bytes(target: &Target) -> Option<u64> {
    target.create_bytes.filter(|&bytes| bytes > 0)
}

/// Whether a target is to be made with no bytes at all (`-c0`), which makes nothing.
pub(super) fn makes_nothing(target: &Target) -> bool {
    target.create_bytes == Some(0)
}

/// The size in bytes of a file that is made early; `sizes` has one entry per mention, 0 if it
/// gives none.
fn early_bytes(rule: Precreate, sizes: &[u64]) -> Option<u64> {
    let greatest = sizes.iter().copied().max().filter(|&bytes| bytes > 0)?;
    let is_early = match rule {
        Precreate::None => false,
        Precreate::UseMaxSize => true,
        Precreate::OnlyConstantSizes => sizes.iter().all(|&bytes| bytes == greatest),
        Precreate::OnlyConstantOrZeroSizes => {
            sizes.iter().all(|&bytes| bytes == greatest || bytes == 0)
        }
    };
    is_early.then_some(greatest)
}

/// The path that is the same for all names of a file, or the address.
fn path_of(target: &Target, facts: &HostFacts) -> PathBuf {
    let known = facts.here(target).map(|known| known.path.clone());
    known.unwrap_or_else(|| PathBuf::from(target.path.as_str()))
}

/// Where a target lies; a server may take `timeout` for a connection.
fn location_of(target: &Target, facts: &HostFacts, timeout: Duration) -> Location {
    let Some(remote) = target.path.remote() else {
        return Location::here(path_of(target, facts));
    };
    let facts = facts.served(target).cloned().unwrap_or_default();
    let plan = Arc::new(RemotePlan { facts, timeout, ..RemotePlan::default() });
    Location::Served(Served { remote: remote.clone(), plan })
}

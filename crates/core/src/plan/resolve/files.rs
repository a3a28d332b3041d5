//! Which files are made, when, and how large they are afterwards.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::HostFacts;
use crate::plan::FilePlan;
use crate::profile::{Precreate, Profile, Target, TimeSpan};

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
}

impl Files {
    /// The files that are made before the first time span; none if nothing is to be touched.
    pub(super) fn new(profile: &Profile, facts: &HostFacts, is_virtual: bool) -> Self {
        if is_virtual {
            return Self { is_virtual, ..Self::default() };
        }
        let mut mentions: BTreeMap<PathBuf, Vec<u64>> = BTreeMap::new();
        for target in profile.time_spans.iter().flat_map(|span| &span.targets) {
            let sizes = mentions.entry(path_of(target, facts)).or_default();
            sizes.push(create_bytes(target).unwrap_or(0));
        }
        let early = |(path, sizes): (PathBuf, Vec<u64>)| {
            Some((path, early_bytes(profile.precreate, &sizes)?))
        };
        let early: BTreeMap<PathBuf, u64> = mentions.into_iter().filter_map(early).collect();
        Self { is_virtual, made: early.clone(), early }
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
        let plan = |path: PathBuf| FilePlan { size_bytes: now[&path], path };
        let plans = order.into_iter().map(plan).collect();
        self.made.extend(now);
        plans
    }

    /// The size in bytes that this run has given to a target, if it has made it.
    pub(super) fn size_bytes(&self, target: &Target, facts: &HostFacts) -> Option<u64> {
        self.made.get(&path_of(target, facts)).copied()
    }

    /// The files to make before the first time span.
    pub(super) fn precreate(&self) -> Vec<FilePlan> {
        let plan = |(path, &size_bytes): (&PathBuf, &u64)| {
            let path = path.clone();
            FilePlan { path, size_bytes }
        };
        self.early.iter().map(plan).collect()
    }
}

/// The size with which a target is to be made; a size of 0 makes nothing, as in `DiskSpd`.
pub(super) fn create_bytes(target: &Target) -> Option<u64> {
    target.create_bytes.filter(|&bytes| bytes > 0)
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

/// The path that is the same for all names of a file.
fn path_of(target: &Target, facts: &HostFacts) -> PathBuf {
    let known = facts.targets.get(&target.path).and_then(|facts| facts.as_ref().ok());
    known.map_or_else(|| PathBuf::from(&target.path), |facts| facts.path.clone())
}

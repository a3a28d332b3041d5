//! Which files are made, when, and how large they are afterwards.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::HostFacts;
use crate::plan::FilePlan;
use crate::profile::{Precreate, Profile, Target, TimeSpan};

/// The files that this run makes, as far as it has been planned.
#[derive(Debug, Default)]
pub(super) struct Files {
    is_virtual: bool,
    /// Sizes in bytes of those that are made before the first time span, by name.
    early: BTreeMap<String, u64>,
    /// Sizes in bytes of all that have been made by now, by name.
    made: BTreeMap<String, u64>,
}

impl Files {
    /// The files that are made before the first time span; none if nothing is to be touched.
    pub(super) fn new(profile: &Profile, is_virtual: bool) -> Self {
        if is_virtual {
            return Self { is_virtual, ..Self::default() };
        }
        let mut mentions: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for target in profile.time_spans.iter().flat_map(|span| &span.targets) {
            mentions.entry(&target.path).or_default().push(create_bytes(target).unwrap_or(0));
        }
        let early = |(name, sizes): (&str, Vec<u64>)| {
            Some((name.to_owned(), early_bytes(profile.precreate, &sizes)?))
        };
        let early: BTreeMap<String, u64> = mentions.into_iter().filter_map(early).collect();
        Self { is_virtual, made: early.clone(), early }
    }

    /// The files to make before this time span. Of two sizes for one file the last one counts.
    pub(super) fn create(&mut self, span: &TimeSpan, facts: &HostFacts) -> Vec<FilePlan> {
        let mut now = BTreeMap::new();
        let mut order = Vec::new();
        for target in span.targets.iter().filter(|_| !self.is_virtual) {
            let Some(bytes) = create_bytes(target) else { continue };
            if self.early.contains_key(&target.path) {
                continue;
            }
            if now.insert(target.path.clone(), bytes).is_none() {
                order.push(&target.path);
            }
        }
        let plans = order.into_iter().map(|name| plan(name, now[name], facts)).collect();
        self.made.extend(now);
        plans
    }

    /// The size in bytes that this run has given to a file, if it has made it.
    pub(super) fn size_bytes(&self, name: &str) -> Option<u64> {
        self.made.get(name).copied()
    }

    /// The files to make before the first time span.
    pub(super) fn precreate(&self, facts: &HostFacts) -> Vec<FilePlan> {
        self.early.iter().map(|(name, &bytes)| plan(name, bytes, facts)).collect()
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

fn plan(name: &str, size_bytes: u64, facts: &HostFacts) -> FilePlan {
    let known = facts.targets.get(name).and_then(|facts| facts.as_ref().ok());
    let path = known.map_or_else(|| PathBuf::from(name), |facts| facts.path.clone());
    FilePlan { path, size_bytes }
}

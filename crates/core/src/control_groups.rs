//! The control groups that this process is in, of version 1 and 2 (`cgroups(7)`, and
//! `Documentation/admin-guide/cgroup-v2.rst` of the kernel).

use fathom_sys::device::mounts::{self, Mount};

use crate::tree::Tree;

const MOUNTS: &str = "proc/self/mountinfo";

/// Limits beyond which the kernel ends a process.
const HARD_LIMITS: &[&str] = &["memory.max", "memory.limit_in_bytes"];
/// Those, and the one beyond which it takes memory back.
pub(crate) const ALL_LIMITS: &[&str] = &["memory.max", "memory.high", "memory.limit_in_bytes"];

/// A group that this process is in: its directory, and those above it up to the mount.
pub(crate) struct Group {
    /// Its controllers, with commas; empty for version 2.
    pub(crate) controllers: String,
    /// Its directory behind those above it.
    pub(crate) folders: Vec<String>,
}

impl Group {
    /// Whether its directories may have files of a controller; those of version 2 may have all of them.
    pub(crate) fn has(&self, controller: &str) -> bool {
        self.controllers.is_empty() || self.controllers.split(',').any(|one| one == controller)
    }
}

/// The directories of this process's groups that may have files of a controller.
fn folders_with(tree: &Tree, controller: &str) -> Vec<String> {
    let groups = of_this_process(tree).into_iter().filter(|group| group.has(controller));
    groups.flat_map(|group| group.folders).collect()
}

/// What a control group leaves to this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryLeft {
    /// The directory of the group.
    pub group: String,
    /// What it allows to all of its processes.
    pub limit_bytes: u64,
    /// What of that nobody uses for good: the page cache gives way.
    pub left_bytes: u64,
}

/// The groups of this process whose directories can be seen.
pub(crate) fn of_this_process(tree: &Tree) -> Vec<Group> {
    let mounts = mounts::in_order(&tree.text(MOUNTS).unwrap_or_default());
    let own = tree.text("proc/self/cgroup").unwrap_or_default();
    let group = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let (mount, path) = place_of(&mounts, controllers, path)?;
        let mut folders = vec![mount.clone()];
        let mut folder = mount;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            folder = format!("{folder}/{name}");
            folders.push(folder.clone());
        }
        Some(Group { controllers: controllers.to_owned(), folders })
    };
    own.lines().filter_map(group).collect()
}

/// Where the hierarchy with these controllers is mounted, without controllers that of version 2, and the
/// path of a group from there on: in a container, a part of the hierarchy may be mounted alone. Nothing if
/// no mount shows the group.
fn place_of<'a>(mounts: &[Mount], controllers: &str, path: &'a str) -> Option<(String, &'a str)> {
    let first = controllers.split(',').next().unwrap_or_default();
    // One that was mounted later may hide another.
    mounts.iter().rev().find_map(|mount| {
        let mut options = mount.options.split(',');
        let fits = match first {
            "" => mount.file_system == "cgroup2",
            name => mount.file_system == "cgroup" && options.any(|option| option == name),
        };
        let rest = path.strip_prefix(mount.root.to_string_lossy().trim_end_matches('/'))?;
        let is_within = rest.is_empty() || rest.starts_with('/');
        (fits && is_within).then(|| (mount.place.to_string_lossy().into_owned(), rest))
    })
}

/// The least of some limits of one group in bytes; none if it has none.
pub(crate) fn memory_limit(tree: &Tree, folder: &str, limits: &[&str]) -> Option<i64> {
    let found = limits.iter().filter_map(|file| tree.number(&format!("{folder}/{file}"))).min()?;
    // Version 1 tells "no limit" as the greatest number of whole pages.
    (found < i64::MAX - (1 << 20)).then_some(found)
}

/// The tightest limit of memory, the group that has it, and its bytes; none if no group has one.
pub(crate) fn tightest_memory(tree: &Tree) -> Option<(String, u64)> {
    let limits = folders_with(tree, "memory").into_iter().filter_map(|folder| {
        let limit = u64::try_from(memory_limit(tree, &folder, ALL_LIMITS)?).ok()?;
        Some((folder, limit))
    });
    limits.min_by_key(|&(_, limit)| limit)
}

/// What is left of the tightest limit of memory; none if no group has one.
pub(crate) fn memory_left(tree: &Tree) -> Option<MemoryLeft> {
    let left = folders_with(tree, "memory").into_iter().filter_map(|folder| {
        let limit = u64::try_from(memory_limit(tree, &folder, HARD_LIMITS)?).ok()?;
        let left_bytes = limit.saturating_sub(used_for_good(tree, &folder));
        Some(MemoryLeft { group: folder, limit_bytes: limit, left_bytes })
    });
    left.min_by_key(|found| found.left_bytes)
}

/// What the kernel can only get back by ending processes, in bytes, with all groups below: memory that no
/// file holds. Version 1 has the same names without `total_` for the group alone.
fn used_for_good(tree: &Tree, folder: &str) -> u64 {
    let text = tree.text(&format!("{folder}/memory.stat")).unwrap_or_default();
    let fields: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once(' ')).collect();
    let is_first_version = fields.iter().any(|(name, _)| *name == "total_rss");
    let held = if is_first_version { ["total_rss", "total_shmem"] } else { ["anon", "shmem"] };
    let counted = fields.iter().filter(|(name, _)| held.contains(name));
    counted.filter_map(|(_, bytes)| bytes.trim().parse::<u64>().ok()).sum()
}

/// How many CPUs a quota of the group allows; none if it has no quota.
pub(crate) fn cpus(tree: &Tree, folder: &str) -> Option<f64> {
    let (quota_us, period_us) = match tree.text(&format!("{folder}/cpu.max")) {
        Some(text) => {
            let (quota, period) = text.split_once(' ')?;
            (quota.parse::<i64>().ok()?, period.parse::<i64>().ok()?)
        }
        None => (
            tree.number(&format!("{folder}/cpu.cfs_quota_us"))?,
            tree.number(&format!("{folder}/cpu.cfs_period_us"))?,
        ),
    };
    (quota_us > 0 && period_us > 0).then(|| quota_us as f64 / period_us as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }

    fn left(files: &[(&str, &str)]) -> Option<MemoryLeft> {
        memory_left(&Tree::new(machine(files).path()))
    }

    const V2: [(&str, &str); 2] = [
        ("proc/self/cgroup", "0::/pod/box\n"),
        ("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
    ];

    #[test]
    fn the_tightest_group_counts_and_the_page_cache_gives_way() {
        let mut files = V2.to_vec();
        files.extend([
            ("sys/fs/cgroup/pod/memory.max", "1000\n"),
            ("sys/fs/cgroup/pod/memory.stat", "anon 700\nfile 250\nshmem 50\n"),
            ("sys/fs/cgroup/pod/box/memory.max", "500\n"),
            ("sys/fs/cgroup/pod/box/memory.stat", "anon 100\nfile 400\n"),
        ]);
        let group = "/sys/fs/cgroup/pod".to_owned();
        assert_eq!(left(&files), Some(MemoryLeft { group, limit_bytes: 1000, left_bytes: 250 }));
    }

    #[test]
    fn a_group_of_version_1_counts_with_those_below_it() {
        let mount = "31 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
        let files = [
            ("proc/self/cgroup", "4:memory:/box\n"),
            ("proc/self/mountinfo", mount),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "4096\n"),
            (
                "sys/fs/cgroup/memory/box/memory.stat",
                "rss 1\nshmem 7\ntotal_rss 90\ntotal_shmem 6\n",
            ),
        ];
        let group = "/sys/fs/cgroup/memory/box".to_owned();
        assert_eq!(left(&files), Some(MemoryLeft { group, limit_bytes: 4096, left_bytes: 4000 }));
    }

    /// The limit of the group below was looked for at a path that the mount does not have, and not found.
    #[test]
    fn a_part_of_the_hierarchy_that_is_mounted_alone_shows_its_groups() {
        let mount = "31 23 0:27 /po\\134x2dd /run/c\\040g rw - cgroup cgroup rw,memory\n\
                     32 23 0:27 /other /else rw - cgroup cgroup rw,memory\n";
        let files = [
            ("proc/self/cgroup", "4:memory:/po\\x2dd/box\n"),
            ("proc/self/mountinfo", mount),
            ("run/c g/box/memory.limit_in_bytes", "4096\n"),
            ("run/c g/box/memory.stat", "total_rss 96\ntotal_shmem 0\n"),
        ];
        let group = "/run/c g/box".to_owned();
        assert_eq!(left(&files), Some(MemoryLeft { group, limit_bytes: 4096, left_bytes: 4000 }));
        // Only what lies above is mounted elsewhere: nothing of it is this group.
        let apart = [
            ("proc/self/cgroup", "4:memory:/po\\x2dds\n"),
            ("proc/self/mountinfo", mount),
            ("run/c g/memory.limit_in_bytes", "4096\n"),
        ];
        assert_eq!(left(&apart), None);
    }

    /// Whoever mounts may name no source: the kernel then writes nothing between two spaces, and the options
    /// were taken for the source.
    #[test]
    fn the_limit_of_a_hierarchy_that_was_mounted_without_a_source_was_not_found() {
        let files = [
            ("proc/self/cgroup", "4:memory:/box\n"),
            ("proc/self/mountinfo", "31 23 0:27 / /mem rw - cgroup  rw,memory\n"),
            ("mem/box/memory.limit_in_bytes", "4096\n"),
            ("mem/box/memory.stat", "total_rss 96\ntotal_shmem 0\n"),
        ];
        let group = "/mem/box".to_owned();
        assert_eq!(left(&files), Some(MemoryLeft { group, limit_bytes: 4096, left_bytes: 4000 }));
    }

    /// The latest mount counts, not the deepest: what lies beneath it is hidden.
    #[test]
    fn a_hierarchy_that_another_hides_does_not_count() {
        let files = [
            ("proc/self/cgroup", "0::/box\n"),
            (
                "proc/self/mountinfo",
                "30 23 0:26 / /m/deep rw - cgroup2 cgroup2 rw\n\
                 31 23 0:26 / /m rw - cgroup2 cgroup2 rw\n",
            ),
            ("m/box/memory.max", "4096\n"),
            ("m/box/memory.stat", "anon 96\nshmem 0\n"),
        ];
        let group = "/m/box".to_owned();
        assert_eq!(left(&files), Some(MemoryLeft { group, limit_bytes: 4096, left_bytes: 4000 }));
    }

    #[test]
    fn without_a_limit_nothing_is_told() {
        assert_eq!(left(&V2), None);
        assert_eq!(left(&[]), None);
        let mut files = V2.to_vec();
        files.push(("sys/fs/cgroup/pod/memory.max", "max\n"));
        assert_eq!(left(&files), None);
    }
}

//! Limits of the control groups that this process is in, and what the kernel says of how they took effect
//! (`Documentation/admin-guide/cgroup-v2.rst`, and `cgroup-v1/blkio-controller.rst`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::control_groups::{self, Group};
use crate::tree::Tree;

/// What a limit of I/O counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// Reads per second.
    ReadIops,
    /// Writes per second.
    WriteIops,
    /// Bytes read per second.
    ReadBytesPerS,
    /// Bytes written per second.
    WriteBytesPerS,
}

impl LimitKind {
    const ALL: [Self; 4] =
        [Self::ReadIops, Self::WriteIops, Self::ReadBytesPerS, Self::WriteBytesPerS];

    /// Where version 1 has it, and its name in `io.max` of version 2.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::ReadIops => ("blkio.throttle.read_iops_device", "riops"),
            Self::WriteIops => ("blkio.throttle.write_iops_device", "wiops"),
            Self::ReadBytesPerS => ("blkio.throttle.read_bps_device", "rbps"),
            Self::WriteBytesPerS => ("blkio.throttle.write_bps_device", "wbps"),
        }
    }

    /// Where version 1 counts what the group did, and the row; and the name in `io.stat` of version 2.
    fn counters(self) -> (&'static str, &'static str, &'static str) {
        const IOS: &str = "blkio.throttle.io_serviced_recursive";
        const BYTES: &str = "blkio.throttle.io_service_bytes_recursive";
        match self {
            Self::ReadIops => (IOS, "Read", "rios"),
            Self::WriteIops => (IOS, "Write", "wios"),
            Self::ReadBytesPerS => (BYTES, "Read", "rbytes"),
            Self::WriteBytesPerS => (BYTES, "Write", "wbytes"),
        }
    }
}

/// A limit of I/O to one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoLimit {
    /// The device.
    pub number: (u32, u32),
    /// What it counts.
    pub kind: LimitKind,
    /// So many per second.
    pub per_s: u64,
    /// What the group has done of it so far, if the kernel tells.
    pub done: Option<u64>,
}

/// What a control group allows, and what that has held back so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GroupReading {
    /// Its directory.
    pub folder: String,
    /// CPUs that it allows, as far as it limits them.
    pub cpus: Option<f64>,
    /// Stretches of time that were counted out.
    pub periods: u64,
    /// Those in which the group was stopped.
    pub throttled_periods: u64,
    /// For how long, over all CPUs, in nanoseconds.
    pub throttled_ns: u64,
    /// Limits of I/O.
    pub io: Vec<IoLimit>,
}

/// The groups of this process that limit CPUs or I/O.
pub(super) fn read(tree: &Tree) -> Vec<GroupReading> {
    let groups = control_groups::of_this_process(tree);
    let folders = groups.iter().flat_map(|one| one.folders.iter().map(move |folder| (one, folder)));
    let found = folders.map(|(one, folder)| group(tree, one, folder));
    found.filter(|group| group.cpus.is_some() || !group.io.is_empty()).collect()
}

/// Files that the group's controllers do not have are not looked for: this is done at each edge.
fn group(tree: &Tree, group: &Group, folder: &str) -> GroupReading {
    let cpus = group.has("cpu").then(|| control_groups::cpus(tree, folder)).flatten();
    let stat = cpus.and_then(|_| tree.text(&format!("{folder}/cpu.stat"))).unwrap_or_default();
    let count = |name: &str| {
        let found = stat.lines().filter_map(|line| line.split_once(' '));
        let mut found = found.filter(|(key, _)| *key == name);
        found.next().and_then(|(_, number)| number.trim().parse::<u64>().ok())
    };
    let throttled_us = count("throttled_usec").map(|us| us.saturating_mul(1_000));
    GroupReading {
        folder: folder.to_owned(),
        cpus,
        periods: count("nr_periods").unwrap_or(0),
        throttled_periods: count("nr_throttled").unwrap_or(0),
        throttled_ns: throttled_us.or_else(|| count("throttled_time")).unwrap_or(0),
        io: if group.has("blkio") { io_limits(tree, folder) } else { Vec::new() },
    }
}

fn io_limits(tree: &Tree, folder: &str) -> Vec<IoLimit> {
    let new = tree.text(&format!("{folder}/io.max"));
    LimitKind::ALL
        .into_iter()
        .flat_map(|kind| limits_of(tree, folder, kind, new.as_deref()))
        .collect()
}

/// The limits of a kind: those of `io.max`, or those of version 1, which has no such file.
fn limits_of(tree: &Tree, folder: &str, kind: LimitKind, io_max: Option<&str>) -> Vec<IoLimit> {
    let (first, second) = kind.names();
    let old = match io_max {
        Some(_) => String::new(),
        None => tree.text(&format!("{folder}/{first}")).unwrap_or_default(),
    };
    let old = old.lines().filter_map(|line| {
        let (number, value) = line.split_once(' ')?;
        Some((device(number)?, value.trim().parse::<u64>().ok()?))
    });
    let new = io_max
        .unwrap_or_default()
        .lines()
        .filter_map(|line| Some((device(line.split(' ').next()?)?, value(line, second)?)));
    let limits = old.chain(new).filter(|(_, per_s)| *per_s > 0);
    let limit =
        |(number, per_s)| IoLimit { number, kind, per_s, done: done(tree, folder, number, kind) };
    limits.map(limit).collect()
}

/// What the group, and those below it, have done so far.
fn done(tree: &Tree, folder: &str, number: (u32, u32), kind: LimitKind) -> Option<u64> {
    let (file, row, name) = kind.counters();
    let own = format!("{}:{} ", number.0, number.1);
    if let Some(text) = tree.text(&format!("{folder}/{file}")) {
        let rest =
            text.lines().find_map(|line| line.strip_prefix(&own)?.strip_prefix(row)).map(str::trim);
        // A device that has seen nothing has no row.
        return rest.map_or(Some(0), |count| count.parse().ok());
    }
    let text = tree.text(&format!("{folder}/io.stat"))?;
    text.lines().find(|line| line.starts_with(&own)).map_or(Some(0), |line| value(line, name))
}

/// The number behind a name in a line such as `8:0 rbps=1048576 wbps=max`.
fn value(line: &str, name: &str) -> Option<u64> {
    line.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='))?.parse().ok()
}

fn device(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(files: &[(&str, &str)]) -> Vec<GroupReading> {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        read(&Tree::new(root.path()))
    }

    const MOUNTS: &str = "30 25 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
        31 25 0:27 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n\
        32 25 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
        33 25 0:29 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n";
    const OWN: [(&str, &str); 2] = [
        ("proc/self/mountinfo", MOUNTS),
        ("proc/self/cgroup", "7:blkio:/job\n3:pids:/job\n1:cpu,cpuacct:/job\n0::/pod\n"),
    ];

    #[test]
    fn groups_of_both_versions_tell_their_limits_and_what_came_of_them() {
        let mut files = OWN.to_vec();
        files.extend([
            ("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu/job/cpu.stat", "nr_periods 9\nnr_throttled 4\nthrottled_time 7\n"),
            ("sys/fs/cgroup/blkio/job/blkio.throttle.read_iops_device", "8:0 300\n"),
            ("sys/fs/cgroup/blkio/job/blkio.throttle.io_serviced_recursive", "8:0 Read 12\n"),
            ("sys/fs/cgroup/unified/pod/io.max", "8:16 rbps=max wbps=1000 riops=max wiops=20\n"),
            ("sys/fs/cgroup/unified/pod/io.stat", "8:16 rbytes=1 wbytes=2 rios=3 wios=4\n"),
        ]);
        let found = told(&files);
        let io: Vec<_> = found.iter().map(|one| one.io.clone()).collect();
        let limit = |number, kind, per_s, done| IoLimit { number, kind, per_s, done: Some(done) };
        let (writes, bytes) = (LimitKind::WriteIops, LimitKind::WriteBytesPerS);
        assert_eq!(
            io,
            [
                vec![limit((8, 0), LimitKind::ReadIops, 300, 12)],
                vec![],
                vec![limit((8, 16), writes, 20, 4), limit((8, 16), bytes, 1000, 2)],
            ]
        );
        assert_eq!(found[1].cpus, Some(0.5));
        let counts = (found[1].periods, found[1].throttled_periods, found[1].throttled_ns);
        assert_eq!(counts, (9, 4, 7));
    }

    /// Each of them was looked for in each directory of each group, which is most of them in version 1.
    #[test]
    fn files_of_controllers_that_a_group_does_not_have_are_not_looked_for() {
        let mut files = OWN.to_vec();
        files.extend([
            ("sys/fs/cgroup/pids/job/cpu.max", "50000 100000\n"),
            ("sys/fs/cgroup/pids/job/io.max", "8:16 rbps=1000\n"),
            ("sys/fs/cgroup/cpu/job/blkio.throttle.read_iops_device", "8:0 300\n"),
        ]);
        assert_eq!(told(&files), []);
    }
}

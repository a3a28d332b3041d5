//! Limits of the control groups that this process is in, and what the kernel says of how they took effect
//! (`Documentation/admin-guide/cgroup-v2.rst`, and `cgroup-v1/blkio-controller.rst`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::control_groups;
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
    let folders = groups.iter().flat_map(|group| &group.folders);
    let found = folders.map(|folder| group(tree, folder));
    found.filter(|group| group.cpus.is_some() || !group.io.is_empty()).collect()
}

fn group(tree: &Tree, folder: &str) -> GroupReading {
    let cpus = control_groups::cpus(tree, folder);
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
        io: LimitKind::ALL.into_iter().flat_map(|kind| io_limits(tree, folder, kind)).collect(),
    }
}

fn io_limits(tree: &Tree, folder: &str, kind: LimitKind) -> Vec<IoLimit> {
    let (first, second) = kind.names();
    let old = tree.text(&format!("{folder}/{first}")).unwrap_or_default();
    let new = tree.text(&format!("{folder}/io.max")).unwrap_or_default();
    let old = old.lines().filter_map(|line| {
        let (number, value) = line.split_once(' ')?;
        Some((device(number)?, value.trim().parse::<u64>().ok()?))
    });
    let new = new
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

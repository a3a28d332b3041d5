//! The CPUs of this host: where each of them lies, which ones may be used, and what they did.
//!
//! The pure readers take a directory or a text, so that hosts which nobody has at hand can be tried.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::device::number_in;

/// One logical CPU that is online, and its place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cpu {
    /// The kernel's number.
    pub os_id: u32,
    /// Processor group: the NUMA node.
    pub group: u16,
    /// Index within the group.
    pub index: u8,
    /// NUMA node.
    pub node: u32,
    /// Socket.
    pub socket: u32,
    /// Physical core, numbered over the whole host.
    pub core: u32,
    /// 0 unless the host has cores of different kinds; greater is faster.
    pub efficiency_class: u8,
}

/// Time that one CPU has spent since the start of the system, in clock ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// The kernel's number.
    pub os_id: u32,
    /// In user mode, low priority and guests included.
    pub user: u64,
    /// In the kernel, interrupts included.
    pub kernel: u64,
    /// Idle, waiting for I/O included.
    pub idle: u64,
    /// Taken by the hypervisor.
    pub steal: u64,
    /// As [`online_mark`] tells it; 0 where the kernel tells nothing.
    pub online_mark: u64,
}

/// CPUs that an index within a group can tell apart.
const GROUP_CPUS_MAX: usize = 256;
/// The largest CPU number, plus one, that a mask can hold here.
const CPU_LIMIT: usize = 8192;

/// The CPUs that are online, ordered by group and index.
pub fn topology() -> io::Result<Vec<Cpu>> {
    topology_in(Path::new("/sys/devices"))
}

fn topology_in(devices: &Path) -> io::Result<Vec<Cpu>> {
    let online = parse_list(&fs::read_to_string(devices.join("system/cpu/online"))?);
    let nodes = nodes(&devices.join("system/node"));
    let classes = efficiency_classes(devices, &online);
    let mut cores = BTreeMap::new();
    let mut cpus: Vec<Cpu> = Vec::with_capacity(online.len());
    for &os_id in &online {
        let place = devices.join(format!("system/cpu/cpu{os_id}/topology"));
        let socket = number_in(&place.join("physical_package_id")).unwrap_or(0);
        let die = number_in(&place.join("die_id")).unwrap_or(0);
        // A guest without core numbers has one core per CPU.
        let core_id = number_in(&place.join("core_id")).unwrap_or(os_id);
        let next = u32::try_from(cores.len()).unwrap_or(u32::MAX);
        let core = *cores.entry((socket, die, core_id)).or_insert(next);
        let node = nodes.get(&os_id).copied().unwrap_or(0);
        let efficiency_class = classes.get(&os_id).copied().unwrap_or(0);
        cpus.push(Cpu { os_id, node, socket, core, efficiency_class, ..Cpu::default() });
    }
    let present = fs::read_to_string(devices.join("system/cpu/present")).unwrap_or_default();
    number_groups(&mut cpus, &parse_list(&present));
    Ok(cpus)
}

/// Groups are NUMA nodes. Where a node has more CPUs than an index can tell apart, all groups are
/// numbered again, and such a node fills several of them.
///
/// With one node the CPUs that are switched off are counted too, so that an index is the kernel's
/// number. With several nodes nobody knows to which of them such a CPU belongs.
fn number_groups(cpus: &mut [Cpu], present: &[u32]) {
    cpus.sort_by_key(|cpu| (cpu.node, cpu.os_id));
    let is_one_node = cpus.first().map(|cpu| cpu.node) == cpus.last().map(|cpu| cpu.node);
    let position = |rank: usize, os_id: u32| match present.binary_search(&os_id) {
        Ok(position) if is_one_node => position,
        _ => rank,
    };
    let mut places = Vec::with_capacity(cpus.len());
    let mut next_group = 0;
    for node in cpus.chunk_by(|a, b| a.node == b.node) {
        let positions = node.iter().enumerate().map(|(rank, cpu)| position(rank, cpu.os_id));
        places.extend(positions.map(|at| (next_group + at / GROUP_CPUS_MAX, at % GROUP_CPUS_MAX)));
        next_group = places.last().map_or(0, |(group, _)| group + 1);
    }
    let is_wide = next_group > cpus.chunk_by(|a, b| a.node == b.node).count();
    for (cpu, (group, index)) in cpus.iter_mut().zip(places) {
        let number = if is_wide { group } else { cpu.node as usize };
        cpu.group = u16::try_from(number).unwrap_or(u16::MAX);
        cpu.index = u8::try_from(index).unwrap_or(u8::MAX);
    }
}

/// The NUMA node of each CPU; empty on a kernel without NUMA.
fn nodes(directory: &Path) -> BTreeMap<u32, u32> {
    let mut nodes = BTreeMap::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(node) = name.strip_prefix("node").and_then(|digits| digits.parse().ok()) else {
            continue;
        };
        let list = fs::read_to_string(entry.path().join("cpulist")).unwrap_or_default();
        nodes.extend(parse_list(&list).into_iter().map(|os_id| (os_id, node)));
    }
    nodes
}

/// The class of each CPU on a host with cores of different kinds; empty on any other.
///
/// x86 lists its kinds of cores as performance counter units. Elsewhere the kernel tells the
/// capacity of each CPU. A guest or an old kernel may tell neither, but the greatest frequencies.
fn efficiency_classes(devices: &Path, online: &[u32]) -> BTreeMap<u32, u8> {
    let kinds = ["cpu_lowpower", "cpu_atom", "cpu_core"]
        .map(|unit| fs::read_to_string(devices.join(unit).join("cpus")).unwrap_or_default());
    let mut ranks = BTreeMap::new();
    for (rank, list) in (0_u32..).zip(&kinds) {
        ranks.extend(parse_list(list).into_iter().map(|os_id| (os_id, rank)));
    }
    let read_all = |name: &str| {
        let read = |os_id: u32| number_in(&devices.join(format!("system/cpu/cpu{os_id}/{name}")));
        online.iter().filter_map(|&os_id| Some((os_id, read(os_id)?))).collect()
    };
    if ranks.is_empty() {
        ranks = read_all("cpu_capacity");
    }
    if ranks.is_empty() {
        ranks = frequency_ranks(read_all("cpufreq/cpuinfo_max_freq"));
    }
    let mut distinct: Vec<u32> = ranks.values().copied().collect();
    distinct.sort_unstable();
    distinct.dedup();
    let class = |rank| u8::try_from(distinct.partition_point(|&other| other < rank));
    ranks.into_iter().map(|(os_id, rank)| (os_id, class(rank).unwrap_or(u8::MAX))).collect()
}

/// Frequencies as ranks. Cores of one kind differ, too, because a processor favours its best ones; a
/// core of another kind is at least a fifth faster.
fn frequency_ranks(frequencies: BTreeMap<u32, u32>) -> BTreeMap<u32, u32> {
    let mut distinct: Vec<u32> = frequencies.values().copied().collect();
    distinct.sort_unstable();
    distinct.dedup();
    let starts = distinct.windows(2).filter(|pair| pair[1] - pair[0] >= pair[0] / 5);
    let starts: Vec<u32> = starts.map(|pair| pair[1]).collect();
    let rank = |frequency| starts.partition_point(|&start| start <= frequency);
    let rank = |frequency| u32::try_from(rank(frequency)).unwrap_or(u32::MAX);
    frequencies.into_iter().map(|(os_id, frequency)| (os_id, rank(frequency))).collect()
}

/// The numbers of a list such as `0-3,8,10-11`.
#[must_use]
pub fn parse_list(text: &str) -> Vec<u32> {
    let mut numbers = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) {
            numbers.extend(first..=last);
        }
    }
    numbers
}

/// The CPUs that this process may run on, by the kernel's numbers, ascending.
pub fn usable() -> io::Result<Vec<u32>> {
    const WORD_BITS: usize = usize::BITS as usize;
    let mut mask = [0_usize; CPU_LIMIT / WORD_BITS];
    let bytes = size_of_val(&mask);
    // SAFETY: the mask is a valid array of the size that is passed; 0 names the calling thread.
    let result = unsafe { libc::sched_getaffinity(0, bytes, mask.as_mut_ptr().cast()) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    let is_set = |os_id: usize| (mask[os_id / WORD_BITS] >> (os_id % WORD_BITS)) & 1 == 1;
    Ok((0..).zip(0..CPU_LIMIT).filter(|&(_, bit)| is_set(bit)).map(|(os_id, _)| os_id).collect())
}

/// A number that differs each time that a CPU has been put online; nothing while it is offline.
///
/// The kernel makes the folder of its topology when it comes, and removes it when it goes
/// (drivers/base/topology.c), and no two folders of sysfs have the same number.
#[must_use]
pub fn online_mark(os_id: u32) -> Option<u64> {
    let folder = format!("/sys/devices/system/cpu/cpu{os_id}/topology");
    Some(fs::metadata(folder).ok()?.ino())
}

/// The name of the processor's model; of its architecture where the kernel tells no name.
#[must_use]
pub fn model_name() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    parse_model_name(&text).unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

fn parse_model_name(cpuinfo: &str) -> Option<String> {
    let value_of = |wanted: &str| {
        cpuinfo.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == wanted && !value.trim().is_empty()).then(|| value.trim().to_owned())
        })
    };
    ["model name", "cpu model", "Processor", "cpu"].into_iter().find_map(value_of)
}

/// The frequency governor of the first CPU; empty if it has none, as in most guests.
#[must_use]
pub fn governor() -> String {
    let path = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
    fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// The time that each CPU has spent since the start of the system, by state.
pub fn times() -> io::Result<Vec<CpuTimes>> {
    let mut times = parse_times(&fs::read_to_string("/proc/stat")?);
    for cpu in &mut times {
        cpu.online_mark = online_mark(cpu.os_id).unwrap_or(0);
    }
    Ok(times)
}

/// Reads the CPU lines of `/proc/stat`, see proc(5). Guest time is part of user time there, and
/// is not counted again.
fn parse_times(stat: &str) -> Vec<CpuTimes> {
    let parse_line = |line: &str| {
        let mut fields = line.strip_prefix("cpu")?.split(' ');
        let os_id = fields.next()?.parse().ok()?;
        let mut ticks = fields.map(|field| field.parse::<u64>().unwrap_or(0));
        let [user, nice, system, idle, iowait, irq, softirq, steal] =
            std::array::from_fn(|_| ticks.next().unwrap_or(0));
        Some(CpuTimes {
            os_id,
            user: user + nice,
            kernel: system + irq + softirq,
            idle: idle + iowait,
            steal,
            online_mark: 0,
        })
    };
    stat.lines().filter_map(parse_line).collect()
}

#[cfg(test)]
#[path = "cpu_tests.rs"]
mod tests;

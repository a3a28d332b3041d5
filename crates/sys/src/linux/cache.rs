//! The processors' caches, and how far apart memory must lie to be found through different lines of them.

use std::fs;
use std::path::Path;

use super::cpu::parse_list;

/// One cache, and the CPUs that share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// 1 is nearest to the CPU.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Length of a line in bytes.
    pub line_bytes: u32,
    /// Places where a line can lie; 0 if the system does not tell.
    pub ways: u32,
    /// The kernel's numbers of the CPUs that share it, ascending.
    pub cpus: Vec<u32>,
}

/// Size of a page table entry on all processors with 64-bit addresses.
const ENTRY_BYTES: u64 = 8;
/// Length of a line where the system does not tell it.
const LINE_BYTES: u32 = 64;

/// The caches of these CPUs, nearest first, each once.
#[must_use]
pub fn caches(cpus: &[u32]) -> Vec<Cache> {
    caches_in(Path::new("/sys/devices/system/cpu"), cpus)
}

fn caches_in(directory: &Path, cpus: &[u32]) -> Vec<Cache> {
    let mut caches = Vec::new();
    for cpu in cpus {
        for index in 0.. {
            let place = directory.join(format!("cpu{cpu}/cache/index{index}"));
            let Some(cache) = read(&place) else { break };
            if !caches.contains(&cache) {
                caches.push(cache);
            }
        }
    }
    caches.sort_by_key(|cache| (cache.level, cache.kind.clone(), cache.cpus.first().copied()));
    caches
}

fn read(place: &Path) -> Option<Cache> {
    let text = |name: &str| {
        fs::read_to_string(place.join(name)).map(|text| text.trim().to_owned()).unwrap_or_default()
    };
    Some(Cache {
        level: text("level").parse().ok()?,
        kind: text("type"),
        size_bytes: parse_size(&text("size"))?,
        line_bytes: text("coherency_line_size").parse().unwrap_or(LINE_BYTES),
        ways: text("ways_of_associativity").parse().unwrap_or(0),
        cpus: parse_list(&text("shared_cpu_list")),
    })
}

/// A size such as `32K`.
fn parse_size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(char::is_alphabetic);
    let unit = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// Size of a page of memory in bytes.
#[must_use]
pub fn page_bytes() -> u64 {
    // SAFETY: the call takes an integer and gives one.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// Memory that the page directory entries in one cache line describe: 16 MiB with pages of 4 KiB and
/// lines of 64 bytes.
#[must_use]
pub fn page_directory_line_bytes() -> u64 {
    let lines = caches(&[0]).iter().map(|cache| cache.line_bytes).max().unwrap_or(LINE_BYTES);
    described_bytes(page_bytes(), u64::from(lines))
}

fn described_bytes(page_bytes: u64, line_bytes: u64) -> u64 {
    let per_table = page_bytes / ENTRY_BYTES * page_bytes;
    (line_bytes / ENTRY_BYTES).next_power_of_two() * per_table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_page_directory_describes_16_mib_of_small_pages() {
        assert_eq!(described_bytes(4096, 64), 16 << 20);
        assert_eq!(described_bytes(4096, 128), 32 << 20);
        assert_eq!(described_bytes(16_384, 128), 512 << 20);
    }

    #[test]
    fn shared_caches_are_told_once() {
        let host = tempfile::tempdir().expect("a temporary directory");
        let write = |cpu: u32, index: u32, [level, kind, size, shared]: [&str; 4]| {
            let place = host.path().join(format!("cpu{cpu}/cache/index{index}"));
            fs::create_dir_all(&place).expect("directories");
            for (name, text) in
                [("level", level), ("type", kind), ("size", size), ("shared_cpu_list", shared)]
            {
                fs::write(place.join(name), format!("{text}\n")).expect("a file");
            }
        };
        for cpu in 0..2 {
            write(cpu, 0, ["1", "Data", "48K", &cpu.to_string()]);
            write(cpu, 1, ["3", "Unified", "32M", "0-1"]);
        }
        let caches = caches_in(host.path(), &[0, 1]);
        let seen: Vec<_> =
            caches.iter().map(|one| (one.level, one.size_bytes, one.cpus.clone())).collect();
        assert_eq!(
            seen,
            [(1, 48 << 10, vec![0]), (1, 48 << 10, vec![1]), (3, 32 << 20, vec![0, 1])]
        );
    }
}

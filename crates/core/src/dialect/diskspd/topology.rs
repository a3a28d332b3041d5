//! Where CPUs lie, in the numbers that `DiskSpd` shows: cores and CPUs count within their group.

use std::collections::{BTreeMap, BTreeSet};

use crate::result::Cpu;

/// The number of each core within its group, by group and by the core's number over the whole host.
#[derive(Debug)]
pub struct CoreNumbers(BTreeMap<(u16, u32), u32>);

impl CoreNumbers {
    /// The numbers of a host's cores.
    #[must_use]
    pub fn new(cpus: &[Cpu]) -> Self {
        let cores: BTreeSet<(u16, u32)> = cpus.iter().map(|cpu| (cpu.group, cpu.core)).collect();
        let mut next: BTreeMap<u16, u32> = BTreeMap::new();
        let number = |(group, core)| {
            let next = next.entry(group).or_default();
            *next += 1;
            ((group, core), *next - 1)
        };
        Self(cores.into_iter().map(number).collect())
    }

    /// The number of a CPU's core within its group; 0 for a CPU that the host does not have.
    #[must_use]
    pub fn of(&self, cpu: &Cpu) -> u32 {
        self.0.get(&(cpu.group, cpu.core)).copied().unwrap_or(0)
    }
}

/// The CPUs of each group as a hexadecimal mask; groups here may exceed Windows' 64 CPUs.
pub fn masks<'a>(cpus: impl Iterator<Item = &'a Cpu>) -> BTreeMap<u16, String> {
    let mut indices: BTreeMap<u16, Vec<u8>> = BTreeMap::new();
    for cpu in cpus {
        indices.entry(cpu.group).or_default().push(cpu.index);
    }
    indices.into_iter().map(|(group, indices)| (group, mask(&indices))).collect()
}

fn mask(indices: &[u8]) -> String {
    let mut digits = [0_u8; 64];
    for &index in indices {
        digits[usize::from(index / 4)] |= 1 << (index % 4);
    }
    let digits = digits.iter().rev().filter_map(|&digit| char::from_digit(digit.into(), 16));
    let digits: String = digits.skip_while(|&digit| digit == '0').collect();
    format!("0x{digits}")
}

/// CPUs as ranges such as `0-3,7`, with their group in front where the host has several.
#[must_use]
pub fn ranges<'a>(cpus: impl Iterator<Item = &'a Cpu>, several_groups: bool) -> String {
    let mut groups: BTreeMap<u16, BTreeSet<u8>> = BTreeMap::new();
    for cpu in cpus {
        groups.entry(cpu.group).or_default().insert(cpu.index);
    }
    let in_words = |(group, indices): (u16, BTreeSet<u8>)| {
        let indices: Vec<u8> = indices.into_iter().collect();
        let runs = indices.chunk_by(|a, b| u16::from(*b) == u16::from(*a) + 1);
        let runs = runs.map(|run| match run {
            [one] => one.to_string(),
            _ => format!("{}-{}", run[0], run[run.len() - 1]),
        });
        let runs = runs.collect::<Vec<_>>().join(",");
        if several_groups { format!("{group}/{runs}") } else { runs }
    };
    groups.into_iter().map(in_words).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_hexadecimal_and_may_exceed_64_cpus() {
        assert_eq!(mask(&[0]), "0x1");
        assert_eq!(mask(&[0, 1, 5]), "0x23");
        assert_eq!(mask(&[64]), "0x10000000000000000");
    }

    #[test]
    fn cores_count_within_their_group() {
        let cpu = |group, core| Cpu { group, core, ..Cpu::default() };
        let cpus = [cpu(0, 0), cpu(0, 0), cpu(0, 3), cpu(1, 1), cpu(1, 2)];
        let numbers = CoreNumbers::new(&cpus);
        assert_eq!(cpus.map(|cpu| numbers.of(&cpu)), [0, 0, 1, 0, 1]);
    }

    #[test]
    fn neighbours_are_ranges() {
        let cpu = |group, index| Cpu { group, index, ..Cpu::default() };
        let cpus = [cpu(0, 0), cpu(0, 1), cpu(0, 2), cpu(0, 7), cpu(1, 3)];
        assert_eq!(ranges(cpus[..4].iter(), false), "0-2,7");
        assert_eq!(ranges(cpus.iter(), true), "0/0-2,7 1/3");
    }
}

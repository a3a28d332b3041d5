//! The host, its CPUs and their use.

use std::collections::{BTreeMap, BTreeSet};

use crate::diskspd::result_text::start_time;
use crate::diskspd::xml::{Writer, escape};
use crate::result::{Cpu, CpuUse, RunResult, TimeSpanResult};

/// The version of `DiskSpd` whose results these are compatible with; readers may check it.
const COMPATIBLE_VERSION: &str = "2.2.0";
const COMPATIBLE_DATE: &str = "2024/6/3";

/// The element `<System>`.
pub fn write(xml: &mut Writer, result: &RunResult) {
    let host = &result.host;
    xml.group("System", |xml| {
        xml.element("ComputerName", &host.name);
        xml.group("Tool", |xml| {
            xml.element("Version", COMPATIBLE_VERSION);
            xml.element("VersionDate", COMPATIBLE_DATE);
            let (name, version) = (escape(&result.tool.name), escape(&result.tool.version));
            xml.line(&format!("<Implementation Name=\"{name}\" Version=\"{version}\"/>"));
        });
        xml.element("RunTime", start_time(result.started_at_unix_s));
        let scheme = if host.power_scheme.is_empty() { "<unknown>" } else { &host.power_scheme };
        xml.line(&format!("<PowerScheme Name=\"{}\" Guid=\"\"/>", escape(scheme)));
        write_topology(xml, &host.cpus);
    });
}

fn write_topology(xml: &mut Writer, cpus: &[Cpu]) {
    let classes: BTreeSet<u8> = cpus.iter().map(|cpu| cpu.efficiency_class).collect();
    let mixed = classes.len() > 1;
    xml.group_with("ProcessorTopology", &format!("Heterogeneous=\"{mixed}\""), |xml| {
        for (group, mask) in masks(cpus.iter()) {
            let count = cpus.iter().filter(|cpu| cpu.group == group).count();
            xml.line(&format!(
                "<Group Group=\"{group}\" MaximumProcessors=\"{count}\" \
                 ActiveProcessors=\"{count}\" ActiveProcessorMask=\"{mask}\"/>"
            ));
        }
        write_sets(xml, "Node", cpus, |cpu| cpu.node);
        write_sets(xml, "Socket", cpus, |cpu| cpu.socket);
        write_cores(xml, cpus);
    });
}

/// The CPUs of each node or socket, as masks by group.
fn write_sets(xml: &mut Writer, name: &str, cpus: &[Cpu], key: fn(&Cpu) -> u32) {
    let keys: BTreeSet<u32> = cpus.iter().map(key).collect();
    for value in keys {
        xml.group_with(name, &format!("{name}=\"{value}\""), |xml| {
            for (group, mask) in masks(cpus.iter().filter(|cpu| key(cpu) == value)) {
                xml.line(&format!("<Group Group=\"{group}\" Mask=\"{mask}\"/>"));
            }
        });
    }
}

fn write_cores(xml: &mut Writer, cpus: &[Cpu]) {
    let cores: BTreeSet<(u16, u32, u8)> =
        cpus.iter().map(|cpu| (cpu.group, cpu.core, cpu.efficiency_class)).collect();
    for (group, core, class) in cores {
        let members = cpus.iter().filter(|cpu| (cpu.group, cpu.core) == (group, core));
        for (_, mask) in masks(members) {
            xml.line(&format!(
                "<Core Group=\"{group}\" Core=\"{core}\" Mask=\"{mask}\" \
                 EfficiencyClass=\"{class}\"/>"
            ));
        }
    }
}

/// The CPUs of each group as a hexadecimal mask; groups here may exceed Windows' 64 CPUs.
fn masks<'a>(cpus: impl Iterator<Item = &'a Cpu>) -> BTreeMap<u16, String> {
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

/// The element `<CpuUtilization>`.
pub fn write_cpu_use(xml: &mut Writer, result: &RunResult, span: &TimeSpanResult) {
    xml.group("CpuUtilization", |xml| {
        for used in &span.cpu {
            let unknown = Cpu { os_id: used.os_id, ..Cpu::default() };
            let cpu = result.host.cpus.iter().find(|cpu| cpu.os_id == used.os_id);
            let cpu = cpu.unwrap_or(&unknown);
            xml.group("CPU", |xml| {
                xml.element("Socket", cpu.socket);
                xml.element("Node", cpu.node);
                xml.element("Group", cpu.group);
                xml.element("Core", cpu.core);
                xml.element("EfficiencyClass", cpu.efficiency_class);
                xml.element("Id", used.os_id);
                write_percents(xml, used);
            });
        }
        let average = crate::diskspd::result_text::average(&span.cpu);
        xml.group("Average", |xml| write_percents(xml, &average));
    });
}

fn write_percents(xml: &mut Writer, used: &CpuUse) {
    for (name, percent) in [
        ("UsagePercent", used.user_percent + used.kernel_percent),
        ("UserPercent", used.user_percent),
        ("KernelPercent", used.kernel_percent),
        ("IdlePercent", used.idle_percent + used.steal_percent),
    ] {
        xml.element(name, format_args!("{percent:.2}"));
    }
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
}

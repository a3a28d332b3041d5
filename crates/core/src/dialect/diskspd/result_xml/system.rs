//! The host, its CPUs and their use.

use std::collections::BTreeSet;

use crate::dialect::diskspd::result_text::start_time;
use crate::dialect::diskspd::topology::{CoreNumbers, masks};
use crate::dialect::diskspd::xml::{Writer, escape};
use crate::result::{Cache, Cpu, CpuUse, Host, RunResult, SystemReport, TimeSpanResult, Tool};

/// The version of `DiskSpd` whose results these are compatible with; readers may check it.
const COMPATIBLE_VERSION: &str = "2.2.0";
const COMPATIBLE_DATE: &str = "2024/6/3";

/// The element `<System>`, with what only a report of the system alone has.
pub fn write(
    xml: &mut Writer,
    tool: &Tool,
    host: &Host,
    started_at_unix_s: i64,
    report: Option<&SystemReport>,
) {
    xml.group("System", |xml| {
        xml.element("ComputerName", &host.name);
        xml.optional("ProcessorName", report.map(|_| &host.cpu_model));
        xml.group("Tool", |xml| {
            xml.element("Version", COMPATIBLE_VERSION);
            xml.element("VersionDate", COMPATIBLE_DATE);
            let (name, version) = (escape(&tool.name), escape(&tool.version));
            xml.line(&format!("<Implementation Name=\"{name}\" Version=\"{version}\"/>"));
        });
        xml.element("RunTime", start_time(started_at_unix_s));
        let scheme = if host.power_scheme.is_empty() { "<unknown>" } else { &host.power_scheme };
        xml.line(&format!("<PowerScheme Name=\"{}\" Guid=\"\"/>", escape(scheme)));
        xml.optional("PageSize", report.map(|report| report.page_bytes));
        write_topology(xml, &host.cpus, report.map_or(&[], |report| &report.caches));
    });
}

fn write_topology(xml: &mut Writer, cpus: &[Cpu], caches: &[Cache]) {
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
        for cache in caches {
            write_cache(xml, cache, cpus);
        }
    });
}

fn write_cache(xml: &mut Writer, cache: &Cache, cpus: &[Cpu]) {
    let attributes = format!(
        "Level=\"{}\" Associativity=\"{}\" LineSize=\"{}\" CacheSize=\"{}\" Type=\"{}\"",
        cache.level,
        cache.ways,
        cache.line_bytes,
        cache.size_bytes,
        escape(&cache.kind)
    );
    xml.group_with("Cache", &attributes, |xml| {
        for (group, mask) in masks(cpus.iter().filter(|cpu| cache.os_cpus.contains(&cpu.os_id))) {
            xml.line(&format!("<Group Group=\"{group}\" Mask=\"{mask}\"/>"));
        }
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
    let numbers = CoreNumbers::new(cpus);
    for (group, core, class) in cores {
        let members = || cpus.iter().filter(|cpu| (cpu.group, cpu.core) == (group, core));
        let core = members().next().map_or(0, |cpu| numbers.of(cpu));
        for (_, mask) in masks(members()) {
            xml.line(&format!(
                "<Core Group=\"{group}\" Core=\"{core}\" Mask=\"{mask}\" \
                 EfficiencyClass=\"{class}\"/>"
            ));
        }
    }
}

/// The element `<CpuUtilization>`.
pub fn write_cpu_use(xml: &mut Writer, result: &RunResult, span: &TimeSpanResult) {
    let numbers = CoreNumbers::new(&result.host.cpus);
    xml.group("CpuUtilization", |xml| {
        for used in &span.cpu {
            let unknown = Cpu { os_id: used.os_id, ..Cpu::default() };
            let cpu = result.host.cpus.iter().find(|cpu| cpu.os_id == used.os_id);
            let cpu = cpu.unwrap_or(&unknown);
            xml.group("CPU", |xml| {
                xml.element("Socket", cpu.socket);
                xml.element("Node", cpu.node);
                xml.element("Group", cpu.group);
                xml.element("Core", numbers.of(cpu));
                xml.element("EfficiencyClass", cpu.efficiency_class);
                xml.element("Id", id(cpu, &result.host.cpus));
                write_percents(xml, used);
            });
        }
        let average = crate::dialect::diskspd::result_text::average(&span.cpu);
        xml.group("Average", |xml| write_percents(xml, &average));
    });
}

/// Within several groups a CPU is known by its index; otherwise by the kernel's number.
fn id(cpu: &Cpu, cpus: &[Cpu]) -> u32 {
    let grouped = cpus.iter().any(|other| other.group != cpus[0].group);
    if grouped { u32::from(cpu.index) } else { cpu.os_id }
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

    /// Two sockets, each a node of two fast CPUs on one core and one slow CPU.
    fn host() -> Host {
        let cpu = |os_id: u32| Cpu {
            os_id,
            group: u16::from(os_id >= 3),
            index: [0, 1, 2][os_id as usize % 3],
            node: os_id / 3,
            socket: os_id / 3,
            core: os_id / 3 * 2 + u32::from(os_id % 3 == 2),
            efficiency_class: u8::from(os_id % 3 < 2),
        };
        Host { cpus: (0..6).map(cpu).collect(), ..Host::default() }
    }

    #[test]
    fn the_topology_counts_cores_within_groups() {
        let mut xml = Writer::new(0);
        let cache = Cache {
            level: 3,
            kind: "Unified".to_owned(),
            size_bytes: 1 << 20,
            line_bytes: 64,
            ways: 16,
            os_cpus: vec![3, 4, 5],
        };
        write_topology(&mut xml, &host().cpus, &[cache]);
        let text = xml.finish();
        for line in [
            "<ProcessorTopology Heterogeneous=\"true\">",
            "<Group Group=\"1\" MaximumProcessors=\"3\" ActiveProcessors=\"3\" ActiveProcessorMask=\"0x7\"/>",
            "<Node Node=\"1\">",
            "<Socket Socket=\"0\">",
            "<Core Group=\"0\" Core=\"0\" Mask=\"0x3\" EfficiencyClass=\"1\"/>",
            "<Core Group=\"1\" Core=\"0\" Mask=\"0x3\" EfficiencyClass=\"1\"/>",
            "<Core Group=\"1\" Core=\"1\" Mask=\"0x4\" EfficiencyClass=\"0\"/>",
            "<Cache Level=\"3\" Associativity=\"16\" LineSize=\"64\" CacheSize=\"1048576\" Type=\"Unified\">",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }

    #[test]
    fn cpus_count_within_groups_where_there_are_several() {
        let cpus = host().cpus;
        assert_eq!(id(&cpus[4], &cpus), 1);
        assert_eq!(id(&cpus[2], &cpus[..3]), 2);
    }
}

//! The CPUs to which threads are pinned, and their order: a pure function of the host's topology.

use std::collections::{BTreeMap, BTreeSet};

use super::Resolver;
use crate::plan::CpuPin;
use crate::request::{CpuId, CpuOrder, EfficiencyOrder, TimeSpan};
use crate::result::{Cpu, Warning, WarningKind};

impl Resolver<'_> {
    /// The CPUs to which threads are pinned, in turn; none if they are not pinned.
    pub(super) fn pins(&mut self, span_index: usize, span: &TimeSpan) -> Vec<CpuPin> {
        if span.disable_affinity {
            return Vec::new();
        }
        let mut cpus: Vec<Cpu> = match span.cpus.as_slice() {
            [] => self.usable().collect(),
            list => list.iter().flat_map(|&wanted| self.wanted(wanted)).collect(),
        };
        // A list says its own order, unless another one is requested.
        if span.cpus.is_empty() || span.cpu_order.is_given() {
            cpus = ordered(&cpus, span.cpu_order);
        }
        self.warn_of_mixed_cores(span_index, span, &cpus);
        cpus.iter().map(pin).collect()
    }

    /// The CPUs that this process may use, by group and index.
    fn usable(&self) -> impl Iterator<Item = Cpu> {
        let facts = self.facts;
        facts.cpus.iter().filter(|cpu| facts.usable_cpus.contains(&cpu.os_id)).copied()
    }

    fn wanted(&mut self, wanted: CpuId) -> Vec<Cpu> {
        let Some(index) = wanted.index else { return self.whole_group(wanted.group) };
        let found = self.find_cpu(wanted.group, index);
        match found {
            Ok(cpu) => vec![cpu],
            Err(message) => {
                self.findings.request(message, self.cpu_list());
                Vec::new()
            }
        }
    }

    fn whole_group(&mut self, group: u16) -> Vec<Cpu> {
        let members: Vec<Cpu> = self.usable().filter(|cpu| cpu.group == group).collect();
        if members.is_empty() {
            let is_there = self.facts.cpus.iter().any(|cpu| cpu.group == group);
            let message = if is_there {
                format!("affinity assignment to group {group} not possible; {RESTRICTED}")
            } else {
                self.no_group(group)
            };
            self.findings.request(message, self.cpu_list());
        }
        members
    }

    fn no_group(&self, group: u16) -> String {
        let groups: BTreeSet<u16> = self.facts.cpus.iter().map(|cpu| cpu.group).collect();
        format!("affinity assignment to group {group}; system only has {} groups", groups.len())
    }

    fn find_cpu(&self, group: u16, index: u8) -> Result<Cpu, String> {
        let facts = self.facts;
        // An index between others that is not there belongs to a CPU that is switched off.
        let indices = facts.cpus.iter().filter(|cpu| cpu.group == group).map(|cpu| cpu.index);
        let members = indices.max().map_or(0, |last| usize::from(last) + 1);
        let found = facts.cpus.iter().find(|cpu| (cpu.group, cpu.index) == (group, index));
        let impossible = |why: &str| {
            format!("affinity assignment to group {group} cpu {index} not possible; {why}")
        };
        match found {
            Some(cpu) if facts.usable_cpus.contains(&cpu.os_id) => Ok(*cpu),
            Some(_) => Err(impossible(RESTRICTED)),
            None if members == 0 => Err(self.no_group(group)),
            None if usize::from(index) < members => Err(impossible("cpu is not active")),
            None => Err(impossible(&format!("group has a max of {members} cpus"))),
        }
    }

    fn cpu_list(&self) -> String {
        let mut groups: BTreeMap<u16, Vec<String>> = BTreeMap::new();
        for cpu in self.usable() {
            groups.entry(cpu.group).or_default().push(cpu.index.to_string());
        }
        let lists =
            groups.iter().map(|(group, list)| format!("group {group} cpu {}", list.join(",")));
        format!("choose from {}", lists.collect::<Vec<_>>().join("; "))
    }

    /// Threads on cores of different kinds measure different things.
    fn warn_of_mixed_cores(&mut self, span_index: usize, span: &TimeSpan, cpus: &[Cpu]) {
        let threads = match span.thread_count {
            0 => span.targets.iter().map(|target| target.threads as usize).sum(),
            count => count as usize,
        };
        let used = &cpus[..cpus.len().min(threads)];
        let classes: BTreeSet<u8> = used.iter().map(|cpu| cpu.efficiency_class).collect();
        let (Some(slowest), Some(fastest)) = (classes.first(), classes.last()) else { return };
        if slowest == fastest {
            return;
        }
        let slow = used.iter().filter(|cpu| cpu.efficiency_class < *fastest);
        let slow = slow.map(|cpu| cpu.os_id.to_string()).collect::<Vec<_>>().join(", ");
        self.findings.warnings.push(Warning {
            kind: WarningKind::MixedCores,
            target: None,
            time_span: u32::try_from(span_index).ok(),
            evidence: format!("Threads run on fast and on slow cores; CPU {slow} are slower."),
            remedy: "Use fewer threads, or name the CPUs with -a.".to_owned(),
        });
    }
}

/// Why a CPU that is there cannot be used.
const RESTRICTED: &str =
    "this process is restricted to other cpus, by its control group (cpuset) or by taskset";

fn pin(cpu: &Cpu) -> CpuPin {
    CpuPin { os_id: cpu.os_id as usize, group: cpu.group, index: cpu.index }
}

/// The CPUs in the order in which threads get them; those that nothing tells apart keep theirs.
///
/// The order is that of `DiskSpd` 2.3: in core-first order the n-th CPU of a core that occurs belongs
/// to the n-th pass over the cores, and kinds of cores are ordered within passes or before them.
fn ordered(cpus: &[Cpu], order: CpuOrder) -> Vec<Cpu> {
    let mut seen: BTreeMap<u32, u32> = BTreeMap::new();
    let mut pass_of = |cpu: &Cpu| {
        let count = seen.entry(cpu.core).or_insert(0);
        *count += 1;
        if order.core_first { *count } else { 0 }
    };
    let mut keyed: Vec<_> = cpus.iter().map(|cpu| (key(cpu, pass_of(cpu), order), *cpu)).collect();
    keyed.sort_by_key(|(key, _)| *key);
    keyed.into_iter().map(|(_, cpu)| cpu).collect()
}

fn key(cpu: &Cpu, pass: u32, order: CpuOrder) -> [u32; 3] {
    let class = u32::from(cpu.efficiency_class);
    let group = u32::from(cpu.group);
    let descending = u32::from(u8::MAX) - class;
    let kinds = match order.efficiency.unwrap_or(EfficiencyOrder::FastFirst) {
        EfficiencyOrder::Unordered => [pass, 0],
        EfficiencyOrder::FastFirst => [pass, descending],
        EfficiencyOrder::SlowFirst => [pass, class],
        EfficiencyOrder::FillFast => [descending, pass],
        EfficiencyOrder::FillSlow => [class, pass],
    };
    if order.span_groups { [kinds[0], kinds[1], group] } else { [group, kinds[0], kinds[1]] }
}

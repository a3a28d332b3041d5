//! The tables: CPU use, effective distributions, and I/O in total, reads and writes.

use std::collections::BTreeSet;

use crate::dialect::diskspd::number::show_size;
use crate::dialect::diskspd::profile_text::share_line;
use crate::dialect::diskspd::topology::CoreNumbers;
use crate::request::{Distribution, Target, TimeSpan};
use crate::result::totals::{Kind, Sum, of_span, of_target};
use crate::result::{
    Cpu, CpuUse, EffectiveShare, Outcome, RunResult, ThreadResult, TimeSpanResult,
};

/// A column that shows only where the host has more than one of it.
struct Place {
    title: &'static str,
    of: fn(&Cpu) -> u32,
}

const PLACES: [Place; 5] = [
    Place { title: "Socket", of: |cpu| cpu.socket },
    Place { title: "Node", of: |cpu| cpu.node },
    Place { title: "Group", of: |cpu| cpu.group.into() },
    Place { title: CORE, of: |cpu| cpu.core },
    Place { title: CLASS, of: |cpu| cpu.efficiency_class.into() },
];

/// Cores count within their group.
const CORE: &str = "Core";
/// The fastest kind of cores is marked by a P.
const CLASS: &str = "Class";

/// Which places show: cores only where a core carries more than one CPU.
fn shown_places(cpus: &[Cpu]) -> Vec<&'static Place> {
    let distinct = |place: &Place| cpus.iter().map(place.of).collect::<BTreeSet<_>>().len();
    let shows = |place: &&Place| match place.title {
        CORE => distinct(place) < cpus.len(),
        _ => distinct(place) > 1,
    };
    PLACES.iter().filter(shows).collect()
}

/// The table of CPU use.
pub fn write_cpus(text: &mut String, result: &RunResult, span: &TimeSpanResult) {
    let cpus = &result.host.cpus;
    let places = shown_places(cpus);
    let numbers = CoreNumbers::new(cpus);
    let fastest = cpus.iter().map(|cpu| u32::from(cpu.efficiency_class)).max().unwrap_or(0);
    let heads =
        places.iter().map(|place| format!("{} | ", place.title)).collect::<Vec<_>>().concat();
    let title = format!("{heads}CPU |  Usage |  User  | Kernel |  Idle");
    let rule = "-".repeat(title.len() + 2);
    text.push_str(&format!("{title}\n{rule}\n"));
    for used in &span.cpu {
        let cpu = cpus.iter().find(|cpu| cpu.os_id == used.os_id);
        for place in &places {
            let value = cpu.map_or(0, |cpu| match place.title {
                CORE => numbers.of(cpu),
                _ => (place.of)(cpu),
            });
            let mark = match place.title {
                CLASS if value == fastest => "P",
                CLASS => " ",
                _ => "",
            };
            let width = place.title.len() + 1 - mark.len();
            text.push_str(&format!("{value:>width$}{mark}| "));
        }
        let number = cpu.map_or(used.os_id, |cpu| shown_number(cpu, &places));
        text.push_str(&format!("{number:4}|{}\n", percents(used)));
    }
    let blank: String = places.iter().map(|place| " ".repeat(place.title.len() + 3)).collect();
    text.push_str(&format!("{rule}\n{blank}avg.|{}\n\n", percents(&average(&span.cpu))));
}

/// Within groups a CPU is known by its index; otherwise by the kernel's number.
fn shown_number(cpu: &Cpu, places: &[&Place]) -> u32 {
    let grouped = places.iter().any(|place| place.title == "Group");
    if grouped { u32::from(cpu.index) } else { cpu.os_id }
}

/// Usage, user, kernel and idle; time that the hypervisor took away counts as idle here, because the
/// columns of `DiskSpd` add up to 100.
fn percents(used: &CpuUse) -> String {
    let usage = used.user_percent + used.kernel_percent;
    let idle = used.idle_percent + used.steal_percent;
    format!("{usage:7.2}%|{:7.2}%|{:7.2}%|{idle:7.2}%", used.user_percent, used.kernel_percent)
}

/// The mean over all CPUs.
pub fn average(cpus: &[CpuUse]) -> CpuUse {
    let mean = |part: fn(&CpuUse) -> f64| {
        let sum: f64 = cpus.iter().map(part).sum();
        if cpus.is_empty() { 0.0 } else { sum / cpus.len() as f64 }
    };
    CpuUse {
        os_id: 0,
        user_percent: mean(|cpu| cpu.user_percent),
        kernel_percent: mean(|cpu| cpu.kernel_percent),
        idle_percent: mean(|cpu| cpu.idle_percent),
        steal_percent: mean(|cpu| cpu.steal_percent),
    }
}

/// Where random I/O fell, for targets that have a distribution; equal ones are reported once.
pub fn write_distributions(text: &mut String, profile: Option<&TimeSpan>, span: &TimeSpanResult) {
    let mut told: Vec<&[EffectiveShare]> = Vec::new();
    for (index, target) in span.targets.iter().enumerate() {
        let shares = target.distribution.as_slice();
        if shares.is_empty() || told.contains(&shares) {
            continue;
        }
        if told.is_empty() {
            text.push_str("Effective IO Distributions\n--------------------------\n");
        }
        told.push(shares);
        let given = profile.and_then(|profile| profile.targets.get(index));
        let is_rescaled = given.is_some_and(|given| is_rescaled(given, shares));
        write_same(text, span, shares, is_rescaled);
    }
    if !told.is_empty() {
        text.push('\n');
    }
}

/// Whether the target was too small for some of the ranges, whose share the others took.
fn is_rescaled(target: &Target, shares: &[EffectiveShare]) -> bool {
    let Some(Distribution::Absolute(ranges)) = &target.distribution else { return false };
    ranges.iter().filter(|range| range.io_percent > 0).count() > shares.len()
}

fn write_same(
    text: &mut String,
    span: &TimeSpanResult,
    shares: &[EffectiveShare],
    is_rescaled: bool,
) {
    for (index, target) in span.targets.iter().enumerate() {
        if target.distribution != shares {
            continue;
        }
        let uses =
            |thread: &&ThreadResult| thread.targets.iter().any(|row| row.target as usize == index);
        let threads: Vec<u32> =
            span.threads.iter().filter(uses).map(|thread| thread.index).collect();
        text.push_str(&format!("target: {} [thread:{}]\n", target.path, runs(&threads)));
    }
    for share in shares.iter().filter(|share| share.io_percent > 0.0) {
        let end_bytes = Some(share.end_bytes);
        let line = share_line(share.io_percent, is_rescaled, share.start_bytes, end_bytes);
        text.push_str(&format!("{line}\n"));
    }
}

/// Threads, each behind a blank; of three or more in a row, the first and the last.
fn runs(threads: &[u32]) -> String {
    let mut shown = String::new();
    for run in threads.chunk_by(|one, next| one + 1 == *next) {
        match run {
            [first, _, .., last] => shown.push_str(&format!(" {first} - {last}")),
            _ => run.iter().for_each(|one| shown.push_str(&format!(" {one}"))),
        }
    }
    shown
}

/// The tables `Total IO`, `Read IO` and `Write IO`.
pub fn write_io(text: &mut String, span: &TimeSpanResult, latency: bool, series: bool) {
    let is_nothing = span.outcome == Outcome::NoIo;
    let columns = Columns { latency, series, is_nothing, span };
    let tables = [("Total", Kind::Total), ("Read", Kind::Read), ("Write", Kind::Write)];
    let tables = tables.map(|(name, kind)| format!("{name} IO\n{}", columns.table(kind)));
    text.push_str(&tables.join("\n"));
}

/// The columns of the I/O tables.
struct Columns<'a> {
    latency: bool,
    series: bool,
    /// Nothing completed: then there is no mean latency; otherwise it is 0 where there were none of a kind.
    is_nothing: bool,
    span: &'a TimeSpanResult,
}

impl Columns<'_> {
    fn table(&self, kind: Kind) -> String {
        let mut title =
            String::from("thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |");
        for (shows, column) in [
            (self.latency, "  AvgLat  |"),
            (self.series, " IopsStdDev |"),
            (self.latency, " LatStdDev |"),
        ] {
            if shows {
                title.push_str(column);
            }
        }
        title.push_str("  file");
        let rule = "-".repeat(title.len() + 5);
        let mut table = format!("{title}\n{rule}\n");
        for thread in &self.span.threads {
            for target in &thread.targets {
                let sum = of_target(target, kind);
                let facts = &self.span.targets[target.target as usize];
                let size = show_size(facts.size_bytes);
                let row = self.row(&sum);
                table.push_str(&format!("{:6} | {row} | {} ({size})\n", thread.index, facts.path));
            }
        }
        let total = of_span(self.span, kind);
        table.push_str(&format!("{rule}\ntotal:   {}\n", self.row(&total)));
        table
    }

    /// The figures between the name of the row and the file.
    fn row(&self, sum: &Sum) -> String {
        let TimeSpanResult { measured_ns, interval_ns, .. } = *self.span;
        let (mib, iops) = (sum.mib_per_s(measured_ns), sum.iops(measured_ns));
        let mut row = format!("{:15} | {:12} | {mib:10.2} | {iops:10.2}", sum.bytes, sum.ios);
        if self.latency && self.is_nothing && sum.latency.count() == 0 {
            row.push_str(" |      N/A");
        } else if self.latency {
            row.push_str(&format!(" | {:8.3}", sum.latency.mean_ns() / 1e6));
        }
        if self.series {
            row.push_str(&format!(" | {:10.2}", sum.iops_stddev(interval_ns, measured_ns)));
        }
        if self.latency && sum.latency.count() > 0 {
            row.push_str(&format!(" | {:9.3}", sum.latency.stddev_ns() / 1e6));
        } else if self.latency {
            row.push_str(" |       N/A");
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{DistributionRange, Request};
    use crate::result::Host;
    use crate::result::assemble::{Provenance, assemble};

    fn table(cpus: Vec<Cpu>) -> Vec<String> {
        let used = |cpu: &Cpu| CpuUse {
            os_id: cpu.os_id,
            user_percent: 25.0,
            kernel_percent: 25.0,
            idle_percent: 50.0,
            steal_percent: 0.0,
        };
        let cpu = cpus.iter().map(used).collect();
        let host = Host { cpus, ..Host::default() };
        let command_line = "diskspd".to_owned();
        let provenance = Provenance { command_line, started_at_unix_s: 0, host };
        let result = assemble(provenance, &Request::default(), Vec::new());
        let span = TimeSpanResult {
            outcome: crate::result::Outcome::Complete,
            began_unix_ns: None,
            measured_ns: 1,
            thread_count: 1,
            request_count: 0,
            interval_ns: 0,
            last_interval_ns: 0,
            cost: None,
            kernel_events: None,
            outstanding: Vec::new(),
            beneath: None,
            network: Vec::new(),
            stop: None,
            cpu,
            targets: Vec::new(),
            threads: Vec::new(),
        };
        let mut text = String::new();
        write_cpus(&mut text, &result, &span);
        text.lines().map(str::to_owned).collect()
    }

    /// The columns and their widths are those of DiskSpd: seven for the socket, five for node, core and
    /// class, six for the group, each followed by a bar.
    #[test]
    fn places_show_where_a_host_has_several_of_them() {
        let cpu = |os_id: u32| Cpu {
            os_id,
            group: u16::from(os_id >= 4),
            index: [0, 1, 2, 3][os_id as usize % 4],
            node: os_id / 4,
            socket: os_id / 4,
            core: os_id / 2,
            efficiency_class: u8::from(os_id % 4 < 2),
        };
        let lines = table((0..8).map(cpu).collect());
        let title = "Socket | Node | Group | Core | Class | CPU |  Usage |  User  | Kernel |  Idle";
        assert_eq!(lines[0], title);
        assert_eq!(lines[1].len(), title.len() + 2);
        let row = "      0|     0|      0|     0|     1P|    0|  50.00%|  25.00%|  25.00%|  50.00%";
        assert_eq!(lines[2], row);
        let row = "      1|     1|      1|     1|     0 |    3|  50.00%|  25.00%|  25.00%|  50.00%";
        assert_eq!(lines[9], row);
    }

    #[test]
    fn a_plain_host_shows_its_cpus_alone() {
        let lines =
            table((0..2).map(|os_id| Cpu { os_id, core: os_id, ..Cpu::default() }).collect());
        assert_eq!(lines[0], "CPU |  Usage |  User  | Kernel |  Idle");
        assert_eq!(lines[2], "   0|  50.00%|  25.00%|  25.00%|  50.00%");
    }

    #[test]
    fn threads_in_a_row_are_shown_as_diskspd_shows_them() {
        assert_eq!(runs(&[0]), " 0");
        assert_eq!(runs(&[0, 1]), " 0 1");
        assert_eq!(runs(&[0, 1, 2, 3]), " 0 - 3");
        assert_eq!(runs(&[1, 3, 4, 6, 7, 8]), " 1 3 4 6 - 8");
    }

    #[test]
    fn shares_are_rescaled_where_ranges_with_io_lie_beyond_the_target() {
        let share = EffectiveShare { io_percent: 50.0, start_bytes: 0, end_bytes: 1 };
        let shares = |count| vec![share; count];
        let given = |list: &[(u32, u64)]| {
            let range =
                |&(io_percent, length): &(u32, u64)| DistributionRange { io_percent, length };
            let ranges = list.iter().map(range).collect();
            Target { distribution: Some(Distribution::Absolute(ranges)), ..Target::default() }
        };
        assert!(is_rescaled(&given(&[(40, 1), (40, 1), (20, 9)]), &shares(2)));
        assert!(!is_rescaled(&given(&[(50, 1), (0, 1), (50, 0)]), &shares(2)));
    }
}

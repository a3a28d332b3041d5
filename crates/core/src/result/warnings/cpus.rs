//! CPUs that went or came during a time span, and threads that did not stay on theirs.

use super::super::{Warning, WarningKind};
use super::number;
use super::words::{list, ranges};
use crate::measure::{Away, Migrated, SpanMeasurements};
use crate::plan::SpanPlan;

/// More threads than this are counted instead of named.
const NAMED: usize = 8;

/// One warning for each CPU that threads were pinned to and did not stay on, and one for the CPUs that were
/// not online during the whole measured time.
#[must_use]
pub fn cpus(span: &SpanPlan, measured: &SpanMeasurements) -> Vec<Warning> {
    let mut warnings = migrated(span, measured);
    warnings.extend(away(span, measured));
    warnings
}

/// Threads of one CPU that ended up in the same way.
struct Group<'a> {
    os_id: usize,
    migrated: &'a Migrated,
    threads: Vec<String>,
}

fn migrated(span: &SpanPlan, measured: &SpanMeasurements) -> Vec<Warning> {
    let mut groups: Vec<Group> = Vec::new();
    for thread in &measured.threads {
        let (Some(pin), Some(migrated)) = (span.threads[thread.index].cpu, &thread.migrated) else {
            continue;
        };
        let os_id = pin.os_id;
        let index = thread.index.to_string();
        match groups.iter_mut().find(|one| one.os_id == os_id && one.migrated == migrated) {
            Some(group) => group.threads.push(index),
            None => groups.push(Group { os_id, migrated, threads: vec![index] }),
        }
    }
    groups.iter().map(|group| group.warning(span)).collect()
}

impl Group<'_> {
    fn warning(&self, span: &SpanPlan) -> Warning {
        let os_id = self.os_id;
        let (noun, end) =
            if self.threads.len() == 1 { ("thread", "its end") } else { ("threads", "their end") };
        let threads = list(&self.threads, NAMED);
        let allowed = named(&self.migrated.allowed_os_cpus);
        let (why, remedy) = if self.migrated.was_offline {
            let why = "the CPU was taken offline, and the kernel moved what ran there".to_owned();
            let remedy = format!(
                "keep CPU {os_id} online (/sys/devices/system/cpu/cpu{os_id}/online), or choose other CPUs \
                 (-a), and run it again"
            );
            (why, remedy)
        } else {
            let why = "something outside changed where it may run (taskset, a control group)";
            let remedy = "keep others from moving the threads, or leave them to the scheduler (-n), \
                          and run it again";
            (why.to_owned(), remedy.to_owned())
        };
        let evidence = format!(
            "{noun} {threads} had been pinned to CPU {os_id}, and could run on {allowed} at {end}: {why}"
        );
        warning(span, WarningKind::AffinityChanged, evidence, remedy)
    }
}

fn away(span: &SpanPlan, measured: &SpanMeasurements) -> Option<Warning> {
    let of = |when: Away| {
        let away = measured.away_cpus.iter().filter(move |cpu| cpu.when == when);
        let mut ids: Vec<u32> = away.filter_map(|cpu| cpu.os_id.try_into().ok()).collect();
        ids.sort_unstable();
        ids
    };
    let told = [
        (Away::AtTheBeginning, "offline when the measured time began; the CPU use leaves {it} out"),
        (Away::AtTheEnd, "offline when the measured time ended; the CPU use leaves {it} out"),
        (Away::Between, "offline for a part of the measured time; the CPU use tells of the rest"),
    ];
    let sentence = |(when, words): (Away, &str)| {
        let ids = of(when);
        let (be, it) = if ids.len() == 1 { ("was", "it") } else { ("were", "them") };
        let words = words.replace("{it}", it);
        (!ids.is_empty()).then(|| format!("{} {be} {words}", named(&ids)))
    };
    let sentences: Vec<String> = told.into_iter().filter_map(sentence).collect();
    if sentences.is_empty() {
        return None;
    }
    let remedy = "keep the CPUs of the host as they are (/sys/devices/system/cpu/cpu*/online) until \
                  the run has ended, and run it again";
    Some(warning(span, WarningKind::CpuOffline, sentences.join(". "), remedy.to_owned()))
}

fn warning(span: &SpanPlan, kind: WarningKind, evidence: String, remedy: String) -> Warning {
    Warning { kind, target: None, time_span: Some(number(span.index)), evidence, remedy }
}

fn named(os_ids: &[u32]) -> String {
    let noun = if os_ids.len() == 1 { "CPU" } else { "CPUs" };
    format!("{noun} {}", ranges(os_ids))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::fixture::span;
    use crate::measure::{AwayCpu, Ending};

    #[test]
    fn cpus_that_were_away_are_told_by_when_they_were() {
        let cpu = |os_id, when| AwayCpu { os_id, when };
        let mut measured = SpanMeasurements {
            measured_ns: 1,
            away_cpus: vec![cpu(5, Away::AtTheEnd), cpu(9, Away::Between), cpu(4, Away::AtTheEnd)],
            ..SpanMeasurements::nothing(Ending::Complete)
        };
        let told = cpus(&span(Vec::new()), &measured);
        let evidence = "CPUs 4-5 were offline when the measured time ended; the CPU use leaves them out. \
                        CPU 9 was offline for a part of the measured time; the CPU use tells of the rest";
        assert_eq!(told.iter().map(|one| &one.evidence).collect::<Vec<_>>(), [evidence]);
        assert_eq!(told[0].kind, WarningKind::CpuOffline);
        measured.away_cpus.clear();
        assert!(cpus(&span(Vec::new()), &measured).is_empty());
    }
}

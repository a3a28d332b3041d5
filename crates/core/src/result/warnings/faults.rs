//! What went wrong while measuring: failed and short I/O, a lesser backend, an early end.

use super::super::{Outcome, Warning, WarningKind};
use super::words::{answering, count, grouped, list};
use super::{Counts, Seen};
use crate::errors::Kind;
use crate::plan::TargetPlan;
use crate::storage::Answering;
use crate::units::NANOS_PER_SEC;

/// Doubts about one time span.
pub(super) fn warnings(seen: &Seen) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = interrupted(seen).into_iter().collect();
    for (index, target) in seen.span.targets.iter().enumerate() {
        warnings.extend(io_errors(seen, index, target));
        warnings.extend(short_ios(seen, index, target));
    }
    warnings.extend(fallbacks(seen));
    warnings
}

fn interrupted(seen: &Seen) -> Option<Warning> {
    if seen.measured.outcome != Outcome::Interrupted {
        return None;
    }
    let never = seen.measured.outstanding.len() as u64;
    if seen.measured.measured_ns >= seen.span.measured_ns && never > 0 {
        let evidence = format!(
            "the measured time was over, and the run was ended without {} that had still not come back",
            count(never, "I/O")
        );
        let remedy = "run it again once the target answers, before comparing it with other runs";
        return Some(seen.warning(WarningKind::Interrupted, evidence, remedy.to_owned()));
    }
    let seconds = |ns: u64| ns as f64 / NANOS_PER_SEC as f64;
    let evidence = format!(
        "the time span was ended after {:.2} s of {:.2} s of measured time",
        seconds(seen.measured.measured_ns),
        seconds(seen.span.measured_ns),
    );
    let remedy = "run it to its end before comparing it with other runs";
    Some(seen.warning(WarningKind::Interrupted, evidence, remedy.to_owned()))
}

fn io_errors(seen: &Seen, index: usize, target: &TargetPlan) -> Option<Warning> {
    let counts = seen.counts(index);
    let failed = failed_ios(&counts);
    if failed.is_empty() {
        return None;
    }
    let full = full_ios(seen, index);
    let evidence = format!(
        "{} failed{}; rates and latencies are of the others only",
        list(&failed, failed.len()),
        if full == 0 {
            String::new()
        } else {
            format!(", {} of them as there was no room left (ENOSPC)", grouped(full))
        },
    );
    let who = answering([target]);
    let remedy = if full == 0 {
        let it = if who == Answering::Servers { "what that serves" } else { "it" };
        format!("look for the target's errors in {}, and repair or replace {it}", who.log())
    } else {
        "make room where it lies (a full file system or a thin volume), write the whole range once (-w100 -Zr), and run it again"
            .to_owned()
    };
    let warning = seen.warning(WarningKind::IoErrors, evidence, remedy);
    Some(seen.about(target, warning))
}

/// How many of each kind failed, in words: reads and writes together, then syncs and trims.
fn failed_ios(counts: &Counts) -> Vec<String> {
    let part = |errors: u64, ios: u64, what: &str| {
        format!("{} of {} {what}", grouped(errors), grouped(errors + ios))
    };
    let mut found = Vec::new();
    if counts.read_errors + counts.write_errors > 0 {
        let both = [
            (counts.read_errors, counts.read_ios, "reads"),
            (counts.write_errors, counts.write_ios, "writes"),
        ];
        // Of what the load did not do, none failed.
        let done = both.into_iter().filter(|&(errors, ios, _)| errors + ios > 0);
        let words: Vec<String> = done.map(|(errors, ios, what)| part(errors, ios, what)).collect();
        found.push(words.join(" and "));
    }
    if counts.sync_errors > 0 {
        found.push(part(counts.sync_errors, counts.sync_ios, "syncs"));
    }
    if counts.trim_errors > 0 {
        found.push(part(counts.trim_errors, counts.trim_ios, "trims"));
    }
    found
}

/// I/Os of the measured time that found no room where a target lies.
pub(super) fn full_ios(seen: &Seen, index: usize) -> u64 {
    let faults = seen.uses(index).flat_map(|(_, used)| &used.faults);
    faults.filter(|one| one.error == Some(Kind::NoSpace)).map(|one| one.ios).sum()
}

fn short_ios(seen: &Seen, index: usize, target: &TargetPlan) -> Option<Warning> {
    let counts = seen.counts(index);
    if counts.short_ios == 0 {
        return None;
    }
    let evidence = format!(
        "{} of {} I/Os moved fewer than the {} bytes that were requested, and are not counted among the others",
        grouped(counts.short_ios),
        grouped(counts.read_ios + counts.write_ios + counts.short_ios),
        grouped(target.block_bytes.into()),
    );
    let remedy = format!(
        "check that the target still has its {} bytes and that nobody else changes it",
        grouped(target.size_bytes),
    );
    let warning = seen.warning(WarningKind::ShortIo, evidence, remedy);
    Some(seen.about(target, warning))
}

/// One warning for each different reason why threads did without a better backend.
fn fallbacks(seen: &Seen) -> Vec<Warning> {
    let mut reasons: Vec<(&str, &str, usize)> = Vec::new();
    for thread in &seen.measured.threads {
        let Some(reason) = thread.backend.fallback.as_deref() else { continue };
        let name = thread.backend.name.as_str();
        match reasons.iter_mut().find(|found| (found.0, found.1) == (name, reason)) {
            Some(found) => found.2 += 1,
            None => reasons.push((name, reason, 1)),
        }
    }
    let warn = |(name, reason, threads): (&str, &str, usize)| {
        let evidence = format!("{} used {name}: {reason}", count(threads as u64, "thread"));
        let remedy = format!("remove that obstacle, or compare with other runs on {name} only");
        seen.warning(WarningKind::BackendFallback, evidence, remedy)
    };
    reasons.into_iter().map(warn).collect()
}

//! Reads of blocks that the same run gives back.

use super::words::count;
use super::{Seen, Warning, WarningKind};

/// A warning for each target that was read while blocks of it were given back.
pub(super) fn warnings(seen: &Seen) -> Vec<Warning> {
    let warning = |(index, target): (usize, &crate::plan::TargetPlan)| {
        let trims: u64 =
            seen.uses(index).filter_map(|(_, used)| used.trim.as_ref()).map(|trim| trim.ios).sum();
        let reads = seen.counts(index).read_ios;
        if trims == 0 || reads == 0 {
            return None;
        }
        let evidence = format!(
            "{} gave blocks back while {} went on, and a read of a block that was given back is \
             answered without touching the device",
            count(trims, "trim"),
            count(reads, "read"),
        );
        let remedy = "Give trims a range of their own (--write-pattern with range=), or read another \
                      target.";
        let warning = seen.warning(WarningKind::UnwrittenExtents, evidence, remedy.to_owned());
        let apart = target.mix.as_ref().is_some_and(|mix| {
            let (read, write) = (&mix.read.offsets, &mix.write.offsets);
            read.end_bytes <= write.base_bytes || write.end_bytes <= read.base_bytes
        });
        (!apart).then(|| seen.about(target, warning))
    };
    seen.real_targets().filter_map(warning).collect()
}

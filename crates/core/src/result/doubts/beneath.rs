//! Figures that no device made, by what the layers beneath the targets counted.

use super::super::{AnsweredBy, TargetOrigin, Warning, WarningKind};
use super::Seen;
use super::words::either;

/// Doubts about the origin of each target's figures.
pub(super) fn doubts(seen: &Seen) -> Vec<Warning> {
    let Some(beneath) = &seen.measured.beneath else { return Vec::new() };
    beneath.targets.iter().filter_map(|origin| doubt(seen, origin)).collect()
}

fn doubt(seen: &Seen, origin: &TargetOrigin) -> Option<Warning> {
    let target = seen.span.targets.get(origin.target as usize)?;
    let asked = origin.asked;
    if asked.read_ios + asked.write_ios == 0 {
        return None;
    }
    let (kind, remedy) = match origin.answered_by {
        AnsweredBy::Device | AnsweredBy::NotCounted => return None,
        AnsweredBy::Unseen => (
            WarningKind::DeviceUnseen,
            "read the figures as those of the file system and of whoever serves it; measure where it is \
             served to know its device"
                .to_owned(),
        ),
        AnsweredBy::Nothing => (
            WarningKind::NotTheDevice,
            "read the figures as the cost of this tool; leave --engine=null out to measure storage"
                .to_owned(),
        ),
        AnsweredBy::Memory => (
            WarningKind::NotTheDevice,
            "read the figures as those of memory and of the kernel, or choose a target on a disk".to_owned(),
        ),
        AnsweredBy::PartlyDevice | AnsweredBy::AboveDevice => {
            (WarningKind::NotTheDevice, reach(seen, origin))
        }
    };
    Some(seen.about(target, seen.warning(kind, origin.sentence.clone(), remedy)))
}

/// What lets I/Os reach the device, as far as it is not done already.
fn reach(seen: &Seen, origin: &TargetOrigin) -> String {
    let target = &seen.span.targets[origin.target as usize];
    let layers = seen.measured.beneath.iter().flat_map(|beneath| &beneath.layers);
    let mut remedies = Vec::new();
    if target.open.mapped || !target.open.direct {
        remedies.push("bypass the page cache (-Su)".to_owned());
    }
    if layers.into_iter().any(|layer| layer.about.ends_with("through the page cache")) {
        remedies.push("attach the loop device with losetup --direct-io=on".to_owned());
    }
    if remedies.is_empty() {
        remedies.push("write the whole range once with random data (-w100 -Zr)".to_owned());
        remedies.push("read the figures as those of the layers above the device".to_owned());
    }
    either(&remedies)
}

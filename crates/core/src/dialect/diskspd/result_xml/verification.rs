//! What verification found, in an element that `DiskSpd`'s readers pass over.

use crate::dialect::diskspd::xml::{Writer, escape};
use crate::result::{Verification, VerificationFault, VerifiedTarget};

/// `<Verification>`.
pub fn write(xml: &mut Writer, verification: &Verification) {
    let journal = verification.journal.as_deref().unwrap_or_default();
    let journal = format!("Journal=\"{}\"", escape(journal));
    xml.group_with("Verification", &journal, |xml| {
        verification.targets.iter().for_each(|target| write_target(xml, target));
        verification.first_faults.iter().for_each(|fault| write_fault(xml, fault));
    });
}

fn write_target(xml: &mut Writer, target: &VerifiedTarget) {
    xml.group("VerifiedTarget", |xml| {
        xml.element("Path", &target.path);
        xml.element("BlockSize", target.block_bytes);
        for (name, blocks) in [
            ("VerifiedBlocks", target.verified_blocks),
            ("UnverifiableBlocks", target.unverifiable_blocks),
            ("CorruptBlocks", target.corrupt_blocks),
            ("MisdirectedBlocks", target.misdirected_blocks),
            ("StaleBlocks", target.stale_blocks),
            ("TornBlocks", target.torn_blocks),
            ("NewerBlocks", target.newer_blocks),
            ("InFlightBlocks", target.in_flight_blocks),
        ] {
            xml.element(name, blocks);
        }
        let damaged = target.journal_damaged_words;
        xml.optional("JournalDamagedWords", (damaged > 0).then_some(damaged));
    });
}

fn write_fault(xml: &mut Writer, fault: &VerificationFault) {
    xml.group_with("VerificationFault", &format!("Kind=\"{}\"", fault.kind.name()), |xml| {
        xml.element("Path", &fault.path);
        xml.element("Offset", fault.offset_bytes);
        xml.element("SectorOffset", fault.sector_offset_bytes);
        xml.element("Expected", &fault.expected);
        xml.element("Found", &fault.found);
    });
}

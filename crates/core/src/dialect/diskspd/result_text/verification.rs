//! What verification found.

use crate::dialect::diskspd::number::show_size;
use crate::result::{Verification, VerifiedTarget};

/// The section `Verification:`, with one row per target, and the first faults.
pub fn write(text: &mut String, verification: &Verification) {
    text.push_str("\nVerification: blocks, counted at each read\n");
    if let Some(journal) = &verification.journal {
        text.push_str(&format!("journal: {journal}\n"));
    }
    let heads = ["verified", "unverifiable", "corrupt", "misdirected", "stale", "torn", "newer"];
    let heads = heads.map(|head| format!("{head:>12}")).join(" |");
    text.push_str(&format!("{heads} |      block | target\n{}\n", "-".repeat(117)));
    for target in &verification.targets {
        write_target(text, target);
    }
    if verification.journal_lacks_checks {
        text.push_str(
            "the journal is of version 1, without checks: damage to it would show as faults of the target\n",
        );
    }
    if verification.damaged_words() > 0 {
        text.push_str(
            "the JOURNAL is damaged, not the target: what it says of these blocks is not believed; keep a copy of it on \
             another device, and verify by what is left\n",
        );
    }
    if verification.faulty_blocks() == 0 {
        text.push_str("no fault was found\n");
        return;
    }
    text.push_str("\nThe first faults:\n");
    for fault in &verification.first_faults {
        text.push_str(&format!(
            "- {} block of '{}' at offset {}, seen in the sector at {}: expected {}; found {}\n",
            fault.kind.name(),
            fault.path,
            fault.offset_bytes,
            fault.sector_offset_bytes,
            fault.expected,
            fault.found
        ));
    }
}

fn write_target(text: &mut String, target: &VerifiedTarget) {
    for count in [target.verified_blocks, target.unverifiable_blocks] {
        text.push_str(&format!("{count:12} |"));
    }
    for (_, count) in target.faults() {
        text.push_str(&format!("{count:12} |"));
    }
    let block = show_size(u64::from(target.block_bytes));
    text.push_str(&format!(" {block:>10} | {}\n", target.path));
    if target.in_flight_blocks > 0 {
        text.push_str(&format!(
            "{:12} | of these had writes in flight at the end, or writes that failed: the data before and after \
             them are right\n",
            target.in_flight_blocks
        ));
    }
    if target.journal_damaged_words > 0 {
        text.push_str(&format!(
            "{:12} | words of the journal are damaged: their blocks count as unverifiable\n",
            target.journal_damaged_words
        ));
    }
}

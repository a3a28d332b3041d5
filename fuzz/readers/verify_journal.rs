//! Journals: nothing that stands in such a file makes its reader panic or take memory without bounds.
//!
//! The first byte chooses: the rest is the whole file, or the JSON of a head which gets a checksum that fits
//! and as many words as it asks for, so that the fuzzer reaches what stands behind both checks.

use std::io::Write;

use fathom_core::verify::journal::{Head, Journal};

const LENGTH_MAX: u64 = 1 << 24;

fn with_head(json: &[u8]) -> Vec<u8> {
    let length = u32::try_from(json.len()).expect("inputs are small");
    let mut file = b"FathomVJ".to_vec();
    for word in [1, 2, length, crc32c::crc32c(json)] {
        file.extend(word.to_ne_bytes());
    }
    file.extend(json);
    file
}

/// Reads one input.
pub fn one(data: &[u8]) {
    let Some((&kind, rest)) = data.split_first() else { return };
    let content = if kind & 1 == 0 { rest.to_vec() } else { with_head(rest) };
    let mut file = tempfile::NamedTempFile::new_in("/dev/shm").expect("a temporary file");
    file.write_all(&content).expect("written");
    let refusal = match Journal::open(file.path()) {
        Ok(journal) => return look(&journal),
        Err(refusal) => refusal.to_string(),
    };
    // The reader tells how long it should be.
    let length =
        refusal.split(" bytes where ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
    if let Some(length) = length.filter(|&length: &u64| length <= LENGTH_MAX) {
        file.as_file().set_len(length).expect("lengthened");
        if let Ok(journal) = Journal::open(file.path()) {
            look(&journal);
        }
    }
}

fn look(journal: &Journal) {
    let Head { targets, .. } = &journal.head;
    for (index, target) in targets.iter().enumerate() {
        let count = usize::try_from(target.blocks.min(64)).expect("at most 64");
        let _ = journal.windows(index, 0, count);
        let _ = journal.origin(index);
    }
}

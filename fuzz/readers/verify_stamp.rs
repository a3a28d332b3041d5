//! Stamps: what was written is verified, one wrong bit is found wherever it is, and no content of a block
//! makes the check panic.

use fathom_core::verify::check::{Owner, ReadBlock, Verdict, check};
use fathom_core::verify::stamp::{SECTOR_BYTES, Stamp};
use fathom_core::verify::window::Legal;

const NUMBERS_BYTES: usize = 38;

fn number(bytes: &[u8], index: usize) -> u64 {
    u64::from_le_bytes(bytes[8 * index..8 * index + 8].try_into().expect("eight bytes"))
}

/// Reads one input.
pub fn one(data: &[u8]) {
    let Some((head, body)) = data.split_at_checked(NUMBERS_BYTES) else { return };
    let (target, seed) = (number(head, 0), number(head, 1));
    let offset_bytes = number(head, 2) >> 1 & !511;
    let generation = number(head, 3).clamp(1, 1 << 40);
    let legal = Legal { oldest: generation, newest: generation, is_settled: true };
    let owner = Owner { target, seed, origin: None };

    // Any content: judged, and never verified unless a stamp is in it.
    let mut block = body.to_vec();
    block.resize(body.len().div_ceil(SECTOR_BYTES).max(1) * SECTOR_BYTES, 0);
    let _judged = check(&ReadBlock { bytes: &block, offset_bytes, legal }, owner);

    // The same content, stamped.
    let block_bytes = u32::try_from(block.len()).expect("inputs are small");
    for (sector, place) in
        block.chunks_exact_mut(SECTOR_BYTES).zip((offset_bytes..).step_by(SECTOR_BYTES))
    {
        Stamp { target, offset_bytes: place, generation, seed, block_bytes }.write(sector);
    }
    let verdict = check(&ReadBlock { bytes: &block, offset_bytes, legal }, owner);
    assert_eq!(verdict, Verdict::Verified);

    // One bit wrong.
    let bit = u32::from_le_bytes(head[32..36].try_into().expect("four bytes")) as usize
        % (8 * block.len());
    block[bit / 8] ^= 1 << (bit % 8);
    let verdict = check(&ReadBlock { bytes: &block, offset_bytes, legal }, owner);
    assert!(matches!(verdict, Verdict::Faulty(_)), "bit {bit}: {verdict:?}");
}

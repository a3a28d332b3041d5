//! Test data as runs of `-Zr` write them, so that they may be written over again.

/// So many bytes that differ with the seed.
pub fn test_data(seed: u64, bytes: usize) -> Vec<u8> {
    let word = |index: u64| {
        let counter = seed.wrapping_add(index.wrapping_mul(0xD134_2543_DE82_EF95));
        let mixed = (counter ^ (counter >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)).to_le_bytes()
    };
    let mut data = vec![0; bytes];
    for (index, chunk) in (0..).zip(data.chunks_mut(8)) {
        chunk.copy_from_slice(&word(index)[..chunk.len()]);
    }
    data
}

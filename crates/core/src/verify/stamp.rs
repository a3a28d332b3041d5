//! The stamp at the beginning of each sector of 512 bytes: where the sector belongs, which write it came
//! from, and a checksum of all of it.
//!
//! Numbers are little-endian. CRC32C (Castagnoli) finds every burst of up to 32 bits, and of other changes
//! all but one in 2^32; processors compute it in hardware.

/// Bytes of a sector: the smallest piece that devices write whole.
pub const SECTOR_BYTES: usize = 512;
/// Bytes of a stamp; the rest of the sector is the data.
pub const STAMP_BYTES: usize = 48;
/// Generations are counted up to this.
pub const GENERATION_MAX: u64 = (1 << 40) - 1;

const MAGIC: [u8; 8] = *b"FathomS1";
const CHECKSUM: std::ops::Range<usize> = 0..4;
const BLOCK: std::ops::Range<usize> = 4..8;
const MAGIC_AT: std::ops::Range<usize> = 8..16;
const TARGET: std::ops::Range<usize> = 16..24;
const OFFSET: std::ops::Range<usize> = 24..32;
const GENERATION: std::ops::Range<usize> = 32..40;
const SEED: std::ops::Range<usize> = 40..48;

/// What a stamp says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Identity of the target, which its path gives.
    pub target: u64,
    /// Offset of the sector from the start of the target.
    pub offset_bytes: u64,
    /// Which write of the block, from 1.
    pub generation: u64,
    /// What all stamps of one run have in common, and those of other runs have not.
    pub seed: u64,
    /// Bytes of the block that was written.
    pub block_bytes: u32,
}

/// Why a sector has no stamp that can be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unstamped {
    /// There is none.
    Missing,
    /// There is one, but it or the data behind it have changed.
    BadChecksum {
        /// The checksum in the stamp.
        stored: u32,
        /// The checksum of the sector.
        computed: u32,
    },
}

impl Stamp {
    /// Puts the stamp into a sector, whose other bytes are the data.
    ///
    /// # Panics
    /// If the sector has fewer than [`STAMP_BYTES`].
    #[inline]
    pub fn write(self, sector: &mut [u8]) {
        sector[BLOCK].copy_from_slice(&self.block_bytes.to_le_bytes());
        sector[MAGIC_AT].copy_from_slice(&MAGIC);
        sector[TARGET].copy_from_slice(&self.target.to_le_bytes());
        sector[OFFSET].copy_from_slice(&self.offset_bytes.to_le_bytes());
        sector[GENERATION].copy_from_slice(&self.generation.to_le_bytes());
        sector[SEED].copy_from_slice(&self.seed.to_le_bytes());
        let checksum = crc32c::crc32c(&sector[CHECKSUM.end..]);
        sector[CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
    }

    /// The stamp of a sector.
    ///
    /// # Errors
    /// If it has none, or one that does not fit its bytes.
    ///
    /// # Panics
    /// If the sector has fewer than [`STAMP_BYTES`].
    #[inline]
    pub fn read(sector: &[u8]) -> Result<Self, Unstamped> {
        if sector[MAGIC_AT] != MAGIC {
            return Err(Unstamped::Missing);
        }
        let stored = word32(&sector[CHECKSUM]);
        let computed = crc32c::crc32c(&sector[CHECKSUM.end..]);
        if stored != computed {
            return Err(Unstamped::BadChecksum { stored, computed });
        }
        Ok(Self {
            target: word(&sector[TARGET]),
            offset_bytes: word(&sector[OFFSET]),
            generation: word(&sector[GENERATION]),
            seed: word(&sector[SEED]),
            block_bytes: word32(&sector[BLOCK]),
        })
    }
}

/// Makes a sector of a buffer one without a stamp, so that a read that transfers nothing cannot pass for one
/// that found what stood there before.
#[inline]
pub fn erase(sector: &mut [u8]) {
    sector[MAGIC_AT].fill(0);
}

/// The identity of a target with this path (FNV-1a, 64 bits).
#[must_use]
pub fn identity(path: &[u8]) -> u64 {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
    path.iter().fold(0xCBF2_9CE4_8422_2325, step)
}

#[inline]
fn word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|index| bytes[index]))
}

#[inline]
fn word32(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|index| bytes[index]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_stamp() -> impl Strategy<Value = Stamp> {
        let words = (any::<u64>(), any::<u64>(), 0..=GENERATION_MAX, any::<u64>(), any::<u32>());
        words.prop_map(|(target, offset_bytes, generation, seed, block_bytes)| Stamp {
            target,
            offset_bytes,
            generation,
            seed,
            block_bytes,
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(stamp in any_stamp(), data in any::<u8>()) {
            let mut sector = [data; SECTOR_BYTES];
            stamp.write(&mut sector);
            prop_assert_eq!(Stamp::read(&sector), Ok(stamp));
            prop_assert!(sector[STAMP_BYTES..].iter().all(|&byte| byte == data));
        }

        #[test]
        fn no_changed_byte_goes_unseen(
            stamp in any_stamp(),
            at in 0..SECTOR_BYTES,
            change in 1_u8..,
        ) {
            let mut sector = [0xA5; SECTOR_BYTES];
            stamp.write(&mut sector);
            sector[at] ^= change;
            prop_assert!(Stamp::read(&sector).is_err());
        }

        #[test]
        fn what_is_no_stamp_is_none(bytes in proptest::collection::vec(any::<u8>(), SECTOR_BYTES)) {
            prop_assert_eq!(Stamp::read(&bytes), Err(Unstamped::Missing));
        }
    }

    /// The check value of CRC-32/ISCSI in the catalogue of parametrised CRC algorithms.
    #[test]
    fn the_checksum_is_crc32c() {
        assert_eq!(crc32c::crc32c(b"123456789"), 0xE306_9283);
    }

    #[test]
    fn an_erased_sector_has_no_stamp() {
        let stamp = Stamp { target: 1, offset_bytes: 0, generation: 1, seed: 2, block_bytes: 512 };
        let mut sector = [0; SECTOR_BYTES];
        stamp.write(&mut sector);
        erase(&mut sector);
        assert_eq!(Stamp::read(&sector), Err(Unstamped::Missing));
    }

    #[test]
    fn other_paths_are_other_targets() {
        assert_ne!(identity(b"a.dat"), identity(b"b.dat"));
        assert_eq!(identity(b""), 0xCBF2_9CE4_8422_2325);
    }
}

//! How far data compress, and how much of them repeats.

/// Data of a given compressibility, of which a given share repeats. The default is neither.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reduction {
    /// Share that a compressor saves, 0 to 100.
    pub compress_percent: u32,
    /// Share of blocks that repeat another one, 0 to 100.
    pub dedupe_percent: u32,
}

impl Reduction {
    /// The unit in which data are compressible, in bytes: each begins with data that do not compress and
    /// ends with a repeated word. `fio` has the same (`buffer_compress_chunk`).
    pub const GRAIN_BYTES: usize = 512;

    /// Bytes of a grain that do not compress: none, or at least a word, by which a block is known.
    #[must_use]
    pub fn incompressible_bytes(self) -> usize {
        let kept = 100 - self.compress_percent.min(100) as usize;
        if kept == 0 { 0 } else { (Self::GRAIN_BYTES * kept).div_ceil(100).max(size_of::<u64>()) }
    }
}

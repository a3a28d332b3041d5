//! Counters of block devices and of this process, as the kernel shows them
//! (`Documentation/admin-guide/iostats.rst`, `proc_pid_io(5)`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tree::{Tree, field};

/// The unit of sectors in the kernel's counters, whatever the device's.
const SECTOR_BYTES: u64 = 512;

/// I/Os of a block device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counters {
    /// Reads completed.
    pub read_ios: u64,
    /// Bytes of these.
    pub read_bytes: u64,
    /// Reads that were merged into others.
    pub reads_merged: u64,
    /// Writes completed.
    pub write_ios: u64,
    /// Bytes of these.
    pub write_bytes: u64,
    /// Writes that were merged into others.
    pub writes_merged: u64,
    /// Discards completed.
    pub discard_ios: u64,
    /// Flushes of the device's cache completed.
    pub flush_ios: u64,
}

impl Counters {
    /// Those of a device now.
    pub(crate) fn read(tree: &Tree, (major, minor): (u32, u32)) -> Option<Self> {
        Self::parse(&tree.text(&format!("sys/dev/block/{major}:{minor}/stat"))?)
    }

    fn parse(text: &str) -> Option<Self> {
        let numbers: Vec<u64> =
            text.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let at = |index: usize| numbers.get(index).copied().unwrap_or(0);
        (numbers.len() >= 11).then(|| Self {
            read_ios: at(0),
            reads_merged: at(1),
            read_bytes: at(2).saturating_mul(SECTOR_BYTES),
            write_ios: at(4),
            writes_merged: at(5),
            write_bytes: at(6).saturating_mul(SECTOR_BYTES),
            discard_ios: at(11),
            flush_ios: at(15),
        })
    }

    /// What was counted since an earlier look.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            read_ios: self.read_ios.saturating_sub(earlier.read_ios),
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            reads_merged: self.reads_merged.saturating_sub(earlier.reads_merged),
            write_ios: self.write_ios.saturating_sub(earlier.write_ios),
            write_bytes: self.write_bytes.saturating_sub(earlier.write_bytes),
            writes_merged: self.writes_merged.saturating_sub(earlier.writes_merged),
            discard_ios: self.discard_ios.saturating_sub(earlier.discard_ios),
            flush_ios: self.flush_ios.saturating_sub(earlier.flush_ios),
        }
    }
}

/// What this process has moved from and to block devices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessIo {
    /// Bytes that it caused to be fetched from block devices.
    pub read_bytes: u64,
    /// Bytes that it caused to be sent to block devices, at once or through the page cache.
    pub write_bytes: u64,
}

impl ProcessIo {
    /// Those of this process now; nothing if the kernel does not count them.
    pub(crate) fn read(tree: &Tree) -> Option<Self> {
        let text = tree.text("proc/self/io")?;
        let number = |name: &str| field(&text, name)?.parse().ok();
        Some(Self { read_bytes: number("read_bytes")?, write_bytes: number("write_bytes")? })
    }

    /// What was moved since an earlier look.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            write_bytes: self.write_bytes.saturating_sub(earlier.write_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_old_and_new_kernels_are_read() {
        let old = "  10 2 160 5  4 1 64 7  0 9 12";
        let expected = Counters {
            read_ios: 10,
            reads_merged: 2,
            read_bytes: 81_920,
            write_ios: 4,
            writes_merged: 1,
            write_bytes: 32_768,
            ..Counters::default()
        };
        assert_eq!(Counters::parse(old), Some(expected));
        let new = format!("{old}  3 0 8 1  6 2");
        assert_eq!(
            Counters::parse(&new),
            Some(Counters { discard_ios: 3, flush_ios: 6, ..expected })
        );
        assert_eq!(Counters::parse("1 2 3"), None);
        assert_eq!(Counters::parse(""), None);
    }
}

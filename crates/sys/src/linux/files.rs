//! Files and devices as [`contract::file`](crate::contract::file) has them, by the standard library.

use std::fs::{File, FileType, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};

use crate::contract::file::{FileFacts, FileKind, PositionedIo};

/// The unit in which `st_blocks` counts, whatever a block of the file system is (stat(2)).
const COUNTED_BYTES: u64 = 512;

impl PositionedIo for File {
    fn read_at(&self, buffer: &mut [u8], offset_bytes: u64) -> io::Result<usize> {
        FileExt::read_at(self, buffer, offset_bytes)
    }

    fn write_at(&self, bytes: &[u8], offset_bytes: u64) -> io::Result<usize> {
        FileExt::write_at(self, bytes, offset_bytes)
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        FileExt::read_exact_at(self, buffer, offset_bytes)
    }

    fn write_all_at(&self, bytes: &[u8], offset_bytes: u64) -> io::Result<()> {
        FileExt::write_all_at(self, bytes, offset_bytes)
    }
}

impl FileFacts for Metadata {
    fn kind(&self) -> FileKind {
        kind_of(self.file_type())
    }

    fn number(&self) -> (u64, u64) {
        (self.dev(), self.ino())
    }

    fn represented_device(&self) -> u64 {
        self.rdev()
    }

    fn allocated_bytes(&self) -> u64 {
        self.blocks().saturating_mul(COUNTED_BYTES)
    }

    fn name_count(&self) -> u64 {
        self.nlink()
    }

    fn owner(&self) -> u32 {
        self.uid()
    }

    fn mode(&self) -> u32 {
        MetadataExt::mode(self)
    }

    fn changed_ns(&self) -> i64 {
        self.ctime().saturating_mul(1_000_000_000).saturating_add(self.ctime_nsec())
    }
}

fn kind_of(kind: FileType) -> FileKind {
    match kind {
        kind if kind.is_file() => FileKind::File,
        kind if kind.is_dir() => FileKind::Folder,
        kind if kind.is_symlink() => FileKind::Link,
        kind if kind.is_block_device() => FileKind::BlockDevice,
        kind if kind.is_char_device() => FileKind::CharacterDevice,
        kind if kind.is_fifo() => FileKind::Pipe,
        kind if kind.is_socket() => FileKind::Socket,
        _ => FileKind::Other,
    }
}

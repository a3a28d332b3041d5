//! Files and devices: reads and writes at an offset, and what a file system keeps of a file.

use std::io;

/// Reads and writes at an offset, which move no position that others share.
pub trait PositionedIo {
    /// Reads up to `buffer.len()` bytes at `offset_bytes`; returns how many. None at the end.
    ///
    /// # Errors
    /// What the operating system says.
    fn read_at(&self, buffer: &mut [u8], offset_bytes: u64) -> io::Result<usize>;

    /// Writes up to `bytes.len()` bytes at `offset_bytes`; returns how many.
    ///
    /// # Errors
    /// What the operating system says.
    fn write_at(&self, bytes: &[u8], offset_bytes: u64) -> io::Result<usize>;

    /// Fills `buffer` from `offset_bytes`.
    ///
    /// # Errors
    /// `UnexpectedEof` if the file ends before, else what the operating system says.
    fn read_exact_at(&self, buffer: &mut [u8], offset_bytes: u64) -> io::Result<()>;

    /// Writes all of `bytes` at `offset_bytes`.
    ///
    /// # Errors
    /// `WriteZero` if no more is taken, else what the operating system says.
    fn write_all_at(&self, bytes: &[u8], offset_bytes: u64) -> io::Result<()>;
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link that was not followed.
    Link,
    /// A block device.
    BlockDevice,
    /// A character device.
    CharacterDevice,
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
    /// Something else.
    Other,
}

/// What a file system keeps of a file, as one look at it found it (`std::fs::Metadata`).
pub trait FileFacts {
    /// What it is.
    fn kind(&self) -> FileKind;
    /// The file system that it lies in, and its number there: the same for all names of one file.
    fn number(&self) -> (u64, u64);
    /// The device that a device node stands for; 0 for anything else.
    fn represented_device(&self) -> u64;
    /// What its data take of the file system, in bytes; holes take none.
    fn allocated_bytes(&self) -> u64;
    /// How many names it has.
    fn name_count(&self) -> u64;
    /// The number of the account that it belongs to.
    fn owner(&self) -> u32;
    /// Who may do what, as bits (`chmod(2)`), with those of the kind.
    fn mode(&self) -> u32;
    /// When its data or anything else of it changed last, in nanoseconds since 1970.
    fn changed_ns(&self) -> i64;
}

//! What file systems of one file tell the kernel about it, whatever they do with its reads and writes.

use std::ffi::OsStr;
use std::time::{Duration, UNIX_EPOCH};

use fuser::{Errno, FileAttr, FileType, Generation, INodeNo, ReplyAttr, ReplyEntry};

const FILE: INodeNo = INodeNo(2);
/// How long the kernel may keep what it was told: nothing of it changes.
const KEEP: Duration = Duration::from_secs(3_600);

/// The file, and the folder that holds nothing else.
pub struct OneFile {
    pub name: &'static str,
    pub size_bytes: u64,
}

impl OneFile {
    /// Answers a look for a name in the folder.
    pub fn lookup(&self, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if parent == INodeNo::ROOT && name == self.name {
            reply.entry(&KEEP, &self.attributes(FILE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    /// Answers a question for the attributes of the file, or of the folder.
    pub fn getattr(&self, inode: INodeNo, reply: ReplyAttr) {
        reply.attr(&KEEP, &self.attributes(inode));
    }

    fn attributes(&self, inode: INodeNo) -> FileAttr {
        attributes(inode, if inode == FILE { Some(self.size_bytes) } else { None })
    }
}

/// The attributes of a file of this size, or of a folder.
pub fn attributes(inode: INodeNo, size_bytes: Option<u64>) -> FileAttr {
    let size = size_bytes.unwrap_or(0);
    FileAttr {
        ino: inode,
        size,
        blocks: size.div_ceil(512),
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: if size_bytes.is_some() { FileType::RegularFile } else { FileType::Directory },
        perm: 0o755,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

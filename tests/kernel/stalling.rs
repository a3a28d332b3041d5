//! A file system of one file that stalls once.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEntry,
    ReplyOpen, Request,
};

use crate::bench::skip;

const FILE: INodeNo = INodeNo(2);
const FILE_NAME: &str = "stalling.dat";
const FILE_BYTES: u64 = 64 << 20;
const FOREVER: Duration = Duration::from_secs(3_600);

/// The mounted file system; it is unmounted when this is dropped.
pub struct Stalling {
    folder: PathBuf,
    _session: BackgroundSession,
}

impl Stalling {
    /// Mounts it on a folder; nothing if this kernel or this user cannot.
    pub fn mount(folder: &Path, at_read: u64, stall: Duration) -> Option<Self> {
        let reads = AtomicU64::new(0);
        Self::serve(folder, OneFile { reads, at_read, stall, is_cached: false })
    }

    /// Mounts one whose reads go through the page cache, which each opening empties.
    pub fn mount_cached(folder: &Path) -> Option<Self> {
        let (reads, stall) = (AtomicU64::new(0), Duration::ZERO);
        Self::serve(folder, OneFile { reads, at_read: u64::MAX, stall, is_cached: true })
    }

    fn serve(folder: &Path, files: OneFile) -> Option<Self> {
        if !Path::new("/dev/fuse").exists() {
            skip("there is no /dev/fuse");
            return None;
        }
        let mut config = Config::default();
        config.mount_options = vec![MountOption::RO, MountOption::FSName("stalling".to_owned())];
        match fuser::spawn_mount(files, folder, &config) {
            Ok(session) => Some(Self { folder: folder.to_owned(), _session: session }),
            Err(error) => {
                skip(&format!("a file system of one's own cannot be mounted: {error}"));
                None
            }
        }
    }

    /// The file.
    pub fn file(&self) -> PathBuf {
        self.folder.join(FILE_NAME)
    }
}

impl Drop for Stalling {
    /// A ring that is gone holds its files a moment longer, and the file system is busy until then; the
    /// session itself would try once and leave it mounted.
    fn drop(&mut self) {
        let unmount = || Command::new("umount").arg(&self.folder).stderr(Stdio::null()).status();
        for _ in 0..100 {
            if unmount().is_ok_and(|status| status.success()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        skip(&format!("{} could not be unmounted", self.folder.display()));
    }
}

/// One thread serves all requests, so that nothing is answered while it sleeps.
struct OneFile {
    reads: AtomicU64,
    at_read: u64,
    stall: Duration,
    is_cached: bool,
}

fn attributes(inode: INodeNo) -> FileAttr {
    let is_file = inode == FILE;
    FileAttr {
        ino: inode,
        size: if is_file { FILE_BYTES } else { 0 },
        blocks: if is_file { FILE_BYTES / 512 } else { 0 },
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: if is_file { FileType::RegularFile } else { FileType::Directory },
        perm: if is_file { 0o444 } else { 0o555 },
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        flags: 0,
        blksize: 4096,
    }
}

impl Filesystem for OneFile {
    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if parent == INodeNo::ROOT && name == FILE_NAME {
            reply.entry(&FOREVER, &attributes(FILE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: Option<FileHandle>,
        reply: ReplyAttr,
    ) {
        reply.attr(&FOREVER, &attributes(inode));
    }

    /// Every read comes here where the page cache is bypassed.
    fn open(&self, _request: &Request, _inode: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let past = if self.is_cached { FopenFlags::empty() } else { FopenFlags::FOPEN_DIRECT_IO };
        reply.opened(FileHandle(0), past);
    }

    fn read(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        _offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        if self.reads.fetch_add(1, Ordering::Relaxed) + 1 == self.at_read {
            std::thread::sleep(self.stall);
        }
        reply.data(&vec![0x5a; size as usize]);
    }
}

//! A file system of one file that fails, cuts short, delays and holds back requests as a test says, and
//! keeps its own log of what it answered.
//!
//! It is served over FUSE by this process, past the page cache, so that each I/O of a run is one request.
//! Mounting needs root and `/dev/fuse`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fuser::{
    BackgroundSession, Config, Errno, FileHandle, Filesystem, FopenFlags, INodeNo, LockOwner,
    MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite,
    Request, WriteFlags,
};

use crate::one_file::OneFile;

const NAME: &str = "faulty.dat";

/// How a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// All bytes.
    Whole,
    /// All bytes, and all that are read are zero.
    Zeros,
    /// Half of the bytes.
    Half,
    /// No bytes.
    Nothing,
    /// An error number.
    Fail(i32),
    /// Not before it is released.
    Held,
}

/// Reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Read,
    Write,
}

/// What a test says: the answer to the request with this number, from 0, at this offset.
pub type Script = dyn Fn(u64, Kind, u64) -> Answer + Send + Sync;

enum Held {
    Opened(ReplyOpen),
    Data(ReplyData, usize),
    Written(ReplyWrite, u32),
}

/// The log: answers by kind, and the offsets that are held back.
#[derive(Default)]
struct Log {
    requests: u64,
    answers: BTreeMap<(Kind, Answer), u64>,
    held_offsets: Vec<u64>,
    held: Vec<Held>,
    /// Threads that have asked, and whether each is the first of its process, or that of a run.
    are_first: BTreeMap<u32, bool>,
    is_released: bool,
}

/// The mounted file system; dropping it releases what is held, and unmounts it.
pub struct FaultFs {
    folder: tempfile::TempDir,
    log: Arc<Mutex<Log>>,
    _session: BackgroundSession,
}

impl FaultFs {
    /// Mounts it below `parent`, with one file of `size_bytes`.
    ///
    /// # Errors
    /// Those of `mount(2)`: without root, or without FUSE in the kernel.
    pub fn mount(
        parent: &Path,
        size_bytes: u64,
        script: impl Fn(u64, Kind, u64) -> Answer + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::of(parent, size_bytes, true, Box::new(script))
    }

    /// The same, where looks at the file are answered as the load is.
    ///
    /// # Errors
    /// Those of `mount(2)`.
    pub fn mount_for_all(
        parent: &Path,
        size_bytes: u64,
        script: impl Fn(u64, Kind, u64) -> Answer + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::of(parent, size_bytes, false, Box::new(script))
    }

    fn of(
        parent: &Path,
        size_bytes: u64,
        spares_looks: bool,
        script: Box<Script>,
    ) -> io::Result<Self> {
        let folder = tempfile::tempdir_in(parent)?;
        let log = Arc::new(Mutex::new(Log::default()));
        let file = OneFile { name: NAME, size_bytes };
        let system = System { file, script, spares_looks, log: Arc::clone(&log) };
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("faulty".to_owned())];
        let session = fuser::spawn_mount(system, folder.path(), &config)?;
        Ok(Self { folder, log, _session: session })
    }

    /// The file.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join(NAME)
    }

    /// How often requests of this kind have been answered in this way.
    pub fn count(&self, kind: Kind, answer: Answer) -> u64 {
        lock(&self.log).answers.get(&(kind, answer)).copied().unwrap_or(0)
    }

    /// The offsets of the requests that are held back, in order.
    pub fn held_offsets(&self) -> Vec<u64> {
        let mut offsets = lock(&self.log).held_offsets.clone();
        offsets.sort_unstable();
        offsets
    }

    /// What a server that died leaves: no request is answered any more, be it new or waiting.
    pub fn die(&self) {
        // It is busy and stays mounted, but its connection is broken off (fuse_umount_begin of
        // fs/fuse/inode.c).
        let _busy = Command::new("umount").arg("-f").arg(self.folder.path()).output();
    }

    /// Answers what is held back, and holds back nothing more.
    pub fn release(&self) {
        let mut log = lock(&self.log);
        log.is_released = true;
        for held in std::mem::take(&mut log.held) {
            match held {
                Held::Opened(reply) => reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO),
                Held::Data(reply, bytes) => reply.data(&vec![0x5a; bytes]),
                Held::Written(reply, bytes) => reply.written(bytes),
            }
        }
    }
}

impl Drop for FaultFs {
    fn drop(&mut self) {
        self.release();
        unmount(self.folder.path());
    }
}

/// Unmounts a file system. A process that is gone may hold its files a moment longer, and the file system is
/// busy until then.
pub fn unmount(folder: &Path) {
    let unmount = || Command::new("umount").arg(folder).stderr(Stdio::null()).status();
    for _ in 0..100 {
        if unmount().is_ok_and(|status| status.success()) {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let _detached = Command::new("umount").arg("-l").arg(folder).status();
}

fn lock(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a thread is the one of a run that looks at targets, or the first of its process, which has the
/// number of the process.
fn is_first(thread: u32) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{thread}/comm")).unwrap_or_default();
    if name.trim() == "run" {
        return true;
    }
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let process = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    process.is_some_and(|process| process.trim() == thread.to_string())
}

struct System {
    file: OneFile,
    script: Box<Script>,
    /// What looks at the file before and after is answered as if nothing were wrong.
    spares_looks: bool,
    log: Arc<Mutex<Log>>,
}

impl System {
    /// Enters a request into the log, and says how it is to be answered. What the first thread of a process
    /// asks for, or that of a run, is no load: it looks at the target before and after.
    fn decide(&self, log: &mut Log, from: &Request, kind: Kind, offset_bytes: u64) -> Answer {
        if self.spares_looks
            && *log.are_first.entry(from.pid()).or_insert_with(|| is_first(from.pid()))
        {
            return Answer::Whole;
        }
        let answer = match (self.script)(log.requests, kind, offset_bytes) {
            Answer::Held if log.is_released => Answer::Whole,
            answer => answer,
        };
        log.requests += 1;
        *log.answers.entry((kind, answer)).or_default() += 1;
        if answer == Answer::Held {
            log.held_offsets.push(offset_bytes);
        }
        answer
    }
}

impl Filesystem for System {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.file.lookup(parent, name, reply);
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        self.file.getattr(inode, reply);
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // While anything is held back, nobody gets the file opened either.
        let mut log = lock(&self.log);
        if !log.held.is_empty() {
            return log.held.push(Held::Opened(reply));
        }
        // Each read and write of the program is a request: nothing is cached.
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        from: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let mut log = lock(&self.log);
        let bytes = size as usize;
        match self.decide(&mut log, from, Kind::Read, offset) {
            Answer::Whole => reply.data(&vec![0x5a; bytes]),
            Answer::Zeros => reply.data(&vec![0; bytes]),
            Answer::Half => reply.data(&vec![0x5a; bytes / 2]),
            Answer::Nothing => reply.data(&[]),
            Answer::Fail(errno) => reply.error(Errno::from_i32(errno)),
            Answer::Held => log.held.push(Held::Data(reply, bytes)),
        }
    }

    fn write(
        &self,
        from: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let mut log = lock(&self.log);
        let bytes = u32::try_from(data.len()).unwrap_or(0);
        match self.decide(&mut log, from, Kind::Write, offset) {
            Answer::Whole | Answer::Zeros => reply.written(bytes),
            Answer::Half => reply.written(bytes / 2),
            Answer::Nothing => reply.written(0),
            Answer::Fail(errno) => reply.error(Errno::from_i32(errno)),
            Answer::Held => log.held.push(Held::Written(reply, bytes)),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }
}

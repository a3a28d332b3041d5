//! A file system in memory whose files hang as a test says: what one asks of them is not answered before it
//! is released.
//!
//! It is served over FUSE by this process. Its files keep their size and not their data. Mounting needs root
//! and `/dev/fuse`.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use fuser::{
    BackgroundSession, BsdFileFlags, Config, Errno, FileAttr, FileHandle, Filesystem, FopenFlags,
    Generation, INodeNo, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

use super::fault_fs::unmount;
use crate::one_file::attributes;

/// The kernel asks each time.
const KEEP: Duration = Duration::ZERO;

/// What is asked of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// What it is.
    Look,
    Open,
    Read,
    Write,
    Reserve,
    Sync,
}

type Answer = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    /// The files and their sizes; the first has the inode after that of the folder.
    files: Vec<(String, Option<u64>)>,
    hangs: Vec<(Asked, String)>,
    held: Vec<Answer>,
    is_released: bool,
}

impl State {
    fn inode(&self, name: &OsStr) -> Option<INodeNo> {
        let place =
            self.files.iter().position(|(file, size)| name == file.as_str() && size.is_some())?;
        Some(INodeNo(place as u64 + 2))
    }

    fn size(&mut self, inode: INodeNo) -> Option<&mut u64> {
        let place = usize::try_from(inode.0).ok()?.checked_sub(2)?;
        self.files.get_mut(place)?.1.as_mut()
    }

    fn attributes(&mut self, inode: INodeNo) -> Option<FileAttr> {
        let size_bytes = if inode == INodeNo::ROOT { None } else { Some(*self.size(inode)?) };
        Some(attributes(inode, size_bytes))
    }

    fn hangs(&self, asked: Asked, inode: INodeNo) -> bool {
        let name = |(file, _): &(String, _)| file.clone();
        let place = usize::try_from(inode.0).unwrap_or(0).checked_sub(2);
        let name = place.and_then(|place| self.files.get(place)).map(name);
        let is_named = |(one, file): &(Asked, String)| *one == asked && Some(file) == name.as_ref();
        !self.is_released && self.hangs.iter().any(is_named)
    }
}

/// The mounted file system; dropping it releases what is held, and unmounts it.
pub struct HangFs {
    folder: tempfile::TempDir,
    state: Arc<Mutex<State>>,
    _session: BackgroundSession,
}

impl HangFs {
    /// Mounts it below `parent`, without any file.
    ///
    /// # Errors
    /// Those of `mount(2)`: without root, or without FUSE in the kernel.
    pub fn mount(parent: &Path) -> io::Result<Self> {
        let folder = tempfile::tempdir_in(parent)?;
        let state = Arc::new(Mutex::new(State::default()));
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("hanging".to_owned())];
        let session = fuser::spawn_mount(System(Arc::clone(&state)), folder.path(), &config)?;
        Ok(Self { folder, state, _session: session })
    }

    /// The path of a file, which need not be there.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Puts a file there.
    pub fn put(&self, name: &str, size_bytes: u64) {
        lock(&self.state).files.push((name.to_owned(), Some(size_bytes)));
    }

    /// The size of a file; nothing if it is not there.
    pub fn size(&self, name: &str) -> Option<u64> {
        let files = &lock(&self.state).files;
        files.iter().find(|(file, _)| file == name).and_then(|(_, size)| *size)
    }

    /// From now on, this is not answered for the file with this name.
    pub fn hang(&self, asked: Asked, name: &str) {
        lock(&self.state).hangs.push((asked, name.to_owned()));
    }

    /// How many requests are not answered.
    pub fn held(&self) -> usize {
        lock(&self.state).held.len()
    }

    /// Answers all that hangs with an error, and lets nothing hang any more.
    pub fn release(&self) {
        let mut state = lock(&self.state);
        state.is_released = true;
        let held = std::mem::take(&mut state.held);
        drop(state);
        for answer in held {
            answer();
        }
    }
}

impl Drop for HangFs {
    fn drop(&mut self) {
        self.release();
        unmount(self.folder.path());
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

struct System(Arc<Mutex<State>>);

/// Answers a request, or keeps it if what it asks hangs.
macro_rules! answer {
    ($state:ident, $asked:ident, $inode:expr, $reply:ident, $how:expr) => {
        if $state.hangs(Asked::$asked, $inode) {
            $state.held.push(Box::new(move || $reply.error(Errno::EIO)));
        } else {
            $how
        }
    };
}

impl Filesystem for System {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let mut state = lock(&self.0);
        let Some(inode) = state.inode(name) else { return reply.error(Errno::ENOENT) };
        answer!(
            state,
            Look,
            inode,
            reply,
            match state.attributes(inode) {
                Some(found) => reply.entry(&KEEP, &found, Generation(0)),
                None => reply.error(Errno::ENOENT),
            }
        );
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let mut state = lock(&self.0);
        answer!(
            state,
            Look,
            inode,
            reply,
            match state.attributes(inode) {
                Some(found) => reply.attr(&KEEP, &found),
                None => reply.error(Errno::ENOENT),
            }
        );
    }

    fn setattr(
        &self,
        _: &Request,
        inode: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size_bytes: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let mut state = lock(&self.0);
        if let (Some(new), Some(size)) = (size_bytes, state.size(inode)) {
            *size = new;
        }
        match state.attributes(inode) {
            Some(found) => reply.attr(&KEEP, &found),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn create(
        &self,
        _: &Request,
        _: INodeNo,
        name: &OsStr,
        _: u32,
        _: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        let mut state = lock(&self.0);
        state.files.push((name.to_string_lossy().into_owned(), Some(0)));
        let inode = INodeNo(state.files.len() as u64 + 1);
        let (handle, flags) = (FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
        match state.attributes(inode) {
            Some(found) => reply.created(&KEEP, &found, Generation(0), handle, flags),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn unlink(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let mut state = lock(&self.0);
        let found =
            state.files.iter_mut().find(|(file, size)| name == file.as_str() && size.is_some());
        match found {
            Some((_, size)) => {
                *size = None;
                reply.ok();
            }
            None => reply.error(Errno::ENOENT),
        }
    }

    fn open(&self, _: &Request, inode: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let mut state = lock(&self.0);
        // Each read and write of the program is a request: nothing is cached.
        let flags = FopenFlags::FOPEN_DIRECT_IO;
        answer!(state, Open, inode, reply, reply.opened(FileHandle(0), flags));
    }

    fn read(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let mut state = lock(&self.0);
        let end = state.size(inode).map_or(0, |size| *size);
        let bytes = usize::try_from(end.saturating_sub(offset).min(u64::from(size))).unwrap_or(0);
        answer!(state, Read, inode, reply, reply.data(&vec![0x5a; bytes]));
    }

    fn write(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let mut state = lock(&self.0);
        let bytes = u32::try_from(data.len()).unwrap_or(0);
        if let Some(size) = state.size(inode) {
            *size = (*size).max(offset + u64::from(bytes));
        }
        answer!(state, Write, inode, reply, reply.written(bytes));
    }

    fn fallocate(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        _: i32,
        reply: ReplyEmpty,
    ) {
        let mut state = lock(&self.0);
        if let Some(size) = state.size(inode) {
            *size = (*size).max(offset + length);
        }
        answer!(state, Reserve, inode, reply, reply.ok());
    }

    fn fsync(&self, _: &Request, inode: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let mut state = lock(&self.0);
        answer!(state, Sync, inode, reply, reply.ok());
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }
}

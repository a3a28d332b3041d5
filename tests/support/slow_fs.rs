//! A file system in memory whose reads and writes take as long as the test says, and that may stall.
//!
//! It is served over FUSE by this process, past the page cache, so that each I/O of a run is one request.
//! Mounting needs root and `/dev/fuse`.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use fathom_sys::clock::{now_ns, sleep_until_ns};
use fuser::{
    BackgroundSession, Config, FileHandle, Filesystem, FopenFlags, INodeNo, LockOwner, MountOption,
    OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request,
    WriteFlags,
};

use crate::one_file::OneFile;

const NAME: &str = "slow.dat";

/// How long requests take, and how long they took.
#[derive(Default)]
struct Delays {
    delay_ns: AtomicU64,
    /// Requests that began at or after this wait until this instant at least.
    stalled_until_ns: AtomicU64,
    served: AtomicU64,
    served_ns: AtomicU64,
    /// How long after its time the latest of these was answered.
    latest_ns: AtomicU64,
}

/// The mounted file system; dropping it unmounts it.
pub struct SlowFs {
    delays: Arc<Delays>,
    folder: tempfile::TempDir,
    session: Option<BackgroundSession>,
}

impl SlowFs {
    /// Mounts it below `parent`, with one file of `size_bytes` of zeros.
    ///
    /// # Errors
    /// Those of `mount(2)`: without root, or without FUSE in the kernel.
    pub fn mount(parent: &Path, size_bytes: u64, delay: Duration) -> io::Result<Self> {
        let folder = tempfile::tempdir_in(parent)?;
        let delays = Arc::new(Delays::default());
        let (waiting, due) = channel();
        let watched = Arc::clone(&delays);
        std::thread::spawn(move || serve(&due, &watched));
        let file = OneFile { name: NAME, size_bytes };
        let system = System { file, waiting };
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("slow".to_owned())];
        let session = Some(fuser::spawn_mount(system, folder.path(), &config)?);
        let slow = Self { delays, folder, session };
        slow.set_delay(delay);
        Ok(slow)
    }

    /// The file.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join(NAME)
    }

    /// Sets how long each further request takes.
    pub fn set_delay(&self, delay: Duration) {
        self.delays.delay_ns.store(nanos(delay), Ordering::Relaxed);
    }

    /// Keeps all requests waiting for this long from now on.
    pub fn stall(&self, length: Duration) {
        self.delays.stalled_until_ns.store(now_ns() + nanos(length), Ordering::Relaxed);
    }

    /// Number of requests since they were taken.
    pub fn served(&self) -> u64 {
        self.delays.served.load(Ordering::Relaxed)
    }

    /// How late the latest answer since they were taken was: this host had no CPU for it meanwhile.
    pub fn latest(&self) -> Duration {
        Duration::from_nanos(self.delays.latest_ns.load(Ordering::Relaxed))
    }

    /// Number of requests since the last call, and the mean time from the arrival of one to its answer.
    pub fn take_served(&self) -> (u64, f64) {
        self.delays.latest_ns.store(0, Ordering::Relaxed);
        let served = self.delays.served.swap(0, Ordering::Relaxed);
        let served_ns = self.delays.served_ns.swap(0, Ordering::Relaxed);
        (served, served_ns as f64 / served.max(1) as f64)
    }
}

impl Drop for SlowFs {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            let _unmounted = session.umount_and_join();
        }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A request that has arrived, and its answer.
struct Waiting {
    arrived_ns: u64,
    answer: Answer,
}

enum Answer {
    Data(ReplyData, usize),
    Written(ReplyWrite, u32),
    Done(ReplyEmpty),
}

/// Answers each request when its time has come, in the order of arrival.
fn serve(due: &Receiver<Waiting>, delays: &Delays) {
    fathom_sys::thread::use_precise_timers();
    while let Ok(Waiting { arrived_ns, answer }) = due.recv() {
        wait_until(arrived_ns + delays.delay_ns.load(Ordering::Relaxed));
        // A stall may begin while a request waits, and may be prolonged.
        while now_ns() < delays.stalled_until_ns.load(Ordering::Relaxed) {
            wait_until(delays.stalled_until_ns.load(Ordering::Relaxed));
        }
        let delayed_ns = arrived_ns + delays.delay_ns.load(Ordering::Relaxed);
        let due_ns = delayed_ns.max(delays.stalled_until_ns.load(Ordering::Relaxed));
        let answered_ns = now_ns();
        delays.latest_ns.fetch_max(answered_ns.saturating_sub(due_ns), Ordering::Relaxed);
        delays.served_ns.fetch_add(answered_ns - arrived_ns, Ordering::Relaxed);
        delays.served.fetch_add(1, Ordering::Relaxed);
        match answer {
            Answer::Data(reply, bytes) => reply.data(&vec![0; bytes]),
            Answer::Written(reply, bytes) => reply.written(bytes),
            Answer::Done(reply) => reply.ok(),
        }
    }
}

fn wait_until(due_ns: u64) {
    while now_ns() < due_ns {
        sleep_until_ns(due_ns);
    }
}

struct System {
    file: OneFile,
    waiting: Sender<Waiting>,
}

impl System {
    fn wait(&self, answer: Answer) {
        let waiting = Waiting { arrived_ns: now_ns(), answer };
        // The receiver ends only with this sender.
        let _sent = self.waiting.send(waiting);
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
        // Each read and write of the program is a request: nothing is cached.
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let left = self.file.size_bytes.saturating_sub(offset);
        let bytes = usize::try_from(left.min(u64::from(size))).unwrap_or(0);
        self.wait(Answer::Data(reply, bytes));
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let bytes = u32::try_from(data.len()).unwrap_or(0);
        self.wait(Answer::Written(reply, bytes));
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.wait(Answer::Done(reply));
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }
}

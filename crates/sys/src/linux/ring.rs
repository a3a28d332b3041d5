//! `io_uring`: one ring per thread, with registered files and buffers where the kernel allows it.
//!
//! Facts about flags and their kernel versions: `io_uring_setup(2)`, `io_uring_register(2)`.

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;

use io_uring::types::{Fd, Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{Builder, IoUring, opcode, squeue};
use thiserror::Error;

use super::discard;
use super::thread::cpu_mask;
use super::transfer::{Completion, Lending, Operation, Resources, Transfer};

mod closing;
mod locked;
mod options;
#[cfg(test)]
mod tests;
mod tuned;

pub use locked::{locked_bytes, takes_locked_memory};
pub use options::{RingOptions, SubmissionThread};

/// The kernel registers at most this many bytes as one buffer (`io_uring_register(2)`).
const REGISTERED_BUFFER_LIMIT_BYTES: usize = 1 << 30;

/// The operation of `io_uring_register(2)` that places workers.
const REGISTER_IOWQ_AFF: u32 = 17;
/// The operation of `io_uring_register(2)` that limits workers.
const REGISTER_IOWQ_MAX_WORKERS: u32 = 19;

/// Why a ring could not be made.
#[derive(Debug, Error)]
pub enum RingError {
    /// The kernel lacks `io_uring`, or forbids it to this process.
    #[error(
        "the kernel refuses io_uring ({0}), as it does in a sandbox (seccomp), with the sysctl \
         kernel.io_uring_disabled, or where it is too old"
    )]
    Unavailable(io::Error),
    /// The kernel refused for want of a resource.
    #[error("io_uring could not be set up for {entries} outstanding I/Os ({source}){}", lack(.source))]
    Setup {
        /// Outstanding I/Os that were requested.
        entries: u32,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The kernel refused a choice.
    #[error("the kernel refuses an io_uring with {choices} ({source}); leave the choice out")]
    Choice {
        /// What was chosen.
        choices: String,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// What is lacking where memory is, with a leading separator; else nothing.
fn lack(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::ENOMEM) => {
            ": memory, or memory that this account may lock (ulimit -l), is lacking"
        }
        _ => "",
    }
}

/// A ring and everything that it lends to the kernel.
pub struct Ring {
    uring: ManuallyDrop<IoUring>,
    lending: ManuallyDrop<Lending>,
    registered_files: bool,
    buffers: Registered,
    features: Vec<&'static str>,
    options: RingOptions,
    /// Flags of each I/O.
    flags: squeue::Flags,
}

/// Which buffers the kernel has pinned beforehand.
struct Registered {
    /// Index of the registered buffer for each slot; empty when none is registered.
    slots: Vec<u16>,
    /// Index of the registered buffer for each target's source.
    sources: Vec<Option<u16>>,
}

impl Ring {
    /// A ring for as many outstanding I/Os as there are slots. It must be made by the thread that
    /// uses it, because the kernel then saves the cost of sharing.
    pub fn new(resources: Resources) -> Result<Self, RingError> {
        Self::with_options(resources, RingOptions::default())
    }

    /// The same with choices in its set-up.
    pub fn with_options(resources: Resources, options: RingOptions) -> Result<Self, RingError> {
        let slots = u32::try_from(resources.buffers.len()).unwrap_or(u32::MAX).max(1);
        let (ring, mut features) = build(slots, &options)?;
        let registered_files = register_files(&ring, &resources);
        let buffers = if options.unregistered_buffers {
            Registered { slots: Vec::new(), sources: Vec::new() }
        } else {
            register_buffers(&ring, &resources)
        };
        if registered_files {
            features.push("registered files");
        }
        if !buffers.slots.is_empty() {
            features.push("registered buffers");
        }
        let lending = Lending::new(resources);
        Ok(Self {
            uring: ManuallyDrop::new(ring),
            lending: ManuallyDrop::new(lending),
            registered_files,
            buffers,
            features,
            options,
            flags: squeue::Flags::empty(),
        })
    }

    /// Hands each I/O to a worker of the kernel at once, and lets as many work as there are slots.
    ///
    /// FUSE takes no I/O without waiting, but says that its files can be polled, from which the kernel
    /// concludes that they can be read at once (`io_file_supports_nowait` of `io_uring/io_uring.c`): each I/O
    /// would then be waited for within the call that hands it over, and never were two in flight.
    pub fn leave_to_workers(&mut self) {
        self.flags = squeue::Flags::ASYNC;
        let slots = u32::try_from(self.buffer_count()).unwrap_or(u32::MAX);
        // The kernel's own limit is four for each CPU; zero leaves that for other kinds of I/O as it is.
        let mut limits = [slots, 0];
        let (fd, address) = (self.uring.as_raw_fd(), limits.as_mut_ptr());
        // SAFETY: the kernel reads and writes the two numbers before it returns. A kernel before 5.15 has no
        // such operation and refuses it, which leaves its own limit.
        let _refused = unsafe {
            libc::syscall(libc::SYS_io_uring_register, fd, REGISTER_IOWQ_MAX_WORKERS, address, 2)
        };
    }

    fn buffer_count(&self) -> usize {
        self.lending.resources.buffers.len()
    }

    /// Lets the kernel's workers, which serve I/O that cannot be issued without waiting, run on these
    /// CPUs only (`IORING_REGISTER_IOWQ_AFF`, `io_uring_register(2)`). Tells whether they do: a kernel
    /// before 5.14 cannot place them, which only makes them slower.
    pub fn place_workers(&self, os_ids: &[usize]) -> bool {
        let Some(mask) = cpu_mask(os_ids) else { return false };
        let bytes = u32::try_from(size_of_val(&mask)).unwrap_or(0);
        let (fd, address) = (self.uring.as_raw_fd(), mask.as_ptr());
        // SAFETY: the kernel reads the mask, a valid array of the size that is passed, before it returns.
        let result = unsafe {
            libc::syscall(libc::SYS_io_uring_register, fd, REGISTER_IOWQ_AFF, address, bytes)
        };
        result == 0
    }

    /// Features in use, in words.
    #[must_use]
    pub fn features(&self) -> &[&'static str] {
        &self.features
    }

    /// A slot's buffer, which must not be in flight.
    ///
    /// # Panics
    /// If the slot is in flight or does not exist.
    #[inline]
    pub fn slot_mut(&mut self, slot: usize) -> &mut [u8] {
        self.lending.slot_mut(slot)
    }

    /// I/Os in flight.
    #[inline]
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.lending.lent_count()
    }

    /// Hands over what is queued, and does not look for completions: with deferred task work, none but those
    /// of I/Os that were served within the call are there behind it.
    pub fn submit(&mut self) -> io::Result<()> {
        self.uring.submitter().submit().map(drop)
    }

    /// Completions that are there and that nobody has taken.
    #[must_use]
    pub fn completions(&mut self) -> usize {
        self.uring.completion().len()
    }

    /// Queues a transfer; the kernel sees it at the next [`Ring::enter`].
    ///
    /// # Panics
    /// If the slot is in flight, or the transfer is longer than its buffer.
    #[inline]
    pub fn push(&mut self, transfer: &Transfer) {
        let address = self.lending.lend(transfer);
        let entry =
            self.entry(transfer, address).user_data(u64::from(transfer.slot)).flags(self.flags);
        // SAFETY: `lend` gave an address that is valid for the transfer's length and that nobody
        // touches until `reap` takes the slot back; `Drop` waits for what is in flight.
        while unsafe { self.uring.submission().push(&entry) }.is_err() {
            // Only more slots than the kernel's largest queue get here: hand over what is queued.
            let _submitted = self.uring.submit();
        }
    }

    #[inline]
    fn entry(&self, transfer: &Transfer, address: *mut u8) -> squeue::Entry {
        let file = transfer.file as usize;
        let buffer = match transfer.source_offset {
            None => self.buffers.slots.get(transfer.slot as usize).copied(),
            Some(_) => self.buffers.sources.get(file).copied().flatten(),
        };
        let (bytes, offset) = (transfer.bytes, transfer.offset_bytes);
        macro_rules! entry {
            ($target:expr) => {
                match (transfer.operation, buffer) {
                    (Operation::Read, Some(index)) => {
                        opcode::ReadFixed::new($target, address, bytes, index)
                            .offset(offset)
                            .build()
                    }
                    (Operation::Write, Some(index)) => {
                        opcode::WriteFixed::new($target, address, bytes, index)
                            .offset(offset)
                            .build()
                    }
                    (Operation::Read, None) => {
                        opcode::Read::new($target, address, bytes).offset(offset).build()
                    }
                    (Operation::Write, None) => {
                        opcode::Write::new($target, address, bytes).offset(offset).build()
                    }
                    (Operation::Fsync, _) => opcode::Fsync::new($target).build(),
                    (Operation::Fdatasync, _) => {
                        opcode::Fsync::new($target).flags(FsyncFlags::DATASYNC).build()
                    }
                    (Operation::Trim, _) if self.lending.resources.files[file].is_device() => {
                        opcode::UringCmd16::new($target, discard::URING_COMMAND)
                            .addr(Some(offset))
                            .cmd(discard::command_length(bytes))
                            .build()
                    }
                    (Operation::Trim, _) => opcode::Fallocate::new($target, u64::from(bytes))
                        .offset(offset)
                        .mode(discard::PUNCH_HOLE)
                        .build(),
                }
            };
        }
        if self.registered_files {
            entry!(Fixed(transfer.file))
        } else {
            entry!(Fd(self.lending.resources.files[file].raw_fd()))
        }
    }

    /// Submits what is queued and waits until `want` completions are there, or until `timeout_ns`
    /// has passed, or until a signal arrives. With `want` 0 it does not wait.
    pub fn enter(&mut self, want: usize, timeout_ns: Option<u64>) -> io::Result<()> {
        let submitter = self.uring.submitter();
        let result = match timeout_ns.filter(|_| want > 0) {
            None => submitter.submit_and_wait(want),
            Some(nanos) => {
                let time = Timespec::new()
                    .sec(nanos / 1_000_000_000)
                    .nsec(u32::try_from(nanos % 1_000_000_000).unwrap_or(0));
                submitter.submit_with_args(want, &SubmitArgs::new().timespec(&time))
            }
        };
        match result {
            Err(error) if is_transient(&error) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// Submits what is queued, lets the kernel finish pending work, and does not wait.
    pub fn poll(&mut self) -> io::Result<()> {
        // With DEFER_TASKRUN completions are posted only inside io_uring_enter with GETEVENTS, which
        // `submit` alone sets only when the kernel asks for it.
        const GETEVENTS: u32 = 1;
        let queued = u32::try_from(self.uring.submission().len()).unwrap_or(u32::MAX);
        // SAFETY: no argument is passed; the entries were queued by `push` with valid buffers.
        let result =
            unsafe { self.uring.submitter().enter::<libc::sigset_t>(queued, 0, GETEVENTS, None) };
        match result {
            Err(error) if is_transient(&error) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// Takes all completions that are there and appends them to `done`.
    #[inline]
    pub fn reap(&mut self, done: &mut Vec<Completion>) {
        let lending = &mut self.lending;
        done.extend(self.uring.completion().map(|entry| {
            #[expect(clippy::cast_possible_truncation, reason = "`push` stored a u32")]
            let slot = entry.user_data() as u32;
            lending.take_back(slot);
            Completion { slot, result: entry.result() }
        }));
    }
}

/// Whether waiting ended for a reason that is no fault: the time is up, a signal came, or the
/// completion queue must be emptied first.
fn is_transient(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN))
}

type Configure = fn(&mut Builder) -> &mut Builder;

/// Ring set-ups from the fastest to the one that every kernel with `io_uring` has.
const SETUPS: [(Configure, &[&str]); 3] = [
    (
        |builder| builder.setup_single_issuer().setup_defer_taskrun(),
        &["single issuer", "deferred task run"],
    ),
    (|builder| builder.setup_coop_taskrun(), &["cooperative task run"]),
    (|builder| builder, &[]),
];

/// The set-ups to try. The faster ones say how an interrupt reaches the thread: a kernel thread that
/// submits excludes them, polling needs none of them, and with deferred task work a kernel (6.18)
/// that refuses a polled I/O never tells.
fn setups(options: &RingOptions) -> &'static [(Configure, &'static [&'static str])] {
    let plain = options.submission_thread.is_some() || options.polled;
    if plain { &SETUPS[SETUPS.len() - 1..] } else { &SETUPS }
}

fn build(slots: u32, options: &RingOptions) -> Result<(IoUring, Vec<&'static str>), RingError> {
    let chosen = || options.features().collect::<Vec<_>>();
    let explain = |error: io::Error| match chosen() {
        choices if choices.is_empty() => classify(error, slots),
        choices => RingError::Choice { choices: choices.join(" and "), source: error },
    };
    let entries = slots.next_power_of_two().min(32_768);
    let mut last = None;
    for (configure, features) in setups(options) {
        let mut builder = IoUring::builder();
        options.configure(&mut builder);
        builder.setup_clamp().setup_cqsize(slots.next_power_of_two().max(2) * 2);
        match configure(&mut builder).build(entries) {
            Ok(ring) => return Ok((ring, [features, chosen().as_slice()].concat())),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => last = Some(error),
            Err(error) => return Err(explain(error)),
        }
    }
    Err(explain(last.unwrap_or_else(io::Error::last_os_error)))
}

fn classify(error: io::Error, entries: u32) -> RingError {
    match error.raw_os_error() {
        Some(libc::ENOSYS | libc::EPERM | libc::EACCES) => RingError::Unavailable(error),
        _ => RingError::Setup { entries, source: error },
    }
}

/// Whether this process may use `io_uring`.
pub fn probe() -> Result<(), RingError> {
    IoUring::new(2).map(drop).map_err(|error| classify(error, 2))
}

fn register_files(ring: &IoUring, resources: &Resources) -> bool {
    let fds: Vec<_> = resources.files.iter().map(super::file::TargetFile::raw_fd).collect();
    !fds.is_empty() && ring.submitter().register_files(&fds).is_ok()
}

/// Registers all buffers, or none if the kernel refuses any, for instance for the memlock limit.
fn register_buffers(ring: &IoUring, resources: &Resources) -> Registered {
    let none = || Registered { slots: Vec::new(), sources: Vec::new() };
    let Some((vectors, registered)) = registration(resources) else { return none() };
    // SAFETY: the buffers live in `resources`, which `Ring` frees only after the ring is closed.
    match unsafe { ring.submitter().register_buffers(&vectors) } {
        Ok(()) => registered,
        Err(_) => none(),
    }
}

/// The vectors to register: neighbouring slots share one, up to the kernel's limit.
fn registration(resources: &Resources) -> Option<(Vec<libc::iovec>, Registered)> {
    let mut vectors: Vec<libc::iovec> = Vec::new();
    let mut slots = Vec::with_capacity(resources.buffers.len());
    for slot in 0..resources.buffers.len() {
        let (address, bytes) = resources.buffers.raw_slot(slot);
        let end = address as usize + bytes;
        let joined = vectors.last_mut().and_then(|last| {
            let length = end - last.iov_base as usize;
            (length <= REGISTERED_BUFFER_LIMIT_BYTES).then(|| last.iov_len = length)
        });
        if joined.is_none() {
            if bytes > REGISTERED_BUFFER_LIMIT_BYTES {
                return None;
            }
            vectors.push(libc::iovec { iov_base: address.cast(), iov_len: bytes });
        }
        slots.push(u16::try_from(vectors.len() - 1).ok()?);
    }
    let mut sources = Vec::with_capacity(resources.sources.len());
    for source in &resources.sources {
        let Some(source) = source else {
            sources.push(None);
            continue;
        };
        let (address, bytes) = source.raw_slot(0);
        if bytes > REGISTERED_BUFFER_LIMIT_BYTES {
            sources.push(None);
            continue;
        }
        sources.push(Some(u16::try_from(vectors.len()).ok()?));
        vectors.push(libc::iovec { iov_base: address.cast(), iov_len: bytes });
    }
    Some((vectors, Registered { slots, sources }))
}

//! Linux native asynchronous I/O (`io_submit(2)`), asynchronous only past the page cache.

use std::io;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use thiserror::Error;

use super::clock::timespec;
use super::transfer::{Completion, Lending, Operation, Resources, Transfer};

/// Why a context could not be made.
#[derive(Debug, Error)]
pub enum AioError {
    /// The kernel lacks native asynchronous I/O, or forbids it to this process.
    #[error("the kernel refuses native asynchronous I/O ({0})")]
    Unavailable(io::Error),
    /// The system-wide limit of outstanding I/Os is used up.
    #[error(
        "no room for {0} outstanding I/Os: the system-wide limit is used up. Raise it with \
         sysctl fs.aio-max-nr"
    )]
    TooMany(usize),
}

/// `struct iocb` of `linux/aio_abi.h`, little endian.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct ControlBlock {
    data: u64,
    key: u32,
    rw_flags: u32,
    opcode: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_file: u32,
}

/// `struct io_event` of `linux/aio_abi.h`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Event {
    data: u64,
    block: u64,
    result: i64,
    result_extra: i64,
}

/// `struct aio_ring` of the kernel's `fs/aio.c`, without its events: what `io_setup` maps at the address that
/// it gives as the context. Completions lie there, and who reads them needs no call, as libaio itself does.
#[repr(C)]
struct RingHead {
    id: u32,
    /// Places for events.
    count: u32,
    /// Where the next event is read; ours to move.
    head: AtomicU32,
    /// Where the kernel puts the next event.
    tail: AtomicU32,
    magic: u32,
    compatible: u32,
    incompatible: u32,
    head_bytes: u32,
}

/// `AIO_RING_MAGIC`.
const RING_MAGIC: u32 = 0xa10a_10a1;

/// The ring of a context; nothing if it is not laid out as it is known here.
fn ring_of(context: libc::c_ulong) -> Option<NonNull<RingHead>> {
    let ring = NonNull::new(context as *mut RingHead)?;
    // SAFETY: the kernel has mapped at least one page there, which stays until the context is destroyed.
    let head = unsafe { ring.as_ref() };
    let is_known = head.magic == RING_MAGIC
        && head.incompatible == 0
        && head.head_bytes as usize == size_of::<RingHead>();
    is_known.then_some(ring)
}

const OPCODE_PREAD: u16 = 0;
const OPCODE_PWRITE: u16 = 1;
const OPCODE_FSYNC: u16 = 2;
const OPCODE_FDSYNC: u16 = 3;

/// The opcode of an operation; `linux/aio_abi.h` has none for a trim.
fn opcode(operation: Operation) -> u16 {
    match operation {
        Operation::Read => OPCODE_PREAD,
        Operation::Write => OPCODE_PWRITE,
        Operation::Fsync => OPCODE_FSYNC,
        Operation::Fdatasync => OPCODE_FDSYNC,
        Operation::Trim => panic!("the plan gives no trim to native asynchronous I/O"),
    }
}

/// A context and everything that it lends to the kernel.
pub struct Aio {
    context: libc::c_ulong,
    lending: ManuallyDrop<Lending>,
    blocks: Vec<ControlBlock>,
    queued: Vec<*mut ControlBlock>,
    refused: Vec<Completion>,
    events: Vec<Event>,
    /// Where completions are read without a call.
    ring: Option<NonNull<RingHead>>,
}

impl Aio {
    /// A context for as many outstanding I/Os as there are slots.
    pub fn new(resources: Resources) -> Result<Self, AioError> {
        let slots = resources.buffers.len().max(1);
        let context = setup(slots)?;
        Ok(Self {
            context,
            lending: ManuallyDrop::new(Lending::new(resources)),
            blocks: vec![ControlBlock::default(); slots],
            queued: Vec::with_capacity(slots),
            refused: Vec::new(),
            events: vec![Event::default(); slots],
            ring: ring_of(context),
        })
    }

    /// Limits the completions that one wait takes.
    pub fn take_at_most(&mut self, completions: usize) {
        self.events.truncate(completions.max(1));
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

    /// Queues a transfer; the kernel sees it at the next [`Aio::enter`].
    ///
    /// # Panics
    /// If the slot is in flight, the transfer is longer than its buffer, or it is a trim.
    #[inline]
    pub fn push(&mut self, transfer: &Transfer) {
        let opcode = opcode(transfer.operation);
        let address = self.lending.lend(transfer);
        let file = &self.lending.resources.files[transfer.file as usize];
        let block = &mut self.blocks[transfer.slot as usize];
        *block = ControlBlock {
            data: u64::from(transfer.slot),
            opcode,
            file: file.raw_fd().cast_unsigned(),
            buffer: address as u64,
            bytes: u64::from(transfer.bytes),
            offset: transfer.offset_bytes.cast_signed(),
            ..ControlBlock::default()
        };
        self.queued.push(std::ptr::from_mut(block));
    }

    /// Queues the last transfer of a slot again, at another offset.
    ///
    /// # Panics
    /// If the slot is in flight, or nothing was transferred in it yet.
    #[inline]
    pub fn push_again(&mut self, slot: u32, offset_bytes: u64) {
        let block = &mut self.blocks[slot as usize];
        assert!(block.buffer != 0, "slot {slot} has had no transfer");
        self.lending.lend_again(slot);
        block.offset = offset_bytes.cast_signed();
        self.queued.push(std::ptr::from_mut(block));
    }

    /// Submits what is queued and waits until `want` completions are there, or until `timeout_ns`
    /// has passed, or until a signal arrives; appends all completions to `done`.
    pub fn enter(
        &mut self,
        want: usize,
        timeout_ns: Option<u64>,
        done: &mut Vec<Completion>,
    ) -> io::Result<()> {
        self.submit();
        done.append(&mut self.refused);
        let has_looked = self.take_from_ring(done).is_some();
        let want = if done.is_empty() { want.min(self.in_flight()) } else { 0 };
        if want == 0 && has_looked {
            return Ok(());
        }
        self.get_events(want, timeout_ns, done)
    }

    /// Transfers that are queued and that the kernel does not know yet.
    #[inline]
    #[must_use]
    pub fn queued(&self) -> usize {
        self.queued.len()
    }

    /// Completions that are there and that no [`Aio::enter`] has taken; none where learning it costs a call.
    #[must_use]
    pub fn completions(&self) -> usize {
        // SAFETY: the ring stays mapped until the context is destroyed; only atomic fields are read.
        let ends = self.ring.map(|ring| unsafe { ring.as_ref() });
        ends.map_or(0, |ends| {
            let (head, tail) =
                (ends.head.load(Ordering::Relaxed), ends.tail.load(Ordering::Acquire));
            let (head, tail) = (head as usize, tail as usize);
            if tail >= head { tail - head } else { tail + ends.count as usize - head }
        })
    }

    /// Submits what is queued; what the kernel has no room for stays queued.
    pub fn submit(&mut self) {
        let mut from = 0;
        while from < self.queued.len() {
            let rest = &mut self.queued[from..];
            // SAFETY: each block lies in `blocks`, which is never resized, and names a buffer that
            // `lend` keeps valid until the completion is reaped.
            let accepted = unsafe {
                libc::syscall(libc::SYS_io_submit, self.context, rest.len(), rest.as_mut_ptr())
            };
            match usize::try_from(accepted) {
                Ok(0) => break,
                Ok(count) => from += count,
                Err(_) => {
                    let error = io::Error::last_os_error();
                    if error.raw_os_error() == Some(libc::EAGAIN) && self.in_flight() > 1 {
                        break;
                    }
                    // The kernel refused the first one itself, for instance for its offset.
                    self.refuse(from, &error);
                    from += 1;
                }
            }
        }
        self.queued.drain(..from);
    }

    fn refuse(&mut self, queued: usize, error: &io::Error) {
        // SAFETY: the queue holds pointers into `blocks`, which is alive and not otherwise borrowed.
        let slot = unsafe { (*self.queued[queued]).data };
        #[expect(clippy::cast_possible_truncation, reason = "`push` stored a u32")]
        let slot = slot as u32;
        self.lending.take_back(slot);
        let result = -error.raw_os_error().unwrap_or(libc::EIO);
        self.refused.push(Completion { slot, result });
    }

    /// Takes the completions that are there already; nothing is reported where the ring is not known.
    #[inline]
    fn take_from_ring(&mut self, done: &mut Vec<Completion>) -> Option<()> {
        let ring = self.ring?;
        // SAFETY: the ring stays mapped until the context is destroyed; of what the kernel changes, only
        // atomic fields are read.
        let ends = unsafe { ring.as_ref() };
        let (mut head, tail) =
            (ends.head.load(Ordering::Relaxed), ends.tail.load(Ordering::Acquire));
        let mut left = self.events.len();
        while head != tail && left > 0 && head < ends.count {
            // SAFETY: `count` events lie behind the head of the ring, and the kernel has written those
            // before the tail.
            let event = unsafe { ring.add(1).cast::<Event>().add(head as usize).read() };
            self.enter_event(event, done);
            head = if head + 1 == ends.count { 0 } else { head + 1 };
            left -= 1;
        }
        ends.head.store(head, Ordering::Release);
        Some(())
    }

    #[inline]
    fn enter_event(&mut self, event: Event, done: &mut Vec<Completion>) {
        #[expect(clippy::cast_possible_truncation, reason = "`push` stored a u32")]
        let slot = event.data as u32;
        self.lending.take_back(slot);
        let result = i32::try_from(event.result).unwrap_or(i32::MAX);
        done.push(Completion { slot, result });
    }

    fn get_events(
        &mut self,
        want: usize,
        timeout_ns: Option<u64>,
        done: &mut Vec<Completion>,
    ) -> io::Result<()> {
        let time = timespec(timeout_ns.unwrap_or(0));
        let time = if timeout_ns.is_some() { &raw const time } else { std::ptr::null() };
        // SAFETY: the events are valid for writes of as many as are allowed, and `time` outlives the call.
        let count = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                want,
                self.events.len(),
                self.events.as_mut_ptr(),
                time,
            )
        };
        let Ok(count) = usize::try_from(count) else {
            let error = io::Error::last_os_error();
            return if error.raw_os_error() == Some(libc::EINTR) { Ok(()) } else { Err(error) };
        };
        for index in 0..count {
            self.enter_event(self.events[index], done);
        }
        Ok(())
    }
}

impl Drop for Aio {
    fn drop(&mut self) {
        let mut done = Vec::new();
        while self.in_flight() > 0 {
            if self.enter(1, None, &mut done).is_err() {
                break;
            }
            done.clear();
        }
        // SAFETY: the context was made by `setup` and is destroyed only here; destroying it waits for
        // what is in flight, so that the buffers may be freed after it.
        unsafe {
            libc::syscall(libc::SYS_io_destroy, self.context);
            ManuallyDrop::drop(&mut self.lending);
        }
    }
}

fn setup(slots: usize) -> Result<libc::c_ulong, AioError> {
    let mut context: libc::c_ulong = 0;
    // SAFETY: `context` is valid for the write of the context's handle.
    let result = unsafe { libc::syscall(libc::SYS_io_setup, slots, &raw mut context) };
    if result == 0 {
        return Ok(context);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EINVAL) => Err(AioError::TooMany(slots)),
        _ => Err(AioError::Unavailable(error)),
    }
}

/// Whether this process may use native asynchronous I/O.
///
/// No context is made: destroying one waits until all CPUs have passed through the scheduler, which takes
/// tens of milliseconds. A context for no event is refused by the kernel that has the call
/// (`io_setup(2)`: EINVAL), and the limit of events is reported in `/proc/sys/fs`.
pub fn probe() -> Result<(), AioError> {
    match setup(0) {
        Err(AioError::TooMany(_)) if has_room() => Ok(()),
        Err(AioError::TooMany(_)) => Err(AioError::TooMany(1)),
        other => other.map(drop),
    }
}

/// Whether the system-wide limit has room for one more event; so it is taken where the kernel tells none.
fn has_room() -> bool {
    let number = |name: &str| -> Option<u64> {
        std::fs::read_to_string(format!("/proc/sys/fs/{name}")).ok()?.trim().parse().ok()
    };
    !matches!((number("aio-nr"), number("aio-max-nr")), (Some(used), Some(most)) if used >= most)
}

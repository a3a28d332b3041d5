//! Files that are mapped for execution: programs, their loaders, shared libraries.
//!
//! The kernel writes a record of each such mapping into a buffer per CPU, whoever makes it: the loader of a
//! program, mmap(2) or mprotect(2). The buffers are emptied every few milliseconds; what does not fit is
//! counted by the kernel as lost.

use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use super::perf::{Attributes, CpuEvent, SystemEvent};
use super::{Count, Event, Source, TraceError};

const PERF_TYPE_SOFTWARE: u32 = 1;
const PERF_COUNT_SW_DUMMY: u64 = 9;
/// `mmap` and `mmap2` of `struct perf_event_attr`: records of executable mappings, with their inodes.
const RECORD_MAPPINGS: u64 = 1 << 8 | 1 << 23;
const RECORD_LOST: u32 = 2;
const RECORD_MMAP2: u32 = 10;
/// Enough for a thousand mappings between two looks, and what every user may lock for this purpose
/// (`kernel.perf_event_mlock_kb`).
const DATA_BYTES: usize = 128 << 10;
/// Words before the positions in `struct perf_event_mmap_page`.
const HEAD_AT: usize = 1024 / 8;
const TAIL_AT: usize = 1032 / 8;
const INODE_AT: usize = 48;
const NAME_AT: usize = 72;
const EVENTS: [Event; 1] = [Event::ImageLoad];

/// What the records tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Seen {
    images: u64,
    lost: u64,
}

/// Counts images.
#[derive(Debug)]
pub struct Images {
    // The buffers are unmapped before the events that fill them are closed.
    buffers: Vec<Buffer>,
    event: SystemEvent,
    /// Older kernels tell of lost records only in the next one that is not lost.
    tells_lost: bool,
    lost_before: u64,
    seen: Seen,
}

impl Images {
    pub fn open() -> Result<Self, TraceError> {
        let attributes = Attributes::new(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, RECORD_MAPPINGS);
        let (event, tells_lost) = match SystemEvent::open(&attributes.with_lost()) {
            Ok(event) => (event, true),
            Err(_) => (SystemEvent::open(&attributes)?, false),
        };
        let buffers = event.cpus.iter().map(Buffer::map).collect::<io::Result<_>>();
        let buffers = buffers.map_err(|error| TraceError {
            why: format!("the kernel gives no buffer for its records: {error}"),
            remedy: "raise kernel.perf_event_mlock_kb, or run as root".to_owned(),
        })?;
        Ok(Self { buffers, event, tells_lost, lost_before: 0, seen: Seen::default() })
    }
}

impl Images {
    /// How many records were ever lost; 0 if the kernel does not tell.
    fn lost(&self) -> io::Result<u64> {
        if !self.tells_lost {
            return Ok(0);
        }
        let lost = |cpu: &CpuEvent| cpu.read::<4>().map(|words| words[3]);
        self.event.cpus.iter().map(lost).sum()
    }
}

impl Source for Images {
    fn begin(&mut self) -> io::Result<()> {
        self.seen = Seen::default();
        self.lost_before = self.lost()?;
        self.event.begin()
    }

    fn look(&mut self) {
        for buffer in &mut self.buffers {
            let seen = count(&buffer.take());
            self.seen.images += seen.images;
            self.seen.lost += seen.lost;
        }
    }

    fn end(&mut self) -> io::Result<Vec<Count>> {
        self.event.stop()?;
        self.look();
        let Seen { images, lost } = self.seen;
        let lost = if self.tells_lost { self.lost()? - self.lost_before } else { lost };
        let partial = (lost > 0).then(|| format!("the records of {lost} mappings were lost"));
        let source = "perf records of executable file mappings";
        Ok(vec![Count { partial, ..Count::new(Event::ImageLoad, images, source) }])
    }

    fn events(&self) -> &'static [Event] {
        &EVENTS
    }
}

/// The buffer of one CPU, which the kernel fills and this process empties.
#[derive(Debug)]
struct Buffer {
    base: NonNull<AtomicU64>,
    head_bytes: usize,
}

// SAFETY: the buffer is memory shared with the kernel, without thread affinity.
unsafe impl Send for Buffer {}

impl Buffer {
    fn map(event: &CpuEvent) -> io::Result<Self> {
        // SAFETY: the call has no preconditions.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let head_bytes = usize::try_from(page).unwrap_or(4096);
        // SAFETY: a new mapping at an address of the kernel's choice aliases no Rust object.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                head_bytes + DATA_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                event.0.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(address.cast::<AtomicU64>())
            .ok_or_else(|| io::Error::other("the kernel mapped the null page"))?;
        Ok(Self { base, head_bytes })
    }

    /// The position up to which the kernel has written, or up to which this process has read.
    fn position(&self, at: usize) -> &AtomicU64 {
        // SAFETY: both positions are aligned words within the first page of the mapping, which lives as
        // long as the value; the kernel and this process access them atomically.
        unsafe { &*self.base.as_ptr().add(at) }
    }

    /// Takes all whole records.
    fn take(&mut self) -> Vec<u8> {
        let head = self.position(HEAD_AT).load(Ordering::Acquire);
        let tail = self.position(TAIL_AT).load(Ordering::Relaxed);
        let length = usize::try_from(head.wrapping_sub(tail)).unwrap_or(0).min(DATA_BYTES);
        let at = usize::try_from(tail % DATA_BYTES as u64).unwrap_or(0);
        let before_end = length.min(DATA_BYTES - at);
        let mut bytes = vec![0; length];
        // SAFETY: both pieces lie within the data part of the mapping, and together have the length of
        // the vector. The kernel writes nothing between tail and head until the tail moves on.
        unsafe {
            let data = self.base.as_ptr().cast::<u8>().add(self.head_bytes);
            std::ptr::copy_nonoverlapping(data.add(at), bytes.as_mut_ptr(), before_end);
            let rest = length - before_end;
            std::ptr::copy_nonoverlapping(data, bytes.as_mut_ptr().add(before_end), rest);
        }
        self.position(TAIL_AT).store(head, Ordering::Release);
        bytes
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: this is the mapping that `map` made, and nothing refers to it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.head_bytes + DATA_BYTES) };
    }
}

/// Counts the records of whole files; see `perf_event_open(2)` for their layout.
fn count(mut records: &[u8]) -> Seen {
    let mut seen = Seen::default();
    while let Some(size) = word_16(records, 6).map(usize::from) {
        if size < 8 || size > records.len() {
            break;
        }
        let (record, rest) = records.split_at(size);
        match word_32(record, 0) {
            Some(RECORD_MMAP2) if is_image(record) => seen.images += 1,
            Some(RECORD_LOST) => seen.lost += word_64(record, 16).unwrap_or(0),
            _ => {}
        }
        records = rest;
    }
    seen
}

/// Whether a mapping is one of a file: memory without a file has no inode, or the name of none.
fn is_image(record: &[u8]) -> bool {
    let name = record.get(NAME_AT..).unwrap_or_default();
    let is_path = name.starts_with(b"/") && !name.starts_with(b"//");
    word_64(record, INODE_AT).unwrap_or(0) != 0 && is_path && !name.starts_with(b"/dev/zero")
}

fn word_16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn word_32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn word_64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, body: &[u8]) -> Vec<u8> {
        let size = u16::try_from(8 + body.len()).unwrap();
        let head = [kind.to_ne_bytes().as_slice(), &[0, 0], &size.to_ne_bytes()].concat();
        [head.as_slice(), body].concat()
    }

    fn mapping(inode: u64, name: &str) -> Vec<u8> {
        let mut body = vec![0; NAME_AT - 8];
        body[INODE_AT - 8..INODE_AT].copy_from_slice(&inode.to_ne_bytes());
        body.extend(name.as_bytes());
        body.resize(body.len().next_multiple_of(8), 0);
        record(RECORD_MMAP2, &body)
    }

    #[test]
    fn files_count_and_memory_does_not() {
        let records = [
            mapping(7, "/usr/lib/libc.so.6"),
            mapping(0, "[vdso]"),
            mapping(0, "//anon"),
            mapping(9, "/dev/zero (deleted)"),
            mapping(8, "/usr/bin/true"),
            record(RECORD_LOST, &[1_u64.to_ne_bytes(), 5_u64.to_ne_bytes()].concat()),
            record(14, &[0; 16]),
        ]
        .concat();
        assert_eq!(count(&records), Seen { images: 2, lost: 5 });
    }

    #[test]
    fn a_record_that_is_cut_off_ends_the_count() {
        let whole = mapping(7, "/usr/bin/true");
        assert_eq!(count(&[whole.as_slice(), &whole[..20]].concat()).images, 1);
        assert_eq!(count(&record(RECORD_MMAP2, &[])), Seen::default());
        assert_eq!(count(&[0; 8]), Seen::default());
    }
}

//! Page-aligned I/O buffers in one mapping, pre-faulted, on huge pages where possible.

use std::io;
use std::ptr::NonNull;

use super::reserve::Reservation;

const HUGE_PAGE_BYTES: usize = 2 << 20;
const ALIGN_BYTES: usize = 4096;

/// Where buffers lie.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PageKind {
    /// Normal pages; the kernel may use transparent huge pages where they are no larger than the buffers.
    #[default]
    Normal,
    /// A transparent huge page also for buffers that fill only a part of it. The kernel takes hold of a piece
    /// of one faster than of normal pages, for I/O past the page cache; where it has none left, it gives
    /// normal ones.
    Whole,
    /// Reserved huge pages (`MAP_HUGETLB`); an error if too few are reserved.
    Huge,
}

/// Buffers by slot number, each aligned to 4096 bytes.
#[derive(Debug)]
pub struct Buffers {
    base: NonNull<u8>,
    slots: Vec<Span>,
    /// Unmapped when it is dropped.
    _mapping: Mapping,
}

/// Where the memory comes from.
#[derive(Debug)]
enum Mapping {
    Own(OwnMapping),
    Reserved(Reservation),
}

impl Mapping {
    fn base(&self) -> NonNull<u8> {
        match self {
            Self::Own(own) => own.base,
            Self::Reserved(reserved) => reserved.base(),
        }
    }
}

/// A mapping at an address of the kernel's choice.
#[derive(Debug)]
struct OwnMapping {
    base: NonNull<u8>,
    bytes: usize,
}

#[derive(Debug, Clone, Copy)]
struct Span {
    start: usize,
    bytes: usize,
}

// SAFETY: the mapping is private to this value, which has no thread affinity.
unsafe impl Send for Buffers {}
// SAFETY: a shared reference gives only shared slices of plain bytes.
unsafe impl Sync for Buffers {}

impl Buffers {
    /// One buffer per entry of `slot_bytes`, all zero and all resident.
    pub fn new(slot_bytes: &[usize], pages: PageKind) -> io::Result<Self> {
        Self::separated(slot_bytes, pages, 0)
    }

    /// The same, in a stretch of addresses that begins at a multiple of `separation_bytes` and shares
    /// no such stretch with anything else; 0 leaves the place to the kernel, and so do huge pages,
    /// whose entries in the page directory stand for themselves.
    ///
    /// # Panics
    /// If the separation is neither 0 nor a power of two of at least one page.
    pub fn separated(
        slot_bytes: &[usize],
        pages: PageKind,
        separation_bytes: usize,
    ) -> io::Result<Self> {
        let mut slots = Vec::with_capacity(slot_bytes.len());
        let mut total = 0_usize;
        for &bytes in slot_bytes {
            slots.push(Span { start: total, bytes });
            let padded = bytes.checked_next_multiple_of(ALIGN_BYTES).ok_or_else(too_large)?;
            total = total.checked_add(padded).ok_or_else(too_large)?;
        }
        let unit = if pages != PageKind::Normal || total >= HUGE_PAGE_BYTES {
            HUGE_PAGE_BYTES
        } else {
            ALIGN_BYTES
        };
        let mapped_bytes = total.max(1).checked_next_multiple_of(unit).ok_or_else(too_large)?;
        let mapping = match separation_bytes {
            separation if separation > 0 && pages != PageKind::Huge => {
                Mapping::Reserved(Reservation::new(mapped_bytes, separation)?)
            }
            _ => Mapping::Own(OwnMapping::new(mapped_bytes, pages)?),
        };
        let base = mapping.base();
        if mapped_bytes >= HUGE_PAGE_BYTES {
            // SAFETY: the range was just mapped; the advice changes no contents, and its failure no meaning.
            unsafe { libc::madvise(base.as_ptr().cast(), mapped_bytes, libc::MADV_HUGEPAGE) };
        }
        // Not more than is used: where there are no huge pages, the rest of one costs no memory.
        fault_in(base, total.max(1).next_multiple_of(ALIGN_BYTES))?;
        Ok(Self { base, slots, _mapping: mapping })
    }

    /// Address of the first slot.
    #[must_use]
    pub fn address(&self) -> usize {
        self.base.as_ptr() as usize
    }

    /// Number of slots.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is no slot.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// A slot's bytes.
    ///
    /// # Panics
    /// If there is no such slot.
    #[inline]
    #[must_use]
    pub fn slot(&self, slot: usize) -> &[u8] {
        let span = self.slots[slot];
        // SAFETY: `new` laid each span out within the mapping, which lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(span.start), span.bytes) }
    }

    /// A slot's bytes, to change them.
    ///
    /// # Panics
    /// If there is no such slot.
    #[inline]
    #[must_use]
    pub fn slot_mut(&mut self, slot: usize) -> &mut [u8] {
        let span = self.slots[slot];
        // SAFETY: as for `slot`; the exclusive borrow of `self` makes this the only slice.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().add(span.start), span.bytes) }
    }

    /// Address and length of a slot, for the kernel.
    #[inline]
    pub(crate) fn raw_slot(&self, slot: usize) -> (*mut u8, usize) {
        let span = self.slots[slot];
        // SAFETY: `new` laid each span out within the mapping.
        (unsafe { self.base.as_ptr().add(span.start) }, span.bytes)
    }
}

impl OwnMapping {
    fn new(bytes: usize, pages: PageKind) -> io::Result<Self> {
        let mut flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        if pages == PageKind::Huge {
            flags |= libc::MAP_HUGETLB;
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: an anonymous mapping at an address of the kernel's choice aliases nothing.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(address.cast::<u8>());
        let base = base.ok_or_else(|| io::Error::other("the kernel mapped the null page"))?;
        Ok(Self { base, bytes })
    }
}

impl Drop for OwnMapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length and is unmapped only here; slices of it
        // cannot outlive `Buffers`, and a backend that has lent it to the kernel keeps it alive.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

fn too_large() -> io::Error {
    io::Error::new(io::ErrorKind::OutOfMemory, "the I/O buffers exceed the address space")
}

/// Faults all pages in for writing, so that no fault falls into the measured time.
fn fault_in(base: NonNull<u8>, bytes: usize) -> io::Result<()> {
    // SAFETY: the range is mapped, writable and anonymous; populating it keeps its contents.
    let result = unsafe { libc::madvise(base.as_ptr().cast(), bytes, libc::MADV_POPULATE_WRITE) };
    if result == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() != Some(libc::EINVAL) {
        return Err(error);
    }
    // Kernels before 5.14 lack the advice: touch each page instead.
    for offset in (0..bytes).step_by(ALIGN_BYTES) {
        // SAFETY: the offset lies within the mapping, which nothing else refers to yet.
        unsafe { base.as_ptr().add(offset).write_volatile(0) };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_aligned_zeroed_and_apart() {
        let mut buffers = Buffers::new(&[512, 8192, 1, 65536], PageKind::Normal).unwrap();
        for slot in 0..buffers.len() {
            assert_eq!(buffers.slot(slot).as_ptr().align_offset(ALIGN_BYTES), 0);
            assert!(buffers.slot(slot).iter().all(|byte| *byte == 0));
            buffers.slot_mut(slot).fill(u8::try_from(slot).unwrap() + 1);
        }
        for slot in 0..buffers.len() {
            let value = u8::try_from(slot).unwrap() + 1;
            assert!(buffers.slot(slot).iter().all(|byte| *byte == value));
        }
    }

    #[test]
    fn separated_buffers_share_no_stretch_of_addresses() {
        const APART: usize = 16 << 20;
        let make = |bytes: usize| Buffers::separated(&[bytes; 2], PageKind::Normal, APART).unwrap();
        let buffers = [make(4096), make(3 << 20), make(4096), make(9 << 20)];
        let mut stretches = Vec::new();
        for buffer in &buffers {
            assert_eq!(buffer.address() % APART, 0);
            let last = buffer.slot(1).as_ptr_range().end as usize - 1;
            stretches.extend(buffer.address() / APART..=last / APART);
        }
        let count = stretches.len();
        stretches.sort_unstable();
        stretches.dedup();
        assert_eq!((count, stretches.len()), (5, 5));
        // What the kernel places itself lies outside of them, too.
        let plain = Buffers::new(&[4096], PageKind::Normal).unwrap();
        assert!(!stretches.contains(&(plain.address() / APART)));
    }

    /// Where the kernel has one; the page is reported in `smaps`, which lists the mapping by its address.
    #[test]
    fn a_small_buffer_lies_on_a_whole_huge_page() {
        let enabled = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
        if !enabled.is_ok_and(|text| !text.contains("[never]")) {
            return;
        }
        let huge_kib = |pages| {
            let buffers = Buffers::separated(&[4096; 3], pages, 16 << 20).unwrap();
            assert_eq!(buffers.address() % HUGE_PAGE_BYTES, 0);
            let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
            let (_, mine) = maps.split_once(&format!("{:x}-", buffers.address())).unwrap();
            let (_, told) = mine.split_once("AnonHugePages:").unwrap();
            told.split_whitespace().next().unwrap().parse::<u64>().unwrap()
        };
        assert_eq!(huge_kib(PageKind::Normal), 0);
        // The kernel may have none left.
        assert!([0, 2048].contains(&huge_kib(PageKind::Whole)));
    }

    #[test]
    fn buffers_beyond_the_address_space_are_an_error() {
        assert!(Buffers::new(&[usize::MAX, usize::MAX], PageKind::Normal).is_err());
        assert!(Buffers::new(&[1 << 60], PageKind::Normal).is_err());
    }
}

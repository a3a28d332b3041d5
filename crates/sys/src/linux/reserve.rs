//! Stretches of addresses that are kept for one purpose. What is not used of them costs no memory.

use std::io;
use std::ptr::NonNull;

/// Memory that begins at a multiple of its separation, and addresses behind it that nothing else gets.
#[derive(Debug)]
pub(crate) struct Reservation {
    base: NonNull<u8>,
    /// Length of the addresses, the memory included.
    reserved_bytes: usize,
}

impl Reservation {
    /// `bytes` of zeroed memory in a whole number of separations.
    ///
    /// # Panics
    /// If the separation is not a power of two of at least one page.
    pub(crate) fn new(bytes: usize, separation_bytes: usize) -> io::Result<Self> {
        assert!(separation_bytes.is_power_of_two() && separation_bytes >= 4096);
        let too_large = || io::Error::from_raw_os_error(libc::ENOMEM);
        let reserved_bytes =
            bytes.checked_next_multiple_of(separation_bytes).ok_or_else(too_large)?;
        // One separation more always holds an aligned stretch; what lies around it is given back.
        let whole_bytes = reserved_bytes.checked_add(separation_bytes).ok_or_else(too_large)?;
        let start = reserve(whole_bytes)?;
        let ahead = start.as_ptr().align_offset(separation_bytes);
        // SAFETY: the reserved addresses reach at least as far as the next multiple and the stretch
        // behind it; nothing refers yet to what is given back.
        let base = unsafe {
            let base = start.add(ahead);
            give_back(start, ahead);
            give_back(base.add(reserved_bytes), separation_bytes - ahead);
            base
        };
        let reservation = Self { base, reserved_bytes };
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the range lies within the reservation, which nothing refers to yet.
        if unsafe { libc::mprotect(base.as_ptr().cast(), bytes, access) } == 0 {
            return Ok(reservation);
        }
        Err(io::Error::last_os_error())
    }

    pub(crate) fn base(&self) -> NonNull<u8> {
        self.base
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: the addresses were reserved by `new` and are given back only here; slices of the
        // memory cannot outlive the `Buffers` that own this value.
        unsafe { give_back(self.base, self.reserved_bytes) };
    }
}

/// Addresses without access.
fn reserve(bytes: usize) -> io::Result<NonNull<u8>> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a mapping without access at an address of the kernel's choice aliases nothing.
    let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_NONE, flags, -1, 0) };
    if address == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(address.cast()).ok_or_else(|| io::Error::other("the kernel mapped the null page"))
}

/// Unmaps a part of a reservation.
///
/// # Safety
/// The addresses are reserved, and nothing refers to them any more.
unsafe fn give_back(start: NonNull<u8>, bytes: usize) {
    if bytes > 0 {
        // SAFETY: the caller guarantees that the range is the reservation's and unused.
        unsafe { libc::munmap(start.as_ptr().cast(), bytes) };
    }
}

//! Settings of the calling thread: where it runs, and how its I/O and timers are treated.

use std::io;

/// I/O scheduling class and level, as `ioprio_set(2)` takes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoPriority {
    /// Served when nobody else wants the device.
    Idle,
    /// Best effort at a level from 0 (first) to 7 (last).
    BestEffort(u8),
}

const IOPRIO_WHO_PROCESS: libc::c_int = 1;
const IOPRIO_CLASS_SHIFT: u32 = 13;
const IOPRIO_CLASS_BEST_EFFORT: u32 = 2;
const IOPRIO_CLASS_IDLE: u32 = 3;

/// The largest CPU number that a mask can hold here.
const CPU_LIMIT: usize = 8192;
/// Words of such a mask.
const MASK_WORDS: usize = CPU_LIMIT / usize::BITS as usize;

/// A mask of CPUs by the kernel's numbers; nothing if a number is greater than any CPU's.
pub(crate) fn cpu_mask(os_ids: &[usize]) -> Option<[usize; MASK_WORDS]> {
    const WORD_BITS: usize = usize::BITS as usize;
    let mut mask = [0; MASK_WORDS];
    for os_id in os_ids {
        *mask.get_mut(os_id / WORD_BITS)? |= 1 << (os_id % WORD_BITS);
    }
    Some(mask)
}

/// Gives the calling thread a table of open files of its own (`unshare(2)`, `CLONE_FILES`): the kernel
/// then need not count each use of a descriptor by a plain call, which is two atomic operations per I/O.
/// What it opens from now on is open for this thread only. Tells whether the kernel does so.
pub fn own_open_files() -> bool {
    // SAFETY: the call takes flags only; memory is not unshared. Descriptors that are open now stay open
    // under their numbers, in both tables.
    unsafe { libc::unshare(libc::CLONE_FILES) == 0 }
}

/// Pins the calling thread to one CPU, by the kernel's number.
pub fn pin_to_cpu(os_id: usize) -> io::Result<()> {
    let mask = cpu_mask(&[os_id]).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
    // SAFETY: the mask is a valid array of the size that is passed; 0 names the calling thread.
    let result = unsafe { libc::sched_setaffinity(0, size_of_val(&mask), mask.as_ptr().cast()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The value that `ioprio_set(2)` and the rings take.
#[must_use]
pub fn ioprio_value(priority: IoPriority) -> u16 {
    let value = match priority {
        IoPriority::Idle => IOPRIO_CLASS_IDLE << IOPRIO_CLASS_SHIFT,
        IoPriority::BestEffort(level) => {
            (IOPRIO_CLASS_BEST_EFFORT << IOPRIO_CLASS_SHIFT) | u32::from(level & 7)
        }
    };
    u16::try_from(value).unwrap_or(0)
}

/// Sets the I/O priority of the calling thread.
pub fn set_io_priority(priority: IoPriority) -> io::Result<()> {
    let value = libc::c_int::from(ioprio_value(priority));
    // SAFETY: the call takes integers only; 0 names the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, value) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The I/O priority of the calling thread, as `ioprio_get(2)` gives it.
pub fn io_priority() -> io::Result<u16> {
    // SAFETY: the call takes integers only; 0 names the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0) };
    u16::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Lets timers of the calling thread fire as near to their time as the hardware allows, where the
/// default lets the kernel delay them by 50 microseconds.
pub fn use_precise_timers() {
    // SAFETY: the call takes integers only, and its failure leaves the default in place.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_usize, 0_usize, 0_usize, 0_usize) };
}

/// The policy of threads that asked for no other.
const POLICY_OTHER: u32 = libc::SCHED_OTHER.cast_unsigned();
/// The shortest slice that the kernel gives.
const SHORT_SLICE_NS: u64 = 100_000;

/// A short slice of the CPU for the calling thread, for as long as this lives: such a thread gets its CPU
/// as soon as it wakes, and not only once the slice of the thread there has ended (`sched_setattr(2)`,
/// Linux 6.12; earlier ones, and threads of another policy, know nothing of it).
#[derive(Debug)]
pub struct ShortSlice {
    /// Another thread could not end it.
    of_this_thread: std::marker::PhantomData<*const ()>,
}

impl ShortSlice {
    /// Asks for it; at its end the thread has the kernel's own slice.
    #[must_use]
    pub fn begin() -> Self {
        set_slice(SHORT_SLICE_NS);
        Self { of_this_thread: std::marker::PhantomData }
    }
}

impl Drop for ShortSlice {
    fn drop(&mut self) {
        set_slice(0);
    }
}

/// Sets the slice of the calling thread, 0 for the kernel's own; all else stays as it is.
fn set_slice(slice_ns: u64) {
    if let Some(attributes) = attributes().filter(|one| one.sched_policy == POLICY_OTHER) {
        let attributes = libc::sched_attr { sched_runtime: slice_ns, ..attributes };
        // SAFETY: the structure lives through the call and names its own size; 0 names the calling thread.
        // A failure leaves the slice as it is.
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    }
}

/// How the calling thread is scheduled.
fn attributes() -> Option<libc::sched_attr> {
    // SAFETY: the structure is made of integers, for which zeros are values.
    let mut found: libc::sched_attr = unsafe { std::mem::zeroed() };
    let bytes = size_of::<libc::sched_attr>();
    // SAFETY: the structure lives through the call, and its size is passed; 0 names the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut found, bytes, 0) };
    (result == 0).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_slice_ends_with_its_guard_and_keeps_the_nice_value() {
        let seen = std::thread::spawn(|| {
            // SAFETY: the call takes integers only; 0 names the calling thread.
            unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 7) };
            let before = attributes()?;
            let slice = ShortSlice::begin();
            let within = attributes()?;
            drop(slice);
            Some((before, within, attributes()?))
        });
        let (before, within, after) = seen.join().ok().flatten().expect("this kernel tells");
        assert_eq!([before, within, after].map(|one| one.sched_nice), [7; 3]);
        assert_eq!(before.sched_runtime, after.sched_runtime);
        // A kernel before 6.12 has no slices of threads.
        assert!([SHORT_SLICE_NS, before.sched_runtime].contains(&within.sched_runtime));
    }

    #[test]
    fn a_cpu_beyond_every_mask_is_refused() {
        assert!(pin_to_cpu(CPU_LIMIT).is_err());
        assert!(pin_to_cpu(CPU_LIMIT - 1).is_err());
    }

    #[test]
    fn a_priority_that_was_set_is_read_back() {
        let read_back = std::thread::spawn(|| {
            set_io_priority(IoPriority::BestEffort(7)).and_then(|()| io_priority())
        });
        let read_back = read_back.join().expect("the thread does not panic");
        assert_eq!(read_back.ok(), Some(ioprio_value(IoPriority::BestEffort(7))));
    }
}

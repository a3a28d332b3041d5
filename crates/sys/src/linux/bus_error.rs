//! SIGBUS while a mapping is copied from or to: an error of that copy instead of the end of the process.
//!
//! The kernel sends the signal to the thread that touches a page which the file no longer has. The
//! handler puts a page of zeros there, so that the copy can go on, and notes that it did.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, compiler_fence};

const PAGE_BYTES: usize = 4096;

thread_local! {
    /// Start and end of the range that this thread is copying; nothing if both are 0. Constants without
    /// destructors are plain memory of the thread, which a signal handler may touch; they are atomic
    /// because the handler is another thread of execution to the compiler.
    static START: AtomicUsize = const { AtomicUsize::new(0) };
    static END: AtomicUsize = const { AtomicUsize::new(0) };
    static MISSED: AtomicBool = const { AtomicBool::new(false) };
}

/// Installs the handler, once for the process.
pub fn install() -> io::Result<()> {
    static INSTALLED: OnceLock<Result<(), i32>> = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| {
        // SAFETY: an all-zero sigaction is valid, and is filled in below.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: the handler has the signature that SA_SIGINFO asks for, and does nothing that is not
        // allowed in a signal handler: it reads and writes plain thread-local memory and maps a page.
        let result =
            unsafe { libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut()) };
        if result == 0 {
            return Ok(());
        }
        Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL))
    });
    installed.map_err(io::Error::from_raw_os_error)
}

/// Runs a copy from or to the mapped range; whether a page of it was missing.
pub fn guard(start: usize, length: usize, copy: impl FnOnce()) -> bool {
    MISSED.with(|missed| missed.store(false, Ordering::Relaxed));
    set_range(start, start + length);
    // The handler runs on this thread: the compiler must not move the copy past the stores around it.
    compiler_fence(Ordering::SeqCst);
    copy();
    compiler_fence(Ordering::SeqCst);
    set_range(0, 0);
    MISSED.with(|missed| missed.load(Ordering::Relaxed))
}

fn set_range(start: usize, end: usize) {
    START.with(|word| word.store(start, Ordering::Relaxed));
    END.with(|word| word.store(end, Ordering::Relaxed));
}

extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo with SA_SIGINFO, and SIGBUS has an address in it.
    let address = unsafe { (*info).si_addr() } as usize;
    let start = START.with(|word| word.load(Ordering::Relaxed));
    let end = END.with(|word| word.load(Ordering::Relaxed));
    let page = address / PAGE_BYTES * PAGE_BYTES;
    let ours = page < end && page + PAGE_BYTES > start;
    if ours && replace_page(page) {
        MISSED.with(|missed| missed.store(true, Ordering::Relaxed));
        return;
    }
    // SAFETY: setting the default action is always allowed; the fault happens again and ends the process
    // as it would have without this handler.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Puts a page of zeros in the place of a missing one.
fn replace_page(page: usize) -> bool {
    // SAFETY: the page lies in the mapping that this thread is copying from or to, as the caller has
    // checked; the mapping belongs to this thread's backend, and nobody else relies on its contents.
    let mapped = unsafe {
        libc::mmap(
            page as *mut libc::c_void,
            PAGE_BYTES,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
            -1,
            0,
        )
    };
    mapped != libc::MAP_FAILED
}

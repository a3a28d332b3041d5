//! Named events shared between the processes of one user: manual-reset, as on Windows.
//!
//! An event is a small file in shared memory with one futex word. Who uses it holds a shared lock on the
//! file. The lock of a dead process is gone, so that the first user of a file that somebody left behind
//! gets the exclusive lock and finds an event that is not signalled. The last user removes the file.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use thiserror::Error;

use super::clock::timespec;
use super::process::effective_user;
use super::words::lock;

const WORD_BYTES: usize = size_of::<u32>();
const SIGNALLED: u32 = 1;
const LONGEST_NAME: usize = 200;

/// Why an event could not be used.
#[derive(Debug, Error)]
pub enum EventError {
    /// The name is not one.
    #[error(
        "'{0}' is no name for an event: give 1 to 200 characters without '/' and control characters"
    )]
    Name(String),
    /// Nobody uses an event of this name.
    #[error("there is no event '{0}': no running process has created it")]
    Missing(String),
    /// The file behind the event could not be used.
    #[error("event '{name}' cannot be used: {source}")]
    File {
        /// Name of the event.
        name: String,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// An event in use by this process.
#[derive(Debug)]
pub struct NamedEvent {
    file: File,
    path: PathBuf,
    word: NonNull<AtomicU32>,
}

// SAFETY: the word is an atomic in a mapping that lives as long as the value; the file has no affinity.
unsafe impl Send for NamedEvent {}
// SAFETY: all access to the word is atomic.
unsafe impl Sync for NamedEvent {}

/// Whether a name can be an event's. Prefixes of Windows' name spaces are allowed and mean nothing here.
pub fn check_name(name: &str) -> Result<(), EventError> {
    file_name(name).map(drop)
}

fn file_name(name: &str) -> Result<String, EventError> {
    let plain = name.strip_prefix(r"Global\").or(name.strip_prefix(r"Local\")).unwrap_or(name);
    let wrong = plain.is_empty()
        || plain.len() > LONGEST_NAME
        || plain.chars().any(|character| character == '/' || character.is_control());
    if wrong {
        return Err(EventError::Name(name.to_owned()));
    }
    let user = effective_user();
    Ok(format!("fathom-event-{user}-{plain}"))
}

impl NamedEvent {
    /// The event of this name, which is created if nobody uses it yet.
    pub fn create(name: &str) -> Result<Self, EventError> {
        Self::open(name, true)
    }

    /// The event of this name, which some process must use already.
    pub fn open_existing(name: &str) -> Result<Self, EventError> {
        Self::open(name, false)
    }

    fn open(name: &str, create: bool) -> Result<Self, EventError> {
        let path = folder().join(file_name(name)?);
        let failed = |source| EventError::File { name: name.to_owned(), source };
        loop {
            let file = match open_file(&path, create) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && !create => {
                    return Err(EventError::Missing(name.to_owned()));
                }
                other => other.map_err(failed)?,
            };
            let alone = lock(&file, libc::LOCK_EX | libc::LOCK_NB).is_ok();
            if !alone {
                lock(&file, libc::LOCK_SH).map_err(failed)?;
            }
            // Between opening and locking, the last user may have removed the file.
            if !still_named(&file, &path) {
                continue;
            }
            if alone && !create {
                // Best effort: a file that somebody left behind serves nobody.
                let _removed = std::fs::remove_file(&path);
                return Err(EventError::Missing(name.to_owned()));
            }
            return Self::join(file, path, alone).map_err(failed);
        }
    }

    fn join(file: File, path: PathBuf, alone: bool) -> io::Result<Self> {
        file.set_len(WORD_BYTES as u64)?;
        let event = Self { word: map_word(&file)?, file, path };
        if alone {
            event.word().store(0, Ordering::SeqCst);
            lock(&event.file, libc::LOCK_SH)?;
        }
        Ok(event)
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: the mapping holds one aligned word and is unmapped only when `self` is dropped.
        unsafe { self.word.as_ref() }
    }

    /// Signals the event; it stays signalled.
    pub fn set(&self) {
        self.word().store(SIGNALLED, Ordering::SeqCst);
        // SAFETY: the address is that of a mapped word; waking reads nothing else.
        unsafe {
            libc::syscall(libc::SYS_futex, self.word.as_ptr(), libc::FUTEX_WAKE, i32::MAX);
        }
    }

    /// Whether the event is signalled.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.word().load(Ordering::SeqCst) == SIGNALLED
    }

    /// Waits until the event is signalled, at most `timeout_ns`; whether it is.
    #[must_use]
    pub fn wait(&self, timeout_ns: u64) -> bool {
        if self.is_set() {
            return true;
        }
        let time = timespec(timeout_ns);
        // SAFETY: the address is that of a mapped word, and `time` outlives the call.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.word.as_ptr(),
                libc::FUTEX_WAIT,
                0_u32,
                &raw const time,
            );
        }
        self.is_set()
    }
}

impl Drop for NamedEvent {
    fn drop(&mut self) {
        // SAFETY: the word was mapped by `map_word` with this length and is unmapped only here.
        unsafe { libc::munmap(self.word.as_ptr().cast(), WORD_BYTES) };
        let last = lock(&self.file, libc::LOCK_EX | libc::LOCK_NB).is_ok();
        if last && still_named(&self.file, &self.path) {
            // If it stays, the next user finds it unlocked and resets it.
            let _removed = std::fs::remove_file(&self.path);
        }
        // A process that is just being started has a copy of the descriptor, which would keep the lock.
        let _ = lock(&self.file, libc::LOCK_UN);
    }
}

fn folder() -> PathBuf {
    let shared = PathBuf::from("/dev/shm");
    if shared.is_dir() { shared } else { std::env::temp_dir() }
}

fn open_file(path: &PathBuf, create: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(create).mode(0o600);
    options.custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC).open(path)
}

fn still_named(file: &File, path: &PathBuf) -> bool {
    let (Ok(open), Ok(named)) = (file.metadata(), std::fs::symlink_metadata(path)) else {
        return false;
    };
    (open.dev(), open.ino()) == (named.dev(), named.ino())
}

fn map_word(file: &File) -> io::Result<NonNull<AtomicU32>> {
    // SAFETY: a shared file mapping at an address of the kernel's choice aliases no Rust object.
    let address = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            WORD_BYTES,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    if address == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(address.cast()).ok_or_else(|| io::Error::other("the kernel mapped the null page"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(of: &str) -> String {
        format!("unit-test-{of}-{}", std::process::id())
    }

    #[test]
    fn an_event_is_shared_by_its_name_and_stays_signalled() {
        let name = name("shared");
        let (one, other) = (NamedEvent::create(&name).unwrap(), NamedEvent::create(&name).unwrap());
        assert!(!other.wait(1_000_000));
        one.set();
        assert!(other.wait(1_000_000) && other.is_set() && one.is_set());
    }

    #[test]
    fn the_last_user_takes_the_event_away() {
        let name = name("last");
        let event = NamedEvent::create(&name).unwrap();
        event.set();
        drop(event);
        assert!(matches!(NamedEvent::open_existing(&name), Err(EventError::Missing(_))));
        assert!(!NamedEvent::create(&name).unwrap().is_set());
    }

    #[test]
    fn a_file_that_a_dead_process_left_is_not_signalled() {
        let name = name("stale");
        let path = folder().join(file_name(&name).unwrap());
        std::fs::write(&path, SIGNALLED.to_ne_bytes()).unwrap();
        assert!(matches!(NamedEvent::open_existing(&name), Err(EventError::Missing(_))));
        std::fs::write(&path, SIGNALLED.to_ne_bytes()).unwrap();
        assert!(!NamedEvent::create(&name).unwrap().is_set());
        assert!(!path.exists());
    }

    #[test]
    fn names_are_checked() {
        for wrong in ["", "a/b", "../x", "new\nline", &"x".repeat(201), r"Global\"] {
            assert!(check_name(wrong).is_err(), "{wrong:?}");
        }
        assert!(check_name(r"Global\go").is_ok());
    }
}

//! Who else has files open for writing, as the kernel tells while it happens (`fanotify(7)`).
//!
//! What is reported is that a file was opened, and that one that was open for writing was closed: nothing is
//! told, queued or paid for an I/O. Without `CAP_SYS_ADMIN` the kernel names no other process, but it still
//! says whether it was this one. It needs Linux 5.13 then, and Linux 5.1 with the capability.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd};
use std::time::Duration;

/// `FAN_REPORT_FID` of `linux/fanotify.h`: files are known by their handle, and none is opened for that.
const REPORT_FID: libc::c_uint = 0x200;
/// `FAN_EVENT_INFO_TYPE_FID`.
const INFO_FID: u8 = 1;
/// Bytes of `struct fanotify_event_metadata`.
const HEAD_BYTES: usize = 24;
/// Bytes of an information record before the handle: its head, and the number of the file system.
const INFO_BYTES: usize = 12;
/// Bytes of a handle before what the file system says (`struct file_handle`).
const HANDLE_BYTES: usize = 8;
/// The kernel's limit (`MAX_HANDLE_SZ`).
const HANDLE_BYTES_MAX: u32 = 128;

/// How the file system calls a file (`name_to_handle_at(2)`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(Vec<u8>);

/// Something that was done to a file that is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deed {
    /// The process that did it; 0 if the kernel does not name it, which is then not this one.
    pub pid: u32,
    /// The file; absent if that cannot be told, and where more was done than the kernel could note.
    pub file: Option<Handle>,
    /// It was open for writing, and was closed. Otherwise it was opened, for whatever.
    pub was_closed: bool,
}

impl Deed {
    /// Something that is not known: anybody may have written to any file.
    #[must_use]
    pub fn unknown() -> Self {
        Self { pid: 0, file: None, was_closed: true }
    }
}

/// A look at who opens and closes some files, until it is dropped.
#[derive(Debug)]
pub struct Watch(File);

impl Watch {
    /// A watch over nothing yet.
    ///
    /// # Errors
    /// If the kernel has none for this process: it is too old, forbids it, or a limit is reached.
    pub fn new() -> io::Result<Self> {
        let flags = REPORT_FID | libc::FAN_CLASS_NOTIF | libc::FAN_CLOEXEC | libc::FAN_NONBLOCK;
        // SAFETY: both arguments are integers.
        let group = unsafe { libc::fanotify_init(flags, libc::O_RDONLY.cast_unsigned()) };
        if group < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given this descriptor, which nobody else owns.
        Ok(Self(unsafe { File::from_raw_fd(group) }))
    }

    /// Watches an open file from now on, also after it was closed here.
    ///
    /// # Errors
    /// If its file system has no handles, or the kernel refuses.
    pub fn add(&self, file: &File) -> io::Result<Handle> {
        let handle = handle_of(file)?;
        let mask = libc::FAN_OPEN | libc::FAN_CLOSE_WRITE;
        // SAFETY: both descriptors are open for as long as they are borrowed; without a path the second one
        // is what is marked.
        let status = unsafe {
            let (group, file) = (self.0.as_raw_fd(), file.as_raw_fd());
            libc::fanotify_mark(group, libc::FAN_MARK_ADD, mask, file, std::ptr::null())
        };
        if status == 0 { Ok(handle) } else { Err(io::Error::last_os_error()) }
    }

    /// What other processes have done since the last call.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn deeds_of_others(&self) -> io::Result<Vec<Deed>> {
        let mut deeds = Vec::new();
        let mut told = vec![0; 1 << 16];
        loop {
            match (&self.0).read(&mut told) {
                Ok(0) => return Ok(deeds),
                Ok(length) => read_all(&told[..length], &mut deeds),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(deeds),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until something was done, or for this long.
    pub fn wait(&self, longest: Duration) {
        let mut asked = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let longest_ms = libc::c_int::try_from(longest.as_millis()).unwrap_or(libc::c_int::MAX);
        // SAFETY: one entry is passed, which outlives the call. An early end is as good as any.
        unsafe { libc::poll(&raw mut asked, 1, longest_ms) };
    }
}

fn handle_of(file: &File) -> io::Result<Handle> {
    // Words, as the structure begins with integers of 32 bits.
    let mut handle = [0_u32; (HANDLE_BYTES + HANDLE_BYTES_MAX as usize) / 4];
    handle[0] = HANDLE_BYTES_MAX;
    let mut mount: libc::c_int = 0;
    // SAFETY: the path is an empty NUL-terminated string, `handle` has room for what its first word says,
    // and all outlive the call.
    let status = unsafe {
        libc::syscall(
            libc::SYS_name_to_handle_at,
            file.as_raw_fd(),
            c"".as_ptr(),
            handle.as_mut_ptr(),
            &raw mut mount,
            libc::AT_EMPTY_PATH,
        )
    };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    let bytes: Vec<u8> = handle.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let length = HANDLE_BYTES + handle[0].min(HANDLE_BYTES_MAX) as usize;
    Ok(Handle(bytes[..length].to_vec()))
}

/// Reads what the kernel has told at once; what this process did itself is left out.
fn read_all(mut told: &[u8], deeds: &mut Vec<Deed>) {
    while let Some(length) = word(told, 0).map(|length| length as usize) {
        let Some(event) = told.get(..length).filter(|event| event.len() >= HEAD_BYTES) else {
            // It cannot be told what that is about.
            return deeds.push(Deed::unknown());
        };
        deeds.extend(deed(event).filter(|deed| deed.pid != std::process::id()));
        told = &told[length..];
    }
}

fn deed(event: &[u8]) -> Option<Deed> {
    let mask = event.get(8..16)?.try_into().map(u64::from_ne_bytes).ok()?;
    let pid = word(event, 20)?;
    if mask & libc::FAN_Q_OVERFLOW != 0 {
        return Some(Deed::unknown());
    }
    let was_closed = mask & libc::FAN_CLOSE_WRITE != 0;
    let head = usize::from(u16::from_ne_bytes(event.get(6..8)?.try_into().ok()?));
    Some(Deed { pid, file: handle_in(event.get(head..)?), was_closed })
}

/// The handle in the information record behind an event.
fn handle_in(info: &[u8]) -> Option<Handle> {
    let handle = info.get(INFO_BYTES..).filter(|_| info[0] == INFO_FID)?;
    let length = HANDLE_BYTES + word(handle, 0)? as usize;
    handle.get(..length).map(|handle| Handle(handle.to_vec()))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().map(u32::from_ne_bytes).ok()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::process::Command;

    use super::*;

    #[test]
    fn what_others_open_and_close_is_told_and_what_this_process_does_is_not() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let (one, other) = (home.path().join("one"), home.path().join("other"));
        fs::write(&one, "one").expect("a file");
        fs::write(&other, "other").expect("a file");
        let Ok(watch) = Watch::new() else { return }; // This kernel has none.
        let add = |path| watch.add(&File::open(path).expect("a file"));
        let (Ok(first), Ok(second)) = (add(&one), add(&other)) else {
            return; // This file system has no handles.
        };
        assert_ne!(first, second);
        for path in [&one, &other] {
            drop(OpenOptions::new().write(true).open(path).expect("open"));
        }
        assert_eq!(watch.deeds_of_others().expect("told"), [], "only this process");
        let shell = |line: &str| {
            let done = Command::new("sh").args(["-c", line, "-"]).arg(&one).status();
            assert!(done.expect("a shell").success());
        };
        shell("cat \"$1\" >/dev/null");
        let read = watch.deeds_of_others().expect("told");
        assert!(read.iter().all(|deed| deed.pid != std::process::id() && !deed.was_closed));
        assert!(read.iter().any(|deed| deed.file.as_ref() == Some(&first)), "{read:?}");
        shell("printf x >>\"$1\"");
        watch.wait(Duration::from_secs(10));
        let written = watch.deeds_of_others().expect("told");
        assert!(written.iter().any(|deed| deed.was_closed), "{written:?}");
        assert!(written.iter().all(|deed| deed.file.as_ref() == Some(&first)), "{written:?}");
    }

    #[test]
    fn what_cannot_be_read_is_about_every_file() {
        let mut deeds = Vec::new();
        read_all(&[200, 0, 0, 0, 1, 2, 3], &mut deeds);
        assert_eq!(deeds, [Deed::unknown()]);
    }
}

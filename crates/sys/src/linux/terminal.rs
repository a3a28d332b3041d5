//! A question at the terminal whose answer is not shown.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;

/// Longer answers are none.
const ANSWER_BYTES_MAX: usize = 1024;
/// What Ctrl-C and Ctrl-D become while the terminal does not act on them.
const INTERRUPT: u8 = 3;
const END: u8 = 4;

/// The terminal of this process, with its settings as they were.
struct Quiet {
    terminal: File,
    before: libc::termios,
}

impl Quiet {
    /// Shows nothing of what is typed. Ctrl-C is read as a character, so that the settings never stay.
    fn begin(terminal: File) -> io::Result<Self> {
        let mut before = MaybeUninit::<libc::termios>::uninit();
        // SAFETY: the pointer is valid for the write of one termios.
        if unsafe { libc::tcgetattr(terminal.as_raw_fd(), before.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call that succeeded has written all of it.
        let before = unsafe { before.assume_init() };
        let quiet = Self { terminal, before };
        let mut changed = quiet.before;
        changed.c_lflag &= !(libc::ECHO | libc::ICANON | libc::ISIG);
        quiet.set(&changed)?;
        Ok(quiet)
    }

    fn set(&self, settings: &libc::termios) -> io::Result<()> {
        // SAFETY: `settings` is a valid termios that outlives the call.
        let result = unsafe {
            libc::tcsetattr(
                self.terminal.as_raw_fd(),
                libc::TCSAFLUSH,
                std::ptr::from_ref(settings),
            )
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // Nobody is left whom a failure would concern.
        let _ = self.set(&self.before);
    }
}

/// Asks at the terminal of this process, and shows nothing of the answer; none if it was broken off with
/// Ctrl-C or Ctrl-D.
///
/// # Errors
/// If this process has no terminal.
pub fn ask_secretly(question: &str) -> io::Result<Option<Vec<u8>>> {
    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
    let mut quiet = Quiet::begin(terminal)?;
    quiet.terminal.write_all(question.as_bytes())?;
    let answer = read_answer(&mut quiet.terminal);
    quiet.terminal.write_all(b"\n")?;
    answer
}

fn read_answer(terminal: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    // Its place never changes, so that no copy of a secret is left behind.
    let mut answer = Vec::with_capacity(ANSWER_BYTES_MAX);
    let mut typed = [0];
    loop {
        if terminal.read(&mut typed)? == 0 {
            return Ok(None);
        }
        match typed[0] {
            b'\n' | b'\r' => return Ok(Some(answer)),
            INTERRUPT => return Ok(None),
            END if answer.is_empty() => return Ok(None),
            // Backspace takes back one character, of however many bytes.
            8 | 127 => while answer.pop().is_some_and(|byte: u8| byte & 0xC0 == 0x80) {},
            byte if answer.len() < ANSWER_BYTES_MAX => answer.push(byte),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_ends_with_its_line_and_can_be_corrected_and_broken_off() {
        for (typed, answer) in [
            (&b"s3cret\nmore"[..], Some(&b"s3cret"[..])),
            (b"s3creX\x7ft\r", Some(b"s3cret")),
            ("a\u{fc}\u{8}b\n".as_bytes(), Some(b"ab")),
            (b"\x7f\n", Some(b"")),
            (b"s3c\x03", None),
            (b"\x04", None),
            (b"s3c", None),
        ] {
            assert_eq!(read_answer(&mut &*typed).unwrap().as_deref(), answer, "{typed:?}");
        }
    }
}

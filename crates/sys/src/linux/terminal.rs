//! Questions at the terminal: an answer that is not shown, and waiting that ends when the program has to.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// Longer answers are none.
const ANSWER_BYTES_MAX: usize = 1024;
/// What Ctrl-C, Ctrl-D, Ctrl-Z and Ctrl-\ become while the terminal does not act on them.
const INTERRUPT: u8 = 3;
const END: u8 = 4;
const SUSPEND: u8 = 26;
const QUIT: u8 = 28;
/// How often it is looked whether the program has to end.
const TURN_MS: i32 = 50;

/// What a question came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// This was typed.
    Typed(Vec<u8>),
    /// No more will be typed (Ctrl-D, or the terminal has gone).
    Nothing,
    /// The program has to end (Ctrl-C, or a signal).
    Interrupted,
}

/// Whether the program has to end.
pub type IsOver<'a> = &'a dyn Fn() -> bool;

/// Waits until a descriptor has something to read; false if the program has to end before.
fn wait_for(descriptor: BorrowedFd<'_>, is_over: IsOver<'_>) -> io::Result<bool> {
    let mut asked = libc::pollfd { fd: descriptor.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    loop {
        if is_over() {
            return Ok(false);
        }
        // SAFETY: the pointer is to one pollfd, which outlives the call.
        match unsafe { libc::poll(&raw mut asked, 1, TURN_MS) } {
            0 => {}
            1.. => return Ok(true),
            _ => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
}

/// Waits until a line has been typed at standard input, which is a terminal; false if the program has to end
/// before.
///
/// # Errors
/// If the system cannot tell.
pub fn wait_for_line(is_over: IsOver<'_>) -> io::Result<bool> {
    wait_for(io::stdin().as_fd(), is_over)
}

/// A terminal whose reads end when the program has to.
struct Watched<'a> {
    terminal: &'a File,
    is_over: IsOver<'a>,
}

impl Read for Watched<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if wait_for(self.terminal.as_fd(), self.is_over)? {
            return self.terminal.read(into);
        }
        into[0] = INTERRUPT;
        Ok(1)
    }
}

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

/// Asks at the terminal of this process, and shows nothing of the answer. The terminal shows again what is
/// typed when this returns, however it ends.
///
/// # Errors
/// If this process has no terminal.
pub fn ask_secretly(question: &str, is_over: IsOver<'_>) -> io::Result<Answer> {
    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
    let mut quiet = Quiet::begin(terminal)?;
    quiet.terminal.write_all(question.as_bytes())?;
    let answer = read_answer(&mut Watched { terminal: &quiet.terminal, is_over });
    // A terminal that has gone is no reason to lose the answer.
    let _ = quiet.terminal.write_all(b"\n");
    answer
}

fn read_answer(terminal: &mut impl Read) -> io::Result<Answer> {
    // Its place never changes, so that no copy of a secret is left behind.
    let mut answer = Vec::with_capacity(ANSWER_BYTES_MAX);
    let mut typed = [0];
    loop {
        if terminal.read(&mut typed)? == 0 {
            return Ok(Answer::Nothing);
        }
        match typed[0] {
            b'\n' | b'\r' => return Ok(Answer::Typed(answer)),
            INTERRUPT | QUIT => return Ok(Answer::Interrupted),
            END if answer.is_empty() => return Ok(Answer::Nothing),
            SUSPEND => {}
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
        let typed = |text: &str| Answer::Typed(text.as_bytes().to_vec());
        for (input, answer) in [
            (&b"s3cret\nmore"[..], typed("s3cret")),
            (b"s3creX\x7ft\r", typed("s3cret")),
            ("a\u{fc}\u{8}b\n".as_bytes(), typed("ab")),
            (b"\x7f\n", typed("")),
            (b"s3\x1acret\n", typed("s3cret")),
            (b"s3c\x03", Answer::Interrupted),
            (b"s3c\x1c", Answer::Interrupted),
            (b"\x04", Answer::Nothing),
            (b"s3c", Answer::Nothing),
        ] {
            assert_eq!(read_answer(&mut &*input).unwrap(), answer, "{input:?}");
        }
    }

    #[test]
    fn a_program_that_has_to_end_waits_for_nobody() {
        let (nobody, _types) = std::io::pipe().unwrap();
        let terminal = File::from(std::os::fd::OwnedFd::from(nobody));
        let mut watched = Watched { terminal: &terminal, is_over: &|| true };
        assert_eq!(read_answer(&mut watched).unwrap(), Answer::Interrupted);
    }
}

//! Questions to the person at the terminal. Ctrl-C ends the program there as everywhere.

use std::io::{self, BufRead, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use fathom_core::shown::shown;
use fathom_sys::terminal::{Answer, ask_secretly, wait_for_line};

/// The program was ended at a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupted;

/// Asks, until the program has to end.
pub struct Questions<'a> {
    stop: &'a AtomicBool,
}

impl<'a> Questions<'a> {
    pub fn new(stop: &'a AtomicBool) -> Self {
        Self { stop }
    }

    /// Whether there is a person to ask.
    #[expect(clippy::unused_self, reason = "it is a question to them")]
    pub fn can_be_asked(&self) -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Whether the program has to end.
    pub fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// A line without the blanks around it; nothing if none will be typed.
    pub fn ask_openly(&self, question: &str) -> Result<Option<String>, Interrupted> {
        let mut out = io::stderr().lock();
        if out.write_all(shown(question).as_bytes()).and_then(|()| out.flush()).is_err() {
            return Ok(None);
        }
        match wait_for_line(&|| self.is_over()) {
            Ok(true) => {}
            Ok(false) => {
                let _ = out.write_all(b"\n");
                return Err(Interrupted);
            }
            Err(_) => return Ok(None),
        }
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line);
        Ok(read.ok().filter(|bytes| *bytes > 0).map(|_| line.trim().to_owned()))
    }

    /// What is typed without being shown; nothing if nothing is.
    pub fn ask_secretly(&self, question: &str) -> Result<Option<Vec<u8>>, Interrupted> {
        match ask_secretly(&shown(question), &|| self.is_over()) {
            Ok(Answer::Typed(answer)) => Ok(Some(answer)),
            Ok(Answer::Interrupted) => Err(Interrupted),
            // Without an answer the run says what the server wants.
            Ok(Answer::Nothing) | Err(_) => Ok(None),
        }
    }
}

//! Asking at a terminal for leave to write to a device.

use std::io::{self, BufRead, IsTerminal, Write};

use fathom_core::guard::{DeviceLabel, Refusals};
use fathom_core::shown::shown;

/// The words that give leave to write to all devices that lack nothing else, typed by the person at the
/// terminal; nothing if there is none, if something else stands against the run, or if it is not typed.
pub fn ask(refusals: &Refusals) -> Option<Vec<String>> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return None;
    }
    let labels = refusals.only_lacking_leave()?;
    labels.into_iter().map(ask_for).collect()
}

fn ask_for(label: &DeviceLabel) -> Option<String> {
    let word = label.tokens.first()?;
    let (path, what) = (&label.path, label.in_words());
    let question = format!(
        "All data on {path} ({what}) would be lost. Type {word} to go on, or anything else to end: "
    );
    let mut out = io::stderr().lock();
    out.write_all(shown(&question).as_bytes()).and_then(|()| out.flush()).ok()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).ok()?;
    let typed = line.trim().to_owned();
    label.is_allowed_by(std::slice::from_ref(&typed)).then_some(typed)
}

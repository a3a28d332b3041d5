//! Asking at a terminal for permission to write to a device.

use fathom_core::guard::{DeviceLabel, Refusals};

use crate::question::{Interrupted, Questions};

/// The words that permit writing to all devices that lack nothing else, typed by the person at the
/// terminal; nothing if there is none, if something else stands against the run, or if it is not typed.
pub fn ask(
    refusals: &Refusals,
    questions: &Questions<'_>,
) -> Result<Option<Vec<String>>, Interrupted> {
    if !questions.can_be_asked() {
        return Ok(None);
    }
    let Some(labels) = refusals.only_lacking_leave() else { return Ok(None) };
    labels.into_iter().map(|label| ask_for(label, questions)).collect()
}

fn ask_for(label: &DeviceLabel, questions: &Questions<'_>) -> Result<Option<String>, Interrupted> {
    let Some(word) = label.tokens.first() else { return Ok(None) };
    let (path, what) = (&label.path, label.in_words());
    let question = format!(
        "All data on {path} ({what}) would be lost. Type {word} to go on, or anything else to end: "
    );
    let typed = questions.ask_openly(&question)?;
    Ok(typed.filter(|typed| label.is_allowed_by(std::slice::from_ref(typed))))
}

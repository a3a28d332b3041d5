//! Why a time span ended, where rules might have ended it.

use crate::result::{TimeSpanResult, stop};

/// One line per sentence; nothing without rules.
pub fn write(text: &mut String, index: usize, span: &TimeSpanResult) {
    let sentences = stop::sentences(span);
    if sentences.is_empty() {
        return;
    }
    text.push_str(&format!("\nEnd of timespan {}:\n", index + 1));
    for sentence in sentences {
        text.push_str(&format!("{sentence}\n"));
    }
}

//! JSON results: nothing makes the reader panic, and what it accepts can be shown in every form.

use fathom_core::dialect::diskspd::{result_text, result_xml};
use fathom_core::report::json;

/// Reads one input.
pub fn one(text: &str) {
    if let Ok(result) = json::read(text) {
        let written = json::write(&result);
        let again = json::read(&written).expect("what was written is read");
        assert_eq!(json::write(&again), written);
        assert!(!result_text::write(&result).is_empty());
        assert!(!result_xml::write(&result).is_empty());
    }
}

//! verify_journal under libFuzzer; what must hold is in `readers`.
#![no_main]

#[path = "../readers/verify_journal.rs"]
mod reader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| reader::one(data));

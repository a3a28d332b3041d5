//! arguments under libFuzzer; what must hold is in `readers`.
#![no_main]

#[path = "../readers/arguments.rs"]
mod reader;

libfuzzer_sys::fuzz_target!(|text: &str| reader::one(text));

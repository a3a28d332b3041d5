//! result_json under libFuzzer; what must hold is in `readers`.
#![no_main]

#[path = "../readers/result_json.rs"]
mod reader;

libfuzzer_sys::fuzz_target!(|text: &str| reader::one(text));

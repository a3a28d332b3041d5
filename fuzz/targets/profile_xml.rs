//! profile_xml under libFuzzer; what must hold is in `readers`.
#![no_main]

#[path = "../readers/profile_xml.rs"]
mod reader;

libfuzzer_sys::fuzz_target!(|xml: &str| reader::one(xml));

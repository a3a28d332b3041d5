//! XML profiles: nothing makes the reader panic, and what it accepts is written and read back the same.
#![no_main]

use fathom_core::diskspd::profile_xml::{read, write};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|xml: &str| {
    if let Ok(profile) = read(xml) {
        let written = write(&profile);
        assert_eq!(read(&written).as_ref(), Ok(&profile), "{written}");
    }
});

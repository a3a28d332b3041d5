//! XML profiles: nothing makes the reader panic, and a profile that may be run is written and read back the
//! same.

use fathom_core::dialect::diskspd::parse::{Invocation, Outside, parse};
use fathom_core::dialect::diskspd::profile_xml::{decode, read, write};

/// Reads one input.
pub fn one(xml: &str) {
    let _unchecked = read(xml);
    for mark in [&b""[..], b"\xff\xfe", b"\xfe\xff", b"<?xml encoding='windows-1252'?>"] {
        let _text = decode([mark, xml.as_bytes()].concat());
    }
    let outside = Outside { read_file: &|_| Ok(xml.as_bytes().to_vec()), fresh_seed: 1 };
    let args = ["-Rpxml", "-Xp.xml"].map(str::to_owned);
    if let Ok(Invocation::Run(request)) = parse(&args, &outside) {
        let written = write(request.job.profile());
        assert_eq!(read(&written).as_ref(), Ok(request.job.profile()), "{written}");
    }
}

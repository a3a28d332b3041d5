//! Command lines, one argument a line: nothing makes the parser panic, each refusal says why, and what is
//! accepted is the same profile after a way through XML.

use fathom_core::dialect::diskspd::parse::{Invocation, Outside, parse};
use fathom_core::dialect::diskspd::profile_xml::{read, write};

/// What a profile file or a file with write data holds here.
const FILE: &[u8] = b"<Profile/>";

/// Reads one input.
pub fn one(text: &str) {
    let args: Vec<String> = text.split('\n').map(str::to_owned).collect();
    let outside = Outside { read_file: &|_| Ok(FILE.to_vec()), fresh_seed: 1 };
    match parse(&args, &outside) {
        Ok(Invocation::Run(request)) => {
            // A template stands in for a target that is named where the profile is used, and XML 1.0 has
            // no way to write control characters.
            let can_return = |arg: &String| {
                !arg.starts_with('*')
                    && !arg.contains(|c| matches!(c, '\0'..' ' | '\u{fffe}' | '\u{ffff}'))
            };
            if args.iter().all(can_return) {
                let xml = write(request.job.profile());
                assert_eq!(read(&xml).as_ref(), Ok(request.job.profile()), "{xml}");
            }
        }
        Ok(_) => {}
        Err(refusal) => assert!(!refusal.errors.is_empty()),
    }
}

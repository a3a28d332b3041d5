//! `DiskSpd`'s profile XML.
//!
//! What `DiskSpd`'s schema has no element for (new random data for each write, named events, rules that
//! end the measured time) is kept in
//! processing instructions named `fathom`, which `DiskSpd` ignores.

mod attributes;
mod decode;
mod extensions;
mod fields;
mod lines;
mod read;
mod target;
pub mod template;
mod tuning;
mod write;

pub use decode::decode;
pub use lines::{SpanLines, lines};
pub use read::{ProfileXmlError, TEXT_LIMIT_BYTES, read, read_file, read_with};
pub use write::{write, write_indented};

/// The name of our processing instructions.
const INSTRUCTION: &str = "fathom";
/// Each write gets new random data; inside `WriteBufferContent`.
const FRESH_RANDOM: &str = "fresh-random";

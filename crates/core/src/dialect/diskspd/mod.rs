//! `DiskSpd`'s own words: its command line, its XML and its text. They live here and nowhere else.

pub mod affinity;
pub mod distribution;
pub mod draft;
mod etw;
pub mod extensions;
mod faults;
pub mod flags;
pub mod manual;
pub mod number;
pub mod parse;
pub mod profile_text;
pub mod profile_xml;
pub mod result_text;
pub mod result_xml;
pub mod stop;
pub mod system;
mod topology;
pub mod validate;
pub mod warned;
mod xml;

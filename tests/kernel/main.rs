//! On a real kernel: what only real files, file systems and devices can show.

mod affinity;
mod bench;
mod beneath;
mod blinded;
mod cost;
mod danger;
mod devices;
mod effects;
mod engines;
mod events;
mod facts;
mod faults;
mod guarded;
mod json_places;
mod kernel_events;
mod latency;
mod many;
mod meanwhile;
mod mix;
#[path = "../support/one_file.rs"]
mod one_file;
mod payload;
mod policy;
mod prepare;
mod privileges;
mod privileges_table;
mod rates;
mod reduction;
mod signals;
mod sources;
mod stalling;
mod states;
mod stop;
mod sums;
#[path = "../support/test_data.rs"]
mod test_data;
mod time_spans;
mod tuning;
mod turns;
mod unreadable;
mod unseen;
mod verify;
mod verify_journal;

//! Linux.

pub mod aio;
pub mod attributes;
mod bare;
pub mod blkid;
pub mod buffers;
mod bus_error;
pub mod cache;
pub mod clock;
pub mod cpu;
pub mod device;
pub mod discard;
pub mod errno;
pub mod event;
pub mod extents;
pub mod file;
pub mod file_state;
mod files;
pub mod hand_off;
pub mod held;
pub mod holders;
pub mod host;
pub mod identity;
pub mod kernel_files;
pub mod lease;
pub mod limits;
pub mod loops;
pub mod mapping;
pub mod memory_file;
pub mod privileges;
pub mod process;
pub mod reached;
mod reserve;
pub mod residency;
pub mod ring;
pub mod socket;
pub mod space;
mod stream;
pub mod terminal;
pub mod thread;
pub mod tick_clock;
pub mod trace;
pub mod transfer;
pub mod watch;
pub mod words;

#[cfg(test)]
mod transfer_tests;

//! Each option of the command line does its work on a real kernel: seen in system calls, in `/proc`, in the
//! page cache or in the result, and never where the option is not given.

mod caching;
mod cpus;
mod digits;
mod mapping;
mod memory;
mod offsets;
mod opening;
mod phases;
mod priority;
mod queues;
mod signals;
pub mod trace;

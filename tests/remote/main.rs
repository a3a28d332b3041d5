//! The binary against real servers of block devices: counts, data, guard, faults, and what is told of the
//! network.

mod faults;
mod guard;
mod iscsi;
mod nbd;
mod run;
#[path = "../net/server.rs"]
#[allow(dead_code)] // The tests of the clients use the rest.
mod server;

//! The binary against real servers: counts, data, guard, faults, and what is reported of the
//! network.

mod breaking;
mod broken;
mod faults;
#[path = "../net/files.rs"]
#[allow(dead_code)] // The tests of the clients use the rest.
mod files;
#[path = "../net/ganesha.rs"]
#[allow(dead_code)]
mod ganesha;
mod guard;
mod iscsi;
mod links;
#[path = "../net/load.rs"]
#[allow(dead_code)]
mod load;
#[path = "../net/namespace.rs"]
#[allow(dead_code)]
mod namespace;
mod nbd;
#[path = "../net/ports.rs"]
mod ports;
mod reconnect;
mod rewriting;
mod run;
#[path = "../net/samba.rs"]
#[allow(dead_code)]
mod samba;
#[path = "../net/server.rs"]
#[allow(dead_code)]
mod server;
mod sessions;
mod shares;
#[path = "../net/tap.rs"]
#[allow(dead_code)]
mod tap;

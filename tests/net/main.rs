//! Clients of the network protocols, against real servers on loopback.

mod garbled;
mod garbled_iscsi;
mod iscsi;
mod load;
mod nbd;
mod nbd_faults;
mod nbd_tls;
mod server;

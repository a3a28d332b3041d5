//! Clients of the network protocols, against real servers on loopback.

mod chap;
mod files;
#[allow(dead_code)] // The tests of the binary start it again.
mod ganesha;
mod garbled;
mod garbled_iscsi;
mod garbled_nfs;
mod garbled_smb;
mod iscsi;
mod load;
mod namespace;
mod nbd;
mod nbd_faults;
mod nbd_tls;
mod nfs;
mod nfs3;
mod ports;
#[allow(dead_code)]
mod samba;
#[allow(dead_code)]
mod server;
mod smb;
mod speaker;
mod tap;

//! Ports for servers that are still to be started.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

/// Below the ports that the kernel gives to those who connect (`ip_local_port_range`), which took one now and
/// then before its server had it.
const FIRST: u32 = 10_000;
const COUNT: u32 = 20_000;
/// Each process begins elsewhere.
const APART: u32 = 101;

/// A port of loopback that nobody uses.
pub fn free_port() -> u16 {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(APART);
    loop {
        let next = first.wrapping_add(TAKEN.fetch_add(1, Ordering::Relaxed));
        let port = u16::try_from(FIRST + next % COUNT).expect("it is below 30,000");
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

//! A proxy in front of any server that passes all on until so many bytes of answers have gone by, and then
//! does what servers and networks do.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// Nothing comes any more.
    Stall,
    /// What comes makes no sense.
    Garble,
    /// The connection ends.
    Cut,
}

/// Bytes of answers that a load has had by then, and that nothing before it has.
const AFTER_BYTES: u64 = 2 << 20;

/// The port of the proxy.
pub fn breaking_proxy(server_port: u16, how: Break) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let passed = Arc::new(AtomicU64::new(0));
    std::thread::spawn(move || {
        while let Ok((near, _)) = listener.accept() {
            let far = TcpStream::connect(("127.0.0.1", server_port)).expect("the server has ended");
            near.set_nodelay(true).unwrap();
            far.set_nodelay(true).unwrap();
            let passed = Arc::clone(&passed);
            std::thread::spawn(move || serve(&near, &far, how, &passed));
        }
    });
    port
}

fn serve(near: &TcpStream, far: &TcpStream, how: Break, passed: &AtomicU64) {
    let (mut from, mut to) = (near.try_clone().unwrap(), far.try_clone().unwrap());
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
    let (mut near, mut far, mut buffer) = (near, far, vec![0; 65536]);
    while let Ok(bytes @ 1..) = far.read(&mut buffer) {
        if passed.fetch_add(bytes as u64, Ordering::Relaxed) > AFTER_BYTES {
            match how {
                Break::Stall => continue,
                Break::Garble => buffer[..bytes].fill(0xFF),
                Break::Cut => break,
            }
        }
        if near.write_all(&buffer[..bytes]).is_err() {
            break;
        }
    }
    let _ = near.shutdown(Shutdown::Both);
    let _ = far.shutdown(Shutdown::Both);
}

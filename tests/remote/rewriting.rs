//! A proxy in front of a server that passes all on, and changes some of the messages that the server sends.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Reads one whole message of the server; nothing if it has ended.
pub type Next = fn(&mut TcpStream) -> Option<Vec<u8>>;

/// One unit of iSCSI.
pub fn unit(from: &mut TcpStream) -> Option<Vec<u8>> {
    let mut unit = vec![0; 48];
    from.read_exact(&mut unit).ok()?;
    let data = u32::from_be_bytes([0, unit[5], unit[6], unit[7]]) as usize;
    let rest = usize::from(unit[4]) * 4 + data.next_multiple_of(4);
    unit.resize(48 + rest, 0);
    from.read_exact(&mut unit[48..]).ok()?;
    Some(unit)
}

/// One record of RPC, with its length.
pub fn record(from: &mut TcpStream) -> Option<Vec<u8>> {
    let mut record = vec![0; 4];
    from.read_exact(&mut record).ok()?;
    let bytes = u32::from_be_bytes(record[..].try_into().unwrap()) & 0x7FFF_FFFF;
    record.resize(4 + bytes as usize, 0);
    from.read_exact(&mut record[4..]).ok()?;
    Some(record)
}

/// Starts it. `change` gets each message, and says whether it has changed it; gives the port, and how many
/// messages were changed.
pub fn rewriting_proxy(
    server_port: u16,
    next: Next,
    change: impl Fn(&mut Vec<u8>) -> bool + Send + Sync + 'static,
) -> (u16, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (change, changed) = (Arc::new(change), Arc::new(AtomicU64::new(0)));
    let count = Arc::clone(&changed);
    std::thread::spawn(move || {
        while let Ok((near, _)) = listener.accept() {
            let far = TcpStream::connect(("127.0.0.1", server_port)).expect("the server has ended");
            near.set_nodelay(true).unwrap();
            far.set_nodelay(true).unwrap();
            let (change, count) = (Arc::clone(&change), Arc::clone(&count));
            std::thread::spawn(move || serve(near, far, next, &*change, &count));
        }
    });
    (port, changed)
}

fn serve(
    mut near: TcpStream,
    mut far: TcpStream,
    next: Next,
    change: &dyn Fn(&mut Vec<u8>) -> bool,
    count: &AtomicU64,
) {
    let (mut from, mut to) = (near.try_clone().unwrap(), far.try_clone().unwrap());
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
    while let Some(mut message) = next(&mut far) {
        if change(&mut message) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        if near.write_all(&message).is_err() {
            break;
        }
    }
    let _ = near.shutdown(Shutdown::Both);
    let _ = far.shutdown(Shutdown::Both);
}

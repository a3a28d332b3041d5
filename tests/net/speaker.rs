//! A server that says what it was given, whatever it hears.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;
use std::time::Duration;

/// The port of a server that says one piece after each thing that it hears, or after this time, and hangs up.
pub fn speaking(pieces: Vec<Vec<u8>>, patience: Duration) -> (u16, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        client.set_nodelay(true).unwrap();
        client.set_read_timeout(Some(patience)).unwrap();
        let mut heard = vec![0; 65_536];
        for piece in &pieces {
            // The client may leave before all is said.
            let _ = client.read(&mut heard);
            let _ = client.write_all(piece);
        }
        let _ = client.shutdown(std::net::Shutdown::Write);
        client.set_read_timeout(None).unwrap();
        let _ = std::io::copy(&mut client, &mut std::io::sink());
    });
    (port, thread)
}

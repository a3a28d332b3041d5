//! A proxy in front of any server that passes all on until so many bytes of answers have gone by, and then
//! does what servers and networks do.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

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

/// What a proxy counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// What the server sends: a look at the data before they are written counts, too.
    Answers,
    /// What the client sends: only writes make much of it.
    Requests,
}

/// A server that can be killed and started again.
pub trait Mortal: Send + 'static {
    fn end(&mut self);
    fn begin(&mut self);
}

/// What is done once.
type Once = Mutex<Option<Box<dyn FnOnce() + Send>>>;

/// The port of a proxy that kills its server once, in the middle of a load, and does something then. It
/// goes on, and ends each connection whose server ends, or that finds none.
pub fn killing_proxy<S: Mortal>(
    server_port: u16,
    counted: Counted,
    server: &Arc<Mutex<S>>,
    then: impl FnOnce(&mut S) + Send + 'static,
) -> u16 {
    let server = Arc::clone(server);
    let strike = move || {
        // Nothing is passed on until it is dead: the load could be over before.
        server.lock().unwrap().end();
        std::thread::spawn(move || {
            then(&mut server.lock().unwrap());
            // The test ends it.
            drop(server);
            // A server may end with the thread that has started it.
            std::thread::park();
        });
    };
    watching_proxy(server_port, counted, strike)
}

fn watching_proxy(server_port: u16, counted: Counted, then: impl FnOnce() + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let then: Arc<Once> = Arc::new(Mutex::new(Some(Box::new(then))));
    let passed = Arc::new(AtomicU64::new(0));
    std::thread::spawn(move || {
        while let Ok((near, _)) = listener.accept() {
            let Ok(far) = TcpStream::connect(("127.0.0.1", server_port)) else { continue };
            near.set_nodelay(true).unwrap();
            far.set_nodelay(true).unwrap();
            for (from, to, kind) in
                [(&near, &far, Counted::Requests), (&far, &near, Counted::Answers)]
            {
                let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                let (then, passed) = (Arc::clone(&then), Arc::clone(&passed));
                let seen = (kind == counted).then_some(passed);
                std::thread::spawn(move || relay(from, to, seen.as_deref(), &then));
            }
        }
    });
    port
}

fn relay(mut from: TcpStream, mut to: TcpStream, passed: Option<&AtomicU64>, then: &Once) {
    let mut buffer = vec![0; 65536];
    while let Ok(bytes @ 1..) = from.read(&mut buffer) {
        if passed.is_some_and(|all| all.fetch_add(bytes as u64, Ordering::Relaxed) > AFTER_BYTES)
            && let Some(then) = then.lock().unwrap().take()
        {
            then();
        }
        if to.write_all(&buffer[..bytes]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
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

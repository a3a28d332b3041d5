//! A proxy that takes down each message of a protocol whose messages begin with their length in four bytes,
//! as those of RPC and SMB do.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The beginning of a message, and whether the client sent it.
#[derive(Debug, Clone)]
pub struct Message {
    pub is_call: bool,
    pub head: Vec<u8>,
}

/// What went by.
#[derive(Debug, Clone, Default)]
pub struct Tap {
    pub port: u16,
    messages: Arc<Mutex<Vec<Message>>>,
}

/// So much of each message is kept.
const HEAD_BYTES: usize = 512;

impl Tap {
    /// Serves one connection; each message of the server is held back for so long.
    pub fn start(server_port: u16, delay: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let tap = Self { port: listener.local_addr().unwrap().port(), ..Self::default() };
        let messages = Arc::clone(&tap.messages);
        std::thread::spawn(move || {
            let (near, _) = listener.accept().unwrap();
            let far = TcpStream::connect(("127.0.0.1", server_port)).unwrap();
            near.set_nodelay(true).unwrap();
            far.set_nodelay(true).unwrap();
            let (from, to) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            let calls = Arc::clone(&messages);
            let forth = std::thread::spawn(move || pass(from, to, &calls, None));
            pass(far, near, &messages, Some(delay));
            let _ = forth.join();
        });
        tap
    }

    pub fn messages(&self) -> Vec<Message> {
        self.messages.lock().unwrap().clone()
    }

    /// Most calls that the server had and that were not answered. What says only that an answer takes longer
    /// (`STATUS_PENDING` of SMB) is none.
    pub fn outstanding_max(&self) -> usize {
        let (mut outstanding, mut most) = (0_usize, 0);
        let is_pending = |message: &Message| message.head.get(8..12) == Some(&[3, 1, 0, 0]);
        let counted = |message: &Message| message.is_call || !is_pending(message);
        for message in self.messages().into_iter().filter(counted) {
            outstanding =
                if message.is_call { outstanding + 1 } else { outstanding.saturating_sub(1) };
            most = most.max(outstanding);
        }
        most
    }
}

/// Passes messages on until one side ends.
fn pass(
    mut from: TcpStream,
    mut to: TcpStream,
    messages: &Mutex<Vec<Message>>,
    delay: Option<Duration>,
) {
    let mut mark = [0; 4];
    while from.read_exact(&mut mark).is_ok() {
        let bytes = (u32::from_be_bytes(mark) & 0x00FF_FFFF) as usize;
        let mut message = vec![0; 4 + bytes];
        message[..4].copy_from_slice(&mark);
        if from.read_exact(&mut message[4..]).is_err() {
            break;
        }
        let head = message[4..message.len().min(4 + HEAD_BYTES)].to_vec();
        if let Some(delay) = delay {
            std::thread::sleep(delay);
        }
        messages.lock().unwrap().push(Message { is_call: delay.is_none(), head });
        if to.write_all(&message).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
    let _ = from.shutdown(std::net::Shutdown::Both);
}

//! Servers that answer anything: the client ends with an error, never in a panic and never without an end.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::thread::JoinHandle;
use std::time::Duration;

use fathom_net::{Address, Connection, FaultKind, Operation, Settings};
use proptest::prelude::*;
use tempfile::TempDir;

use crate::load::{drive_blind, request};

const COUNT: u64 = 6;
const BYTES: u32 = 64;
/// Long enough for a machine that has much else to do.
const PATIENT: Duration = Duration::from_secs(20);

/// What a client sends before its first request: flags, structured replies, and the export of no name.
const ASKED_BYTES: usize = 4 + 16 + 26;
const REQUEST_BYTES: usize = 28;

/// A server that says its pieces whatever it is asked, each after so many bytes of the client or after this
/// time, and hangs up.
fn speaker(pieces: Vec<Vec<u8>>, patience: Duration) -> (TempDir, Address, JoinHandle<()>) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    let listener = UnixListener::bind(&socket).unwrap();
    let thread = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        client.set_read_timeout(Some(patience)).unwrap();
        for (k, piece) in pieces.iter().enumerate() {
            let awaited = [0, ASKED_BYTES + REQUEST_BYTES, REQUEST_BYTES][k.min(2)];
            // The client may leave before all is said.
            let _ = client.read_exact(&mut vec![0; awaited]);
            let _ = client.write_all(piece);
        }
        let _ = client.shutdown(std::net::Shutdown::Write);
        // Reading on keeps what was said from being thrown away.
        client.set_read_timeout(None).unwrap();
        let _ = std::io::copy(&mut client, &mut std::io::sink());
    });
    let address = format!("nbd+unix:///?socket={}", socket.display());
    (folder, Address::parse(&address).unwrap(), thread)
}

fn option_reply(option: u32, kind: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = 0x0003_e889_0455_65a9_u64.to_be_bytes().to_vec();
    bytes.extend(option.to_be_bytes());
    bytes.extend(kind.to_be_bytes());
    bytes.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
    bytes.extend(data);
    bytes
}

/// All that a right server says before the first request.
fn handshake(is_structured: bool) -> Vec<u8> {
    let mut bytes = b"NBDMAGICIHAVEOPT\x00\x03".to_vec();
    bytes.extend(option_reply(8, if is_structured { 1 } else { 0x8000_0001 }, &[]));
    let mut export = vec![0, 0];
    export.extend((1_u64 << 20).to_be_bytes());
    export.extend([0, 1]);
    bytes.extend(option_reply(7, 3, &export));
    bytes.extend(option_reply(7, 1, &[]));
    bytes
}

/// The right answer to the k-th read at depth 1.
fn answer(k: u64, is_structured: bool) -> Vec<u8> {
    let cookie = ((k + 1) << 32).to_be_bytes();
    let mut bytes = Vec::new();
    if is_structured {
        bytes.extend([0x66, 0x8e, 0x33, 0xef, 0, 1, 0, 1]);
        bytes.extend(cookie);
        bytes.extend((8 + BYTES).to_be_bytes());
        bytes.extend((k * u64::from(BYTES)).to_be_bytes());
    } else {
        bytes.extend([0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0]);
        bytes.extend(cookie);
    }
    bytes.extend([7; BYTES as usize]);
    bytes
}

/// Cuts what is said where a right server would wait for the next request.
fn pieces(bytes: &[u8], is_structured: bool) -> Vec<Vec<u8>> {
    let answer_bytes = answer(0, is_structured).len();
    let (first, rest) = bytes.split_at(handshake(is_structured).len().min(bytes.len()));
    std::iter::once(first).chain(rest.chunks(answer_bytes)).map(<[u8]>::to_vec).collect()
}

/// Connects to what says these bytes; gives how many reads went well.
fn talk(bytes: &[u8], is_structured: bool, patience: Duration) -> Result<usize, FaultKind> {
    let (_folder, address, thread) = speaker(pieces(bytes, is_structured), patience);
    let settings = Settings { timeout: Duration::from_secs(20), ..Settings::default() };
    let result = Connection::connect(&address, &settings).map(|mut connection| {
        let reads: Vec<_> =
            (0..COUNT).map(|k| request(Operation::Read, k * u64::from(BYTES), BYTES)).collect();
        let load = drive_blind(&mut connection, &reads, 1);
        assert_eq!(load.ended.len(), reads.len());
        load.ended.len() - load.failed().len()
    });
    thread.join().unwrap();
    result.map_err(|fault| fault.kind)
}

fn right(is_structured: bool) -> Vec<u8> {
    let answers = (0..COUNT).flat_map(|k| answer(k, is_structured));
    handshake(is_structured).into_iter().chain(answers).collect()
}

#[test]
fn the_right_words_are_understood() {
    for is_structured in [false, true] {
        let count = usize::try_from(COUNT).unwrap();
        assert_eq!(talk(&right(is_structured), is_structured, PATIENT), Ok(count));
    }
}

#[test]
fn wrong_words_have_their_kind() {
    let replaced = |bytes: Vec<u8>, at: usize, by: &[u8]| {
        let mut bytes = bytes;
        bytes.splice(at..at + by.len(), by.iter().copied());
        bytes
    };
    let first = handshake(true).len();
    for (what, bytes, wanted) in [
        ("nothing", Vec::new(), Err(FaultKind::Disconnected)),
        ("HTTP", b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), Err(FaultKind::Protocol)),
        (
            "an answer of 4 GiB",
            {
                let mut bytes = b"NBDMAGICIHAVEOPT\x00\x03".to_vec();
                bytes.extend(option_reply(8, 1, &[]));
                let at = bytes.len() - 4;
                replaced(bytes, at, &[0xFF; 4])
            },
            Err(FaultKind::Protocol),
        ),
        (
            "no size of the export",
            {
                let mut bytes = b"NBDMAGICIHAVEOPT\x00\x03".to_vec();
                bytes.extend(option_reply(8, 1, &[]));
                bytes.extend(option_reply(7, 1, &[]));
                bytes
            },
            Err(FaultKind::Protocol),
        ),
        (
            "a least block of 0",
            {
                let mut bytes = b"NBDMAGICIHAVEOPT\x00\x03".to_vec();
                bytes.extend(option_reply(8, 1, &[]));
                bytes.extend(option_reply(7, 3, &[0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
                bytes.extend(handshake(true).split_off(18 + 20));
                bytes
            },
            Err(FaultKind::Protocol),
        ),
        ("another's cookie", replaced(right(true), first + 8, &[9]), Ok(0)),
        ("data before the range", replaced(right(true), first + 92 + 27, &[0]), Ok(1)),
        ("a chunk of no kind", replaced(right(true), first + 6, &[0, 77]), Ok(0)),
        (
            "a simple reply to a read",
            {
                let mut bytes = handshake(true);
                bytes.extend(answer(0, false));
                bytes
            },
            Ok(0),
        ),
        (
            "an unagreed structured reply",
            {
                let mut bytes = handshake(false);
                bytes.extend(answer(0, true));
                bytes
            },
            Ok(0),
        ),
        ("half of an answer", right(true)[..first + 50].to_vec(), Ok(0)),
    ] {
        assert_eq!(talk(&bytes, true, Duration::from_millis(300)), wanted, "{what}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_change_of_right_words_breaks_the_client(
        is_structured in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..3), 1..5),
    ) {
        let mut bytes = right(is_structured);
        for (at, byte, how) in changes {
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => bytes.truncate(at.max(1)),
            }
        }
        let _ = talk(&bytes, is_structured, Duration::from_millis(5));
    }

    #[test]
    fn no_noise_breaks_the_client(noise in prop::collection::vec(any::<u8>(), 0..400), begin in 0_usize..3) {
        let mut bytes = match begin {
            0 => Vec::new(),
            1 => b"NBDMAGICIHAVEOPT\x00\x03".to_vec(),
            _ => handshake(true),
        };
        bytes.extend(noise);
        let _ = talk(&bytes, true, Duration::from_millis(5));
    }
}

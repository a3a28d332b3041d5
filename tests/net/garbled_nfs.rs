//! NFS servers that answer anything: the client ends with an error, never in a panic and never without
//! an end.

use std::net::TcpListener;
use std::thread::JoinHandle;
use std::time::Duration;

use fathom_net::{Address, Connection, FaultKind, Operation, Settings};
use proptest::prelude::*;

use crate::load::{NONE, drive, drive_blind, request};
use crate::speaker::speaking;

const COUNT: u32 = 6;
const BYTES: u32 = 514;

fn speaker(pieces: Vec<Vec<u8>>, patience: Duration) -> (Address, JoinHandle<()>) {
    let (port, thread) = speaking(pieces, patience);
    (Address::parse(&format!("nfs://127.0.0.1:{port}/file")).unwrap(), thread)
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A record with the accepted reply to a call.
fn reply(number: u32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(24 + body.len()).unwrap();
    let mut bytes = words(&[1 << 31 | length, number, 1, 0, 0, 0, 0]);
    bytes.extend(body);
    bytes
}

/// Results of operations after that of the slot, as the answer to a compound.
fn on_slot(body: &[u8]) -> Vec<u8> {
    let mut bytes = words(&[0, 0, 3, 53, 0]);
    bytes.extend([5; 16]);
    bytes.extend(words(&[1, 0, 0, 0, 0]));
    bytes.extend(body);
    bytes
}

fn waited_for(k: u32) -> u32 {
    1 << 31 | k
}

/// The answer to the k-th read: slot, handle, and data.
fn read(k: u32) -> Vec<u8> {
    let mut body = words(&[22, 0, 25, 0, 0, BYTES]);
    body.extend([7; BYTES as usize]);
    body.extend([0; 2]);
    reply(k << 16, &on_slot(&body))
}

/// All that a right server says: eight answers until the file is open, and the reads.
fn right() -> Vec<Vec<u8>> {
    let mut identity = words(&[0, 0, 1, 42, 0, 0, 9, 1, 0, 0, 0, 0]);
    identity.extend(words(&[4, 0x6161_6161, 4, 0x6161_6161, 0]));
    let mut session = words(&[0, 0, 1, 43, 0]);
    session.extend([5; 16]);
    session.extend(words(&[1, 0, 0, 65_536, 65_536, 4096, 8, 4, 0]));
    session.extend(words(&[0, 4096, 4096, 0, 2, 1, 0]));
    let mut opened = words(&[24, 0, 18, 0]);
    opened.extend([6; 16]);
    opened.extend(words(&[0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 4, 0x0102_0304]));
    let attributes = words(&[22, 0, 9, 0, 1, 0b1_0010, 12, 1, 0, 1 << 20]);
    let mut pieces = vec![
        reply(waited_for(1), &[]),
        reply(waited_for(2), &identity),
        reply(waited_for(3), &session),
        reply(waited_for(4), &on_slot(&words(&[58, 0]))),
        reply(waited_for(5), &on_slot(&opened)),
        reply(waited_for(6), &on_slot(&attributes)),
    ];
    pieces.extend((1..=COUNT).map(read));
    pieces
}

/// Where the reads begin.
const READS: usize = 6;

/// Connects to what says these pieces; gives how many reads went well.
fn talk(pieces: Vec<Vec<u8>>, patience: Duration) -> Result<usize, FaultKind> {
    let (address, thread) = speaker(pieces, patience);
    let settings = Settings { timeout: Duration::from_secs(20), ..Settings::default() };
    let result = Connection::connect(&address, &settings).map(|mut connection| {
        let place = |k: u32| u64::from(k * BYTES);
        let reads: Vec<_> = (0..COUNT).map(|k| request(Operation::Read, place(k), BYTES)).collect();
        let load = drive_blind(&mut connection, &reads, 1);
        assert_eq!(load.ended.len(), reads.len());
        load.ended.len() - load.failed().len()
    });
    thread.join().unwrap();
    result.map_err(|fault| fault.kind)
}

#[test]
fn the_right_words_are_understood() {
    assert_eq!(talk(right(), Duration::from_secs(20)), Ok(COUNT as usize));
}

#[test]
fn a_record_of_several_fragments_is_one_answer() {
    for cuts in [vec![0], vec![4, 5], vec![300], vec![100, 200, 300, 301]] {
        let mut pieces = right();
        for piece in &mut pieces {
            let body = piece[4..].to_vec();
            let mut cut = Vec::new();
            let mut begin = 0;
            for &end in cuts.iter().filter(|&&end| end < body.len()) {
                cut.extend(words(&[u32::try_from(end - begin).unwrap()]));
                cut.extend(&body[begin..end]);
                begin = end;
            }
            cut.extend(words(&[1 << 31 | u32::try_from(body.len() - begin).unwrap()]));
            cut.extend(&body[begin..]);
            *piece = cut;
        }
        // Calls that are waited for do not take an empty fragment.
        if cuts == [0] {
            pieces.splice(..READS, right().drain(..READS));
        }
        let (address, thread) = speaker(pieces, Duration::from_secs(20));
        let mut connection = Connection::connect(&address, &Settings::default()).unwrap();
        let reads: Vec<_> = (0..COUNT).map(|_| request(Operation::Read, 0, BYTES)).collect();
        let see = |_: &_, data: &[u8]| assert!(data.iter().all(|byte| *byte == 7));
        assert_eq!(drive(&mut connection, &reads, 1, |_, _| {}, see).failed(), NONE, "{cuts:?}");
        drop(connection);
        thread.join().unwrap();
    }
}

#[test]
fn wrong_words_have_their_kind() {
    let changed = |piece: usize, at: usize, by: &[u8]| {
        let mut pieces = right();
        pieces[piece][at..at + by.len()].copy_from_slice(by);
        pieces
    };
    let refused = |number: u32, state: &[u32]| {
        let length = u32::try_from(8 + 4 * state.len()).unwrap();
        let mut bytes = words(&[1 << 31 | length, number, 1]);
        bytes.extend(words(state));
        let mut pieces = right();
        pieces[0] = bytes;
        pieces
    };
    for (what, pieces, wanted) in [
        ("HTTP", vec![b"HTTP/1.1 400 Bad\r\n\r\n".to_vec()], Err(FaultKind::Protocol)),
        (
            "no such version",
            refused(waited_for(1), &[0, 0, 0, 2, 3, 3]),
            Err(FaultKind::Unsupported),
        ),
        ("Kerberos only", refused(waited_for(1), &[1, 1, 5]), Err(FaultKind::Denied)),
        ("a session without slots", changed(2, 28 + 20 + 16 + 31, &[0]), Err(FaultKind::Protocol)),
        ("another session", changed(3, 28 + 20, &[1]), Err(FaultKind::Protocol)),
        ("a directory", changed(5, 28 + 56 + 31, &[2]), Err(FaultKind::Invalid)),
        ("another's number", changed(READS, 5, &[9]), Ok(0)),
        ("more data than requested", changed(READS + 1, 28 + 56 + 22, &[9]), Ok(1)),
        ("another operation", changed(READS + 1, 28 + 56 + 11, &[38]), Ok(1)),
        ("a record of 2 GiB", changed(READS + 2, 0, &[0xFF; 4]), Ok(2)),
        ("a session that is over", changed(READS + 2, 28 + 18, &[0x27, 0x24]), Ok(2)),
        (
            "half of an answer",
            {
                let mut p = right();
                p[READS + 1].truncate(200);
                p.truncate(READS + 2);
                p
            },
            Ok(1),
        ),
    ] {
        assert_eq!(talk(pieces, Duration::from_millis(300)), wanted, "{what}");
    }
}

#[test]
fn a_server_that_says_nothing_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let address = Address::parse(&format!("nfs://127.0.0.1:{port}/share/file")).unwrap();
    let settings = Settings { timeout: Duration::from_millis(200), ..Settings::default() };
    let fault = Connection::connect(&address, &settings).unwrap_err();
    assert_eq!(fault.kind, FaultKind::TimedOut, "{fault}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn no_change_of_right_words_breaks_the_client(
        changes in prop::collection::vec((0_usize..12, any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::of(0_usize..12),
    ) {
        let mut pieces = right();
        for (piece, at, byte) in changes {
            let at = at.index(pieces[piece].len());
            pieces[piece][at] = byte;
        }
        if let Some(cut) = cut {
            let half = pieces[cut].len() / 2;
            pieces[cut].truncate(half);
        }
        let _ = talk(pieces, Duration::from_millis(5));
    }

    #[test]
    fn no_noise_breaks_the_client(
        noise in prop::collection::vec(any::<u8>(), 0..400),
        begin in 0_usize..12,
    ) {
        let mut pieces = right();
        pieces.truncate(begin);
        pieces.push(noise);
        let _ = talk(pieces, Duration::from_millis(5));
    }
}

//! SMB servers that answer anything: the client ends with an error, never in a panic and never without
//! an end.

use std::net::TcpListener;
use std::thread::JoinHandle;
use std::time::Duration;

use fathom_net::{Address, Connection, Credentials, FaultKind, Operation, Settings};
use proptest::prelude::*;

use crate::load::{drive_blind, request};
use crate::speaker::speaking;

const COUNT: u32 = 6;
const BYTES: u32 = 512;

fn speaker(pieces: Vec<Vec<u8>>, patience: Duration) -> (Address, JoinHandle<()>) {
    let (port, thread) = speaking(pieces, patience);
    (Address::parse(&format!("smb://127.0.0.1:{port}/share/file")).unwrap(), thread)
}

/// A message with its length before it.
fn message(number: u8, command: u8, status: u32, credits: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 4 + 64];
    bytes[4..8].copy_from_slice(b"\xFESMB");
    bytes[8] = 64;
    bytes[12..16].copy_from_slice(&status.to_le_bytes());
    bytes[16] = command;
    bytes[18] = credits;
    bytes[20] = 1;
    bytes[28] = number;
    bytes[40] = 7;
    bytes[44] = 9;
    bytes.extend(body);
    let length = u32::try_from(bytes.len() - 4).unwrap();
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    bytes
}

fn challenge() -> Vec<u8> {
    let mut token = b"NTLMSSP\0\x02\0\0\0".to_vec();
    token.resize(48, 0);
    let mut body = vec![9, 0, 0, 0, 72, 0, 48, 0];
    body.extend(token);
    body
}

/// The answer to the k-th read.
fn read(k: u32) -> Vec<u8> {
    let mut body = vec![17, 0, 80, 0];
    body.extend(BYTES.to_le_bytes());
    body.extend([0; 8]);
    body.extend([7; BYTES as usize]);
    message(u8::try_from(READS).unwrap() + u8::try_from(k).unwrap(), 8, 0, 1, &body)
}

/// Where the reads begin.
const READS: usize = 8;

/// All that a right server says: 2.1, a guest, a share, a file of 1 MiB, and the reads.
fn right() -> Vec<Vec<u8>> {
    let mut agreed = vec![0; 64];
    agreed[0] = 65;
    agreed[4..6].copy_from_slice(&[0x10, 2]);
    agreed[24] = 4;
    agreed[32..36].copy_from_slice(&(1_u32 << 20).to_le_bytes());
    agreed[36..40].copy_from_slice(&(1_u32 << 20).to_le_bytes());
    let mut opened = vec![0; 88];
    opened[48..56].copy_from_slice(&(1_u64 << 20).to_le_bytes());
    let mut pieces = vec![
        message(0, 0, 0, 10, &agreed),
        message(1, 1, 0xC000_0016, 10, &challenge()),
        message(2, 1, 0, 10, &[9, 0, 1, 0, 72, 0, 0, 0]),
        message(3, 3, 0, 10, &[16, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        message(4, 5, 0, 10, &opened),
        message(5, 16, 0xC000_00BB, 10, &[9, 0, 0, 0, 0, 0, 0, 0, 0]),
        message(6, 16, 0xC000_00BB, 10, &[9, 0, 0, 0, 0, 0, 0, 0, 0]),
        message(7, 13, 0, 1, &[4, 0, 0, 0]),
    ];
    pieces.extend((0..COUNT).map(read));
    pieces
}

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

fn changed(piece: usize, at: usize, by: &[u8]) -> Vec<Vec<u8>> {
    let mut pieces = right();
    pieces[piece][at..at + by.len()].copy_from_slice(by);
    pieces
}

#[test]
fn the_right_words_are_understood() {
    assert_eq!(talk(right(), Duration::from_secs(20)), Ok(COUNT as usize));
}

#[test]
fn an_answer_that_says_it_takes_longer_is_none() {
    let mut pieces = right();
    let mut later =
        message(u8::try_from(READS).unwrap(), 8, 0x103, 1, &[9, 0, 0, 0, 0, 0, 0, 0, 0]);
    later[20] = 3;
    later.extend(&pieces[READS]);
    pieces[READS] = later;
    assert_eq!(talk(pieces, Duration::from_secs(20)), Ok(COUNT as usize));
}

#[test]
fn wrong_words_have_their_kind() {
    for (what, pieces, wanted) in [
        ("HTTP", vec![b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()], Err(FaultKind::Protocol)),
        ("SMB 1", changed(0, 4, b"\xFFSMB"), Err(FaultKind::Unsupported)),
        ("SMB 2.0.2", changed(0, 72, &[2, 2]), Err(FaultKind::Unsupported)),
        ("no NTLM", changed(1, 76, b"KERBEROS"), Err(FaultKind::Unsupported)),
        (
            "a wrong password",
            changed(2, 12, &0xC000_006D_u32.to_le_bytes()),
            Err(FaultKind::Credentials),
        ),
        ("required signing of a guest", changed(0, 70, &[3]), Err(FaultKind::Credentials)),
        ("no such share", changed(3, 12, &0xC000_00CC_u32.to_le_bytes()), Err(FaultKind::NotFound)),
        ("a printer", changed(3, 70, &[3]), Err(FaultKind::Invalid)),
        ("no such file", changed(4, 12, &0xC000_0034_u32.to_le_bytes()), Err(FaultKind::NotFound)),
        ("another's number", changed(READS, 28, &[99]), Ok(0)),
        ("another command", changed(READS, 16, &[9]), Ok(0)),
        ("more data than requested", changed(READS + 1, 72, &[1, 2]), Ok(1)),
        ("data in the head", changed(READS + 1, 70, &[9]), Ok(1)),
        ("a message of 16 MiB", changed(READS + 2, 1, &[0xFF; 3]), Ok(2)),
        ("no SMB", changed(READS + 2, 4, &[0; 4]), Ok(2)),
        ("encrypted with no key", changed(READS + 2, 4, &[0xFD]), Ok(2)),
        ("a session that is over", changed(READS + 2, 12, &0xC000_0203_u32.to_le_bytes()), Ok(2)),
    ] {
        assert_eq!(talk(pieces, Duration::from_millis(300)), wanted, "{what}");
    }
}

#[test]
fn a_server_that_only_claims_to_know_the_user_is_found_out() {
    // Neither a guest nor signed by the key that only the user's server could have.
    let mut pieces = changed(2, 70, &[0]);
    pieces[0][70] = 3;
    let (address, thread) = speaker(pieces, Duration::from_millis(300));
    let settings = Settings {
        credentials: Some(Credentials::new("anna", "", "s3cret")),
        ..Settings::default()
    };
    let fault = Connection::connect(&address, &settings).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Protocol, "{fault}");
    assert!(fault.text.contains("signature"), "{fault}");
    thread.join().unwrap();
}

#[test]
fn a_server_that_says_nothing_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let address = Address::parse(&format!("smb://127.0.0.1:{port}/share/file")).unwrap();
    let settings = Settings { timeout: Duration::from_millis(200), ..Settings::default() };
    let fault = Connection::connect(&address, &settings).unwrap_err();
    assert_eq!(fault.kind, FaultKind::TimedOut, "{fault}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn no_change_of_right_words_breaks_the_client(
        changes in prop::collection::vec((0_usize..14, any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::of(0_usize..14),
    ) {
        let mut pieces = right();
        for (piece, at, byte) in changes {
            let at = at.index(pieces[piece].len().min(160));
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
        begin in 0_usize..14,
    ) {
        let mut pieces = right();
        pieces.truncate(begin);
        pieces.push(noise);
        let _ = talk(pieces, Duration::from_millis(5));
    }
}

//! iSCSI servers that answer anything: the client ends with an error, never in a panic and never without an
//! end.

use std::thread::JoinHandle;
use std::time::Duration;

use fathom_net::{Address, Connection, Credentials, Fault, FaultKind, Operation, Settings};
use proptest::prelude::*;

use crate::load::{NONE, drive_blind, request};
use crate::server::settings;
use crate::speaker::speaking;

const COUNT: u32 = 6;
const BYTES: u32 = 512;
/// Commands that ask for facts.
const ASKED: u32 = 6;

fn speaker(pieces: Vec<Vec<u8>>, patience: Duration) -> (Address, JoinHandle<()>) {
    let (port, thread) = speaking(pieces, patience);
    (Address::parse(&format!("iscsi://127.0.0.1:{port}/iqn.x/1")).unwrap(), thread)
}

fn unit(opcode: u8, flags: u8, tag: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 48];
    (bytes[0], bytes[1]) = (opcode, flags);
    let length = u32::try_from(data.len()).unwrap();
    bytes[4..8].copy_from_slice(&length.to_be_bytes());
    bytes[16..20].copy_from_slice(&tag.to_be_bytes());
    // The next command, and a window of 64.
    bytes[28..32].copy_from_slice(&1_u32.to_be_bytes());
    bytes[32..36].copy_from_slice(&64_u32.to_be_bytes());
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// Data with a good status, for the k-th command of the session.
fn data(k: u32, bytes: &[u8]) -> Vec<u8> {
    unit(0x25, 0x81, k << 16, bytes)
}

/// All that a right server says: two answers to the login, facts of a disk of 1 MiB, and the reads.
fn right() -> Vec<Vec<u8>> {
    let mut capacity = vec![0; 32];
    capacity[..8].copy_from_slice(&2047_u64.to_be_bytes());
    capacity[8..12].copy_from_slice(&512_u32.to_be_bytes());
    let mut limits = vec![0; 64];
    limits[1] = 0xb0;
    let mut pieces = vec![
        unit(0x23, 0x81, 1, b"AuthMethod=None\0"),
        unit(0x23, 0x87, 1, b"MaxRecvDataSegmentLength=8192\0"),
        unit(0x21, 0x80, 1 << 16, &[]),
        data(2, &[0; 36]),
        data(3, &capacity),
        data(4, &[0, 0x80, 0, 3, b'a', b'b', b'c']),
        data(5, &limits),
        data(6, &[3, 0, 0, 0]),
    ];
    pieces.extend((1..=COUNT).map(|k| data(ASKED + k, &[7; BYTES as usize])));
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

/// A login with a user and both secrets, of which a server says these texts; with the flags of each answer.
fn challenged(texts: &[(u8, Vec<u8>)]) -> Fault {
    let pieces = texts.iter().map(|(flags, text)| unit(0x23, *flags, 1, text)).collect();
    let (address, thread) = speaker(pieces, Duration::from_secs(20));
    let credentials = Credentials::new("anna", "", "anna's s3cret");
    let credentials = Some(credentials.with_target("array", "the array's s3cret"));
    let settings = Settings { credentials, timeout: Duration::from_secs(20), ..settings() };
    let fault = Connection::connect(&address, &settings).unwrap_err();
    thread.join().unwrap();
    assert!(!fault.text.contains("s3cret"), "{fault}");
    fault
}

#[test]
fn servers_that_challenge_wrongly_get_no_answer_or_are_not_believed() {
    let begin = || (0, b"AuthMethod=CHAP\0".to_vec());
    let (protocol, credentials) = (FaultKind::Protocol, FaultKind::Credentials);
    let all = b"CHAP_A=5\0CHAP_I=7\0CHAP_C=0x00112233\0";
    for (what, texts, kind) in [
        ("no challenge", vec![begin(), (0, b"CHAP_A=5\0CHAP_I=7\0".to_vec())], protocol),
        ("no hash", vec![begin(), (0, b"CHAP_I=7\0CHAP_C=0x00\0".to_vec())], protocol),
        (
            "a hash that was not offered",
            vec![begin(), (0, [&b"CHAP_A=7\0"[..], &all[9..]].concat())],
            FaultKind::Unsupported,
        ),
        ("a number of 9 bits", vec![begin(), (0, b"CHAP_A=5\0CHAP_I=256\0".to_vec())], protocol),
        ("an end before the challenge", vec![begin(), (0x81, all.to_vec())], protocol),
        ("another method", vec![(0, b"AuthMethod=KRB5\0".to_vec())], FaultKind::Unsupported),
        ("no login", vec![(0x81, b"AuthMethod=None\0".to_vec())], credentials),
        ("no proof", vec![begin(), (0, all.to_vec()), (0x81, Vec::new())], credentials),
        (
            "a proof that anybody could give",
            vec![begin(), (0, all.to_vec()), (0x81, b"CHAP_N=array\0CHAP_R=0x00\0".to_vec())],
            credentials,
        ),
        ("a text without end", vec![(0x40, b"AuthMethod=CHAP\0".to_vec()); 40], protocol),
    ] {
        assert_eq!(challenged(&texts).kind, kind, "{what}");
    }
}

#[test]
fn the_right_words_are_understood() {
    assert_eq!(talk(right(), Duration::from_secs(20)), Ok(COUNT as usize));
}

#[test]
fn wrong_words_have_their_kind() {
    let changed = |piece: usize, at: usize, by: &[u8]| {
        let mut pieces = right();
        pieces[piece][at..at + by.len()].copy_from_slice(by);
        pieces
    };
    for (what, pieces, wanted) in [
        ("a login that is refused", changed(0, 36, &[2, 2]), Err(FaultKind::Denied)),
        ("a login that never ends", vec![unit(0x23, 0, 1, &[]); 40], Err(FaultKind::Protocol)),
        ("texts of 16 MiB", changed(0, 5, &[0xFF; 3]), Err(FaultKind::Protocol)),
        ("not a disk", changed(3, 48, &[5]), Err(FaultKind::NotFound)),
        ("blocks of 0 bytes", changed(4, 48 + 8, &[0; 4]), Err(FaultKind::Protocol)),
        ("a disk beyond 2^64", changed(4, 48, &[0xFF; 8]), Err(FaultKind::Protocol)),
        ("another's tag", changed(8, 19, &[9]), Ok(0)),
        ("data beyond the end", changed(9, 40, &[1]), Ok(1)),
        ("data that leave a gap", changed(9, 43, &[4]), Ok(1)),
        ("more data than requested", changed(9, 6, &[4]), Ok(1)),
        ("a unit of no kind", changed(8, 0, &[0x3a]), Ok(0)),
        ("a demand for data of a read", changed(8, 0, &[0x31]), Ok(0)),
        ("a server that leaves", changed(10, 0, &[0x26]), Ok(2)),
        (
            "a read that is done too early",
            {
                let mut pieces = right();
                pieces[8] = unit(0x21, 0x80, (ASKED + 1) << 16, &[]);
                pieces
            },
            Ok(0),
        ),
    ] {
        assert_eq!(talk(pieces, Duration::from_millis(300)), wanted, "{what}");
    }
}

#[test]
fn a_read_that_fails_has_the_meaning_of_its_sense_data() {
    for (sense, errno) in [
        ([0x70, 0, 3, 0x11], -5),
        ([0x70, 0, 6, 0x29], -11),
        ([0x72, 5, 0x21, 0], -22),
        ([0x72, 7, 0x27, 0], -30),
    ] {
        let mut pieces = right();
        let mut data = vec![0, 18];
        data.extend(sense);
        data.resize(20, 0);
        pieces[8] = unit(0x21, 0x80, (ASKED + 1) << 16, &data);
        pieces[8][3] = 2;
        let (address, thread) = speaker(pieces, Duration::from_secs(20));
        let mut connection = Connection::connect(&address, &Settings::default()).unwrap();
        let read = request(Operation::Read, 0, BYTES);
        assert_eq!(drive_blind(&mut connection, &[read], 1).failed(), [errno]);
        // The session goes on.
        assert_eq!(drive_blind(&mut connection, &[read], 1).failed(), NONE);
        drop(connection);
        thread.join().unwrap();
    }
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
            let at = at.index(pieces[piece].len().min(90));
            pieces[piece][at] = byte;
        }
        if let Some(cut) = cut {
            let half = pieces[cut].len() / 2;
            pieces[cut].truncate(half);
        }
        let _ = talk(pieces, Duration::from_millis(4));
    }
}

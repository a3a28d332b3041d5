//! `OpenPGP` keys and encrypted files (RFC 9580): a chain of packets that make sense together.

use super::Samples;

/// One packet: its kind, and where its body lies.
struct Packet {
    tag: u8,
    body: usize,
    /// Where the next packet starts; beyond all data if the length is told in parts.
    end: usize,
}

/// A key, public or secret, and two packets that belong to keys.
pub(super) fn keys(samples: &Samples) -> Option<bool> {
    let head = samples.head();
    let key = packet(head, 0)?;
    let is_key = matches!(key.tag, 5 | 6) && *head.get(key.body)? == 4;
    let known_algorithm = matches!(*head.get(key.body + 5)?, 1..=3 | 16..=19 | 22 | 25..=28);
    let belongs = |tag: u8| matches!(tag, 2 | 7 | 12..=14 | 17);
    let second = packet(head, key.end)?;
    let third = packet(head, second.end)?;
    Some(is_key && known_algorithm && belongs(second.tag) && belongs(third.tag))
}

/// Keys of the message, encrypted to a person or by a pass phrase, and then the message.
pub(super) fn message(samples: &Samples) -> Option<bool> {
    let head = samples.head();
    let mut next = packet(head, 0)?;
    let mut keys = 0;
    while matches!(next.tag, 1 | 3) {
        let body = head.get(next.body..next.body + 10)?;
        let to_person = next.tag == 1 && body[0] == 3 && matches!(body[9], 1..=3 | 16 | 18 | 25);
        let by_phrase =
            next.tag == 3 && body[0] == 4 && body[1] <= 13 && body[2] <= 4 && body[3] <= 14;
        if !to_person && !by_phrase {
            return Some(false);
        }
        keys += 1;
        next = packet(head, next.end)?;
    }
    Some(keys > 0 && next.tag == 18 && matches!(*head.get(next.body)?, 1 | 2))
}

fn packet(head: &[u8], at: usize) -> Option<Packet> {
    let rest = head.get(at..)?;
    let first = *rest.first()?;
    if first & 0x80 == 0 {
        return None;
    }
    let is_new = first & 0x40 != 0;
    let tag = if is_new { first & 0x3F } else { (first >> 2) & 0x0F };
    let (length_bytes, length) = if is_new { new_length(rest)? } else { old_length(rest, first)? };
    let body = at + 1 + length_bytes;
    Some(Packet { tag, body, end: body.saturating_add(length) })
}

fn big_endian(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte))
}

fn old_length(rest: &[u8], first: u8) -> Option<(usize, usize)> {
    let bytes = match first & 3 {
        3 => return Some((0, usize::MAX)),
        shift => 1 << shift,
    };
    Some((bytes, big_endian(rest.get(1..=bytes)?)))
}

fn new_length(rest: &[u8]) -> Option<(usize, usize)> {
    let start = *rest.get(1)?;
    match start {
        0..=191 => Some((1, usize::from(start))),
        192..=223 => Some((2, big_endian(rest.get(1..3)?) - 0xC000 + 192)),
        224..=254 => Some((1, usize::MAX)),
        255 => Some((5, big_endian(rest.get(2..6)?))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_keys(data: &[u8]) -> bool {
        keys(&Samples::of_bytes(data)) == Some(true)
    }

    fn is_message(data: &[u8]) -> bool {
        message(&Samples::of_bytes(data)) == Some(true)
    }

    #[test]
    fn a_key_with_user_and_signature_is_known() {
        let key = [&[0x99, 0, 8, 4, 1, 2, 3, 4, 1, 9, 9][..], &[0xB4, 2, b'm', b'e', 0x88, 1, 4]];
        assert!(is_keys(&key.concat()));
        let mut old_version = key.concat();
        old_version[3] = 9;
        assert!(!is_keys(&old_version));
        assert!(!is_keys(key[0]));
    }

    #[test]
    fn messages_to_persons_and_by_pass_phrase_are_known() {
        let by_phrase = [0x8C, 13, 4, 9, 3, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0x60, 0xD2, 0xC0, 0x10, 1];
        assert!(is_message(&by_phrase));
        let to_person = [0x84, 10, 3, 1, 2, 3, 4, 5, 6, 7, 8, 1, 0xD2, 20, 1];
        assert!(is_message(&to_person));
        assert!(!is_message(&to_person[..12]));
        let mut other = to_person;
        other[12] = 0xD3;
        assert!(!is_message(&other));
    }
}

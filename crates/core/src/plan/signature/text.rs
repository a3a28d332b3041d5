//! Text that is plausibly somebody's: notes, source, tables, mail, logs, keys in text form.

use super::Samples;

/// Fewer bytes than this may look like text by chance.
const ASCII_BYTES_MIN: usize = 4;
/// In an eight-bit character set most bytes are possible, so only longer text counts.
const LATIN_BYTES_MIN: usize = 64;
/// Text has more than two different characters; `yes` and fill patterns do not.
const CHARACTERS_MIN: usize = 3;
/// A sample of this length counts by itself.
const WEIGHTY_BYTES: usize = 1024;

/// Text, if all samples that are not zeros are text, or at least half of four or more weighty ones.
pub(super) fn recognise(samples: &Samples) -> Option<&'static str> {
    if utf16(samples.head()) {
        return Some("UTF-16 text");
    }
    let parts: Vec<&[u8]> = samples.parts().iter().map(|part| filled(&part.bytes)).collect();
    let filled: Vec<&[u8]> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let texts = filled.iter().filter(|part| is_text(part)).count();
    let weighty = filled.iter().filter(|part| part.len() >= WEIGHTY_BYTES).count();
    let all = texts > 0 && texts == filled.len();
    let half = weighty >= 4 && texts * 2 >= filled.len();
    (all || half).then_some("text")
}

/// The data without the zeros that a log reserves behind its end.
fn filled(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    &bytes[..end]
}

/// Longer data that are nearly free of control characters are text, whatever its encoding: of
/// random bytes one in ten is one, and of 256 hardly ever only two.
const ANY_BYTES_MIN: usize = 256;

fn is_text(bytes: &[u8]) -> bool {
    if bytes.len() < ASCII_BYTES_MIN || !is_varied(bytes) {
        return false;
    }
    let controls = bytes.iter().filter(|&&byte| is_control(byte)).count();
    if bytes.len() >= ANY_BYTES_MIN {
        let is_spaced = bytes.iter().any(u8::is_ascii_whitespace);
        return is_spaced && controls * 100 <= bytes.len();
    }
    let known_encoding =
        bytes.is_ascii() || bytes.len() >= LATIN_BYTES_MIN && (is_utf8(bytes) || is_latin(bytes));
    controls == 0 && known_encoding
}

/// Control characters other than back space, white space and escape, which terminals log.
fn is_control(byte: u8) -> bool {
    matches!(byte, 0..=7 | 14..=26 | 28..=31 | 127)
}

fn is_varied(bytes: &[u8]) -> bool {
    let mut seen = [false; 256];
    for &byte in bytes {
        seen[usize::from(byte)] = true;
    }
    seen.iter().filter(|&&seen| seen).count() >= CHARACTERS_MIN
}

/// UTF-8, but for a character that is cut at the end of the sample.
fn is_utf8(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).map_or_else(|error| error.error_len().is_none(), |_| true)
}

/// An eight-bit character set of a language that is mostly written in ASCII.
fn is_latin(bytes: &[u8]) -> bool {
    let ascii = bytes.iter().filter(|byte| byte.is_ascii()).count();
    ascii * 10 >= bytes.len() * 7
}

/// A byte order mark, and then characters that are mostly from the Latin blocks or white space.
fn utf16(head: &[u8]) -> bool {
    let decode: fn([u8; 2]) -> u16 = match head {
        [0xFF, 0xFE, ..] => u16::from_le_bytes,
        [0xFE, 0xFF, ..] => u16::from_be_bytes,
        _ => return false,
    };
    let units: Vec<u16> =
        filled(head)[2..].chunks_exact(2).map(|two| decode([two[0], two[1]])).collect();
    let common =
        units.iter().filter(|&&unit| (9..=13).contains(&unit) || (32..0x250).contains(&unit));
    units.len() >= 4 && common.count() * 10 >= units.len() * 8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(data: &[u8]) -> Option<&'static str> {
        recognise(&Samples::of_bytes(data))
    }

    #[test]
    fn text_of_several_encodings_is_text() {
        assert_eq!(of(b"# notes\nbuy milk\n"), Some("text"));
        assert_eq!(of("Größe, naïve, 寸法, размер\n".repeat(9).as_bytes()), Some("text"));
        let latin: Vec<u8> = "Gr\u{f6}\u{df}e und Ma\u{df} der Dinge, "
            .repeat(5)
            .chars()
            .map(|letter| u8::try_from(u32::from(letter)).expect("Latin 1"))
            .collect();
        assert_eq!(of(&latin), Some("text"));
        let wide: Vec<u8> =
            "\u{feff}hello, world".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(of(&wide), Some("UTF-16 text"));
        let swapped: Vec<u8> =
            "\u{feff}hello, world".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(of(&swapped), Some("UTF-16 text"));
    }

    #[test]
    fn a_log_with_reserved_zeros_is_text() {
        let mut log = b"2024-05-01 12:00:00 started\n".repeat(4);
        log.resize(8192, 0);
        assert_eq!(of(&log), Some("text"));
    }

    #[test]
    fn longer_text_of_any_encoding_is_text() {
        let cyrillic = b"\xCF\xF0\xE8\xE2\xE5\xF2, \xEC\xE8\xF0!\n".repeat(30);
        assert_eq!(of(&cyrillic), Some("text"));
        let mut script = b"map x ^[dd\n".repeat(40);
        script[20] = 0x16;
        assert_eq!(of(&script), Some("text"));
        let cut = "a \u{5bf8}".repeat(2000).into_bytes();
        assert_eq!(of(&cut[4..cut.len() - 1]), Some("text"));
    }

    #[test]
    fn patterns_are_no_text() {
        assert_eq!(of(&[b'A'; 4096]), None);
        assert_eq!(of(&b"y\n".repeat(500)), None);
        assert_eq!(of(&[0; 4096]), None);
        let counting: Vec<u8> = (0..=255).cycle().take(4096).collect();
        assert_eq!(of(&counting), None);
        assert_eq!(of(b"text with a \x01 control"), None);
        assert_eq!(of(&[0xDE, 0xAD, 0xBE, 0xEF].repeat(1000)), None);
    }

    #[test]
    fn text_in_half_of_the_samples_counts() {
        let fill = |offset: u64, buffer: &mut [u8]| {
            let text = offset > (8 << 20);
            buffer.iter_mut().zip(0_u8..=255).for_each(|(byte, index)| *byte = index);
            if text {
                buffer.iter_mut().enumerate().for_each(|(at, byte)| *byte = b"a line\n"[at % 7]);
            }
            Ok(())
        };
        let samples = Samples::take(32 << 20, fill).expect("nothing fails");
        assert_eq!(recognise(&samples), Some("text"));
    }
}

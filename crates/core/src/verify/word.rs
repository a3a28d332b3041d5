//! A window as the word that stands in the table: its 48 bits, and 16 bits that check them.
//!
//! The check is a CRC, which finds every change of one, two or three bits, added to a key of the word's
//! place, so that a word that was moved, and a page of zeros, are found too. It changes with the window in
//! one atomic step. A word that was found damaged stays damaged, whatever is written to its block
//! afterwards.

use super::window::Window;

const CONTENT_BITS: u32 = 48;
const CONTENT: u64 = (1 << CONTENT_BITS) - 1;
/// CRC-16/CCITT: of 64 bits in all, it tells every change of up to three.
const POLYNOMIAL: u16 = 0x1021;

/// What each byte of the window adds to the check, from the lowest byte on.
static TABLES: [[u16; 256]; 6] = tables();

#[expect(clippy::cast_possible_truncation, reason = "a byte has 8 bits")]
const fn tables() -> [[u16; 256]; 6] {
    let mut tables = [[0; 256]; 6];
    let mut byte = 0;
    while byte < 256 {
        let mut table = 0;
        while table < 6 {
            let steps = 8 * (table + 1);
            let mut crc = (byte as u16) << 8;
            let mut step = 0;
            while step < steps {
                crc = if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ POLYNOMIAL };
                step += 1;
            }
            tables[table][byte] = crc;
            table += 1;
        }
        byte += 1;
    }
    tables
}

#[inline]
fn crc(content: u64) -> u16 {
    let bytes = content.to_le_bytes();
    let part = |index: usize| TABLES[index][bytes[index] as usize];
    part(0) ^ part(1) ^ part(2) ^ part(3) ^ part(4) ^ part(5)
}

/// Never 0, so that a word of zeros is damaged wherever it stands.
#[inline]
fn key(place: u64) -> u16 {
    ((place + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> CONTENT_BITS) as u16 | 1
}

/// The bits in which the check of a word differs from what it should be; 0 if it is sound.
#[inline]
fn damage(word: u64, place: u64) -> u16 {
    (word >> CONTENT_BITS) as u16 ^ crc(word & CONTENT) ^ key(place)
}

/// The word of a window at this place in the table.
#[inline]
#[must_use]
pub fn encode(window: Window, place: u64) -> u64 {
    let content = window.0 & CONTENT;
    content | u64::from(crc(content) ^ key(place)) << CONTENT_BITS
}

/// The window of a word; [`Window::DAMAGED`] if the word is not what was written there.
#[inline]
#[must_use]
pub fn decode(word: u64, place: u64) -> Window {
    if damage(word, place) == 0 { Window(word & CONTENT) } else { Window::DAMAGED }
}

/// The word after a step of its window; a damaged one stays as it is.
#[inline]
#[must_use]
pub fn step(word: u64, place: u64, step: impl Fn(Window) -> Window) -> u64 {
    if damage(word, place) == 0 { encode(step(Window(word & CONTENT)), place) } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<(u64, u64)> {
        let mut window = Window::default();
        let mut samples = Vec::new();
        for place in 0..40 {
            samples.push((encode(window, place), place));
            window = if place % 5 == 4 { window.end() } else { window.begin() };
        }
        samples
    }

    #[test]
    fn every_change_of_one_two_or_three_bits_is_found() {
        for (word, place) in samples() {
            assert_ne!(decode(word, place), Window::DAMAGED);
            for one in 0..64 {
                for two in one..64 {
                    for three in two..64 {
                        // The same bit twice is none, and all three the same are one.
                        let flips = 1_u64 << one ^ 1 << two ^ 1 << three;
                        let found = decode(word ^ flips, place);
                        assert_eq!(found, Window::DAMAGED, "{word:x} {flips:x}");
                    }
                }
            }
        }
    }

    #[test]
    fn zeros_and_words_of_other_places_are_damaged() {
        let mut missed = 0;
        for place in 0..100_000 {
            assert_eq!(decode(0, place), Window::DAMAGED);
            let other = encode(Window::default().begin().end(), place);
            missed += u32::from(decode(other, place + 1) != Window::DAMAGED);
        }
        assert!(missed <= 10, "{missed}");
    }

    #[test]
    fn damage_stays_whatever_is_written_afterwards() {
        let sound = encode(Window::default(), 7);
        let mut damaged = sound ^ 1 << 30;
        for _ in 0..100 {
            damaged = step(step(damaged, 7, Window::begin), 7, Window::end);
            assert_eq!(decode(damaged, 7), Window::DAMAGED);
        }
        assert_eq!(decode(step(sound, 7, Window::begin), 7), Window::default().begin());
    }
}

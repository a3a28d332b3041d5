//! Random data that show whose they are.
//!
//! Each word is the mixed value of a counter, and mixing can be undone: from a word the counter
//! is had back, and the next word must be that of the counter one step on. So every piece of two
//! words and more proves by itself that this tool has written it, wherever it stands and
//! whatever was written around it, and two pieces of different keys share nothing. To a device
//! the data are random.
//!
//! The mixing function is that of `SplitMix64` (Steele, Lea, Flood: Fast Splittable Pseudorandom
//! Number Generators, 2014), which is one-to-one. What runs write takes steps of its own, so
//! that the output of that generator, which other programs use, is not taken for ours.

/// The step of what files are created with: the odd number nearest to 2^64 over the golden ratio.
pub(crate) const CREATE_STEP: u64 = 0x9E37_79B9_7F4A_7C15;
/// The step of what runs write; a multiplier of good spectral figures (Steele, Vigna, 2021).
pub(crate) const WRITE_STEP: u64 = 0xD134_2543_DE82_EF95;
/// Bytes of a word.
pub(crate) const WORD_BYTES: usize = 8;

/// Multipliers of the mixing function, and their inverses modulo 2^64.
const FIRST: u64 = 0xBF58_476D_1CE4_E5B9;
const SECOND: u64 = 0x94D0_49BB_1331_11EB;
const FIRST_INVERSE: u64 = 0x96DE_1B17_3F11_9089;
const SECOND_INVERSE: u64 = 0x3196_42B2_D24D_8EC3;
/// The upper half of the counter behind a repeated word, by which it is known.
const REPEATED: u64 = 0xFA74_0A11;

#[inline]
pub(crate) const fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(FIRST);
    word = (word ^ (word >> 27)).wrapping_mul(SECOND);
    word ^ (word >> 31)
}

#[inline]
pub(crate) const fn unmix(mut word: u64) -> u64 {
    word = (word ^ (word >> 31) ^ (word >> 62)).wrapping_mul(SECOND_INVERSE);
    word = (word ^ (word >> 27) ^ (word >> 54)).wrapping_mul(FIRST_INVERSE);
    word ^ (word >> 30) ^ (word >> 60)
}

/// Fills `bytes` with the data of a key.
#[inline]
pub(crate) fn fill(key: u64, bytes: &mut [u8]) {
    fill_chain(key, WRITE_STEP, bytes);
}

/// Fills `bytes` with the words of a counter and its steps, the last one in part, and returns the next
/// counter.
#[inline]
pub(crate) fn fill_chain(mut counter: u64, step: u64, bytes: &mut [u8]) -> u64 {
    let (words, rest) = bytes.as_chunks_mut();
    for word in words {
        *word = mix(counter).to_le_bytes();
        counter = counter.wrapping_add(step);
    }
    if rest.is_empty() {
        return counter;
    }
    rest.copy_from_slice(&mix(counter).to_le_bytes()[..rest.len()]);
    counter.wrapping_add(step)
}

/// Fills a grain of data that compress: `noise_bytes` of random data, and then one word again and again,
/// which is the same in all grains of a key.
#[inline]
pub(crate) fn fill_grain(key: u64, grain: u64, noise_bytes: usize, bytes: &mut [u8]) {
    let repeated = repeated_word(key).to_le_bytes();
    let (noise, rest) = bytes.split_at_mut(noise_bytes.min(bytes.len()));
    let upper = mix(key.wrapping_add(grain)) << 32;
    fill(upper | lower(key), noise);
    let phase = noise.len() % WORD_BYTES;
    let (head, rest) = rest.split_at_mut(((WORD_BYTES - phase) % WORD_BYTES).min(rest.len()));
    head.copy_from_slice(&repeated[phase..][..head.len()]);
    repeat(repeated, rest);
}

/// Fills `bytes` with a word again and again.
#[inline]
pub(crate) fn repeat(word: [u8; WORD_BYTES], bytes: &mut [u8]) {
    let (words, rest) = bytes.as_chunks_mut();
    words.fill(word);
    rest.copy_from_slice(&word[..rest.len()]);
}

/// The word that is repeated in the grains of a key, of which the lower half counts.
pub(crate) const fn repeated_word(key: u64) -> u64 {
    mix(REPEATED << 32 | lower(key))
}

/// Whether a word is one that grains repeat.
pub(crate) const fn is_repeated_word(word: u64) -> bool {
    unmix(word) >> 32 == REPEATED
}

const fn lower(word: u64) -> u64 {
    word & 0xFFFF_FFFF
}

/// Whether these bytes are a grain of data that compress, in whole words.
pub(crate) fn is_grain(bytes: &[u8]) -> bool {
    let words = || bytes.chunks_exact(WORD_BYTES).map(to_word);
    let Some(first) = words().next().map(unmix) else { return false };
    if !bytes.len().is_multiple_of(WORD_BYTES) {
        return false;
    }
    if first >> 32 == REPEATED {
        return words().all(|word| word == mix(first));
    }
    let repeated = repeated_word(first);
    let mut counter = first;
    let mut is_noise = true;
    words().all(|word| {
        let noise = mix(counter);
        counter = counter.wrapping_add(WRITE_STEP);
        let was_noise = is_noise;
        is_noise = was_noise && word == noise;
        is_noise || word == repeated || was_noise && blends(word, noise, repeated)
    })
}

/// Whether a word begins as one and ends as another.
fn blends(word: u64, first: u64, then: u64) -> bool {
    (8..64).step_by(8).any(|bits: u32| {
        let mask = (1_u64 << bits) - 1;
        word == (first & mask) | (then & !mask)
    })
}

/// The word of eight bytes.
#[inline]
pub(crate) fn to_word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().unwrap_or_default())
}

/// The step that leads from each word of `bytes` to the next, if all whole words are of one chain.
#[inline]
pub(crate) fn step_of(bytes: &[u8]) -> Option<u64> {
    let (words, _) = bytes.as_chunks();
    let [first, second, others @ ..] = words else { return None };
    let first = unmix(u64::from_le_bytes(*first));
    let step = unmix(u64::from_le_bytes(*second)).wrapping_sub(first);
    if step != CREATE_STEP && step != WRITE_STEP {
        return None;
    }
    let mut counter = first.wrapping_add(step);
    for word in others {
        counter = counter.wrapping_add(step);
        if u64::from_le_bytes(*word) != mix(counter) {
            return None;
        }
    }
    Some(step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn mixing_can_be_undone(word in any::<u64>()) {
            prop_assert_eq!(unmix(mix(word)), word);
        }

        #[test]
        fn any_piece_of_two_words_proves_itself(key in any::<u64>(), at in 0_usize..60, words in 2_usize..4) {
            let mut bytes = [0; 512];
            fill(key, &mut bytes);
            let piece = &bytes[at * 8..(at + words) * 8];
            prop_assert_eq!(step_of(piece), Some(WRITE_STEP));
        }

        #[test]
        fn a_changed_byte_proves_nothing(
            key in any::<u64>(),
            noise_bytes in prop_oneof![Just(0_usize), 8_usize..=512],
            at in 0_usize..512,
            change in 1_u8..,
        ) {
            let mut bytes = [0; 512];
            fill(key, &mut bytes);
            bytes[at] ^= change;
            prop_assert_eq!(step_of(&bytes), None);
            fill_grain(key, 3, noise_bytes.min(504), &mut bytes);
            prop_assert!(is_grain(&bytes));
            bytes[at] ^= change;
            prop_assert!(!is_grain(&bytes));
        }

        #[test]
        fn what_is_not_ours_proves_nothing(bytes in proptest::collection::vec(any::<u8>(), 512)) {
            prop_assert_eq!(step_of(&bytes), None);
            prop_assert!(!is_grain(&bytes));
        }
    }

    #[test]
    fn one_byte_again_and_again_is_not_ours() {
        for byte in 0..=255 {
            assert!(!is_grain(&[byte; 512]) && step_of(&[byte; 512]).is_none(), "{byte}");
        }
    }
}

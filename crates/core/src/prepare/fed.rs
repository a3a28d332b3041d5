//! The file that fed the writes, looked up by any part of it.

use std::cell::OnceCell;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::Read;
use std::path::Path;

/// A file that feeds writes is not read further than this.
const BYTES_MAX: u64 = 1 << 30;
/// Fewer bytes prove nothing.
pub(super) const WINDOW_BYTES: usize = 16;
/// Places that are known of one file; in a longer one they lie further apart.
const PLACES_MAX: usize = 1 << 22;
/// Of places that look the same, so many are tried.
const TRIES: usize = 16;

/// What a file held that was repeated to fill the buffer of writes.
#[derive(Debug)]
pub(super) struct Fed {
    unit: Vec<u8>,
    /// Bytes between two places that are known.
    step: usize,
    /// The places, each behind the hash of the bytes that begin there, sorted.
    places: OnceCell<Vec<(u32, u32)>>,
}

impl Fed {
    /// The first `bytes` of a file; none if it is gone, or empty.
    pub(super) fn of(path: &Path, bytes: u64) -> Option<Self> {
        let mut unit = Vec::new();
        let file = File::open(path).ok()?;
        file.take(bytes.min(BYTES_MAX)).read_to_end(&mut unit).ok()?;
        (!unit.is_empty()).then(|| Self::holding(unit))
    }

    fn holding(unit: Vec<u8>) -> Self {
        let step = unit.len().div_ceil(PLACES_MAX).next_power_of_two();
        Self { unit, step, places: OnceCell::new() }
    }

    /// How many of `bytes`, from the first on, stand one after another in what was fed; 0 if they are too
    /// few to prove anything.
    pub(super) fn length(&self, bytes: &[u8]) -> usize {
        let shifts = 0..self.step.min(bytes.len());
        shifts.map(|shift| self.length_with(bytes, shift)).find(|length| *length > 0).unwrap_or(0)
    }

    /// The same, where a known place lies so far behind the first byte.
    fn length_with(&self, bytes: &[u8], shift: usize) -> usize {
        let Some(window) = bytes.get(shift..shift + WINDOW_BYTES) else { return 0 };
        let wanted = hash(window);
        let places = self.places.get_or_init(|| self.index());
        let first = places.partition_point(|(hash, _)| *hash < wanted);
        let alike = places[first..].iter().take_while(|(hash, _)| *hash == wanted).take(TRIES);
        let lengths = alike.map(|(_, place)| self.same(bytes, *place as usize, shift));
        lengths.max().filter(|length| *length >= shift + WINDOW_BYTES).unwrap_or(0)
    }

    /// How many of `bytes` are those that begin `shift` bytes before a place.
    fn same(&self, bytes: &[u8], place: usize, shift: usize) -> usize {
        let length = self.unit.len();
        let start = (place + length - shift % length) % length;
        let fed = self.unit[start..].iter().chain(self.unit.iter().cycle());
        bytes.iter().zip(fed).take_while(|(one, other)| one == other).count()
    }

    fn index(&self) -> Vec<(u32, u32)> {
        let inner = self.unit.windows(WINDOW_BYTES).enumerate().step_by(self.step);
        let entry =
            |(place, window): (usize, &[u8])| (hash(window), u32::try_from(place).unwrap_or(0));
        let mut places: Vec<_> = inner.map(entry).collect();
        // Those that begin at the end of the file, and go on with its first bytes.
        let length = self.unit.len();
        let ends = length.saturating_sub(WINDOW_BYTES - 1)..length;
        for place in ends.filter(|place| place.is_multiple_of(self.step)) {
            let window: Vec<u8> = self.unit[place..]
                .iter()
                .chain(self.unit.iter().cycle())
                .take(WINDOW_BYTES)
                .copied()
                .collect();
            places.push(entry((place, &window)));
        }
        places.sort_unstable();
        places
    }
}

fn hash(window: &[u8]) -> u32 {
    let mut hasher = DefaultHasher::new();
    hasher.write(window);
    (hasher.finish() >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn noise(bytes: usize) -> Vec<u8> {
        let mut data = vec![0; bytes];
        crate::noise::fill(7, &mut data);
        data
    }

    proptest! {
        #[test]
        fn any_part_is_known_and_no_byte_more(
            length in 1_usize..3000,
            start in 0_usize..3000,
            part in 16_usize..2000,
            other in any::<u8>(),
        ) {
            let unit = noise(length);
            let whole: Vec<u8> = unit.iter().copied().cycle().skip(start).take(part + 1).collect();
            let mut bytes = whole.clone();
            bytes[part] = other;
            let expected = part + usize::from(other == whole[part]);
            prop_assert_eq!(Fed::holding(unit).length(&bytes), expected);
        }
    }

    #[test]
    fn a_long_file_is_known_by_places_that_lie_apart() {
        let unit = noise(3 * PLACES_MAX + 5);
        let fed = Fed::holding(unit.clone());
        assert_eq!(fed.step, 4);
        for start in [0, 1, 2, 3, 4097, 3 * PLACES_MAX - 40] {
            assert_eq!(fed.length(&unit[start..start + 40]), 40, "{start}");
        }
        assert_eq!(fed.length(&[9; 600]), 0);
    }
}

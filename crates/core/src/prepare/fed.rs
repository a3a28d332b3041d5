//! The file that fed the writes, looked up by any part of it.

use std::cell::OnceCell;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::Read;
use std::ops::Range;
use std::path::Path;

/// A file that feeds writes is not read further than this.
const BYTES_MAX: u64 = 1 << 30;
/// Fewer bytes prove nothing.
pub(super) const WINDOW_BYTES: usize = 16;
/// Places that are known of one file; in a longer one they lie further apart.
const PLACES_MAX: usize = 1 << 22;
/// Of places that look the same, so many are tried.
const TRIES: usize = 16;
/// Windows begin so many bytes apart until one is found that stands at few places.
const STRIDE_BYTES: usize = 16;

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

    /// Whether all `bytes` stand one after another in what was fed, also where their first ones stand at many
    /// places, as zeros and repeated lines do.
    pub(super) fn holds(&self, bytes: &[u8]) -> bool {
        self.length(bytes) == bytes.len()
            || self.telling_places(bytes).is_some_and(|mut places| {
                places.any(|(place, shift)| self.same(bytes, place, shift) == bytes.len())
            })
    }

    /// The places at which the first windows stand that stand at few; else those of the windows at the
    /// fewest.
    fn telling_places(&self, bytes: &[u8]) -> Option<impl Iterator<Item = (usize, usize)>> {
        let last = bytes.len().checked_sub(WINDOW_BYTES + self.step - 1)?;
        let starts = (0..=last).step_by(STRIDE_BYTES);
        let count = |start: &usize| self.alike(bytes, *start..*start + self.step).count();
        let start = starts.clone().find(|start| count(start) <= TRIES * self.step);
        let start = start.or_else(|| starts.min_by_key(count))?;
        Some(self.alike(bytes, start..start + self.step))
    }

    /// The known places that look like the windows at these shifts, each with its shift.
    fn alike(&self, bytes: &[u8], shifts: Range<usize>) -> impl Iterator<Item = (usize, usize)> {
        shifts.flat_map(move |shift| {
            let window = bytes.get(shift..shift + WINDOW_BYTES);
            let places = window.map_or(&[][..], |window| self.places_of(hash(window)));
            places.iter().map(move |(_, place)| (*place as usize, shift))
        })
    }

    /// The same, where a known place lies so far behind the first byte.
    fn length_with(&self, bytes: &[u8], shift: usize) -> usize {
        let Some(window) = bytes.get(shift..shift + WINDOW_BYTES) else { return 0 };
        let alike = self.places_of(hash(window)).iter().take(TRIES);
        let lengths = alike.map(|(_, place)| self.same(bytes, *place as usize, shift));
        lengths.max().filter(|length| *length >= shift + WINDOW_BYTES).unwrap_or(0)
    }

    /// All known places with a hash.
    fn places_of(&self, wanted: u32) -> &[(u32, u32)] {
        let places = self.places.get_or_init(|| self.index());
        let from = &places[places.partition_point(|(hash, _)| *hash < wanted)..];
        &from[..from.partition_point(|(hash, _)| *hash == wanted)]
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

    proptest! {
        #[test]
        fn a_slot_is_known_as_a_whole_and_no_other_is(
            lines in prop::collection::vec(prop::sample::select(vec!["0", "a", "bc"]), 3..400),
            start in 0_usize..9000,
            zeros in prop::sample::select(vec![0_usize, 5000]),
            place in 0_usize..512,
        ) {
            // Zeros and few different lines, which stand at many places.
            let mut unit = vec![0; zeros];
            unit.extend(lines.iter().flat_map(|line| line.repeat(40).into_bytes()));
            unit.push(b'!');
            let mut slot: Vec<u8> = unit.iter().copied().cycle().skip(start).take(512).collect();
            let fed = Fed::holding(unit);
            prop_assert!(fed.holds(&slot));
            slot[place] = b'?';
            prop_assert!(!fed.holds(&slot));
        }
    }

    #[test]
    fn a_long_file_is_known_by_places_that_lie_apart() {
        let unit = noise(3 * PLACES_MAX + 5);
        let fed = Fed::holding(unit.clone());
        assert_eq!(fed.step, 4);
        for start in [0, 1, 2, 3, 4097, 3 * PLACES_MAX - 40] {
            assert_eq!(fed.length(&unit[start..start + 40]), 40, "{start}");
            assert!(fed.holds(&unit[start..start + 40]), "{start}");
        }
        assert_eq!(fed.length(&[9; 600]), 0);
    }
}

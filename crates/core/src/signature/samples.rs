//! Bounded samples of a file or device: its beginning, its end, and places in between.

use std::fs::File;
use std::io;

use fathom_sys::contract::file::PositionedIo;

use crate::units::{KIB, MIB};

/// A ZFS label is 256 KiB long and lies at both ends; no signature that is known lies deeper.
const EDGE_BYTES: u64 = 256 * KIB;
/// Smaller targets are read whole.
const WHOLE_BYTES: u64 = MIB;
/// A VMFS volume is marked here.
const DEEP_BYTES: u64 = MIB;
/// Bytes of a sample between the edges.
const MIDDLE_BYTES: u64 = 4 * KIB;
/// Samples between the edges.
const MIDDLE_COUNT: u64 = 30;
/// Middle samples start at a multiple of this, as pages of databases do.
const MIDDLE_ALIGN: u64 = 64 * KIB;

/// One stretch of sampled data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Where it starts in the target.
    pub offset_bytes: u64,
    /// The data.
    pub bytes: Vec<u8>,
}

/// Samples of one file or device, at most about 640 KiB, or all of it up to 1 MiB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Samples {
    size_bytes: u64,
    parts: Vec<Part>,
}

impl Samples {
    /// Reads samples of an open file or device of `size_bytes`; it is only read.
    pub fn read(file: &File, size_bytes: u64) -> io::Result<Self> {
        Self::take(size_bytes, |offset, buffer| file.read_exact_at(buffer, offset))
    }

    /// Reads samples of a part of an open file, as if the part stood alone.
    pub fn part_of(file: &File, start_bytes: u64, size_bytes: u64) -> io::Result<Self> {
        Self::take(size_bytes, |offset, buffer| file.read_exact_at(buffer, start_bytes + offset))
    }

    /// Samples of data in memory.
    #[must_use]
    pub fn of_bytes(data: &[u8]) -> Self {
        let whole = Part { offset_bytes: 0, bytes: data.to_vec() };
        Self { size_bytes: data.len() as u64, parts: vec![whole] }
    }

    /// Takes samples by a function that fills a buffer from an offset.
    pub fn take<F>(size_bytes: u64, mut fill: F) -> io::Result<Self>
    where
        F: FnMut(u64, &mut [u8]) -> io::Result<()>,
    {
        let mut parts = Vec::new();
        for (offset_bytes, length) in places(size_bytes) {
            let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
            fill(offset_bytes, &mut bytes)?;
            parts.push(Part { offset_bytes, bytes });
        }
        Ok(Self { size_bytes, parts })
    }

    /// The size of the whole target.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// The samples, in ascending order and without overlap.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Each sample between the first and the last, as if it stood alone.
    pub fn middle(&self) -> impl Iterator<Item = (u64, Self)> {
        let inner = self.parts.len().saturating_sub(2);
        let alone = |part: &Part| (part.offset_bytes, Self::of_bytes(&part.bytes));
        self.parts.iter().skip(1).take(inner).map(alone)
    }

    /// The first sample, which starts at 0; empty for an empty target.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        self.parts.first().map_or(&[], |part| &part.bytes)
    }

    /// The last sample, which ends where the target ends; empty for an empty target.
    #[must_use]
    pub fn tail(&self) -> &[u8] {
        self.parts.last().map_or(&[], |part| &part.bytes)
    }

    /// The `length` bytes at `offset`, if they lie within one sample.
    #[must_use]
    pub fn at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        self.parts.iter().find_map(|part| {
            let start = usize::try_from(offset.checked_sub(part.offset_bytes)?).ok()?;
            part.bytes.get(start..start.checked_add(length)?)
        })
    }

    /// The little-endian number at `offset`.
    #[must_use]
    pub fn u16_at(&self, offset: u64) -> Option<u16> {
        Some(u16::from_le_bytes(self.at(offset, 2)?.try_into().ok()?))
    }

    /// The little-endian number at `offset`.
    #[must_use]
    pub fn u32_at(&self, offset: u64) -> Option<u32> {
        Some(u32::from_le_bytes(self.at(offset, 4)?.try_into().ok()?))
    }
}

/// Offset and length of each sample of a target, in ascending order and without overlap.
pub(super) fn places(size_bytes: u64) -> Vec<(u64, u64)> {
    if size_bytes == 0 {
        return Vec::new();
    }
    if size_bytes <= WHOLE_BYTES {
        return vec![(0, size_bytes)];
    }
    let last = size_bytes - EDGE_BYTES;
    let mut places = vec![(0, EDGE_BYTES)];
    let step = (last - EDGE_BYTES) / (MIDDLE_COUNT + 1);
    let between = (1..=MIDDLE_COUNT).map(|index| EDGE_BYTES + index * step);
    let mut offsets: Vec<u64> = between.map(|at| at / MIDDLE_ALIGN * MIDDLE_ALIGN).collect();
    offsets.push(DEEP_BYTES);
    offsets.sort_unstable();
    offsets.dedup();
    offsets.retain(|&at| at >= EDGE_BYTES && at + MIDDLE_BYTES <= last);
    places.extend(offsets.into_iter().map(|at| (at, MIDDLE_BYTES)));
    places.push((last, EDGE_BYTES));
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn samples_are_bounded_apart_and_inside(size in 0_u64..1 << 45) {
            let places = places(size);
            let total: u64 = places.iter().map(|place| place.1).sum();
            prop_assert!(total <= WHOLE_BYTES);
            prop_assert!(places.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0));
            let end = places.last().map_or(0, |place| place.0 + place.1);
            prop_assert_eq!(end, size);
            prop_assert_eq!(places.first().map_or(0, |place| place.0), 0);
        }
    }

    #[test]
    fn places_are_found_in_head_middle_and_tail() {
        let size = 64 * MIB;
        let mark = |offset: u64, buffer: &mut [u8]| {
            buffer.fill(u8::try_from(offset / MIB).unwrap_or(u8::MAX));
            Ok(())
        };
        let samples = Samples::take(size, mark).expect("nothing fails");
        assert_eq!(samples.at(510, 2), Some(&[0, 0][..]));
        assert_eq!(samples.at(DEEP_BYTES, 4), Some(&[1; 4][..]));
        assert_eq!(samples.at(size - 512, 8), Some(&[63; 8][..]));
        assert_eq!(samples.at(EDGE_BYTES, 4), None);
        assert_eq!(samples.at(size, 1), None);
    }

    #[test]
    fn a_failing_read_is_told() {
        let fail = |_, _: &mut [u8]| Err(io::Error::other("broken"));
        assert!(Samples::take(10, fail).is_err());
    }
}

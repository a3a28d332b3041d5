//! What the targets hold: blocks that were never written, and zeros.

use std::fs::File;
use std::ops::Range;
use std::path::Path;

use fathom_sys::contract::file::PositionedIo;
use fathom_sys::{clock::now_ns, extents, residency};

use super::super::{Warning, WarningKind};
use super::words::{either, percent, size};
use super::{SeenRanges, not_seen, number};
use crate::measure::EventSink;
use crate::plan::{PayloadPlan, Plan, SpanPlan, TargetKind, TargetPlan};
use crate::supervise::within;
use crate::units::NANOS_PER_SEC;

/// A smaller share than this, in percent, does not show in any number of a result.
const UNBACKED_PERCENT_MIN: f64 = 0.1;
/// Places that are looked at for zeros.
const SAMPLES: u64 = 64;
/// One place of so many shows in the results.
const MANY: usize = 20;
/// A pattern that repeats after so many bytes, or after a part of them, is constant.
const PERIOD: usize = 256;
/// Data that LZ4 makes at least so many times shorter gain from a device that compresses. Random data grow by
/// a little.
const COMPRESSION_MIN: f64 = 1.5;
/// So long places are looked at, at most: each look at a slow target is waited for before the load.
const LONGEST_LOOK_NS: u64 = 2 * NANOS_PER_SEC;
/// Bytes that are looked at in each place.
const SAMPLE_BYTES: u64 = 4096;

/// Doubts about the targets of one time span that are read; each stretch is looked at once.
pub(super) fn warnings(
    plan: &Plan,
    span: &SpanPlan,
    seen: &mut SeenRanges,
    sink: EventSink<'_>,
) -> Vec<Warning> {
    let is_read = |target: &TargetPlan| target.write_percent < 100 && target.kind.is_local();
    let mut warnings = Vec::new();
    for (target, range) in not_seen(span, seen, |one| is_read(one).then(|| one.read_offsets())) {
        let made = is_made(plan, target.path());
        let found = Found { target, range, made, span: number(span.index) };
        let doing = format!("look at what '{}' holds", target.name);
        warnings.extend(within(sink, doing, || found.warnings()));
    }
    warnings
}

fn is_made(plan: &Plan, path: &Path) -> bool {
    plan.files().any(|file| file.path() == path)
}

/// One stretch of one target that will be read.
struct Found<'a> {
    target: &'a TargetPlan,
    range: Range<u64>,
    /// This plan makes the file, so making it is no remedy.
    made: bool,
    span: u32,
}

impl Found<'_> {
    fn warnings(&self) -> Vec<Warning> {
        let Ok(file) = File::open(self.target.path()) else { return Vec::new() };
        let unwritten = match self.target.kind {
            TargetKind::File => self.unbacked(&file),
            _ => None,
        };
        let wholly_unwritten = unwritten.as_ref().is_some_and(|(_, percent)| *percent >= 100.0);
        let share = unwritten.as_ref().map_or(0.0, |(_, percent)| *percent);
        let mut warnings: Vec<Warning> =
            unwritten.into_iter().map(|(warning, _)| warning).collect();
        // Where nothing was written there is nothing but zeros, and one warning says it better.
        if !wholly_unwritten {
            let samples = Samples::of(&file, &self.range);
            warnings.extend(self.zeros(&samples, share));
            // Devices keep these in less room: they store them once, or compress them.
            let constant = self.constant(&samples);
            warnings.extend(constant.or_else(|| self.compressible(&samples.held)));
        }
        warnings
    }

    /// The warning about blocks that were never written, with their share in percent.
    fn unbacked(&self, file: &File) -> Option<(Warning, f64)> {
        let backing = extents::backing(file, self.range.clone()).ok()?;
        let total = self.range.end - self.range.start;
        let share = percent(backing.unbacked_bytes(), total);
        if share < UNBACKED_PERCENT_MIN {
            return None;
        }
        let evidence = format!(
            "{share:.1} % of the {} that are read were never written ({} reserved, {} in holes), \
             and such reads are answered without touching the device",
            size(total),
            size(backing.unwritten_bytes),
            size(backing.hole_bytes),
        );
        Some((self.warning(WarningKind::UnwrittenExtents, evidence), share))
    }

    /// The warning about zeros, if some of the places hold nothing else.
    /// What was never written is zeros, too, and told already.
    fn zeros(&self, samples: &Samples, unwritten_percent: f64) -> Option<Warning> {
        let zeros = samples.held.iter().filter(|bytes| is_zero(bytes)).count();
        let least_percent = unwritten_percent + 100.0 / MANY as f64;
        if zeros == 0 || percent(zeros as u64, samples.places as u64) < least_percent {
            return None;
        }
        let evidence = format!(
            "{zeros} of {} places that were looked at hold only zeros, which devices may store \
             and return without reading their media",
            samples.places,
        );
        Some(self.warning(WarningKind::AllZeroData, evidence))
    }

    /// The warning about places that hold one pattern over and over, or the same as other places.
    fn constant(&self, samples: &Samples) -> Option<Warning> {
        let Samples { places, held } = samples;
        let constant = held.iter().filter(|bytes| is_constant(bytes)).count();
        let twice = repeated(held);
        let is_many = |count: usize| count > 0 && count * MANY >= *places;
        let (count, what) = if is_many(constant) {
            (constant, "one pattern over and over, which devices may compress or store once")
        } else if is_many(twice) {
            (twice, "the same data as others of them, which devices may store once")
        } else {
            return None;
        };
        let evidence = format!("{count} of {places} places that were looked at hold {what}");
        Some(self.warning(WarningKind::ConstantData, evidence))
    }

    /// The warning about data that a compressor makes much shorter.
    fn compressible(&self, held: &[Vec<u8>]) -> Option<Warning> {
        let factor = compression(held)?;
        if factor < COMPRESSION_MIN {
            return None;
        }
        let evidence = format!(
            "LZ4 makes the data of {} places that were looked at {factor:.1} times shorter; a device that \
             compresses reads less from its media than is counted here",
            held.iter().filter(|bytes| !is_zero(bytes)).count(),
        );
        Some(self.warning(WarningKind::CompressibleData, evidence))
    }

    fn warning(&self, kind: WarningKind, evidence: String) -> Warning {
        Warning {
            kind,
            target: Some(self.target.name.clone()),
            time_span: Some(self.span),
            evidence,
            remedy: self.remedy(kind),
        }
    }

    fn remedy(&self, kind: WarningKind) -> String {
        let mut remedies = Vec::new();
        if kind == WarningKind::CompressibleData {
            remedies.push(
                "take the figures as they are if these are data of the application".to_owned(),
            );
        }
        if self.target.kind == TargetKind::File && !self.made {
            let bytes = self.target.size_bytes;
            remedies.push(format!("let the file be created with real data (-c{bytes})"));
        }
        remedies.push(
            "write the whole range once with random data before it is read (-w100 -Zr)".to_owned(),
        );
        let writes_such =
            matches!(self.target.payload, PayloadPlan::CountingPattern | PayloadPlan::Zero);
        let and_here = if self.target.write_percent > 0 && writes_such {
            "; and let this load write random data, too (-Zr)"
        } else {
            ""
        };
        either(&remedies) + and_here
    }
}

/// What places of a range hold.
struct Samples {
    /// How many places were looked at.
    places: usize,
    /// The bytes of those that could be read.
    held: Vec<Vec<u8>>,
}

impl Samples {
    fn of(file: &File, range: &Range<u64>) -> Self {
        // Reading ahead would warm the cache that the run is about to measure or avoid.
        let _ = residency::expect_scattered_reads(file);
        Self::taken(&sample_offsets(range), |at| read(file, at, range.end), now_ns)
    }

    /// Looks at places for as long as there is time, in an order in which any first part is spread over all.
    /// What that leaves of a slow target may be too little to judge it by, and is nothing then.
    fn taken(
        places: &[u64],
        read: impl Fn(u64) -> Option<Vec<u8>>,
        now_ns: impl Fn() -> u64,
    ) -> Self {
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by_key(|place| place.reverse_bits());
        let over_ns = now_ns() + LONGEST_LOOK_NS;
        let mut looked = Self { places: 0, held: Vec::new() };
        for place in order {
            if now_ns() >= over_ns {
                return if looked.places < MANY {
                    Self { places: 0, held: Vec::new() }
                } else {
                    looked
                };
            }
            looked.places += 1;
            looked.held.extend(read(places[place]));
        }
        looked
    }
}

/// Evenly spread places in a range.
fn sample_offsets(range: &Range<u64>) -> Vec<u64> {
    let blocks = (range.end - range.start).div_ceil(SAMPLE_BYTES);
    let count = blocks.min(SAMPLES);
    (0..count).map(|index| range.start + index * (blocks / count) * SAMPLE_BYTES).collect()
}

fn read(file: &File, at: u64, end: u64) -> Option<Vec<u8>> {
    let length = usize::try_from(SAMPLE_BYTES.min(end - at)).unwrap_or(0);
    let mut bytes = vec![1; length];
    file.read_exact_at(&mut bytes, at).is_ok().then_some(bytes)
}

/// How many pieces of data are there more than once; zeros are reported by themselves.
fn repeated(held: &[Vec<u8>]) -> usize {
    let mut sorted: Vec<&Vec<u8>> = held.iter().filter(|bytes| !is_zero(bytes)).collect();
    sorted.sort_unstable();
    let groups = sorted.chunk_by(|one, next| one == next);
    groups.map(<[&Vec<u8>]>::len).filter(|&count| count > 1).sum()
}

/// How many times shorter LZ4 makes the data, each place by itself as devices do with their blocks; zeros are
/// told by themselves. Nothing if there are no others.
fn compression(held: &[Vec<u8>]) -> Option<f64> {
    let (mut plain, mut packed) = (0_usize, 0_usize);
    for bytes in held.iter().filter(|bytes| !is_zero(bytes)) {
        plain += bytes.len();
        packed += lz4_flex::block::compress(bytes).len().min(bytes.len());
    }
    (packed > 0).then(|| plain as f64 / packed as f64)
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

/// Whether a pattern of at most 256 bytes repeats, such as the counting one that DiskSpd writes.
fn is_constant(bytes: &[u8]) -> bool {
    bytes.len() > PERIOD && bytes[PERIOD..] == bytes[..bytes.len() - PERIOD] && !is_zero(bytes)
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

    #[test]
    fn patterns_that_repeat_are_constant_and_zeros_are_not_told_twice() {
        let counting: Vec<u8> = (0..=255).cycle().take(4096).collect();
        assert!(is_constant(&counting) && is_constant(&[7; 4096]));
        assert!(!is_constant(&[0; 4096]) && is_zero(&[0; 4096]));
        for at in [0, 255, 256, 2048, 4095] {
            let mut other = counting.clone();
            other[at] ^= 1;
            assert!(!is_constant(&other), "{at}");
        }
    }

    #[test]
    fn data_that_are_there_more_than_once_are_counted_and_zeros_are_not() {
        let random =
            |seed: u8| (0..64).map(|at: u8| at.wrapping_mul(7) ^ seed).collect::<Vec<u8>>();
        let of =
            |seeds: &[u8]| repeated(&seeds.iter().map(|&seed| random(seed)).collect::<Vec<_>>());
        assert_eq!([of(&[]), of(&[1]), of(&[1, 2, 3])], [0, 0, 0]);
        assert_eq!([of(&[1, 2, 1]), of(&[1, 1, 2, 3, 2]), of(&[5; 9])], [2, 4, 9]);
        assert_eq!(repeated(&vec![vec![0; 64]; 9]), 0);
    }

    #[test]
    fn data_that_compress_are_counted_without_zeros_and_random_ones_do_not() {
        let quarter = |seed: u64| {
            let mut bytes = vec![0; 4096];
            let mut state = seed;
            for byte in &mut bytes[..1024] {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *byte = state.to_be_bytes()[0];
            }
            bytes
        };
        let held: Vec<Vec<u8>> = (1..=8).map(quarter).collect();
        let factor = compression(&held).expect("data");
        assert!((3.5..4.0).contains(&factor), "{factor}");
        let random: Vec<Vec<u8>> = held.iter().map(|bytes| bytes[..1024].to_vec()).collect();
        assert_eq!(compression(&random), Some(1.0));
        assert_eq!(compression(&[vec![0; 4096]]), None);
        assert_eq!(compression(&[vec![0; 4096], random[0].clone()]), Some(1.0));
    }

    /// A target that takes 2 s for each read was read from for 128 s before its load.
    #[test]
    fn a_slow_target_was_looked_at_in_all_places_however_long_it_took() {
        let places = sample_offsets(&(0..1 << 30));
        let looked = |read_ns: u64| {
            let (clock, seen) = (Cell::new(0), RefCell::new(Vec::new()));
            let read = |at| {
                clock.set(clock.get() + read_ns);
                seen.borrow_mut().push(at);
                Some(vec![7])
            };
            let samples = Samples::taken(&places, read, || clock.get());
            (samples.places, samples.held.len(), clock.get(), seen.into_inner())
        };
        assert_eq!((looked(NANOS_PER_SEC / 100).0, looked(NANOS_PER_SEC / 100).1), (64, 64));
        let (count, held, took_ns, mut seen) = looked(NANOS_PER_SEC / 10);
        assert_eq!((count, held, took_ns), (20, 20, 2 * NANOS_PER_SEC));
        seen.sort_unstable();
        let widest = seen.windows(2).map(|two| two[1] - two[0]).max();
        assert_eq!(widest, Some((1 << 30) / 16), "{seen:?}");
        let (count, held, took_ns, _) = looked(2 * NANOS_PER_SEC);
        assert_eq!((count, held, took_ns), (0, 0, 2 * NANOS_PER_SEC));
    }

    #[test]
    fn places_are_spread_and_inside() {
        for range in [0..1, 0..4096, 5..4102, 100..1 << 40] {
            let places = sample_offsets(&range);
            assert!(!places.is_empty() && places.len() <= 64);
            assert!(places.iter().all(|at| range.contains(at)), "{range:?}");
            assert!(places.is_sorted());
        }
        let places = sample_offsets(&(0..1 << 30));
        assert!(places.last().is_some_and(|&last| last > 1_000_000_000));
    }
}

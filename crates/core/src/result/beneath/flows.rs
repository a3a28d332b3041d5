//! What was asked in one direction, what counters saw of it, and both in words.

use super::Asked;
use crate::beneath::Counters;
use crate::result::warnings::words::{grouped, size};

/// From this share of the bytes on, a device saw the load.
pub(in crate::result) const SEEN: f64 = 0.9;
/// Below this share, something else answered nearly all of it.
pub(super) const HARDLY: f64 = 0.1;
/// By at most this share, what devices saw may differ from as many I/Os of the load.
const ALIKE: f64 = 0.01;
/// Behind what was seen of writes that another may have made.
const OF_EVERYBODY: &str = ", which saw that of everybody";

/// One direction of I/O, asked and seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Direction {
    /// What was asked of all targets on the same devices.
    pub(super) together: Flow,
    /// What these devices saw of everybody; absent if one of them counts nothing.
    pub(super) at_devices: Option<Witness>,
    /// What saw the smallest share of what was asked through it.
    pub(super) least: Witness,
}

/// I/Os of one direction.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Flow {
    pub(super) name: &'static str,
    pub(super) ios: u64,
    pub(super) bytes: u64,
}

/// I/Os that a device saw, and their bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Came {
    pub(super) ios: u64,
    /// Those that it took as parts of others.
    pub(super) merged: u64,
    pub(super) bytes: u64,
}

/// What a counter saw, beside what it should have seen: the I/Os of those targets that go through it, and no
/// others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Witness {
    pub(super) asked: Flow,
    /// How often each byte that was asked is written on its way there.
    pub(super) copies: u64,
    /// No other target goes through it.
    pub(super) is_alone: bool,
    /// What devices saw; absent where bytes alone are known.
    pub(super) came: Option<Came>,
    /// The bytes are those that this process fetched.
    pub(super) is_fetched: bool,
    pub(super) seen_bytes: u64,
    /// Share of the bytes that were seen.
    pub(super) share: f64,
}

impl Direction {
    /// Bytes that the devices saw of everybody.
    pub(super) fn seen_at_devices(&self) -> u64 {
        self.at_devices.map_or(0, |witness| witness.seen_bytes)
    }
}

impl Flow {
    pub(super) fn both(asked: Asked) -> [Self; 2] {
        let Asked { read_ios, read_bytes, write_ios, write_bytes, .. } = asked;
        [
            Self { name: "reads", ios: read_ios, bytes: read_bytes },
            Self { name: "writes", ios: write_ios, bytes: write_bytes },
        ]
    }

    /// That of `reads` or `writes`.
    pub(super) fn of(asked: Asked, name: &str) -> Self {
        let [reads, writes] = Self::both(asked);
        if name == reads.name { reads } else { writes }
    }

    pub(super) fn in_words(self) -> String {
        let name = if self.ios == 1 { self.name.trim_end_matches('s') } else { self.name };
        format!("{} {name} ({})", grouped(self.ios), size(self.bytes))
    }

    /// Bytes of so many of these I/Os.
    pub(super) fn bytes_of(self, ios: u64) -> f64 {
        ios as f64 * self.bytes as f64 / self.ios.max(1) as f64
    }
}

impl Came {
    /// I/Os and bytes of one direction.
    pub(super) fn of(counters: &Counters, name: &str) -> Self {
        let Counters { read_ios, reads_merged, read_bytes, .. } = *counters;
        let Counters { write_ios, writes_merged, write_bytes, .. } = *counters;
        match name {
            "reads" => Self { ios: read_ios, merged: reads_merged, bytes: read_bytes },
            _ => Self { ios: write_ios, merged: writes_merged, bytes: write_bytes },
        }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            ios: self.ios + other.ios,
            merged: self.merged + other.merged,
            bytes: self.bytes + other.bytes,
        }
    }
}

impl Witness {
    /// The same where each byte that is written comes so often.
    pub(super) fn with_copies(self, copies: u64) -> Self {
        let copies = if self.asked.name == "writes" && self.asked.bytes > 0 { copies } else { 1 };
        Self { copies, share: self.share / copies as f64, ..self }
    }

    /// What is missing.
    pub(super) fn missing_bytes(&self) -> f64 {
        (1.0 - self.share) * self.asked.bytes as f64
    }

    /// What was seen, as a part of what was asked.
    pub(super) fn in_words(&self, names: &str) -> String {
        format!("of {}, {}", self.asked_in_words(), self.seen_in_words(names))
    }

    /// What was asked, and how much that is with all copies.
    fn asked_in_words(&self) -> String {
        let asked = self.asked.in_words();
        if self.copies == 1 {
            return asked;
        }
        format!("{asked}, {} with all copies", size(self.asked.bytes * self.copies))
    }

    /// The same where what was seen may be that of others.
    pub(super) fn at_most_in_words(&self, names: &str) -> String {
        let asked = self.asked_in_words();
        let seen = size(self.seen_bytes);
        if self.came.is_some() {
            return format!("of {asked}, at most {seen} reached {names}{OF_EVERYBODY}");
        }
        format!("of {asked}, at most {seen} reached any device")
    }

    /// Whether the I/Os that devices saw can be those that were asked, by their number and bytes.
    fn is_of_their_size(&self, came: Came) -> bool {
        let bytes = self.asked.bytes_of(came.ios);
        let is_alike = (came.bytes as f64 - bytes).abs() <= ALIKE * bytes;
        came.ios <= self.asked.ios && is_alike
    }

    /// What was seen.
    pub(super) fn seen_in_words(&self, names: &str) -> String {
        let seen = size(self.seen_bytes);
        match self.came {
            Some(came) if self.is_of_their_size(came) => {
                format!("{} ({seen}) reached {names}", grouped(came.ios))
            }
            // I/Os were divided, merged or fetched ahead on their way: bytes tell.
            Some(_) => format!("{seen} reached {names}"),
            None if self.is_fetched => format!("{seen} came from any device"),
            None => format!("{seen} reached any device"),
        }
    }
}

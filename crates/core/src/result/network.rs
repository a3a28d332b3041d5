//! What of a time span was the network's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::totals::{Kind, Sum};
use super::{TimeSpanResult, sentence};
use crate::measure::{BackendDescription, SpanMeasurements};
use crate::network::{RoundTrip, TcpUse};
use crate::plan::{SpanPlan, TargetPlan};

/// A target over the network: how it was reached, and what the way there took.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkUse {
    /// Position of the target in its time span, from 0.
    pub target: u32,
    /// The protocol.
    pub protocol: String,
    /// What was negotiated, in words.
    pub dialect: String,
    /// Host and port of the server, or the path of its socket.
    pub server: String,
    /// Protocol and cipher; absent if the connections were not encrypted.
    pub encryption: Option<String>,
    /// Connections of all threads together.
    pub connections: u32,
    /// Connections that were lost, and had not been made again when the load ended.
    pub lost_connections: u32,
    /// How often a lost connection was made again.
    #[serde(default)]
    pub reconnects: u32,
    /// The longest time that one of the connections was lost, all its losses together, from each until it was
    /// made again or the load ended, in nanoseconds; only where lost connections are made again. Where a host
    /// fell silent, it was lost when the last came from it.
    #[serde(default)]
    pub disconnected_ns_max: u64,
    /// I/Os that the server takes at once on one connection; absent if nothing limits them.
    pub outstanding_max: Option<u32>,
    /// The longest read or write that the server takes.
    pub request_bytes_max: u32,
    /// Offsets and lengths are multiples of this.
    pub block_bytes_min: u32,
    /// The shortest round trip that the protocol has; absent if it could not be measured.
    pub round_trip: Option<RoundTrip>,
    /// What the kernel knew of the connections when the load had ended; absent over a unix socket.
    pub tcp: Option<TcpUse>,
    /// Mean latency of reads and writes, in nanoseconds; absent if latency was not measured.
    pub latency_mean_ns: Option<u64>,
    /// What of the latency is the network's, as a sentence.
    pub sentence: String,
}

/// The targets over the network of a time span.
pub(super) fn of_span(
    plan: &SpanPlan,
    measured: &SpanMeasurements,
    span: &TimeSpanResult,
) -> Vec<NetworkUse> {
    let targets = plan.targets.iter().enumerate();
    targets.filter_map(|(index, target)| of_target(plan, measured, span, (index, target))).collect()
}

fn of_target(
    plan: &SpanPlan,
    measured: &SpanMeasurements,
    span: &TimeSpanResult,
    (index, target): (usize, &TargetPlan),
) -> Option<NetworkUse> {
    let facts = &target.location.served()?.plan.facts;
    let is_of_target = |thread: usize, stream: usize| {
        let streams = plan.threads.get(thread).map(|thread| &thread.assignments);
        streams.and_then(|all| all.get(stream)).is_some_and(|one| one.target == index)
    };
    let uses = measured.threads.iter().flat_map(|thread| {
        let BackendDescription { connections, .. } = &thread.backend;
        connections.iter().filter(move |one| is_of_target(thread.index, one.stream))
    });
    let uses: Vec<_> = uses.collect();
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let mut found = NetworkUse {
        target: number(index),
        protocol: facts.protocol.clone(),
        dialect: facts.dialect.clone(),
        server: facts.server.clone(),
        encryption: facts.encryption.clone(),
        connections: number(uses.len()),
        lost_connections: number(uses.iter().filter(|one| one.lost.is_some()).count()),
        reconnects: uses.iter().map(|one| one.reconnects).fold(0, u32::saturating_add),
        disconnected_ns_max: uses.iter().map(|one| one.disconnected_ns).max().unwrap_or_default(),
        outstanding_max: facts.outstanding_max,
        request_bytes_max: facts.request_bytes_max,
        block_bytes_min: facts.block_bytes_min,
        round_trip: measured.round_trips.get(index).cloned().flatten(),
        tcp: together(uses.iter().filter_map(|one| one.tcp)),
        latency_mean_ns: latency_mean_ns(span, number(index)),
        sentence: String::new(),
    };
    found.sentence = sentence(&found.in_words());
    Some(found)
}

/// Several connections as one: means of times, sums of counts.
fn together(all: impl Iterator<Item = TcpUse>) -> Option<TcpUse> {
    let all: Vec<TcpUse> = all.collect();
    let count = u64::try_from(all.len()).ok().filter(|count| *count > 0)?;
    let mean = |of: fn(&TcpUse) -> u32| {
        let sum: u64 = all.iter().map(|one| u64::from(of(one))).sum();
        u32::try_from(sum / count).unwrap_or(u32::MAX)
    };
    Some(TcpUse {
        rtt_us: mean(|one| one.rtt_us),
        rtt_deviation_us: mean(|one| one.rtt_deviation_us),
        rtt_min_us: all.iter().filter_map(|one| one.rtt_min_us).min(),
        retransmits: all.iter().map(|one| one.retransmits).sum(),
        delivery_bytes_per_s: all.iter().map(|one| one.delivery_bytes_per_s).sum(),
    })
}

fn latency_mean_ns(span: &TimeSpanResult, target: u32) -> Option<u64> {
    let mut sum = Sum::default();
    let rows = span.threads.iter().flat_map(|thread| &thread.targets);
    rows.filter(|row| row.target == target).for_each(|row| sum.add(row, Kind::Total));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a mean of times lies between the shortest and the longest of them"
    )]
    let mean_ns = sum.latency.mean_ns().round() as u64;
    (sum.latency.count() > 0).then_some(mean_ns)
}

impl NetworkUse {
    fn in_words(&self) -> String {
        let Some(trip) = &self.round_trip else {
            return "the round trip to the server could not be measured before the load".to_owned();
        };
        let floor = micros(trip.median_ns);
        // NBD has no request that leaves the storage alone.
        let (how_far, more) = match &*self.protocol {
            "NBD" => ("at most", ", with the server's own time for it"),
            _ => ("about", ""),
        };
        match self.latency_mean_ns {
            Some(mean_ns) => format!(
                "of {}, {how_far} {} are the network's: so long took {} before the load{more}",
                micros(mean_ns),
                micros(trip.median_ns.min(mean_ns)),
                trip.by
            ),
            None => format!(
                "{} took {floor} before the load; with -L the result says what share of the latency that is",
                trip.by
            ),
        }
    }

    /// Share of the mean latency that a round trip took before the load.
    pub(crate) fn share(&self) -> Option<f64> {
        let (trip, mean_ns) = (self.round_trip.as_ref()?, self.latency_mean_ns?);
        Some(trip.median_ns.min(mean_ns) as f64 / mean_ns.max(1) as f64)
    }
}

/// A time in whole microseconds, in words, rounded as the tables round theirs.
fn micros(nanos: u64) -> String {
    format!("{} µs", (nanos + 500) / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trip(median_ns: u64) -> RoundTrip {
        RoundTrip { by: "a NOP-Out".to_owned(), count: 9, min_ns: 1, median_ns }
    }

    #[test]
    fn the_share_of_the_network_is_told_as_far_as_it_is_known() {
        let mut used = NetworkUse { round_trip: Some(trip(120_000)), ..NetworkUse::default() };
        assert!(used.in_words().starts_with("a NOP-Out took 120 µs before"), "{}", used.in_words());
        used.latency_mean_ns = Some(310_000);
        assert!(used.in_words().starts_with("of 310 µs, about 120 µs are the network's"));
        assert!(used.share().is_some_and(|share| (share - 0.387).abs() < 0.001));
        // A load that was faster than the round trips before it was not faster than the network.
        used.latency_mean_ns = Some(100_000);
        assert_eq!(used.share(), Some(1.0));
    }

    /// The table said 0.093 ms and the sentence 94 µs, as it rounded up.
    #[test]
    fn a_sentence_said_a_microsecond_more_than_its_table() {
        let (round_trip, latency_mean_ns) = (Some(trip(25_419_100)), Some(26_663_400));
        let used = NetworkUse { round_trip, latency_mean_ns, ..NetworkUse::default() };
        let words = used.in_words();
        assert!(words.starts_with("of 26663 µs, about 25419 µs are"), "{words}");
    }

    /// An export on a device of 20 ms, over a unix socket: nearly all of the latency was the network's.
    #[test]
    fn the_time_of_an_nbd_servers_device_was_all_the_networks() {
        let by = "a read of 512 bytes at offset 0".to_owned();
        let round_trip = Some(RoundTrip { by, ..trip(20_000_000) });
        let (protocol, latency_mean_ns) = ("NBD".to_owned(), Some(21_000_000));
        let used = NetworkUse { protocol, round_trip, latency_mean_ns, ..NetworkUse::default() };
        let words = used.in_words();
        assert!(words.starts_with("of 21000 µs, at most 20000 µs are the network's"), "{words}");
        assert!(words.ends_with("before the load, with the server's own time for it"), "{words}");
    }

    #[test]
    fn several_connections_are_told_as_one() {
        let one = TcpUse { rtt_us: 10, retransmits: 1, rtt_min_us: Some(5), ..TcpUse::default() };
        let two = TcpUse { rtt_us: 30, retransmits: 2, rtt_min_us: Some(4), ..TcpUse::default() };
        let both = together([one, two].into_iter()).expect("two");
        assert_eq!((both.rtt_us, both.retransmits, both.rtt_min_us), (20, 3, Some(4)));
        assert_eq!(together(std::iter::empty()), None);
    }
}

//! What of the figures is the network's.

use super::super::{NetworkUse, Warning, WarningKind};
use super::Seen;
use super::words::grouped;

/// From this share of the mean latency on, the network is a great part of it.
const GREAT: f64 = 0.2;
/// From one segment sent again among so many I/Os on, that shows in a percentile that people read.
const IOS_PER_RETRANSMIT: u64 = 1000;

/// Doubts about the targets over the network of one time span.
pub(super) fn warnings(seen: &Seen) -> Vec<Warning> {
    let of =
        |used: &NetworkUse| [share(seen, used), retransmits(seen, used), reconnected(seen, used)];
    seen.measured.network.iter().flat_map(of).flatten().collect()
}

fn share(seen: &Seen, used: &NetworkUse) -> Option<Warning> {
    let target = seen.span.targets.get(used.target as usize)?;
    used.share().filter(|share| *share >= GREAT)?;
    let remedy = "measure on the server as well to know what its storage takes".to_owned();
    let warning = seen.warning(WarningKind::NetworkShare, used.sentence.clone(), remedy);
    Some(seen.about(target, warning))
}

fn retransmits(seen: &Seen, used: &NetworkUse) -> Option<Warning> {
    let target = seen.span.targets.get(used.target as usize)?;
    let counts = seen.counts(used.target as usize);
    let ios = counts.read_ios + counts.write_ios;
    let is_many = |count: &u64| *count > 0 && count.saturating_mul(IOS_PER_RETRANSMIT) >= ios;
    let count = used.tcp.map(|tcp| tcp.retransmits).filter(is_many)?;
    let (segments, seemed) = match count {
        1 => ("1 segment".to_owned(), "was sent again, as it seemed"),
        _ => (format!("{} segments", grouped(count)), "were sent again, as they seemed"),
    };
    let evidence = format!(
        "{segments} to {} {seemed} lost, which adds to latency and takes from rates",
        used.server
    );
    let remedy =
        "look for errors of the link (ip -s link), for a full switch, or for a limit of a rate"
            .to_owned();
    Some(seen.about(target, seen.warning(WarningKind::Retransmits, evidence, remedy)))
}

fn reconnected(seen: &Seen, used: &NetworkUse) -> Option<Warning> {
    let target = seen.span.targets.get(used.target as usize)?;
    let seconds = used.disconnected_ns_max as f64 / 1e9;
    let lost = match (used.reconnects, used.connections) {
        (0, _) => return None,
        (1, 1) => format!(
            "the connection to {} was lost and made again after {seconds:.2} s",
            used.server
        ),
        (count, 1) => format!(
            "the connection to {} was lost and made again {count} times, for {seconds:.2} s in all",
            used.server
        ),
        (count, all) => format!(
            "of the {all} connections to {}, some were lost and made again, {count} times in all; none for longer \
             than {seconds:.2} s",
            used.server
        ),
    };
    let evidence = format!(
        "{lost}: what was in flight waited and was sent again, and its latency counts from its first issue"
    );
    let remedy = "look at the server and the way to it at that time, if it was not meant to be so";
    Some(seen.about(target, seen.warning(WarningKind::Reconnected, evidence, remedy.to_owned())))
}

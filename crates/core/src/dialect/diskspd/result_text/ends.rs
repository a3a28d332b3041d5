//! I/Os that were in flight at the end of the measured time, in lines of their own behind
//! `DiskSpd`'s tables: where they tell something that these do not.

use crate::measure::Edges;
use crate::result::totals::{Kind, of_span};
use crate::result::{Outcome, TimeSpanResult};

const KINDS: [(&str, Kind); 4] =
    [("read", Kind::Read), ("write", Kind::Write), ("sync", Kind::Sync), ("trim", Kind::Trim)];

/// Both ends of the measured time; nothing where all went as usual.
pub fn write(text: &mut String, index: usize, span: &TimeSpanResult) {
    let ends = KINDS.map(|(name, kind)| (name, of_span(span, kind).edges));
    let counts = |edges: &Edges| edges.at_least + edges.response_at_least > 0;
    if !ends.iter().any(|(_, edges)| counts(edges)) && span.outcome != Outcome::NoIo {
        return;
    }
    let title =
        "operation | in flight: start |    end | oldest (s) | not issued | oldest (s) | in latency";
    let rule = "-".repeat(title.len());
    text.push_str(&format!("\nEnds of timespan {}:\n{title}\n{rule}\n", index + 1));
    for (name, edges) in ends.iter().filter(|(_, edges)| has_any(edges)) {
        text.push_str(&format!(
            "{name:<9} | {:16} | {:6} | {:10.3} | {:10} | {:10.3} | {:10}\n",
            edges.at_start.ios,
            edges.at_end.ios,
            edges.at_end.age_ns_max as f64 / 1e9,
            edges.not_issued.ios,
            edges.not_issued.age_ns_max as f64 / 1e9,
            edges.at_least
        ));
    }
    if ends.iter().any(|(_, edges)| counts(edges)) {
        text.push_str(
            "I/Os that had not completed, or not begun although they were due, are in the latencies (last \
             column)\nand response times with their age at the end: they take at least so long.\n",
        );
    }
    if let Some(share) = span.idle_share() {
        let percent = share * 100.0;
        text.push_str(&format!("Slots without an I/O in flight: {percent:.1} % of their time.\n"));
    }
}

fn has_any(edges: &Edges) -> bool {
    edges.at_start.ios + edges.at_end.ios + edges.not_issued.ios > 0
}

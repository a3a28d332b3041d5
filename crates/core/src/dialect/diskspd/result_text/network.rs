//! Targets over the network, in lines of their own behind `DiskSpd`'s tables.

use crate::result::{NetworkUse, TimeSpanResult};

/// A few lines per target over the network; nothing if there is none.
pub fn write(text: &mut String, index: usize, span: &TimeSpanResult) {
    if span.network.is_empty() {
        return;
    }
    text.push_str(&format!("\nNetwork of timespan {}:\n", index + 1));
    for used in &span.network {
        let path = span.targets.get(used.target as usize).map_or("", |facts| facts.path.as_str());
        text.push_str(&format!("{path}\n"));
        for (name, words) in lines(used) {
            text.push_str(&format!("{:<15}{words}\n", format!("  {name}:")));
        }
    }
}

fn lines(used: &NetworkUse) -> Vec<(&'static str, String)> {
    let encryption = used.encryption.as_deref().unwrap_or("not encrypted");
    let lost = match used.lost_connections {
        0 => String::new(),
        count => format!(", {count} of them lost"),
    };
    let again = match (used.reconnects, used.disconnected_ns_max as f64 / 1e9) {
        (0, 0.0) => String::new(),
        (0, seconds) => format!(", for {seconds:.2} s"),
        (1, seconds) => format!(", made again once, after {seconds:.2} s"),
        (count, seconds) => format!(", made again {count} times, lost for {seconds:.2} s at most"),
    };
    let window = match used.outstanding_max {
        Some(most) => format!("{most} outstanding I/Os per connection"),
        None => "no limit of outstanding I/Os".to_owned(),
    };
    let mut lines = vec![
        ("protocol", format!("{}, {encryption}", used.dialect)),
        ("server", used.server.clone()),
        ("connections", format!("{}{lost}{again}", used.connections)),
        (
            "limits",
            format!(
                "{window}, {} bytes per request, multiples of {} bytes",
                used.request_bytes_max, used.block_bytes_min
            ),
        ),
    ];
    if let Some(trip) = &used.round_trip {
        lines.push((
            "round trip",
            format!(
                "{:.3} ms, at least {:.3} ms ({} of {} before the load)",
                trip.median_ns as f64 / 1e6,
                trip.min_ns as f64 / 1e6,
                trip.count,
                trip.by
            ),
        ));
    }
    if let Some(tcp) = used.tcp {
        let least = tcp.rtt_min_us.map_or_else(String::new, |us| format!(", at least {us} µs"));
        lines.push((
            "TCP",
            format!(
                "round trip {} µs ± {} µs at the end{least}, {} segments sent again",
                tcp.rtt_us, tcp.rtt_deviation_us, tcp.retransmits
            ),
        ));
    }
    lines.push(("latency", used.sentence.clone()));
    lines
}

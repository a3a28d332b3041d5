//! Targets over the network, as elements that `DiskSpd` lacks.

use crate::dialect::diskspd::xml::{Writer, escape};
use crate::result::{NetworkUse, TimeSpanResult};

/// One element `<Network>`; nothing if no target is reached over one.
pub fn write(xml: &mut Writer, index: usize, span: &TimeSpanResult) {
    if span.network.is_empty() {
        return;
    }
    let head = format!("TimeSpanNumber=\"{}\"", index + 1);
    xml.group_with("Network", &head, |xml| {
        for used in &span.network {
            write_one(xml, used, span);
        }
    });
}

fn write_one(xml: &mut Writer, used: &NetworkUse, span: &TimeSpanResult) {
    let path = span.targets.get(used.target as usize).map_or("", |facts| facts.path.as_str());
    let optional = |name: &str, value: Option<String>| {
        value.map_or_else(String::new, |value| format!(" {name}=\"{}\"", escape(&value)))
    };
    let head = format!(
        "Of=\"{}\" Protocol=\"{}\" Dialect=\"{}\" Server=\"{}\" Connections=\"{}\" LostConnections=\"{}\" \
         Reconnects=\"{}\" DisconnectedNanosecondsMax=\"{}\" \
         RequestBytesMax=\"{}\" BlockBytesMin=\"{}\" Sentence=\"{}\"{}{}",
        escape(path),
        escape(&used.protocol),
        escape(&used.dialect),
        escape(&used.server),
        used.connections,
        used.lost_connections,
        used.reconnects,
        used.disconnected_ns_max,
        used.request_bytes_max,
        used.block_bytes_min,
        escape(&used.sentence),
        optional("Encryption", used.encryption.clone()),
        optional("OutstandingMax", used.outstanding_max.map(|most| most.to_string())),
    );
    xml.group_with("Remote", &head, |xml| {
        if let Some(trip) = &used.round_trip {
            xml.line(&format!(
                "<RoundTrip By=\"{}\" Measured=\"{}\" MinNanoseconds=\"{}\" MedianNanoseconds=\"{}\"/>",
                escape(&trip.by),
                trip.count,
                trip.min_ns,
                trip.median_ns
            ));
        }
        if let Some(tcp) = used.tcp {
            xml.line(&format!(
                "<Tcp RttMicroseconds=\"{}\" RttDeviationMicroseconds=\"{}\" Retransmits=\"{}\"{}{}/>",
                tcp.rtt_us,
                tcp.rtt_deviation_us,
                tcp.retransmits,
                optional("RttMinMicroseconds", tcp.rtt_min_us.map(|us| us.to_string())),
                optional(
                    "DeliveryBytesPerSecond",
                    tcp.delivery_bytes_per_s.map(|rate| rate.to_string())
                ),
            ));
        }
    });
}

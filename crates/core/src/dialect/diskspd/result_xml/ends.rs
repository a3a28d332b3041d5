//! What was in flight at both ends of the measured time, and idle slots, in elements that `DiskSpd` lacks.

use crate::dialect::diskspd::xml::Writer;
use crate::measure::InFlight;
use crate::result::totals::{Kind, of_span};
use crate::result::{TimeSpanResult, Warning, WarningKind};

const KINDS: [(&str, Kind); 4] =
    [("Read", Kind::Read), ("Write", Kind::Write), ("Sync", Kind::Sync), ("Trim", Kind::Trim)];

/// One element `<Ends>`; nothing where all went as usual, or as asked.
pub fn write(xml: &mut Writer, index: usize, span: &TimeSpanResult, warnings: &[Warning]) {
    let told = [WarningKind::NoIoCompleted, WarningKind::StalledAtEnd, WarningKind::IdleBetweenIos];
    let is_told = warnings.iter().any(|one| {
        told.contains(&one.kind) && one.time_span.is_none_or(|span| span as usize == index)
    });
    let total = of_span(span, Kind::Total).edges;
    if !is_told && total.at_least + total.response_at_least == 0 {
        return;
    }
    let slots = span.slots();
    xml.group_with("Ends", &format!("TimeSpan=\"{}\"", index + 1), |xml| {
        xml.element("Slots", slots.count);
        xml.element("IdleNanoseconds", slots.idle_ns);
        for (name, kind) in KINDS {
            let edges = of_span(span, kind).edges;
            if edges == crate::measure::Edges::default() {
                continue;
            }
            xml.group_with("Operation", &format!("Name=\"{name}\""), |xml| {
                in_flight(xml, "AtStart", edges.at_start);
                in_flight(xml, "AtEnd", edges.at_end);
                in_flight(xml, "NotIssued", edges.not_issued);
                xml.element("UncountedNanoseconds", edges.uncounted_ns);
                xml.element("InLatency", edges.at_least);
                xml.element("InResponse", edges.response_at_least);
            });
        }
    });
}

fn in_flight(xml: &mut Writer, name: &str, ios: InFlight) {
    xml.group(name, |xml| {
        xml.element("Ios", ios.ios);
        xml.element("AgeNanoseconds", ios.age_ns_sum);
        xml.element("OldestNanoseconds", ios.age_ns_max);
    });
}

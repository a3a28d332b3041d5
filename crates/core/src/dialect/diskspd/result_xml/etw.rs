//! Kernel events of the measured time.

use crate::dialect::diskspd::etw::{Row, clock_names, shown, sources};
use crate::dialect::diskspd::xml::{Writer, escape};
use crate::request::Tracing;
use crate::result::KernelEvents;

/// The element `<ETW>`. What cannot be counted has no element; `<Interval>` and `<Source>` are additions.
pub fn write(xml: &mut Writer, tracing: &Tracing, events: &KernelEvents) {
    xml.group("ETW", |xml| {
        for section in shown(tracing).filter(|section| !section.rows.is_empty()) {
            match section.element {
                Some(element) => xml.group(element, |xml| write_rows(xml, section.rows, events)),
                None => write_rows(xml, section.rows, events),
            }
        }
        write_interval(xml, events);
        for (title, names, source) in sources(tracing, events) {
            let (title, names) = (escape(title), escape(&names));
            let source = escape(&source);
            xml.line(&format!("<Source Of=\"{title}\" Counts=\"{names}\">{source}</Source>"));
        }
    });
}

fn write_rows(xml: &mut Writer, rows: &[Row], events: &KernelEvents) {
    for row in rows {
        xml.optional(row.element, events.of_event(row.event).and_then(|count| count.count));
    }
}

fn write_interval(xml: &mut Writer, events: &KernelEvents) {
    let (_, clock) = clock_names(events.clock);
    let length = match (events.counted_ns, events.counted_cycles) {
        (Some(counted_ns), _) => format!("Nanoseconds=\"{counted_ns}\""),
        (None, cycles) => format!("Cycles=\"{}\"", cycles.unwrap_or(0)),
    };
    xml.line(&format!("<Interval Clock=\"{clock}\" {length}/>"));
}

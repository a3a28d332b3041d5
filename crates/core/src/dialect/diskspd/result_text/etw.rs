//! Kernel events of the measured time.

use crate::dialect::diskspd::etw::{clock_names, shown, sources};
use crate::request::Tracing;
use crate::result::KernelEvents;

/// The section `ETW:`, and where its counts come from.
pub fn write(text: &mut String, tracing: &Tracing, events: &KernelEvents) {
    text.push_str("\n\n\nETW:\n----\n\n");
    for section in shown(tracing) {
        text.push_str(&format!("\t{}\n", section.title));
        for row in section.rows {
            let count = events.of_event(row.event).and_then(|count| count.count);
            let count = count.map_or_else(|| "N/A".to_owned(), |count| count.to_string());
            text.push_str(&format!("\t\t{}: {count}\n", row.name));
        }
        if section.rows.is_empty() {
            text.push_str("\t\tnot counted: there is none on this system\n");
        }
    }
    write_sources(text, tracing, events);
}

fn write_sources(text: &mut String, tracing: &Tracing, events: &KernelEvents) {
    let (clock, _) = clock_names(events.clock);
    let length = match (events.counted_ns, events.counted_cycles) {
        (Some(counted_ns), _) => format!("{:.6} s", counted_ns as f64 / 1e9),
        (None, cycles) => format!("{} cycles", cycles.unwrap_or(0)),
    };
    text.push_str(&format!("\n\tcounted on the whole system for {length} by {clock}, from\n"));
    for (title, names, source) in sources(tracing, events) {
        text.push_str(&format!("\t\t{title} ({names}): {source}\n"));
    }
}

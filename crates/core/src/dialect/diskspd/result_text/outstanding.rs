//! I/Os that never came back, in lines of their own behind `DiskSpd`'s tables.

use crate::result::TimeSpanResult;

/// So many are reported in text; JSON and XML have all of them.
const TOLD: usize = 20;

/// The I/Os without which the time span was ended, if there were any.
pub fn write(text: &mut String, index: usize, span: &TimeSpanResult) {
    let ios = &span.outstanding;
    if ios.is_empty() {
        return;
    }
    text.push_str(&format!(
        "\nI/Os of timespan {} that have not come back: {}\n\
         thread | operation |       offset       |   bytes    | since start (s) | waited (s) | target\n{}\n",
        index + 1,
        ios.len(),
        "-".repeat(100)
    ));
    for io in ios.iter().take(TOLD) {
        let target = span.targets.get(io.target as usize).map_or("", |facts| facts.path.as_str());
        text.push_str(&format!(
            "{:6} | {:<9} | {:18} | {:10} | {:15.3} | {:10.3} | {target}\n",
            io.thread,
            io.operation,
            io.offset_bytes,
            io.bytes,
            io.submitted_ns as f64 / 1e9,
            io.waited_ns as f64 / 1e9
        ));
    }
}

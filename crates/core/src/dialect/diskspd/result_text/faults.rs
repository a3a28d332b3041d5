//! I/Os that went wrong, in lines of their own behind `DiskSpd`'s tables.

use crate::result::TimeSpanResult;

/// The faults of one time span by operation, kind and target, if there were any.
pub fn write(text: &mut String, index: usize, span: &TimeSpanResult) {
    let faults = span.faults();
    if faults.is_empty() {
        return;
    }
    let number = index + 1;
    text.push_str(&format!(
        "\nErrors of timespan {number}; failed I/Os are not part of the I/Os above:\n\
         operation | kind         |   measured   |   outside    | target\n{}\n",
        "-".repeat(79)
    ));
    for one in faults {
        let fault = &one.fault;
        text.push_str(&format!(
            "{:<9} | {:<12} | {:12} | {:12} | {}\n",
            fault.operation, fault.kind, fault.ios, fault.outside_ios, one.path
        ));
    }
}

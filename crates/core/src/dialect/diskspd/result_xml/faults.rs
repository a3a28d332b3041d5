//! I/Os that went wrong, in elements that `DiskSpd` lacks.

use crate::dialect::diskspd::xml::Writer;
use crate::result::TimeSpanResult;

/// One element `<Faults>` with one `<Fault>` per operation, kind and target; nothing without faults.
pub fn write(xml: &mut Writer, index: usize, span: &TimeSpanResult) {
    let faults = span.faults();
    if faults.is_empty() {
        return;
    }
    xml.group_with("Faults", &format!("TimeSpan=\"{}\"", index + 1), |xml| {
        for one in &faults {
            xml.group("Fault", |xml| {
                xml.element("Path", one.path);
                xml.element("Operation", &one.fault.operation);
                xml.element("Kind", &one.fault.kind);
                xml.element("Count", one.fault.ios);
                xml.element("OutsideCount", one.fault.outside_ios);
            });
        }
    });
}

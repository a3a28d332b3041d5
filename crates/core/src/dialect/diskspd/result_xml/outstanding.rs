//! I/Os that never came back, in elements that `DiskSpd` lacks.

use crate::dialect::diskspd::xml::Writer;
use crate::result::TimeSpanResult;

/// One element `<Outstanding>` with one `<Io>` per I/O; nothing if all came back.
pub fn write(xml: &mut Writer, index: usize, span: &TimeSpanResult) {
    if span.outstanding.is_empty() {
        return;
    }
    xml.group_with("Outstanding", &format!("TimeSpan=\"{}\"", index + 1), |xml| {
        for io in &span.outstanding {
            let path = span.targets.get(io.target as usize).map_or("", |facts| facts.path.as_str());
            xml.group("Io", |xml| {
                xml.element("Thread", io.thread);
                xml.element("Path", path);
                xml.element("Operation", &io.operation);
                xml.element("Offset", io.offset_bytes);
                xml.element("Bytes", io.bytes);
                xml.element("SubmittedNanoseconds", io.submitted_ns);
                xml.element("WaitedNanoseconds", io.waited_ns);
            });
        }
    });
}

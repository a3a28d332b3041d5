//! Operations other than reads and writes, in elements that `DiskSpd` lacks.

use crate::dialect::diskspd::xml::Writer;
use crate::result::totals::{Kind, Sum, of_span};
use crate::result::{DirectionResult, ThreadTargetResult, TimeSpanResult};

/// The elements `<SyncCount>`, `<TrimCount>` and `<TrimBytes>` of one thread's target, if there were any.
pub fn write_counts(xml: &mut Writer, row: &ThreadTargetResult) {
    xml.optional("SyncCount", row.sync.as_ref().map(|sync| sync.ios));
    xml.optional("TrimCount", row.trim.as_ref().map(|trim| trim.ios));
    xml.optional("TrimBytes", row.trim.as_ref().map(|trim| trim.bytes));
    for (name, direction) in [("Sync", &row.sync), ("Trim", &row.trim)] {
        if let Some(direction) = direction {
            write_mean(xml, name, direction);
        }
    }
}

fn write_mean(xml: &mut Writer, name: &str, direction: &DirectionResult) {
    if let Some(latency) = direction.latency.as_ref().filter(|latency| latency.count() > 0) {
        let mean_ms = latency.mean_ns() / 1e6;
        xml.element(&format!("Average{name}LatencyMilliseconds"), format_args!("{mean_ms:.3}"));
    }
}

/// The elements `<Sync>` and `<Trim>` of a time span, behind all of `DiskSpd`'s own, if there were any.
pub fn write_distributions(xml: &mut Writer, index: usize, span: &TimeSpanResult) {
    for (name, kind) in [("Sync", Kind::Sync), ("Trim", Kind::Trim)] {
        let sum = of_span(span, kind);
        if sum.ios + sum.errors > 0 {
            let attributes = format!("TimeSpan=\"{}\"", index + 1);
            xml.group_with(name, &attributes, |xml| write_sum(xml, &sum));
        }
    }
}

fn write_sum(xml: &mut Writer, sum: &Sum) {
    xml.element("Count", sum.ios);
    xml.element("Bytes", sum.bytes);
    let latency = &sum.latency;
    if latency.count() == 0 {
        return;
    }
    xml.element("AverageMilliseconds", format_args!("{:.3}", latency.mean_ns() / 1e6));
    xml.element("LatencyStdev", format_args!("{:.3}", latency.stddev_ns() / 1e6));
    for (percentile, quantile) in
        [("0", 0.0), ("50", 0.5), ("90", 0.9), ("99", 0.99), ("99.9", 0.999), ("100", 1.0)]
    {
        let value_ms = latency.quantile_ns(quantile) as f64 / 1e6;
        xml.line(&format!(
            "<Bucket><Percentile>{percentile}</Percentile><Milliseconds>{value_ms:.3}</Milliseconds>\
             </Bucket>"
        ));
    }
}

//! `-Rs`: what the host is, without a run.

use super::number::show_size;
use super::topology::ranges;
use super::xml::Writer;
use super::{result_text, result_xml};
use crate::result::{Cache, Cpu, SystemReport};
use crate::shown;

/// The report as text.
#[must_use]
pub fn text(report: &SystemReport) -> String {
    let plain = shown::of(report);
    let report = plain.as_ref().unwrap_or(report);
    let host = &report.host;
    let mut text = String::new();
    result_text::write_system(&mut text, host, report.seen_at_unix_s);
    text.push_str(&format!("\tprocessor name:\t\t{}\n", host.cpu_model));
    text.push_str(&format!("\tpage size:\t\t{}\n", show_size(report.page_bytes)));
    text.push_str("\ncache information:\n\n");
    let several = host.cpus.iter().any(|cpu| cpu.group != host.cpus[0].group);
    let title = if several { "Group/CPU" } else { "CPU" };
    text.push_str(&format!("Cache |   Size   | Line  | Assoc  | {title}\n{}\n", "-".repeat(55)));
    for cache in &report.caches {
        let letter = match cache.kind.as_str() {
            "Data" => "d",
            "Instruction" => "i",
            _ => "",
        };
        let name = format!("L{}{letter}", cache.level);
        let size = show_size(cache.size_bytes);
        let ways = if cache.ways == 0 { "-".to_owned() } else { format!("{}-way", cache.ways) };
        let cpus = ranges(members(cache, &host.cpus), several);
        text.push_str(&format!(
            "{name:<5} | {size:>8} | {:>5} | {ways:>6} | {cpus}\n",
            cache.line_bytes
        ));
    }
    text
}

fn members<'a>(cache: &'a Cache, cpus: &'a [Cpu]) -> impl Iterator<Item = &'a Cpu> {
    cpus.iter().filter(|cpu| cache.os_cpus.contains(&cpu.os_id))
}

/// The report as XML: the element `<System>` of a result, with processor name, page size and caches.
#[must_use]
pub fn xml(report: &SystemReport) -> String {
    let mut xml = Writer::new(0);
    let (tool, host, seen_at) = (&report.tool, &report.host, report.seen_at_unix_s);
    result_xml::write_system(&mut xml, tool, host, seen_at, Some(report));
    xml.finish()
}

//! What the layers beneath the targets saw, in lines of their own behind `DiskSpd`'s tables.

use crate::beneath::LayerKind;
use crate::result::{Beneath, CpuShares, LayerUse, TimeSpanResult};
use crate::result::{TargetOrigin, sentence};
use crate::units::NANOS_PER_SEC;

/// Right beneath the head of a time span: the targets whose figures are not a device's. Where they are,
/// nothing is reported, so that the layout is `DiskSpd`'s.
pub fn write_head(text: &mut String, span: &TimeSpanResult) {
    for origin in origins(span).filter(|origin| !origin.answered_by.is_device()) {
        text.push_str(&format!("Not a device's figures: {}\n", line(origin, span)));
    }
}

fn line(origin: &TargetOrigin, span: &TimeSpanResult) -> String {
    format!("{}: {}", path(origin, span), sentence(&origin.sentence))
}

fn path<'a>(origin: &TargetOrigin, span: &'a TimeSpanResult) -> &'a str {
    span.targets.get(origin.target as usize).map_or("", |facts| &facts.path)
}

/// Targets that were used.
fn origins(span: &TimeSpanResult) -> impl Iterator<Item = &TargetOrigin> {
    let origins = span.beneath.iter().flat_map(|beneath| &beneath.targets);
    origins.filter(|origin| !origin.asked.is_nothing())
}

/// The table of layers, and a sentence per target.
pub fn write(text: &mut String, index: usize, span: &TimeSpanResult) {
    let Some(beneath) = &span.beneath else { return };
    let width = width(beneath, span);
    text.push_str(&format!(
        "\nBeneath timespan {}: I/Os that were requested, and those that layers saw of everybody\n\
         {:<width$} |     reads    |    read bytes   |    merged    |    writes    |  bytes written  | \
         \u{20}  merged\n\
         {}\n",
        index + 1,
        "layer",
        "-".repeat(width + 98)
    ));
    for origin in &beneath.targets {
        let path = path(origin, span);
        let asked = origin.asked;
        let numbers = [asked.read_ios, asked.read_bytes, asked.write_ios, asked.write_bytes];
        text.push_str(&format!("{:<width$} |{}\n", format!("asked of {path}"), row(numbers, None)));
    }
    for layer in &beneath.layers {
        text.push_str(&format!("{:<width$} |{}\n", layer.name, seen(layer)));
    }
    for origin in origins(span) {
        text.push_str(&format!("{}\n", line(origin, span)));
    }
    if let Some(cpu) = &beneath.cpu {
        text.push_str(&cpu_line(cpu));
    }
    if let Some(pressure) = beneath.pressure {
        let (io, memory) = (seconds(pressure.io_ns), seconds(pressure.memory_ns));
        text.push_str(&format!(
            "pressure: something waited {io} for I/O and {memory} for memory\n"
        ));
    }
}

fn seconds(nanos: u64) -> String {
    format!("{:.2} s", nanos as f64 / NANOS_PER_SEC as f64)
}

/// Who used the CPUs during the measured time.
fn cpu_line(cpu: &CpuShares) -> String {
    let waited = cpu.waited_ns.map_or_else(String::new, |ns| {
        format!("; threads of load waited {} for a CPU", seconds(ns))
    });
    let all_ns = cpu.counted_ns.saturating_mul(u64::from(cpu.cpu_count));
    format!(
        "CPU time of {} CPUs ({}): {} this tool, {} the kernel for it, {} others, {} kernel threads, \
         {} interrupts, {} stolen{waited}\n",
        cpu.cpu_count,
        seconds(all_ns),
        seconds(cpu.own_user_ns),
        seconds(cpu.own_system_ns),
        seconds(cpu.others_ns),
        seconds(cpu.kernel_threads_ns),
        seconds(cpu.interrupts_ns),
        seconds(cpu.stolen_ns),
    )
}

/// The first column holds the longest name.
fn width(beneath: &Beneath, span: &TimeSpanResult) -> usize {
    let layers = beneath.layers.iter().map(|layer| layer.name.chars().count());
    let asked = span.targets.iter().map(|facts| facts.path.chars().count() + "asked of ".len());
    layers.chain(asked).max().unwrap_or(0).max(8)
}

fn seen(layer: &LayerUse) -> String {
    let Some(seen) = layer.seen else {
        let about = match (layer.kind, layer.about.as_str()) {
            (LayerKind::FileSystem, "") => "a file system",
            (LayerKind::Nothing, "") => "it touches nothing",
            (_, "") => "its counters are off",
            (_, about) => about,
        };
        return format!(" not counted: {about}");
    };
    row(
        [seen.read_ios, seen.read_bytes, seen.write_ios, seen.write_bytes],
        Some((seen.reads_merged, seen.writes_merged)),
    )
}

fn row([reads, read_bytes, writes, bytes_written]: [u64; 4], merged: Option<(u64, u64)>) -> String {
    let (of_reads, of_writes) = merged.map_or((String::new(), String::new()), |(reads, writes)| {
        (reads.to_string(), writes.to_string())
    });
    let row = format!(
        " {reads:12} | {read_bytes:15} | {of_reads:>12} | {writes:12} | {bytes_written:15} | {of_writes:>12}"
    );
    row.trim_end().to_owned()
}

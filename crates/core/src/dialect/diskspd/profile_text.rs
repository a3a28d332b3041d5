//! The head of `DiskSpd`'s text: the command line and the input parameters.

use std::fmt::Write as _;

use super::affinity::order_in_words;
use super::extensions;
use super::number::show_size;
use super::profile_xml::template;
use crate::request::{
    BufferSeparation, Caching, Distribution, DistributionRange, FlushMode, Priority, Profile, Rate,
    RingBatch, Target, TimeSpan, Tuning, WriteSource,
};
use crate::shown;

/// From the blank line before `Command Line:` to the last line of the last target.
#[must_use]
pub fn write(profile: &Profile, command_line: &str) -> String {
    let plain = shown::of(profile);
    in_plain_words(plain.as_ref().unwrap_or(profile), &shown::shown(command_line))
}

/// The same of what can be shown as it is.
pub(super) fn in_plain_words(profile: &Profile, command_line: &str) -> String {
    let mut text = format!("\nCommand Line: {command_line}\n");
    if profile.experiment_flags != 0 {
        let flags = profile.experiment_flags;
        text.push_str(&format!("\nExperiment Flags: {flags:#x} ({flags})\n"));
    }
    text.push_str("\nInput parameters:\n\n");
    if profile.verbose {
        text.push_str("\tusing verbose mode\n");
    }
    for (index, span) in profile.time_spans.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        write_time_span(&mut text, index, span);
    }
    text
}

/// Appends lines that are indented by tabs.
struct Lines<'a> {
    text: &'a mut String,
    indent: &'static str,
}

impl Lines<'_> {
    fn add(&mut self, line: impl AsRef<str>) {
        // Writing to a String cannot fail.
        let _written = writeln!(self.text, "{}{}", self.indent, line.as_ref());
    }

    fn add_if(&mut self, condition: bool, line: &str) {
        if condition {
            self.add(line);
        }
    }
}

fn write_time_span(text: &mut String, index: usize, span: &TimeSpan) {
    let mut lines = Lines { text, indent: "\t" };
    lines.add(format!("timespan: {:3}", index + 1));
    lines.add("-------------");
    lines.add(format!("duration: {}s", span.duration_s));
    lines.add(format!("warm up time: {}s", span.warm_up_s));
    lines.add(format!("cool down time: {}s", span.cool_down_s));
    lines.add_if(span.disable_affinity, "affinity disabled");
    lines.add_if(span.measure_latency, "measuring latency");
    if span.interval_series {
        lines.add(format!("gathering IOPS at intervals of {}ms", span.interval_ms));
    }
    lines.add(format!("random seed: {}", span.random_seed));
    if span.thread_count > 0 {
        lines.add(format!("thread pool with {} threads", span.thread_count));
        let outstanding = span.request_count;
        lines.add(format!("number of outstanding I/O operations per thread: {outstanding}"));
    }
    for (name, value) in super::stop::words(&span.stop) {
        lines.add(format!("stop rule: {name} {value}").trim_end());
    }
    for (name, value) in super::faults::words(span.faults) {
        lines.add(format!("{name}: {value}"));
    }
    if !span.cpus.is_empty() {
        let cpus = span.cpus.iter().map(|cpu| match cpu.index {
            Some(index) => format!("{}/{index}", cpu.group),
            None => format!("{}/*", cpu.group),
        });
        let cpus = cpus.collect::<Vec<_>>().join(", ");
        lines.add(format!("advanced affinity round robin (group/core): {cpus}"));
    }
    if span.cpu_order.is_given() {
        let order = order_in_words(span.cpu_order);
        lines.add(format!("affinity assignment: {order}"));
    }
    write_tuning(&mut lines, &span.tuning);
    if span.targets.iter().any(|target| target.write_data.fresh_random) {
        lines.add("generating random data for each write IO");
        lines.add("  WARNING: this increases the CPU cost of issuing writes and should only");
        lines.add("           be compared to other results using the -Zr flag");
    }
    for target in &span.targets {
        lines.add(match target.path.as_str().strip_prefix(template::PREFIX) {
            Some(number) => format!("path: template target '{number}'"),
            None => format!("path: '{}'", target.path),
        });
        write_target(lines.text, span, target);
    }
}

/// What `DiskSpd` 2.3 says about its own settings, where they were requested.
fn write_tuning(lines: &mut Lines<'_>, tuning: &Tuning) {
    if let Some(ring) = tuning.ring {
        let size = match ring.batch {
            RingBatch::Percent(percent) => format!("{percent}%"),
            RingBatch::Ios(ios) => ios.to_string(),
        };
        let with = if ring.registered_buffers { "with" } else { "without" };
        lines.add(format!("using IoRing (batch size: {size}) {with} registered buffers"));
    }
    match tuning.buffer_separation {
        None => {}
        Some(BufferSeparation::SystemDefault) => lines.add("buffer separation: system default"),
        Some(BufferSeparation::PageDirectoryLine) => {
            lines.add("buffer separation: thread optimized");
        }
    }
    if let Some(depth) = tuning.completion_depth {
        lines.add(format!("completion depth: {depth}"));
    }
}

fn write_target(text: &mut String, span: &TimeSpan, target: &Target) {
    let mut lines = Lines { text, indent: "\t\t" };
    lines.add(format!("think time: {}ms", target.think_ms.unwrap_or(0)));
    lines.add(format!("burst size: {}", target.burst_ios.unwrap_or(0)));
    write_caching(&mut lines, target);
    write_data(&mut lines, target);
    lines.add_if(target.parallel_same_offset, "using parallel async I/O");
    lines.add(match target.write_percent {
        0 => "performing read test".to_owned(),
        100 => "performing write test".to_owned(),
        writes => format!("performing mix test (read/write ratio: {}/{writes})", 100 - writes),
    });
    lines.add(format!("block size: {}", show_size(u64::from(target.block_bytes))));
    lines.add(access(target));
    let shared_slots = span.thread_count > 0 && span.request_count > 0;
    if !shared_slots {
        let outstanding = target.outstanding;
        lines.add(format!("number of outstanding I/O operations per thread: {outstanding}"));
    }
    write_range(&mut lines, target);
    if shared_slots {
        lines.add(format!("relative IO weight in thread pool: {}", target.weight));
    }
    if span.thread_count == 0 {
        lines.add(format!("threads per file: {}", target.threads));
    }
    if target.outstanding > 1 && span.thread_count == 0 && span.tuning.ring.is_none() {
        lines.add(if span.alternate_completion {
            "using completion routines (ReadFileEx/WriteFileEx)"
        } else {
            "using I/O Completion Ports"
        });
    }
    write_rate_and_distribution(&mut lines, target);
}

fn write_caching(lines: &mut Lines<'_>, target: &Target) {
    lines.add(match target.caching {
        Caching::Cached => "using software cache",
        Caching::Unbuffered => "software cache disabled",
        Caching::RemoteUnbuffered => "local software cache disabled, remote cache enabled",
    });
    lines.add(match (target.write_through, target.caching) {
        (false, _) => "using hardware write cache, writethrough off",
        (true, Caching::Unbuffered) => "hardware write cache disabled, writethrough on",
        (true, _) => "hardware and software write caches disabled, writethrough on",
    });
    if target.memory_mapped {
        lines.add(match target.flush {
            None => "memory mapped I/O enabled",
            Some(FlushMode::ViewOfFile) => "memory mapped I/O enabled, flush mode: FlushViewOfFile",
            Some(FlushMode::NonVolatileMemory) => {
                "memory mapped I/O enabled, flush mode: FlushNonVolatileMemory"
            }
            Some(FlushMode::NonVolatileMemoryNoDrain) => {
                "memory mapped I/O enabled, flush mode: FlushNonVolatileMemory with no drain"
            }
        });
    }
}

fn write_data(lines: &mut Lines<'_>, target: &Target) {
    match &target.write_data.source {
        WriteSource::CountingPattern => {}
        WriteSource::Zero => lines.add("zeroing write buffers"),
        WriteSource::Buffer { bytes, file } => {
            lines.add(format!("write buffer size: {}", show_size(*bytes)));
            lines.add(match file {
                Some(file) => format!("write buffer source: '{file}'"),
                None => "write buffer source: random fill".to_owned(),
            });
        }
    }
}

fn access(target: &Target) -> String {
    let align = show_size(target.access.align_bytes);
    match target.access.random_percent {
        0 if target.access.interlocked => {
            format!("using interlocked sequential I/O (stride: {align})")
        }
        0 => format!("using sequential I/O (stride: {align})"),
        100 => format!("using random I/O (alignment: {align})"),
        percent => format!(
            "using mixed random/sequential I/O ({percent}% random) (alignment/stride: {align})"
        ),
    }
}

fn write_range(lines: &mut Lines<'_>, target: &Target) {
    for (name, bytes) in [
        ("base file offset", target.base_bytes),
        ("max file size", target.limit_bytes),
        ("thread stride size", target.thread_stride_bytes),
    ] {
        if bytes > 0 {
            lines.add(format!("{name}: {}", show_size(bytes)));
        }
    }
    lines.add_if(target.hints.sequential, "using FILE_FLAG_SEQUENTIAL_SCAN hint");
    lines.add_if(target.hints.random, "using FILE_FLAG_RANDOM_ACCESS hint");
    lines.add_if(target.hints.temporary, "using FILE_ATTRIBUTE_TEMPORARY hint");
}

fn write_rate_and_distribution(lines: &mut Lines<'_>, target: &Target) {
    lines.add(match target.priority {
        Priority::VeryLow => "IO priority: very low",
        Priority::Low => "IO priority: low",
        Priority::Normal => "IO priority: normal",
    });
    match target.rate {
        None => {}
        Some(Rate::BytesPerMs(rate)) => {
            lines.add(format!("throughput rate-limited to {rate} B/ms"));
        }
        Some(Rate::Iops(rate)) => lines.add(format!("throughput rate-limited to {rate} IOPS")),
    }
    if let Some(distribution) = &target.distribution {
        lines.add("IO Distribution:");
        for line in distribution_lines(distribution) {
            lines.add(line);
        }
    }
    for line in extensions::lines(target) {
        lines.add(line);
    }
}

fn distribution_lines(distribution: &Distribution) -> Vec<String> {
    let mut start = 0_u64;
    let mut line = |range: &DistributionRange, percent: bool| {
        let from = start;
        start = start.saturating_add(range.length);
        let io = range.io_percent;
        if percent {
            return format!("   {io:3}% of IO => [{from:2}% - {start:3}%) of target");
        }
        share_line(f64::from(io), false, from, (range.length > 0).then_some(start))
    };
    match distribution {
        Distribution::Percent(ranges) => ranges.iter().map(|range| line(range, true)).collect(),
        Distribution::Absolute(ranges) => ranges.iter().map(|range| line(range, false)).collect(),
    }
}

/// One range in bytes and its share of the I/Os; no end stands for the end of the target. Shares that were
/// rescaled, as the target was too small for all ranges, have one decimal.
#[must_use]
pub fn share_line(
    io_percent: f64,
    is_rescaled: bool,
    start_bytes: u64,
    end_bytes: Option<u64>,
) -> String {
    let end = end_bytes.map_or_else(|| pad_unit("end"), |bytes| pad_unit(&show_size(bytes)));
    let start = if start_bytes == 0 { START.to_owned() } else { pad_unit(&show_size(start_bytes)) };
    let share = if is_rescaled { format!(" {io_percent:.1}") } else { format!("{io_percent:3.0}") };
    format!("   {share}% of IO => [{start} - {end})")
}

/// The start of the target, its digit above those of numbers with a unit.
const START: &str = "     0   ";

/// A size in nine columns; `DiskSpd` does not pad one below 1 KiB.
fn pad_unit(size: &str) -> String {
    let bare = size.bytes().all(|byte| byte.is_ascii_digit());
    if bare { size.to_owned() } else { format!("{size:>9}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::CpuId;

    #[test]
    fn the_pool_stood_behind_affinity_and_random_data_where_diskspd_has_it_before() {
        let mut target = Target { path: "t.dat".into(), ..Target::default() };
        target.write_data.fresh_random = true;
        let span = TimeSpan {
            thread_count: 2,
            cpus: vec![CpuId { group: 0, index: Some(1) }],
            targets: vec![target],
            ..TimeSpan::default()
        };
        let text = write(&Profile { time_spans: vec![span], ..Profile::default() }, "diskspd");
        let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}: {text}"));
        assert!(at("random seed: ") < at("thread pool with 2 threads"));
        assert!(at("thread pool with 2 threads") < at("advanced affinity round robin"));
        assert!(at("advanced affinity round robin") < at("generating random data"));
    }

    #[test]
    fn all_shares_of_a_target_that_is_too_small_have_a_decimal_as_in_diskspd() {
        let line = |io_percent, is_rescaled| share_line(io_percent, is_rescaled, 0, Some(3 << 20));
        assert_eq!(line(50.0, false), "    50% of IO => [     0    -      3MiB)");
        assert_eq!(line(100.0 * 50.0 / 70.0, true), "    71.4% of IO => [     0    -      3MiB)");
        // 40 of 80 is a whole share, and was shown as one.
        assert_eq!(line(50.0, true), "    50.0% of IO => [     0    -      3MiB)");
    }

    #[test]
    fn sizes_below_1_kib_are_not_padded_as_in_diskspd() {
        assert_eq!(share_line(10.0, false, 512, Some(1023)), "    10% of IO => [512 - 1023)");
    }
}

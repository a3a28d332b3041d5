//! A profile becomes XML, in the order of elements that `DiskSpd` writes.

use super::super::xml::{Writer, escape};
use super::super::{faults, stop};
use super::{FRESH_RANDOM, INSTRUCTION, extensions, tuning};
use crate::request::{
    Caching, Distribution, DistributionRange, FlushMode, NamedEvents, Precreate, Priority, Profile,
    Rate, ResultFormat, Target, TimeSpan, Tracing, WriteSource,
};

/// The profile as XML, from `<Profile>` on.
#[must_use]
pub fn write(profile: &Profile) -> String {
    write_indented(profile, 0)
}

/// The same, with its first element indented by `levels`.
#[must_use]
pub fn write_indented(profile: &Profile, levels: usize) -> String {
    let mut xml = Writer::new(levels);
    xml.group("Profile", |xml| {
        xml.element("Progress", profile.progress_every_ios);
        xml.optional(
            "ExperimentFlags",
            (profile.experiment_flags != 0).then_some(profile.experiment_flags),
        );
        xml.element("ResultFormat", format_name(profile.format));
        xml.element("Verbose", profile.verbose);
        xml.if_true("VerboseStats", profile.wait_statistics);
        xml.optional("PrecreateFiles", precreate_name(profile.precreate));
        if let Some(tracing) = &profile.tracing {
            write_tracing(xml, tracing);
        }
        write_events(xml, &profile.events);
        xml.group("TimeSpans", |xml| {
            for span in &profile.time_spans {
                xml.group("TimeSpan", |xml| write_time_span(xml, span));
            }
        });
    });
    xml.finish()
}

fn format_name(format: ResultFormat) -> &'static str {
    match format {
        ResultFormat::Text => "text",
        ResultFormat::Xml => "xml",
        ResultFormat::Json => "json",
    }
}

fn precreate_name(precreate: Precreate) -> Option<&'static str> {
    match precreate {
        Precreate::None => None,
        Precreate::UseMaxSize => Some("UseMaxSize"),
        Precreate::OnlyConstantSizes => Some("CreateOnlyFilesWithConstantSizes"),
        Precreate::OnlyConstantOrZeroSizes => Some("CreateOnlyFilesWithConstantOrZeroSizes"),
    }
}

fn write_tracing(xml: &mut Writer, tracing: &Tracing) {
    xml.group("ETW", |xml| {
        for (name, value) in [
            ("Process", tracing.process),
            ("Thread", tracing.thread),
            ("ImageLoad", tracing.image_load),
            ("DiskIO", tracing.disk_io),
            ("MemoryPageFaults", tracing.memory_page_faults),
            ("MemoryHardFaults", tracing.memory_hard_faults),
            ("Network", tracing.network),
            ("Registry", tracing.registry),
            ("UsePagedMemory", tracing.paged_memory),
            ("UsePerfTimer", tracing.clock_monotonic),
            ("UseSystemTimer", tracing.clock_coarse),
            ("UseCyclesCounter", tracing.clock_cycles),
        ] {
            xml.element(name, value);
        }
    });
}

fn write_events(xml: &mut Writer, events: &NamedEvents) {
    for (kind, name) in [
        ("start", &events.start),
        ("finish", &events.finish),
        ("wait", &events.wait),
        ("stop", &events.stop),
    ] {
        if let Some(name) = name {
            // `?>` would end the instruction, so the name is escaped like text.
            xml.line(&format!("<?{INSTRUCTION} event-{kind} {}?>", escape(name)));
        }
    }
}

fn write_time_span(xml: &mut Writer, span: &TimeSpan) {
    xml.element("CompletionRoutines", span.alternate_completion);
    xml.element("MeasureLatency", span.measure_latency);
    xml.element("CalculateIopsStdDev", span.interval_series);
    xml.element("DisableAffinity", span.disable_affinity);
    xml.element("Duration", span.duration_s);
    xml.element("Warmup", span.warm_up_s);
    xml.element("Cooldown", span.cool_down_s);
    xml.element("ThreadCount", span.thread_count);
    xml.element("RequestCount", span.request_count);
    xml.element("IoBucketDuration", span.interval_ms);
    xml.element("RandSeed", span.random_seed);
    for (name, value) in stop::words(&span.stop) {
        let space = if value.is_empty() { "" } else { " " };
        xml.line(&format!("<?{INSTRUCTION} stop-{name}{space}{value}?>"));
    }
    for (name, value) in faults::words(span.faults) {
        xml.line(&format!("<?{INSTRUCTION} {name} {value}?>"));
    }
    tuning::write_ring(xml, span);
    tuning::write_affinity(xml, span);
    tuning::write_buffers(xml, span);
    xml.group("Targets", |xml| {
        for target in &span.targets {
            xml.group("Target", |xml| write_target(xml, target));
        }
    });
}

fn write_target(xml: &mut Writer, target: &Target) {
    xml.element("Path", target.path.as_str());
    xml.element("BlockSize", target.block_bytes);
    xml.element("BaseFileOffset", target.base_bytes);
    xml.element("SequentialScan", target.hints.sequential);
    xml.element("RandomAccess", target.hints.random);
    xml.element("TemporaryFile", target.hints.temporary);
    xml.element("UseLargePages", target.large_pages);
    xml.if_true("DisableOSCache", target.caching == Caching::Unbuffered);
    xml.if_true("DisableLocalCache", target.caching == Caching::RemoteUnbuffered);
    xml.if_true("WriteThrough", target.write_through);
    xml.if_true("MemoryMappedIo", target.memory_mapped);
    xml.optional("FlushType", target.flush.map(flush_name));
    write_write_data(xml, target);
    xml.element("ParallelAsyncIO", target.parallel_same_offset);
    xml.optional("BurstSize", target.burst_ios);
    xml.optional("ThinkTime", target.think_ms);
    xml.optional("FileSize", target.create_bytes);
    write_access(xml, target);
    xml.element("ThreadStride", target.thread_stride_bytes);
    xml.element("MaxFileSize", target.limit_bytes);
    xml.element("RequestCount", target.outstanding);
    xml.element("WriteRatio", target.write_percent);
    match target.rate {
        None => xml.element("Throughput", 0),
        Some(Rate::BytesPerMs(rate)) => xml.element("Throughput", rate),
        Some(Rate::Iops(rate)) => {
            xml.line(&format!("<Throughput unit=\"IOPS\">{rate}</Throughput>"));
        }
    }
    xml.element("ThreadsPerFile", target.threads);
    xml.element("IOPriority", priority_number(target.priority));
    xml.element("Weight", target.weight);
    write_thread_targets(xml, target);
    extensions::write(xml, &target.extensions);
}

fn flush_name(flush: FlushMode) -> &'static str {
    match flush {
        FlushMode::ViewOfFile => "ViewOfFile",
        FlushMode::NonVolatileMemory => "NonVolatileMemory",
        FlushMode::NonVolatileMemoryNoDrain => "NonVolatileMemoryNoDrain",
    }
}

fn priority_number(priority: Priority) -> u8 {
    match priority {
        Priority::VeryLow => 1,
        Priority::Low => 2,
        Priority::Normal => 3,
    }
}

fn write_write_data(xml: &mut Writer, target: &Target) {
    xml.group("WriteBufferContent", |xml| {
        if target.write_data.fresh_random {
            xml.line(&format!("<?{INSTRUCTION} {FRESH_RANDOM}?>"));
        }
        match &target.write_data.source {
            WriteSource::CountingPattern => xml.element("Pattern", "sequential"),
            WriteSource::Zero => xml.element("Pattern", "zero"),
            WriteSource::Buffer { bytes, file } => {
                xml.element("Pattern", "random");
                xml.group("RandomDataSource", |xml| {
                    xml.element("SizeInBytes", bytes);
                    xml.optional("FilePath", file.as_ref());
                });
            }
        }
    });
}

fn write_access(xml: &mut Writer, target: &Target) {
    let access = target.access;
    if access.random_percent == 0 {
        xml.element("StrideSize", access.align_bytes);
        xml.element("InterlockedSequential", access.interlocked);
        return;
    }
    xml.element("Random", access.align_bytes);
    xml.optional("RandomRatio", (access.random_percent < 100).then_some(access.random_percent));
    let Some(distribution) = &target.distribution else { return };
    let (name, ranges) = match distribution {
        Distribution::Percent(ranges) => ("Percent", ranges),
        Distribution::Absolute(ranges) => ("Absolute", ranges),
    };
    xml.group("Distribution", |xml| xml.group(name, |xml| write_ranges(xml, ranges)));
}

fn write_ranges(xml: &mut Writer, ranges: &[DistributionRange]) {
    for range in ranges {
        xml.line(&format!("<Range IO=\"{}\">{}</Range>", range.io_percent, range.length));
    }
}

fn write_thread_targets(xml: &mut Writer, target: &Target) {
    if target.thread_targets.is_empty() {
        return;
    }
    xml.group("ThreadTargets", |xml| {
        for thread in &target.thread_targets {
            xml.group("ThreadTarget", |xml| {
                xml.element("Thread", thread.thread);
                xml.optional("Weight", (thread.weight != 0).then_some(thread.weight));
            });
        }
    });
}

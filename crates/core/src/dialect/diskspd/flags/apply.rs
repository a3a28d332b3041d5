//! What each option does to the draft. A catalogue: each function enters one option's value.

#![expect(clippy::unnecessary_wraps, reason = "the table wants one signature for all options")]

use super::super::affinity::{self, Affinity};
use super::super::distribution;
use super::super::draft::{Draft, Instead};
use super::super::number::{
    count, exact, not_negative, positive, seed as read_seed, size, size_prefix,
};
use crate::request::{
    Arrivals, Caching, EngineChoice, FlushMode, Priority, Rate, ResultFormat, Skew, WriteSource,
};

type Applied = Result<(), String>;

pub fn block(draft: &mut Draft, value: &str) -> Applied {
    let bytes = size(value, draft.block_bytes())?;
    match u32::try_from(bytes) {
        Ok(bytes) if bytes > 0 => draft.target.block_bytes = bytes,
        _ => return Err(format!("the block size '{value}' must be from 1 to 4294967295 bytes")),
    }
    draft.seen.block = true;
    Ok(())
}

pub fn base(draft: &mut Draft, value: &str) -> Applied {
    if draft.seen.base {
        return Err("the base offset can be given once only".to_owned());
    }
    let (base_bytes, rest) = size_prefix(value, draft.block_bytes())?;
    draft.target.base_bytes = base_bytes;
    draft.seen.base = true;
    if rest.is_empty() {
        return Ok(());
    }
    let length = rest
        .strip_prefix(':')
        .ok_or_else(|| format!("'{rest}' follows the base; a length is separated by ':'"))?;
    if draft.seen.limit {
        return Err("the greatest offset can be given once only, by -B or by -f".to_owned());
    }
    let length = size(length, draft.block_bytes())?;
    let limit_bytes = base_bytes.checked_add(length);
    draft.target.limit_bytes =
        limit_bytes.ok_or_else(|| format!("base and length '{value}' exceed 2^64 - 1 bytes"))?;
    draft.seen.limit = true;
    Ok(())
}

pub fn create(draft: &mut Draft, value: &str) -> Applied {
    let bytes = size(value, draft.block_bytes())?;
    draft.target.create_bytes = Some(bytes);
    Ok(())
}

pub fn limit_or_hints(draft: &mut Draft, value: &str) -> Applied {
    if value.starts_with(|first: char| first.is_ascii_digit()) {
        if draft.seen.limit {
            return Err("the greatest offset can be given once only, by -B or by -f".to_owned());
        }
        draft.target.limit_bytes = size(value, draft.block_bytes())?;
        draft.seen.limit = true;
        return Ok(());
    }
    if value.is_empty() {
        return Err("a size, or some of the letters r, s and t must follow".to_owned());
    }
    let hints = &mut draft.target.hints;
    for letter in value.chars() {
        match letter {
            'r' => hints.random = true,
            's' => hints.sequential = true,
            't' => hints.temporary = true,
            _ => return Err(format!("'{letter}' is neither a size nor one of r, s and t")),
        }
    }
    Ok(())
}

pub fn random(draft: &mut Draft, value: &str) -> Applied {
    if draft.seen.sequential.is_some() {
        return Err("random I/O (-r, -rs) conflicts with sequential I/O (-s)".to_owned());
    }
    if draft.seen.random.is_some() {
        return Err("random I/O (-r) can be given once only".to_owned());
    }
    draft.seen.random = Some(optional_size(draft, value, "alignment")?);
    Ok(())
}

pub fn random_percent(draft: &mut Draft, value: &str) -> Applied {
    let percent = positive(value).ok().filter(|percent| *percent <= 100);
    let percent = percent
        .ok_or_else(|| format!("the share of random I/O must be from 1 to 100, not '{value}'"))?;
    if draft.seen.sequential.is_some() {
        return Err("give the alignment of a mix with -r, not with -s".to_owned());
    }
    if draft.seen.random_percent.is_some() {
        return Err("the share of random I/O (-rs) can be given once only".to_owned());
    }
    draft.seen.random_percent = Some(percent);
    Ok(())
}

pub fn distribution(draft: &mut Draft, value: &str) -> Applied {
    draft.target.distribution = Some(distribution::parse(value, draft.block_bytes())?);
    Ok(())
}

pub fn sequential(draft: &mut Draft, value: &str) -> Applied {
    if draft.seen.random_percent.is_some() {
        return Err("give the alignment of a mix with -r, not with -s".to_owned());
    }
    if draft.seen.random.is_some() {
        return Err("sequential I/O (-s) conflicts with random I/O (-r, -rs)".to_owned());
    }
    if draft.seen.sequential.is_some() {
        return Err("sequential I/O (-s) can be given once only".to_owned());
    }
    let stride = match value.strip_prefix('i') {
        Some(stride) => {
            draft.target.access.interlocked = true;
            stride
        }
        None => value,
    };
    draft.seen.sequential = Some(optional_size(draft, stride, "stride")?);
    Ok(())
}

fn optional_size(draft: &Draft, value: &str, what: &str) -> Result<Option<u64>, String> {
    if value.is_empty() {
        return Ok(None);
    }
    match size(value, draft.block_bytes())? {
        0 => Err(format!("the {what} must be greater than 0")),
        bytes => Ok(Some(bytes)),
    }
}

pub fn thread_stride(draft: &mut Draft, value: &str) -> Applied {
    match size(value, draft.block_bytes())? {
        0 => Err("the thread stride must be greater than 0".to_owned()),
        bytes => {
            draft.target.thread_stride_bytes = bytes;
            Ok(())
        }
    }
}

pub fn write_percent(draft: &mut Draft, value: &str) -> Applied {
    if value.is_empty() {
        return Err("the share of writes is missing: give 0 to 100".to_owned());
    }
    let percent = count(value)?;
    let percent = u32::try_from(percent).ok().filter(|percent| *percent <= 100);
    draft.target.write_percent =
        percent.ok_or_else(|| format!("the share of writes must be 0 to 100, not '{value}'"))?;
    Ok(())
}

pub fn same_offset(draft: &mut Draft, _suffix: &str) -> Applied {
    draft.target.parallel_same_offset = true;
    Ok(())
}

pub fn caching(draft: &mut Draft, value: &str) -> Applied {
    if value.is_empty() {
        return draft.set_cache_mode(Caching::Unbuffered, "-S");
    }
    for letter in value.chars() {
        match letter {
            'b' => draft.set_cache_mode(Caching::Cached, "-Sb")?,
            'u' => draft.set_cache_mode(Caching::Unbuffered, "-Su")?,
            'r' => draft.set_cache_mode(Caching::RemoteUnbuffered, "-Sr")?,
            'w' => draft.set_write_through("-Sw")?,
            'm' => draft.set_memory_mapped()?,
            'h' => {
                draft.set_cache_mode(Caching::Unbuffered, "-Sh")?;
                draft.set_write_through("-Sh")?;
            }
            'y' | 'Y' => {
                return Err(format!(
                    "-S{letter} asks for BypassIO, which is Windows' way around the filters of its \
                     storage stack; Linux has none. Use -Su to go past the page cache"
                ));
            }
            _ => return Err(format!("'{letter}' is not one of b, h, m, r, u and w")),
        }
    }
    Ok(())
}

pub fn no_cache(draft: &mut Draft, _suffix: &str) -> Applied {
    draft.set_cache_mode(Caching::Unbuffered, "-h")?;
    draft.set_write_through("-h")
}

pub fn flush(draft: &mut Draft, value: &str) -> Applied {
    draft.target.flush = Some(match value.to_ascii_lowercase().as_str() {
        "v" => FlushMode::ViewOfFile,
        "n" => FlushMode::NonVolatileMemory,
        "i" => FlushMode::NonVolatileMemoryNoDrain,
        _ => return Err(format!("'{value}' is not one of v, n and i")),
    });
    Ok(())
}

pub fn large_pages(draft: &mut Draft, _suffix: &str) -> Applied {
    draft.target.large_pages = true;
    Ok(())
}

pub fn write_data(draft: &mut Draft, value: &str) -> Applied {
    if value == "r" {
        draft.target.write_data.fresh_random = true;
        return Ok(());
    }
    let source = if value.is_empty() {
        WriteSource::Zero
    } else {
        let (bytes, rest) = size_prefix(value, draft.block_bytes())?;
        let file = match rest.strip_prefix(',') {
            Some("") => return Err("a file must follow the comma".to_owned()),
            Some(file) => Some(file.to_owned()),
            None if rest.is_empty() => None,
            None => return Err(format!("'{rest}' follows the size; a file is separated by ','")),
        };
        WriteSource::Buffer { bytes, file }
    };
    // Zeros win over a buffer whatever the order, as in DiskSpd.
    if draft.target.write_data.source != WriteSource::Zero {
        draft.target.write_data.source = source;
    }
    if draft.target.write_data.source == WriteSource::Zero {
        draft.target.write_data.fresh_random = false;
    }
    Ok(())
}

pub fn priority(draft: &mut Draft, value: &str) -> Applied {
    draft.target.priority = match positive(value) {
        Ok(1) => Priority::VeryLow,
        Ok(2) => Priority::Low,
        Ok(3) => Priority::Normal,
        _ => return Err(format!("the I/O priority must be 1, 2 or 3, not '{value}'")),
    };
    Ok(())
}

pub fn completion_routines(draft: &mut Draft, _suffix: &str) -> Applied {
    draft.span.alternate_completion = true;
    Ok(())
}

pub fn threads(draft: &mut Draft, value: &str) -> Applied {
    draft.target.threads = positive(value)?;
    Ok(())
}

pub fn thread_count(draft: &mut Draft, value: &str) -> Applied {
    draft.span.thread_count = positive(value)?;
    Ok(())
}

pub fn outstanding(draft: &mut Draft, value: &str) -> Applied {
    draft.target.outstanding = positive(value)?;
    Ok(())
}

pub fn request_count(draft: &mut Draft, value: &str) -> Applied {
    draft.span.request_count = positive(value)?;
    Ok(())
}

pub fn rate(draft: &mut Draft, value: &str) -> Applied {
    draft.target.rate = Some(match value.strip_suffix('i') {
        Some(iops) => Rate::Iops(positive(iops)?),
        None => Rate::BytesPerMs(positive(value)?),
    });
    Ok(())
}

pub fn burst(draft: &mut Draft, value: &str) -> Applied {
    draft.target.burst_ios = Some(positive(value)?);
    Ok(())
}

pub fn think(draft: &mut Draft, value: &str) -> Applied {
    draft.target.think_ms = Some(positive(value)?);
    Ok(())
}

pub fn duration(draft: &mut Draft, value: &str) -> Applied {
    draft.overrides.duration_s = Some(not_negative(value)?);
    Ok(())
}

pub fn warm_up(draft: &mut Draft, value: &str) -> Applied {
    draft.overrides.warm_up_s = Some(not_negative(value)?);
    Ok(())
}

pub fn cool_down(draft: &mut Draft, value: &str) -> Applied {
    draft.overrides.cool_down_s = Some(not_negative(value)?);
    Ok(())
}

pub fn affinity(draft: &mut Draft, value: &str) -> Applied {
    match affinity::parse(value)? {
        Affinity::Cpus(cpus) => draft.span.cpus.extend(cpus),
        Affinity::Order(order) => affinity::add_order(&mut draft.span.cpu_order, order)?,
    }
    Ok(())
}

pub fn no_affinity(draft: &mut Draft, _suffix: &str) -> Applied {
    draft.span.disable_affinity = true;
    Ok(())
}

pub fn seed(draft: &mut Draft, value: &str) -> Applied {
    let seed = if value.is_empty() { draft.fresh_seed } else { read_seed(value)? };
    draft.overrides.random_seed = Some(seed);
    Ok(())
}

pub fn latency(draft: &mut Draft, _suffix: &str) -> Applied {
    draft.span.measure_latency = true;
    Ok(())
}

pub fn interval(draft: &mut Draft, value: &str) -> Applied {
    draft.span.interval_series = true;
    if value.is_empty() {
        return Ok(());
    }
    let interval_ms = u32::try_from(count(value)?).ok().filter(|ms| *ms > 0);
    draft.span.interval_ms = interval_ms.unwrap_or(1000);
    Ok(())
}

pub fn progress(draft: &mut Draft, value: &str) -> Applied {
    let every = u32::try_from(count(value)?).ok().filter(|ios| *ios > 0);
    draft.profile.progress_every_ios = every.unwrap_or(65_536);
    Ok(())
}

pub fn format(draft: &mut Draft, value: &str) -> Applied {
    if let Some(name) = value.strip_prefix('s') {
        let format = if name.is_empty() { "text" } else { name };
        let format = read_format(format).ok_or_else(|| not_a_format(value))?;
        draft.instead = Some(Instead::System(format));
        return Ok(());
    }
    let (only, name) = match value.strip_prefix('p') {
        Some(name) => (true, name),
        None => (false, value),
    };
    let format = match read_format(name) {
        None if !name.is_empty() || !(only || draft.profile_only) => {
            return Err(not_a_format(value));
        }
        format => format,
    };
    draft.profile_only |= only;
    draft.overrides.format = format.or(draft.overrides.format);
    Ok(())
}

fn read_format(name: &str) -> Option<ResultFormat> {
    match name {
        "text" => Some(ResultFormat::Text),
        "xml" => Some(ResultFormat::Xml),
        "json" => Some(ResultFormat::Json),
        _ => None,
    }
}

fn not_a_format(value: &str) -> String {
    format!("'{value}' is not a result format: use [p|s]<text|xml|json>")
}

pub fn verbose(draft: &mut Draft, value: &str) -> Applied {
    match value {
        "" => draft.overrides.verbose = true,
        "s" => draft.overrides.wait_statistics = true,
        _ => return Err(format!("'{value}' is not a verbose mode: use -v or -vs")),
    }
    Ok(())
}

pub fn profile_file(draft: &mut Draft, value: &str) -> Applied {
    if draft.profile_file.is_some() {
        return Err("a profile file (-X) can be given once only".to_owned());
    }
    if value.is_empty() {
        return Err("the name of the profile file is missing".to_owned());
    }
    draft.profile_file = Some(value.to_owned());
    Ok(())
}

pub fn experiments(draft: &mut Draft, value: &str) -> Applied {
    draft.overrides.experiment_flags = Some(not_negative(value)?);
    Ok(())
}

pub fn usage(draft: &mut Draft, _suffix: &str) -> Applied {
    draft.instead = Some(Instead::Usage);
    Ok(())
}

pub fn version(draft: &mut Draft, _suffix: &str) -> Applied {
    draft.instead = Some(Instead::Version);
    Ok(())
}

pub fn list(draft: &mut Draft, _suffix: &str) -> Applied {
    draft.instead = Some(Instead::Disks);
    Ok(())
}

pub fn doctor(draft: &mut Draft, _suffix: &str) -> Applied {
    draft.instead = Some(Instead::Doctor);
    Ok(())
}

pub fn event_start(draft: &mut Draft, value: &str) -> Applied {
    draft.profile.events.start = Some(value.to_owned());
    Ok(())
}

pub fn event_finish(draft: &mut Draft, value: &str) -> Applied {
    draft.profile.events.finish = Some(value.to_owned());
    Ok(())
}

pub fn event_wait(draft: &mut Draft, value: &str) -> Applied {
    draft.profile.events.wait = Some(value.to_owned());
    Ok(())
}

pub fn event_stop(draft: &mut Draft, value: &str) -> Applied {
    draft.profile.events.stop = Some(value.to_owned());
    Ok(())
}

pub fn event_signal(draft: &mut Draft, value: &str) -> Applied {
    draft.signal_event = Some(value.to_owned());
    Ok(())
}

pub fn tracing(draft: &mut Draft, value: &str) -> Applied {
    let wrong = || format!("'{value}' is neither a kernel event nor a clock");
    let first = value.chars().next().ok_or_else(wrong)?;
    let tracing = draft.tracing();
    let field = match value {
        "PROCESS" => &mut tracing.process,
        "THREAD" => &mut tracing.thread,
        "IMAGE_LOAD" => &mut tracing.image_load,
        "DISK_IO" => &mut tracing.disk_io,
        "MEMORY_PAGE_FAULTS" => &mut tracing.memory_page_faults,
        "MEMORY_HARD_FAULTS" => &mut tracing.memory_hard_faults,
        "NETWORK" => &mut tracing.network,
        "REGISTRY" => &mut tracing.registry,
        // One letter counts, whatever follows it, as in DiskSpd.
        _ => match first {
            'p' => &mut tracing.paged_memory,
            'q' => &mut tracing.clock_monotonic,
            's' => &mut tracing.clock_coarse,
            'c' => &mut tracing.clock_cycles,
            _ => return Err(wrong()),
        },
    };
    *field = true;
    Ok(())
}

pub fn engine(draft: &mut Draft, value: &str) -> Applied {
    let found = EngineChoice::ALL.into_iter().find(|engine| engine.name() == value);
    let wrong = || format!("'{value}' is not one of uring, aio, sync, mmap and null");
    draft.job.request.options.engine = Some(found.ok_or_else(wrong)?);
    Ok(())
}

pub fn credentials(draft: &mut Draft, value: &str) -> Applied {
    draft.job.credentials = Some(file_name(value)?.into());
    Ok(())
}

pub fn connections(draft: &mut Draft, value: &str) -> Applied {
    draft.job.request.options.connections = Some(exact(value)?);
    Ok(())
}

pub fn total_rate(draft: &mut Draft, value: &str) -> Applied {
    draft.job.request.options.total_iops = Some(exact(value)?);
    Ok(())
}

pub fn arrivals(draft: &mut Draft, value: &str) -> Applied {
    draft.job.request.options.arrivals = match value {
        "constant" => Arrivals::Constant,
        "poisson" => Arrivals::Poisson,
        _ => return Err(format!("'{value}' is not one of constant and poisson")),
    };
    Ok(())
}

pub fn skew(draft: &mut Draft, value: &str) -> Applied {
    let wrong = || format!("'{value}' is not a skew: give zipf:1.1, pareto:0.2 or normal:10");
    let (kind, number) = value.split_once(':').ok_or_else(wrong)?;
    let number: f64 = number.trim_end_matches('%').parse().map_err(|_| wrong())?;
    let milli = |greatest: u32| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked below"
        )]
        let milli = (number * 1e3).round() as u32;
        if number <= f64::from(greatest) / 1e3 && milli > 0 { Ok(milli) } else { Err(wrong()) }
    };
    draft.job.request.options.skew = Some(match kind {
        "zipf" => Skew::Zipf { theta_milli: milli(Skew::THETA_MILLI_MAX)? },
        "pareto" => Skew::Pareto { h_milli: milli(Skew::H_MILLI_MAX)? },
        "normal" => Skew::Normal { deviation_milli: milli(Skew::DEVIATION_MILLI_MAX)? },
        _ => return Err(wrong()),
    });
    Ok(())
}

pub fn live(draft: &mut Draft, suffix: &str) -> Applied {
    draft.job.live_as_json = match suffix {
        "" => false,
        "json" => true,
        _ => return Err(format!("live figures are lines of text or json, not '{suffix}'")),
    };
    draft.job.live = true;
    Ok(())
}

pub fn lease(draft: &mut Draft, value: &str) -> Applied {
    draft.job.lease_s = Some(exact(value)?);
    Ok(())
}

pub fn interval_latency(draft: &mut Draft, _suffix: &str) -> Applied {
    draft.job.request.options.interval_latency = true;
    Ok(())
}

pub fn overwrite(draft: &mut Draft, _suffix: &str) -> Applied {
    draft.job.permission.overwrite = true;
    Ok(())
}

pub fn remove_created(draft: &mut Draft, _suffix: &str) -> Applied {
    draft.job.request.options.remove_created = true;
    Ok(())
}

pub fn allow_write(draft: &mut Draft, value: &str) -> Applied {
    if value.is_empty() {
        return Err("the serial number, or path and size, of the device is missing".to_owned());
    }
    draft.job.permission.allow_write.push(value.to_owned());
    Ok(())
}

pub fn protect(draft: &mut Draft, value: &str) -> Applied {
    draft.job.permission.protect.push(file_name(value)?.into());
    Ok(())
}

pub fn strict(draft: &mut Draft, _suffix: &str) -> Applied {
    draft.job.permission.strict = true;
    Ok(())
}

pub fn explain(draft: &mut Draft, _suffix: &str) -> Applied {
    draft.explain = true;
    Ok(())
}

pub fn verify(draft: &mut Draft, _suffix: &str) -> Applied {
    draft.job.request.options.verify = true;
    Ok(())
}

pub fn verify_journal(draft: &mut Draft, value: &str) -> Applied {
    draft.job.request.options.verify = true;
    draft.job.request.options.verify_journal = Some(file_name(value)?.into());
    Ok(())
}

pub fn verify_only(draft: &mut Draft, value: &str) -> Applied {
    draft.verify_only = Some(file_name(value)?.to_owned());
    Ok(())
}

fn file_name(value: &str) -> Result<&str, String> {
    if value.is_empty() { Err("the name of the file is missing".to_owned()) } else { Ok(value) }
}

pub fn json_file(draft: &mut Draft, value: &str) -> Applied {
    draft.job.json_file = Some(file_name(value)?.into());
    Ok(())
}

//! One `<Target>` of a profile.

use roxmltree::Node;

use super::super::distribution::{complete_absolute, complete_percent};
use super::fields::{
    FieldError, attribute, boolean, bounded, children, error, long, number, some_children, text,
    unknown,
};
use super::{FRESH_RANDOM, INSTRUCTION, extensions, template};
use crate::request::{
    Caching, Distribution, DistributionRange, FlushMode, Priority, Rate, Target, ThreadTarget,
    WriteData, WriteSource,
};

/// Settings that only together make sense, gathered while the elements pass by.
#[derive(Default)]
struct Gathered {
    stride_bytes: Option<u64>,
    random_align_bytes: Option<u64>,
    random_percent: Option<u32>,
    disable_all_cache: bool,
    disable_os_cache: bool,
    disable_local_cache: bool,
}

/// Reads one target, where `substitutes` targets are given for templates.
pub fn read_target(node: Node<'_, '_>, substitutes: usize) -> Result<Target, FieldError> {
    let mut target = Target { extensions: extensions::read(node)?, ..Target::default() };
    let mut gathered = Gathered::default();
    let mut path = None;
    for child in children(node)? {
        match child.tag_name().name() {
            "Path" => {
                let name = text(child)?;
                template::check(child, &name, substitutes)?;
                path = Some(name);
            }
            name => {
                if !read_setting(name, child, &mut target, &mut gathered)? {
                    return Err(unknown(child, "Target"));
                }
            }
        }
    }
    target.path = path.ok_or_else(|| error(node, "has no <Path>"))?.into();
    gathered.apply(node, &mut target)?;
    Ok(target)
}

/// Reads one setting; false if there is none of that name.
fn read_setting(
    name: &str,
    node: Node<'_, '_>,
    target: &mut Target,
    gathered: &mut Gathered,
) -> Result<bool, FieldError> {
    match name {
        "BlockSize" => target.block_bytes = bounded(node, 1, u32::MAX)?,
        "StrideSize" => gathered.stride_bytes = Some(positive(node)?),
        "InterlockedSequential" => target.access.interlocked = boolean(node)?,
        "BaseFileOffset" => target.base_bytes = long(node)?,
        "SequentialScan" => target.hints.sequential = boolean(node)?,
        "RandomAccess" => target.hints.random = boolean(node)?,
        "TemporaryFile" => target.hints.temporary = boolean(node)?,
        "UseLargePages" => target.large_pages = boolean(node)?,
        "RequestCount" => target.outstanding = bounded(node, 1, u32::MAX)?,
        "Random" => gathered.random_align_bytes = Some(positive(node)?),
        "RandomRatio" => gathered.random_percent = Some(read_random_percent(node)?),
        "Distribution" => target.distribution = Some(read_distribution(node)?),
        "DisableAllCache" => gathered.disable_all_cache = boolean(node)?,
        "DisableLocalCache" => gathered.disable_local_cache = boolean(node)?,
        "DisableOSCache" => gathered.disable_os_cache = boolean(node)?,
        "BypassIO" => {
            return Err(error(
                node,
                "asks for Windows' way around the filters of its storage stack; Linux has none. \
                 Remove it; DisableOSCache goes past the page cache",
            ));
        }
        "WriteThrough" => target.write_through |= boolean(node)?,
        "MemoryMappedIo" => target.memory_mapped = boolean(node)?,
        "FlushType" => target.flush = Some(read_flush(node)?),
        "WriteBufferContent" => target.write_data = read_write_data(node)?,
        "BurstSize" => target.burst_ios = Some(number(node)?).filter(|ios| *ios > 0),
        "ThinkTime" => target.think_ms = Some(number(node)?).filter(|ms| *ms > 0),
        "Throughput" => target.rate = read_rate(node)?,
        "ThreadsPerFile" => target.threads = bounded(node, 1, u32::MAX)?,
        "FileSize" => target.create_bytes = Some(long(node)?),
        "MaxFileSize" => target.limit_bytes = long(node)?,
        "WriteRatio" => target.write_percent = bounded(node, 0, 100)?,
        "ParallelAsyncIO" => target.parallel_same_offset = boolean(node)?,
        "ThreadStride" => target.thread_stride_bytes = long(node)?,
        "IOPriority" => target.priority = read_priority(node)?,
        "Weight" => target.weight = bounded(node, 1, u32::MAX)?,
        "ThreadTargets" => target.thread_targets = read_thread_targets(node)?,
        _ => return Ok(false),
    }
    Ok(true)
}

impl Gathered {
    fn apply(self, node: Node<'_, '_>, target: &mut Target) -> Result<(), FieldError> {
        self.check_order(node)?;
        let default_percent = if self.random_align_bytes.is_some() { 100 } else { 0 };
        let random_percent = self.random_percent.unwrap_or(default_percent);
        let align_bytes = if random_percent > 0 {
            self.random_align_bytes.or(self.stride_bytes)
        } else {
            self.stride_bytes.or(self.random_align_bytes)
        };
        target.access.random_percent = random_percent;
        target.access.align_bytes = align_bytes.unwrap_or(u64::from(target.block_bytes));
        if random_percent > 0 && target.access.interlocked {
            return Err(error(node, "is random and interlocked sequential at once. Choose one"));
        }
        target.write_through |= self.disable_all_cache;
        let unbuffered = self.disable_all_cache || self.disable_os_cache;
        target.caching = match (unbuffered, self.disable_local_cache) {
            (true, true) => {
                return Err(error(node, "disables the OS cache and the local cache. Choose one"));
            }
            (true, false) => Caching::Unbuffered,
            (false, true) => Caching::RemoteUnbuffered,
            (false, false) => Caching::Cached,
        };
        Ok(())
    }
}

impl Gathered {
    /// A stride is sequential; `DiskSpd` refuses it beside either of the two random settings.
    fn check_order(&self, node: Node<'_, '_>) -> Result<(), FieldError> {
        let random = match (self.random_align_bytes, self.random_percent) {
            (Some(_), _) => "Random",
            (None, Some(_)) => "RandomRatio",
            (None, None) => return Ok(()),
        };
        let stride = node.children().find(|child| child.has_tag_name("StrideSize"));
        stride.map_or(Ok(()), |stride| {
            Err(error(stride, format!("is sequential and conflicts with <{random}>. Keep one")))
        })
    }
}

/// The share of random I/Os where others are sequential. `DiskSpd`'s schema has neither 0, which would make a
/// random profile sequential without a word, nor 100.
fn read_random_percent(node: Node<'_, '_>) -> Result<u32, FieldError> {
    match number(node)? {
        0 => {
            Err(error(node, "is 0, but must be from 1 to 99. For sequential I/O use <StrideSize>"))
        }
        100 => {
            Err(error(node, "is 100, but must be from 1 to 99. For random I/O use <Random> alone"))
        }
        _ => bounded(node, 1, 99),
    }
}

fn positive(node: Node<'_, '_>) -> Result<u64, FieldError> {
    match long(node)? {
        0 => Err(error(node, "must be greater than 0")),
        value => Ok(value),
    }
}

fn read_flush(node: Node<'_, '_>) -> Result<FlushMode, FieldError> {
    match text(node)?.trim() {
        "ViewOfFile" => Ok(FlushMode::ViewOfFile),
        "NonVolatileMemory" => Ok(FlushMode::NonVolatileMemory),
        "NonVolatileMemoryNoDrain" => Ok(FlushMode::NonVolatileMemoryNoDrain),
        _ => Err(error(node, "must be ViewOfFile, NonVolatileMemory or NonVolatileMemoryNoDrain")),
    }
}

fn read_rate(node: Node<'_, '_>) -> Result<Option<Rate>, FieldError> {
    let value = u32::try_from(long(node)?);
    let value = value.map_err(|_| error(node, format!("exceeds {}", u32::MAX)))?;
    let rate = match node.attribute("unit") {
        None | Some("BPMS") => Rate::BytesPerMs(value),
        Some("IOPS") => Rate::Iops(value),
        Some(_) => return Err(error(node, "has a unit other than BPMS and IOPS")),
    };
    Ok((value > 0).then_some(rate))
}

fn read_priority(node: Node<'_, '_>) -> Result<Priority, FieldError> {
    Ok(match bounded(node, 0, 3)? {
        1 => Priority::VeryLow,
        2 => Priority::Low,
        _ => Priority::Normal,
    })
}

fn read_distribution(node: Node<'_, '_>) -> Result<Distribution, FieldError> {
    let [kind] = children(node)?[..] else {
        return Err(error(node, "must hold one <Percent> or one <Absolute>"));
    };
    let read_range = |range: Node<'_, '_>| {
        if range.tag_name().name() != "Range" {
            return Err(unknown(range, kind.tag_name().name()));
        }
        let io_percent = attribute(range, "IO", 100)?;
        Ok(DistributionRange { io_percent, length: long(range)? })
    };
    let ranges =
        some_children(kind, "Range")?.into_iter().map(read_range).collect::<Result<_, _>>()?;
    match kind.tag_name().name() {
        "Percent" => Ok(Distribution::Percent(complete_percent(ranges))),
        "Absolute" => Ok(Distribution::Absolute(complete_absolute(ranges))),
        _ => Err(unknown(kind, "Distribution")),
    }
}

fn read_write_data(node: Node<'_, '_>) -> Result<WriteData, FieldError> {
    let fresh_random = node.children().filter_map(|child| child.pi()).any(|instruction| {
        instruction.target == INSTRUCTION
            && instruction.value.is_some_and(|value| value.trim() == FRESH_RANDOM)
    });
    let mut pattern = None;
    let mut source = None;
    for child in children(node)? {
        match child.tag_name().name() {
            "Pattern" => pattern = Some(text(child)?),
            "RandomDataSource" => source = Some(read_source(child)?),
            _ => return Err(unknown(child, "WriteBufferContent")),
        }
    }
    let pattern = pattern.ok_or_else(|| error(node, "has no <Pattern>"))?;
    let source = match (pattern.trim(), source) {
        ("sequential", _) => WriteSource::CountingPattern,
        ("zero", _) => WriteSource::Zero,
        ("random", Some(source)) => source,
        ("random", None) => return Err(error(node, "is random and needs <RandomDataSource>")),
        _ => return Err(error(node, "has a <Pattern> other than sequential, zero and random")),
    };
    Ok(WriteData { source, fresh_random })
}

fn read_source(node: Node<'_, '_>) -> Result<WriteSource, FieldError> {
    let (mut bytes, mut file) = (None, None);
    for child in children(node)? {
        match child.tag_name().name() {
            "SizeInBytes" => bytes = Some(long(child)?),
            "FilePath" => file = Some(text(child)?).filter(|path| !path.is_empty()),
            _ => return Err(unknown(child, "RandomDataSource")),
        }
    }
    let bytes = bytes.ok_or_else(|| error(node, "has no <SizeInBytes>"))?;
    Ok(WriteSource::Buffer { bytes, file })
}

fn read_thread_targets(node: Node<'_, '_>) -> Result<Vec<ThreadTarget>, FieldError> {
    let read_one = |child: Node<'_, '_>| {
        if child.tag_name().name() != "ThreadTarget" {
            return Err(unknown(child, "ThreadTargets"));
        }
        let (mut thread, mut weight) = (None, 0);
        for field in children(child)? {
            match field.tag_name().name() {
                "Thread" => thread = Some(number(field)?),
                "Weight" => weight = number(field)?,
                _ => return Err(unknown(field, "ThreadTarget")),
            }
        }
        let thread = thread.ok_or_else(|| error(child, "has no <Thread>"))?;
        Ok(ThreadTarget { thread, weight })
    };
    some_children(node, "ThreadTarget")?.into_iter().map(read_one).collect()
}

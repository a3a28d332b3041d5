//! The settings of a target that `DiskSpd` lacks, as processing instructions inside `<Target>`.

use roxmltree::Node;

use super::super::xml::Writer;
use super::INSTRUCTION;
use super::fields::{FieldError, error};
use crate::request::{
    BlockShare, ByteRange, Extensions, Pattern, PatternOrder, Ratio, SyncCadence,
};

/// Writes one instruction per setting that is given.
pub fn write(xml: &mut Writer, extensions: &Extensions) {
    let mut line =
        |name: &str, value: String| xml.line(&format!("<?{INSTRUCTION} {name} {value}?>"));
    if let Some(ratio) = extensions.ratio {
        line("ratio", ratio_name(ratio).to_owned());
    }
    for (name, pattern) in
        [("read-pattern", extensions.read_pattern), ("write-pattern", extensions.write_pattern)]
    {
        if let Some(pattern) = pattern {
            line(name, pattern_text(pattern));
        }
    }
    for (name, mix) in [
        ("block-mix", &extensions.block_mix),
        ("read-block-mix", &extensions.read_block_mix),
        ("write-block-mix", &extensions.write_block_mix),
    ] {
        if !mix.is_empty() {
            let part = |size: &BlockShare| format!("{}:{}", size.block_bytes, size.io_percent);
            line(name, mix.iter().map(part).collect::<Vec<_>>().join(" "));
        }
    }
    if let Some(sync) = extensions.sync {
        let name = if sync.data_only { "fdatasync" } else { "fsync" };
        line(name, sync.every_writes.to_string());
    }
    for (name, percent) in [
        ("trim", extensions.trim_percent),
        ("compress", extensions.compress_percent),
        ("dedupe", extensions.dedupe_percent),
    ] {
        if let Some(percent) = percent {
            line(name, percent.to_string());
        }
    }
}

fn ratio_name(ratio: Ratio) -> &'static str {
    match ratio {
        Ratio::Drawn => "drawn",
        Ratio::Exact => "exact",
    }
}

fn pattern_text(pattern: Pattern) -> String {
    let mut text = match pattern.order {
        PatternOrder::Random => "random",
        PatternOrder::Sequential => "sequential",
        PatternOrder::Interlocked => "interlocked",
    }
    .to_owned();
    for (name, value) in [
        ("block", pattern.block_bytes.map(u64::from)),
        ("align", pattern.align_bytes),
        ("base", pattern.range.map(|range| range.base_bytes)),
        ("length", pattern.range.map(|range| range.length_bytes)),
    ] {
        if let Some(value) = value {
            text.push_str(&format!(" {name}={value}"));
        }
    }
    text
}

/// Reads the instructions of a target; those of other subjects are left alone.
pub fn read(target: Node<'_, '_>) -> Result<Extensions, FieldError> {
    let mut extensions = Extensions::default();
    for instruction in target.children().filter_map(|child| child.pi()) {
        if instruction.target != INSTRUCTION {
            continue;
        }
        let text = instruction.value.unwrap_or_default().trim();
        let (name, value) = text.split_once(' ').unwrap_or((text, ""));
        read_one(name, value.trim(), &mut extensions).ok_or_else(|| {
            error(target, format!("has the instruction '{text}', which cannot be read"))
        })?;
    }
    Ok(extensions)
}

/// Enters one instruction; none if its value cannot be read.
fn read_one(name: &str, value: &str, extensions: &mut Extensions) -> Option<()> {
    let number = || value.parse::<u32>().ok();
    match name {
        "ratio" => {
            let known = [Ratio::Drawn, Ratio::Exact];
            extensions.ratio = Some(known.into_iter().find(|one| ratio_name(*one) == value)?);
        }
        "read-pattern" => extensions.read_pattern = Some(read_pattern(value)?),
        "write-pattern" => extensions.write_pattern = Some(read_pattern(value)?),
        "block-mix" => extensions.block_mix = read_mix(value)?,
        "read-block-mix" => extensions.read_block_mix = read_mix(value)?,
        "write-block-mix" => extensions.write_block_mix = read_mix(value)?,
        "fsync" | "fdatasync" => {
            let data_only = name == "fdatasync";
            extensions.sync = Some(SyncCadence { every_writes: number()?, data_only });
        }
        "trim" => extensions.trim_percent = Some(number()?),
        "compress" => extensions.compress_percent = Some(number()?),
        "dedupe" => extensions.dedupe_percent = Some(number()?),
        _ => {}
    }
    Some(())
}

fn read_pattern(value: &str) -> Option<Pattern> {
    let mut words = value.split_whitespace();
    let order = match words.next()? {
        "random" => PatternOrder::Random,
        "sequential" => PatternOrder::Sequential,
        "interlocked" => PatternOrder::Interlocked,
        _ => return None,
    };
    let mut pattern = Pattern { order, block_bytes: None, align_bytes: None, range: None };
    let mut range = (None, None);
    for word in words {
        let (name, number) = word.split_once('=')?;
        let number: u64 = number.parse().ok()?;
        match name {
            "block" => pattern.block_bytes = Some(u32::try_from(number).ok().filter(|n| *n > 0)?),
            "align" => pattern.align_bytes = Some(Some(number).filter(|bytes| *bytes > 0)?),
            "base" => range.0 = Some(number),
            "length" => range.1 = Some(number),
            _ => return None,
        }
    }
    pattern.range = match range {
        (None, None) => None,
        (base, length) => {
            Some(ByteRange { base_bytes: base.unwrap_or(0), length_bytes: length.unwrap_or(0) })
        }
    };
    Some(pattern)
}

fn read_mix(value: &str) -> Option<Vec<BlockShare>> {
    let read = |word: &str| {
        let (block_bytes, io_percent) = word.split_once(':')?;
        Some(BlockShare {
            block_bytes: block_bytes.parse().ok()?,
            io_percent: io_percent.parse().ok()?,
        })
    };
    value.split_whitespace().map(read).collect()
}

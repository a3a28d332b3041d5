//! The words of settings that `DiskSpd` lacks: their grammar, what they exclude, and how they are shown.

use super::number::{show_size, size, size_prefix};
use crate::request::{BlockShare, ByteRange, Extensions, Pattern, PatternOrder, Ratio, Target};

/// More sizes than this in one mix are a slip of the finger.
const SIZES_MAX: usize = 256;

/// Reads `<random|sequential|interlocked>[,block=<size>][,align=<size>][,range=<base>[:<length>]]`.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn parse_pattern(value: &str, block_bytes: u64) -> Result<Pattern, String> {
    let mut parts = value.split(',');
    let order = match parts.next().unwrap_or_default() {
        "random" => PatternOrder::Random,
        "sequential" => PatternOrder::Sequential,
        "interlocked" => PatternOrder::Interlocked,
        other => {
            return Err(format!("'{other}' is not one of random, sequential and interlocked"));
        }
    };
    let mut pattern = Pattern { order, block_bytes: None, align_bytes: None, range: None };
    for part in parts {
        let (name, text) = part.split_once('=').unwrap_or((part, ""));
        match name {
            "block" => pattern.block_bytes = Some(block(text, block_bytes)?),
            "align" => match size(text, block_bytes)? {
                0 => return Err("the alignment must be greater than 0".to_owned()),
                bytes => pattern.align_bytes = Some(bytes),
            },
            "range" => pattern.range = Some(range(text, block_bytes)?),
            _ => return Err(format!("'{part}' is not one of block=, align= and range=")),
        }
    }
    Ok(pattern)
}

fn block(text: &str, block_bytes: u64) -> Result<u32, String> {
    let bytes = size(text, block_bytes)?;
    let bytes = u32::try_from(bytes).ok().filter(|bytes| *bytes > 0);
    bytes.ok_or_else(|| format!("the block size '{text}' must be from 1 to 4294967295 bytes"))
}

fn range(text: &str, block_bytes: u64) -> Result<ByteRange, String> {
    let (base_bytes, rest) = size_prefix(text, block_bytes)?;
    let length_bytes = match rest.strip_prefix(':') {
        Some(length) => match size(length, block_bytes)? {
            0 => return Err("the length of a range must be greater than 0".to_owned()),
            bytes => bytes,
        },
        None if rest.is_empty() => 0,
        None => return Err(format!("'{rest}' follows the base; a length is separated by ':'")),
    };
    if base_bytes.checked_add(length_bytes).is_none() {
        return Err(format!("base and length '{text}' exceed 2^64 - 1 bytes"));
    }
    Ok(ByteRange { base_bytes, length_bytes })
}

/// Reads `<size>:<percent>[,<size>:<percent>...]`, whose percentages add up to 100.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn parse_mix(value: &str, block_bytes: u64) -> Result<Vec<BlockShare>, String> {
    let read = |part: &str| {
        let wrong = || format!("'{part}' is not a size and its share, as in 4K:60");
        let (text, percent) = part.split_once(':').ok_or_else(wrong)?;
        let io_percent: u32 = percent.trim_end_matches('%').parse().map_err(|_| wrong())?;
        Ok(BlockShare { block_bytes: block(text, block_bytes)?, io_percent })
    };
    let mix: Vec<BlockShare> = value.split(',').map(read).collect::<Result<_, String>>()?;
    check_mix(&mix).map_or(Ok(mix), Err)
}

/// What is wrong with a mix of sizes, as a sentence.
fn check_mix(mix: &[BlockShare]) -> Option<String> {
    let sum: u64 = mix.iter().map(|size| u64::from(size.io_percent)).sum();
    let mut sizes: Vec<u32> = mix.iter().map(|size| size.block_bytes).collect();
    sizes.sort_unstable();
    if sum != 100 {
        return Some(format!("the shares of the block sizes add up to {sum}, not to 100"));
    }
    if mix.len() > SIZES_MAX {
        return Some(format!("a mix has at most {SIZES_MAX} block sizes"));
    }
    if sizes.first() == Some(&0) || mix.iter().any(|size| size.io_percent == 0) {
        return Some("block sizes and their shares must be greater than 0".to_owned());
    }
    let twice = sizes.windows(2).find(|pair| pair[0] == pair[1])?;
    Some(format!("the block size {} stands twice in the mix", show_size(u64::from(twice[0]))))
}

/// What a target's extensions exclude, as sentences.
#[must_use]
pub fn check(target: &Target) -> Vec<String> {
    let mut errors = Vec::new();
    let extensions = &target.extensions;
    check_shares(target, &mut errors);
    check_orders(target, &mut errors);
    if extensions.sync.is_some() && target.write_percent == 0 {
        errors.push("--fsync and --fdatasync need writes: give a share of them (-w)".to_owned());
    }
    check_data(target, &mut errors);
    errors
}

fn check_shares(target: &Target, errors: &mut Vec<String>) {
    let extensions = &target.extensions;
    for mix in [&extensions.block_mix, &extensions.read_block_mix, &extensions.write_block_mix] {
        if !mix.is_empty() {
            errors.extend(check_mix(mix));
        }
    }
    for (name, pattern, mix) in [
        ("read", extensions.read_pattern, &extensions.read_block_mix),
        ("write", extensions.write_pattern, &extensions.write_block_mix),
    ] {
        if pattern.is_some_and(|pattern| pattern.block_bytes.is_some()) && !mix.is_empty() {
            errors.push(format!(
                "--{name}-pattern with block= and --{name}-block-mix both set the sizes of \
                 {name}s: give one of them"
            ));
        }
    }
}

fn check_orders(target: &Target, errors: &mut Vec<String>) {
    let extensions = &target.extensions;
    let patterns = [extensions.read_pattern, extensions.write_pattern];
    let sizes = [target.read_sizes(), target.write_sizes()];
    let shared = !extensions.has_patterns();
    let is_impossible = |pattern: &Option<Pattern>, own: &Vec<BlockShare>| {
        let interlocked = match pattern {
            Some(pattern) => pattern.order == PatternOrder::Interlocked,
            None => target.access.interlocked,
        };
        let varied = own.len() > 1 || (shared && sizes[0] != sizes[1]);
        let one_walk = interlocked || (pattern.is_none() && target.parallel_same_offset);
        one_walk && varied
    };
    if patterns.iter().zip(&sizes).any(|(pattern, own)| is_impossible(pattern, own)) {
        errors.push(
            "I/Os of several sizes cannot share one walk: leave -si, interlocked or -p out, or give \
             one block size"
                .to_owned(),
        );
    }
    if target.distribution.is_some() && patterns.iter().flatten().any(|one| one.range.is_some()) {
        errors.push(
            "-rd (random distribution) is about the whole target: leave range= out of the patterns"
                .to_owned(),
        );
    }
    if extensions.has_patterns() && target.parallel_same_offset {
        errors.push(
            "-p (parallel I/O) cannot be used with --read-pattern and --write-pattern".to_owned(),
        );
    }
}

fn check_data(target: &Target, errors: &mut Vec<String>) {
    let extensions = &target.extensions;
    let reduced = extensions.compress_percent.is_some() || extensions.dedupe_percent.is_some();
    if reduced && target.write_data != crate::request::WriteData::default() {
        errors.push(
            "--compress and --dedupe make the write data themselves: leave -Z out".to_owned(),
        );
    }
}

/// The settings in the input parameters of a text result.
#[must_use]
pub fn lines(target: &Target) -> Vec<String> {
    let extensions = &target.extensions;
    let mut lines = Vec::new();
    for (name, pattern) in
        [("reads", extensions.read_pattern), ("writes", extensions.write_pattern)]
    {
        lines.extend(pattern.map(|pattern| format!("pattern of {name}: {}", in_words(pattern))));
    }
    for (name, mix) in [
        ("block sizes", &extensions.block_mix),
        ("block sizes of reads", &extensions.read_block_mix),
        ("block sizes of writes", &extensions.write_block_mix),
    ] {
        if !mix.is_empty() {
            let part = |size: &BlockShare| {
                format!("{}% {}", size.io_percent, show_size(u64::from(size.block_bytes)))
            };
            lines.push(format!("{name}: {}", mix.iter().map(part).collect::<Vec<_>>().join(", ")));
        }
    }
    lines.extend(operations(extensions));
    for (what, percent) in
        [("compressible", extensions.compress_percent), ("repeated", extensions.dedupe_percent)]
    {
        lines.extend(percent.map(|percent| format!("write data: {percent}% {what}")));
    }
    lines
}

fn operations(extensions: &Extensions) -> impl Iterator<Item = String> {
    let ratio = extensions.ratio.map(|ratio| match ratio {
        Ratio::Drawn => "shares of operations: drawn".to_owned(),
        Ratio::Exact => "shares of operations: exact".to_owned(),
    });
    let sync = extensions.sync.map(|sync| {
        let name = if sync.data_only { "fdatasync" } else { "fsync" };
        format!("{name} behind every {} writes", sync.every_writes)
    });
    let trim = extensions.trim_percent.map(|percent| format!("trims: {percent}% of I/Os"));
    [ratio, sync, trim].into_iter().flatten()
}

fn in_words(pattern: Pattern) -> String {
    let mut words = match pattern.order {
        PatternOrder::Random => "random",
        PatternOrder::Sequential => "sequential",
        PatternOrder::Interlocked => "interlocked sequential",
    }
    .to_owned();
    for (name, bytes) in
        [("block size", pattern.block_bytes.map(u64::from)), ("alignment", pattern.align_bytes)]
    {
        if let Some(bytes) = bytes {
            words.push_str(&format!(", {name} {}", show_size(bytes)));
        }
    }
    if let Some(range) = pattern.range {
        let end = match range.length_bytes {
            0 => "end".to_owned(),
            length => show_size(range.base_bytes.saturating_add(length)),
        };
        words.push_str(&format!(", range {} - {end}", show_size(range.base_bytes)));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_has_an_order_and_named_parts() {
        let pattern = parse_pattern("sequential,block=64K,align=128K,range=1G:2G", 4096);
        let expected = Pattern {
            order: PatternOrder::Sequential,
            block_bytes: Some(65_536),
            align_bytes: Some(131_072),
            range: Some(ByteRange { base_bytes: 1 << 30, length_bytes: 2 << 30 }),
        };
        assert_eq!(pattern, Ok(expected));
        let open = parse_pattern("random,range=2b", 4096).unwrap();
        assert_eq!(open.range, Some(ByteRange { base_bytes: 8192, length_bytes: 0 }));
        for wrong in [
            "",
            "walk",
            "random,4K",
            "random,block=0",
            "random,block=8G",
            "random,align=0",
            "random,range=",
            "random,range=0:0",
            "random,range=0-1",
            "sequential,rang=1",
        ] {
            assert!(parse_pattern(wrong, 4096).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_mix_adds_up_to_100_and_names_each_size_once() {
        let mix = parse_mix("4K:60,8K:30,1M:10", 4096).unwrap();
        let sizes: Vec<(u32, u32)> =
            mix.iter().map(|size| (size.block_bytes, size.io_percent)).collect();
        assert_eq!(sizes, [(4096, 60), (8192, 30), (1 << 20, 10)]);
        for wrong in ["", "4K", "4K:60,8K:30", "4K:50,4096:50", "4K:100,8K:0", "0:100", "4K:x"] {
            assert!(parse_mix(wrong, 4096).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_cannot_be_done_together_is_told() {
        let complaints = |change: fn(&mut Target)| {
            let mut target = Target { write_percent: 50, ..Target::default() };
            change(&mut target);
            check(&target).len()
        };
        assert_eq!(complaints(|_| {}), 0);
        assert_eq!(
            complaints(|target| {
                target.access.interlocked = true;
                target.extensions.read_block_mix = parse_mix("4K:50,8K:50", 4096).unwrap();
            }),
            1
        );
        assert_eq!(
            complaints(|target| {
                target.write_percent = 0;
                target.extensions.sync =
                    Some(crate::request::SyncCadence { every_writes: 1, data_only: false });
            }),
            1
        );
        assert_eq!(
            complaints(|target| {
                target.write_data.fresh_random = true;
                target.extensions.dedupe_percent = Some(20);
            }),
            1
        );
        assert_eq!(
            complaints(|target| {
                target.extensions.read_pattern =
                    Some(parse_pattern("random,block=4K", 4096).unwrap());
                target.extensions.read_block_mix = parse_mix("4K:50,8K:50", 4096).unwrap();
            }),
            1
        );
    }
}

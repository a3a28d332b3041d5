//! Options of mixed operations and of write data, which `DiskSpd` lacks. A catalogue: every entry has the
//! same shape.

use super::super::draft::Draft;
use super::super::extensions::{parse_mix, parse_pattern};
use super::super::number::{count, exact};
use super::{Category, Flag, PLAIN};
use crate::request::{Ratio, SyncCadence};

type Applied = Result<(), String>;

const LONG: Flag = Flag { category: Category::Beyond, ..PLAIN };
const PATTERN: Flag = Flag {
    unit: "order, bytes",
    default: "that of -r, -rs and -s",
    limits: "not with -p; a range not with -rd; block= not with a mix of sizes of this direction",
    ..LONG
};
const MIX: Flag = Flag {
    unit: "bytes, percent",
    default: "the block size (-b)",
    limits: "the percentages add up to 100, each size once; not with -si, -p and interlocked",
    ..LONG
};

/// The entries; a name begins with the second of its two dashes.
pub const FLAGS: &[Flag] = &[
    Flag {
        name: "-ratio",
        form: "--ratio=<drawn|exact>",
        default: "exact with --read-pattern or --write-pattern, otherwise drawn",
        limits: "one of the names",
        short: "how the shares of writes (-w) and trims are kept",
        long: "drawn decides each I/O by chance, as DiskSpd does. exact carries the remainder from one \
               I/O to the next: after any number of I/Os of a thread on a target the count of each \
               kind is right to one I/O.",
        example: "--ratio=exact",
        apply: ratio,
        ..LONG
    },
    Flag {
        name: "-read-pattern",
        form: "--read-pattern=<random|sequential|interlocked>[,block=<size>][,align=<size>]\
               [,range=<base>[:<length>]]",
        short: "order, size and range of reads alone",
        long: "Reads and writes then have offsets of their own, and the shares are kept exactly unless \
               --ratio says otherwise. A direction without a pattern keeps the order of -r, -rs or -s. \
               align= is the alignment of random offsets or the stride of sequential ones; without it \
               it is the block size. range= narrows the range of -B and -f and never widens it. \
               interlocked is a walk that all threads share, as -si.",
        example: "--read-pattern=random,block=4K",
        apply: read_pattern,
        ..PATTERN
    },
    Flag {
        name: "-write-pattern",
        form: "--write-pattern=<random|sequential|interlocked>[,block=<size>][,align=<size>]\
               [,range=<base>[:<length>]]",
        short: "order, size and range of writes and trims alone",
        long: "As --read-pattern, for writes and trims: random reads with a sequential log are \
               -r -w30 --write-pattern=sequential,block=64K,range=0:1G.",
        example: "--write-pattern=sequential,block=64K,range=0:1G",
        apply: write_pattern,
        ..PATTERN
    },
    Flag {
        name: "-block-mix",
        form: "--block-mix=<size>:<percent>[,<size>:<percent>...]",
        short: "I/Os of several sizes, each with its share",
        long: "Random I/O of each size is aligned to that size, and a sequential I/O begins where the \
               one before it ended, unless -r or -s give an alignment or stride other than the block \
               size. No I/O of any size leaves the range of -B and -f. A rate in bytes (-g) counts \
               I/Os of the mean size.",
        example: "--block-mix=4K:60,8K:30,64K:10",
        apply: block_mix,
        ..MIX
    },
    Flag {
        name: "-read-block-mix",
        form: "--read-block-mix=<size>:<percent>[,<size>:<percent>...]",
        short: "the same for reads alone",
        long: "As --block-mix, for reads; it wins over --block-mix.",
        example: "--read-block-mix=4K:90,128K:10",
        apply: read_block_mix,
        ..MIX
    },
    Flag {
        name: "-write-block-mix",
        form: "--write-block-mix=<size>:<percent>[,<size>:<percent>...]",
        short: "the same for writes and trims alone",
        long: "As --block-mix, for writes and trims; it wins over --block-mix.",
        example: "--write-block-mix=8K:50,16K:50",
        apply: write_block_mix,
        ..MIX
    },
    Flag {
        name: "-fsync",
        form: "--fsync=<count>",
        unit: "writes",
        default: "no syncs",
        limits: "greater than 0; needs writes (-w); not with --fdatasync",
        short: "an fsync behind so many writes of a thread to a target",
        long: "The sync is the thread's next operation. It takes one of the outstanding I/Os, waits \
               for no write in flight, as in fio, and has no place in the schedule of a rate. Syncs \
               are counted apart from reads and writes, with latencies of their own (-L).",
        example: "--fsync=32",
        apply: fsync,
        ..LONG
    },
    Flag {
        name: "-fdatasync",
        form: "--fdatasync=<count>",
        unit: "writes",
        default: "no syncs",
        limits: "greater than 0; needs writes (-w); not with --fsync",
        short: "an fdatasync behind so many writes of a thread to a target",
        long: "As --fsync, without metadata that reading the data back does not need.",
        example: "--fdatasync=1",
        apply: fdatasync,
        ..LONG
    },
    Flag {
        name: "-trim",
        form: "--trim=<percent>",
        unit: "percent",
        default: "0",
        limits: "0 to 100; not with the engine aio; a device must be able to discard",
        short: "share of I/Os that give their block back",
        long: "The others are reads and writes by -w. A trim takes its offset and size where a write \
               does. In a file it makes a hole; on a device it discards the range. What was there is \
               lost, so that a target with trims is guarded as one that is written. Trims are counted \
               apart from reads and writes, with latencies of their own (-L).",
        here: "Files: fallocate with FALLOC_FL_PUNCH_HOLE. Devices: BLKDISCARD, and through io_uring \
               its discard command, which Linux has from 6.12 on.",
        example: "--trim=10",
        apply: trim,
        ..LONG
    },
    Flag {
        name: "-compress",
        form: "--compress=<percent>",
        unit: "percent",
        default: "as -Z says",
        limits: "0 to 100; not with -Z",
        short: "share of the written data that a compressor saves",
        long: "As fio's buffer_compress_percentage: 0 is incompressible, and data of 75 fill a quarter \
               of their space once compressed. Each 512 bytes begin with random data and end with one \
               repeated word, so that the share is the same at every block size; the words differ \
               from I/O to I/O, so that no two I/Os hold the same data unless --dedupe asks for it. \
               Files that -c creates are filled in the same way.",
        example: "--compress=50",
        apply: compress,
        ..LONG
    },
    Flag {
        name: "-dedupe",
        form: "--dedupe=<percent>",
        unit: "percent",
        default: "as -Z says",
        limits: "0 to 100; not with -Z",
        short: "share of writes whose data repeat an earlier write's",
        long: "As fio's dedupe_percentage, kept exactly by each thread: the data of so many percent of \
               its writes are those of one of its earlier writes. Files that -c creates repeat blocks \
               of 4 KiB in the same share.",
        example: "--dedupe=30",
        apply: dedupe,
        ..LONG
    },
];

fn ratio(draft: &mut Draft, value: &str) -> Applied {
    draft.target.extensions.ratio = Some(match value {
        "drawn" => Ratio::Drawn,
        "exact" => Ratio::Exact,
        _ => return Err(format!("'{value}' is not one of drawn and exact")),
    });
    Ok(())
}

fn read_pattern(draft: &mut Draft, value: &str) -> Applied {
    draft.target.extensions.read_pattern = Some(parse_pattern(value, draft.block_bytes())?);
    Ok(())
}

fn write_pattern(draft: &mut Draft, value: &str) -> Applied {
    draft.target.extensions.write_pattern = Some(parse_pattern(value, draft.block_bytes())?);
    Ok(())
}

fn block_mix(draft: &mut Draft, value: &str) -> Applied {
    draft.target.extensions.block_mix = parse_mix(value, draft.block_bytes())?;
    Ok(())
}

fn read_block_mix(draft: &mut Draft, value: &str) -> Applied {
    draft.target.extensions.read_block_mix = parse_mix(value, draft.block_bytes())?;
    Ok(())
}

fn write_block_mix(draft: &mut Draft, value: &str) -> Applied {
    draft.target.extensions.write_block_mix = parse_mix(value, draft.block_bytes())?;
    Ok(())
}

fn fsync(draft: &mut Draft, value: &str) -> Applied {
    sync(draft, value, false)
}

fn fdatasync(draft: &mut Draft, value: &str) -> Applied {
    sync(draft, value, true)
}

fn sync(draft: &mut Draft, value: &str, data_only: bool) -> Applied {
    let every_writes = exact(value)?;
    if draft.target.extensions.sync.is_some_and(|sync| sync.data_only != data_only) {
        return Err("--fsync and --fdatasync exclude each other".to_owned());
    }
    draft.target.extensions.sync = Some(SyncCadence { every_writes, data_only });
    Ok(())
}

fn trim(draft: &mut Draft, value: &str) -> Applied {
    draft.target.extensions.trim_percent = Some(percent(value)?);
    Ok(())
}

fn compress(draft: &mut Draft, value: &str) -> Applied {
    draft.target.extensions.compress_percent = Some(percent(value)?);
    Ok(())
}

fn dedupe(draft: &mut Draft, value: &str) -> Applied {
    draft.target.extensions.dedupe_percent = Some(percent(value)?);
    Ok(())
}

fn percent(value: &str) -> Result<u32, String> {
    if value.is_empty() {
        return Err("a share from 0 to 100 is missing".to_owned());
    }
    let percent = u32::try_from(count(value.trim_end_matches('%'))?).ok();
    percent
        .filter(|percent| *percent <= 100)
        .ok_or_else(|| format!("the share must be from 0 to 100, not '{value}'"))
}

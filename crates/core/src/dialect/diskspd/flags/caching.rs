//! Caches, hints and buffers. A catalogue: every entry has the same shape.

use super::apply;
use super::{Category, Flag, JUNK, PLAIN};

const CACHING: Flag = Flag { category: Category::Caching, ..PLAIN };

/// The entries.
pub const FLAGS: &[Flag] = &[
    Flag {
        name: "S",
        form: "-S[b|h|m|r|u|w]",
        default: "-Sb: caches on",
        limits: "b, r and u exclude each other; m excludes u, h and -x",
        short: "caching: b on, h off, m memory mapped, r remote only, u no page cache, w write-through",
        long: "b uses all caches. u (also -S alone) bypasses the page cache. w ends a write only \
               when it is on stable storage. h is u and w together. m does I/O through a shared \
               mapping. r bypasses the local cache of a remote file system.",
        here: "u is O_DIRECT, w is O_DSYNC, m is mmap, and mw writes with non-temporal stores; r \
               works on remote file systems only. Sizes and offsets of u must be multiples of the \
               target's logical sector.",
        example: "-Suw",
        apply: apply::caching,
        ..CACHING
    },
    Flag {
        name: "h",
        form: "-h",
        limits: "not with another cache mode or write-through",
        short: "the old form of -Sh",
        long: "Bypasses the page cache and writes through, as -Sh does.",
        here: "O_DIRECT and O_DSYNC.",
        example: "-h",
        apply: apply::no_cache,
        ..CACHING
    },
    Flag {
        name: "N",
        form: "-N<v|n|i>",
        default: "no flush",
        limits: "needs -Sm",
        short: "flush of memory mapped writes: v view, n persistent memory, i without waiting",
        long: "Each memory mapped write is followed by a flush of its pages.",
        here: "v and n are msync that waits, i is sync_file_range that only starts the write-back.",
        example: "-Nv",
        apply: apply::flush,
        ..CACHING
    },
    Flag {
        name: "l",
        form: "-l",
        short: "I/O buffers on large pages",
        long: "Buffers lie on large pages, which must have been reserved.",
        here: "MAP_HUGETLB; without enough reserved pages the run ends with an error that says \
               how to reserve them.",
        example: "-l",
        apply: apply::large_pages,
        ..CACHING
    },
    Flag {
        name: "Z",
        form: "-Z[r | <size>[K|M|G|T|b][,<file>]]",
        unit: "bytes",
        default: "the bytes 0, 1, ... 255, repeated",
        limits: "the size at least the block size",
        short: "what is written: zeros; r new random data; pieces of a buffer, or of a file",
        long: "-Z writes zeros. -Zr fills each write with new random data. With a size, writes \
               take pieces at random places of a buffer of that size, filled with random data, \
               or with the file's contents, repeated as often as needed.",
        deviation: "DiskSpd's profile XML forgets -Zr; here it is kept in a processing \
                    instruction that DiskSpd ignores.",
        example: "-Z1M",
        apply: apply::write_data,
        ..CACHING
    },
    Flag {
        name: "I",
        form: "-I<1|2|3>",
        unit: "level",
        default: "3",
        limits: "1 to 3",
        short: "I/O priority: 1 very low, 2 low, 3 normal",
        long: "The priority of the load's I/O against that of other processes.",
        here: "ioprio: idle, best-effort 7, and the default.",
        deviation: JUNK,
        example: "-I1",
        apply: apply::priority,
        ..CACHING
    },
    Flag {
        name: "x",
        form: "-x",
        limits: "not with -g and -Sm",
        short: "completion routines instead of completion ports",
        long: "The system's other path for completions is used.",
        here: "libaio instead of io_uring.",
        example: "-x",
        apply: apply::completion_routines,
        ..CACHING
    },
];

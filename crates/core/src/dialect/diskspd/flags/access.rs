//! Size, place and order of I/O. A catalogue: every entry has the same shape.

use super::apply;
use super::{Category, Flag, JUNK, PLAIN};

const ACCESS: Flag = Flag { category: Category::Access, ..PLAIN };

/// The entries.
pub const FLAGS: &[Flag] = &[
    Flag {
        name: "b",
        form: "-b<size>[K|M|G|T]",
        unit: "bytes",
        default: "64K",
        limits: "1 to 4294967295 bytes; not with -X",
        short: "block size: bytes per I/O",
        long: "Each I/O transfers this many bytes. The option holds for all sizes in blocks \
               (suffix b) wherever it stands on the command line.",
        deviation: "DiskSpd accepts -b0; it is an error here.",
        first_pass: true,
        example: "-b8K",
        apply: apply::block,
        ..ACCESS
    },
    Flag {
        name: "B",
        form: "-B<base>[:<length>][K|M|G|T|b]",
        unit: "bytes",
        default: "the whole target",
        limits: "once; the length not together with -f<size>",
        short: "base offset, and length, of the range that is used",
        long: "I/O stays within the range that begins at the base and has the given length, or \
               ends with the target.",
        example: "-B1M:16M",
        apply: apply::base,
        ..ACCESS
    },
    Flag {
        name: "c",
        form: "-c<size>[K|M|G|T|b]",
        unit: "bytes",
        default: "targets exist already",
        limits: "regular files only",
        short: "create the target files with this size",
        long: "Each target file is created, or made again, and every block of it is filled with \
               incompressible data. A file that was made so before and has the size already is \
               kept. A file with data that neither diskspd nor fathom made is left alone; see \
               --overwrite.",
        here: "Data are written for real: a file that is only allocated is read without touching \
               the disk.",
        example: "-c1G",
        apply: apply::create,
        ..ACCESS
    },
    Flag {
        name: "f",
        form: "-f<size>[K|M|G|T|b] | -f<r|s|t>",
        unit: "bytes",
        default: "the end of the target; no hints",
        limits: "a size once, greater than the base; the letters in any combination",
        short: "greatest offset; or access hints: random, sequential, temporary",
        long: "With a size: no I/O reaches beyond this offset. With letters: the file is opened \
               with hints that offsets will be random (r) or sequential (s), or that the data \
               will not be needed for long (t).",
        here: "The hints are posix_fadvise RANDOM, SEQUENTIAL and NOREUSE.",
        example: "-f2G",
        apply: apply::limit_or_hints,
        ..ACCESS
    },
    Flag {
        name: "r",
        form: "-r[<align>[K|M|G|T|b]]",
        unit: "bytes",
        default: "sequential; aligned to the block size",
        limits: "once; the alignment greater than 0; not with -s",
        short: "random I/O, aligned to the given size",
        long: "Every offset is drawn at random among the multiples of the alignment.",
        example: "-r4K",
        apply: apply::random,
        ..ACCESS
    },
    Flag {
        name: "rs",
        form: "-rs<percentage>",
        unit: "percent",
        default: "100 with -r",
        limits: "1 to 100; once; the alignment comes with -r",
        short: "share of random I/O; the rest goes on sequentially",
        long: "Each I/O is with this chance the start of a new run at a random offset, and goes \
               on with the run otherwise, so that runs have geometric length. A run reads only, \
               or writes only.",
        deviation: JUNK,
        example: "-rs75",
        apply: apply::random_percent,
        ..ACCESS
    },
    Flag {
        name: "rd",
        form: "-rd<pct|abs><IO%>/<target>[:<IO%>/<target>...]",
        unit: "percent and bytes",
        default: "uniform",
        limits: "needs -r or -rs; IO% total 100 at most, Target% as well; absolute ranges of a \
                 block at least",
        short: "distribution of random I/O over the target",
        long: "Each part gets its share of the I/Os, from the start of the target on: pct gives \
               the parts in percent of the target, abs in bytes. What is left of the I/O goes to \
               what is left of the target. A share of 0 makes a hole.",
        example: "-rdpct90/10:0/10:5/20",
        apply: apply::distribution,
        ..ACCESS
    },
    Flag {
        name: "s",
        form: "-s[i][<stride>[K|M|G|T|b]]",
        unit: "bytes",
        default: "sequential with the block size as stride",
        limits: "once; not with -r; i not with -p and -T",
        short: "sequential I/O with a stride; i: threads take turns (interlocked)",
        long: "Each I/O begins one stride behind the one before. With i all threads of a target \
               take the next offset from one counter; otherwise each thread walks alone, and \
               several threads read the same blocks unless -T sets them apart.",
        example: "-si64K",
        apply: apply::sequential,
        ..ACCESS
    },
    Flag {
        name: "T",
        form: "-T<offset>[K|M|G|T|b]",
        unit: "bytes",
        default: "0",
        limits: "greater than 0; needs several threads; not with -r and -si",
        short: "distance between the first offsets of two threads",
        long: "The n-th thread of a target begins n times this distance behind the base.",
        example: "-T1M",
        apply: apply::thread_stride,
        ..ACCESS
    },
    Flag {
        name: "w",
        form: "-w<percentage>",
        unit: "percent",
        default: "0: only reads",
        limits: "0 to 100; the value is needed",
        short: "share of writes",
        long: "Each I/O is with this chance a write. Writing destroys what the target held.",
        here: "A file with data that neither diskspd nor fathom made is not written, nor is what \
               the system uses; see --overwrite.",
        deviation: JUNK,
        example: "-w30",
        apply: apply::write_percent,
        ..ACCESS
    },
    Flag {
        name: "p",
        form: "-p",
        limits: "not with -r, -si and -O",
        short: "all outstanding I/Os of a thread use the same offset",
        long: "Each outstanding I/O of a thread walks the same sequence of offsets on its own.",
        example: "-p",
        apply: apply::same_offset,
        ..ACCESS
    },
];

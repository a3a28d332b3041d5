//! Options that end the measured time early. A catalogue: every entry has the same shape.

use super::super::stop;
use super::{Category, Flag, PLAIN};

const STOP: Flag = Flag {
    category: Category::Stop,
    default: "the duration (-d) alone ends the measured time",
    ..PLAIN
};

/// The entries; a name begins with the second of its two dashes.
pub const FLAGS: &[Flag] = &[
    Flag {
        name: "-stop-bytes",
        form: "--stop-bytes=<size>[K|M|G|T|b]",
        unit: "bytes; K, M, G and T are powers of 1024, b blocks",
        limits: "greater than 0; not where I/Os have different sizes",
        short: "end the measured time after so many bytes",
        long: "Counts the bytes of all threads and targets together, from the start of the measured \
               time. The last I/O is whole, so that as many blocks are moved as it takes to reach the \
               size. See --stop-ios for how the end is reached.",
        example: "--stop-bytes=16G",
        apply: stop::bytes,
        ..STOP
    },
    Flag {
        name: "-stop-ios",
        form: "--stop-ios=<count>",
        unit: "I/Os",
        limits: "greater than 0",
        short: "end the measured time after so many I/Os",
        long: "Exactly so many reads and writes are counted, of all threads and targets together; trims \
               and syncs, which are part of no total of the result, are not. \
               Threads take them in portions that last about a millisecond, so that none waits \
               long for another; when no more are left, those under way are waited for, and the \
               measured time ends with the last of them. The rates are those of the time that did \
               pass. Each --stop rule ends the run as complete; the first that is met wins, and \
               -d is the longest time.",
        example: "--stop-ios=1000000",
        apply: stop::ios,
        ..STOP
    },
    Flag {
        name: "-stop-pass",
        form: "--stop-pass",
        limits: "sequential I/O only; not with -p, patterns, mixes, syncs or trims",
        short: "end the measured time after one pass over the range of each target",
        long: "With the measured time each walk begins again, and every block of the range is moved \
               once: by all threads of a target together with -si, else by each thread on its own. A \
               walk that has ended waits for the others.",
        example: "--stop-pass",
        apply: stop::pass,
        ..STOP
    },
    Flag {
        name: "-stop-steady",
        form: "--stop-steady[=<intervals>[:<range>[:<slope>]]]",
        unit: "intervals, percent, percent",
        limits: "3 intervals or more; range and slope above 0 to 1000",
        short: "end the measured time when the rate is steady by the SNIA's rule",
        long: "Over a window of the last intervals (30), the greatest and the least IOPS differ by at \
               most range (20) percent of their mean, and the straight line of least squares rises \
               or falls by at most slope (10) percent of it: the definition of the SNIA's \
               performance test specification, whose own rounds are --stop-steady=5:20:10 \
               --stop-interval=60000. The result is that of the whole measured time.",
        example: "--stop-steady=10:20:10",
        apply: stop::steady,
        ..STOP
    },
    Flag {
        name: "-stop-confidence",
        form: "--stop-confidence=<level>[:<precision>]",
        unit: "percent, percent",
        limits: "level above 0 and below 100; precision above 0 to 100",
        short: "end the measured time when the mean IOPS are known well enough",
        long: "Ends when the mean of the IOPS is known to within precision (2) percent of itself at \
               this level of confidence. A transient at the start (MSER-5) is left out where the rate \
               approaches its level and stays there; a stall is not left out. Intervals that resemble \
               their neighbours count for fewer (means of 20 batches). Needed are at least 2 seconds, \
               80 intervals, more where they are correlated or skewed, four of the slowest periods \
               seen, five stalls if there is one, and a level that does not change. The rule looks \
               each time the series has grown by half, because looking all the time would stop at \
               lucky moments. The result holds the interval, its effective samples, the transient \
               with its IOPS, and what the rule still waited for; its IOPS are those of the whole \
               measured time.",
        example: "--stop-confidence=95:2",
        apply: stop::confidence,
        ..STOP
    },
    Flag {
        name: "-stop-interval",
        form: "--stop-interval=<milliseconds>",
        unit: "milliseconds",
        default: "1000 with --stop-steady, else 100",
        limits: "greater than 0; needs --stop-steady or --stop-confidence",
        short: "length of the intervals by which rates are judged",
        long: "An interval ought to hold hundreds of I/Os. It is independent of -D.",
        example: "--stop-interval=500",
        apply: stop::interval,
        ..STOP
    },
];

//! Options about faults. A catalogue: every entry has the same shape.

use super::super::faults;
use super::{Category, Flag, PLAIN};

const FAULTS: Flag = Flag { category: Category::Faults, ..PLAIN };

/// The entries; a name begins with the second of its two dashes.
pub const FLAGS: &[Flag] = &[
    Flag {
        name: "-on-error",
        form: "--on-error=<stop|continue|count=errors>",
        default: "stop",
        limits: "one of the words; the count is greater than 0",
        short: "what an I/O that fails does to the time span",
        long: "stop ends the time span with the first I/O that fails, as DiskSpd does. continue counts it, \
           and its slot goes on with the next offset. count=<errors> does the same until so many I/Os \
           have failed, over all threads and targets. Errors are counted by kind (EIO, ENOSPC, a short \
           read, ...), operation and target, in the measured time and outside of it, in every form of \
           the result. An I/O that failed uses up its place in --stop-ios, --stop-bytes and \
           --stop-pass. A run that goes on to its end has exit code 0 and a warning. docs/faults.md \
           tells what each fault does.",
        example: "--on-error=continue",
        apply: faults::on_error,
        ..FAULTS
    },
    Flag {
        name: "-io-timeout",
        form: "--io-timeout=<seconds>",
        unit: "seconds",
        default: "120",
        limits: "0 or more; 0 sets no limit; at least 10 s longer than --reconnect",
        short: "end a run whose I/Os do not come back",
        long: "A thread that is in the kernel for so long without a completion is stuck: the run is ended \
               without it, and its result says which I/Os are outstanding, on which target and offset, and \
               since when. What was measured until then is kept. An I/O that hangs while others of its \
               thread complete is noticed when the load has ended. A look at a target that hangs before or \
               after the load, or while a file is made, ends the run after the same time. After Ctrl-C the \
               wait is 5 seconds at most. The coordinator looks on; no I/O costs more.",
        example: "--io-timeout=30",
        apply: faults::io_timeout,
        ..FAULTS
    },
    Flag {
        name: "-reconnect",
        form: "--reconnect=<seconds>",
        unit: "seconds",
        default: "never",
        limits: "1 to 86400; for targets over the network only",
        short: "make a lost connection again for so long, as a mount or an initiator does",
        long: "Where a server or the way to it goes away, what is in flight waits and does not fail. \
               The connection is tried again until it is there, for so many seconds at most; then \
               what was in flight is sent again, and its time counts from its first issue. A read or \
               write may so be done twice. What answers has to be the same target, by its size, block \
               size, serial number and file handle, as far as its protocol has them; another one ends \
               the run, and nothing is sent to it. A host that falls silent is noticed after some 6 \
               seconds; one that is slow is left in peace. When the time is over, the I/Os fail, as \
               they do without the option. --io-timeout has to be at least 10 s longer, and is by \
               default. The result has the number of reconnects and the time without a connection. \
               docs/targets/network.md has the details.",
        example: "--reconnect=30",
        apply: faults::reconnect,
        ..FAULTS
    },
];

//! Options that `DiskSpd` lacks. A catalogue: every entry has the same shape.

use super::apply;
use super::{Category, Flag, PLAIN};

const LONG: Flag = Flag { category: Category::Beyond, ..PLAIN };

/// The entries; a name begins with the second of its two dashes.
pub const FLAGS: &[Flag] = &[
    Flag {
        name: "-help",
        form: "--help",
        short: "show this text",
        long: "Shows the usage and ends with exit code 0, as -? does.",
        example: "--help",
        apply: apply::usage,
        ..LONG
    },
    Flag {
        name: "-version",
        form: "--version",
        short: "show the version",
        long: "Shows the version of this tool and the version of DiskSpd that it follows.",
        example: "--version",
        apply: apply::version,
        ..LONG
    },
    Flag {
        name: "-list",
        form: "--list",
        short: "list the disks that #<n> names",
        long: "Lists all whole disks with number, model, serial number, size and use.",
        example: "--list",
        apply: apply::list,
        ..LONG
    },
    Flag {
        name: "-doctor",
        form: "--doctor",
        short: "tell what slows a measurement on this machine; targets name the disks to look at",
        long: "Measures the cost of the tool itself on an engine that does nothing, and looks at what \
               takes speed or makes figures vary: clock, frequency governor, idle states, mitigations, \
               limits of the process and of its control groups, io_uring, other load, time taken by the \
               hypervisor, and for each disk its scheduler, statistics and interrupts. Each finding has \
               its evidence and what to do about it. Nothing is changed. With -Rjson, or --json=<file>, \
               the findings are told as JSON by schema/doctor.schema.json.",
        limits: "the text and the JSON form only",
        example: "--doctor",
        apply: apply::doctor,
        ..LONG
    },
    Flag {
        name: "-engine",
        form: "--engine=<uring|aio|sync|mmap|null>",
        default: "io_uring; pread and pwrite with -o1; libaio with -x; mmap with -Sm",
        limits: "one of the names",
        short: "how I/O reaches the kernel",
        long: "null completes every I/O at once and touches no target: it measures the cost of \
               the tool itself.",
        example: "--engine=aio",
        apply: apply::engine,
        ..LONG
    },
    Flag {
        name: "-rate",
        form: "--rate=<count>",
        unit: "I/Os per second",
        default: "no limit",
        limits: "greater than 0; not with -g, and not with -O and -F",
        short: "rate of all threads together, in IOPS",
        long: "The threads share the rate and take turns. I/Os are issued on a schedule whether or \
               not earlier ones have completed, as far as the outstanding I/Os allow; with -L the \
               result has response times from the scheduled start beside service times.",
        example: "--rate=10000",
        apply: apply::total_rate,
        ..LONG
    },
    Flag {
        name: "-arrivals",
        form: "--arrivals=<constant|poisson>",
        default: "constant",
        limits: "needs a rate (-g or --rate)",
        short: "how the I/Os of a rate are spread over the time",
        long: "constant issues them at equal distances; poisson at random ones, as independent \
               users would, with the same mean.",
        example: "--arrivals=poisson",
        apply: apply::arrivals,
        ..LONG
    },
    Flag {
        name: "-skew",
        form: "--skew=<zipf:theta|pareto:h|normal:deviation%>",
        default: "uniform",
        limits: "theta above 0 to 10, h above 0 to 0.5, deviation above 0 to 100; needs -r or -rs; not \
                 with -rd",
        short: "random I/O that prefers some places",
        long: "zipf gives the k-th place a share in proportion to k^-theta. pareto gives the first \
               part h of the target the share 1 - h, and so on within it: 0.2 is the rule of 80 to \
               20. normal is a bell around the middle with this deviation in percent of the \
               target. The hot places of zipf and pareto stand at the beginning of the range.",
        example: "--skew=zipf:1.1",
        apply: apply::skew,
        ..LONG
    },
    Flag {
        name: "-live",
        form: "--live",
        short: "show the figures of each second while the run is under way",
        long: "One line a second on standard error: IOPS, MiB/s, latency percentiles, and the I/Os \
               in flight. Warm-up and cool-down are shown too.",
        example: "--live",
        apply: apply::live,
        ..LONG
    },
    Flag {
        name: "-overwrite",
        form: "--overwrite",
        short: "write targets although they hold recognisable data",
        long: "Without it a file or device that looks like a document, an archive, an image, a \
               database, a virtual disk, a text or a file system is neither truncated nor \
               written. Devices that the system uses stay refused.",
        example: "--overwrite",
        apply: apply::overwrite,
        ..LONG
    },
    Flag {
        name: "-json",
        form: "--json=<file>",
        unit: "path",
        default: "no file",
        limits: "a path",
        short: "also write the whole result as JSON to a file",
        long: "The JSON carries everything that was measured, histograms whole; its schema is \
               schema/result.schema.json.",
        example: "--json=result.json",
        apply: apply::json_file,
        ..LONG
    },
];

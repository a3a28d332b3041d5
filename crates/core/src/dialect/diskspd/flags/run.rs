//! Threads, rates, times, output and the system. A catalogue: every entry has the same shape.

use super::apply;
use super::{Category, Flag, JUNK, PLAIN};

const LOAD_PLAIN: Flag = Flag { category: Category::Load, ..PLAIN };
const OUTPUT_PLAIN: Flag = Flag { category: Category::Output, ..PLAIN };
const SYSTEM_PLAIN: Flag = Flag { category: Category::System, ..PLAIN };

/// Threads, rates and times.
pub const LOAD: &[Flag] = &[
    Flag {
        name: "t",
        form: "-t<count>",
        unit: "threads",
        default: "1",
        limits: "greater than 0; not with -F",
        short: "threads per target",
        long: "Each target has this many threads of its own.",
        deviation: JUNK,
        example: "-t4",
        apply: apply::threads,
        ..LOAD_PLAIN
    },
    Flag {
        name: "F",
        form: "-F<count>",
        unit: "threads",
        default: "threads per target (-t)",
        limits: "greater than 0; not with -t of more than 1",
        short: "threads in all, shared by all targets",
        long: "This many threads work on all targets together.",
        deviation: JUNK,
        example: "-F8",
        apply: apply::thread_count,
        ..LOAD_PLAIN
    },
    Flag {
        name: "o",
        form: "-o<count>",
        unit: "I/Os",
        default: "2",
        limits: "greater than 0",
        short: "outstanding I/Os per target and thread (1: synchronous)",
        long: "Each thread keeps this many I/Os outstanding on each of its targets.",
        here: "With 1, and one target per thread, I/O is pread and pwrite; otherwise io_uring.",
        deviation: JUNK,
        example: "-o32",
        apply: apply::outstanding,
        ..LOAD_PLAIN
    },
    Flag {
        name: "O",
        form: "-O<count>",
        unit: "I/Os",
        default: "per target (-o)",
        limits: "greater than 0; with -F it excludes -g, -j and -p",
        short: "outstanding I/Os per thread over all targets, with -F",
        long: "Each thread keeps this many I/Os outstanding in all, spread over its targets by \
               their weights.",
        deviation: JUNK,
        example: "-O16",
        apply: apply::request_count,
        ..LOAD_PLAIN
    },
    Flag {
        name: "g",
        form: "-g<count>[i]",
        unit: "bytes per millisecond, or I/Os per second",
        default: "no limit",
        limits: "greater than 0; what is above 2147483647 is taken as that, as in DiskSpd (--rate takes \
                 more); not with -x, and not with -O and -F",
        short: "rate per thread and target, in bytes per millisecond; i: in IOPS",
        long: "I/Os are issued on a schedule that gives exactly this rate over any length of \
               time. After a stall the schedule is caught up with.",
        here: "The schedule is kept in nanoseconds.",
        deviation: "DiskSpd computes -g<n>i in 32 bits and in whole bytes per millisecond, so that -b64K \
                    -g65536i and -b999 -g1i mean no limit; here every rate is exact. Characters behind the \
                    number are an error.",
        example: "-g1000i",
        apply: apply::rate,
        ..LOAD_PLAIN
    },
    Flag {
        name: "i",
        form: "-i<count>",
        unit: "I/Os",
        default: "no bursts",
        limits: "greater than 0; needs -j",
        short: "I/Os in a burst",
        long: "After this many I/Os the thread thinks for the time given by -j.",
        deviation: JUNK,
        example: "-i10",
        apply: apply::burst,
        ..LOAD_PLAIN
    },
    Flag {
        name: "j",
        form: "-j<milliseconds>",
        unit: "milliseconds",
        default: "no bursts",
        limits: "greater than 0; needs -i; not with -O and -F",
        short: "think time between bursts",
        long: "The time between the last I/O of a burst and the first of the next.",
        deviation: JUNK,
        example: "-j5",
        apply: apply::think,
        ..LOAD_PLAIN
    },
    Flag {
        name: "d",
        form: "-d<seconds>",
        unit: "seconds",
        default: "10",
        limits: "not negative",
        short: "measured time",
        long: "The length of the measured time, without warm-up and cool-down.",
        deviation: JUNK,
        first_pass: true,
        example: "-d60",
        apply: apply::duration,
        ..LOAD_PLAIN
    },
    Flag {
        name: "W",
        form: "-W<seconds>",
        unit: "seconds",
        default: "5",
        limits: "not negative",
        short: "warm-up before the measured time",
        long: "Load that runs before the measured time and is not counted.",
        deviation: JUNK,
        first_pass: true,
        example: "-W10",
        apply: apply::warm_up,
        ..LOAD_PLAIN
    },
    Flag {
        name: "C",
        form: "-C<seconds>",
        unit: "seconds",
        default: "0",
        limits: "not negative",
        short: "cool-down after the measured time",
        long: "Load that runs on after the measured time and is not counted.",
        deviation: JUNK,
        first_pass: true,
        example: "-C2",
        apply: apply::cool_down,
        ..LOAD_PLAIN
    },
    Flag {
        name: "a",
        form: "-a[g#,]#[-#][,#[-#]...] | -ag | -a<c|s|p|P|e|E> | -aup",
        unit: "CPU numbers",
        default: "-ag: all CPUs, round robin",
        limits: "CPU 0 to 255, group 0 to 65535, one order of P- and E-cores; not with -n; the CPUs must \
                 exist when the run begins",
        short: "CPUs that threads are pinned to, round robin; g# sets the group; c, s, p, P, e, E: order",
        long: "Threads are pinned to the listed CPUs in turn. The option can be repeated; g# \
               sets the group of the CPUs that follow, a-b is a range. \
               Letters choose the order instead of the CPUs and can be combined: c takes one \
               CPU of each physical core before the second of any; s takes CPUs of all groups in \
               turn instead of filling one group after the other; p and e put P-cores or E-cores \
               first in each pass over the cores; P and E use up all CPUs of that kind first; -aup \
               orders no kinds. Without a list P-cores come first; a list keeps its own order unless \
               letters are given.",
        here: "A group is a NUMA node, a CPU number counts within it; with one node they are the \
               plain CPU numbers.",
        deviation: "DiskSpd lets CPU numbers wrap at 2^32; they are an error here.",
        example: "-a0",
        apply: apply::affinity,
        ..LOAD_PLAIN
    },
    Flag {
        name: "n",
        form: "-n",
        limits: "not with a CPU list (-a)",
        short: "threads are not pinned to CPUs",
        long: "The scheduler may move threads between CPUs.",
        example: "-n",
        apply: apply::no_affinity,
        ..LOAD_PLAIN
    },
    Flag {
        name: "z",
        form: "-z[<seed>]",
        unit: "32-bit seed",
        default: "0",
        limits: "a whole number; greater ones saturate, negative ones wrap",
        short: "seed of all random choices; -z alone: a new one each time",
        long: "The same seed gives the same offsets. The seed of a run is shown in its result.",
        first_pass: true,
        example: "-z7",
        apply: apply::seed,
        ..LOAD_PLAIN
    },
];

/// What is shown.
pub const OUTPUT: &[Flag] = &[
    Flag {
        name: "L",
        form: "-L",
        short: "measure latency",
        long: "Keeps every I/O's latency in a histogram and shows mean, standard deviation and \
               percentiles.",
        example: "-L",
        apply: apply::latency,
        ..OUTPUT_PLAIN
    },
    Flag {
        name: "D",
        form: "-D[<milliseconds>]",
        unit: "milliseconds",
        default: "off; 1000 where no value is given",
        limits: "0 means 1000",
        short: "keep I/Os per interval, and show their standard deviation",
        long: "Keeps counts and latency for each interval of this length; the XML and JSON \
               results carry the whole series. The last interval ends with the measured time, and its \
               rate is by its own length.",
        deviation: JUNK,
        example: "-D500",
        apply: apply::interval,
        ..OUTPUT_PLAIN
    },
    Flag {
        name: "P",
        form: "-P[<count>]",
        unit: "I/Os",
        default: "off; 65536 where no value is given",
        limits: "0 means 65536",
        short: "print a dot each time a thread has completed this many I/Os",
        long: "A sign of life for long runs.",
        here: "With an XML or JSON result the dots go to standard error.",
        deviation: JUNK,
        example: "-P1000",
        apply: apply::progress,
        ..OUTPUT_PLAIN
    },
    Flag {
        name: "R",
        form: "-R[p|s]<text|xml|json>",
        default: "-Rtext",
        limits: "p or s alone mean text; -Rs stands alone",
        short: "form of the result; p: only show the resolved profile, s: only the system",
        long: "The result goes to standard output as text, as XML or as JSON. With p nothing \
               runs and no target is touched: the profile is checked and shown in that form. With s \
               nothing runs either: the host, its processors and their caches are shown.",
        here: "json is an addition of this tool.",
        first_pass: true,
        example: "-Rxml",
        apply: apply::format,
        ..OUTPUT_PLAIN
    },
    Flag {
        name: "v",
        form: "-v[s]",
        limits: "nothing or s",
        short: "verbose; s: statistics of how threads waited",
        long: "-v tells each step of the run. -vs adds a section with statistics of how threads waited.",
        here: "With an XML or JSON result the steps go to standard error.",
        first_pass: true,
        example: "-v",
        apply: apply::verbose,
        ..OUTPUT_PLAIN
    },
    Flag {
        name: "X",
        form: "-X<file>",
        unit: "path",
        default: "no profile file",
        limits: "once; besides it only -v -z -R -W -d -C -: and targets",
        short: "take the profile from an XML file; targets replace *1, *2, ...",
        long: "Runs a profile with any number of time spans and targets. The n-th target on the \
               command line replaces the target *n of the profile.",
        deviation: "DiskSpd drops a time span that it cannot read if a later one is fine; here \
                    the whole profile is refused.",
        first_pass: true,
        example: "-Xprofile.xml",
        apply: apply::profile_file,
        ..OUTPUT_PLAIN
    },
    Flag {
        name: ":",
        form: "-:<flags>",
        unit: "bit mask",
        default: "0",
        short: "experiment flags",
        long: "1 lets DiskSpd's rate limiter sleep for more than a millisecond; rates are always \
               exact here, so that no flag changes anything.",
        deviation: JUNK,
        first_pass: true,
        example: "-:1",
        apply: apply::experiments,
        ..OUTPUT_PLAIN
    },
    Flag {
        name: "?",
        form: "-?",
        short: "show this text",
        long: "Shows the usage and ends with exit code 0.",
        example: "-?",
        apply: apply::usage,
        ..OUTPUT_PLAIN
    },
];

/// Other processes and the kernel.
pub const SYSTEM: &[Flag] = &[
    Flag {
        name: "ys",
        form: "-ys<event>",
        unit: "event name",
        default: "no event",
        short: "signal this event when the run starts",
        long: "Another process can wait for the event.",
        here: "The event is shared by the processes of one user, and lives as long as one of them uses it.",
        deviation: "DiskSpd creates the event and never signals it.",
        example: "-ysstarted",
        apply: apply::event_start,
        ..SYSTEM_PLAIN
    },
    Flag {
        name: "yf",
        form: "-yf<event>",
        unit: "event name",
        default: "no event",
        short: "signal this event when the run has finished",
        long: "Another process can wait for the event.",
        here: "The event is shared by the processes of one user, and lives as long as one of them uses it.",
        deviation: "DiskSpd creates the event and never signals it.",
        example: "-yfdone",
        apply: apply::event_finish,
        ..SYSTEM_PLAIN
    },
    Flag {
        name: "yr",
        form: "-yr<event>",
        unit: "event name",
        default: "no event",
        short: "wait for this event before the run starts",
        long: "The run begins when another process signals the event.",
        here: "The event is shared by the processes of one user, and lives as long as one of them uses it.",
        example: "-yrgo",
        apply: apply::event_wait,
        ..SYSTEM_PLAIN
    },
    Flag {
        name: "yp",
        form: "-yp<event>",
        unit: "event name",
        default: "no event",
        short: "end the run when this event is signalled",
        long: "Another process can end the run early.",
        here: "The event is shared by the processes of one user, and lives as long as one of them uses it.",
        example: "-ypstop",
        apply: apply::event_stop,
        ..SYSTEM_PLAIN
    },
    Flag {
        name: "ye",
        form: "-ye<event>",
        unit: "event name",
        default: "no event",
        short: "signal this event and quit",
        long: "Nothing runs. It is an error if nobody has created the event.",
        here: "The event is shared by the processes of one user, and lives as long as one of them uses it.",
        example: "-yego",
        apply: apply::event_signal,
        ..SYSTEM_PLAIN
    },
    Flag {
        name: "e",
        form: "-e<q|c|s|p> | -e<PROCESS|THREAD|IMAGE_LOAD|DISK_IO|MEMORY_PAGE_FAULTS|\
               MEMORY_HARD_FAULTS|NETWORK|REGISTRY>",
        unit: "events",
        default: "nothing is counted",
        limits: "one letter or one name; repeatable",
        short: "count kernel events: what is counted, and by which clock",
        long: "The names choose what is counted on the whole system during the measured time; q, c \
               and s choose the clock that tells for how long (performance counter, cycle counter, \
               system time), p paged buffers. Of several clocks c wins over s, and s over q.",
        here: "Most counts are differences of counters that the kernel keeps anyway. PROCESS and \
               IMAGE_LOAD, and the disconnects of NETWORK, need perf events of the whole system: \
               CAP_PERFMON or kernel.perf_event_paranoid of 0, and for PROCESS and disconnects a \
               tracefs that can be read. Where they are missing, PROCESS and IMAGE_LOAD are refused \
               before the run. Linux tells hard page faults and soft ones, and no kinds of the \
               latter. There is no registry, and nothing that p could page out. The clocks are the \
               monotonic one, the processor's cycle counter and the coarse monotonic one. The result \
               says where each count comes from; see docs/kernel-events.md.",
        deviation: "DiskSpd shows the start and the end of processes as those of threads. Its \
                    statistics of trace buffers are left out: counters have none.",
        example: "-eDISK_IO",
        apply: apply::tracing,
        ..SYSTEM_PLAIN
    },
];

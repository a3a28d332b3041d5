//! Options that `DiskSpd` lacks. A catalogue: every entry has the same shape.

use super::apply;
use super::{Category, Flag, PLAIN};
use crate::request::Arrivals;

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
               the findings are reported as JSON by schema/doctor.schema.json.",
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
        written: |options| options.engine.map(|engine| format!("--engine={}", engine.name())),
        ..LONG
    },
    Flag {
        name: "-connections",
        form: "--connections=<count>",
        unit: "connections",
        default: "1",
        limits: "1 to 1024; for targets over the network only",
        short: "connections of each thread to each of its targets over the network",
        long: "A thread shares no connection with another one. With more than one, its outstanding I/Os are \
               spread evenly over them. The result says how many connections there were. \
               docs/targets/network.md has the details.",
        example: "--connections=4",
        apply: apply::connections,
        written: |options| options.connections.map(|count| format!("--connections={count}")),
        ..LONG
    },
    Flag {
        name: "-credentials",
        form: "--credentials=<file>",
        unit: "path",
        default: "the file that FATHOM_CREDENTIALS names, else FATHOM_USER and FATHOM_PASSWORD",
        limits: "a file that only its owner may read (mode 0600)",
        short: "user and password for targets over the network",
        long: "In the format of mount.cifs: lines with username=, password= and domain=, for SMB and for \
               iSCSI with CHAP; for mutual CHAP also target_username= and target_password=. No password \
               is taken on the command line or in an address, and none stands in any output. At a \
               terminal, the password is prompted for where a server wants one and none was given.",
        is_for_one_run: true,
        example: "--credentials=/root/nas.credentials",
        apply: apply::credentials,
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
        written: |options| options.total_iops.map(|rate| format!("--rate={rate}")),
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
        written: |options| {
            (options.arrivals == Arrivals::Poisson).then(|| "--arrivals=poisson".to_owned())
        },
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
        written: |options| options.skew.map(|skew| format!("--skew={skew}")),
        ..LONG
    },
    Flag {
        name: "-verify",
        form: "--verify",
        limits: "block size, alignment, stride, base and thread stride must be multiples of 512 bytes; at \
                 most 4095 I/Os outstanding on a target over all threads; not with --engine=null",
        short: "stamp what is written, and check what is read",
        long: "Each sector of 512 bytes that is written carries a stamp of 48 bytes: target, offset, how \
               many times its block was written, the run, and a CRC32C of the sector. The rest of it is \
               the write data as -Z gives them. Each read is checked against what was written where; \
               corrupt, misdirected, stale and torn blocks are counted, and the first 20 told with \
               target and offset. A block that is read while a write of it is in flight may hold the \
               data before or after it. What this run has not written is checked as far as it carries \
               the stamps of an earlier run, and counted as not verifiable otherwise. A fault gives exit \
               code 4. docs/verification.md has the details and the cost.",
        example: "--verify",
        apply: apply::verify,
        written: |options| {
            (options.verify && options.verify_journal.is_none()).then(|| "--verify".to_owned())
        },
        ..LONG
    },
    Flag {
        name: "-verify-journal",
        form: "--verify-journal=<file>",
        unit: "path",
        default: "<result>.verify-journal beside the file of --json; without one, \
                  <target>.verify-journal in the working folder, after the first target",
        limits: "a path; a file that is no journal, and the journal of a run that did not end, are left \
                 alone",
        short: "where --verify keeps what was written; implies --verify",
        long: "The journal says which writes may stand in each block, at every instant: it outlives a run \
               that is killed. It takes 8 bytes per block of the target's range, and is kept after the \
               run.",
        example: "--verify-journal=run.journal",
        apply: apply::verify_journal,
        written: |options| {
            let journal = options.verify_journal.as_ref();
            journal.map(|path| format!("--verify-journal={}", path.display()))
        },
        ..LONG
    },
    Flag {
        name: "-verify-only",
        form: "--verify-only=<journal>",
        unit: "path",
        default: "a run",
        limits: "the journal of a run that has ended or was killed; beside it only -R, --json, \
                 --io-timeout and targets",
        short: "verify the targets of a journal instead of a run",
        long: "Reads all that the journal is about, in order and in large pieces, past the page cache \
               where possible, and reports as --verify does. Blocks whose writes were in flight when the \
               run was killed may hold the data before or after them; all else must be what was written \
               last. Targets that have moved are named behind, in the order of the journal.",
        example: "--verify-only=run.journal",
        apply: apply::verify_only,
        ..LONG
    },
    Flag {
        name: "-live",
        form: "--live[=json]",
        short: "show the figures of each second while the run is under way",
        long: "One line a second on standard error: IOPS, MiB/s, latency percentiles, and the I/Os \
               in flight. Warm-up and cool-down are shown too. With =json, each event of the run is a \
               line of JSON, for other programs: the figures of each second with the histogram of their \
               latency, of all targets together and, of 2 to 16, of each.",
        is_for_one_run: true,
        example: "--live=json",
        apply: apply::live,
        ..LONG
    },
    Flag {
        name: "-lease",
        form: "--lease=<seconds>",
        unit: "seconds",
        default: "the run needs no renewal",
        limits: "1 or more",
        short: "end the run unless a line on standard input renews it so often",
        long: "For a run that another program drives: should that die, hang, or lose its connection, no load \
               goes on without it. Each line on standard input renews the lease, whatever it says. Files \
               that were being made, and marks, are left as by Ctrl-C, and so is the exit code, 130; the \
               result says in `ended_by` and in a warning that the lease ended it. The first lease begins \
               with the run, and preparing counts.",
        is_for_one_run: true,
        example: "--lease=10",
        apply: apply::lease,
        ..LONG
    },
    Flag {
        name: "-interval-latency",
        form: "--interval-latency",
        short: "count the I/Os of each interval by their latency, for heat maps over time",
        long: "Needs -L and -D. Each interval of the series keeps how many I/Os took how long, in four \
               fields for each power of two; the JSON result has them. It takes 416 bytes for each \
               interval, thread, target and direction.",
        example: "-L -D100 --interval-latency",
        apply: apply::interval_latency,
        written: |options| options.interval_latency.then(|| "--interval-latency".to_owned()),
        ..LONG
    },
    Flag {
        name: "-overwrite",
        form: "--overwrite",
        short: "write targets although they hold data of others",
        long: "Without it a file is neither truncated nor written unless it is empty (zeros, holes) \
               or holds nothing but data that diskspd or fathom made; nor is a device on which a \
               file system, a volume, a partition table or a document is found. What is in use \
               stays refused.",
        is_permission: true,
        example: "--overwrite",
        apply: apply::overwrite,
        ..LONG
    },
    Flag {
        name: "-remove-created",
        form: "--remove-created",
        short: "remove the files that this run has made (-c) when it ends",
        long: "Also after Ctrl-C, and after a run that failed. A file that was there before stays, even one \
               whose data were made again, and so does every device. A file that another one has replaced \
               meanwhile stays, and that is reported. The second Ctrl-C, which leaves at once, removes \
               nothing, nor does a run whose I/Os have not come back.",
        example: "--remove-created",
        apply: apply::remove_created,
        written: |options| options.remove_created.then(|| "--remove-created".to_owned()),
        ..LONG
    },
    Flag {
        name: "-allow-write",
        form: "--allow-write=<serial|wwn|path:size>",
        unit: "what is written on the device",
        default: "no block device is written",
        limits: "may be given several times; devices that are in use stay refused",
        short: "the block device with this serial number or name may be written",
        long: "A block device is written only if it is named by its serial number or world-wide name; a \
               partition by that of its disk with -part and its number. A device that has neither is named \
               by its path and its size in bytes, as /dev/loop3:1073741824. The refusal of a run without it \
               tells the word that is needed, and on a terminal asks for it. docs/data-safety.md tells what \
               is checked besides.",
        is_permission: true,
        example: "--allow-write=S4EWNX0R123456",
        apply: apply::allow_write,
        ..LONG
    },
    Flag {
        name: "-protect",
        form: "--protect=<path>",
        unit: "path",
        default: "the root and /boot only",
        limits: "must be there; may be given several times",
        short: "never write this file, folder or device, nor what holds it",
        long: "What must outlive the test, such as the store of its results. Of a folder it means all below \
               it, by whatever name: through links, bind mounts, overlays and loop devices, and what is \
               mounted there. Of a device it means its partitions, the disk that it lies on, the volumes on \
               it, and the files of file systems that lie on it. A file with several hard links is \
               refused in a file system that has a protected folder, as one of its names may lie there. No \
               other option overrides it. The stores of this user are protected by themselves.",
        is_for_one_run: true,
        example: "--protect=results.sqlite",
        apply: apply::protect,
        ..LONG
    },
    Flag {
        name: "-strict",
        form: "--strict",
        short: "refuse to write where it cannot be seen who else uses the target",
        long: "Who uses a target is asked of /proc and of the kernel. Where that is not the whole truth, the \
               run says so and goes on: in a PID namespace of its own, with processes of other accounts, for \
               files on FUSE and network file systems, and for overlays whose layers are out of reach. With \
               this option it is refused instead.",
        is_for_one_run: true,
        example: "--strict",
        apply: apply::strict,
        ..LONG
    },
    Flag {
        name: "-explain",
        form: "--explain",
        limits: "not with -Rxml, -Rp and --verify-only",
        short: "tell what a run would do, and whether it may; do nothing",
        long: "Lists each target with its real path, device and size, what would be created, how many \
               bytes would be written at most and how much of a drive's life that is, as far as it can \
               be told, the time that it takes, and what the guard says of each target. Nothing is \
               created or written. The exit code is 0 if the run would go ahead, and 2 if it would be \
               refused. With -Rjson, or --json=<file>, it is reported as JSON by schema/explain.schema.json. A profile \
               (-X) whose results are XML is explained as text.",
        is_for_one_run: true,
        example: "--explain",
        apply: apply::explain,
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
               schema/result.schema.json. The file may not be there yet, or hold a result of this \
               tool; any other is replaced only with --overwrite, and a target or a block device never.",
        is_for_one_run: true,
        example: "--json=result.json",
        apply: apply::json_file,
        ..LONG
    },
];

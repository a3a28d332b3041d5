//! Mixed operations, from the command line to the recorder of the simulated device.

use std::collections::BTreeMap;
use std::path::Path;

use fathom_core::dialect::diskspd::parse::{Invocation, Outside, RunCommand, parse};
use fathom_core::engine::backend::{Operation, SimDevice, Transfer};
use fathom_core::engine::simulate::{Simulation, simulate};
use fathom_core::measure::StopCause;
use fathom_core::plan::facts::{EngineAvailability, gather};
use fathom_core::plan::resolve::resolve;
use fathom_core::plan::{Plan, SpanPlan};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The plan of a command line on a target that need not exist.
fn planned(args: &str) -> Result<Plan, String> {
    let line = format!("--engine=null -n -W0 -d1 -L {args} /nonexistent/x.dat");
    let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let read_file = |_: &Path| Err(std::io::Error::other("no file is read here"));
    let outside = Outside { read_file: &read_file, fresh_seed: 1 };
    let Invocation::Run(command) = parse(&args, &outside).map_err(|error| error.to_string())?
    else {
        return Err("no run".to_owned());
    };
    let works = || Ok(());
    let engines = EngineAvailability { uring: works(), aio: works(), uring_discard: works() };
    let facts = gather(command.job.profile(), engines, &|_| {});
    let resolved = resolve(command.job.profile(), &command.job.options(), &facts);
    resolved.map(|resolved| resolved.plan).map_err(|error| error.to_string())
}

fn span(args: &str) -> SpanPlan {
    planned(args).unwrap().spans.remove(0)
}

fn run(args: &str) -> Simulation {
    let device = SimDevice { latency_ns: 10_000, ..SimDevice::default() };
    simulate(&span(args), &device).unwrap()
}

/// What each thread submitted, in order.
fn transfers(args: &str) -> Vec<Vec<Transfer>> {
    let thread = |records: Vec<fathom_core::engine::backend::SimRecord>| {
        records.into_iter().map(|record| record.transfer).collect()
    };
    run(args).records.into_iter().map(thread).collect()
}

fn of(thread: &[Transfer], operation: Operation) -> Vec<Transfer> {
    thread.iter().filter(|transfer| transfer.operation == operation).copied().collect()
}

fn share(part: usize, all: usize) -> f64 {
    part as f64 * 100.0 / all as f64
}

#[test]
fn an_exact_ratio_is_right_after_every_io_and_a_drawn_one_is_not() {
    for (ratio, is_exact) in [("exact", true), ("drawn", false)] {
        let threads = transfers(&format!("-b4K -r -w30 -o4 -t2 -f16M --ratio={ratio}"));
        assert_eq!(threads.len(), 2);
        for thread in threads {
            let mut writes = 0_usize;
            let mut greatest = 0.0_f64;
            for (ios, transfer) in (1_u32..).zip(&thread) {
                writes += usize::from(transfer.operation == Operation::Write);
                greatest = greatest.max((writes as f64 - f64::from(ios) * 0.3).abs());
            }
            assert!(thread.len() > 300_000, "{}", thread.len());
            assert_eq!(greatest < 1.0, is_exact, "{ratio}: {greatest}");
            assert!((share(writes, thread.len()) - 30.0).abs() < 0.5);
        }
    }
}

#[test]
fn random_reads_go_with_sequential_log_writes() {
    let log = "--write-pattern=sequential,block=64K,range=0:8M";
    let reads = "--read-pattern=random,block=4K,range=8M";
    let thread = transfers(&format!("-w25 -o8 -f32M {log} {reads}")).remove(0);
    let (read, written) = (of(&thread, Operation::Read), of(&thread, Operation::Write));
    // Patterns keep the ratio exactly.
    assert!((written.len() as f64 - thread.len() as f64 * 0.25).abs() < 1.0);
    for (index, write) in (0_u64..).zip(&written) {
        assert_eq!((write.offset_bytes, write.bytes), (index * 64 * KIB % (8 * MIB), 64 << 10));
    }
    let places: std::collections::BTreeSet<u64> = read.iter().map(|one| one.offset_bytes).collect();
    assert!(read.iter().all(|one| one.bytes == 4096 && one.offset_bytes.is_multiple_of(4096)));
    assert!(places.first() >= Some(&(8 * MIB)) && places.last() < Some(&(32 * MIB)));
    // 24 MiB have 6144 blocks, and chance leaves hardly one of them out.
    assert!(places.len() > 6_100, "{}", places.len());
    let ascending = read.windows(2).filter(|pair| pair[0].offset_bytes < pair[1].offset_bytes);
    let ascending = share(ascending.count(), read.len());
    assert!((ascending - 50.0).abs() < 2.0, "{ascending}");
}

#[test]
fn a_direction_without_a_pattern_keeps_the_order_of_all() {
    let thread = transfers("-b4K -r -w50 -o1 -f1M --write-pattern=sequential,align=8K").remove(0);
    let written = of(&thread, Operation::Write);
    for (index, write) in (0_u64..).zip(&written) {
        assert_eq!(write.offset_bytes, index * 8 * KIB % MIB);
    }
    let read = of(&thread, Operation::Read);
    let onward = read.windows(2).filter(|pair| pair[0].offset_bytes + 4096 == pair[1].offset_bytes);
    assert!(onward.count() < read.len() / 50);
}

#[test]
fn threads_share_an_interlocked_log_and_start_a_stride_apart_otherwise() {
    let interlocked = "-b4K -w100 -t3 -o1 -f64M --write-pattern=interlocked";
    let threads = transfers(interlocked);
    let mut offsets: Vec<u64> =
        threads.iter().flatten().map(|transfer| transfer.offset_bytes).collect();
    offsets.sort_unstable();
    let expected: Vec<u64> =
        (0..offsets.len() as u64).map(|index| index * 4096 % (64 * MIB)).collect();
    let mut expected = expected;
    expected.sort_unstable();
    assert_eq!(offsets, expected);
    let strided = "-b4K -w100 -T1M -t3 -o1 -f64M --write-pattern=sequential,range=2M:32M";
    let starts: Vec<u64> = transfers(strided).iter().map(|one| one[0].offset_bytes).collect();
    assert_eq!(starts, [2 * MIB, 3 * MIB, 4 * MIB]);
}

/// Shares of sizes in percent.
fn sizes(transfers: &[Transfer]) -> BTreeMap<u32, f64> {
    let mut counts = BTreeMap::<u32, usize>::new();
    for transfer in transfers {
        *counts.entry(transfer.bytes).or_default() += 1;
    }
    counts.into_iter().map(|(bytes, count)| (bytes, share(count, transfers.len()))).collect()
}

#[test]
fn block_sizes_have_their_shares_and_stay_in_their_range() {
    let mix = "--block-mix=4K:60,8K:30,64K:10";
    for order in ["-r", "-s", "-rs40", "-r --skew=zipf:1.1", "-r16K", "-s96K"] {
        let line = format!("-w20 -o4 -B1M:9M {order} {mix}");
        let thread = transfers(&line).remove(0);
        assert!(thread.len() > 300_000, "{}", thread.len());
        let shares = sizes(&thread);
        for (bytes, percent) in [(4096, 60.0), (8192, 30.0), (65_536, 10.0)] {
            let found = shares[&bytes];
            assert!((found - percent).abs() < 0.5, "{order}: {bytes} {found}");
        }
        let alignment = |transfer: &Transfer| match order {
            "-r16K" => 16 * KIB,
            "-r" | "-r --skew=zipf:1.1" => u64::from(transfer.bytes),
            _ => 4 * KIB,
        };
        for transfer in &thread {
            let end = transfer.offset_bytes + u64::from(transfer.bytes);
            assert!(transfer.offset_bytes >= MIB && end <= 10 * MIB, "{order}: {transfer:?}");
            assert!((transfer.offset_bytes - MIB).is_multiple_of(alignment(transfer)), "{order}");
        }
    }
}

#[test]
fn sequential_ios_of_several_sizes_touch_each_other() {
    let thread = transfers("-s -o1 -f4M --block-mix=4K:50,12K:50").remove(0);
    let mut wraps = 0;
    for pair in thread.windows(2) {
        let end = pair[0].offset_bytes + u64::from(pair[0].bytes);
        let wrapped = pair[1].offset_bytes == 0 && end + 12 * KIB > 4 * MIB;
        wraps += usize::from(wrapped);
        assert!(wrapped || pair[1].offset_bytes == end);
    }
    assert!(wraps > 100);
}

#[test]
fn each_direction_can_have_sizes_of_its_own() {
    let mixes = "--block-mix=4K:100 --read-block-mix=8K:25,16K:75 --write-block-mix=512:50,1K:50";
    let thread = transfers(&format!("-r -w40 -o4 -f8M {mixes}")).remove(0);
    let read = sizes(&of(&thread, Operation::Read));
    let written = sizes(&of(&thread, Operation::Write));
    assert!((read[&8192] - 25.0).abs() < 0.5 && (read[&16_384] - 75.0).abs() < 0.5, "{read:?}");
    assert!((written[&512] - 50.0).abs() < 0.5 && written.len() == 2, "{written:?}");
}

#[test]
fn a_rate_in_bytes_holds_for_the_mean_size() {
    // 4096 bytes at 60 %, 16384 at 40 %: 9011.2 bytes on average, at 10,000,000 a second.
    let thread = transfers("-r -o8 -f64M -g10000 --block-mix=4K:60,16K:40").remove(0);
    assert!(thread.len().abs_diff(1_110) <= 1, "{}", thread.len());
}

#[test]
fn a_sync_follows_every_so_many_writes_of_a_thread() {
    for (option, operation) in [("fsync", Operation::Fsync), ("fdatasync", Operation::Fdatasync)] {
        let threads = transfers(&format!("-b4K -r -w50 -o4 -t2 -f8M --{option}=7"));
        for thread in threads {
            let mut writes = 0;
            let mut syncs = 0;
            for transfer in &thread {
                match transfer.operation {
                    Operation::Write => writes += 1,
                    one if one == operation => {
                        assert_eq!((writes, transfer.offset_bytes, transfer.bytes), (7, 0, 0));
                        (writes, syncs) = (0, syncs + 1);
                    }
                    other => assert_eq!(other, Operation::Read),
                }
                // Nothing comes between the seventh write and its sync.
                assert!(writes < 7 || transfer.operation == Operation::Write);
            }
            assert!(syncs > 20_000, "{syncs}");
        }
    }
}

#[test]
fn syncs_take_no_place_in_a_schedule_and_are_counted_apart() {
    let simulation = run("-b4K -r -w100 -o4 -f8M -g1000i --fsync=10");
    let statistics = &simulation.measurements.threads[0].targets[0];
    assert_eq!((statistics.write.ios, statistics.read.ios), (1_000, 0));
    assert!(statistics.sync.ios.abs_diff(100) <= 1, "{}", statistics.sync.ios);
    assert_eq!(statistics.sync.bytes, 0);
    let latency = statistics.sync.latency.as_ref().unwrap();
    assert_eq!((latency.count(), latency.max_ns()), (statistics.sync.ios, 10_000));
    assert!(statistics.sync.response.is_none() && statistics.write.response.is_some());
}

#[test]
fn trims_have_their_share_and_are_counted_apart() {
    let simulation = run("-b8K -r -w50 -o4 -f8M --trim=10 --ratio=exact");
    let statistics = &simulation.measurements.threads[0].targets[0];
    let all = statistics.read.ios + statistics.write.ios + statistics.trim.ios;
    let expected = |part: f64| all as f64 * part;
    // The last I/Os are still in flight when time is up.
    assert!((statistics.trim.ios as f64 - expected(0.1)).abs() < 6.0);
    assert!((statistics.write.ios as f64 - expected(0.45)).abs() < 6.0);
    assert_eq!(statistics.trim.bytes, statistics.trim.ios * 8 * KIB);
    assert_eq!(statistics.trim.short_ios, 0);
    let trims = of(&transfers("-b8K -r -w50 -f8M --trim=10")[0], Operation::Trim);
    assert!(trims.iter().all(|one| one.bytes == 8192 && one.offset_bytes.is_multiple_of(8 * KIB)));
    let all: Vec<_> = transfers("-b8K -s -w0 -f8M -o1 --trim=100").remove(0);
    assert!(all.iter().all(|one| one.operation == Operation::Trim));
    assert!((0_u64..).zip(&all).all(|(i, one)| one.offset_bytes == i * 8 * KIB % (8 * MIB)));
}

/// What a rule counts is what the total of the result holds: a load of trims has none of it, and is refused.
#[test]
fn a_rule_that_counts_ios_counts_reads_and_writes_and_no_trims() {
    for trims in [10, 90, 99] {
        let args = format!("-b8K -r -w50 -o4 -t2 -f8M --trim={trims} --stop-ios=1000");
        let simulation = run(&args);
        let stop = simulation.measurements.stop.as_ref().expect("there is a rule");
        assert_eq!(stop.cause, StopCause::Ios, "{trims} %");
        let threads = simulation.measurements.threads.iter();
        let statistics: Vec<_> = threads.map(|thread| &thread.targets[0]).collect();
        let counted: u64 = statistics.iter().map(|book| book.read.ios + book.write.ios).sum();
        assert_eq!(counted, 1_000, "{trims} %");
        assert!(statistics.iter().map(|book| book.trim.ios).sum::<u64>() > 50, "{trims} %");
    }
}

#[test]
fn a_run_of_sequential_io_keeps_its_kind_while_shares_are_drawn() {
    let thread = transfers("-b4K -rs20 -w50 -o1 -f64M --fsync=1000000").remove(0);
    let pairs = thread
        .windows(2)
        .filter(|pair| pair[0].operation.moves_bytes() && pair[1].operation.moves_bytes());
    let (mut onward, mut changed) = (0_usize, 0_usize);
    for pair in pairs {
        if pair[0].offset_bytes + 4096 == pair[1].offset_bytes {
            onward += 1;
            changed += usize::from(pair[0].operation != pair[1].operation);
        }
    }
    // One in 16384 random places is the next one by chance.
    assert!((share(onward, thread.len()) - 80.0).abs() < 1.0 && changed < 20, "{onward} {changed}");
    let writes = of(&thread, Operation::Write).len();
    assert!((share(writes, thread.len()) - 50.0).abs() < 2.0);
}

#[test]
fn shared_slots_serve_mixed_operations() {
    let line = "-b4K -r -w50 -F2 -O8 -f8M --fsync=10 --trim=10 --block-mix=4K:50,64K:50";
    for thread in transfers(line) {
        assert!(of(&thread, Operation::Fsync).len() > 1_000);
        assert!((share(of(&thread, Operation::Trim).len(), thread.len()) - 10.0).abs() < 1.0);
        assert_eq!(sizes(&of(&thread, Operation::Write)).len(), 2);
    }
}

/// The request of a command line with this profile in its only file.
fn request(args: &str, profile: &str) -> RunCommand {
    let args: Vec<String> = args.split_whitespace().map(str::to_owned).collect();
    let read_file = |_: &Path| Ok(profile.as_bytes().to_vec());
    let outside = Outside { read_file: &read_file, fresh_seed: 1 };
    match parse(&args, &outside) {
        Ok(Invocation::Run(command)) => *command,
        other => panic!("{args:?}: {other:?}"),
    }
}

#[test]
fn settings_survive_a_profile_and_long_options_override_it() {
    let options = "-b8K -r -w40 --ratio=drawn --read-pattern=random,align=4K,range=1M \
                   --write-pattern=sequential,block=64K,range=0:1M --read-block-mix=4K:50,8K:50 \
                   --fdatasync=9 --trim=3 --compress=40 --dedupe=20";
    let asked = request(&format!("{options} t.dat"), "");
    let xml = fathom_core::dialect::diskspd::profile_xml::write(&asked.job.request.profile);
    let read = request("-Xp.xml", &xml);
    assert_eq!(read.job.request.profile, asked.job.request.profile);
    let changed = request("-Xp.xml --trim=7 --block-mix=4K:100", &xml);
    let extensions = &changed.job.request.profile.time_spans[0].targets[0].extensions;
    let before = &asked.job.request.profile.time_spans[0].targets[0].extensions;
    assert_eq!((extensions.trim_percent, extensions.block_mix.len()), (Some(7), 1));
    assert_eq!((extensions.sync, extensions.dedupe_percent), (before.sync, Some(20)));
    let text =
        fathom_core::dialect::diskspd::profile_text::write(&asked.job.request.profile, "diskspd");
    for words in [
        "pattern of writes: sequential, block size 64KiB, range 0 - 1MiB",
        "block sizes of reads: 50% 4KiB, 50% 8KiB",
        "shares of operations: drawn",
        "fdatasync behind every 9 writes",
        "trims: 3% of I/Os",
        "write data: 40% compressible",
        "write data: 20% repeated",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn what_does_not_fit_is_refused_before_anything_runs() {
    for (line, word) in [
        ("-f1M --read-pattern=random,range=2M", "do not fit"),
        ("-f1M -w50 --write-pattern=sequential,range=1020K:4K", "do not fit"),
        ("-f1M --block-mix=4K:50,2M:50", "too small"),
        ("-f1M --engine=aio --trim=5", "libaio"),
        ("-f1M --fsync=5", "need writes"),
        ("-f1M -w50 --compress=20 -Zr", "leave -Z out"),
        ("-f1M -si --block-mix=4K:50,8K:50", "share one walk"),
    ] {
        let error = planned(line).unwrap_err();
        assert!(error.contains(word), "{line}: {error}");
    }
}

/// As for a load without a mix (`offsets.rs`): the first stretch in order was of reads.
#[test]
fn a_mix_of_writes_began_with_reads_where_it_began_in_order() {
    for seed in 1..20 {
        let mixed = format!("-rs5 -w100 -o1 -f64M --block-mix=4K:50,8K:50 -z{seed}");
        let thread = transfers(&mixed).swap_remove(0);
        assert_eq!(of(&thread, Operation::Write).len(), thread.len(), "{seed}");
    }
}

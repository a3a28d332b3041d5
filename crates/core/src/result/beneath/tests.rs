//! Where figures come from, on machines made of files whose counters a load changes.

mod cached;
mod copies;
mod few;
mod small;
mod together;
mod trims;

use std::path::Path;

use super::AnsweredBy;
use crate::beneath::Observation;
use crate::beneath::fake::Fake;
use crate::guard::fixture::{span, target, thread};
use crate::measure::{
    BackendDescription, DirectionRecord, Ending, SpanMeasurements, TargetRecord,
    ThreadMeasurements, WaitCounters,
};
use crate::plan::{EngineKind, Plan, SpanPlan, TargetKind};
use crate::request::Request;
use crate::result::assemble::{Provenance, assemble};
use crate::result::{Beneath, Host, RunResult, WarningKind, warnings};
use crate::units::MIB;

const READS: u64 = 10_000;
const BYTES: u64 = READS * 4096;

fn plan(paths: &[&str]) -> SpanPlan {
    let targets = paths.iter().map(|path| {
        let mut target = target(Path::new(path), 0);
        target.open.direct = true;
        let is_device = path.starts_with("/dev/");
        target.kind = if is_device { TargetKind::BlockDevice } else { TargetKind::File };
        target
    });
    let mut span = span(targets.collect());
    let mut all = thread(0, EngineKind::Uring, 0);
    all.assignments = (0..paths.len())
        .map(|target| crate::plan::Assignment { target, ..all.assignments[0].clone() })
        .collect();
    span.threads = vec![all];
    span
}

/// The result of a load of this many reads or writes of 4 KiB on each target.
fn result(span: &SpanPlan, observed: Observation, each: &[(u64, u64)]) -> RunResult {
    let direction = |ios| DirectionRecord { ios, bytes: ios * 4096, ..DirectionRecord::default() };
    let record = |&(reads, writes): &(u64, u64)| TargetRecord {
        read: direction(reads),
        write: direction(writes),
        ..TargetRecord::default()
    };
    result_of(span, observed, each.iter().map(record).collect())
}

/// The result of a load of which this was recorded on each target.
fn result_of(span: &SpanPlan, observed: Observation, targets: Vec<TargetRecord>) -> RunResult {
    let thread = ThreadMeasurements {
        index: 0,
        targets,
        waits: WaitCounters::default(),
        backend: BackendDescription { name: "io_uring".to_owned(), ..Default::default() },
        cpu_ns: 0,
        user_cpu_ns: 0,
        cpu_waited_ns: None,
        slots: crate::measure::Slots::default(),
        migrated: None,
    };
    let measured = SpanMeasurements {
        measured_ns: 1,
        beneath: Some(observed),
        threads: vec![thread],
        ..SpanMeasurements::nothing(Ending::Complete)
    };
    let provenance =
        Provenance { command_line: String::new(), started_at_unix_s: 0, host: Host::default() };
    let mut result = assemble(provenance, &Request::default(), vec![(span, measured)]);
    let plan = Plan { spans: vec![span.clone()], ..Plan::default() };
    result.warnings = warnings::after(&plan, &result, &[]);
    result
}

fn beneath(result: &RunResult) -> &Beneath {
    result.time_spans[0].beneath.as_ref().expect("a look beneath")
}

/// What is said of one target on which there were only reads.
fn reads(fake: &Fake, path: &str, load: impl FnOnce(&Fake)) -> (AnsweredBy, String) {
    let span = plan(&[path]);
    let result = result(&span, fake.observe(&span, load), &[(READS, 0)]);
    let origin = &beneath(&result).targets[0];
    let is_told = result.warnings.iter().any(|one| {
        use WarningKind::{DeviceUnseen, NotTheDevice, ServerAnswered};
        matches!(one.kind, NotTheDevice | DeviceUnseen | ServerAnswered)
    });
    assert_eq!(is_told, !origin.answered_by.is_device(), "{}", origin.sentence);
    (origin.answered_by, origin.sentence.clone())
}

#[test]
fn reads_that_reach_the_disk_are_told_as_such() {
    let fake = Fake::new();
    let (answered_by, sentence) = reads(&fake, "/dev/sdb", |fake| {
        fake.counts("sdb", [READS, BYTES, 0, 0]);
        fake.fetched(BYTES);
    });
    assert_eq!(answered_by, AnsweredBy::Device);
    assert_eq!(sentence, "all of 10,000 reads (39.1 MiB) reached sdb");
}

#[test]
fn a_loop_device_over_a_cached_file_is_told_by_the_disk_below() {
    let fake = Fake::new();
    fake.write("a.img", "x");
    fake.loop_over(2, "/a.img", false);
    let (answered_by, sentence) = reads(&fake, "/dev/loop2", |fake| {
        fake.counts("loop2", [READS, BYTES, 0, 0]);
        fake.counts("sda", [7, 28_672, 0, 0]);
        fake.fetched(BYTES);
    });
    assert_eq!(answered_by, AnsweredBy::AboveDevice);
    let expected = "of 10,000 reads (39.1 MiB), 7 (28 KiB) reached sda; the loop device loop2, over \
                    /a.img, through the page cache saw them";
    assert_eq!(sentence, expected);
}

/// Beside "end in the page cache, and reach the device at some later time" stood "all of 72 writes reached
/// vda", because others wrote to the disk meanwhile.
#[test]
fn writes_that_end_in_the_page_cache_are_not_said_to_have_reached_the_device() {
    let fake = Fake::new();
    let said = |change: &dyn Fn(&mut crate::plan::TargetPlan), reads, writes, written| {
        let mut span = plan(&["/x.dat"]);
        span.targets[0].open.write = true;
        change(&mut span.targets[0]);
        fake.counts("sda", [0; 4]);
        fake.fetched(0);
        let observed = fake.observe(&span, |fake| {
            fake.counts("sda", [reads, reads * 4096, 500, written]);
            fake.fetched(reads * 4096);
        });
        let result = result(&span, observed, &[(reads, writes)]);
        let origin = &beneath(&result).targets[0];
        (origin.answered_by, origin.sentence.clone())
    };
    let open = "whether 1 write (4 KiB) reached sda cannot be told: they end in the page cache, and sda saw \
                500 MiB of everybody";
    let cached = |target: &mut crate::plan::TargetPlan| target.open.direct = false;
    assert_eq!(said(&cached, 0, 1, 500 * MIB), (AnsweredBy::NotCounted, open.to_owned()));
    let both = format!("all of 90 reads (360 KiB) reached sda; {open}");
    assert_eq!(said(&cached, 90, 1, 500 * MIB), (AnsweredBy::NotCounted, both));
    // What the disk did not see did not reach it, and what is on stable storage did.
    assert_eq!(said(&cached, 0, READS, 8192).0, AnsweredBy::AboveDevice);
    let through = |target: &mut crate::plan::TargetPlan| {
        target.open.direct = false;
        target.open.write_through = true;
    };
    assert_eq!(said(&through, 0, READS, 500 * MIB).0, AnsweredBy::Device);
    assert_eq!(said(&|_| {}, 0, READS, 500 * MIB).0, AnsweredBy::Device);
}

/// Reads of a loop device through the page cache, while the disk below it saw so much.
fn read_through_cached_loop(of_disk: [u64; 4]) -> RunResult {
    let fake = Fake::new();
    fake.write("a.img", "x");
    fake.loop_over(2, "/a.img", false);
    let span = plan(&["/dev/loop2"]);
    let observed = fake.observe(&span, |fake| {
        fake.counts("loop2", [READS, BYTES, 0, 0]);
        fake.counts("sda", of_disk);
        fake.fetched(BYTES);
    });
    result(&span, observed, &[(READS, 0)])
}

/// The kernel reads for the loop device on nobody's account.
#[test]
fn others_on_the_disk_below_a_cached_loop_device_prove_nothing() {
    let result = read_through_cached_loop([50_000, 500 * MIB, 0, 0]);
    let origin = &beneath(&result).targets[0];
    assert_eq!(origin.answered_by, AnsweredBy::NotCounted);
    let expected = "whether 10,000 reads (39.1 MiB) reached sda cannot be told: the loop device loop2, over \
                    /a.img, through the page cache answers, and sda saw 500 MiB of everybody";
    assert_eq!(origin.sentence, expected);
    let told: Vec<WarningKind> = result.warnings.iter().map(|one| one.kind).collect();
    assert_eq!(told, [WarningKind::PageCache]);
}

/// Somebody else keeps the disk busy, while the page cache or the file system answers this process.
#[test]
fn others_on_the_disk_do_not_stand_in_for_ones_own_reads() {
    let fake = Fake::new();
    let (answered_by, sentence) = reads(&fake, "/x.dat", |fake| {
        fake.counts("sda", [50_000, 500 * MIB, 0, 0]);
        fake.fetched(8192);
    });
    assert_eq!(answered_by, AnsweredBy::AboveDevice);
    assert_eq!(sentence, "of 10,000 reads (39.1 MiB), 8 KiB came from any device");
}

#[test]
fn data_that_shrink_on_the_way_are_told_by_bytes() {
    let fake = Fake::new();
    let (answered_by, sentence) = reads(&fake, "/dev/sdb", |fake| {
        fake.counts("sdb", [4 * READS, BYTES / 3, 0, 0]);
        fake.fetched(BYTES / 3);
    });
    assert_eq!(answered_by, AnsweredBy::PartlyDevice);
    assert_eq!(sentence, "of 10,000 reads (39.1 MiB), 13.0 MiB reached sdb");
}

/// A few huge reads are many for the device, and many small ones may be merged: bytes decide.
#[test]
fn divided_and_merged_ios_are_no_reason_to_doubt() {
    for seen in [64 * READS, READS / 50] {
        let fake = Fake::new();
        let (answered_by, _) = reads(&fake, "/dev/sdb", |fake| {
            fake.counts("sdb", [seen, BYTES, 0, 0]);
            fake.fetched(BYTES);
        });
        assert_eq!(answered_by, AnsweredBy::Device);
    }
}

#[test]
fn where_counters_are_off_those_of_the_process_tell() {
    let fake = Fake::new();
    fake.write("sys/devices/sdb/queue/iostats", "0");
    let (answered_by, _) = reads(&fake, "/dev/sdb", |fake| fake.fetched(BYTES));
    assert_eq!(answered_by, AnsweredBy::Device);
    let (answered_by, _) = reads(&fake, "/dev/sdb", |_| {});
    assert_eq!(answered_by, AnsweredBy::AboveDevice);
    let blind = Fake::new();
    blind.write("sys/devices/sdb/queue/iostats", "0");
    blind.write("proc/self/io", "");
    let (answered_by, sentence) = reads(&blind, "/dev/sdb", |_| {});
    assert_eq!(answered_by, AnsweredBy::NotCounted);
    assert!(sentence.contains("queue/iostats"), "{sentence}");
}

#[test]
fn memory_and_what_others_serve_are_never_a_device() {
    let mut fake = Fake::new();
    fake.mount("0:40 / /run rw - tmpfs tmpfs rw");
    fake.mount("0:41 / /net rw - nfs4 host:/x rw");
    fake.device("zram0", (252, 0));
    fake.volume("dm-0", (253, 0), &["zram0"]);
    for (path, expected, words) in [
        ("/run/x.dat", AnsweredBy::Memory, "tmpfs"),
        ("/dev/dm-0", AnsweredBy::Memory, "zram0"),
        ("/net/x.dat", AnsweredBy::Unseen, "nfs4, served over the network"),
    ] {
        let (answered_by, sentence) = reads(&fake, path, |fake| {
            fake.counts("zram0", [READS, BYTES, 0, 0]);
            fake.fetched(BYTES);
        });
        assert_eq!(answered_by, expected, "{path}");
        assert!(sentence.contains(words), "{sentence}");
    }
}

/// A loop device through the page cache over a file of a FUSE server: 95,000 IOPS were those of the server,
/// which had seen none of them.
#[test]
fn a_cached_loop_device_over_what_nobody_sees_is_named() {
    let told = |direct| {
        let mut fake = Fake::new();
        fake.mount("0:41 / /served rw - fuse.own own rw");
        fake.write("served/a.img", "x");
        fake.loop_over(2, "/served/a.img", direct);
        let span = plan(&["/dev/loop2"]);
        let observed = fake.observe(&span, |fake| fake.counts("loop2", [READS, BYTES, 0, 0]));
        let warning = result(&span, observed, &[(READS, 0)]).warnings[0].clone();
        assert_eq!(warning.kind, WarningKind::DeviceUnseen);
        (warning.evidence, warning.remedy)
    };
    let (evidence, remedy) = told(false);
    assert!(evidence.contains("fuse.own") && evidence.contains("loop2"), "{evidence}");
    assert!(evidence.ends_with("may answer before it"), "{evidence}");
    assert!(remedy.contains("losetup --direct-io=on"), "{remedy}");
    let (evidence, remedy) = told(true);
    assert!(!evidence.contains("may answer") && !remedy.contains("losetup"), "{evidence} {remedy}");
}

/// "All of 142 reads (2.2 MiB) reached vda" was said of a file on NTFS-3G over a loop device that saw none of
/// them: its server had the data, and others read from the disk.
#[test]
fn others_on_the_disk_do_not_stand_in_for_reads_of_a_file_system_that_a_process_serves() {
    let served = |seen_by_loop, writes: u64| {
        let mut fake = Fake::new();
        fake.write("a.img", "x");
        fake.loop_over(2, "/a.img", true);
        fake.mount("7:2 / /ntfs rw - fuseblk /dev/loop2 rw");
        let span = plan(&["/ntfs/x.dat"]);
        let observed = fake.observe(&span, |fake| {
            fake.counts("loop2", [READS, seen_by_loop, READS, seen_by_loop]);
            for place in ["sda", "sda/sda1"] {
                fake.counts(place, [50_000, 500 * MIB, 50_000, 500 * MIB]);
            }
        });
        let result = result(&span, observed, &[(READS - writes, writes)]);
        let origin = &beneath(&result).targets[0];
        let kinds: Vec<WarningKind> = result.warnings.iter().map(|one| one.kind).collect();
        (origin.answered_by, origin.sentence.clone(), kinds)
    };
    let (answered_by, sentence, kinds) = served(8192, 0);
    assert_eq!(answered_by, AnsweredBy::AboveDevice);
    assert_eq!(sentence, "of 10,000 reads (39.1 MiB), 8 KiB reached any device");
    assert_eq!(kinds, [WarningKind::NotTheDevice]);
    assert_eq!(served(8192, READS).0, AnsweredBy::AboveDevice);
    // Others may have used the file system, too.
    let (answered_by, sentence, kinds) = served(2 * BYTES, 0);
    assert_eq!(answered_by, AnsweredBy::NotCounted);
    let expected = "whether 10,000 reads (39.1 MiB) reached sda cannot be told: the process that serves \
                    fuseblk answers, and sda saw 500 MiB of everybody";
    assert_eq!(sentence, expected);
    assert_eq!(kinds, [WarningKind::DeviceUnseen]);
}

/// "Memory and no device answered" was said of a file on tmpfs of which 42 of 49 MiB came from swap.
#[test]
fn what_memory_had_to_fetch_from_swap_is_told() {
    let mut fake = Fake::new();
    fake.mount("0:40 / /run rw - tmpfs tmpfs rw");
    fake.write("proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 1024 512 -2\n");
    let told = |fetched| {
        let (answered_by, sentence) = reads(&fake, "/run/x.dat", |fake| fake.fetched(fetched));
        assert_eq!(answered_by, AnsweredBy::Memory);
        fake.fetched(0);
        sentence
    };
    let expected = "memory and swap answered: it lies on tmpfs, which lies in memory, and of 10,000 reads \
                    (39.1 MiB), 39.1 MiB had to be fetched from swap";
    assert_eq!(told(BYTES), expected);
    // The program itself may have to be fetched.
    assert!(told(MIB).starts_with("memory and no device answered"));
}

/// A program that had to be fetched itself while a few I/Os were done was taken for swap.
#[test]
fn what_was_fetched_came_from_swap_although_the_machine_swaps_to_nothing() {
    let mut fake = Fake::new();
    fake.mount("0:40 / /run rw - tmpfs tmpfs rw");
    for swaps in [None, Some("Filename Type Size Used Priority\n")] {
        swaps.inspect(|swaps| fake.write("proc/swaps", swaps));
        let (_, sentence) = reads(&fake, "/run/x.dat", |fake| fake.fetched(BYTES));
        fake.fetched(0);
        let expected = "memory and no device answered: it lies on tmpfs, which lies in memory";
        assert_eq!(sentence, expected, "{swaps:?}");
    }
}

/// Beside "memory and no device answered" stood that writes "reach the device at some later time", and that
/// they should bypass the page cache.
#[test]
fn nothing_is_said_of_a_device_behind_the_page_cache_where_there_is_none() {
    let mut fake = Fake::new();
    fake.mount("0:40 / /run rw - tmpfs tmpfs rw");
    fake.mount("0:43 / /served rw - fuse.sshfs host:/x rw");
    let said = |path: &str| {
        let mut span = plan(&[path]);
        span.targets[0].open.direct = false;
        let result = result(&span, fake.observe(&span, |_| {}), &[(READS, READS)]);
        let told = result.warnings.into_iter().map(|one| (one.kind, one.evidence));
        told.collect::<Vec<_>>()
    };
    let in_memory: Vec<WarningKind> = said("/run/x.dat").iter().map(|one| one.0).collect();
    assert_eq!(in_memory, [WarningKind::NotTheDevice]);
    let served = said("/served/x.dat");
    let (_, writes) = served.last().expect("a warning about writes");
    assert!(
        writes.contains("may have ended in the page cache, of this host or of who serves"),
        "{writes}"
    );
    assert!(writes.ends_with("reach a device at some later time"), "{writes}");
}

#[test]
fn of_several_targets_only_the_one_that_missed_is_told() {
    let mut fake = Fake::new();
    fake.mount("0:40 / /run rw - tmpfs tmpfs rw");
    let span = plan(&["/run/x.dat", "/dev/sdb", "/dev/sda1"]);
    let observed = fake.observe(&span, |fake| {
        fake.counts("sdb", [READS, BYTES, 0, 0]);
        fake.counts("sda", [3, 12_288, 0, 0]);
        fake.fetched(BYTES + 12_288);
    });
    let result = result(&span, observed, &[(READS, 0), (READS, 0), (READS, 0)]);
    let told = beneath(&result).targets.iter().map(|origin| origin.answered_by);
    let expected = [AnsweredBy::Memory, AnsweredBy::Device, AnsweredBy::AboveDevice];
    assert_eq!(told.collect::<Vec<_>>(), expected);
    let doubted = result.warnings.iter().filter_map(|warning| warning.target.as_deref());
    assert_eq!(doubted.collect::<Vec<_>>(), ["/run/x.dat", "/dev/sda1"]);
}

#[test]
fn writes_that_stay_in_the_page_cache_are_told_beside_reads_that_reach_the_disk() {
    let fake = Fake::new();
    let span = plan(&["/dev/sdb"]);
    let observed = fake.observe(&span, |fake| {
        fake.counts("sdb", [READS, BYTES, 11, 45_056]);
        fake.fetched(BYTES);
    });
    let result = result(&span, observed, &[(READS, READS)]);
    let origin = &beneath(&result).targets[0];
    assert_eq!(origin.answered_by, AnsweredBy::AboveDevice);
    assert_eq!(origin.sentence, "of 10,000 writes (39.1 MiB), 11 (44 KiB) reached sdb");
}

/// Btrfs compressed 3.2 MiB of writes to 0.8 MiB before a loop device, and what others wrote to the disk
/// below passed for the rest.
#[test]
fn others_on_the_disk_do_not_stand_in_for_writes_that_shrank_above_a_loop_device() {
    let fake = Fake::new();
    fake.write("a.img", "x");
    fake.loop_over(2, "/a.img", true);
    let span = plan(&["/dev/loop2"]);
    let written = |bytes| {
        fake.counts("loop2", [0; 4]);
        fake.counts("sda", [0; 4]);
        let observed = fake.observe(&span, |fake| {
            fake.counts("loop2", [0, 0, READS, bytes]);
            fake.counts("sda", [0, 0, 50_000, 500 * MIB]);
        });
        let result = result(&span, observed, &[(0, READS)]);
        let origin = &beneath(&result).targets[0];
        (origin.answered_by, origin.sentence.clone())
    };
    let (answered_by, sentence) = written(BYTES / 4);
    assert_eq!(answered_by, AnsweredBy::PartlyDevice);
    assert_eq!(sentence, "of 10,000 writes (39.1 MiB), 9.8 MiB reached any device");
    let (answered_by, sentence) = written(2 * BYTES);
    assert_eq!(answered_by, AnsweredBy::Device);
    assert_eq!(sentence, "all of 10,000 writes (39.1 MiB) reached sda");
}

/// A compressed file on btrfs was read without a single read of the loop device below it, and the remedy was
/// to attach that with --direct-io.
#[test]
fn a_remedy_names_no_layer_that_nothing_came_to() {
    let told = |system: &str, reached: u64| {
        let mut fake = Fake::new();
        fake.write("a.img", "x");
        fake.loop_over(2, "/a.img", false);
        fake.mount(&format!("7:2 / /data rw - {system} /dev/loop2 rw"));
        let span = plan(&["/data/x.dat"]);
        let observed = fake.observe(&span, |fake| {
            fake.counts("loop2", [READS, reached, 0, 0]);
            fake.counts("sda", [0; 4]);
            fake.fetched(reached);
        });
        let result = result(&span, observed, &[(READS, 0)]);
        assert_eq!(result.warnings[0].kind, WarningKind::NotTheDevice);
        result.warnings[0].remedy.clone()
    };
    let btrfs = told("btrfs", 0);
    assert!(btrfs.contains("without compression") && !btrfs.contains("losetup"), "{btrfs}");
    assert!(btrfs.ends_with("those of btrfs"), "{btrfs}");
    let ext4 = told("ext4", BYTES / 2);
    assert!(ext4.contains("-w100 -Zr") && !ext4.contains("losetup"), "{ext4}");
    // What came as far as the loop device, its page cache answered.
    assert!(told("btrfs", BYTES).contains("losetup --direct-io=on"));
}

/// A loop device that goes through the page cache lies over one that does not and that saw no write at all:
/// "cannot be told", as others wrote to the disk.
#[test]
fn a_loop_device_below_another_tells_what_the_disk_does_not() {
    let fake = Fake::new();
    fake.write("a.img", "x");
    fake.loop_over(2, "/a.img", true);
    fake.loop_over(3, "/dev/loop2", false);
    let span = plan(&["/dev/loop3"]);
    let observed = fake.observe(&span, |fake| {
        fake.counts("loop3", [0, 0, READS, BYTES]);
        fake.counts("sda", [0, 0, 50_000, 500 * MIB]);
    });
    let result = result(&span, observed, &[(0, READS)]);
    let origin = &beneath(&result).targets[0];
    assert_eq!(origin.answered_by, AnsweredBy::AboveDevice, "{}", origin.sentence);
    assert!(origin.sentence.starts_with("of 10,000 writes (39.1 MiB), 0 bytes reached any device"));
}

/// Ten ordinary loads, none of which is warned about.
#[test]
fn clean_neighbours_raise_no_doubt() {
    let mut fake = Fake::new();
    fake.device("nvme0n1", (259, 0));
    fake.device("sdc", (8, 32));
    fake.volume("md0", (9, 0), &["sdb", "sdc"]);
    fake.volume("dm-0", (253, 0), &["nvme0n1"]);
    fake.mount("253:0 / /data rw - xfs /dev/dm-0 rw");
    fake.mount("8:16 / /b rw - btrfs /dev/sdb rw");
    fake.write("data/a.img", "x");
    fake.loop_over(2, "/data/a.img", true);
    let bottoms = |path: &str| -> Vec<&str> {
        match path {
            "/x.dat" | "/dev/sda" | "/dev/sda1" => vec!["sda"],
            "/dev/md0" => vec!["sdb", "sdc"],
            "/b/x.dat" | "/dev/sdb" => vec!["sdb"],
            "/dev/sdc" => vec!["sdc"],
            _ => vec!["nvme0n1"],
        }
    };
    let paths = [
        "/x.dat",
        "/dev/sda",
        "/dev/sda1",
        "/dev/md0",
        "/b/x.dat",
        "/dev/sdb",
        "/dev/sdc",
        "/dev/nvme0n1",
        "/dev/dm-0",
        "/data/x.dat",
        "/dev/loop2",
    ];
    for path in paths {
        let span = plan(&[path]);
        let lowest = bottoms(path);
        let parts = lowest.len() as u64;
        for device in ["sda", "sdb", "sdc", "nvme0n1", "loop2"] {
            fake.counts(device, [0; 4]);
        }
        fake.fetched(0);
        let observed = fake.observe(&span, |fake| {
            for device in &lowest {
                let part = [READS / parts, BYTES / parts, READS / parts, BYTES / parts];
                fake.counts(device, part);
            }
            let above = if path == "/dev/loop2" { [READS, BYTES, READS, BYTES] } else { [0; 4] };
            fake.counts("loop2", above);
            fake.fetched(BYTES);
        });
        let result = result(&span, observed, &[(READS, READS)]);
        assert_eq!(result.warnings, [], "{path}");
        assert_eq!(beneath(&result).targets[0].answered_by, AnsweredBy::Device, "{path}");
    }
}

//! What targets must be, and where their I/Os go.

use fathom_sys::device::Disk;

use super::*;
use crate::plan::{EffectiveRange, Order, PayloadPlan, TargetKind, TargetPlan};
use crate::request::{Caching, Distribution, DistributionRange, WriteSource};
use crate::result::WarningKind;

fn one(change: impl FnOnce(&mut Target)) -> TimeSpan {
    let mut target = target();
    change(&mut target);
    span(vec![target])
}

fn planned(request: TimeSpan, facts: &HostFacts) -> TargetPlan {
    plan(request, facts).targets.remove(0)
}

#[test]
fn a_file_is_planned_as_asked() {
    let request = one(|target| {
        target.write_percent = 30;
        target.caching = Caching::Unbuffered;
        target.write_through = true;
        target.large_pages = true;
        target.base_bytes = 4096;
        target.limit_bytes = MIB;
    });
    let planned = planned(request, &host());
    assert_eq!((planned.name.as_str(), planned.kind), ("t.dat", TargetKind::File));
    assert_eq!(planned.path(), PathBuf::from("/t.dat"));
    assert_eq!(planned.size_bytes, 8 * MIB);
    assert!(planned.open.write && planned.open.direct && planned.open.write_through);
    assert!(planned.huge_pages && !planned.open.mapped);
    let offsets = planned.offsets;
    assert_eq!((offsets.base_bytes, offsets.end_bytes), (4096, MIB));
    assert_eq!((offsets.block_bytes, offsets.align_bytes), (4096, 4096));
}

#[test]
fn orders_follow_the_access() {
    let order = |change: fn(&mut Target)| planned(one(change), &host()).offsets.order;
    assert_eq!(order(|_| {}), Order::Sequential);
    assert_eq!(order(|target| target.access.random_percent = 100), Order::Random);
    let mixed = Order::Mixed { random_percent: 1 };
    assert_eq!(order(|target| target.access.random_percent = 1), mixed);
    assert_eq!(order(|target| target.access.interlocked = true), Order::Interlocked);
    assert_eq!(order(|target| target.parallel_same_offset = true), Order::SameOffset);
}

#[test]
fn data_follow_their_source() {
    let payload = |change: fn(&mut Target)| planned(one(change), &host()).payload;
    assert_eq!(payload(|_| {}), PayloadPlan::CountingPattern);
    assert_eq!(payload(|target| target.write_data.source = WriteSource::Zero), PayloadPlan::Zero);
    let buffer = |target: &mut Target| {
        target.write_data.source = WriteSource::Buffer { bytes: 9000, file: None };
    };
    assert_eq!(payload(buffer), PayloadPlan::Buffer { bytes: 9000, file: None });
    assert_eq!(payload(|target| target.write_data.fresh_random = true), PayloadPlan::FreshRandom);
}

#[test]
fn a_missing_data_file_is_refused() {
    let request = one(|target| {
        target.write_data.source = WriteSource::Buffer { bytes: 9000, file: Some("d".into()) };
    });
    let mut facts = host();
    facts.data_files.insert("d".into(), Err("no such file".into()));
    let error = error_of(request.clone(), &facts);
    assert_says(&error, ErrorClass::Target, &["'d'", "'t.dat'", "no such file"]);
    facts.data_files.insert("d".into(), Ok(()));
    let file = Some(PathBuf::from("d"));
    assert_eq!(planned(request, &facts).payload, PayloadPlan::Buffer { bytes: 9000, file });
}

#[test]
fn a_range_beyond_the_end_is_cut_with_a_warning() {
    let request = one(|target| target.limit_bytes = 1 << 30);
    let resolved = with(request, &RunOptions::default(), &host()).expect("a plan");
    assert_eq!(resolved.plan.spans[0].targets[0].offsets.end_bytes, 8 * MIB);
    let [warning] = resolved.warnings.as_slice() else { panic!("one warning") };
    assert_eq!(warning.kind, WarningKind::RangeBeyondTarget);
    assert_eq!(warning.target.as_deref(), Some("t.dat"));
    assert_eq!(warning.evidence, "file size 8388608 is less than MaxFileSize 1073741824");
}

#[test]
fn a_range_without_room_is_refused() {
    let beyond = one(|target| target.base_bytes = 1 << 30);
    let words = ["base offset 1073741824", "'t.dat'", "8388608"];
    assert_says(&error_of(beyond, &host()), ErrorClass::Target, &words);
    let at_the_end = one(|target| target.base_bytes = 8 * MIB);
    assert_says(&error_of(at_the_end, &host()), ErrorClass::Target, &["base offset"]);
    let narrow = one(|target| target.limit_bytes = 4095);
    let words = ["The file is too small", "relative thread 0", "block size: 4096"];
    assert_says(&error_of(narrow, &host()), ErrorClass::Target, &words);
    let mut facts = host();
    add(&mut facts, "t.dat", file(0));
    assert_says(&error_of(one(|_| {}), &facts), ErrorClass::Target, &["empty", "-c"]);
}

#[test]
fn what_is_no_target_is_refused_in_words() {
    for (kind, word) in [
        (PathKind::Missing, "does not exist"),
        (PathKind::Directory, "a directory"),
        (PathKind::CharacterDevice, "a character device"),
        (PathKind::Fifo, "a named pipe"),
        (PathKind::Socket, "a socket"),
    ] {
        let mut facts = host();
        add(&mut facts, "t.dat", of_kind(kind));
        assert_says(&error_of(one(|_| {}), &facts), ErrorClass::Target, &["'t.dat'", word]);
    }
    let mut facts = host();
    facts.targets.insert("t.dat".into(), Err("permission denied".into()));
    assert_says(&error_of(one(|_| {}), &facts), ErrorClass::Target, &["permission denied"]);
}

#[test]
fn names_of_windows_are_refused_in_words() {
    for (name, word) in [
        ("C:", "drive letter"),
        (r"c:\t.dat", "drive letter"),
        ("nbd://box:x/export", "port"),
        (r"\\.\PhysicalDrive1", "#0"),
        ("*2", "placeholder"),
        ("", "not a name"),
    ] {
        let error = error_of(span(vec![named(name)]), &host());
        assert_says(&error, ErrorClass::Request, &[word]);
    }
}

#[test]
fn names_that_only_look_so_are_files() {
    for name in ["cc:", "a:b", "*", "*a", "#", "#a", "./C:", "1"] {
        let mut facts = host();
        add(&mut facts, name, file(MIB));
        assert_eq!(planned(span(vec![named(name)]), &facts).name, name);
    }
}

#[test]
fn disks_are_named_by_number() {
    let mut facts = host();
    let path = PathBuf::from("/dev/sda");
    let model = Some("Example".into());
    facts.disks = vec![Disk { path, model, size_bytes: MIB, ..Disk::default() }];
    add(&mut facts, "#0", PathFacts { size_bytes: MIB, ..of_kind(PathKind::BlockDevice) });
    let disk = planned(span(vec![named("#0")]), &facts);
    assert_eq!((disk.kind, disk.size_bytes), (TargetKind::BlockDevice, MIB));
    facts.targets.insert("#1".into(), Err("there is no disk #1 here".into()));
    let error = error_of(span(vec![named("#1")]), &facts);
    assert_says(&error, ErrorClass::Target, &["no disk #1", "#0 (/dev/sda, Example, 1048576"]);
    facts.disks.clear();
    assert_says(
        &error_of(span(vec![named("#1")]), &facts),
        ErrorClass::Target,
        &["no whole disks"],
    );
}

#[test]
fn sectors_are_checked_before_the_run() {
    let mut facts = host();
    add(&mut facts, "t.dat", PathFacts { logical_sector_bytes: 4096, ..file(8 * MIB) });
    let direct = |change: fn(&mut Target)| {
        let mut target = target();
        target.caching = Caching::Unbuffered;
        target.block_bytes = 8192;
        change(&mut target);
        span(vec![target])
    };
    assert!(planned(direct(|_| {}), &facts).open.direct);
    for (request, value) in [
        (direct(|target| target.block_bytes = 512), "block size of 't.dat' is 512 bytes"),
        (direct(|target| target.base_bytes = 4095), "base offset of 't.dat' is 4095 bytes"),
        (direct(|target| target.access.align_bytes = 6144), "stride of 't.dat' is 6144 bytes"),
        (direct(|target| target.thread_stride_bytes = 1), "thread stride of 't.dat' is 1 bytes"),
    ] {
        let mut cached = request.clone();
        cached.targets[0].caching = Caching::Cached;
        assert_says(&error_of(request, &facts), ErrorClass::Target, &[value, "4096 bytes"]);
        assert!(!planned(cached, &facts).open.direct);
    }
}

#[test]
fn caches_are_bypassed_only_where_it_is_possible() {
    let mut facts = host();
    let no_direct = PathFacts { is_direct_possible: Some(false), ..file(8 * MIB) };
    add(&mut facts, "t.dat", no_direct);
    let unbuffered = one(|target| target.caching = Caching::Unbuffered);
    assert_says(&error_of(unbuffered, &facts), ErrorClass::Target, &["'t.dat'", "ext4", "-Su"]);
    let remote = one(|target| target.caching = Caching::RemoteUnbuffered);
    let words = ["'t.dat'", "ext4", "remote file systems", "-Sr"];
    assert_says(&error_of(remote.clone(), &facts), ErrorClass::Target, &words);
    add(&mut facts, "t.dat", PathFacts { is_remote: true, ..file(8 * MIB) });
    assert!(planned(remote, &facts).open.direct);
}

/// Ext4 was said not to bypass the page cache at all, where only its mount or the file does not.
#[test]
fn why_a_file_cannot_be_used_past_the_page_cache_is_told() {
    let unbuffered = one(|target| target.caching = Caching::Unbuffered);
    let no_direct = PathFacts { is_direct_possible: Some(false), ..file(8 * MIB) };
    let told = |known: PathFacts, words: &[&str]| {
        let mut facts = host();
        add(&mut facts, "t.dat", known);
        assert_says(&error_of(unbuffered.clone(), &facts), ErrorClass::Target, words);
    };
    let journalled = PathFacts { is_journalled: true, ..no_direct.clone() };
    told(journalled, &["ext4", "mounted with data=journal", "mount it without data=journal"]);
    told(no_direct, &["ext4", "for this file", "journalled", "lsattr"]);
}

#[test]
fn what_takes_no_writes_can_only_be_read() {
    let mut facts = host();
    add(&mut facts, "t.dat", PathFacts { is_read_only: true, ..file(8 * MIB) });
    assert!(!planned(one(|_| {}), &facts).open.write);
    let writes = one(|target| target.write_percent = 1);
    assert_says(&error_of(writes, &facts), ErrorClass::Target, &["'t.dat'", "read-only"]);
    let creates = one(|target| target.create_bytes = Some(MIB));
    assert_says(&error_of(creates, &facts), ErrorClass::Target, &["read-only", "-c"]);
}

fn random(distribution: Distribution) -> TimeSpan {
    one(|target| {
        target.access.random_percent = 100;
        target.distribution = Some(distribution);
        target.base_bytes = 4 * MIB;
    })
}

fn range(io_percent: u32, length: u64) -> DistributionRange {
    DistributionRange { io_percent, length }
}

#[test]
fn distributions_count_from_the_start_of_the_target() {
    let halves = Distribution::Percent(vec![range(90, 50), range(10, 50)]);
    let expected = [(90.0, 4, 6), (10.0, 6, 8)].map(|(io_percent, start, end)| EffectiveRange {
        io_percent,
        start_bytes: start * MIB,
        end_bytes: end * MIB,
    });
    assert_eq!(planned(random(halves.clone()), &host()).offsets.ranges, expected);
    let mut sequential = random(halves);
    sequential.targets[0].access.random_percent = 0;
    assert!(planned(sequential, &host()).offsets.ranges.is_empty());
}

#[test]
fn a_distribution_that_misses_the_target_is_refused() {
    let beyond = Distribution::Absolute(vec![range(0, 1 << 30), range(100, 0)]);
    let error = error_of(random(beyond), &host());
    assert_says(&error, ErrorClass::Target, &["distribution of 't.dat'", "8388608"]);
}

#[test]
fn a_device_that_sysfs_does_not_show_was_called_empty() {
    let mut facts = host();
    add(&mut facts, "sdb", PathFacts { is_unsized: true, ..of_kind(PathKind::BlockDevice) });
    let error = error_of(span(vec![named("sdb")]), &facts);
    assert_says(&error, ErrorClass::Target, &["size of 'sdb' is not known", "sysfs", "/sys"]);
    add(&mut facts, "sdb", of_kind(PathKind::BlockDevice));
    let error = error_of(span(vec![named("sdb")]), &facts);
    assert_says(&error, ErrorClass::Target, &["'sdb' is empty", "insert a medium"]);
}

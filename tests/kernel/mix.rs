//! Syncs, trims and patterns on the real kernel.

use std::fs::File;
use std::path::Path;

use fathom_sys::extents;

use crate::bench::{Bench, bytes, ios, skip, sum};
use crate::devices::attached;
use crate::prepare::support::run;

const FILE_BYTES: u64 = 8 << 20;

/// Numbers of `/sys/block/loop2/stat` (Documentation/block/stat.rst of the kernel).
fn statistics() -> Vec<u64> {
    let text = std::fs::read_to_string("/sys/block/loop2/stat").unwrap();
    text.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

/// Completed discards, discarded units of 512 bytes, and completed flushes.
fn discards_and_flushes() -> [u64; 3] {
    let numbers = statistics();
    [11, 13, 15].map(|field: usize| numbers.get(field).copied().unwrap_or(0))
}

fn unbacked_bytes(path: &Path) -> u64 {
    let file = File::open(path).unwrap();
    extents::backing(&file, 0..FILE_BYTES).unwrap().unbacked_bytes()
}

/// Counts lines of a trace that have all of these words.
fn count(trace: &str, words: &[&str]) -> usize {
    trace.lines().filter(|line| words.iter().all(|word| line.contains(word))).count()
}

/// The system calls of a run, or none if there is no strace.
fn traced(bench: &Bench, calls: &str, args: &str) -> Option<(String, serde_json::Value)> {
    if !run("strace", &["-o", "/dev/null", "true"]) {
        skip("there is no strace, or it may not trace");
        return None;
    }
    let trace = bench.path("trace.txt");
    let plain = bench.command(&format!("-W0 -d1 -Rjson {args}"));
    let mut command = std::process::Command::new("strace");
    command.args(["-f", "-qq", "-o"]).arg(&trace).args(["-e", &format!("trace={calls}")]);
    command.arg(plain.get_program()).args(plain.get_args());
    let output = command.current_dir(bench.path("")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let result = serde_json::from_slice(&output.stdout).unwrap();
    Some((std::fs::read_to_string(trace).unwrap(), result))
}

#[test]
fn each_engine_without_a_queue_calls_the_sync_that_was_asked_for() {
    let bench = Bench::new();
    for engine in ["sync", "mmap"] {
        for (option, call) in [("fsync", "fsync("), ("fdatasync", "fdatasync(")] {
            let args = format!("--engine={engine} -b4K -r -w50 -g2000i --{option}=5 t.dat");
            let Some((trace, result)) = traced(&bench, "fsync,fdatasync", &args) else { return };
            let (writes, syncs) = (sum(&result, "write", "ios"), sum(&result, "sync", "ios"));
            let calls = count(&trace, &[call]) as u64;
            assert_eq!(count(&trace, &["sync("]) as u64, calls, "{engine} {option}");
            // The last ones may have completed after the measured time.
            assert!(calls >= syncs && calls <= syncs + 2, "{calls} calls for {syncs} syncs");
            assert!(syncs.abs_diff(writes / 5) <= 1 && syncs > 2, "{syncs} for {writes} writes");
            assert_eq!(sum(&result, "sync", "bytes"), 0);
        }
    }
}

#[test]
fn native_asynchronous_io_submits_the_sync_that_was_asked_for() {
    if let Err(why) = fathom_sys::aio::probe() {
        skip(&why.to_string());
        return;
    }
    let bench = Bench::new();
    for (option, word) in [("fsync", "IOCB_CMD_FSYNC"), ("fdatasync", "IOCB_CMD_FDSYNC")] {
        let args = format!("--engine=aio -Su -b4K -r -w100 -o4 -g1000i --{option}=5 t.dat");
        let Some((trace, result)) = traced(&bench, "io_submit", &args) else { return };
        let submitted: usize = trace.lines().map(|line| line.matches(word).count()).sum();
        // strace shortens a long list, and this rate gives short ones.
        assert!(submitted as u64 + 2 >= sum(&result, "sync", "ios"), "{option}: {submitted}");
        assert!(submitted > 2, "{option}: {submitted}");
    }
}

#[test]
fn syncs_flush_the_device_through_every_engine() {
    let (_turn, Some(device)) = attached() else { return };
    if statistics().len() < 17 {
        skip("this kernel does not count flushes");
        return;
    }
    let bench = Bench::new();
    for (engine, option) in
        [("uring", "fsync"), ("uring", "fdatasync"), ("aio", "fsync"), ("sync", "fdatasync")]
    {
        let before = discards_and_flushes()[2];
        let args = format!("--engine={engine} -Su -b4K -r -w100 -o1 --{option}=20 -L");
        let result = bench.measure(&format!("{args} {} {}", device.leave(), device.name()));
        let flushes = discards_and_flushes()[2] - before;
        let (writes, syncs) = (sum(&result, "write", "ios"), sum(&result, "sync", "ios"));
        assert!(syncs > 5 && syncs.abs_diff(writes / 20) <= 2, "{engine}: {syncs} {writes}");
        // One I/O at a time, so that no two syncs share a flush; the last one may come after the time.
        assert!(flushes >= syncs && flushes <= syncs + 4, "{engine}: {flushes} {syncs}");
    }
    let before = discards_and_flushes()[2];
    let args = format!("--engine=uring -Su -b4K -r -w100 -o4 {} {}", device.leave(), device.name());
    bench.measure(&args);
    assert!(discards_and_flushes()[2] - before <= 4, "a run without syncs flushes");
}

/// Measures a second, and longer where the machine is too busy for so many I/Os in that; also how far the
/// device's counters went meanwhile.
fn measure_ios(
    bench: &Bench,
    kind: &str,
    ios: u64,
    args: &str,
    target: &str,
) -> (serde_json::Value, [u64; 3]) {
    for seconds in [1, 5, 25] {
        let before = discards_and_flushes();
        let result = bench.measure(&format!("{args} -d{seconds} {target}"));
        let after = discards_and_flushes();
        if sum(&result, kind, "ios") >= ios {
            return (result, [0, 1, 2].map(|counter| after[counter] - before[counter]));
        }
    }
    panic!("the target does next to nothing");
}

#[test]
fn trims_make_holes_in_files_through_every_engine_that_can() {
    let bench = Bench::new();
    for (engine, options) in
        [("uring", "-o8 -Su"), ("uring", "-o8"), ("sync", "-Su"), ("mmap", ""), ("sync", "")]
    {
        bench.fill("h.dat", 8 << 20);
        let before = bytes(&bench.path("h.dat"));
        let args = format!("--engine={engine} {options} -s -b64K -w0 -B1M:4M --trim=100 -L");
        let (result, _) = measure_ios(&bench, "trim", 64, &args, "h.dat");
        let after = bytes(&bench.path("h.dat"));
        assert_eq!(unbacked_bytes(&bench.path("h.dat")), 4 << 20, "{args}");
        let (from, to) = (1 << 20, 5 << 20);
        assert!(after[from..to].iter().all(|byte| *byte == 0), "{args}");
        assert!(before[..from] == after[..from] && before[to..] == after[to..], "{args}");
        let trims = sum(&result, "trim", "ios");
        assert_eq!((ios(&result), sum(&result, "trim", "bytes")), (0, trims * 65_536), "{args}");
        assert!(trims >= 64, "{args}: {trims}");
    }
}

#[test]
fn trims_discard_ranges_of_devices() {
    let (_turn, Some(device)) = attached() else { return };
    if std::fs::read_to_string("/sys/block/loop2/queue/discard_max_bytes").unwrap().trim() == "0" {
        skip("the loop device cannot discard here");
        return;
    }
    let bench = Bench::new();
    let engines: &[&str] = match fathom_sys::discard::probe_uring() {
        Ok(()) => &["uring", "sync"],
        Err(why) => {
            skip(&why);
            &["sync"]
        }
    };
    for engine in engines {
        let leave = device.leave();
        let on_device = format!("{leave} {}", device.name());
        measure_ios(&bench, "write", 6 << 4, "-Su -s -b64K -w100 -o8", &on_device);
        let args = format!("--engine={engine} -Su -s -b64K -w0 -o4 -B1M:4M --trim=100 -L");
        let (result, counted) = measure_ios(&bench, "trim", 64, &args, &on_device);
        let trims = sum(&result, "trim", "ios");
        // The block layer may join neighbouring discards, so that only their lengths add up.
        let discarded = counted[1] / 128;
        assert!(trims >= 64 && counted[0] > 0, "{engine}: {trims}");
        assert!(discarded >= trims && discarded <= trims + 8, "{engine}: {discarded} of {trims}");
        let content = bytes(Path::new(device.name()));
        let (from, to) = (1 << 20, 5 << 20);
        assert!(content[from..to].iter().all(|byte| *byte == 0), "{engine}");
        assert!(content[from - 1] != 0 && content[to + 1] != 0, "{engine}: beyond the range");
    }
}

#[test]
fn a_target_with_trims_is_guarded_as_one_that_is_written() {
    let bench = Bench::new();
    let mut image = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x04\0\0\0\x04\0\x08\x06\0\0\0".to_vec();
    image.extend((0..1_u32 << 20).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8));
    std::fs::write(bench.path("p.png"), &image).unwrap();
    let output = bench.run("-W0 -d1 -w0 --trim=10 p.png");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("p.png") && bytes(&bench.path("p.png")) == image, "{stderr}");
    // Without trims the same run reads it.
    assert_eq!(bench.run("-W0 -d1 -w0 --trim=0 p.png").status.code(), Some(0));
}

#[test]
fn a_device_with_trims_is_claimed() {
    let (_turn, Some(device)) = attached() else { return };
    let bench = Bench::new();
    for (percent, claims) in [(10, true), (0, false)] {
        let leave = device.leave();
        let args = format!("-Su -b4K -r -w0 -o1 --trim={percent} {leave} {}", device.name());
        let Some((trace, _)) = traced(&bench, "openat", &args) else { return };
        // It is opened through the descriptor that was looked at; a new file has O_CREAT beside it.
        let claimed = count(&trace, &["O_EXCL"]) > count(&trace, &["O_CREAT|O_EXCL"]);
        assert_eq!(claimed, claims, "{percent}");
    }
}

#[test]
fn an_engine_that_cannot_trim_is_refused_and_never_chosen() {
    let bench = Bench::new();
    let output = bench.run("-W0 -d1 -w0 --engine=aio --trim=10 t.dat");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && stderr.contains("libaio"), "{stderr}");
    if fathom_sys::ring::probe().is_ok() {
        let result = bench.measure_ios(500, "-x -o4 -w50 --trim=10 t.dat");
        let backend = &result["time_spans"][0]["threads"][0]["backend"];
        assert_eq!(backend["name"], "io_uring");
        assert!(backend["fallback"].as_str().unwrap().contains("libaio"), "{backend}");
        assert!(sum(&result, "trim", "ios") > 0);
    }
}

#[test]
fn a_file_system_without_holes_is_told_before_the_run() {
    // The file system of /proc/self/mem and the like is no target; vfat cannot punch holes.
    let image = tempfile::NamedTempFile::new().unwrap();
    image.as_file().set_len(16 << 20).unwrap();
    let name = image.path().to_str().unwrap();
    if !run("mkfs.vfat", &[name]) {
        skip("there is no mkfs.vfat");
        return;
    }
    let Some(mount) = crate::prepare::support::Mount::new(&["-o", "loop", name]) else { return };
    let file = mount.path().join("f.dat");
    std::fs::write(&file, vec![1; 1 << 20]).unwrap();
    let bench = Bench::new();
    let output = bench.run(&format!("-W0 -d1 -w0 --trim=10 {}", file.display()));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && stderr.contains("holes"), "{stderr}");
    assert!(bytes(&file).iter().all(|byte| *byte == 1));
}

#[test]
fn patterns_and_mixes_change_their_ranges_only() {
    let bench = Bench::new();
    for args in [
        "-w50 --write-pattern=sequential,block=16K,range=2M:1M --read-pattern=random,range=4M",
        "-w100 -r -B2M:1M --block-mix=512:40,4K:40,96K:20",
        "-w100 -s -B2M:1M --block-mix=512:40,4K:40,96K:20",
        "-w100 -rs30 -B2M:1M --block-mix=1000:50,3K:50",
    ] {
        let before = bytes(&bench.path("t.dat"));
        let result = bench.measure_ios(2_000, &format!("-b4K -o4 -Zr {args} t.dat"));
        let after = bytes(&bench.path("t.dat"));
        let (from, to) = (2 << 20, 3 << 20);
        assert!(before[..from] == after[..from] && before[to..] == after[to..], "{args}");
        assert!(before[from..to] != after[from..to] && ios(&result) > 100, "{args}");
        assert_eq!(sum(&result, "read", "short_ios") + sum(&result, "write", "short_ios"), 0);
    }
}

#[test]
fn every_form_of_the_result_has_syncs_and_trims_apart_from_the_tables() {
    let bench = Bench::new();
    let args = "-W0 -d1 -L -b4K -r -w50 -o4 --fsync=10 --trim=20 t.dat";
    let text = bench.run(args);
    assert_eq!(text.status.code(), Some(0), "{}", String::from_utf8_lossy(&text.stderr));
    let text = String::from_utf8(text.stdout).unwrap();
    let (tables, own) = text.split_once("\nSyncs and trims of timespan 1").unwrap();
    // A trim may be in flight at the end, and then has a row of our own table of the ends.
    let tables = tables.split("\nEnds of timespan 1").next().unwrap();
    assert!(!tables.contains("\nsync ") && !tables.contains("\ntrim "), "{tables}");
    for name in ["sync", "trim"] {
        let row = own.lines().find(|line| line.starts_with(name)).unwrap();
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 9, "{row}");
        assert!(cells[2].parse::<u64>().unwrap() > 0, "{row}");
        assert!(cells[4..].iter().all(|cell| cell.parse::<f64>().unwrap() > 0.0), "{row}");
    }
    let xml = String::from_utf8(bench.run(&format!("-Rxml {args}")).stdout).unwrap();
    let document = roxmltree::Document::parse(&xml).unwrap();
    let number = |parent: &str, name: &str| -> u64 {
        let nodes = document.descendants().filter(|node| node.has_tag_name(name));
        let mut nodes = nodes.filter(|node| node.parent().unwrap().has_tag_name(parent));
        nodes.next().unwrap().text().unwrap().parse().unwrap()
    };
    assert_eq!(number("Target", "TrimCount"), number("Trim", "Count"));
    assert_eq!(number("Target", "SyncCount"), number("Sync", "Count"));
    assert_eq!(number("Target", "TrimBytes"), number("Trim", "Count") * 4096);
    let both = number("Target", "ReadCount") + number("Target", "WriteCount");
    assert_eq!(number("Target", "IOCount"), both);
}

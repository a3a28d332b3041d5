//! The state in which a file was left, and what others can make look like it.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

use fathom_sys::attributes;
use fathom_sys::clock::now_ns;

use crate::bench::{Bench, bytes, skip};
use crate::prepare::support::{Loop, Mount, run};
use crate::unseen::{is_refused, told, turn};

const LOAD: &str = "-w100 -W0 -d30 -b4K --stop-ios=9";
const THEIRS: &[u8] = b"Dear Ada, how are you?";

fn mark_of(file: &File) -> Option<Vec<u8>> {
    attributes::get(file, c"user.fathom.made").unwrap()
}

/// Writes to a file so soon behind the mark that a run leaves at its end, and gives it the time of our data.
fn write_behind_the_last_mark(path: &Path, mut mark: Option<Vec<u8>>, behind: Duration) {
    let (file, begun) = (File::open(path).unwrap(), now_ns());
    // One before the first write, one behind the last.
    for _ in 0..2 {
        let before = mark.take();
        while mark.is_none() || mark == before {
            assert!(now_ns() - begun < 60_000_000_000, "there is no mark");
            mark = mark_of(&file);
        }
    }
    thread::sleep(behind);
    let modified = file.metadata().unwrap().modified().unwrap();
    let writing = File::options().write(true).open(path).unwrap();
    writing.write_all_at(THEIRS, 77).unwrap();
    writing.set_modified(modified).unwrap();
}

#[test]
fn what_was_written_right_behind_the_last_mark_was_taken_for_the_setting_of_it() {
    let bench = Bench::new();
    let path = bench.path("f.dat");
    for behind_us in [200, 1000, 2500, 4000] {
        let _ = fs::remove_file(&path);
        let made = bench.run(&format!("-c1M {LOAD} f.dat"));
        assert_eq!(made.status.code(), Some(0), "{}", told(&made));
        let mark = mark_of(&File::open(&path).unwrap());
        if mark.is_none() {
            return skip("this file system keeps no attributes");
        }
        let output = thread::scope(|scope| {
            let behind = Duration::from_micros(behind_us);
            let path = &path;
            scope.spawn(move || write_behind_the_last_mark(path, mark, behind));
            bench.run(&format!("{LOAD} f.dat"))
        });
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
        let before = bytes(&path);
        assert_eq!(&before[77..77 + THEIRS.len()], THEIRS);
        let output = bench.run(&format!("{LOAD} f.dat"));
        is_refused(&output, "neither diskspd nor fathom made", &path, &before);
    }
}

/// Puts somebody's data into a file, and gives it the time that it had.
fn exchange(path: &Path, modified: SystemTime) {
    let size_bytes = usize::try_from(path.metadata().unwrap().size()).unwrap();
    let theirs = THEIRS.iter().copied().cycle().take(size_bytes).collect::<Vec<_>>();
    let file = File::options().write(true).open(path).unwrap();
    file.write_all_at(&theirs, 0).unwrap();
    file.set_modified(modified).unwrap();
}

fn until_a_second_has_just_begun() {
    let within_ns = jiff::Timestamp::now().subsec_nanosecond().unsigned_abs();
    thread::sleep(Duration::from_nanos(1_050_000_000 - u64::from(within_ns)));
}

#[test]
fn on_a_file_system_that_keeps_seconds_other_data_of_the_same_second_were_taken_for_ours() {
    let _turn = turn();
    let Some(device) = Loop::attach("/dev/loop6", 32 << 20) else { return };
    if !run("mkfs.ext4", &["-qF", "-I", "128", device.name()]) {
        return skip("there is no mkfs.ext4");
    }
    let Some(mount) = Mount::new(&["-t", "ext4", device.name()]) else { return };
    let (bench, path) = (Bench::new(), mount.path().join("t.dat"));
    let shown = path.display();
    for _ in 0..5 {
        bench.measure_ios(3, &format!("-c64K -w100 -b4K {shown}"));
        until_a_second_has_just_begun();
        thread::sleep(Duration::from_secs(1));
        // It may write, and does not.
        let reads = bench.run(&format!("-w1 -z1 -r -W0 -d30 -b4K --stop-ios=1 {shown}"));
        assert_eq!(reads.status.code(), Some(0), "{}", told(&reads));
        let left = path.metadata().unwrap();
        exchange(&path, left.modified().unwrap());
        let now = path.metadata().unwrap();
        let is_like_it = (now.ctime(), now.ctime_nsec()) == (left.ctime(), 0);
        let before = bytes(&path);
        let output = bench.run(&format!("{LOAD} {shown}"));
        is_refused(&output, "looks like text", &path, &before);
        if is_like_it && left.mtime() < left.ctime() {
            return;
        }
        fs::remove_file(&path).unwrap();
    }
    skip("this machine was too slow five times");
}

#[test]
fn the_state_of_a_file_on_xfs_is_believed_and_its_data_are_not_read_each_time() {
    let _turn = turn();
    let Some(device) = Loop::attach("/dev/loop6", 320 << 20) else { return };
    if !run("mkfs.xfs", &["-q", device.name()]) {
        return skip("there is no mkfs.xfs");
    }
    let Some(mount) = Mount::new(&["-t", "xfs", device.name()]) else { return };
    let (bench, path) = (Bench::new(), mount.path().join("z.dat"));
    // What so few bytes show is no proof, so that the second run goes by the state.
    for arguments in ["-c64K", ""] {
        bench.measure_ios(3, &format!("{arguments} -w100 -b8 {}", path.display()));
    }
    fs::write(&path, "Ada\n".repeat(16 << 10)).unwrap();
    let before = bytes(&path);
    let output = bench.run(&format!("{LOAD} {}", path.display()));
    is_refused(&output, "looks like text", &path, &before);
}

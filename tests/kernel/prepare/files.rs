//! Files: sparse, reserved, created, kept, refused, interrupted, and where there is no room.

use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use fathom_core::guard;
use fathom_core::guard::Checked;
use fathom_core::measure::Event;
use fathom_core::plan::{FilePlan, TargetKind};
use fathom_core::prepare::{self, Created, PrepareError};
use fathom_core::request::Permission;
use fathom_core::result::{Warning, WarningKind, warnings};
use fathom_core::storage::Location;
use fathom_sys::{extents, residency, space};

use super::support::{Mount, digest, make, plan_for, skip};

const MIB: u64 = 1 << 20;

fn home() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn doubts_about(path: &Path) -> Vec<Warning> {
    warnings::before(&plan_for(path, TargetKind::File, 0))
}

#[test]
fn a_sparse_file_is_doubted_with_its_share() {
    let home = home();
    let path = home.path().join("sparse");
    let file = File::create(&path).expect("a file");
    file.set_len(8 * MIB).expect("a length");
    file.write_all_at(&vec![5; 2 << 20], 4 * MIB).expect("a write");
    let found = doubts_about(&path);
    assert_eq!(found[0].kind, WarningKind::UnwrittenExtents);
    assert!(found[0].evidence.starts_with("75.0 % of the 8 MiB"), "{}", found[0].evidence);
}

#[test]
fn a_file_that_is_only_reserved_is_doubted() {
    let home = home();
    let path = home.path().join("reserved");
    let file = File::create(&path).expect("a file");
    if let Err(error) = space::reserve(&file, 0..8 * MIB) {
        return skip(&format!("the file system cannot reserve: {error}"));
    }
    let found = doubts_about(&path);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].kind, WarningKind::UnwrittenExtents);
    assert!(found[0].evidence.contains("100.0 %"), "{}", found[0].evidence);
}

/// Entropy of single bytes and of distances of 256, in bits per byte: 8 for random data.
fn entropy_bits(data: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for two in data.windows(257) {
        counts[usize::from(two[0] ^ two[256])] += 1;
    }
    let total = f64::from(counts.iter().sum::<u32>());
    let share = |count: &&u32| f64::from(**count) / total;
    let used = counts.iter().filter(|count| **count > 0);
    used.map(|count| share(&count)).map(|share| -share * share.log2()).sum()
}

#[test]
fn a_created_file_is_real_incompressible_data_on_the_device() {
    let home = home();
    let path = home.path().join("made");
    let size_bytes = 16 * MIB + 1234;
    assert_eq!(make(&path, size_bytes).expect("made"), Created::Made);
    let file = File::open(&path).expect("a file");
    let backing = extents::backing(&file, 0..size_bytes).expect("extents");
    assert_eq!((backing.written_bytes, backing.unbacked_bytes()), (size_bytes, 0));
    assert_eq!(doubts_about(&path), []);
    let data = fs::read(&path).expect("a file");
    assert!(entropy_bits(&data) > 7.999, "{}", entropy_bits(&data));
    let mut blocks: Vec<&[u8]> = data.chunks(4096).collect();
    let count = blocks.len();
    blocks.sort_unstable();
    blocks.dedup();
    assert_eq!(blocks.len(), count);
}

#[test]
fn a_created_file_is_not_left_in_the_page_cache() {
    let home = home();
    let path = home.path().join("made");
    make(&path, 16 * MIB).expect("made");
    let file = File::open(&path).expect("a file");
    let resident = residency::resident_bytes(&file, 0..16 * MIB).expect("a count");
    if space::of_file_system(&path).is_ok_and(|_| is_in_memory(&path)) {
        return skip("the temporary directory lies in memory");
    }
    assert_eq!(resident, 0);
}

fn is_in_memory(path: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let device = fs::metadata(path).expect("a file").dev();
    let (major, minor) = fathom_sys::holders::device_number(device);
    let number = format!(" {major}:{minor} ");
    mounts.lines().any(|line| line.contains(&number) && line.contains(" - tmpfs "))
}

#[test]
fn a_file_in_memory_can_be_made_and_kept() {
    let Some(mount) = Mount::new(&["-t", "tmpfs", "-o", "size=8m", "none"]) else { return };
    let path = mount.path().join("made");
    assert_eq!(make(&path, 3 * MIB + 5).expect("made"), Created::Made);
    assert_eq!(make(&path, 3 * MIB + 5).expect("kept"), Created::Kept);
    assert_eq!(doubts_about(&path), []);
    assert_eq!(make(&path, 7 * MIB).expect("made again"), Created::Remade);
}

#[test]
fn where_there_is_no_room_nothing_is_created() {
    let Some(mount) = Mount::new(&["-t", "tmpfs", "-o", "size=8m", "none"]) else { return };
    let path = mount.path().join("made");
    let error = make(&path, 9 * MIB).expect_err("no room");
    let PrepareError::NoSpace { needed_bytes, free_bytes, .. } = error else { panic!("{error}") };
    assert_eq!((needed_bytes, free_bytes), (9 * MIB, 8 * MIB));
    assert!(!path.exists());
    make(&path, 6 * MIB).expect("made");
    assert!(make(&path, 9 * MIB).is_err());
    assert_eq!(fs::metadata(&path).expect("the old file").len(), 6 * MIB);
    let other = mount.path().join("other");
    assert!(make(&other, 3 * MIB).is_err());
    assert!(!other.exists());
}

#[test]
fn a_rerun_keeps_the_file() {
    let home = home();
    let path = home.path().join("made");
    make(&path, 5 * MIB).expect("made");
    let (before, bytes) = (fs::metadata(&path).expect("a file"), digest(&path));
    assert_eq!(make(&path, 5 * MIB).expect("kept"), Created::Kept);
    let after = fs::metadata(&path).expect("a file");
    let identity = |of: &fs::Metadata| (of.ino(), of.mtime(), of.mtime_nsec(), of.ctime_nsec());
    assert_eq!(identity(&before), identity(&after));
    assert_eq!(digest(&path), bytes);
}

#[test]
fn data_of_others_are_refused_and_unchanged() {
    let home = home();
    let text = "Dear diary, today I measured a disk.\n".repeat(50);
    let mut database = b"SQLite format 3\0\x10\0\x01\x01\0\x40\x20\x20".to_vec();
    database.resize(40_960, 0);
    let archive = [&b"PK\x03\x04\x14\0\0\0\x08\0"[..], &[0x5A; 5000]].concat();
    for (name, data) in [("diary", text.as_bytes()), ("db", &database), ("zip", &archive)] {
        let path = home.path().join(name);
        fs::write(&path, data).expect("a file");
        let before = (digest(&path), fs::metadata(&path).expect("a file").mtime_nsec());
        let plan = plan_for(&path, TargetKind::File, 50);
        let refused = guard::check(&plan, &Permission::default(), &|_| {}).expect_err("refused");
        assert!(refused.to_string().contains("--overwrite"), "{refused}");
        let error = make(&path, MIB).expect_err("refused");
        assert!(matches!(error, PrepareError::Theirs { .. }), "{error}");
        assert_eq!((digest(&path), fs::metadata(&path).expect("a file").mtime_nsec()), before);
    }
}

#[test]
fn an_interrupted_creation_leaves_nothing() {
    let home = home();
    let path = home.path().join("made");
    let stop = AtomicBool::new(false);
    let stop_soon = |event: Event| {
        if matches!(event, Event::Filling { .. }) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let file =
        FilePlan { location: Location::here(&path), size_bytes: 256 * MIB, ..FilePlan::default() };
    let error = prepare::create(&file, false, &mut Checked::default(), &stop, &stop_soon)
        .expect_err("stopped");
    assert!(matches!(error, PrepareError::Interrupted { .. }), "{error}");
    assert_eq!(fs::read_dir(home.path()).expect("a directory").count(), 0);
}

/// What no disk takes before the second report of progress, a tenth of a second behind the first.
const LONG_TO_FILL_BYTES: u64 = 512 * MIB;

/// Interrupts the making of a file when 8 MiB of it are written, and gives what is said of it.
fn interrupted(path: &Path, overwrite: bool) -> String {
    let stop = AtomicBool::new(false);
    let stop_soon = |event: Event| {
        if matches!(event, Event::Filling { done_bytes, .. } if done_bytes >= 8 * MIB) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let file = FilePlan {
        location: Location::here(path),
        size_bytes: LONG_TO_FILL_BYTES,
        ..FilePlan::default()
    };
    let error = prepare::create(&file, overwrite, &mut Checked::default(), &stop, &stop_soon)
        .expect_err("stopped");
    assert!(matches!(error, PrepareError::Interrupted { .. }), "{error}");
    error.to_string()
}

/// An interrupted `-c` removed a file of somebody's that was there before and held no data: its owner, mode
/// and hard links were lost.
#[test]
fn an_interrupted_creation_removed_a_file_that_was_there_before() {
    let home = home();
    let zeros = vec![0; 3 << 20];
    let cases: [(&str, &[u8], bool, &str, u64); 4] = [
        ("empty", b"", false, "is empty again, as it was before", 0),
        ("zeros", &zeros, false, "zeros again, as before (3145728 bytes)", 3 * MIB),
        ("zeros-too", &zeros, true, "zeros again, as before (3145728 bytes)", 3 * MIB),
        ("notes", b"milk and bread", true, "was emptied and not removed", 0),
    ];
    for (name, data, overwrite, words, left_bytes) in cases {
        let (path, link) = (home.path().join(name), home.path().join(format!("{name}-2")));
        fs::write(&path, data).expect("a file");
        fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).expect("a mode");
        fs::hard_link(&path, &link).expect("a link");
        let before = fs::metadata(&path).expect("a file");
        let said = interrupted(&path, overwrite);
        assert!(said.contains(words), "{name}: {said}");
        let after = fs::metadata(&path).expect("it stays");
        let kept = |of: &fs::Metadata| (of.ino(), of.uid(), of.gid(), of.mode(), of.nlink());
        assert_eq!(kept(&before), kept(&after), "{name}");
        assert_eq!(after.len(), left_bytes, "{name}");
        assert!(fs::read(&link).expect("a file").iter().all(|byte| *byte == 0), "{name}");
        assert!(!attributes(&path).contains("user.fathom"), "{name}: a mark stays");
    }
    // A file of an earlier run may have been somebody's empty one before that.
    let ours = home.path().join("ours");
    make(&ours, MIB).expect("made");
    let said = interrupted(&ours, false);
    assert!(said.contains("was emptied and not removed"), "{said}");
    assert_eq!(fs::metadata(&ours).expect("it stays").len(), 0);
    // What somebody writes meanwhile stays.
    let fed = home.path().join("fed");
    fs::write(&fed, b"").expect("a file");
    let said = interrupted_by_a_writer(&fed);
    assert!(said.contains("was not removed, since somebody else may have written"), "{said}");
    assert!(fs::read(&fed).expect("it stays").starts_with(b"Dear Anna, "));
}

/// Who had it open meanwhile, and had not written yet, wrote into a file without a name.
#[test]
fn a_file_that_somebody_held_open_for_writing_was_removed_and_emptied() {
    let home = home();
    let (new, ours) = (home.path().join("new"), home.path().join("ours"));
    make(&ours, MIB).expect("made");
    for path in [new, ours] {
        let holder = Mutex::new(None);
        let stop = AtomicBool::new(false);
        let hold_and_stop = |event: Event| {
            let Event::Filling { done_bytes, .. } = event else { return };
            if done_bytes >= 8 * MIB && !stop.swap(true, Ordering::Relaxed) {
                *holder.lock().unwrap() = Some(Holder::of(&path));
            }
        };
        let location = Location::here(&path);
        let file = FilePlan { location, size_bytes: LONG_TO_FILL_BYTES, ..FilePlan::default() };
        let made = prepare::create(&file, false, &mut Checked::default(), &stop, &hold_and_stop);
        let said = made.expect_err("stopped").to_string();
        assert!(said.contains("was not removed, since somebody else may have written"), "{said}");
        drop(holder);
        assert!(fs::read(&path).expect("it stays").starts_with(b"Dear Ada, "));
    }
}

/// Another process that has a file open for writing, and writes to it at its end.
struct Holder(std::process::Child);

impl Holder {
    fn of(path: &Path) -> Self {
        let script = "exec 3<>\"$0\"; echo open; read line; printf 'Dear Ada, ' >&3";
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).arg(path).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = shell.spawn().expect("a shell");
        let mut said = [0; 5];
        child.stdout.as_mut().expect("a pipe").read_exact(&mut said).expect("it has it open");
        Self(child)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.0.stdin.take();
        self.0.wait().expect("it ends");
    }
}

/// The same, where somebody writes to the first block meanwhile, which is written last.
fn interrupted_by_a_writer(path: &Path) -> String {
    let stop = AtomicBool::new(false);
    let write_and_stop = |event: Event| {
        let Event::Filling { done_bytes, .. } = event else { return };
        if done_bytes >= 8 * MIB && !stop.swap(true, Ordering::Relaxed) {
            let file = OpenOptions::new().write(true).open(path).expect("a file");
            file.write_all_at(b"Dear Anna, ", 0).expect("a write");
        }
    };
    let file = FilePlan {
        location: Location::here(path),
        size_bytes: LONG_TO_FILL_BYTES,
        ..FilePlan::default()
    };
    prepare::create(&file, false, &mut Checked::default(), &stop, &write_and_stop)
        .expect_err("stopped")
        .to_string()
}

/// The names of the extended attributes of a file.
fn attributes(path: &Path) -> String {
    let mut file = Command::new("getfattr");
    let listed = file.args(["--absolute-names", "-m", "-"]).arg(path).output();
    listed.map(|listed| String::from_utf8_lossy(&listed.stdout).into_owned()).unwrap_or_default()
}

#[test]
fn a_torn_creation_does_not_count_as_complete() {
    let home = home();
    let path = home.path().join("made");
    make(&path, 4 * MIB).expect("made");
    let whole = fs::read(&path).expect("a file");
    let torn = home.path().join("torn");
    // What a crash leaves behind: blocks of the right content, the first one still missing.
    let file = OpenOptions::new().write(true).create_new(true).open(&torn).expect("a file");
    file.set_len(4 * MIB).expect("a length");
    file.write_all_at(&whole[4096..], 4096).expect("a write");
    assert_eq!(make(&torn, 4 * MIB).expect("made again"), Created::Remade);
}

/// Its own descriptor, which it could not give back, was taken for that of another program.
#[test]
fn a_file_that_a_run_had_made_was_in_use_where_there_is_no_proc() {
    let home = home();
    let load = "-c4M -b4K -r -w50 -W0 -d1 --stop-ios=100 made.dat";
    let script = format!("mount -t tmpfs tmpfs /proc || exit 99; exec \"$0\" {load}");
    let mut alone = Command::new("unshare");
    alone.args(["--mount", "sh", "-c"]).arg(&script).arg(env!("CARGO_BIN_EXE_diskspd"));
    let output = alone.current_dir(home.path()).output().expect("unshare");
    let said = String::from_utf8_lossy(&output.stderr);
    if said.starts_with("unshare: ") || output.status.code() == Some(99) {
        return skip("nothing can be mounted in a namespace of its own here");
    }
    assert_eq!(output.status.code(), Some(0), "{said}");
}

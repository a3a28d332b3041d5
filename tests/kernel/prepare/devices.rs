//! Block devices and file systems on them; these tests need root and two free loop devices.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use fathom_core::guard::{self, Checked, Finding};
use fathom_core::measure::Event;
use fathom_core::plan::{FilePlan, TargetKind};
use fathom_core::prepare::{self, PrepareError};
use fathom_core::request::Permission;
use fathom_core::result::{WarningKind, warnings};
use fathom_core::storage::Location;

use super::support::{Loop, Mount, make, plan_for, run, skip};

const MIB: u64 = 1 << 20;
/// The value on Linux, but for a few old architectures.
const O_EXCL: i32 = 0o200;
/// One test at a time uses the devices.
static DEVICES: Mutex<()> = Mutex::new(());

fn finding(device: &Loop, overwrite: bool) -> Option<Finding> {
    finding_at(device.path(), vec![device.token()], overwrite)
}

fn finding_at(
    device: &std::path::Path,
    allow_write: Vec<String>,
    overwrite: bool,
) -> Option<Finding> {
    let plan = plan_for(device, TargetKind::BlockDevice, 100);
    let permission = Permission { overwrite, allow_write, ..Permission::default() };
    let refusals = guard::check(&plan, &permission, &|_| {}).err()?.0;
    assert_eq!(refusals.len(), 1);
    Some(refusals[0].finding.clone())
}

#[test]
fn a_device_with_data_needs_overwrite_and_one_in_use_is_never_written() {
    let _turn = DEVICES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(device) = Loop::attach("/dev/loop4", 32 * MIB) else { return };
    assert_eq!(finding(&device, false), None);
    if !run("mkfs.ext4", &["-q", device.name()]) {
        return skip("there is no mkfs.ext4");
    }
    let found = finding(&device, false).expect("a file system");
    assert!(matches!(&found, Finding::DeviceWithData(what, None) if what.contains("ext4")));
    assert_eq!(finding(&device, true), None);
    let Some(mount) = Mount::new(&[device.name()]) else { return };
    for overwrite in [false, true] {
        let found = finding(&device, overwrite).expect("in use");
        let place = mount.path().to_str().expect("a plain name");
        assert!(
            matches!(&found, Finding::DeviceInUse(how) if how.to_string().contains(place)),
            "{found}"
        );
    }
}

#[test]
fn a_device_that_another_device_is_made_of_is_never_written() {
    let _turn = DEVICES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(device) = Loop::attach("/dev/loop4", 32 * MIB) else { return };
    // `O_EXCL` without creation claims a block device, as a mount does.
    let claim = OpenOptions::new().read(true).custom_flags(O_EXCL).open(device.path());
    let claimed = claim.expect("nobody else claims it");
    let found = finding(&device, true).expect("claimed");
    assert!(
        matches!(&found, Finding::DeviceInUse(how) if how.to_string().contains("claimed")),
        "{found}"
    );
    drop(claimed);
    assert_eq!(finding(&device, true), None);
}

#[test]
fn a_swap_area_and_a_partition_table_are_recognised() {
    let _turn = DEVICES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(device) = Loop::attach("/dev/loop5", 16 * MIB) else { return };
    assert!(run("mkswap", &[device.name()]));
    let found = finding(&device, false).expect("a swap area");
    assert!(matches!(&found, Finding::DeviceWithData(what, None) if what.contains("swap")));
    let disk = OpenOptions::new().write(true).open(device.path()).expect("a device");
    disk.write_all_at(&[0; 8192], 0).expect("a write");
    let script =
        format!("echo 'label: gpt' | sfdisk -q --no-reread --no-tell-kernel {}", device.name());
    if !run("sh", &["-c", &script]) {
        return skip("there is no sfdisk");
    }
    disk.write_all_at(&vec![0; 65_536], 0).expect("a write");
    disk.sync_all().expect("a sync");
    let found = finding(&device, false).expect("a partition table");
    assert!(matches!(&found, Finding::DeviceWithData(what, None) if what.contains("GPT")));
}

#[test]
fn a_device_of_zeros_is_doubted_for_them() {
    let _turn = DEVICES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(device) = Loop::attach("/dev/loop5", 16 * MIB) else { return };
    let plan = plan_for(device.path(), TargetKind::BlockDevice, 0);
    let found = warnings::before(&plan);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].kind, WarningKind::AllZeroData);
}

/// The device of the root file system, if it shows as one.
fn root_device() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let root = mounts.lines().find(|line| line.split(' ').nth(4) == Some("/"))?;
    let source = root.split_once(" - ")?.1.split(' ').nth(1)?;
    source.starts_with("/dev/").then(|| PathBuf::from(source)).filter(|path| path.exists())
}

#[test]
fn the_device_of_the_root_is_never_written() {
    let Some(device) = root_device() else { return skip("the root lies on no block device") };
    for overwrite in [false, true] {
        let found = finding_at(&device, Vec::new(), overwrite).expect("refused");
        assert!(
            matches!(&found, Finding::Protected(how) if how.to_string().contains("root")),
            "{found}"
        );
    }
}

#[test]
fn room_that_runs_out_midway_leaves_nothing_behind() {
    let _turn = DEVICES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(device) = Loop::attach("/dev/loop4", 64 * MIB) else { return };
    // ext2 cannot reserve blocks, so the room can still go to somebody else.
    if !run("mkfs.ext2", &["-q", "-m", "0", device.name()]) {
        return skip("there is no mkfs.ext2");
    }
    let Some(mount) = Mount::new(&[device.name()]) else { return };
    let path = mount.path().join("made");
    let rival = mount.path().join("rival");
    let take_room = |event: Event| {
        if matches!(event, Event::Filling { done_bytes: 0, .. }) {
            fs::write(&rival, vec![1; 40 << 20]).expect("room for the rival");
        }
    };
    let file =
        FilePlan { location: Location::here(&path), size_bytes: 40 * MIB, ..FilePlan::default() };
    let error =
        prepare::create(&file, false, &mut Checked::default(), &AtomicBool::new(false), &take_room);
    let error = error.expect_err("no room");
    assert!(matches!(error, PrepareError::RanOut { .. }), "{error}");
    assert!(!path.exists());
    fs::remove_file(&rival).expect("the rival goes");
    make(&path, 40 * MIB).expect("room again");
}

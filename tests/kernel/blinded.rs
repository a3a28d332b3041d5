//! What cannot be looked at is not taken for nothing: a block that cannot be read, folders that this account
//! may not enter, layers of overlays whose names lead nowhere.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use crate::bench::{Bench, bytes, skip};
use crate::faults::fault_fs::{Answer, FaultFs, Kind};
use crate::policy::{behind, under_policy_behind};
use crate::prepare::support::run;
use crate::unseen::{LOAD, is_refused, told, turn, zeros};

/// Input/output error.
const EIO: i32 = 5;
/// The account of `nobody`.
const OTHER: u32 = 65534;
/// Takes from root that it may go everywhere.
const BOUND: &str = "AS='setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-all'";

/// Makes a folder that only another account may enter.
fn lock(folder: &Path) {
    chown(folder, Some(OTHER), Some(OTHER)).unwrap();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
}

fn has_setpriv() -> bool {
    let is_there = Command::new("setpriv").arg("--version").output().is_ok();
    if !is_there {
        skip("there is no setpriv here");
    }
    is_there
}

/// A loop device over a file of which a block cannot be read.
struct Damaged {
    device: &'static str,
    _file: FaultFs,
}

impl Damaged {
    fn attach(device: &'static str) -> Option<Self> {
        let is_bad = |offset: u64| (2 << 20..(2 << 20) + 8192).contains(&offset);
        let script = move |_, kind, offset| match kind {
            Kind::Read if is_bad(offset) => Answer::Fail(EIO),
            _ => Answer::Zeros,
        };
        let parent = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let Ok(file) = FaultFs::mount_for_all(parent, 64 << 20, script) else {
            skip("a file system of one's own cannot be mounted");
            return None;
        };
        if run("losetup", &["--direct-io=off", device, file.file().to_str().unwrap()]) {
            return Some(Self { device, _file: file });
        }
        skip(&format!("{device} cannot be attached"));
        None
    }
}

impl Drop for Damaged {
    fn drop(&mut self) {
        run("losetup", &["-d", self.device]);
    }
}

/// One block that libblkid could not read made it find nothing at all, also what stands before that block.
#[test]
fn a_block_that_cannot_be_read_hid_what_a_device_holds() {
    let _turn = turn();
    let Some(damaged) = Damaged::attach("/dev/loop7") else { return };
    let device = damaged.device;
    let leave = format!("--allow-write={device}:{}", 64 << 20);
    let explain =
        |more: &str| Bench::new().run(&format!("{LOAD} --explain {more} {leave} {device}"));
    let output = explain("");
    let words = format!("{}{}", String::from_utf8_lossy(&output.stdout), told(&output));
    assert_eq!(output.status.code(), Some(2), "{words}");
    assert!(words.contains("cannot be read everywhere"), "{words}");
    assert!(words.contains("--overwrite"), "{words}");
    let output = explain("--overwrite");
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
}

#[test]
fn a_protected_folder_behind_one_that_may_not_be_entered_was_written_under_other_names() {
    if !has_setpriv() {
        return;
    }
    let bench = Bench::new();
    for name in ["srv/db/sub", "out"] {
        fs::create_dir_all(bench.path(name)).unwrap();
    }
    let kept = bench.path("srv/db/sub/f.dat");
    zeros(&kept);
    zeros(&bench.path("t.dat"));
    fs::hard_link(&kept, bench.path("hard")).unwrap();
    lock(&bench.path("srv"));
    let (protect, zeros) =
        (format!("protect = [\"{}\"]", bench.path("srv/db").display()), bytes(&kept));
    let first = format!("mount --bind srv/db/sub out && {BOUND}");
    let run = |args: &str| {
        let args = format!("{LOAD} --overwrite {args}");
        under_policy_behind(&first, &bench, &protect, 0o644, &args)
    };
    for args in ["out/f.dat", "-c1M out/new.dat", "hard"] {
        let Some(output) = run(args) else { return };
        is_refused(&output, "protect = [", &kept, &zeros);
        assert!(!bench.path("srv/db/sub/new.dat").exists(), "{args}");
    }
    let output = run("t.dat").unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
}

/// The kernel shows the names that were given: relative ones lead elsewhere, or nowhere, from here.
#[test]
fn an_overlay_with_layers_that_nobody_finds_is_in_doubt_beside_what_is_protected() {
    let bench = Bench::new();
    for name in ["ov/low", "ov/up", "ov/wk", "ov/m"] {
        fs::create_dir_all(bench.path(name)).unwrap();
    }
    zeros(&bench.path("ov/up/f"));
    let before = bytes(&bench.path("ov/up/f"));
    let mount = "mount -t overlay none -o lowerdir=low,upperdir=up,workdir=wk m";
    let mount = format!("cd ov && {mount} && cd ..");
    for (protected, target) in [("ov/m", "ov/up/f"), ("ov/up", "ov/m/f")] {
        let args = format!("{LOAD} --strict --protect={protected} {target}");
        let Some(output) = behind(&mount, &bench, &args) else { return };
        is_refused(&output, "layers cannot be reached from here", &bench.path("ov/up/f"), &before);
    }
    // Nor is anything made there.
    let args = format!("{LOAD} --strict --protect=ov/m -c1M ov/up/new");
    let output = behind(&mount, &bench, &args).unwrap();
    is_refused(&output, "layers cannot be reached from here", &bench.path("ov/up/f"), &before);
    assert!(!bench.path("ov/up/new").exists());
    // Layers that are found leave nothing in doubt, whatever else is protected.
    let whole =
        mount.replace("=low", "=$PWD/low").replace("=up", "=$PWD/up").replace("=wk", "=$PWD/wk");
    fs::create_dir(bench.path("else")).unwrap();
    let output = behind(&whole, &bench, &format!("{LOAD} --strict --protect=else ov/m/f")).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
}

/// The file of the lower layer was taken for the data, as the upper one could not be looked at.
#[test]
fn a_layer_that_may_not_be_looked_at_is_not_passed_over() {
    if !has_setpriv() {
        return;
    }
    let bench = Bench::new();
    for name in ["low", "locked/up", "locked/wk", "m"] {
        fs::create_dir_all(bench.path(name)).unwrap();
    }
    zeros(&bench.path("low/f"));
    zeros(&bench.path("locked/up/f"));
    let before = bytes(&bench.path("locked/up/f"));
    let mount = "mount -t overlay none -o lowerdir=$PWD/low,upperdir=$PWD/locked/up,workdir=$PWD/locked/wk m";
    lock(&bench.path("locked"));
    let args = format!("{LOAD} --strict --overwrite m/f");
    let Some(output) = behind(&format!("{mount} && {BOUND}"), &bench, &args) else { return };
    is_refused(&output, "layers cannot be reached from here", &bench.path("locked/up/f"), &before);
}

#[test]
fn a_policy_that_is_a_link_to_nothing_was_no_policy() {
    let place = "/etc/fathom/policy.toml";
    let args = format!("{LOAD} z.dat");
    for first in [
        format!("rm {place} && ln -s /nowhere/policy.toml {place}"),
        "umount /etc/fathom && rmdir /etc/fathom && ln -s /nowhere /etc/fathom".to_owned(),
    ] {
        let bench = Bench::new();
        zeros(&bench.path("z.dat"));
        let before = bytes(&bench.path("z.dat"));
        let Some(output) = under_policy_behind(&first, &bench, "", 0o644, &args) else { return };
        is_refused(&output, "a link to what is not there", &bench.path("z.dat"), &before);
    }
}

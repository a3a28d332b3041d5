//! A control group that limits memory: the kernel would end the process, so it is reported before.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::bench::{Bench, skip};
use crate::prepare::support::Mount;

const MIB: u64 = 1 << 20;

/// How many groups have been made here: each has a name of its own.
static MADE: AtomicU32 = AtomicU32::new(0);

/// A group with a limit, which is removed in the end.
struct Group(PathBuf);

impl Group {
    /// Of version 1 where that has the memory, otherwise of version 2.
    fn with_memory(bytes: u64) -> Option<Self> {
        let (first, second) = (Path::new("/sys/fs/cgroup/memory"), Path::new("/sys/fs/cgroup"));
        let is_first = first.join("memory.limit_in_bytes").exists();
        let (parent, file) =
            if is_first { (first, "memory.limit_in_bytes") } else { (second, "memory.max") };
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let made = Self(parent.join(format!("fathom-test-{}-{number}", std::process::id())));
        let limit = || {
            std::fs::create_dir(&made.0)?;
            std::fs::write(made.0.join(file), bytes.to_string())
        };
        match limit() {
            Ok(()) => Some(made),
            Err(error) => {
                skip(&format!("no control group can be made: {error}"));
                None
            }
        }
    }

    fn run(&self, bench: &Bench, args: &str) -> Output {
        let join = "echo $$ > \"$1/cgroup.procs\" && shift && exec \"$@\"";
        let mut command = Command::new("sh");
        command.args(["-c", join, "sh"]).arg(&self.0).arg(env!("CARGO_BIN_EXE_diskspd"));
        command.args(args.split_whitespace()).current_dir(bench.path(".")).output().unwrap()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _removed = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn memory_that_a_control_group_does_not_leave_is_told_and_nobody_is_killed() {
    let bench = Bench::new();
    let Some(group) = Group::with_memory(128 * MIB) else { return };
    let output = group.run(&bench, "-W0 -d1 -b1M -f16M -r -o512 -Su t.dat");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.signal(), None, "it was killed");
    assert_eq!(output.status.code(), Some(3), "{words}");
    let name = group.0.file_name().unwrap().to_str().unwrap();
    for told in [name, "536870912 bytes", "of its 134217728 bytes of memory left"] {
        assert!(words.contains(told), "{told}: {words}");
    }
    // What fits is used, also where a file is made that is larger than the group.
    for args in ["-W0 -d1 -b1M -f16M -r -o64 -Su t.dat", "-W0 -d1 -b64K -c256M large.dat"] {
        let output = group.run(&bench, args);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{args}: {words}");
    }
}

#[test]
fn a_file_that_does_not_fit_into_memory_is_not_begun() {
    let Some(mount) = Mount::new(&["-t", "tmpfs", "-o", "size=1t", "tmpfs"]) else { return };
    let (bench, file) = (Bench::new(), mount.path().join("t.dat"));
    let file = file.display();
    let refused = |output: &Output, what: &str| {
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{what}: {words}");
        assert!(words.contains("not enough space"), "{what}: {words}");
        assert_eq!(std::fs::read_dir(mount.path()).unwrap().count(), 0, "{what}");
    };
    refused(&bench.run(&format!("-W0 -d1 -c900G {file}")), "more than the host has");
    let Some(group) = Group::with_memory(128 * MIB) else { return };
    refused(&group.run(&bench, &format!("-W0 -d1 -c256M {file}")), "more than the group allows");
    let output = group.run(&bench, &format!("-W0 -d1 -c32M {file}"));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

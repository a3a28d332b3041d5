//! What the system allows to nobody, or to administrators alone, by a switch of the kernel.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const SWITCH: &str = "/proc/sys/kernel/io_uring_disabled";
const NOBODY: [&str; 4] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

/// The switch as it was, whatever becomes of the test: a process beside puts it back a few seconds later.
struct Lent {
    before: String,
    keeper: Child,
}

impl Lent {
    fn take() -> Option<Self> {
        let before = fs::read_to_string(SWITCH).ok()?.trim().to_owned();
        let restore = format!("sleep 10; echo {before} > {SWITCH}");
        fs::write(SWITCH, &before).ok()?;
        let keeper =
            Command::new("setsid").args(["sh", "-c", &restore]).stdin(Stdio::null()).spawn();
        Some(Self { before, keeper: keeper.ok()? })
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if fs::write(SWITCH, &self.before).is_ok() {
            let _ended = self.keeper.kill().and_then(|()| self.keeper.wait());
        }
    }
}

/// Exit code and all that is reported.
fn run(folder: &Path, who: &[&str], args: &str) -> (Option<i32>, String) {
    let line = format!("./diskspd -W0 -d30 -b4K --stop-ios=20 {args} t.dat");
    let words: Vec<&str> = who.iter().copied().chain(line.split_whitespace()).collect();
    let output = Command::new(words[0]).args(&words[1..]).current_dir(folder).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn io_uring_that_the_system_forbids_is_told_and_another_engine_is_used() {
    let _turn = crate::turn();
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_diskspd"), folder.path().join("diskspd")).unwrap();
    fs::write(folder.path().join("t.dat"), vec![7; 1 << 20]).unwrap();
    let here = folder.path();
    if run(here, &NOBODY, "").0 != Some(0) || run(here, &[], "--engine=uring").0 != Some(0) {
        return skip("only root can run as another account, and io_uring must work");
    }
    let Some(lent) = Lent::take() else {
        return skip("there is no kernel.io_uring_disabled that may be set here");
    };
    for (level, who, is_allowed) in
        [("1", &NOBODY[..], false), ("1", &[], true), ("2", &NOBODY[..], false), ("2", &[], false)]
    {
        fs::write(SWITCH, level).unwrap();
        let (code, told) = run(here, who, "--engine=uring");
        assert_eq!(code == Some(0), is_allowed, "{level} {who:?}: {told}");
        assert_eq!(told.contains("sysctl kernel.io_uring_disabled"), !is_allowed, "{told}");
        let (code, told) = run(here, who, "");
        assert_eq!(code, Some(0), "{level} {who:?}: {told}");
        let fell_back = told.contains("used libaio: io_uring is not available");
        assert_eq!(fell_back, !is_allowed, "{level} {who:?}: {told}");
    }
    drop(lent);
}

#[expect(clippy::print_stderr, reason = "a skipped test says why")]
fn skip(reason: &str) {
    eprintln!("left out: {reason}");
}

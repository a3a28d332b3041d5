//! Tests that need a network, mounts and processes of their own.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::server::skip;

/// Set where a test runs in namespaces of its own.
pub const INSIDE: &str = "FATHOM_TEST_INSIDE_NAMESPACE";

/// Runs a test of this name in namespaces of its own; whether this is already there.
pub fn is_inside(name: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let prepared = "mount -t tmpfs tmpfs /run && ip link set lo up";
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", "120", "unshare", "--net", "--mount", "--pid", "--fork"]);
    command.args(["--mount-proc", "--kill-child", "sh", "-c"]);
    // Status 75: it cannot be done here.
    command.arg(format!("{{ {prepared}; }} || exit 75; exec \"$0\" \"$@\""));
    command.arg(std::env::current_exe().unwrap()).args(["--exact", name, "--nocapture"]);
    let ran = command.env(INSIDE, "1").stdin(Stdio::null()).output();
    match ran {
        Ok(output) if output.status.success() => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            if let Some(reason) = said.lines().find_map(|line| line.strip_prefix("skipped: ")) {
                skip(reason);
            }
        }
        Ok(output) => {
            let words =
                [output.stdout, output.stderr].map(|b| String::from_utf8_lossy(&b).into_owned());
            let is_refused = words[1].starts_with("unshare:");
            if output.status.code() == Some(75) || is_refused {
                skip(&format!("no namespaces can be made here ({})", words[1].trim()));
            } else {
                panic!("inside ({}): {}", output.status, words.join("\n"));
            }
        }
        Err(error) => skip(&format!("no namespaces can be made here ({error})")),
    }
    false
}

/// A file system of 9 MiB, only there inside.
pub fn small_file_system() -> PathBuf {
    let folder = PathBuf::from("/run/full");
    std::fs::create_dir(&folder).unwrap();
    let mut mount = Command::new("mount");
    let mounted = mount.args(["-t", "tmpfs", "-o", "size=9m", "tmpfs"]).arg(&folder).status();
    assert!(mounted.unwrap().success());
    folder
}

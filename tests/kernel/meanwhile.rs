//! What another program writes to a file while a run writes to it, too: it stays that program's.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::bench::{Bench, bytes, skip};

/// Writes `theirs` to the file at an offset on one of these ways, says so, and ends when its input does.
const WRITER: &str = r#"
import array, mmap, os, socket, sys
way, path, at = sys.argv[1], sys.argv[2], int(sys.argv[3])
def write(fd): os.pwrite(fd, b"theirs", at)
if way == "write":
    fd = os.open(path, os.O_WRONLY); write(fd); os.close(fd)
elif way == "read":
    fd = os.open(path, os.O_RDONLY); os.pread(fd, 4096, 0); os.close(fd)
elif way == "held":
    kept = os.open(path, os.O_WRONLY); write(kept)
elif way.startswith("mapping"):
    fd = os.open(path, os.O_RDWR); view = mmap.mmap(fd, 0); os.close(fd)
    view[at:at + 6] = b"theirs"
    if way == "mapping": view.close()
elif way.startswith("passed"):
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    fd = os.open(path, os.O_WRONLY)
    one.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
    os.close(fd)
    if way == "passed and received":
        if os.fork() == 0:
            got = array.array("i"); told = other.recvmsg(1, socket.CMSG_LEN(4))
            got.frombytes(told[1][0][2][:4]); write(got[0]); os._exit(0)
        os.wait()
    else:
        fd = os.open(path, os.O_WRONLY); write(fd); os.close(fd)
print("done", flush=True)
sys.stdin.read()
"#;

/// Ways on which others write: at once, and so that the file stays open beyond the run.
const WAYS: [&str; 6] =
    ["write", "mapping", "passed and received", "held", "mapping kept", "passed and in flight"];
const SIZE: u64 = 4 << 20;
/// Runs write before it, the others behind it.
const OURS: &str = "-f1M";
const THEIRS: u64 = (3 << 20) + 77;

/// Another program; none if there is no Python here.
fn other(way: &str, path: &Path) -> Option<Child> {
    let mut command = Command::new("python3");
    command.args(["-c", WRITER, way]).arg(path).arg(THEIRS.to_string());
    let Ok(mut child) = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
        skip("there is no python3");
        return None;
    };
    let mut told = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut told).unwrap();
    assert_eq!(told, "done\n", "{way}");
    Some(child)
}

fn end(mut other: Child) {
    drop(other.stdin.take());
    assert!(other.wait().unwrap().success());
}

fn made() -> (Bench, PathBuf) {
    let bench = Bench::new();
    bench.measure_ios(16, "-c4M -w100 -b4K f.dat");
    let path = bench.path("f.dat");
    assert_eq!(bytes(&path).len() as u64, SIZE);
    (bench, path)
}

/// The next run is refused, and what the others wrote is there.
fn must_be_refused(bench: &Bench, path: &Path, how: &str) {
    let before = bytes(path);
    let there = usize::try_from(THEIRS).unwrap();
    assert_eq!(&before[there..there + 6], b"theirs", "{how}");
    for args in ["-w100", "-w1 -Sm", "-c4M -w100", "-c1M"] {
        let output = bench.run(&format!("{args} -d1 -W0 -b4K f.dat"));
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{how}, then {args}: {told}");
        assert!(bytes(path) == before, "{how}, then {args}");
    }
    let output = bench.run("-w100 -d30 -W0 -b4K --stop-ios=16 --overwrite f.dat");
    assert_eq!(output.status.code(), Some(0), "{how}");
}

/// A run, on one of the ways of which others write meanwhile.
fn meet(way: &str, options: &str, made: impl FnOnce() -> (Bench, PathBuf)) {
    let (bench, path) = made();
    let running = bench.start(&format!("-w100 -d2 -W0 -b4K -g1000 {OURS} {options} f.dat"));
    let Some(other) = other(way, &path) else { return };
    let ended = running.wait();
    assert_eq!(ended.code, Some(0), "{way}: {}", ended.stderr);
    end(other);
    must_be_refused(&bench, &path, way);
}

#[test]
fn what_others_wrote_while_a_run_wrote_to_the_file_was_taken_for_ours() {
    at_once(&WAYS, |way| meet(way, "", made));
}

#[test]
fn what_others_wrote_to_a_file_that_the_run_had_just_made_was_taken_for_ours() {
    let none = || {
        let bench = Bench::new();
        let path = bench.path("f.dat");
        (bench, path)
    };
    at_once(&["write", "mapping kept"], |way| meet(way, "-c4M", none));
}

/// Writes of 7 bytes prove nothing by themselves: only the state in which the file was left does.
#[test]
fn files_that_nobody_else_has_written_stay_ours_whatever_wrote_them() {
    const LOAD: &str = "-w100 -W0 -d30 -b7 -Sb --stop-ios=99";
    let (_bench, path) = made();
    if !has_watch(&path) {
        return skip("this kernel or file system tells nobody who closes files");
    }
    let ways = [
        "-o4",
        "-t3 -o2",
        "--engine=aio -o4",
        "--engine=sync -t2",
        "-Sm -t2",
        "-t2 -o4 -x",
        "-w50 -r",
    ];
    at_once(&ways, |options| {
        let (bench, _) = made();
        for round in 0..3 {
            let output = bench.run(&format!("{LOAD} {options} f.dat"));
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(0), "{options}, round {round}: {told}");
        }
    });
}

#[test]
fn who_only_reads_a_file_meanwhile_changes_nothing() {
    let (bench, path) = made();
    if !has_watch(&path) {
        return skip("this kernel or file system tells nobody who closes files");
    }
    let running = bench.start("-w100 -W0 -d2 -b7 -Sb -g100 f.dat");
    let Some(other) = other("read", &path) else { return };
    assert_eq!(running.wait().code, Some(0));
    end(other);
    let output = bench.run("-w100 -W0 -d30 -b7 -Sb --stop-ios=9 f.dat");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{told}");
}

fn at_once(ways: &[&str], each: impl Fn(&str) + Sync) {
    std::thread::scope(|scope| {
        for way in ways {
            scope.spawn(|| each(way));
        }
    });
}

fn has_watch(path: &Path) -> bool {
    let watch = fathom_sys::watch::Watch::new();
    watch.is_ok_and(|watch| watch.add(&std::fs::File::open(path).unwrap()).is_ok())
}

//! Each feature without what it needs: docs/privileges.md says what a person is told, and here it is run.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::skip;
use crate::prepare::support::run;

pub const NOBODY: &str = "setpriv --reuid=65534 --regid=65534 --clear-groups";

/// Feature, what is taken away, arguments.
const CASES: &[(&str, &str, &str)] = &[
    ("read a file", NOBODY, "secret.dat"),
    ("write a file", NOBODY, "-w100 --overwrite t.dat"),
    ("write a file that `chattr +i` fixed", "FIXED +i", "-w100 --overwrite fixed.dat"),
    ("write a file that `chattr +a` fixed", "FIXED +a", "-w100 --overwrite fixed.dat"),
    ("read a device", NOBODY, "DEVICE"),
    ("a device by a node where none is opened (`nodev`)", "NODEV", "closed/disk"),
    ("create a file (`-c`)", NOBODY, "-c1M closed/new.dat"),
    ("a file of this size (`-c`)", "prlimit --fsize=100000", "-c1M large.dat"),
    ("a result (`--json`)", NOBODY, "--json=closed/r.json t.dat"),
    ("a result in the place of one that `chattr +i` fixed", "FIXED +i", "--json=fixed.dat t.dat"),
    ("a result in the place of another account's (`/tmp`)", NOBODY, "--json=sticky/r.json t.dat"),
    ("a journal (`--verify-journal`)", NOBODY, "--verify-journal=closed/j t.dat"),
    ("io_uring (`--engine=uring`)", "DENY 425", "--engine=uring t.dat"),
    ("io_uring, memory", "NOBODY_WITHOUT_MEMLOCK", "--engine=uring t.dat"),
    ("the best engine", "DENY 425", "t.dat"),
    ("any asynchronous engine", "DENY 425,206", "-Su t.dat"),
    ("io_uring with a kernel thread (`--sqpoll`)", "NOBODY_WITHOUT_MEMLOCK", "--sqpoll t.dat"),
    ("threads (`-t`, `-F`)", "NOBODY_WITHOUT_THREADS", "-t4 t.dat"),
    ("open files (targets times threads)", "NOBODY_WITHOUT_FILES", "-t64 t.dat"),
    ("buffers (`-b` times `-o`)", "NOBODY_WITHOUT_ADDRESSES", "-b64K -o4096 t.dat"),
    ("who uses a file", NOBODY, "-w100 zeros.dat"),
    ("who uses a file, for certain (`--strict`)", NOBODY, "-w100 --strict zeros.dat"),
    ("large pages (`-l`)", "", "-l t.dat"),
    ("a CPU (`-a`)", "taskset -c 0", "-a1 t.dat"),
    ("I/O priority (`-I1`, `-I2`)", "DENY 251", "-I1 t.dat"),
    ("counts of processes (`-ePROCESS`)", NOBODY, "-ePROCESS t.dat"),
    ("counts of images (`-eIMAGE_LOAD`)", NOBODY, "-eIMAGE_LOAD t.dat"),
    ("polled I/O (`--polled`)", "", "--polled -Su t.dat"),
];

/// Denies system calls as the sandbox of a container does: a filter for seccomp(2) with one comparison per
/// number, all others being allowed.
pub const DENY: &str = r#"
import ctypes, os, struct, sys
numbers = [int(one) for one in sys.argv[1].split(",")]
one = lambda code, yes, no, value: struct.pack("HBBI", code, yes, no, value)
code = one(0x20, 0, 0, 0)
for number in numbers:
    code += one(0x15, 0, 1, number) + one(0x06, 0, 0, 0x50000 | 1)
code += one(0x06, 0, 0, 0x7FFF0000)
kept = ctypes.create_string_buffer(code)
program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(kept))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.create_string_buffer(program), 0, 0) == 0
os.execv(sys.argv[2], sys.argv[2:])
"#;

/// A node of a device where the kernel opens none.
const NODEV: &str = r#"
mount -t tmpfs -o nodev tmpfs closed && cp -a "$1" closed/disk && shift && exec "$@"
"#;

/// A file that even root may not write.
const FIXED: &str = r#"
how=$1; shift
chattr "$how" fixed.dat || exit 99
"$@"
chattr -i -a fixed.dat
"#;

/// The rows of the table: feature and what is reported.
fn table() -> BTreeMap<String, String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/privileges.md");
    let page = fs::read_to_string(page).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| feature"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        assert_eq!(cells.len(), 3, "{line}");
        (cells[0].to_owned(), cells[2].trim_matches('`').to_owned())
    };
    // Those of the lab are run by tests/python/test_privileges.py.
    rows.map(row).filter(|(feature, _)| !feature.starts_with("`fathom ")).collect()
}

/// A folder that everybody may enter, with the program in it.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let set =
        |path: PathBuf, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_diskspd"), place("diskspd")).unwrap();
    fs::create_dir(place("closed")).unwrap();
    for (name, mode, byte) in [
        ("t.dat", 0o644, 7),
        ("secret.dat", 0o600, 7),
        ("zeros.dat", 0o666, 0),
        ("fixed.dat", 0o644, 0),
    ] {
        fs::write(place(name), vec![byte; 1 << 20]).unwrap();
        set(place(name), mode);
    }
    fs::write(place("deny.py"), DENY).unwrap();
    fs::write(place("nodev.sh"), NODEV).unwrap();
    fs::write(place("fixed.sh"), FIXED).unwrap();
    set(place("diskspd"), 0o755);
    set(place("closed"), 0o755);
    fs::create_dir(place("sticky")).unwrap();
    fs::write(place("sticky/r.json"), "").unwrap();
    set(place("sticky/r.json"), 0o666);
    set(place("sticky"), 0o1777);
    set(folder.path().to_owned(), 0o755);
    folder
}

/// A block device that only root and its group may read.
fn device() -> Option<String> {
    let disks = fs::read_dir("/sys/block").ok()?.flatten();
    let named = disks.map(|disk| format!("/dev/{}", disk.file_name().to_string_lossy()));
    // Loop devices come and go with other tests.
    let (others, loops): (Vec<_>, Vec<_>) = named.partition(|path| !path.starts_with("/dev/loop"));
    others.into_iter().chain(loops).find(|path| {
        let size = path.replace("/dev/", "/sys/block/") + "/size";
        let has_data = fs::read_to_string(size).is_ok_and(|size| size.trim() != "0");
        has_data && fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o004 == 0)
    })
}

/// What is reported without it; nothing if that cannot be taken away here.
fn told(folder: &Path, without: &str, args: &str) -> Option<String> {
    let without = match without.split_once(' ') {
        _ if without == "NODEV" => format!("unshare --mount sh nodev.sh {}", device()?),
        Some(("FIXED", how)) => format!("sh fixed.sh {how}"),
        Some(("DENY", numbers)) => format!("python3 deny.py {numbers}"),
        _ if without == "NOBODY_WITHOUT_MEMLOCK" => format!("{NOBODY} prlimit --memlock=0"),
        _ if without == "NOBODY_WITHOUT_FILES" => format!("{NOBODY} prlimit --nofile=48:48"),
        _ if without == "NOBODY_WITHOUT_ADDRESSES" => format!("{NOBODY} prlimit --as=200000000"),
        _ if without == "NOBODY_WITHOUT_THREADS" => format!("{NOBODY} prlimit --nproc=1"),
        _ => without.to_owned(),
    };
    let args = if args == "DEVICE" { device()? } else { args.to_owned() };
    let line = format!("{without} ./diskspd -W0 -d1 -b4K {args}");
    let mut words = line.split_whitespace();
    let output = Command::new(words.next()?).args(words).current_dir(folder).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    let is_fixable = output.status.code() != Some(99);
    is_fixable.then(|| String::from_utf8_lossy(&text).into_owned())
}

/// Whether this machine gives everybody what a row takes away.
fn is_given_here(feature: &str) -> bool {
    let number = |path: &str| -> i64 {
        fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    };
    match feature {
        "large pages (`-l`)" => number("/proc/sys/vm/nr_hugepages") > 0,
        "a CPU (`-a`)" => std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() < 2),
        "counts of images (`-eIMAGE_LOAD`)" => number("/proc/sys/kernel/perf_event_paranoid") < 1,
        _ => false,
    }
}

/// The first part of a sentence (`this ... that`) that does not follow the others in the output.
fn missing<'a>(sentence: &'a str, told: &str) -> Option<&'a str> {
    let mut rest = told;
    sentence.split("...").map(str::trim).filter(|part| !part.is_empty()).find(|part| {
        let found = rest.find(part);
        rest = &rest[found.map_or(0, |at| at + part.len())..];
        found.is_none()
    })
}

#[test]
fn each_feature_without_what_it_needs_says_so() {
    let words: Vec<&str> = NOBODY.split_whitespace().collect();
    if !run(words[0], &[&words[1..], &["true"]].concat()) {
        return skip("only root can take privileges away from others");
    }
    let (mut rows, mut wrong) = (table(), Vec::new());
    let folder = folder();
    for &(feature, without, args) in CASES {
        let sentence = rows.remove(feature).unwrap_or_else(|| panic!("no row for {feature}"));
        if is_given_here(feature) {
            skip(&format!("{feature}: this machine gives it to everybody"));
            continue;
        }
        let Some(told) = told(folder.path(), without, args) else {
            skip(&format!("{feature}: it cannot be taken away here"));
            continue;
        };
        wrong.extend(
            missing(&sentence, &told).map(|part| format!("{feature}: no '{part}' in: {told}")),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(rows.is_empty(), "rows that are not tested: {:?}", rows.keys());
}

/// Filters of system calls that are older than `faccessat2` (439 everywhere) deny it.
#[test]
fn a_look_that_a_sandbox_denied_refused_what_could_be_opened() {
    let folder = folder();
    let runs = ["t.dat", "-w100 zeros.dat", "-c1M new.dat", "--json=r.json t.dat"];
    for args in runs.map(|args| format!("--stop-ios=5 {args}")) {
        let Some(told) = told(folder.path(), "DENY 439", &args) else {
            return skip("there is no Python");
        };
        assert!(told.contains("avg.") && !told.contains("ERROR"), "{args}: {told}");
    }
}

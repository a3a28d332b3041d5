//! What the policy of the machine and the stores of the lab forbid, whatever is given.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Output;

use crate::bench::{Bench, bytes, skip};
use crate::prepare::support::Loop;
use crate::unseen::{LOAD, apart, is_refused, told, turn, zeros};

/// Runs with a policy, which a mount of its own namespace puts in its place.
fn under_policy(bench: &Bench, policy: &str, mode: u32, args: &str) -> Option<Output> {
    under_policy_behind("true", bench, policy, mode, args)
}

/// The same, behind another command of the shell in that namespace. What it puts into `$AS` runs the load.
pub fn under_policy_behind(
    first: &str,
    bench: &Bench,
    policy: &str,
    mode: u32,
    args: &str,
) -> Option<Output> {
    let place = bench.path("policy");
    fs::create_dir_all(&place).unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(place.join("policy.toml"), policy).unwrap();
    fs::set_permissions(place.join("policy.toml"), fs::Permissions::from_mode(mode)).unwrap();
    for name in ["upper", "work"] {
        fs::create_dir_all(bench.path(name)).unwrap();
    }
    let at = |name: &str| bench.path(name).display().to_string();
    let mut command = apart(&["--mount"])?;
    let script = format!(
        "mount -t overlay overlay -o lowerdir=/etc,upperdir={},workdir={} /etc && mkdir -p /etc/fathom && \
         mount --bind {} /etc/fathom && cd {} && {first} && exec $AS {} {args}",
        at("upper"),
        at("work"),
        at("policy"),
        at(""),
        env!("CARGO_BIN_EXE_diskspd"),
    );
    let output = command.args(["sh", "-c", &script]).output().unwrap();
    if output.status.code() == Some(32) {
        skip("nothing may be mounted over /etc here");
        return None;
    }
    Some(output)
}

#[test]
fn the_policy_of_the_machine_has_the_last_word() {
    let bench = Bench::new();
    fs::write(bench.path("letter"), "Dear Ada, how are you?\n".repeat(1000)).unwrap();
    zeros(&bench.path("z.dat"));
    let letter = format!("{LOAD} --overwrite letter");
    let before = bytes(&bench.path("letter"));
    for (policy, words) in [
        ("overwrite = \"forbid\"", "overwrite = \"forbid\" in /etc/fathom/policy.toml"),
        ("write = \"only-made\"", "write = \"only-made\" in /etc/fathom/policy.toml"),
        ("overwite = \"forbid\"", "there is no key \"overwite\""),
    ] {
        let Some(output) = under_policy(&bench, policy, 0o644, &letter) else { return };
        is_refused(&output, words, &bench.path("letter"), &before);
    }
    let output = under_policy(&bench, "overwrite = \"forbid\"", 0o666, &letter).unwrap();
    is_refused(&output, "may be written by others than root", &bench.path("letter"), &before);
    let own = format!("{LOAD} z.dat");
    let below = format!("protect = [\"{}\"]", bench.path("").display());
    let output = under_policy(&bench, &below, 0o644, &own).unwrap();
    let zeros = bytes(&bench.path("z.dat"));
    is_refused(&output, "it lies below that", &bench.path("z.dat"), &zeros);
    let made = format!("{LOAD} -c1M new.dat");
    let output = under_policy(&bench, &below, 0o644, &made).unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(!bench.path("new.dat").exists());
    for args in [&own, &made] {
        let output = under_policy(&bench, "write = \"only-made\"", 0o644, args).unwrap();
        assert_eq!(output.status.code(), Some(0), "{args}: {}", told(&output));
    }
}

#[test]
fn a_policy_names_the_devices_that_may_be_written() {
    let _turn = turn();
    let Some(device) = Loop::attach("/dev/loop7", 4 << 20) else { return };
    let bench = Bench::new();
    let args = format!("{LOAD} {} {}", device.leave(), device.name());
    let before = bytes(device.image());
    for (policy, words) in [
        ("devices = [\"S4EWNX0R123456\"]", "devices in /etc/fathom/policy.toml"),
        ("write = \"only-made\"", "a block device is not made by this tool"),
    ] {
        let Some(output) = under_policy(&bench, policy, 0o644, &args) else { return };
        is_refused(&output, words, device.image(), &before);
    }
    let allowed = format!("devices = [\"{}\"]", device.name());
    let output = under_policy(&bench, &allowed, 0o644, &args).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
}

#[test]
fn the_store_of_the_user_was_written_by_a_load() {
    let bench = Bench::new();
    let home = bench.path("home");
    let store = home.join(".local/share/fathom/runs.sqlite");
    fs::create_dir_all(store.parent().unwrap()).unwrap();
    for end in ["", "-wal", "-shm", "-journal"] {
        zeros(&PathBuf::from(format!("{}{end}", store.display())));
    }
    zeros(&bench.path("named.sqlite"));
    fs::hard_link(&store, bench.path("hard")).unwrap();
    symlink(&store, bench.path("soft")).unwrap();
    let shown = store.display().to_string();
    let targets = [
        shown.clone(),
        format!("{shown}-wal"),
        format!("{shown}-shm"),
        format!("{shown}-journal"),
        "hard".to_owned(),
        "soft".to_owned(),
        "named.sqlite".to_owned(),
    ];
    for target in targets {
        let mut command = bench.command(&format!("{LOAD} --overwrite {target}"));
        command.env("HOME", &home).env_remove("XDG_DATA_HOME");
        let output = command.env("FATHOM_STORE", "named.sqlite").output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{target}: {}", told(&output));
        assert!(told(&output).contains("is protected"), "{target}: {}", told(&output));
    }
}

#[test]
fn a_result_took_the_place_of_what_is_protected() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("home")).unwrap();
    for name in ["store.sqlite", "kept.dat"] {
        fs::write(bench.path(name), "Dear Ada").unwrap();
    }
    fs::hard_link(bench.path("store.sqlite"), bench.path("hard")).unwrap();
    symlink(bench.path("store.sqlite"), bench.path("soft")).unwrap();
    for place in ["store.sqlite", "store.sqlite-wal", "hard", "soft", "kept.dat"] {
        let args = format!("-w0 -d1 -W0 --overwrite --protect=kept.dat --json={place} x.dat");
        let mut command = bench.command(&args);
        command.env("HOME", bench.path("home")).env("FATHOM_STORE", "store.sqlite");
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{place}: {}", told(&output));
        assert!(told(&output).contains("is protected"), "{place}: {}", told(&output));
    }
    for name in ["store.sqlite", "kept.dat"] {
        assert_eq!(fs::read_to_string(bench.path(name)).unwrap(), "Dear Ada");
    }
    assert!(!bench.path("store.sqlite-wal").exists());
}

#[test]
fn a_journal_was_put_where_nothing_may_be_written() {
    let bench = Bench::new();
    fs::write(bench.path("kept.dat"), "").unwrap();
    fs::create_dir_all(bench.path("db")).unwrap();
    let load = "-w50 -d30 -W0 -b4K --stop-ios=9 t.dat";
    for (place, words) in
        [("s.sqlite-wal", "s.sqlite"), ("kept.dat", "kept.dat"), ("./kept.dat", "kept.dat")]
    {
        for explain in ["", "--explain"] {
            let args = format!("{explain} --protect=kept.dat --verify-journal={place} {load}");
            let mut command = bench.command(&args);
            let output = command.env("FATHOM_STORE", "s.sqlite").output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{args}: {}", told(&output));
            let all = format!("{}{}", told(&output), String::from_utf8_lossy(&output.stdout));
            assert!(all.contains("is protected") && all.contains(words), "{args}: {all}");
        }
    }
    assert!(bytes(&bench.path("kept.dat")).is_empty() && !bench.path("s.sqlite-wal").exists());
    let below = format!("protect = [\"{}\"]", bench.path("db").display());
    let args = format!("--overwrite --verify-journal=db/new {load}");
    let Some(output) = under_policy(&bench, &below, 0o644, &args) else { return };
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(told(&output).contains("it lies below that"), "{}", told(&output));
    assert!(!bench.path("db/new").exists());
}

#[test]
fn a_result_replaced_what_the_policy_forbids_to_overwrite() {
    let bench = Bench::new();
    fs::write(bench.path("letter"), "Dear Ada").unwrap();
    let args = "-w0 -d1 -W0 --overwrite --json=letter t.dat";
    for policy in ["overwrite = \"forbid\"", "write = \"only-made\""] {
        let Some(output) = under_policy(&bench, policy, 0o644, args) else { return };
        is_refused(&output, policy, &bench.path("letter"), b"Dear Ada");
    }
}

#[test]
fn a_result_took_the_place_of_what_the_policy_protects() {
    let bench = Bench::new();
    fs::write(bench.path("f.dat"), "Dear Ada").unwrap();
    let below = format!("protect = [\"{}\"]", bench.path("").display());
    let args = "-w0 -d1 -W0 --overwrite --json=f.dat /dev/null";
    let Some(output) = under_policy(&bench, &below, 0o644, args) else { return };
    is_refused(&output, "it lies below that", &bench.path("f.dat"), b"Dear Ada");
}

#[test]
fn what_the_policy_protects_was_written_under_other_names() {
    let bench = Bench::new();
    for name in ["db/sub", "db/work", "db/inner", "low", "out"] {
        fs::create_dir_all(bench.path(name)).unwrap();
    }
    let kept = bench.path("db/sub/f.dat");
    zeros(&kept);
    fs::hard_link(&kept, bench.path("hard")).unwrap();
    fs::write(bench.path("plain"), "").unwrap();
    let protect = format!("protect = [\"{}\"]", bench.path("db").display());
    let bind = "mount --bind db/sub out";
    let overlay = "mount -t overlay -o lowerdir=low,upperdir=db/sub,workdir=db/work none out";
    let inner = "mount -t tmpfs none db/inner && mount --bind db/inner out";
    let zeros = bytes(&kept);
    for (first, args) in [
        (bind, "out/f.dat"),
        (bind, "-c1M out/new.dat"),
        (bind, "--verify-journal=out/new.dat t.dat"),
        (bind, "--json=out/new.dat t.dat"),
        ("mount --bind db/sub/f.dat plain", "plain"),
        (overlay, "out/f.dat"),
        (overlay, "-c1M out/new.dat"),
        (inner, "-c1M out/new.dat"),
        ("true", "hard"),
    ] {
        let args = format!("{LOAD} --overwrite {args}");
        let Some(output) = under_policy_behind(first, &bench, &protect, 0o644, &args) else {
            continue;
        };
        is_refused(&output, "protect = [", &kept, &zeros);
        assert!(!bench.path("db/sub/new.dat").exists(), "{first}, {args}");
    }
    let Some(output) = under_policy(&bench, &protect, 0o644, &format!("{LOAD} t.dat")) else {
        return;
    };
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
}

#[test]
fn what_the_policy_protects_was_written_through_a_loop_device() {
    let _turn = turn();
    let Some(device) = Loop::attach("/dev/loop7", 4 << 20) else { return };
    let bench = Bench::new();
    let args = format!("{LOAD} {} {}", device.leave(), device.name());
    let protect = format!("protect = [\"{}\"]", device.image().parent().unwrap().display());
    let before = bytes(device.image());
    let Some(output) = under_policy(&bench, &protect, 0o644, &args) else { return };
    is_refused(&output, "under another name", device.image(), &before);
}

/// Runs behind a command of the shell, in a mount namespace of its own. What it puts into `$AS` runs the
/// load.
pub fn behind(first: &str, bench: &Bench, args: &str) -> Option<Output> {
    let mut command = apart(&["--mount"])?;
    let script = format!("{first} && exec $AS {} {args}", env!("CARGO_BIN_EXE_diskspd"));
    Some(command.args(["sh", "-c", &script]).current_dir(bench.path("")).output().unwrap())
}

/// A folder `db` with `sub/f.dat` in it, and its zeros.
fn folder(bench: &Bench) -> (PathBuf, Vec<u8>) {
    for name in ["db/sub", "db/upper", "db/work", "db/inner", "low", "work", "up", "out", "merged"]
    {
        fs::create_dir_all(bench.path(name)).unwrap();
    }
    let kept = bench.path("db/sub/f.dat");
    zeros(&kept);
    fs::write(bench.path("plain"), "").unwrap();
    let before = bytes(&kept);
    (kept, before)
}

#[test]
fn a_folder_that_was_protected_by_an_option_was_written_in() {
    let bench = Bench::new();
    let (kept, before) = folder(&bench);
    symlink("db", bench.path("soft")).unwrap();
    symlink("db/sub/f.dat", bench.path("softer")).unwrap();
    fs::hard_link(&kept, bench.path("hard")).unwrap();
    let name = bench.path("").file_name().unwrap().to_str().unwrap().to_owned();
    let whole = bench.path("db").display().to_string();
    for protect in ["db", "db/", "./db/.", "low/../db", "soft", &format!("../{name}/db"), &whole] {
        for target in [
            "db/sub/f.dat",
            "low/../db/sub/f.dat",
            "soft/sub/f.dat",
            "softer",
            "hard",
            "-c1M db/new.dat",
            "--explain -c1M soft/sub/new.dat",
            "--json=db/new.dat t.dat",
            "--verify-journal=db/new.dat t.dat",
        ] {
            let args = format!("{LOAD} --overwrite --protect={protect} --protect=plain {target}");
            let output = bench.run(&args);
            let all = format!("{}{}", told(&output), String::from_utf8_lossy(&output.stdout));
            assert!(all.contains(&format!("below the protected {protect}")), "{args}: {all}");
            assert_eq!(output.status.code(), Some(2), "{args}: {all}");
        }
    }
    assert!(bytes(&kept) == before && !bench.path("db/new.dat").exists());
    let output = bench.run(&format!("{LOAD} --protect=db t.dat"));
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
}

#[test]
fn a_folder_that_was_protected_by_an_option_was_written_under_other_names() {
    let bench = Bench::new();
    let (kept, before) = folder(&bench);
    let over = |lower: &str, upper: &str, work: &str| {
        format!("mount -t overlay -o lowerdir={lower},upperdir={upper},workdir={work} none merged")
    };
    for (first, args) in [
        ("mount --bind db/sub out", "--protect=db out/f.dat"),
        ("mount --bind db/sub out", "--protect=db -c1M out/new.dat"),
        ("mount --bind db/sub out", "--protect=out -c1M db/sub/new.dat"),
        ("mount --bind db/sub/f.dat plain", "--protect=db plain"),
        (
            "mount -t tmpfs none db/inner && mount --bind db/inner out",
            "--protect=db -c1M out/new.dat",
        ),
        (&over("low", "db/upper", "db/work"), "--protect=db -c1M merged/new.dat"),
        (&over("low", "up", "work"), "--protect=merged -c1M up/new.dat"),
        (&over("low", "up", "work"), "--protect=merged -c1M low/new.dat"),
        (&over("low", "up", "work"), "--protect=up -c1M merged/new.dat"),
    ] {
        let Some(output) = behind(first, &bench, &format!("{LOAD} --overwrite {args}")) else {
            return;
        };
        assert!(told(&output).contains("below the protected"), "{args}: {}", told(&output));
        is_refused(&output, "it is never written to", &kept, &before);
        for place in ["db/sub", "up", "low"] {
            assert!(!bench.path(place).join("new.dat").exists(), "{first}, {args}");
        }
    }
}

#[test]
fn what_is_protected_was_written_through_a_device_or_a_file_system_on_it() {
    let _turn = turn();
    let Some(device) = Loop::attach("/dev/loop7", 64 << 20) else { return };
    let bench = Bench::new();
    fs::create_dir_all(bench.path("out")).unwrap();
    let (image, before) = (device.image(), bytes(device.image()));
    let folder = image.parent().unwrap().display().to_string();
    let args = format!("{LOAD} --protect={folder} {} {}", device.leave(), device.name());
    is_refused(&bench.run(&args), "lies below the protected", image, &before);
    for protect in [device.name(), &folder, image.to_str().unwrap()] {
        let first = format!("mkfs.ext4 -qF {0} && mount {0} out", device.name());
        let args = format!("{LOAD} --protect={protect} -c1M out/new.dat && false");
        let Some(output) = behind(&first, &bench, &args) else { return };
        let words = format!("its file system lies on the protected {protect}");
        assert!(told(&output).contains(&words), "{protect}: {}", told(&output));
        assert_eq!(output.status.code(), Some(2), "{protect}: {}", told(&output));
    }
}

#[test]
fn what_is_not_there_was_taken_for_what_is_protected() {
    let bench = Bench::new();
    for (protect, words) in [
        ("--protect=/no/such/place", "--protect=/no/such/place protects nothing"),
        ("--protect=t.dat/", "--protect=t.dat/ protects nothing"),
        ("--protect=plain.dat --protect=new.dat", "--protect=plain.dat protects nothing"),
        ("--protect=", "the name of the file is missing"),
    ] {
        for more in ["", "--explain", "--json=r.json"] {
            let output = bench.run(&format!("{LOAD} {more} {protect} -c1M other.dat"));
            assert_eq!(output.status.code(), Some(3), "{protect}: {}", told(&output));
            assert!(told(&output).contains(words), "{protect}: {}", told(&output));
        }
    }
    assert!(!bench.path("other.dat").exists() && !bench.path("r.json").exists());
}

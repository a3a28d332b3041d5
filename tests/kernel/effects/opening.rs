//! How targets are opened: `-S...`, and what is expected of their use: `-f[rst]`.

use std::collections::BTreeSet;

use super::trace::Trace;
use crate::bench::{Bench, skip};

/// The flags among `O_DIRECT` and `O_DSYNC` with which the threads of load opened the target.
fn flags(bench: &Bench, args: &str) -> Option<BTreeSet<&'static str>> {
    let trace = Trace::of(bench, "openat", &format!("-b4K -r -t2 {args} t.dat"))?;
    let opened = trace.opened("t.dat");
    assert_eq!(opened.len(), 2, "{args}: one for each thread: {opened:?}");
    let has = |flag: &&str| opened.iter().all(|call| call.text.contains(*flag));
    let found: BTreeSet<&str> = ["O_DIRECT", "O_DSYNC"].into_iter().filter(has).collect();
    // Either all threads have a flag or none.
    let any = |flag: &&str| opened.iter().any(|call| call.text.contains(*flag));
    assert_eq!(found, ["O_DIRECT", "O_DSYNC"].into_iter().filter(any).collect(), "{args}");
    Some(found)
}

#[test]
fn caches_are_bypassed_and_written_through_as_asked() {
    let bench = Bench::new();
    for (args, expected) in [
        ("", &[][..]),
        ("-Sb", &[]),
        ("-S", &["O_DIRECT"]),
        ("-Su", &["O_DIRECT"]),
        ("-Su -w100", &["O_DIRECT"]),
        ("-Sw -w100", &["O_DSYNC"]),
        ("-Sbw -w50", &["O_DSYNC"]),
        ("-Sh -w100", &["O_DIRECT", "O_DSYNC"]),
        ("-Suw", &["O_DIRECT", "O_DSYNC"]),
        ("-h -w50", &["O_DIRECT", "O_DSYNC"]),
    ] {
        let Some(found) = flags(&bench, args) else { return };
        assert_eq!(found, expected.iter().copied().collect(), "{args}");
    }
}

#[test]
fn a_target_is_opened_for_writing_only_if_it_is_written() {
    let bench = Bench::new();
    for (args, mode) in [("-w0", "O_RDONLY"), ("-w100", "O_RDWR"), ("-w1", "O_RDWR")] {
        let args = format!("-b4K -r {args} t.dat");
        let Some(trace) = Trace::of(&bench, "openat", &args) else { return };
        let opened = trace.opened("t.dat")[0];
        assert!(opened.text.contains(mode), "{args}: {}", opened.text);
    }
}

#[test]
fn hints_reach_the_kernel() {
    let bench = Bench::new();
    let all = ["POSIX_FADV_RANDOM", "POSIX_FADV_SEQUENTIAL", "POSIX_FADV_NOREUSE"];
    for (args, expected) in [
        ("", &[][..]),
        ("-fr", &all[..1]),
        ("-fs", &all[1..2]),
        ("-ft", &all[2..]),
        ("-fst", &all[1..]),
    ] {
        let Some(trace) = Trace::of(&bench, "fadvise64,openat", &format!("-b4K {args} t.dat"))
        else {
            return;
        };
        let told: Vec<&str> = trace
            .of_load("fadvise64")
            .map(|call| *all.iter().find(|hint| call.text.contains(**hint)).unwrap())
            .collect();
        assert_eq!(told, expected, "{args}");
    }
}

#[test]
fn hints_reach_the_kernel_for_mappings_too() {
    let bench = Bench::new();
    for (args, expected) in
        [("", None), ("-fr", Some("MADV_RANDOM")), ("-fs", Some("MADV_SEQUENTIAL")), ("-ft", None)]
    {
        let args = format!("-b4K -Sm {args} t.dat");
        let Some(trace) = Trace::of(&bench, "madvise,openat", &args) else { return };
        // The mapping is distinguished from others, such as stacks, by the length of the target.
        let told: Vec<_> =
            trace.of_load("madvise").filter(|call| call.text.contains(", 8388608, ")).collect();
        assert_eq!(told.len(), usize::from(expected.is_some()), "{args}: {told:?}");
        assert!(told.iter().all(|call| call.text.contains(expected.unwrap())), "{args}: {told:?}");
    }
}

/// A folder on a file system of another host, if one is mounted here.
fn remote_folder() -> Option<String> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").ok()?;
    let remote = |line: &&str| {
        let kind = line.split(' ').nth(2).unwrap_or_default();
        ["nfs", "nfs4", "cifs", "smb3", "ceph", "9p"].contains(&kind)
    };
    mounts.lines().find(remote)?.split(' ').nth(1).map(str::to_owned)
}

#[test]
fn the_local_cache_alone_is_refused_where_there_is_no_remote_one() {
    let bench = Bench::new();
    let output = bench.run("-W0 -d1 -b4K -Sr t.dat");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("t.dat") && stderr.contains("remote file systems"), "{stderr}");
    assert!(stderr.contains("-Su"), "the remedy: {stderr}");
}

#[test]
fn the_local_cache_alone_is_bypassed_on_a_remote_file_system() {
    let Some(folder) = remote_folder() else {
        return skip("no network file system is mounted here");
    };
    let target = format!("{folder}/fathom-kernel-test-{}.dat", std::process::id());
    let bench = Bench::new();
    let args = format!("-c1M -b4K -r -Sr {target}");
    let Some(trace) = Trace::of(&bench, "openat", &args) else { return };
    let opened = trace.of_load("openat").find(|call| call.text.contains(&target)).unwrap();
    assert!(opened.text.contains("O_DIRECT"), "{}", opened.text);
    std::fs::remove_file(target).unwrap();
}

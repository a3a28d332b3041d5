//! What is left in the page cache, as `fincore` counts it.

use std::process::Command;

use crate::bench::{Bench, ios, skip};

/// Takes a file out of the page cache.
fn drop_cache(bench: &Bench, name: &str) {
    let file = format!("of={}", bench.path(name).display());
    let dd = |options: &[&str]| Command::new("dd").arg(&file).args(options).output().unwrap();
    // Only what lies on the device can be dropped.
    let output = dd(&["if=/dev/null", "oflag=nocache", "conv=notrunc,fdatasync", "count=0"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Bytes of a file in the page cache; none without `fincore`.
fn cached_bytes(bench: &Bench, name: &str) -> Option<u64> {
    let args = ["--bytes", "--noheadings", "--output", "RES"];
    let output = Command::new("fincore").args(args).arg(bench.path(name)).output();
    let Some(output) = output.ok().filter(|output| output.status.success()) else {
        skip("there is no fincore here");
        return None;
    };
    Some(String::from_utf8(output.stdout).unwrap().trim().parse().unwrap())
}

#[test]
fn only_what_goes_through_the_page_cache_stays_there() {
    let bench = Bench::new();
    // Small, so that a second is enough for all of it on any device.
    bench.fill("t.dat", 1 << 20);
    for (args, is_cached) in [
        ("", true),
        ("-Sb", true),
        ("-Sw -w100", true),
        ("-w100", true),
        ("-Su", false),
        ("-Su -w100", false),
        ("-Sh -w50", false),
        ("-Su -o1", false),
    ] {
        drop_cache(&bench, "t.dat");
        match cached_bytes(&bench, "t.dat") {
            None => return,
            Some(0) => {}
            Some(_) => return skip("the file system keeps files in the page cache forever"),
        }
        let result = bench.measure_ios(64, &format!("-b256K {args} t.dat"));
        assert!(ios(&result) > 4, "{args}: less than the whole file");
        let cached = cached_bytes(&bench, "t.dat").unwrap();
        // 64 blocks are read through the cache before the run, to see whether they are zeros; and the kernel
        // takes a page back now and then (255 of 256 were there once).
        let expected = if is_cached { 15 << 16..=1 << 20 } else { 0..=1 << 19 };
        assert!(expected.contains(&cached), "{args}: {cached} bytes are cached");
    }
}

//! Loads that a cache answers although the device saw something: few I/Os, many small ones, and trims.

use std::path::Path;

use serde_json::Value;

use super::{answered_by, evidence, fill, is_told, measure};
use crate::bench::{Bench, skip};
use crate::devices::turn;
use crate::prepare::support::{Loop, run};

const MIB: usize = 1 << 20;

fn sentence(result: &Value) -> &str {
    result["time_spans"][0]["beneath"]["targets"][0]["sentence"].as_str().unwrap()
}

/// Takes a file out of the page cache.
fn evict(file: &Path) -> bool {
    let of = format!("of={}", file.display());
    run("dd", &[&of, "oflag=nocache", "conv=notrunc,fdatasync", "count=0", "status=none"])
}

/// "All of 137 reads (2.1 GiB) reached vda" was said of a loop device whose file was in the page cache, as no
/// more were asked than twice those in flight. Here nothing but holes lies beneath it.
#[test]
fn a_few_huge_reads_of_a_cached_loop_device_are_no_disks() {
    let _turn = turn();
    let Some(device) = Loop::attach("/dev/loop2", 1 << 30) else { return };
    let bench = Bench::new();
    for args in ["-b16M -o128 -r -Su", "-b4M -o128 -t2 -r -Su"] {
        let mut result = measure(&bench, args, device.path());
        // What others read from the disk meanwhile may be as much.
        for _ in 0..4 {
            if answered_by(&result) == "device" {
                result = measure(&bench, args, device.path());
            }
        }
        assert_ne!(answered_by(&result), "device", "{args}: {}", sentence(&result));
        assert!(
            ["not_the_device", "page_cache"].iter().any(|kind| is_told(&result, kind)),
            "{args}"
        );
    }
    // As few reads of a file on a disk are all its own.
    let file = bench.path("t.dat");
    fill(&file, 96 * MIB);
    if answered_by(&measure(&bench, "-b4K -r -o4 -Su", &file)) != "device" {
        return skip("files of this checkout do not lie on a disk");
    }
    let result = bench.measure_ios(20, &format!("-b4M -o16 -r -Su {}", file.display()));
    assert_eq!(answered_by(&result), "device");
    assert!(sentence(&result).starts_with("all of "), "{}", sentence(&result));
}

/// "All of 131,072 reads (64 MiB) reached vda" was said where 12,453 fetches had brought their bytes.
#[test]
fn small_reads_that_share_their_fetches_are_the_page_caches() {
    let bench = Bench::new();
    let file = bench.path("t.dat");
    fill(&file, 24 * MIB);
    if answered_by(&measure(&bench, "-b4K -r -o4 -Su", &file)) != "device" {
        return skip("files of this checkout do not lie on a disk");
    }
    // Other tests read the disk meanwhile, and their fetches count as well.
    let small = || {
        assert!(evict(&file), "a file is taken out of the page cache");
        bench.measure_ios(49_152, &format!("-b512 -r512 -o1 -Sb {}", file.display()))
    };
    let tried = (0..4).map(|_| small()).find(|result| answered_by(result) == "partly_device");
    let result = tried.unwrap_or_else(small);
    assert_eq!(answered_by(&result), "partly_device", "{}", sentence(&result));
    let told = evidence(&result, "not_the_device");
    assert!(
        told.contains(" fetches of ") && told.contains("the page cache answered the rest"),
        "{told}"
    );
    // Where each read is a fetch, the disk answered.
    assert!(evict(&file));
    let result = bench.measure_ios(400, &format!("-b4K -r -o1 -Sb {}", file.display()));
    assert_eq!(answered_by(&result), "device", "{}", sentence(&result));
    assert!(!is_told(&result, "not_the_device"));
}

/// "No I/O completed, and nothing is known of vda" was said of 4,934 trims.
#[test]
fn trims_alone_are_told_beside_the_discards_of_the_devices() {
    let _turn = turn();
    let Some(device) = Loop::attach("/dev/loop2", 256 << 20) else { return };
    let args = format!("-b64K -r -o2 -Su -w100 --trim=100 {}", device.leave());
    let result = measure(&Bench::new(), &args, device.path());
    if answered_by(&result) != "not_counted" {
        return skip("temporary files do not lie on a disk");
    }
    let told = sentence(&result);
    assert!(told.contains(" trims (") && told.contains(" of everybody"), "{told}");
    let asked = &result["time_spans"][0]["beneath"]["targets"][0]["asked"];
    assert!(asked["trim_ios"].as_u64().unwrap() > 0, "{asked}");
}

//! Whose figures they are: what the layers beneath a target saw, who took CPUs and I/Os away, and what stood
//! still, each for real and beside a clean neighbour.

mod cached;
mod causes;
mod data;
mod edges;
mod mounts;
mod origins;

use std::io::Read;
use std::path::Path;

use serde_json::Value;

use crate::bench::Bench;

/// Warnings of a figure that is not the device's, or of no load. Whether others use the CPUs, and the
/// stalls of a disk that others use, are left out: tests run beside each other.
const DOUBTS: [&str; 13] = [
    "not_the_device",
    "device_unseen",
    "server_answered",
    "cpu_throttled",
    "io_limited",
    "no_io_completed",
    "extents_changed",
    "constant_data",
    "all_zero_data",
    "small_working_set",
    "unwritten_extents",
    "page_cache",
    "io_errors",
];

/// The kinds of warnings that a result raises, and what they say.
fn warnings(result: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = result["warnings"].as_array().unwrap().iter();
    let told = all.map(|one| (text(&one["kind"]), text(&one["evidence"])));
    told.filter(|(kind, _)| DOUBTS.contains(&kind.as_str())).collect()
}

/// The evidence of the one warning of a kind.
fn evidence<'a>(result: &'a Value, kind: &str) -> &'a str {
    let all = result["warnings"].as_array().unwrap().iter();
    let told: Vec<&Value> = all.filter(|one| one["kind"] == kind).collect();
    assert_eq!(told.len(), 1, "{kind}: {}", result["warnings"]);
    told[0]["evidence"].as_str().unwrap()
}

fn is_told(result: &Value, kind: &str) -> bool {
    result["warnings"].as_array().unwrap().iter().any(|one| one["kind"] == kind)
}

/// What answered the I/Os of the first target.
fn answered_by(result: &Value) -> &str {
    let beneath = &result["time_spans"][0]["beneath"];
    beneath["targets"][0]["answered_by"].as_str().unwrap_or("nothing is known")
}

/// Fills a file with data that nothing shrinks.
fn fill(path: &Path, bytes: usize) {
    let mut random = std::fs::File::open("/dev/urandom").unwrap().take(bytes as u64);
    let mut file = std::fs::File::create(path).unwrap();
    std::io::copy(&mut random, &mut file).unwrap();
    // What is still to be written would be counted with the load.
    file.sync_all().unwrap();
}

fn measure(bench: &Bench, args: &str, target: &Path) -> Value {
    bench.measure(&format!("{args} {}", target.display()))
}

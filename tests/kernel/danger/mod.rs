//! Set-ups in which a write would destroy something: each is built for real, on loop devices over files of
//! the test's own. Every one is refused for writing in words that name what is at stake, no byte behind it
//! changes, and it can be read where the system allows that.
//!
//! What this kernel may lack (device mapper, md, bcache, ZFS) is shown on trees of files in
//! `crates/core/src/guard/tree_tests.rs`. The table of docs/data-safety.md is compared with both.

mod files;
mod in_use;
mod names;
mod place;
mod recorded;
mod signatures;

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::bench::{ios, skip};
use crate::prepare::support::run;
use place::Place;

/// What may stand against a refusal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lifted {
    /// Nothing lifts it.
    Nothing,
    /// `--overwrite`, and leave for a device.
    Overwrite,
    /// Leave for the device alone.
    Leave,
}

/// One set-up.
struct Setup {
    /// As it stands in the table of the docs.
    name: &'static str,
    /// What the refusal says, as it stands there.
    words: &'static [&'static str],
    lifted: Lifted,
    /// It is reported as an error of the request or the target, which comes before the guard.
    is_error: bool,
    /// Whether the target can be read while the set-up stands.
    is_readable: bool,
    /// Builds it; none, after it said why, where that cannot be done here.
    build: fn(&mut Place) -> Option<Built>,
}

const PLAIN: Setup = Setup {
    name: "",
    words: &[],
    lifted: Lifted::Nothing,
    is_error: false,
    is_readable: true,
    build: |_| None,
};

/// A set-up that stands.
struct Built {
    target: PathBuf,
    /// The files whose bytes must stay.
    watched: Vec<PathBuf>,
    /// More that the refusal says, known only now.
    words: Vec<String>,
    /// More options of the run.
    options: String,
}

impl Built {
    fn new(target: impl Into<PathBuf>, watched: &Path) -> Self {
        let (target, watched) = (target.into(), vec![watched.to_owned()]);
        Self { target, watched, words: Vec::new(), options: String::new() }
    }

    fn saying(mut self, words: impl Into<String>) -> Self {
        self.words.push(words.into());
        self
    }

    fn with(mut self, options: impl Into<String>) -> Self {
        self.options = options.into();
        self
    }
}

const BYTES_CHANGED: &str = "bytes have changed";

fn setups() -> impl Iterator<Item = &'static Setup> {
    [in_use::SETUPS, names::SETUPS, signatures::SETUPS, files::SETUPS].into_iter().flatten()
}

/// The option that permits writing to a device; empty for what is none.
fn leave(target: &Path) -> String {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let Ok(metadata) = std::fs::metadata(target) else { return String::new() };
    if !metadata.file_type().is_block_device() {
        return String::new();
    }
    let (major, minor) = fathom_sys::holders::device_number(metadata.rdev());
    let directory = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).unwrap();
    let name = directory.file_name().unwrap().to_str().unwrap();
    let units = std::fs::read_to_string(directory.join("size")).unwrap();
    format!("--allow-write=/dev/{name}:{}", units.trim().parse::<u64>().unwrap() * 512)
}

/// Options that must not help.
fn vain_options(lifted: Lifted, target: &Path) -> Vec<String> {
    let leave = leave(target);
    match lifted {
        Lifted::Nothing => vec![String::new(), format!("--overwrite {leave}")],
        Lifted::Overwrite => vec![String::new(), leave],
        Lifted::Leave => vec![
            String::new(),
            "--overwrite".to_owned(),
            "--overwrite --allow-write=/dev/another:1048576".to_owned(),
        ],
    }
}

fn diskspd(args: &str) -> std::process::Output {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_diskspd"));
    command.args(args.split_whitespace()).output().unwrap()
}

/// What is wrong with the refusal of one run; nothing if it is right.
fn fault(setup: &Setup, built: &Built, args: &str) -> Option<String> {
    let output = diskspd(args);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let name = built.target.to_str().unwrap();
    let (code, head) = if setup.is_error { (1, "ERROR") } else { (2, "REFUSED") };
    if output.status.code() != Some(code) {
        return Some(format!("exit code {:?}: {stderr}", output.status.code()));
    }
    let told = stderr.lines().find(|line| line.starts_with(head)).unwrap_or_default();
    let real = std::fs::canonicalize(&built.target).unwrap_or_default();
    if !told.contains(name) && !told.contains(real.to_str().unwrap()) {
        return Some(format!("{name} is not named: {told}"));
    }
    let words = setup.words.iter().copied().chain(built.words.iter().map(String::as_str));
    let missing: Vec<&str> = words.filter(|words| !told.contains(words)).collect();
    (!missing.is_empty()).then(|| format!("{missing:?} are not said: {told}"))
}

fn held(built: &Built) -> Vec<u32> {
    assert!(run("sync", &[]));
    built.watched.iter().map(|path| checksum(path)).collect()
}

fn checksum(path: &Path) -> u32 {
    let mut file = std::fs::File::open(path).unwrap();
    let (mut buffer, mut sum) = (vec![0; 1 << 18], 0);
    loop {
        match file.read(&mut buffer).unwrap() {
            0 => return sum,
            read => sum = crc32c::crc32c_append(sum, &buffer[..read]),
        }
    }
}

/// How many pages the system has swapped out so far.
fn pages_swapped_out() -> Option<u64> {
    let counts = std::fs::read_to_string("/proc/vmstat").unwrap();
    counts.lines().find_map(|line| line.strip_prefix("pswpout "))?.parse().ok()
}

/// What is wrong, and `None` if the system itself has written to the swap area meanwhile, so that the bytes
/// tell nothing.
fn faults_of_ours(setup: &Setup, built: &Built) -> Option<Vec<String>> {
    let is_swap = setup.words.iter().any(|words| words.contains("swaps to"));
    let pages = pages_swapped_out();
    let faults = faults(setup, built);
    let is_changed = faults.iter().any(|fault| fault == BYTES_CHANGED);
    (!(is_swap && is_changed && pages_swapped_out() != pages)).then_some(faults)
}

fn faults(setup: &Setup, built: &Built) -> Vec<String> {
    let mut faults = Vec::new();
    let before = held(built);
    let target = built.target.to_str().unwrap();
    for options in vain_options(setup.lifted, &built.target) {
        for load in ["-w100", "-w1 -r -Su -t2 -o4"] {
            let args = format!("-W0 -d1 -b4K {load} {options} {} {target}", built.options);
            faults.extend(fault(setup, built, &args).map(|fault| format!("{args}: {fault}")));
        }
        let args = format!("-W0 -d1 -b4K -w100 --explain {options} {} {target}", built.options);
        let explained = diskspd(&args);
        let expected = if setup.is_error { 1 } else { 2 };
        if explained.status.code() != Some(expected) {
            faults.push(format!("{args}: exit code {:?}", explained.status.code()));
        }
    }
    if held(built) != before {
        faults.push(BYTES_CHANGED.to_owned());
    }
    if setup.is_readable {
        let output = diskspd(&format!("-W0 -d9 --stop-ios=64 -b4K -r -Rjson {target}"));
        let result = serde_json::from_slice(&output.stdout).unwrap_or_default();
        if output.status.code() != Some(0) || ios(&result) == 0 {
            faults.push(format!("not read: {}", String::from_utf8_lossy(&output.stderr)));
        }
    }
    faults
}

/// All in one test, as they share the devices. Each that fails is reported with what it said.
#[test]
fn every_dangerous_set_up_is_refused_for_writing_named_rightly_and_left_as_it_is() {
    let (mut stood, mut wrong) = (0, Vec::new());
    for setup in setups() {
        let mut place = Place::new();
        let Some(built) = (setup.build)(&mut place) else {
            skip(&format!("  so this was not shown: {}", setup.name));
            continue;
        };
        let Some(faults) = (0..5).find_map(|_| faults_of_ours(setup, &built)) else {
            skip(&format!(
                "  the system swaps all the time, so this was not shown: {}",
                setup.name
            ));
            continue;
        };
        stood += 1;
        wrong.extend(faults.into_iter().map(|fault| format!("{}: {fault}", setup.name)));
    }
    skip(&format!("{} of the set-ups ({stood} stood)", setups().count() - stood));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The rows of a table of the docs: the first column, and the last.
fn rows(heading: &str) -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/data-safety.md");
    let text = std::fs::read_to_string(path).unwrap();
    let section = text.split(heading).nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap();
    let lines = section.lines().filter(|line| line.starts_with("| ")).skip(1);
    let cells = lines.map(|line| line.trim_matches('|').split('|').map(str::trim).collect());
    cells.map(|cells: Vec<&str>| (cells[0].to_owned(), cells[1].to_owned())).collect()
}

#[test]
fn the_table_of_the_docs_is_that_of_the_tests() {
    let told = rows("## Set-ups that are refused\n");
    let quoted = |setup: &Setup| {
        setup.words.iter().map(|words| format!("`{words}`")).collect::<Vec<_>>().join(", ")
    };
    let shown: Vec<(String, String)> =
        setups().map(|setup| (setup.name.to_owned(), quoted(setup))).collect();
    for (told, shown) in told.iter().zip(&shown) {
        assert_eq!(told, shown);
    }
    assert_eq!(told.len(), shown.len());
    assert!(shown.len() >= 30);
}

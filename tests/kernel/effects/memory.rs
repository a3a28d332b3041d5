//! Large pages, `-l`.

use std::fs;
use std::sync::{Mutex, PoisonError};

use super::trace::{field, proc_file};
use crate::bench::{Bench, skip};

const RESERVED: &str = "/proc/sys/vm/nr_hugepages";
/// One test at a time changes what is reserved.
static TURN: Mutex<()> = Mutex::new(());

/// Reserved large pages; what was reserved before comes back with the drop.
struct Reserved {
    before: String,
}

impl Reserved {
    /// Reserves so many pages; none if that is not allowed here or there is no memory for them.
    fn pages(count: u32) -> Option<Self> {
        let before = fs::read_to_string(RESERVED).ok()?;
        let reserved = Self { before };
        let now = || fs::read_to_string(RESERVED).unwrap_or_default();
        if fs::write(RESERVED, count.to_string()).is_ok() && now().trim() == count.to_string() {
            return Some(reserved);
        }
        skip("large pages cannot be reserved here");
        None
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        drop(fs::write(RESERVED, self.before.trim()));
    }
}

/// Memory of a run that lies on reserved large pages, in KiB.
fn large_kib(bench: &Bench, args: &str) -> u64 {
    let run = bench.start(&format!("-W0 -d60 -b64K -r -o8 {args} t.dat"));
    let status = proc_file(&run, "status");
    run.interrupt();
    run.wait();
    let line = field(&status, "HugetlbPages").unwrap();
    line.trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn buffers_lie_on_large_pages_if_asked() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(_reserved) = Reserved::pages(8) else { return };
    let bench = Bench::new();
    assert_eq!(large_kib(&bench, ""), 0);
    assert!(large_kib(&bench, "-l") >= 512, "the buffers of eight I/Os of 64 KiB");
    assert!(
        large_kib(&bench, "-l -w100 -Su") > large_kib(&bench, "-l -Su"),
        "the write buffer too"
    );
}

#[test]
fn without_large_pages_the_error_says_how_to_reserve_them() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(_reserved) = Reserved::pages(0) else { return };
    let output = Bench::new().run("-W0 -d1 -b4K -r -l t.dat");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("vm.nr_hugepages"), "{stderr}");
}

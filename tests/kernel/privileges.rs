//! What a run may do beyond its user is what it needs, and no more.

use std::fs;

use crate::bench::Bench;

/// Bits as in `linux/capability.h`.
const CAP_NET_ADMIN: u32 = 12;
const CAP_SYS_MODULE: u32 = 16;
const CAP_SYS_BOOT: u32 = 22;
const CAP_SYS_TIME: u32 = 25;
const CAP_SYS_NICE: u32 = 23;
const CAP_DAC_OVERRIDE: u32 = 1;
const CAP_LEASE: u32 = 28;

fn field(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    u64::from_str_radix(line.trim_start_matches(':').trim(), 16).unwrap()
}

fn has(set: u64, capability: u32) -> bool {
    set >> capability & 1 == 1
}

#[test]
fn a_run_gives_up_privileges_that_it_does_not_need() {
    let bench = Bench::new();
    let run = bench.start("-W0 -d60 -c1M -b4K -r t.dat");
    let before = fs::read_to_string("/proc/self/status").unwrap();
    let mut seen = Vec::new();
    for task in fs::read_dir(format!("/proc/{}/task", run.id())).unwrap() {
        seen.push(fs::read_to_string(task.unwrap().path().join("status")).unwrap());
    }
    run.interrupt();
    assert_eq!(run.wait().code, Some(130));
    let had = field(&before, "CapEff");
    for status in seen {
        assert_eq!(field(&status, "NoNewPrivs"), 1);
        for set in ["CapEff", "CapPrm", "CapInh", "CapAmb"] {
            let set = field(&status, set);
            for dropped in [CAP_NET_ADMIN, CAP_SYS_MODULE, CAP_SYS_BOOT, CAP_SYS_TIME] {
                assert!(!has(set, dropped), "{dropped} in {status}");
            }
        }
        for kept in [CAP_SYS_NICE, CAP_DAC_OVERRIDE, CAP_LEASE] {
            assert_eq!(has(field(&status, "CapEff"), kept), has(had, kept), "{kept} in {status}");
        }
    }
}

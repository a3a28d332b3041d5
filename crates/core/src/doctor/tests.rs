//! Each rule on machines that are made of files: one where it finds fault, and one where it does not.

use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::tree::Tree;
use super::{Finding, Verdict, cgroup, devices, interrupts, limits, load, machine, targets};
use crate::plan::facts::EngineAvailability;

struct Machine {
    root: TempDir,
}

impl Machine {
    fn new(files: &[(&str, &str)]) -> Self {
        let root = tempfile::tempdir().expect("a scratch directory");
        let machine = Self { root };
        for (name, text) in files {
            machine.write(name, text);
        }
        machine
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.root.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, format!("{text}\n")).expect("a file");
    }

    fn link(&self, name: &str, target: &str) {
        let path = self.root.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        symlink(self.root.path().join(target), path).expect("a link");
    }

    fn tree(&self) -> Tree {
        Tree::new(self.root.path())
    }
}

/// The verdict on a subject, and that a fault comes with a remedy.
fn verdict(findings: &[Finding], subject: &str) -> Verdict {
    let finding = findings.iter().find(|finding| finding.subject == subject);
    let finding = finding.unwrap_or_else(|| panic!("nothing on {subject} in {findings:#?}"));
    let faulty = matches!(finding.verdict, Verdict::Slow | Verdict::Unsteady);
    assert_eq!(faulty, !finding.remedy.is_empty(), "{finding:?}");
    finding.verdict
}

/// What is found when one file holds this text.
fn with(rule: impl Fn(&Tree) -> Vec<Finding>, name: &str, text: &str, subject: &str) -> Verdict {
    verdict(&rule(&Machine::new(&[(name, text)]).tree()), subject)
}

#[test]
fn settings_of_the_processor_are_judged_by_their_files() {
    let cpu = "sys/devices/system/cpu";
    let clock = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    let governor = format!("{cpu}/cpufreq/policy0/scaling_governor");
    let boost = format!("{cpu}/cpufreq/boost");
    let turbo = format!("{cpu}/intel_pstate/no_turbo");
    let idle = format!("{cpu}/cpu0/cpuidle/state3/latency");
    let smt = format!("{cpu}/smt/active");
    let guards = format!("{cpu}/vulnerabilities/meltdown");
    let pages = "sys/kernel/mm/transparent_hugepage/enabled";
    for (name, text, subject, expected) in [
        (clock, "hpet", "clock", Verdict::Slow),
        (clock, "tsc", "clock", Verdict::Good),
        (&governor, "powersave", "frequency governor", Verdict::Slow),
        (&governor, "performance", "frequency governor", Verdict::Good),
        (&boost, "1", "frequency boost", Verdict::Unsteady),
        (&boost, "0", "frequency boost", Verdict::Good),
        (&turbo, "0", "frequency boost", Verdict::Unsteady),
        (&turbo, "1", "frequency boost", Verdict::Good),
        (&idle, "350", "idle states", Verdict::Slow),
        (&idle, "2", "idle states", Verdict::Good),
        (&smt, "1", "threads per core", Verdict::Unsteady),
        (&smt, "0", "threads per core", Verdict::Good),
        (&guards, "Mitigation: PTI", "mitigations", Verdict::Slow),
        (&guards, "Not affected", "mitigations", Verdict::Good),
        ("proc/cpuinfo", "flags : fpu hypervisor", "virtual machine", Verdict::Unsteady),
        ("proc/cpuinfo", "flags : fpu", "virtual machine", Verdict::Good),
        (pages, "always madvise [never]", "transparent huge pages", Verdict::Slow),
        (pages, "always [madvise] never", "transparent huge pages", Verdict::Good),
    ] {
        assert_eq!(with(machine::examine, name, text, subject), expected, "{name}: {text}");
    }
}

#[test]
fn an_idle_state_that_is_switched_off_does_not_count() {
    let folder = "sys/devices/system/cpu/cpu0/cpuidle/state3";
    let machine = Machine::new(&[
        (&format!("{folder}/latency"), "350"),
        (&format!("{folder}/disable"), "1"),
        ("sys/devices/system/cpu/cpu0/cpuidle/state1/latency", "2"),
    ]);
    assert_eq!(verdict(&machine::examine(&machine.tree()), "idle states"), Verdict::Good);
}

fn engines(uring: Result<(), String>) -> EngineAvailability {
    EngineAvailability { uring, uring_discard: Ok(()), aio: Ok(()) }
}

#[test]
fn limits_of_the_process_are_judged_by_its_files() {
    let locked = |kib: u64| format!("Max locked memory         {} {} bytes", kib << 10, kib << 10);
    let files = |count: u64| format!("Max open files            1024 {count} files");
    let rule = |tree: &Tree| limits::examine(tree, &engines(Ok(())));
    for (text, subject, expected) in [
        (locked(64), "locked memory", Verdict::Slow),
        (locked(1 << 20), "locked memory", Verdict::Good),
        ("Max locked memory unlimited unlimited bytes".to_owned(), "locked memory", Verdict::Good),
        (files(1024), "open files", Verdict::Slow),
        (files(524_288), "open files", Verdict::Good),
    ] {
        assert_eq!(with(rule, "proc/self/limits", &text, subject), expected, "{text}");
    }
    for (text, expected) in [("Seccomp:\t2", Verdict::Slow), ("Seccomp:\t0", Verdict::Good)] {
        assert_eq!(with(rule, "proc/self/status", text, "system call filter"), expected);
    }
}

#[test]
fn who_may_lock_any_memory_needs_no_limit() {
    let machine = Machine::new(&[
        ("proc/self/limits", "Max locked memory         65536 65536 bytes"),
        ("proc/self/status", "CapEff:\t0000000000004000"),
    ]);
    let findings = limits::examine(&machine.tree(), &engines(Ok(())));
    assert_eq!(verdict(&findings, "locked memory"), Verdict::Good);
}

#[test]
fn a_refused_io_uring_is_told_with_the_switch_that_refuses_it() {
    let machine = Machine::new(&[("proc/sys/kernel/io_uring_disabled", "2")]);
    let findings = limits::examine(&machine.tree(), &engines(Err("it is off".to_owned())));
    assert_eq!(verdict(&findings, "io_uring"), Verdict::Slow);
    assert!(findings[0].remedy.contains("kernel.io_uring_disabled"), "{findings:?}");
    let findings = limits::examine(&Machine::new(&[]).tree(), &engines(Err("no".to_owned())));
    assert!(findings[0].remedy.contains("seccomp"), "{findings:?}");
}

const VERSION_2: (&str, &str) =
    ("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
const IN_A_POD: (&str, &str) = ("proc/self/cgroup", "0::/pod/one");

#[test]
fn limits_of_the_control_group_and_of_those_above_it_are_found() {
    for (name, text, subject) in [
        ("sys/fs/cgroup/pod/one/cpu.max", "150000 100000", "control group: CPU"),
        ("sys/fs/cgroup/pod/cpu.max", "50000 100000", "control group: CPU"),
        ("sys/fs/cgroup/pod/io.max", "8:0 rbps=1048576 wbps=max", "control group: I/O"),
        ("sys/fs/cgroup/memory.max", "1073741824", "control group: memory"),
    ] {
        let machine = Machine::new(&[VERSION_2, IN_A_POD, (name, text)]);
        let findings = cgroup::examine(&machine.tree());
        assert_ne!(verdict(&findings, subject), Verdict::Good, "{name}");
        assert_eq!(findings.len(), 1, "{findings:?}");
    }
}

#[test]
fn control_groups_without_limits_are_well() {
    let machine = Machine::new(&[
        VERSION_2,
        IN_A_POD,
        ("sys/fs/cgroup/pod/one/cpu.max", "max 100000"),
        ("sys/fs/cgroup/pod/one/io.max", "8:0 rbps=max wbps=max riops=max wiops=max"),
        ("sys/fs/cgroup/pod/one/memory.max", "max"),
    ]);
    assert_eq!(verdict(&cgroup::examine(&machine.tree()), "control groups"), Verdict::Good);
}

#[test]
fn a_set_of_cpus_was_said_to_limit_nothing() {
    let mounts = "31 25 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset";
    let online = ("sys/devices/system/cpu/online", "0-3");
    let one = ("proc/self/cgroup", "3:cpuset:/job");
    for (mounts, group, file) in [
        (VERSION_2, IN_A_POD, "sys/fs/cgroup/pod/one/cpuset.cpus.effective"),
        (("proc/self/mountinfo", mounts), one, "sys/fs/cgroup/cpuset/job/cpuset.effective_cpus"),
    ] {
        let said = |cpus: &str| {
            cgroup::examine(&Machine::new(&[mounts, group, online, (file, cpus)]).tree())
        };
        let findings = said("0,2");
        assert_eq!(verdict(&findings, "control group: CPU"), Verdict::Slow);
        assert!(findings[0].evidence.ends_with("allows 2 of 4 CPUs: 0,2."), "{findings:?}");
        assert_eq!(verdict(&said("0-3"), "control groups"), Verdict::Good);
    }
}

#[test]
fn a_limit_of_threads_was_said_to_limit_nothing() {
    let said = |most: &str| {
        let files = [
            VERSION_2,
            IN_A_POD,
            ("sys/fs/cgroup/pod/pids.max", most),
            ("sys/fs/cgroup/pod/pids.current", "90"),
        ];
        cgroup::examine(&Machine::new(&files).tree())
    };
    let findings = said("100");
    assert_eq!(verdict(&findings, "control group: threads"), Verdict::Slow);
    assert!(findings[0].evidence.contains("100 processes and threads, of which 90"));
    for most in ["max", "4096"] {
        assert_eq!(verdict(&said(most), "control groups"), Verdict::Good, "{most}");
    }
}

#[test]
fn a_process_that_may_use_few_cpus_was_said_to_be_well() {
    let said = |allowed: &str, left: &str| {
        let status = format!("Name:\tx\nCpus_allowed_list:\t{allowed}\nSeccomp:\t0");
        let files = [
            VERSION_2,
            IN_A_POD,
            ("proc/self/status", status.as_str()),
            ("sys/devices/system/cpu/online", "0-3"),
            ("sys/fs/cgroup/pod/one/cpuset.cpus.effective", left),
        ];
        let findings = limits::examine(&Machine::new(&files).tree(), &engines(Ok(())));
        findings.into_iter().find(|finding| finding.subject == "CPU affinity")
    };
    let evidence = said("0,2", "0-3").map(|finding| finding.evidence);
    assert_eq!(evidence.as_deref(), Some("This process may use 2 of 4 CPUs: 0,2."));
    assert_eq!(said("0-3", "0-3"), None);
    // The control group has a finding of its own.
    assert_eq!(said("0-1", "0-1"), None);
}

#[test]
fn one_queue_was_written_as_many() {
    let files = [("sys/block/vdx/queue/nr_requests", "256"), ("sys/block/vdx/mq/0/cpu_list", "0")];
    let findings = devices::examine(&Machine::new(&files).tree(), "vdx");
    let queues = findings.iter().find(|finding| finding.subject == "hardware queues");
    let words = "1 hardware queue of 256 requests; more I/Os wait in the kernel.";
    assert_eq!(queues.expect("a finding").evidence, words);
}

#[test]
fn throttles_of_version_1_are_found_in_the_hierarchy_of_their_controller() {
    let mounts = "31 25 0:27 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n\
                  32 25 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct";
    let own = ("proc/self/cgroup", "7:blkio:/job\n1:cpu,cpuacct:/job");
    for (name, text, subject) in [
        ("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "20000", "control group: CPU"),
        (
            "sys/fs/cgroup/blkio/job/blkio.throttle.read_bps_device",
            "253:0 1048576",
            "control group: I/O",
        ),
    ] {
        let machine = Machine::new(&[
            ("proc/self/mountinfo", mounts),
            own,
            ("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000"),
            (name, text),
        ]);
        assert_eq!(verdict(&cgroup::examine(&machine.tree()), subject), Verdict::Slow, "{name}");
    }
}

fn loads(before: &[(&str, &str)], after: &[(&str, &str)]) -> Vec<Finding> {
    let (before, after) = (Machine::new(before), Machine::new(after));
    let samples = (load::Sample::take(&before.tree()), load::Sample::take(&after.tree()));
    load::examine(&after.tree(), &samples.0, &samples.1)
}

#[test]
fn other_load_and_stolen_time_are_those_of_the_time_that_was_watched() {
    let start = ("proc/stat", "cpu 100 0 0 1000 0 0 0 0 0 0");
    let idle = loads(&[start], &[("proc/stat", "cpu 101 0 0 1099 0 0 0 0 0 0")]);
    assert_eq!(verdict(&idle, "other load"), Verdict::Good);
    assert_eq!(verdict(&idle, "time taken by the hypervisor"), Verdict::Good);
    let busy = loads(&[start], &[("proc/stat", "cpu 120 10 5 1055 0 5 5 0 0 0")]);
    assert_eq!(verdict(&busy, "other load"), Verdict::Unsteady);
    let stolen = loads(&[start], &[("proc/stat", "cpu 100 0 0 1080 0 0 0 20 0 0")]);
    assert_eq!(verdict(&stolen, "other load"), Verdict::Good);
    assert_eq!(verdict(&stolen, "time taken by the hypervisor"), Verdict::Unsteady);
}

#[test]
fn pressure_swapping_and_writeback_are_told() {
    let memory = |dirty: u64| {
        format!("SwapTotal: 100 kB\nSwapFree: 50 kB\nDirty: {dirty} kB\nWriteback: 0 kB")
    };
    let calm = [
        ("proc/pressure/io", "some avg10=1.00 avg60=9.00 avg300=9.00 total=1"),
        ("proc/meminfo", &memory(8)),
        ("proc/vmstat", "pswpin 5\npswpout 5"),
    ];
    let findings = loads(&calm, &calm);
    for subject in ["pressure on io", "swap", "writeback"] {
        assert_eq!(verdict(&findings, subject), Verdict::Good);
    }
    let rough = [
        ("proc/pressure/io", "some avg10=31.00 avg60=1.00 avg300=1.00 total=1"),
        ("proc/meminfo", &memory(900_000)),
        ("proc/vmstat", "pswpin 5\npswpout 9"),
    ];
    let findings = loads(&calm, &rough);
    for subject in ["pressure on io", "swap", "writeback"] {
        assert_eq!(verdict(&findings, subject), Verdict::Unsteady);
    }
}

#[test]
fn a_queue_is_judged_by_its_settings() {
    for (name, text, subject, expected) in [
        ("scheduler", "none [mq-deadline] kyber", "I/O scheduler", Verdict::Slow),
        ("scheduler", "[none] mq-deadline", "I/O scheduler", Verdict::Good),
        ("iostats", "1", "I/O statistics", Verdict::Slow),
        ("iostats", "0", "I/O statistics", Verdict::Good),
        ("add_random", "1", "entropy", Verdict::Slow),
        ("add_random", "0", "entropy", Verdict::Good),
        ("nomerges", "0", "merging", Verdict::Slow),
        ("nomerges", "2", "merging", Verdict::Good),
        ("wbt_lat_usec", "75000", "writeback throttling", Verdict::Unsteady),
        ("wbt_lat_usec", "0", "writeback throttling", Verdict::Good),
    ] {
        let name = format!("sys/block/sdx/queue/{name}");
        let rule = |tree: &Tree| devices::examine(tree, "sdx");
        assert_eq!(with(rule, &name, text, subject), expected, "{name}: {text}");
    }
}

#[test]
fn turning_platters_may_have_a_scheduler_but_not_those_that_a_virtual_machine_claims() {
    let queue =
        [("sys/block/sdx/queue/scheduler", "none [bfq]"), ("sys/block/sdx/queue/rotational", "1")];
    let machine = Machine::new(&queue);
    let found = |machine: &Machine| devices::examine(&machine.tree(), "sdx");
    assert_eq!(verdict(&found(&machine), "I/O scheduler"), Verdict::Good);
    machine.write("sys/devices/pci0/virtio1/vendor", "0");
    machine.link("sys/block/sdx/device", "sys/devices/pci0/virtio1");
    assert_eq!(verdict(&found(&machine), "I/O scheduler"), Verdict::Slow);
}

#[test]
fn a_device_of_one_node_among_several_wants_its_cpus() {
    let machine = Machine::new(&[
        ("sys/devices/pci0/0000:01/numa_node", "1"),
        ("sys/devices/pci0/0000:01/nvme/nvme0/model", "x"),
        ("sys/devices/system/node/node0/cpulist", "0-3"),
    ]);
    machine.link("sys/block/nvme0n1/device", "sys/devices/pci0/0000:01/nvme/nvme0");
    let found = || devices::examine(&machine.tree(), "nvme0n1");
    assert_eq!(verdict(&found(), "NUMA node"), Verdict::Good);
    machine.write("sys/devices/system/node/node1/cpulist", "4-7");
    assert_eq!(verdict(&found(), "NUMA node"), Verdict::Unsteady);
}

#[test]
fn layers_that_change_what_is_measured_are_told() {
    let found =
        |files: &[(&str, &str)], disk: &str| devices::examine(&Machine::new(files).tree(), disk);
    let loops = |dio| found(&[("sys/block/loop3/loop/dio", dio)], "loop3");
    assert_eq!(verdict(&loops("0"), "loop device"), Verdict::Slow);
    assert_eq!(verdict(&loops("1"), "loop device"), Verdict::Good);
    let mapped = |uuid| {
        let part = ("sys/block/dm-0/slaves/sda/dev", "8:0");
        found(&[part, ("sys/block/dm-0/dm/uuid", uuid)], "dm-0")
    };
    assert_eq!(verdict(&mapped("CRYPT-LUKS2-1"), "layers"), Verdict::Slow);
    assert_eq!(verdict(&mapped("LVM-1"), "layers"), Verdict::Good);
}

#[test]
fn interrupts_that_all_arrive_on_one_cpu_are_told() {
    let machine = Machine::new(&[
        ("sys/devices/pci0/0000:02/msi_irqs/36", "msix"),
        ("sys/devices/pci0/0000:02/msi_irqs/37", "msix"),
        ("sys/devices/pci0/0000:02/virtio1/vendor", "0"),
        ("sys/devices/system/cpu/online", "0-1"),
        ("proc/irq/36/effective_affinity_list", "1"),
        ("proc/irq/37/effective_affinity_list", "0"),
        ("proc/interrupts", "  CPU0 CPU1\n 36: 0 9 PCI req.0\n 37: 0 0 PCI config"),
    ]);
    machine.link("sys/block/vdx/device", "sys/devices/pci0/0000:02/virtio1");
    let finding = || interrupts::examine(&machine.tree(), "vdx").expect("a finding");
    assert_eq!(verdict(&[finding()], "interrupts"), Verdict::Slow);
    assert!(finding().evidence.contains("CPU 1"), "{:?}", finding());
    machine.write("proc/interrupts", "  CPU0 CPU1\n 36: 0 9 PCI req.0\n 37: 5 0 PCI req.1");
    assert_eq!(verdict(&[finding()], "interrupts"), Verdict::Good);
}

#[test]
fn a_partition_leads_to_its_disk() {
    let machine = Machine::new(&[
        ("sys/devices/block/sdx/size", "1"),
        ("sys/devices/block/sdx/sdx1/partition", "1"),
    ]);
    machine.link("sys/dev/block/8:1", "sys/devices/block/sdx/sdx1");
    machine.link("sys/dev/block/8:0", "sys/devices/block/sdx");
    for link in ["sys/dev/block/8:1", "sys/dev/block/8:0"] {
        assert_eq!(targets::whole_disk(&machine.tree(), link).as_deref(), Some("sdx"));
    }
}

#[test]
fn a_machine_that_tells_nothing_has_no_fault() {
    let empty = Machine::new(&[]);
    let mut findings = machine::examine(&empty.tree());
    findings.extend(cgroup::examine(&empty.tree()));
    findings.extend(loads(&[], &[]));
    findings.extend(devices::examine(&empty.tree(), "sdx"));
    assert!(findings.iter().all(|finding| finding.verdict == Verdict::Good), "{findings:#?}");
}

#[test]
fn the_cost_of_the_tool_is_measured_on_the_engine_that_does_nothing() {
    let cost = super::cost::measure();
    let (Some(batched), Some(single)) = (cost.batched_ns_per_io, cost.single_ns_per_io) else {
        panic!("{cost:?}");
    };
    for (name, value) in [
        ("batched", batched),
        ("single", single),
        ("clock", cost.clock_read_ns),
        ("system call", cost.system_call_ns),
    ] {
        assert!(value > 0.0, "{name}: {cost:?}");
    }
    // One look at the clock serves 128 I/Os of a batch, and one I/O alone.
    assert!(batched < single, "{cost:?}");
}

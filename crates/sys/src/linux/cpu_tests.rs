//! Topologies that are not at hand, as the kernel shows them.

use super::*;

/// A host as sysfs shows it.
struct Host(tempfile::TempDir);

impl Host {
    fn new(online: &str) -> Self {
        let host = Self(tempfile::tempdir().expect("a temporary directory"));
        host.write("system/cpu/online", online);
        host
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, format!("{text}\n")).expect("a file");
    }

    fn place(&self, os_id: u32, socket: u32, core: u32) {
        let directory = format!("system/cpu/cpu{os_id}/topology");
        self.write(&format!("{directory}/physical_package_id"), &socket.to_string());
        self.write(&format!("{directory}/core_id"), &core.to_string());
    }

    fn cpus(&self) -> Vec<Cpu> {
        topology_in(self.0.path()).expect("a topology")
    }
}

#[test]
fn two_sockets_with_hyper_threads_interleaved() {
    let host = Host::new("0-7");
    host.write("system/node/node0/cpulist", "0,2,4,6");
    host.write("system/node/node1/cpulist", "1,3,5,7");
    for os_id in 0..8 {
        host.place(os_id, os_id % 2, os_id / 2 % 2);
    }
    let cpus = host.cpus();
    let places: Vec<_> = cpus.iter().map(|cpu| (cpu.group, cpu.index, cpu.os_id)).collect();
    let expected =
        [(0, 0, 0), (0, 1, 2), (0, 2, 4), (0, 3, 6), (1, 0, 1), (1, 1, 3), (1, 2, 5), (1, 3, 7)];
    assert_eq!(places, expected);
    let cores: Vec<_> = cpus.iter().map(|cpu| (cpu.socket, cpu.core)).collect();
    let expected = [(0, 0), (0, 2), (0, 0), (0, 2), (1, 1), (1, 3), (1, 1), (1, 3)];
    assert_eq!(cores, expected);
    assert!(cpus.iter().all(|cpu| cpu.efficiency_class == 0));
}

#[test]
fn a_host_without_numa_and_with_a_cpu_offline() {
    let host = Host::new("0,2-3");
    let cpus = host.cpus();
    let places: Vec<_> = cpus.iter().map(|cpu| (cpu.os_id, cpu.group, cpu.index)).collect();
    assert_eq!(places, [(0, 0, 0), (2, 0, 1), (3, 0, 2)]);
    // Without core numbers each CPU is a core of its own.
    assert_eq!(cpus.iter().map(|cpu| cpu.core).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn on_one_node_an_index_is_the_kernels_number() {
    let host = Host::new("0,2-3");
    host.write("system/cpu/present", "0-3");
    host.write("system/node/node0/cpulist", "0,2-3");
    let indices: Vec<_> = host.cpus().iter().map(|cpu| (cpu.os_id, cpu.index)).collect();
    assert_eq!(indices, [(0, 0), (2, 2), (3, 3)]);
    host.write("system/node/node1/cpulist", "3");
    host.write("system/node/node0/cpulist", "0,2");
    let places: Vec<_> = host.cpus().iter().map(|cpu| (cpu.group, cpu.index)).collect();
    assert_eq!(places, [(0, 0), (0, 1), (1, 0)]);
}

#[test]
fn performance_and_efficiency_cores_of_x86() {
    let host = Host::new("0-5");
    host.write("cpu_core/cpus", "0-1");
    host.write("cpu_atom/cpus", "2-5");
    let classes: Vec<_> = host.cpus().iter().map(|cpu| cpu.efficiency_class).collect();
    assert_eq!(classes, [1, 1, 0, 0, 0, 0]);
}

#[test]
fn big_and_little_cores_by_capacity() {
    let host = Host::new("0-2");
    for (os_id, capacity) in [(0, "1024"), (1, "512"), (2, "250")] {
        host.write(&format!("system/cpu/cpu{os_id}/cpu_capacity"), capacity);
    }
    let classes: Vec<_> = host.cpus().iter().map(|cpu| cpu.efficiency_class).collect();
    assert_eq!(classes, [2, 1, 0]);
    for os_id in 0..3 {
        host.write(&format!("system/cpu/cpu{os_id}/cpu_capacity"), "1024");
    }
    assert!(host.cpus().iter().all(|cpu| cpu.efficiency_class == 0));
}

#[test]
fn frequencies_tell_kinds_of_cores_apart_but_not_favoured_ones() {
    let host = Host::new("0-5");
    let classes = |frequencies: [u32; 6]| -> Vec<u8> {
        for (os_id, frequency) in (0..).zip(frequencies) {
            let path = format!("system/cpu/cpu{os_id}/cpufreq/cpuinfo_max_freq");
            host.write(&path, &frequency.to_string());
        }
        host.cpus().iter().map(|cpu| cpu.efficiency_class).collect()
    };
    let hybrid = [5_800_000, 5_500_000, 5_500_000, 4_300_000, 4_300_000, 4_300_000];
    assert_eq!(classes(hybrid), [1, 1, 1, 0, 0, 0]);
    assert_eq!(classes([3_200_000, 3_100_000, 3_000_000, 2_900_000, 2_800_000, 2_700_000]), [0; 6]);
}

#[test]
fn a_node_of_more_cpus_than_an_index_fills_several_groups() {
    let host = Host::new("0-299,300-309");
    host.write("system/node/node0/cpulist", "0-299");
    host.write("system/node/node1/cpulist", "300-309");
    let cpus = host.cpus();
    let last =
        |group| cpus.iter().rfind(|cpu| cpu.group == group).map(|cpu| (cpu.os_id, cpu.index));
    assert_eq!(last(0), Some((255, 255)));
    assert_eq!(last(1), Some((299, 43)));
    assert_eq!(last(2), Some((309, 9)));
}

#[test]
fn lists_are_read() {
    assert_eq!(parse_list("0-3,8,10-11\n"), [0, 1, 2, 3, 8, 10, 11]);
    assert!(parse_list("\n").is_empty());
}

#[test]
fn times_add_up_without_counting_guests_twice() {
    let stat = "cpu  100 1 2 3 4 5 6 7 8 9\n\
                cpu0 60 3 20 700 30 1 2 9 50 1\n\
                cpu12 1 2 3 4\n\
                intr 5 6\nctxt 7\n";
    let expected = [
        CpuTimes { os_id: 0, user: 63, kernel: 23, idle: 730, steal: 9, online_mark: 0 },
        CpuTimes { os_id: 12, user: 3, kernel: 3, idle: 4, steal: 0, online_mark: 0 },
    ];
    assert_eq!(parse_times(stat), expected);
}

#[test]
fn the_model_is_named() {
    let amd = "processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD EPYC 9554\n";
    assert_eq!(parse_model_name(amd).as_deref(), Some("AMD EPYC 9554"));
    let arm = "processor\t: 0\nBogoMIPS\t: 50.00\nCPU part\t: 0xd0c\n";
    assert_eq!(parse_model_name(arm), None);
}

#[test]
fn this_host_has_the_cpus_that_this_process_may_use() {
    let cpus = topology().expect("the topology");
    let usable = usable().expect("the mask");
    assert!(!usable.is_empty());
    assert!(usable.iter().all(|os_id| cpus.iter().any(|cpu| cpu.os_id == *os_id)));
    let times = times().expect("the times");
    assert!(cpus.iter().all(|cpu| times.iter().any(|entry| entry.os_id == cpu.os_id)));
}

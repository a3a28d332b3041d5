//! Threads, CPUs, rates and weights.

use super::*;
use crate::control_groups::MemoryLeft;
use crate::plan::{Burst, Pace, ThreadPlan};
use crate::request::{CpuId, Rate, ThreadTarget, WriteSource};

fn pins(plan: &SpanPlan) -> Vec<Option<usize>> {
    plan.threads.iter().map(|thread| thread.cpu.map(|pin| pin.os_id)).collect()
}

fn uses(thread: &ThreadPlan) -> Vec<(usize, u32, u32)> {
    let uses = thread.assignments.iter();
    uses.map(|one| (one.target, one.relative_thread, one.weight)).collect()
}

fn cpu(group: u16, index: u8) -> CpuId {
    CpuId { group, index: Some(index) }
}

#[test]
fn each_target_has_its_own_threads() {
    let mut request = span(vec![target(), target()]);
    request.targets[0].threads = 2;
    request.targets[1].outstanding = 7;
    request.random_seed = u32::MAX;
    let plan = plan(request, &host());
    let all: Vec<_> = plan.threads.iter().flat_map(uses).collect();
    assert_eq!(all, [(0, 0, 1), (0, 1, 1), (1, 0, 1)]);
    assert_eq!(plan.threads[2].assignments[0].outstanding, 7);
    // The seeds go on beyond 32 bits instead of starting again at 0.
    let seeds: Vec<_> = plan.threads.iter().map(|thread| thread.seed).collect();
    assert_eq!(seeds, [4_294_967_295, 4_294_967_296, 4_294_967_297]);
    assert_eq!(plan.shared_outstanding, 0);
}

#[test]
fn shared_threads_have_all_targets_or_those_that_name_them() {
    let mut request = span(vec![target(), target()]);
    request.thread_count = 3;
    request.request_count = 16;
    request.targets[0].weight = 5;
    request.targets[1].weight = 9;
    request.targets[1].thread_targets =
        vec![ThreadTarget { thread: 0, weight: 0 }, ThreadTarget { thread: 2, weight: 4 }];
    let plan = plan(request, &host());
    assert_eq!(plan.shared_outstanding, 16);
    let all: Vec<_> = plan.threads.iter().map(uses).collect();
    let expected = [vec![(0, 0, 5), (1, 0, 9)], vec![(0, 1, 5)], vec![(0, 2, 5), (1, 2, 4)]];
    assert_eq!(all, expected);
}

#[test]
fn a_request_count_needs_shared_threads() {
    let mut request = span(vec![target()]);
    request.request_count = 16;
    assert_eq!(plan(request, &host()).shared_outstanding, 0);
}

#[test]
fn threads_and_targets_must_find_each_other() {
    let mut request = span(vec![target()]);
    request.thread_count = 2;
    request.targets[0].thread_targets = vec![ThreadTarget { thread: 0, weight: 1 }];
    let error = error_of(request.clone(), &host());
    assert_says(&error, ErrorClass::Request, &["thread 1 has no target"]);
    request.targets[0].thread_targets =
        (0..3).map(|thread| ThreadTarget { thread, weight: 1 }).collect();
    assert_says(&error_of(request, &host()), ErrorClass::Request, &["thread 2", "'t.dat'"]);
}

#[test]
fn a_thread_that_could_issue_nothing_is_refused() {
    let mut request = span(vec![target()]);
    request.targets[0].outstanding = 0;
    assert_says(&error_of(request.clone(), &host()), ErrorClass::Request, &["'t.dat'"]);
    (request.thread_count, request.request_count) = (1, 4);
    assert_eq!(plan(request.clone(), &host()).shared_outstanding, 4);
    request.targets[0].weight = 0;
    assert_says(&error_of(request.clone(), &host()), ErrorClass::Request, &["weight 0"]);
    request.targets[0].block_bytes = 0;
    request.targets[0].weight = 1;
    assert_says(&error_of(request, &host()), ErrorClass::Request, &["block size", "0"]);
}

#[test]
fn absurd_numbers_of_threads_are_refused() {
    let mut request = span(vec![target()]);
    request.thread_count = u32::MAX;
    assert_says(&error_of(request.clone(), &host()), ErrorClass::Request, &["4294967295"]);
    request.thread_count = 0;
    request.targets[0].threads = u32::MAX;
    assert_says(&error_of(request.clone(), &host()), ErrorClass::Request, &["4294967295"]);
    request.targets[0].threads = 0;
    assert_says(&error_of(request, &host()), ErrorClass::Request, &["0 threads"]);
}

#[test]
fn buffers_beyond_what_the_control_group_leaves_are_refused() {
    let left = |left_bytes| MemoryLeft {
        group: "/sys/fs/cgroup/box".to_owned(),
        limit_bytes: 1 << 20,
        left_bytes,
    };
    let of = |bytes| HostFacts { memory_left: Some(left(bytes)), ..host() };
    let mut request = span(vec![target()]);
    request.targets[0].outstanding = 32;
    let told = ["/sys/fs/cgroup/box", "131071 of its 1048576"];
    assert_says(&error_of(request.clone(), &of(131_071)), ErrorClass::Request, &told);
    assert_eq!(plan(request, &of(131_072)).threads.len(), 1);
}

#[test]
fn buffers_larger_than_the_memory_are_refused() {
    let mut request = span(vec![target()]);
    request.targets[0].outstanding = u32::MAX;
    assert_says(&error_of(request.clone(), &host()), ErrorClass::Request, &["memory"]);
    request.targets[0].outstanding = (1 << 30) / 4096;
    assert_eq!(plan(request.clone(), &host()).threads.len(), 1);
    request.targets[0].write_data.source = WriteSource::Buffer { bytes: 1 << 30, file: None };
    // Nothing is taken from a buffer of write data where nothing is written.
    assert_eq!(plan(request.clone(), &host()).threads.len(), 1);
    request.targets[0].write_percent = 1;
    assert_says(&error_of(request, &host()), ErrorClass::Request, &["memory", "write data"]);
}

#[test]
fn a_series_larger_than_the_memory_is_refused() {
    let mut request = span(vec![target()]);
    request.measure_latency = true;
    (request.duration_s, request.interval_ms) = (u32::MAX, 1);
    assert_eq!(plan(request.clone(), &host()).threads.len(), 1);
    request.interval_series = true;
    assert_says(&error_of(request.clone(), &host()), ErrorClass::Request, &["intervals", "memory"]);
    request.interval_ms = 100_000_000;
    assert_eq!(plan(request, &host()).threads.len(), 1);
}

#[test]
fn threads_go_round_the_usable_cpus_group_by_group() {
    let mut request = span(vec![target()]);
    request.targets[0].threads = 7;
    let expected = [0, 1, 2, 3, 4, 5, 0].map(Some);
    assert_eq!(pins(&plan(request.clone(), &host())), expected);
    let mut facts = host();
    facts.usable_cpus = [1, 4].into();
    assert_eq!(pins(&plan(request.clone(), &facts)), [1, 4, 1, 4, 1, 4, 1].map(Some));
    request.disable_affinity = true;
    assert_eq!(pins(&plan(request, &host())), [None; 7]);
}

#[test]
fn a_list_of_cpus_is_kept_in_its_order() {
    let mut request = span(vec![target()]);
    request.targets[0].threads = 4;
    request.cpus = vec![cpu(1, 2), cpu(0, 0), cpu(1, 2)];
    assert_eq!(pins(&plan(request, &host())), [5, 0, 5, 5].map(Some));
}

#[test]
fn cpus_that_are_not_there_are_refused() {
    let mut request = span(vec![target()]);
    request.cpus = vec![cpu(5, 0)];
    let error = error_of(request.clone(), &host());
    let words = "affinity assignment to group 5; system only has 2 groups";
    assert_says(&error, ErrorClass::Request, &[words, "group 0 cpu 0,1,2; group 1 cpu 0,1,2"]);
    request.cpus = vec![cpu(0, 77), cpu(0, 77)];
    let words = "affinity assignment to group 0 cpu 77 not possible; group has a max of 3 cpus";
    assert_says(&error_of(request.clone(), &host()), ErrorClass::Request, &[words]);
    request.cpus = vec![cpu(1, 1)];
    let mut facts = host();
    facts.usable_cpus = [0].into();
    assert_says(&error_of(request, &facts), ErrorClass::Request, &["group 1 cpu 1", "restricted"]);
}

#[test]
fn a_cpu_that_is_switched_off_is_told_from_one_that_is_not_there() {
    let mut request = span(vec![target()]);
    request.cpus = vec![cpu(0, 1)];
    let mut facts = host();
    facts.cpus.retain(|cpu| cpu.os_id != 1);
    let words = "group 0 cpu 1 not possible; cpu is not active";
    assert_says(&error_of(request, &facts), ErrorClass::Request, &[words, "group 0 cpu 0,2"]);
}

#[test]
fn starts_are_a_stride_apart() {
    let mut request = span(vec![target()]);
    request.targets[0].threads = 3;
    request.targets[0].base_bytes = MIB;
    request.targets[0].thread_stride_bytes = 2 * MIB;
    let plan = plan(request, &host());
    let starts: Vec<_> =
        plan.threads.iter().map(|thread| thread.assignments[0].start_bytes / MIB).collect();
    assert_eq!(starts, [1, 3, 5]);
}

#[test]
fn a_shared_thread_starts_by_its_own_number() {
    let mut request = span(vec![target(), target()]);
    (request.thread_count, request.request_count) = (3, 1);
    request.targets[1].thread_stride_bytes = MIB;
    request.targets[1].thread_targets = vec![ThreadTarget { thread: 2, weight: 1 }];
    let plan = plan(request, &host());
    assert_eq!(plan.threads[2].assignments[1].start_bytes, 2 * MIB);
}

#[test]
fn a_start_beyond_the_end_is_told_as_diskspd_does() {
    let mut request = span(vec![target()]);
    request.targets[0].threads = 4;
    request.targets[0].thread_stride_bytes = 1 << 30;
    let words = "The file is too small. File: 't.dat' relative thread 1: file size: 8388608, \
                 base offset: 0, thread stride: 1073741824, block size: 4096";
    assert_says(&error_of(request.clone(), &host()), ErrorClass::Target, &[words]);
    // The last block may end with the file, and not a byte later.
    request.targets[0].threads = 2;
    request.targets[0].thread_stride_bytes = 8 * MIB - 4096;
    assert_eq!(plan(request.clone(), &host()).threads.len(), 2);
    request.targets[0].thread_stride_bytes += 1;
    assert_says(&error_of(request.clone(), &host()), ErrorClass::Target, &["relative thread 1"]);
    request.targets[0].thread_stride_bytes = u64::MAX;
    request.targets[0].threads = 3;
    assert_says(&error_of(request, &host()), ErrorClass::Target, &["relative thread 1"]);
}

#[test]
fn rates_are_exact_ratios() {
    let pace_of = |rate, block_bytes| {
        let mut request = span(vec![target()]);
        request.targets[0].rate = Some(rate);
        request.targets[0].block_bytes = block_bytes;
        plan(request, &host()).threads[0].assignments[0].pace
    };
    let per_ns = 1_000_000_000;
    assert_eq!(pace_of(Rate::Iops(65_536), 65_536), Some(Pace::constant(65_536, per_ns)));
    assert_eq!(pace_of(Rate::Iops(1), 999), Some(Pace::constant(1, per_ns)));
    // 1000 bytes per millisecond in blocks of 512 bytes: 125 I/Os in 64 ms.
    let exact = Pace::constant(1, 512_000);
    assert_eq!(pace_of(Rate::BytesPerMs(1000), 512), Some(exact));
    let exact = Pace::constant(3, 4_096_000_000);
    assert_eq!(pace_of(Rate::BytesPerMs(3), 4096), Some(exact));
    assert_eq!(pace_of(Rate::BytesPerMs(0), 4096), None);
}

#[test]
fn bursts_need_a_size_and_a_gap() {
    let burst_of = |burst_ios, think_ms| {
        let mut request = span(vec![target()]);
        (request.targets[0].burst_ios, request.targets[0].think_ms) = (burst_ios, think_ms);
        plan(request, &host()).threads[0].assignments[0].burst
    };
    assert_eq!(burst_of(Some(4), Some(20)), Some(Burst { ios: 4, gap_ns: 20_000_000 }));
    assert_eq!(burst_of(Some(4), None), None);
    assert_eq!(burst_of(Some(0), Some(20)), None);
}

#[test]
fn a_burst_is_divided_among_the_threads_of_its_target() {
    let burst_ios = |change: &dyn Fn(&mut TimeSpan)| {
        let mut request = span(vec![target()]);
        (request.targets[0].burst_ios, request.targets[0].think_ms) = (Some(10), Some(20));
        change(&mut request);
        plan(request, &host()).threads[0].assignments[0].burst.map(|burst| burst.ios)
    };
    assert_eq!(burst_ios(&|request| request.targets[0].threads = 4), Some(2));
    assert_eq!(burst_ios(&|request| request.thread_count = 5), Some(2));
    // A thread has at least one I/O of it.
    assert_eq!(burst_ios(&|request| request.targets[0].threads = 16), Some(1));
}

#[test]
fn kernel_workers_run_beside_the_threads_where_a_cpu_is_idle() {
    let mut request = span(vec![target()]);
    let cpus = host().cpus.len();
    let workers = |request: &TimeSpan| -> Vec<Vec<usize>> {
        plan(request.clone(), &host()).threads.iter().map(|one| one.worker_cpus.clone()).collect()
    };
    let of_one = workers(&request);
    let own = pins(&plan(request.clone(), &host()))[0].unwrap();
    assert!(!of_one[0].is_empty() && !of_one[0].contains(&own), "{of_one:?}");
    // With a thread on each CPU, each has its workers to itself.
    request.targets[0].threads = u32::try_from(cpus).unwrap();
    let all = plan(request.clone(), &host());
    for thread in &all.threads {
        assert_eq!(thread.worker_cpus, [thread.cpu.unwrap().os_id]);
    }
    // A thread that may run anywhere leaves its workers to the kernel.
    request.disable_affinity = true;
    assert!(workers(&request).iter().all(Vec::is_empty));
}

#[test]
fn kernel_workers_prefer_an_idle_cpu_of_the_same_group() {
    let mut request = span(vec![target()]);
    for (pinned, expected_group) in [(cpu(0, 0), 0), (cpu(1, 0), 1)] {
        request.cpus = vec![pinned];
        let workers = plan(request.clone(), &host()).threads[0].worker_cpus.clone();
        let group = |os_id: &usize| {
            host().cpus.iter().find(|cpu| cpu.os_id as usize == *os_id).map(|cpu| cpu.group)
        };
        assert!(!workers.is_empty());
        assert!(workers.iter().all(|os_id| group(os_id) == Some(expected_group)), "{workers:?}");
    }
}

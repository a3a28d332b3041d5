//! The order of CPUs on hosts of every kind, and what happens where a CPU cannot be used.

use super::*;
use crate::request::{CpuId, CpuOrder, EfficiencyOrder};
use crate::result::WarningKind;

/// A host with these CPUs, all usable: group, index, core and kind of each.
fn with_cpus(places: &[(u16, u8, u32, u8)]) -> HostFacts {
    let place =
        |(os_id, &(group, index, core, efficiency_class)): (u32, &(u16, u8, u32, u8))| Cpu {
            os_id,
            group,
            index,
            node: u32::from(group),
            socket: u32::from(group) / 2,
            core,
            efficiency_class,
        };
    let cpus: Vec<Cpu> = (0..).zip(places).map(place).collect();
    HostFacts { usable_cpus: cpus.iter().map(|cpu| cpu.os_id).collect(), cpus, ..host() }
}

/// Two P-cores of two threads, CPU 0 to 3, and two E-cores, CPU 4 and 5.
fn hybrid() -> HostFacts {
    with_cpus(&[(0, 0, 0, 1), (0, 1, 0, 1), (0, 2, 1, 1), (0, 3, 1, 1), (0, 4, 2, 0), (0, 5, 3, 0)])
}

/// The same with the slow cores in front.
fn slow_in_front() -> HostFacts {
    with_cpus(&[(0, 0, 0, 0), (0, 1, 1, 0), (0, 2, 2, 1), (0, 3, 2, 1)])
}

/// Two sockets of two nodes each; a node has two cores of two threads, whose siblings come last.
fn four_nodes() -> HostFacts {
    let place = |cpu: u32| {
        let (group, index) = (u16::try_from(cpu / 4).unwrap(), u8::try_from(cpu % 4).unwrap());
        (group, index, u32::from(group) * 2 + u32::from(index % 2), 0)
    };
    with_cpus(&(0..16).map(place).collect::<Vec<_>>())
}

fn order(letters: &str) -> CpuOrder {
    let efficiency = letters.chars().find_map(|letter| match letter {
        'p' => Some(EfficiencyOrder::FastFirst),
        'P' => Some(EfficiencyOrder::FillFast),
        'e' => Some(EfficiencyOrder::SlowFirst),
        'E' => Some(EfficiencyOrder::FillSlow),
        'u' => Some(EfficiencyOrder::Unordered),
        _ => None,
    });
    CpuOrder { core_first: letters.contains('c'), span_groups: letters.contains('s'), efficiency }
}

/// The CPUs of the first `threads` threads, by the kernel's numbers.
fn pins(facts: &HostFacts, letters: &str, cpus: &[(u16, Option<u8>)], threads: u32) -> Vec<usize> {
    let mut request = span(vec![target()]);
    request.targets[0].threads = threads;
    request.cpu_order = order(letters);
    request.cpus = cpus.iter().map(|&(group, index)| CpuId { group, index }).collect();
    let plan = plan(request, facts);
    plan.threads.iter().map(|thread| thread.cpu.expect("a pin").os_id).collect()
}

#[test]
fn fast_cores_come_first_unless_they_must_not() {
    assert_eq!(pins(&slow_in_front(), "", &[], 5), [2, 3, 0, 1, 2]);
    assert_eq!(pins(&slow_in_front(), "u", &[], 4), [0, 1, 2, 3]);
    assert_eq!(pins(&slow_in_front(), "e", &[], 4), [0, 1, 2, 3]);
    assert_eq!(pins(&hybrid(), "e", &[], 6), [4, 5, 0, 1, 2, 3]);
}

#[test]
fn one_thread_per_core_comes_before_the_second() {
    assert_eq!(pins(&hybrid(), "c", &[], 6), [0, 2, 4, 5, 1, 3]);
    assert_eq!(pins(&hybrid(), "ce", &[], 6), [4, 5, 0, 2, 1, 3]);
    assert_eq!(pins(&hybrid(), "cP", &[], 6), [0, 2, 1, 3, 4, 5]);
    assert_eq!(pins(&hybrid(), "cE", &[], 6), [4, 5, 0, 2, 1, 3]);
    assert_eq!(pins(&hybrid(), "cu", &[], 6), [0, 2, 4, 5, 1, 3]);
    assert_eq!(pins(&hybrid(), "P", &[], 6), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn groups_are_filled_or_spanned() {
    let facts = four_nodes();
    assert_eq!(pins(&facts, "", &[], 6), [0, 1, 2, 3, 4, 5]);
    assert_eq!(pins(&facts, "c", &[], 6), [0, 1, 2, 3, 4, 5]);
    // In each pass over the cores the groups follow each other.
    let spanned = pins(&facts, "cs", &[], 16);
    assert_eq!(spanned[..8], [0, 1, 4, 5, 8, 9, 12, 13]);
    assert_eq!(spanned[8..], [2, 3, 6, 7, 10, 11, 14, 15]);
}

#[test]
fn kinds_of_cores_span_groups_too() {
    let facts = with_cpus(&[
        (0, 0, 0, 1),
        (0, 1, 0, 1),
        (0, 2, 1, 1),
        (0, 3, 1, 1),
        (1, 0, 2, 0),
        (1, 1, 3, 0),
    ]);
    assert_eq!(pins(&facts, "cs", &[], 6), [0, 2, 4, 5, 1, 3]);
    assert_eq!(pins(&facts, "s", &[], 6), [0, 1, 2, 3, 4, 5]);
    assert_eq!(pins(&facts, "se", &[], 6), [4, 5, 0, 1, 2, 3]);
}

#[test]
fn a_list_keeps_its_order_until_another_is_asked_for() {
    let list = [(0, Some(4)), (0, Some(1)), (0, Some(0)), (0, Some(2))];
    assert_eq!(pins(&hybrid(), "", &list, 4), [4, 1, 0, 2]);
    assert_eq!(pins(&hybrid(), "p", &list, 4), [1, 0, 2, 4]);
    assert_eq!(pins(&hybrid(), "c", &list, 4), [1, 2, 4, 0]);
    // The same CPU again counts as its core's next thread.
    let again = [(0, Some(0)), (0, Some(0)), (0, Some(2))];
    assert_eq!(pins(&hybrid(), "c", &again, 3), [0, 2, 0]);
}

#[test]
fn whole_groups_stand_for_their_cpus() {
    let facts = four_nodes();
    assert_eq!(pins(&facts, "", &[(3, None), (1, None)], 8), [12, 13, 14, 15, 4, 5, 6, 7]);
    assert_eq!(pins(&facts, "s", &[(3, None), (1, Some(2))], 5), [6, 12, 13, 14, 15]);
}

#[test]
fn only_cpus_that_this_process_may_use_are_taken() {
    let mut facts = four_nodes();
    facts.usable_cpus = [1, 6, 7, 9].into();
    assert_eq!(pins(&facts, "", &[], 5), [1, 6, 7, 9, 1]);
    assert_eq!(pins(&facts, "", &[(1, None)], 3), [6, 7, 6]);
    let mut request = span(vec![target()]);
    request.cpus = vec![CpuId { group: 3, index: None }];
    let words = ["group 3 not possible", "control group", "group 1 cpu 2,3"];
    assert_says(&error_of(request.clone(), &facts), ErrorClass::Request, &words);
    request.cpus = vec![CpuId { group: 9, index: None }];
    let words = ["group 9", "only has 4 groups"];
    assert_says(&error_of(request, &facts), ErrorClass::Request, &words);
}

#[test]
fn holes_and_more_than_64_cpus_do_no_harm() {
    let place = |cpu: u8| (u16::from(cpu >= 100), cpu, u32::from(cpu) / 2, 0);
    let mut facts = with_cpus(&(0..200).map(place).collect::<Vec<_>>());
    // CPU 3 is switched off.
    facts.cpus.retain(|cpu| cpu.os_id != 3);
    facts.usable_cpus.remove(&3);
    let all = pins(&facts, "c", &[], 199);
    assert_eq!(all[..4], [0, 2, 4, 6]);
    assert_eq!(all[50..52], [1, 5]);
    assert_eq!(all[99..101], [100, 102]);
    assert_eq!(pins(&facts, "", &[(1, Some(199)), (0, Some(70))], 2), [199, 70]);
}

#[test]
fn threads_on_cores_of_different_kinds_are_told() {
    let warnings = |threads: u32, facts: &HostFacts| {
        let mut request = span(vec![target()]);
        request.targets[0].threads = threads;
        let resolved = with(request, &RunOptions::default(), facts).expect("a plan");
        resolved.warnings.iter().filter(|one| one.kind == WarningKind::MixedCores).count()
    };
    assert_eq!((warnings(4, &hybrid()), warnings(5, &hybrid())), (0, 1));
    assert_eq!(warnings(16, &four_nodes()), 0);
}

//! Who took what the load needed: each cause, and neighbours that explain nothing.

use super::*;
use crate::beneath::{Counters, LayerKind, LimitKind, Stall};
use crate::measure::{LatencyHistogram, Slots};
use crate::result::{Beneath, CpuShares, GroupUse, IoLimitUse, LayerUse, OtherProcess};

/// A time span of one second on two CPUs, of which this process used half of one and others nothing.
pub(super) fn beneath() -> Beneath {
    Beneath {
        counted_ns: SECOND,
        layers: vec![LayerUse {
            name: "vda".to_owned(),
            kind: LayerKind::Disk,
            about: String::new(),
            seen: None,
            below: Vec::new(),
        }],
        targets: Vec::new(),
        process: None,
        cpu: Some(CpuShares {
            cpu_count: 2,
            counted_ns: SECOND,
            own_user_ns: SECOND / 4,
            own_system_ns: SECOND / 4,
            waited_ns: Some(0),
            ..CpuShares::default()
        }),
        pressure: None,
        groups: Vec::new(),
        stalls: Vec::new(),
    }
}

fn group() -> GroupUse {
    GroupUse {
        folder: "/sys/fs/cgroup/box".to_owned(),
        cpu_limit: Some(0.1),
        periods: 10,
        throttled_periods: 9,
        throttled_ns: 870_000_000,
        io: Vec::new(),
    }
}

fn limited(kind: LimitKind, limit_per_s: u64, done_per_s: Option<f64>) -> GroupUse {
    let io = vec![IoLimitUse {
        device: "vda".to_owned(),
        layer: Some(0),
        kind,
        limit_per_s,
        done_per_s,
    }];
    GroupUse { cpu_limit: None, throttled_periods: 0, throttled_ns: 0, io, ..group() }
}

/// What is said where this was found; `change` makes the rest of the case.
fn said(found: Beneath, change: impl FnOnce(&mut Case)) -> Vec<Warning> {
    let mut case = Case::new(2);
    case.measured().beneath = Some(found);
    change(&mut case);
    case.all()
}

fn only(warnings: &[Warning], kind: WarningKind) -> &Warning {
    assert_eq!(warnings.iter().map(|one| one.kind).collect::<Vec<_>>(), [kind], "{warnings:?}");
    &warnings[0]
}

/// Others used `others` and the threads waited for `waited`, in thousandths of a second.
pub(super) fn taken(others: u64, waited: u64) -> Beneath {
    let mut found = beneath();
    let cpu = found.cpu.as_mut().unwrap();
    cpu.others_ns = others * SECOND / 1_000;
    cpu.waited_ns = Some(waited * SECOND / 1_000);
    let spinner = OtherProcess {
        pid: 7,
        name: "yes".to_owned(),
        cpu_ns: SECOND,
        watched_ns: SECOND,
        serves: Vec::new(),
        may_serve: Vec::new(),
    };
    cpu.most = vec![spinner];
    found
}

#[test]
fn a_quota_that_stopped_the_process_is_told_with_its_share() {
    let found = Beneath { groups: vec![group()], ..beneath() };
    let warnings = said(found, |_| {});
    let found = only(&warnings, WarningKind::CpuThrottled);
    has(&found.evidence, &["0.10 CPUs", "9 of 10 periods (90.0 %)", "870.0 ms"]);
}

#[test]
fn a_limit_of_io_that_was_reached_is_told_as_what_was_measured() {
    let found =
        Beneath { groups: vec![limited(LimitKind::ReadIops, 300, Some(307.5))], ..beneath() };
    let warnings = said(found, |_| {});
    let found = only(&warnings, WarningKind::IoLimited);
    has(&found.evidence, &["allows 300 reads per second of vda", "307.5 there were"]);
}

/// "Allows 4,194,304 bytes written per second, and 8,388,608 there were" was said of blocks of 8 MiB, which
/// the kernel counts before the limit keeps them.
#[test]
fn no_more_are_said_to_have_been_than_a_limit_allows() {
    let groups = vec![limited(LimitKind::WriteBytesPerS, 1_000, Some(2_000.0))];
    let warnings = said(Beneath { groups, ..beneath() }, |_| {});
    let found = only(&warnings, WarningKind::IoLimited);
    has(&found.evidence, &["2,000 came to it", "the limit was measured"]);
    lacks(&found.evidence, "there were");
}

/// 297 reads of a second were 272 per second, as the end was looked at 0.09 s late: the limit "may have been"
/// measured.
#[test]
fn a_late_look_at_the_end_makes_no_rate_lower() {
    let told = |cool_down_ns| {
        let mut found =
            Beneath { groups: vec![limited(LimitKind::ReadIops, 300, None)], ..beneath() };
        let seen = Counters { read_ios: 297, read_bytes: 297 << 12, ..Counters::default() };
        found.layers[0].seen = Some(seen);
        found.counted_ns = SECOND / 100 * 109;
        let warnings = said(found, |case| case.plan.spans[0].cool_down_ns = cool_down_ns);
        only(&warnings, WarningKind::IoLimited).evidence.clone()
    };
    has(&told(0), &["297.0 there were: the limit was measured"]);
    has(&told(SECOND), &["272.5 there were: the limit may have been measured"]);
}

/// "The limit was measured, and not the device" was said of 436 reads a second under a limit of 475, where
/// pauses of 2 ms behind each I/O made as many without any limit.
#[test]
fn a_limit_near_which_the_load_paces_itself_is_none_that_was_measured() {
    let told = |done_per_s, idle_percent: u64| {
        let group = limited(LimitKind::ReadIops, 475, Some(done_per_s));
        said(Beneath { groups: vec![group], ..beneath() }, |case| {
            let idle_ns = case.measured().measured_ns / 100 * idle_percent;
            for thread in &mut case.measured().threads {
                thread.slots = Slots { count: 1, idle_ns };
            }
        })
    };
    let of_the_limit = |warnings: &[Warning], words: &str| {
        let found = warnings.iter().find(|one| one.kind == WarningKind::IoLimited);
        has(&found.expect("a limit").evidence, &[words, "and not the device"]);
    };
    assert!(told(436.3, 90).iter().all(|one| one.kind != WarningKind::IoLimited));
    of_the_limit(&told(474.0, 30), "474.0 there were: the limit may have been measured");
    of_the_limit(&told(436.3, 2), "436.3 there were: the limit may have been measured");
    of_the_limit(&told(474.0, 2), "474.0 there were: the limit was measured");
}

/// The kernel counts time that a quota takes as a wait for a CPU: others were blamed for it.
#[test]
fn a_wait_that_a_quota_made_is_not_put_down_to_others() {
    let told = |waited, throttled_ns| {
        let stopped = GroupUse { cpu_limit: Some(0.2), throttled_ns, ..group() };
        let found = Beneath { groups: vec![stopped], ..taken(900, waited) };
        said(found, |case| case.measured().threads.truncate(1))
    };
    only(&told(795, 780_000_000), WarningKind::CpuThrottled);
    let both = told(795, 400_000_000);
    let found = both.iter().find(|one| one.kind == WarningKind::CpuContended).expect("others");
    has(&found.evidence, &["waited 79.5 % of their time", "; a quota stopped them, too"]);
}

/// Four threads that the process could run on one CPU only had 98 % of it, and others on another CPU were
/// said to make them wait.
#[test]
fn threads_that_no_cpu_is_kept_for_wait_for_each_other_too() {
    let told = |others, cpu_ms, usable| {
        said(taken(others, 1_050), |case| {
            case.plan.usable_cpu_count = usable;
            for thread in &mut case.measured().threads {
                (thread.pinned_os_cpu, thread.cpu_ns) = (None, SECOND * cpu_ms / 1_000);
            }
        })
    };
    let is_contended = |one: &Warning| one.kind == WarningKind::CpuContended;
    assert!(!told(1_000, 490, 1).iter().any(is_contended));
    let of_each_its_own = told(1_000, 490, 2);
    let found = of_each_its_own.iter().find(|one| is_contended(one)).expect("others");
    lacks(&found.evidence, "share");
    let starved = told(1_900, 50, 1);
    let found = starved.iter().find(|one| is_contended(one)).expect("others");
    has(&found.evidence, &["; 2 of them share 1 CPU, and wait for each other, too"]);
}

#[test]
fn others_that_starve_the_threads_are_named_and_no_other_cause_is() {
    let warnings = said(taken(1_900, 1_100), |case| {
        case.measured().cpu[0].idle_percent = 0.0;
        case.measured().threads[0].cpu_ns = SECOND / 20;
    });
    let found = only(&warnings, WarningKind::CpuContended);
    has(&found.evidence, &["1.90 of 2 CPUs", "process 7 (yes) 1.00", "55.0 % of their time"]);
}

/// "Stop what else runs" was the advice where that was the server of the file system that was measured.
#[test]
fn who_serves_a_target_is_said_to_and_not_advised_to_be_stopped() {
    let told = |others, change: fn(&mut OtherProcess)| {
        let mut found = taken(others, 1_100);
        change(&mut found.cpu.as_mut().unwrap().most[0]);
        only(&said(found, |_| {}), WarningKind::CpuContended).clone()
    };
    let server = told(1_100, |one| one.serves = vec![0]);
    has(&server.evidence, &["process 7 (yes), which serves '/nowhere/test.dat', 1.00)"]);
    has(&server.remedy, &["leave process 7 (yes) running", "(-a), or use fewer of them (-t)"]);
    lacks(&server.remedy, "stop");
    let beside = told(1_900, |one| one.may_serve = vec![0]);
    has(&beside.evidence, &["process 7 (yes), which may serve '/nowhere/test.dat', 1.00)"]);
    has(&beside.remedy, &["leave process 7 (yes) running", "stop what else runs, pin"]);
    has(&told(1_900, |_| {}).remedy, &["stop what else runs, or pin"]);
}

/// The other hosts of `--fleet local:2` were other processes, to be stopped.
#[test]
fn a_host_of_the_same_fleet_was_advised_to_be_stopped() {
    let mut found = taken(1_900, 1_100);
    found.cpu.as_mut().unwrap().most[0].name = "fathom-host".to_owned();
    let told = only(&said(found, |_| {}), WarningKind::CpuContended).clone();
    has(&told.evidence, &["process 7 (fathom-host), a host of a fleet, 1.00)"]);
    has(&told.remedy, &["use fewer hosts on this machine", "and is no host of the fleet"]);
}

/// Where no process shows that it serves the target, one of them may all the same.
#[test]
fn of_a_target_that_is_served_only_others_are_advised_to_be_stopped() {
    let mut found = taken(1_900, 1_100);
    found.layers[0].kind = LayerKind::Disk;
    found.layers[0].about = "served by a process".to_owned();
    let remedy = only(&said(found, |_| {}), WarningKind::CpuContended).remedy.clone();
    has(&remedy, &["stop what else runs and serves no target, or pin"]);
}

/// "0.66 of 2 CPUs (process 9899 (rustc) 0.68)" was said: both are counted for times of their own.
#[test]
fn others_used_less_than_the_one_of_them_that_is_named() {
    let warnings = said(taken(960, 1_100), |_| {});
    let found = only(&warnings, WarningKind::CpuContended);
    has(&found.evidence, &["1.00 of 2 CPUs", "process 7 (yes) 1.00"]);
}

/// "Look for what stalled the target (kernel log)" was said where a limit of 400 reads a second held them
/// back.
#[test]
fn a_stall_under_a_limit_of_io_is_put_down_to_the_limit() {
    let stall = Stall { thread: 0, target: None, from_ns: 0, length_ns: SECOND };
    let groups = vec![limited(LimitKind::ReadIops, 300, Some(307.5))];
    let warnings = said(Beneath { stalls: vec![stall], groups, ..beneath() }, |_| {});
    let found = warnings.iter().find(|one| one.kind == WarningKind::Stalled).unwrap();
    has(&found.evidence, &["; in the measured time the control group", "300 reads per second"]);
    has(&found.remedy, &["raise or remove the limit"]);
}

/// Two threads that may use one CPU wait for each other: "the threads waited 79.6 % of their time", and
/// others were said to be all of it.
#[test]
fn threads_that_share_a_cpu_are_not_all_explained_by_others() {
    let shared = |others, waited| {
        said(taken(others, waited), |case| {
            case.measured().threads.iter_mut().for_each(|thread| thread.pinned_os_cpu = Some(0));
        })
    };
    // Each ran for half a second while the other waited.
    assert_eq!(shared(900, 1_000), []);
    let warnings = shared(900, 1_600);
    let found = only(&warnings, WarningKind::CpuContended);
    has(&found.evidence, &["waited 80.0 % of their time", "; 2 of them share 1 CPU, and wait for"]);
    has(&found.remedy, &["no more threads than CPUs (-t)"]);
}

#[test]
fn a_rate_that_others_kept_from_being_reached_is_explained_by_them() {
    let warnings = said(taken(1_900, 1_100), |case| {
        for thread in &mut case.plan.spans[0].threads {
            thread.assignments[0].pace = Some(Pace::constant(20_000, SECOND));
        }
    });
    let missed = warnings.iter().find(|one| one.kind == WarningKind::RateNotReached).unwrap();
    has(&missed.evidence, &["other processes used 1.90 of 2 CPUs"]);
    lacks(&missed.remedy, "-g");
}

/// "Waited 101.2 % of their time for a CPU" was said of threads that began to wait before the measured time.
#[test]
fn threads_wait_for_all_of_their_time_at_most() {
    let warnings = said(taken(1_900, 2_030), |_| {});
    has(&only(&warnings, WarningKind::CpuContended).evidence, &["waited 100.0 % of their time"]);
}

/// "Other processes used 5.41 of 2 CPUs" was said of a load of some milliseconds, as ticks are longer.
#[test]
fn others_used_more_cpus_than_there_are() {
    let warnings = said(taken(5_410, 1_100), |_| {});
    has(&only(&warnings, WarningKind::CpuContended).evidence, &["processes used 2.00 of 2 CPUs"]);
}

/// A spinner on a CPU of the load, whose rate was met all the same.
#[test]
fn where_a_rate_was_met_there_is_nothing_to_explain() {
    let warnings = said(taken(1_900, 1_100), |case| {
        case.measured().cpu[0].idle_percent = 0.0;
        for thread in &mut case.plan.spans[0].threads {
            thread.assignments[0].pace = Some(Pace::constant(10_000, SECOND));
        }
    });
    assert_eq!(warnings, []);
}

#[test]
fn a_stall_is_told_without_latencies() {
    let stall = Stall { thread: 1, target: None, from_ns: SECOND, length_ns: SECOND * 3 / 2 };
    let warnings = said(Beneath { stalls: vec![stall], ..beneath() }, |_| {});
    let found = only(&warnings, WarningKind::Stalled);
    has(&found.evidence, &["thread 1 waited 1.50 s", "from 1.00 s on"]);
}

/// Of several targets "the target" had stalled, and whoever read it had to look for the thread in the table.
#[test]
fn a_stall_of_a_thread_with_one_target_names_it_and_one_with_several_names_none() {
    let stall = Stall { thread: 1, target: None, from_ns: SECOND, length_ns: SECOND * 3 / 2 };
    let told = |targets: usize| {
        let warnings = said(Beneath { stalls: vec![stall], ..beneath() }, |case| {
            let assignments = &mut case.plan.spans[0].threads[1].assignments;
            *assignments = vec![assignments[0].clone(); targets];
        });
        only(&warnings, WarningKind::Stalled).target.clone()
    };
    let name = Case::new(2).plan.spans[0].targets[0].name.clone();
    assert_eq!(told(1), Some(name));
    assert_eq!(told(2), None);
}

/// Two targets of thread 1, of which the first has 10,000 I/Os and the second so many.
fn two_targets(case: &mut Case, ios: u64) {
    let plan = &mut case.plan.spans[0];
    plan.targets.push(plan.targets[0].clone());
    plan.targets[1].name = "b.dat".to_owned();
    let mut second = plan.threads[1].assignments[0].clone();
    second.target = 1;
    plan.threads[1].assignments.push(second);
    let mut used = case.used(1).clone();
    (used.target, used.read) = (1, direction(ios));
    case.measured().threads[1].targets.push(used);
}

fn stall_of(target: u32, from_ns: u64, length_ns: u64) -> Stall {
    Stall { thread: 1, target: Some(target), from_ns, length_ns }
}

/// A file hung for 1.5 s while the thread went on with the other one, and nothing said so.
#[test]
fn a_stall_names_the_target_of_a_thread_that_went_on_with_others() {
    let told = |stalls: Vec<Stall>| {
        let warnings = said(Beneath { stalls, ..beneath() }, |case| two_targets(case, 9_000));
        only(&warnings, WarningKind::Stalled).clone()
    };
    let one = told(vec![stall_of(1, SECOND / 10, SECOND / 2)]);
    has(&one.evidence, &["thread 1 waited 0.50 s for its I/Os on 'b.dat', from 0.10 s on"]);
    assert_eq!(one.target.as_deref(), Some("b.dat"));
    let both = told(vec![
        stall_of(0, SECOND / 10, SECOND * 49 / 100),
        stall_of(1, SECOND / 10, SECOND / 2),
    ]);
    has(&both.evidence, &["for its I/Os on '/nowhere/test.dat', 'b.dat', from 0.10 s on"]);
    has(&both.evidence, &["2 such stalls of at least 0.49 s, over all threads and their targets"]);
    assert_eq!(both.target, None);
    let later =
        told(vec![stall_of(0, SECOND * 7 / 10, SECOND / 4), stall_of(1, SECOND / 10, SECOND / 2)]);
    assert_eq!(later.target.as_deref(), Some("b.dat"), "{}", later.evidence);
}

/// Between the I/Os of a target that shares slots, or calls, lie those of others: by the time between them
/// none of its stalls was long.
#[test]
fn a_stall_of_a_target_that_waits_for_its_turn_is_compared_with_the_number_of_its_ios() {
    let said = |ios, change: fn(&mut SpanPlan)| {
        let stalls = vec![stall_of(1, SECOND / 10, SECOND / 2)];
        said(Beneath { stalls, ..beneath() }, |case| {
            two_targets(case, ios);
            change(&mut case.plan.spans[0]);
        })
    };
    let shared: fn(&mut SpanPlan) = |span| span.shared_outstanding = 4;
    let calls: fn(&mut SpanPlan) = |span| span.threads[1].engine = EngineKind::Sync;
    for change in [shared, calls] {
        only(&said(20, change), WarningKind::Stalled);
        assert_eq!(said(19, change), []);
    }
    assert_eq!(said(20, |_| {}), [], "an I/O every 25 ms, and none for 20 times as long");
}

/// Under a limit of 500 reads per second, "allow more outstanding I/O (-o)" was the advice: more of them
/// would have waited behind the limit.
#[test]
fn what_a_limit_held_up_is_not_helped_by_more_outstanding_ios() {
    let late = |groups| {
        let warnings = said(Beneath { groups, ..beneath() }, |case| {
            let (mut service, mut response) = (LatencyHistogram::new(), LatencyHistogram::new());
            service.record_several(1_000_000, 1_000);
            response.record_several(900_000_000, 1_000);
            let read = &mut case.used(0).read;
            (read.latency, read.response) = (Some(service), Some(Box::new(response)));
        });
        let kind = WarningKind::ResponseBehindSchedule;
        warnings.into_iter().find(|one| one.kind == kind).expect("it was late").remedy
    };
    has(&late(Vec::new()), &["allow more outstanding I/O (-o)"]);
    let limited = late(vec![limited(LimitKind::ReadIops, 500, Some(505.0))]);
    has(&limited, &["raise or remove the limit"]);
    assert!(!limited.contains("-o"), "{limited}");
}

/// An unpaced target answered in 0.1 ms, and "at least 0 of 500" I/Os of the other one had waited.
#[test]
fn response_times_are_compared_with_the_service_times_of_the_same_ios() {
    let said = |late_ns: u64| {
        said(beneath(), |case| {
            two_targets(case, 1_000);
            let (mut fast, mut slow, mut due) =
                (LatencyHistogram::new(), LatencyHistogram::new(), LatencyHistogram::new());
            fast.record_several(100_000, 100_000);
            slow.record_several(10_000_000, 500);
            due.record_several(10_000_000_u64 + late_ns, 500);
            case.used(0).read.latency = Some(fast);
            let other = &mut case.measured().threads[1].targets[0].read;
            (other.latency, other.response) = (Some(slow), Some(Box::new(due)));
        })
    };
    let is_late = |one: &Warning| one.kind == WarningKind::ResponseBehindSchedule;
    assert!(!said(0).iter().any(is_late));
    let late = said(90_000_000);
    let found = late.iter().find(|one| is_late(one)).expect("it was late");
    has(&found.evidence, &["at least 500 of 500 I/Os waited", "10."]);
}

/// A load of trims that stalled had no warning.
#[test]
fn a_stall_of_trims_is_told() {
    let stall = Stall { thread: 0, target: None, from_ns: SECOND / 5, length_ns: SECOND * 6 / 10 };
    let warnings = said(Beneath { stalls: vec![stall], ..beneath() }, |case| {
        case.used(0).read = direction(0);
        case.used(0).trim = Some(Box::new(direction(1_000)));
    });
    assert!(warnings.iter().any(|one| one.kind == WarningKind::Stalled), "{warnings:?}");
}

/// The mean time between I/Os contained the stall: one of 0.6 of 1 s was none at 25 I/Os per second.
#[test]
fn a_stall_is_compared_with_the_time_between_ios_without_it() {
    let stall = Stall { thread: 0, target: None, from_ns: SECOND / 5, length_ns: SECOND * 6 / 10 };
    let told = |ios| {
        said(Beneath { stalls: vec![stall], ..beneath() }, |case| {
            case.used(0).read = direction(ios);
        })
    };
    only(&told(25), WarningKind::Stalled);
    assert_eq!(told(12), []);
}

/// "And measure with -L to see it in the latencies" was said of runs with `-L`.
#[test]
fn latency_is_proposed_to_see_a_stall_only_where_it_was_not_measured() {
    let stall = Stall { thread: 1, target: None, from_ns: SECOND, length_ns: SECOND * 3 / 2 };
    let remedy = |latency| {
        let warnings = said(Beneath { stalls: vec![stall], ..beneath() }, |case| {
            case.plan.spans[0].measure_latency = latency;
        });
        only(&warnings, WarningKind::Stalled).remedy.clone()
    };
    has(&remedy(false), &["(kernel log, other users of the device), and measure with -L"]);
    lacks(&remedy(true), "-L");
}

/// A stall of 1 s of a load of 100 I/Os per second, which caught up behind it, left no trace without
/// latencies.
#[test]
fn a_stall_of_a_load_with_a_rate_is_told_too() {
    let stall = Stall { thread: 1, target: None, from_ns: SECOND, length_ns: SECOND * 3 / 2 };
    let warnings = said(Beneath { stalls: vec![stall], ..beneath() }, |case| {
        case.plan.spans[0].threads[1].assignments[0].pace = Some(Pace::constant(100, SECOND));
    });
    has(&only(&warnings, WarningKind::Stalled).evidence, &["thread 1 waited 1.50 s"]);
}

/// "Find what stalls the target" was said of I/Os that had no CPU to come back to.
#[test]
fn a_stall_of_threads_that_others_kept_from_a_cpu_says_so_and_a_short_one_is_none() {
    let stalled = |length_ns| {
        let stall = Stall { thread: 0, target: None, from_ns: SECOND / 10, length_ns };
        said(Beneath { stalls: vec![stall], ..taken(1_900, 1_100) }, |_| {})
    };
    let warnings = stalled(SECOND * 3 / 5);
    let found = warnings.iter().find(|one| one.kind == WarningKind::Stalled).expect("a stall");
    has(&found.evidence, &["waited 0.60 s", "other processes used 1.90 of 2 CPUs"]);
    has(&found.remedy, &["stop what else runs", "if it is there again"]);
    assert!(stalled(SECOND / 3).iter().all(|one| one.kind != WarningKind::Stalled));
}

#[test]
fn a_thread_cannot_use_more_than_one_cpu() {
    let mut case = Case::new(2);
    case.measured().threads[0].cpu_ns = SECOND * 2_941 / 1_000;
    let found = case.only(WarningKind::CoreSaturated);
    has(&found.evidence, &["thread 0 used 100.0 % of one CPU"]);
}

#[test]
fn clean_neighbours_of_each_cause_are_silent() {
    let quota = |periods, throttled_periods, throttled_ns| GroupUse {
        periods,
        throttled_periods,
        throttled_ns,
        ..group()
    };
    let groups = [
        quota(10, 0, 0),
        quota(0, 0, 0),
        quota(100, 4, 900_000),
        GroupUse { cpu_limit: None, ..group() },
        limited(LimitKind::ReadIops, 300, Some(250.0)),
        limited(LimitKind::ReadIops, 300, Some(0.0)),
        limited(LimitKind::WriteIops, 300, Some(120.0)),
        limited(LimitKind::ReadBytesPerS, 1 << 30, Some(9e8)),
        limited(LimitKind::WriteBytesPerS, 1 << 20, Some(0.0)),
        limited(LimitKind::ReadIops, 1_000, None),
    ];
    for group in groups {
        let words = format!("{group:?}");
        let found = Beneath { groups: vec![group], ..beneath() };
        assert_eq!(said(found, |_| {}), [], "{words}");
    }
    // Others that did not stand in the way, and threads that waited for each other.
    for (others, waited) in [
        (0, 0),
        (100, 0),
        (190, 900),
        (0, 1_900),
        (1_000, 0),
        (1_000, 150),
        (1_900, 190),
        (19, 300),
    ] {
        assert_eq!(said(taken(others, waited), |_| {}), [], "{others} {waited}");
    }
    // Where nobody tells how long threads waited, nothing is claimed.
    let mut unknown = taken(1_900, 0);
    unknown.cpu.as_mut().unwrap().waited_ns = None;
    assert_eq!(said(unknown, |_| {}), []);
    // A slow device is no stall, also with a rate.
    let stall = Stall { thread: 0, target: None, from_ns: 0, length_ns: SECOND / 2 };
    let found = Beneath { stalls: vec![stall], ..beneath() };
    let slow = said(found.clone(), |case| {
        case.used(0).read = direction(20);
        case.used(1).read = direction(20);
    });
    assert_eq!(slow, []);
    let bursts = said(found, |case| {
        case.used(0).read = direction(9);
        case.used(1).read = direction(9);
        case.plan.spans[0].threads[0].assignments[0].burst = Some(Burst { ios: 9, gap_ns: SECOND });
    });
    assert_eq!(bursts, []);
}

/// A target that stalled for 1.2 s, while its thread went on with another one, was put down to processes for
/// which all threads together had waited for 0.6 s.
#[test]
fn a_stall_that_is_longer_than_all_waits_for_a_cpu_is_not_put_down_to_others() {
    let told = |waited| {
        let stalls = vec![stall_of(0, SECOND / 10, SECOND * 6 / 10)];
        let warnings = said(Beneath { stalls, ..taken(1_000, waited) }, |_| {});
        warnings.into_iter().find(|one| one.kind == WarningKind::Stalled).expect("a stall")
    };
    let by_itself = told(400);
    lacks(&by_itself.evidence, "other processes");
    has(&by_itself.remedy, &["look for what stalled the target"]);
    has(&told(700).evidence, &["in the measured time other processes used"]);
}

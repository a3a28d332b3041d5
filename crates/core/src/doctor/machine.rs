//! The processor and the kernel: clock, frequency, idle states, mitigations, memory pages.

use super::Finding;
use super::tree::{Tree, chosen};

const CPUS: &str = "sys/devices/system/cpu";
/// Waking up from an idle state that takes longer than this shows in the latency of fast devices.
const IDLE_EXIT_US: i64 = 20;

/// Clocks that are read without a system call (`arch/*/include/asm/vdso`).
const FAST_CLOCKS: &[&str] = &[
    "tsc",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "arch_sys_counter",
    "riscv_clocksource",
    "timebase",
    "tod",
];

pub fn examine(tree: &Tree) -> Vec<Finding> {
    let rules = [clock, boost, idle_states, threads_per_core, mitigations, virtualised];
    let pages = [transparent_pages, huge_pages];
    let others = rules.iter().chain(&pages).filter_map(|rule| rule(tree));
    std::iter::once(governor(tree)).chain(others).collect()
}

fn clock(tree: &Tree) -> Option<Finding> {
    let folder = "sys/devices/system/clocksource/clocksource0";
    let source = tree.text(&format!("{folder}/current_clocksource"))?;
    let subject = "clock";
    if FAST_CLOCKS.contains(&source.as_str()) {
        return Some(Finding::good(
            subject,
            format!("The clock is {source}, read without a system call."),
        ));
    }
    Some(Finding::slow(
        subject,
        format!("The clock is {source}: each look at it is a system call or slower."),
        "Use tsc where the machine keeps it steady: echo tsc into current_clocksource, or boot with \
         clocksource=tsc tsc=reliable.",
    ))
}

fn governor(tree: &Tree) -> Finding {
    let subject = "frequency governor";
    let folder = format!("{CPUS}/cpufreq");
    let policies = tree.names(&folder).into_iter().filter(|name| name.starts_with("policy"));
    let mut governors: Vec<String> = policies
        .filter_map(|name| tree.text(&format!("{folder}/{name}/scaling_governor")))
        .collect();
    governors.sort();
    governors.dedup();
    if governors.is_empty() {
        return Finding::good(subject, "The frequency is not governed from here.");
    }
    let words = governors.join(", ");
    if governors == ["performance"] {
        return Finding::good(subject, format!("The governor is {words}."));
    }
    Finding::slow(
        subject,
        format!("The governor is {words}, so a CPU that waits for I/O is clocked down."),
        "Set it for the measurement: cpupower frequency-set -g performance.",
    )
}

fn boost(tree: &Tree) -> Option<Finding> {
    let intel = tree.number(&format!("{CPUS}/intel_pstate/no_turbo")).map(|off| off == 0);
    let on = intel.or_else(|| tree.number(&format!("{CPUS}/cpufreq/boost")).map(|on| on == 1))?;
    let subject = "frequency boost";
    if !on {
        return Some(Finding::good(subject, "Frequency boost is off."));
    }
    Some(Finding::unsteady(
        subject,
        "Frequency boost is on: the clock depends on temperature and on what other cores do."
            .to_owned(),
        "For figures that repeat, switch it off: echo 1 into intel_pstate/no_turbo, or 0 into \
         cpufreq/boost below /sys/devices/system/cpu.",
    ))
}

fn idle_states(tree: &Tree) -> Option<Finding> {
    let folder = format!("{CPUS}/cpu0/cpuidle");
    let states = tree.names(&folder).into_iter().filter(|name| name.starts_with("state"));
    let enabled = states.filter(|name| tree.number(&format!("{folder}/{name}/disable")) != Some(1));
    let exit = |name: String| {
        let us = tree.number(&format!("{folder}/{name}/latency"))?;
        Some((us, tree.text(&format!("{folder}/{name}/name")).unwrap_or(name)))
    };
    let (us, name) = enabled.filter_map(exit).max()?;
    let subject = "idle states";
    if us <= IDLE_EXIT_US {
        return Some(Finding::good(
            subject,
            format!("The deepest idle state, {name}, is left in {us} µs."),
        ));
    }
    Some(Finding::slow(
        subject,
        format!(
            "The deepest idle state, {name}, takes {us} µs to leave, which a low queue depth meets."
        ),
        "For the latency of a fast device, forbid it: cpupower idle-set -D 10.",
    ))
}

fn threads_per_core(tree: &Tree) -> Option<Finding> {
    let active = tree.number(&format!("{CPUS}/smt/active"))?;
    let subject = "threads per core";
    if active == 0 {
        return Some(Finding::good(subject, "Each CPU is a core of its own."));
    }
    Some(Finding::unsteady(
        subject,
        "Cores are shared by two or more CPUs, so what one does slows its sibling.".to_owned(),
        "Pin the threads to CPUs of different cores (-a), or boot with nosmt.",
    ))
}

/// The kernel's guards against faults of processors. Most of them cost at each system call.
fn mitigations(tree: &Tree) -> Option<Finding> {
    let folder = format!("{CPUS}/vulnerabilities");
    let names = tree.names(&folder);
    if names.is_empty() {
        return None;
    }
    let guarded = |name: &String| {
        tree.text(&format!("{folder}/{name}")).is_some_and(|text| text.contains("Mitigation"))
    };
    let guarded: Vec<String> = names.into_iter().filter(guarded).collect();
    let subject = "mitigations";
    if guarded.is_empty() {
        return Some(Finding::good(
            subject,
            "The kernel guards against no fault of the processor.",
        ));
    }
    Some(Finding::slow(
        subject,
        format!(
            "System calls and interrupts cost more because of guards against {}.",
            guarded.join(", ")
        ),
        "Compare only with hosts that have the same; mitigations=off at boot shows the difference.",
    ))
}

fn virtualised(tree: &Tree) -> Option<Finding> {
    let info = tree.text("proc/cpuinfo")?;
    let flags = info.lines().find(|line| line.starts_with("flags"))?;
    let subject = "virtual machine";
    if !flags.split_whitespace().any(|flag| flag == "hypervisor") {
        return Some(Finding::good(subject, "The kernel runs on the hardware itself."));
    }
    Some(Finding::unsteady(
        subject,
        "This is a virtual machine: interrupts and idling cost exits, and neighbours share the host."
            .to_owned(),
        "Interleave repeated runs (A B A B), and compare medians; watch the steal column.",
    ))
}

fn transparent_pages(tree: &Tree) -> Option<Finding> {
    let text = tree.text("sys/kernel/mm/transparent_hugepage/enabled")?;
    let subject = "transparent huge pages";
    if chosen(&text) != "never" {
        return Some(Finding::good(subject, format!("They are given: {}.", chosen(&text))));
    }
    Some(Finding::slow(
        subject,
        "Transparent huge pages are off, so I/O buffers lie on small pages.".to_owned(),
        "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, or reserve huge pages and use -l.",
    ))
}

fn huge_pages(tree: &Tree) -> Option<Finding> {
    let pages = tree.number("proc/sys/vm/nr_hugepages")?;
    let words = if pages == 0 { "No huge page is" } else { "Huge pages are" };
    Some(Finding::good("huge pages", format!("{words} reserved for -l ({pages}).")))
}

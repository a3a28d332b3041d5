//! Where a device's interrupts arrive.

use fathom_sys::cpu::parse_list;

use super::Finding;
use super::tree::Tree;

/// The interrupts of a device and the CPUs that take them.
pub fn examine(tree: &Tree, disk: &str) -> Option<Finding> {
    let device = tree.follow(&format!("sys/block/{disk}/device"))?;
    let interrupts = numbers(tree, &device);
    let counts = tree.text("proc/interrupts").unwrap_or_default();
    let used: Vec<u32> =
        interrupts.into_iter().filter(|&number| delivered(&counts, number) > 0).collect();
    if used.is_empty() {
        return None;
    }
    let mut cpus: Vec<u32> = used.iter().flat_map(|&number| targets(tree, number)).collect();
    cpus.sort_unstable();
    cpus.dedup();
    let subject = "interrupts";
    let online = parse_list(&tree.text("sys/devices/system/cpu/online").unwrap_or_default());
    let names = cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    if online.len() > 1 && cpus.len() == 1 {
        return Some(Finding::slow(
            subject,
            format!(
                "All completions interrupt CPU {names}; a thread elsewhere is woken across CPUs."
            ),
            "Pin the thread to that CPU (-a), or move the interrupt by /proc/irq/<n>/smp_affinity_list.",
        ));
    }
    let many = match used.len() {
        1 => "1 interrupt arrives".to_owned(),
        count => format!("{count} interrupts arrive"),
    };
    let places = if cpus.len() == 1 { "CPU" } else { "CPUs" };
    let words = format!("{many} on {places} {names}.");
    Some(Finding::good(subject, words))
}

/// The message-signalled interrupts of the bus device that a disk belongs to.
fn numbers(tree: &Tree, device: &str) -> Vec<u32> {
    let mut folder = device.to_owned();
    loop {
        let names = tree.names(&format!("{folder}/msi_irqs"));
        if !names.is_empty() {
            return names.iter().filter_map(|name| name.parse().ok()).collect();
        }
        match folder.rsplit_once('/') {
            Some((above, _)) => folder = above.to_owned(),
            None => return Vec::new(),
        }
    }
}

/// How often an interrupt has arrived, over all CPUs.
fn delivered(interrupts: &str, number: u32) -> u64 {
    let start = format!("{number}:");
    let line = interrupts.lines().find_map(|line| line.trim_start().strip_prefix(&start));
    let counts = line.into_iter().flat_map(str::split_whitespace);
    counts.map_while(|word| word.parse::<u64>().ok()).sum()
}

fn targets(tree: &Tree, number: u32) -> Vec<u32> {
    let files = ["effective_affinity_list", "smp_affinity_list"];
    let text = files.iter().find_map(|file| {
        tree.text(&format!("proc/irq/{number}/{file}")).filter(|text| !text.is_empty())
    });
    parse_list(&text.unwrap_or_default())
}

//! A disk: what its queue is set to, and what it is built on.

use super::tree::{Tree, chosen};
use super::{Finding, interrupts};

/// All that is to be said about a whole disk.
pub fn examine(tree: &Tree, disk: &str) -> Vec<Finding> {
    let rules = [statistics, entropy, merges, throttle, queues, node];
    let mut findings = vec![scheduler(tree, disk)];
    findings.extend(rules.iter().filter_map(|rule| rule(tree, disk)));
    findings.extend(interrupts::examine(tree, disk));
    findings.extend(loop_device(tree, disk));
    findings.extend(stacked(tree, disk));
    findings.into_iter().map(|finding| finding.about(disk)).collect()
}

fn queue(tree: &Tree, disk: &str, name: &str) -> Option<String> {
    tree.text(&format!("sys/block/{disk}/queue/{name}"))
}

fn scheduler(tree: &Tree, disk: &str) -> Finding {
    let subject = "I/O scheduler";
    let Some(text) = queue(tree, disk, "scheduler") else {
        return Finding::good(subject, "The device has no queue to schedule.");
    };
    let used = chosen(&text);
    let turns = queue(tree, disk, "rotational").as_deref() == Some("1") && !is_virtio(tree, disk);
    if used == "none" || turns {
        let why = if turns { ", as turning platters want it" } else { "" };
        return Finding::good(subject, format!("The scheduler is {used}{why}."));
    }
    let remedy = format!("echo none > /sys/block/{disk}/queue/scheduler");
    Finding::slow(
        subject,
        format!("The scheduler is {used}, which takes a lock and time for each I/O."),
        &format!("{remedy} (as root; it lasts until the next start)."),
    )
}

/// A disk of a virtual machine, which says that it turns whatever lies below it.
fn is_virtio(tree: &Tree, disk: &str) -> bool {
    let device = tree.follow(&format!("sys/block/{disk}/device"));
    device.is_some_and(|device| device.contains("/virtio"))
}

fn switch(
    tree: &Tree,
    disk: &str,
    (file, off): (&str, &str),
    subject: &str,
    cost: &str,
) -> Option<Finding> {
    let value = queue(tree, disk, file)?;
    if value == off {
        return Some(Finding::good(subject, format!("{file} is {value}.")));
    }
    Some(Finding::slow(
        subject,
        format!("{file} is {value}: {cost}."),
        &format!("echo {off} > /sys/block/{disk}/queue/{file} (as root)."),
    ))
}

fn statistics(tree: &Tree, disk: &str) -> Option<Finding> {
    let cost = "the kernel reads the clock and counts for each I/O";
    switch(tree, disk, ("iostats", "0"), "I/O statistics", cost)
}

fn entropy(tree: &Tree, disk: &str) -> Option<Finding> {
    let cost = "each I/O stirs the kernel's random numbers";
    switch(tree, disk, ("add_random", "0"), "entropy", cost)
}

fn merges(tree: &Tree, disk: &str) -> Option<Finding> {
    let cost = "each I/O is compared with others to merge them, in vain for random I/O";
    switch(tree, disk, ("nomerges", "2"), "merging", cost)
}

/// Writeback throttling holds buffered writes back while reads are slow.
fn throttle(tree: &Tree, disk: &str) -> Option<Finding> {
    let us: i64 = queue(tree, disk, "wbt_lat_usec")?.parse().ok()?;
    let subject = "writeback throttling";
    if us <= 0 {
        return Some(Finding::good(subject, "Buffered writes are not held back."));
    }
    Some(Finding::unsteady(
        subject,
        format!("Buffered writes are held back while reads take longer than {us} µs."),
        &format!(
            "For mixed load through the page cache: echo 0 > /sys/block/{disk}/queue/wbt_lat_usec."
        ),
    ))
}

fn queues(tree: &Tree, disk: &str) -> Option<Finding> {
    let count = tree.names(&format!("sys/block/{disk}/mq")).len();
    let requests: i64 = queue(tree, disk, "nr_requests")?.parse().ok()?;
    if count == 0 {
        return None;
    }
    let queues =
        if count == 1 { "1 hardware queue".to_owned() } else { format!("{count} hardware queues") };
    let each = if count == 1 { "" } else { " each" };
    let words = format!("{queues} of {requests} requests{each}; more I/Os wait in the kernel.");
    Some(Finding::good("hardware queues", words))
}

/// A device on another NUMA node than the CPUs that may be used.
fn node(tree: &Tree, disk: &str) -> Option<Finding> {
    let device = tree.follow(&format!("sys/block/{disk}/device"))?;
    let mut folder = device.as_str();
    let node = loop {
        if let Some(node) = tree.number(&format!("{folder}/numa_node")) {
            break node;
        }
        folder = folder.rsplit_once('/')?.0;
    };
    let subject = "NUMA node";
    let nodes = tree.names("sys/devices/system/node");
    let nodes = nodes.iter().filter(|name| name.starts_with("node")).count();
    if node < 0 || nodes < 2 {
        return Some(Finding::good(subject, "The device is as near to one CPU as to another."));
    }
    let cpus =
        tree.text(&format!("sys/devices/system/node/node{node}/cpulist")).unwrap_or_default();
    Some(Finding::unsteady(
        subject,
        format!("The device is on node {node} of {nodes}, near to the CPUs {cpus}."),
        "Pin the threads to these CPUs (-a), so that I/O does not cross nodes.",
    ))
}

fn loop_device(tree: &Tree, disk: &str) -> Option<Finding> {
    let direct = tree.text(&format!("sys/block/{disk}/loop/dio"))?;
    let subject = "loop device";
    if direct == "1" {
        return Some(Finding::good(subject, "It reads its file past the page cache."));
    }
    Some(Finding::slow(
        subject,
        "It reads its file through the page cache, whatever is requested.".to_owned(),
        "losetup --direct-io=on, with blocks no smaller than those of the disk below.",
    ))
}

fn stacked(tree: &Tree, disk: &str) -> Vec<Finding> {
    let parts = tree.names(&format!("sys/block/{disk}/slaves"));
    if parts.is_empty() {
        return Vec::new();
    }
    let uuid = tree.text(&format!("sys/block/{disk}/dm/uuid")).unwrap_or_default();
    let subject = "layers";
    let on = parts.join(", ");
    if uuid.starts_with("CRYPT-") {
        return vec![Finding::slow(
            subject,
            format!("It encrypts what it stores on {on}: that is measured too."),
            "Expect the cost of the cipher, or measure the disk below.",
        )];
    }
    vec![Finding::good(subject, format!("It is built on {on}; look at these too."))]
}

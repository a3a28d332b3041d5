//! The sections of `DiskSpd`'s event tracing: titles, names and order. What Linux tells and Windows does
//! not, and the clock and the sources, stand behind them.

use crate::request::Tracing;
use crate::result::{KernelEvent, KernelEvents, TraceClock};

/// A section: what was requested with one option.
pub struct Section {
    /// Its title in the text.
    pub title: &'static str,
    /// Its element; none if its rows stand in `<ETW>` itself.
    pub element: Option<&'static str>,
    /// Whether it was requested.
    pub shows: fn(&Tracing) -> bool,
    /// Its rows.
    pub rows: &'static [Row],
}

/// A row of a section.
pub struct Row {
    /// What is counted.
    pub event: KernelEvent,
    /// Its name in the text.
    pub name: &'static str,
    /// Its element.
    pub element: &'static str,
}

const fn row(event: KernelEvent, name: &'static str, element: &'static str) -> Row {
    Row { event, name, element }
}

/// All sections, in the order in which `DiskSpd` shows them.
pub const SECTIONS: [Section; 8] = [
    Section {
        title: "Disk I/O",
        element: Some("DiskIO"),
        shows: |tracing| tracing.disk_io,
        rows: &[
            row(KernelEvent::DiskRead, "Read", "Read"),
            row(KernelEvent::DiskWrite, "Write", "Write"),
        ],
    },
    Section {
        title: "Load Image",
        element: None,
        shows: |tracing| tracing.image_load,
        rows: &[row(KernelEvent::ImageLoad, "Load Image", "LoadImage")],
    },
    Section {
        title: "Memory Page Faults",
        element: Some("MemoryPageFaults"),
        shows: |tracing| tracing.memory_page_faults,
        rows: &[
            row(KernelEvent::CopyOnWriteFault, "Copy on Write", "CopyOnWrite"),
            row(KernelEvent::DemandZeroFault, "Demand Zero fault", "DemandZeroFault"),
            row(KernelEvent::GuardPageFault, "Guard Page fault", "GuardPageFault"),
            row(KernelEvent::HardFault, "Hard page fault", "HardPageFault"),
            row(KernelEvent::TransitionFault, "Transition fault", "TransitionFault"),
            row(KernelEvent::SoftFault, "Soft page fault", "SoftPageFault"),
        ],
    },
    Section {
        title: "Memory Hard Faults",
        element: None,
        shows: |tracing| tracing.memory_hard_faults && !tracing.memory_page_faults,
        rows: &[row(KernelEvent::HardFault, "Hard page fault", "HardPageFault")],
    },
    Section {
        title: "Network",
        element: Some("Network"),
        shows: |tracing| tracing.network,
        rows: &[
            row(KernelEvent::TcpAccept, "Accept", "Accept"),
            row(KernelEvent::TcpConnect, "Connect", "Connect"),
            row(KernelEvent::TcpDisconnect, "Disconnect", "Disconnect"),
            row(KernelEvent::TcpReconnect, "Reconnect", "Reconnect"),
            row(KernelEvent::TcpRetransmit, "Retransmit", "Retransmit"),
            row(KernelEvent::TcpSend, "TCP/IP Send", "TCPIPSend"),
            row(KernelEvent::TcpReceive, "TCP/IP Receive", "TCPIPReceive"),
            row(KernelEvent::UdpSend, "UDP/IP Send", "UDPIPSend"),
            row(KernelEvent::UdpReceive, "UDP/IP Receive", "UDPIPReceive"),
        ],
    },
    Section {
        title: "Process",
        element: Some("Process"),
        shows: |tracing| tracing.process,
        rows: &[
            row(KernelEvent::ProcessStart, "Start", "Start"),
            row(KernelEvent::ProcessEnd, "End", "End"),
        ],
    },
    Section {
        title: "Registry",
        element: Some("Registry"),
        shows: |tracing| tracing.registry,
        rows: &[],
    },
    Section {
        title: "Thread",
        element: Some("Thread"),
        shows: |tracing| tracing.thread,
        rows: &[
            row(KernelEvent::ThreadStart, "Start", "Start"),
            row(KernelEvent::ThreadEnd, "End", "End"),
        ],
    },
];

/// The sections that were requested.
pub fn shown(tracing: &Tracing) -> impl Iterator<Item = &'static Section> {
    SECTIONS.iter().filter(|section| (section.shows)(tracing))
}

/// The name of a clock: in words, and as an attribute.
pub fn clock_names(clock: TraceClock) -> (&'static str, &'static str) {
    match clock {
        TraceClock::Monotonic => ("the monotonic clock", "monotonic"),
        TraceClock::Coarse => ("the coarse clock", "coarse"),
        TraceClock::Cycles => ("the cycle counter", "cycles"),
    }
}

/// Each section's rows by their sources: the section, the names of the rows, and the source.
pub fn sources(tracing: &Tracing, events: &KernelEvents) -> Vec<(&'static str, String, String)> {
    let mut sources: Vec<(&str, String, String)> = Vec::new();
    for section in shown(tracing) {
        for row in section.rows {
            let Some(count) = events.of_event(row.event) else { continue };
            let same = sources
                .iter_mut()
                .find(|(title, _, source)| *title == section.title && *source == count.source);
            match same {
                Some((_, names, _)) => names.push_str(&format!(", {}", row.name)),
                None => sources.push((section.title, row.name.to_owned(), count.source.clone())),
            }
        }
    }
    sources
}

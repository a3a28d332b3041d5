//! How often events happened in the kernel during the measured time, on the whole system.

use fathom_sys::trace::{Clock, Count, Counted, Event};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kernel events of the whole system during the measured time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelEvents {
    /// The clock that told for how long was counted.
    pub clock: TraceClock,
    /// For how long, in nanoseconds; absent with the cycle counter.
    pub counted_ns: Option<u64>,
    /// For how long, in ticks of the processor's cycle counter; absent with the other clocks.
    pub counted_cycles: Option<u64>,
    /// One entry per event that was requested.
    pub counts: Vec<KernelEventCount>,
}

/// A clock that kernel events can be stamped with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TraceClock {
    /// The monotonic clock.
    Monotonic,
    /// The monotonic clock as of the last timer interrupt.
    Coarse,
    /// The processor's cycle counter.
    Cycles,
}

/// How often one event happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelEventCount {
    /// The event.
    pub event: KernelEvent,
    /// How often; absent if Linux, or this kernel, does not tell.
    pub count: Option<u64>,
    /// Where the count comes from, or why there is none.
    pub source: String,
    /// Why there may have been more of them than were counted; absent if all were.
    pub partial: Option<String>,
}

/// An event of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KernelEvent {
    /// A process started.
    ProcessStart,
    /// The last thread of a process ended.
    ProcessEnd,
    /// A thread started, the first one of a process included.
    ThreadStart,
    /// A thread ended.
    ThreadEnd,
    /// A file was mapped for execution.
    ImageLoad,
    /// A disk completed a read.
    DiskRead,
    /// A disk completed a write.
    DiskWrite,
    /// A page fault copied a page; Linux does not tell.
    CopyOnWriteFault,
    /// A page fault gave a new page of zeros; Linux does not tell.
    DemandZeroFault,
    /// A page fault hit a guard page; Linux does not tell.
    GuardPageFault,
    /// A page fault waited for I/O.
    HardFault,
    /// A page fault found its page in memory; Linux does not tell.
    TransitionFault,
    /// A page fault needed no I/O, for whichever reason.
    SoftFault,
    /// A TCP connection was accepted.
    TcpAccept,
    /// A TCP connection was opened from here.
    TcpConnect,
    /// A TCP connection that was established ended, on either side.
    TcpDisconnect,
    /// A TCP connection was opened again; Linux has no such notion.
    TcpReconnect,
    /// A TCP segment was sent again.
    TcpRetransmit,
    /// A TCP segment was sent.
    TcpSend,
    /// A TCP segment was received.
    TcpReceive,
    /// A UDP datagram was sent.
    UdpSend,
    /// A UDP datagram was received.
    UdpReceive,
}

impl KernelEvents {
    /// What was counted, as a result holds it.
    #[must_use]
    pub fn of(counted: &Counted) -> Self {
        let clock = match counted.clock {
            Clock::Monotonic => TraceClock::Monotonic,
            Clock::Coarse => TraceClock::Coarse,
            Clock::Cycles => TraceClock::Cycles,
        };
        let in_cycles = clock == TraceClock::Cycles;
        Self {
            clock,
            counted_ns: (!in_cycles).then_some(counted.ticks),
            counted_cycles: in_cycles.then_some(counted.ticks),
            counts: counted.counts.iter().map(count).collect(),
        }
    }

    /// What was counted of one event; nothing if it was not requested.
    #[must_use]
    pub fn of_event(&self, event: KernelEvent) -> Option<&KernelEventCount> {
        self.counts.iter().find(|count| count.event == event)
    }
}

fn count(count: &Count) -> KernelEventCount {
    KernelEventCount {
        event: event(count.event),
        count: count.count,
        source: count.source.clone(),
        partial: count.partial.clone(),
    }
}

fn event(event: Event) -> KernelEvent {
    match event {
        Event::ProcessStart => KernelEvent::ProcessStart,
        Event::ProcessEnd => KernelEvent::ProcessEnd,
        Event::ThreadStart => KernelEvent::ThreadStart,
        Event::ThreadEnd => KernelEvent::ThreadEnd,
        Event::ImageLoad => KernelEvent::ImageLoad,
        Event::DiskRead => KernelEvent::DiskRead,
        Event::DiskWrite => KernelEvent::DiskWrite,
        Event::CopyOnWriteFault => KernelEvent::CopyOnWriteFault,
        Event::DemandZeroFault => KernelEvent::DemandZeroFault,
        Event::GuardPageFault => KernelEvent::GuardPageFault,
        Event::HardFault => KernelEvent::HardFault,
        Event::TransitionFault => KernelEvent::TransitionFault,
        Event::SoftFault => KernelEvent::SoftFault,
        Event::TcpAccept => KernelEvent::TcpAccept,
        Event::TcpConnect => KernelEvent::TcpConnect,
        Event::TcpDisconnect => KernelEvent::TcpDisconnect,
        Event::TcpReconnect => KernelEvent::TcpReconnect,
        Event::TcpRetransmit => KernelEvent::TcpRetransmit,
        Event::TcpSend => KernelEvent::TcpSend,
        Event::TcpReceive => KernelEvent::TcpReceive,
        Event::UdpSend => KernelEvent::UdpSend,
        Event::UdpReceive => KernelEvent::UdpReceive,
    }
}

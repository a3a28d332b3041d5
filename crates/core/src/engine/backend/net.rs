//! Targets over the network: a client of the target's own protocol, on connections of this thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fathom_net::{Done, Lasting, Request, Requests, Slots, Waiter};
use fathom_sys::clock::now_ns;
use fathom_sys::transfer::Resources;

use super::{Backend, BackendError, Completion, Transfer, Wait};
use crate::measure::BackendDescription;
use crate::network::{ConnectionUse, TcpUse};

/// Where all connections are lost, each I/O fails at once: this long the thread pauses between two batches
/// of them, so that it does not spin.
const LOST_PAUSE: Duration = Duration::from_millis(10);
/// So long a wait lasts at most while a connection is made again ...
const AWAY_NS: u64 = 2_000_000;
/// ... and so often is looked whether the hosts of those that could be made again are still there.
const LOOK_EVERY_NS: u64 = 500_000_000;
/// So many requests are made at most before they are sent: a server that gets many at once answers them
/// together, and stands idle while the next ones are made.
const MOST_UNSENT: usize = 4;

/// The connections to one target.
pub struct RemoteTarget {
    connections: Vec<Lasting>,
    /// What each had sent again before the load.
    retransmits_before: Vec<u32>,
    /// Writes reach stable storage before they are answered.
    is_through: bool,
}

impl RemoteTarget {
    /// Connections to one target, made and with nothing in flight.
    #[must_use]
    pub fn new(connections: Vec<Lasting>, is_through: bool) -> Self {
        let sent_again = |one: &Lasting| one.tcp_info().map_or(0, |info| info.retransmits);
        let retransmits_before = connections.iter().map(sent_again).collect();
        Self { connections, retransmits_before, is_through }
    }

    fn uses(&self, stream: usize) -> impl Iterator<Item = ConnectionUse> {
        let use_of = move |(connection, before): (&Lasting, &u32)| {
            let losses = connection.losses();
            let sent_again = |now: u32| now.saturating_add(losses.retransmits);
            ConnectionUse {
                stream,
                tcp: connection.tcp_info().map(|info| TcpUse {
                    rtt_us: info.rtt_us,
                    rtt_deviation_us: info.rtt_deviation_us,
                    rtt_min_us: info.rtt_us_min,
                    retransmits: sent_again(info.retransmits).saturating_sub(*before).into(),
                    delivery_bytes_per_s: info.delivery_bytes_per_second,
                }),
                lost: connection.lost().map(Into::into),
                reconnects: losses.made_again,
                disconnected_ns: losses.away_ns,
            }
        };
        self.connections.iter().zip(&self.retransmits_before).map(use_of)
    }
}

/// The engine's buffers, and which I/O each of them serves.
struct Lent {
    resources: Resources,
    transfers: Vec<Option<Transfer>>,
    /// Of each target, whether writes to it reach stable storage before they are answered.
    are_through: Vec<bool>,
}

impl Lent {
    fn transfer(&self, tag: u32) -> &Transfer {
        self.transfers[tag as usize].as_ref().expect("a tag is that of an I/O in flight")
    }
}

impl Slots for Lent {
    #[inline]
    fn for_read(&mut self, tag: u32) -> &mut [u8] {
        let length = self.transfer(tag).bytes as usize;
        &mut self.resources.buffers.slot_mut(tag as usize)[..length]
    }

    #[inline]
    fn for_write(&self, tag: u32) -> &[u8] {
        let transfer = self.transfer(tag);
        let length = transfer.bytes as usize;
        let source = self.resources.sources[transfer.file as usize].as_ref();
        match (transfer.source_offset, source) {
            (Some(offset), Some(source)) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                &source.slot(0)[start..start + length]
            }
            _ => &self.resources.buffers.slot(tag as usize)[..length],
        }
    }
}

impl Lent {
    fn request_of(&self, transfer: &Transfer) -> Request {
        Request {
            tag: transfer.slot,
            operation: transfer.operation,
            offset_bytes: transfer.offset_bytes,
            bytes: transfer.bytes,
            is_through: self.are_through[transfer.file as usize],
        }
    }
}

impl Requests for Lent {
    fn request(&self, tag: u32) -> Request {
        self.request_of(self.transfer(tag))
    }
}

/// Connections to all targets of a thread.
pub struct NetBackend<'a> {
    targets: Vec<RemoteTarget>,
    lent: Lent,
    done: Vec<Done>,
    waiter: Waiter,
    /// How many requests were made since something was last sent.
    unsent: usize,
    /// How I/Os failed on a connection that was lost since the last look at what is done.
    just_lost: Option<i32>,
    is_lost: bool,
    /// The run is to end.
    stop: &'a AtomicBool,
    /// When hosts are looked for next; never if no connection is made again.
    next_look_ns: u64,
}

impl<'a> NetBackend<'a> {
    /// A backend over connections; `resources` holds the buffers and sources, its files are not used. Nobody
    /// waits for a connection that is made again once the run is to `stop`.
    #[must_use]
    pub fn new(targets: Vec<RemoteTarget>, resources: Resources, stop: &'a AtomicBool) -> Self {
        let transfers = vec![None; resources.buffers.len()];
        let done = Vec::with_capacity(transfers.len());
        let are_through = targets.iter().map(|target| target.is_through).collect();
        let lent = Lent { resources, transfers, are_through };
        let mut all = targets.iter().flat_map(|target| &target.connections);
        let next_look_ns = if all.any(Lasting::is_made_again) { 0 } else { u64::MAX };
        let waiter = Waiter::default();
        Self {
            targets,
            lent,
            done,
            waiter,
            unsent: 0,
            just_lost: None,
            is_lost: false,
            stop,
            next_look_ns,
        }
    }

    /// All that have something in flight.
    fn busy(&self) -> impl Iterator<Item = &Lasting> {
        let all = self.targets.iter().flat_map(|target| &target.connections);
        all.filter(|connection| connection.in_flight() > 0)
    }

    /// Looks whether the hosts are still there, now and then.
    fn look_for_hosts(&mut self) {
        let now_ns = now_ns();
        if now_ns >= self.next_look_ns {
            self.next_look_ns = now_ns + LOOK_EVERY_NS;
            for connection in self.targets.iter_mut().flat_map(|target| &mut target.connections) {
                connection.look(&mut self.lent, &mut self.done);
            }
        }
    }

    /// Sends and receives on all connections what is possible without waiting.
    #[inline]
    fn exchange(&mut self) {
        self.unsent = 0;
        for connection in self.targets.iter_mut().flat_map(|target| &mut target.connections) {
            if connection.in_flight() > 0 {
                connection.advance(&mut self.lent, &mut self.done);
            }
        }
    }

    /// Sends and receives what is possible, and takes what is done.
    #[inline]
    fn advance(&mut self, done: &mut Vec<Completion>) {
        if self.next_look_ns < u64::MAX {
            self.look_for_hosts();
        }
        self.exchange();
        self.just_lost = None;
        for one in self.done.drain(..) {
            self.lent.transfers[one.tag as usize] = None;
            self.is_lost |= one.result < 0;
            done.push(Completion { slot: one.tag, result: one.result });
        }
        if self.is_lost {
            self.pause_if_lost();
        }
    }

    /// Looks whether an exchange between two looks at what is done has lost a connection.
    #[inline]
    fn look_for_loss(&mut self) {
        if self.done.iter().any(|one| one.result < 0) {
            let mut all = self.targets.iter().flat_map(|target| &target.connections);
            if all.any(Lasting::is_over) {
                self.just_lost = self.done.iter().map(|one| one.result).rfind(|result| *result < 0);
            }
        }
    }

    #[cold]
    fn pause_if_lost(&mut self) {
        let mut all = self.targets.iter().flat_map(|target| &target.connections);
        self.is_lost = all.all(Lasting::is_over);
        if self.is_lost {
            std::thread::sleep(LOST_PAUSE);
        }
    }

    /// Waits until a connection with something in flight can go on, or until the time has come.
    fn wait(&mut self, until_ns: Option<u64>) -> Result<(), BackendError> {
        let mut left_ns = until_ns.map(|until_ns| until_ns.saturating_sub(now_ns()));
        if self.next_look_ns < u64::MAX {
            let most_ns = if self.busy().any(Lasting::is_away) { AWAY_NS } else { LOOK_EVERY_NS };
            left_ns = Some(left_ns.map_or(most_ns, |left_ns| left_ns.min(most_ns)));
        }
        let connections = self.targets.iter().flat_map(|target| &target.connections);
        let busy = connections.filter(|connection| connection.in_flight() > 0);
        let waited = self.waiter.wait(busy.filter_map(Lasting::interest), left_ns);
        waited.map(drop).map_err(|source| BackendError {
            backend: crate::plan::EngineKind::Net.name(),
            doing: "waiting for the network",
            source,
        })
    }
}

impl Backend for NetBackend<'_> {
    const MAX_IN_FLIGHT: usize = usize::MAX;

    #[inline]
    fn slot_mut(&mut self, slot: usize) -> &mut [u8] {
        self.lent.resources.buffers.slot_mut(slot)
    }

    #[inline]
    fn submit(&mut self, transfer: &Transfer) {
        let slot = transfer.slot as usize;
        self.lent.transfers[slot] = Some(*transfer);
        let target = &mut self.targets[transfer.file as usize];
        // A slot stays with its connection, so that each of them has its share of what is outstanding.
        let index = slot % target.connections.len();
        let connection = &mut target.connections[index];
        if let Some(errno) = self.just_lost.filter(|_| connection.is_over()) {
            // Nobody could know yet: it was as good as in flight with those that were.
            self.done.push(Done { tag: transfer.slot, result: errno });
            return;
        }
        connection.submit(self.lent.request_of(transfer));
        self.unsent += 1;
        if self.unsent >= MOST_UNSENT {
            self.exchange();
            self.look_for_loss();
        }
    }

    #[inline]
    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), BackendError> {
        self.advance(done);
        let until_ns = match wait {
            Wait::No => return Ok(()),
            Wait::ForOne => None,
            Wait::ForOneOrNs(nanos) => Some(now_ns().saturating_add(nanos)),
        };
        while done.is_empty() && until_ns.is_none_or(|until_ns| now_ns() < until_ns) {
            if self.leaves_all_behind() {
                break;
            }
            self.wait(until_ns)?;
            self.advance(done);
        }
        Ok(())
    }

    fn describe(&self) -> BackendDescription {
        let mut features = Vec::new();
        for target in &self.targets {
            let Some(first) = target.connections.first() else { continue };
            let facts = first.facts();
            features.push(facts.dialect.clone());
            features.extend(facts.encryption.clone());
            features.push(match target.connections.len() {
                1 => "1 connection".to_owned(),
                count => format!("{count} connections"),
            });
        }
        features.dedup();
        let connections = self.targets.iter().enumerate();
        BackendDescription {
            name: crate::plan::EngineKind::Net.name().to_owned(),
            features,
            connections: connections.flat_map(|(stream, target)| target.uses(stream)).collect(),
            ..BackendDescription::default()
        }
    }

    fn leaves_all_behind(&self) -> bool {
        self.next_look_ns < u64::MAX
            && self.stop.load(Ordering::Relaxed)
            && self.busy().all(Lasting::is_away)
    }
}

impl Drop for NetBackend<'_> {
    fn drop(&mut self) {
        let targets = self.targets.iter_mut();
        targets.flat_map(|target| target.connections.drain(..)).for_each(Lasting::close);
    }
}

//! Targets over the network: a client of the target's own protocol, on connections of this thread.

use std::time::Duration;

use fathom_net::{Connection, Done, Request, Slots, Waiter};
use fathom_sys::clock::now_ns;
use fathom_sys::transfer::Resources;

use super::{Backend, BackendError, Completion, Transfer, Wait};
use crate::measure::BackendDescription;
use crate::network::{ConnectionUse, TcpUse};

/// Where all connections are lost, each I/O fails at once: this long the thread pauses between two batches
/// of them, so that it does not spin.
const LOST_PAUSE: Duration = Duration::from_millis(10);

/// The connections to one target.
pub struct RemoteTarget {
    connections: Vec<Connection>,
    /// What each had sent again before the load.
    retransmits_before: Vec<u32>,
    /// Writes reach stable storage before they are answered.
    is_through: bool,
}

impl RemoteTarget {
    /// Connections to one target, made and with nothing in flight.
    #[must_use]
    pub fn new(connections: Vec<Connection>, is_through: bool) -> Self {
        let sent_again = |one: &Connection| one.tcp_info().map_or(0, |info| info.retransmits);
        let retransmits_before = connections.iter().map(sent_again).collect();
        Self { connections, retransmits_before, is_through }
    }

    fn uses(&self, stream: usize) -> impl Iterator<Item = ConnectionUse> {
        let use_of = move |(connection, before): (&Connection, &u32)| ConnectionUse {
            stream,
            tcp: connection.tcp_info().map(|info| TcpUse {
                rtt_us: info.rtt_us,
                rtt_deviation_us: info.rtt_deviation_us,
                rtt_min_us: info.rtt_us_min,
                retransmits: u64::from(info.retransmits.saturating_sub(*before)),
                delivery_bytes_per_s: info.delivery_bytes_per_second,
            }),
            lost: connection.lost().map(Into::into),
        };
        self.connections.iter().zip(&self.retransmits_before).map(use_of)
    }
}

/// The engine's buffers, and which I/O each of them serves.
struct Lent {
    resources: Resources,
    transfers: Vec<Option<Transfer>>,
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

/// Connections to all targets of a thread.
pub struct NetBackend {
    targets: Vec<RemoteTarget>,
    lent: Lent,
    done: Vec<Done>,
    waiter: Waiter,
    is_lost: bool,
}

impl NetBackend {
    /// A backend over connections; `resources` holds the buffers and sources, its files are not used.
    #[must_use]
    pub fn new(targets: Vec<RemoteTarget>, resources: Resources) -> Self {
        let transfers = vec![None; resources.buffers.len()];
        let done = Vec::with_capacity(transfers.len());
        let (lent, waiter) = (Lent { resources, transfers }, Waiter::default());
        Self { targets, lent, done, waiter, is_lost: false }
    }

    /// Sends and receives what is possible without waiting.
    #[inline]
    fn advance(&mut self, done: &mut Vec<Completion>) {
        for connection in self.targets.iter_mut().flat_map(|target| &mut target.connections) {
            if connection.in_flight() > 0 {
                connection.advance(&mut self.lent, &mut self.done);
            }
        }
        for one in self.done.drain(..) {
            self.lent.transfers[one.tag as usize] = None;
            self.is_lost |= one.result < 0;
            done.push(Completion { slot: one.tag, result: one.result });
        }
        if self.is_lost {
            self.pause_if_lost();
        }
    }

    #[cold]
    fn pause_if_lost(&mut self) {
        let mut all = self.targets.iter().flat_map(|target| &target.connections);
        self.is_lost = all.all(|connection| connection.lost().is_some());
        if self.is_lost {
            std::thread::sleep(LOST_PAUSE);
        }
    }

    /// Waits until a connection with something in flight can go on, or until the time has come.
    fn wait(&mut self, until_ns: Option<u64>) -> Result<(), BackendError> {
        let left_ns = until_ns.map(|until_ns| until_ns.saturating_sub(now_ns()));
        let connections = self.targets.iter().flat_map(|target| &target.connections);
        let busy = connections.filter(|connection| connection.in_flight() > 0);
        let waited = self.waiter.wait(busy.map(Connection::interest), left_ns);
        waited.map(drop).map_err(|source| BackendError {
            backend: crate::plan::EngineKind::Net.name(),
            doing: "waiting for the network",
            source,
        })
    }
}

impl Backend for NetBackend {
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
        target.connections[index].submit(Request {
            tag: transfer.slot,
            operation: transfer.operation,
            offset_bytes: transfer.offset_bytes,
            bytes: transfer.bytes,
            is_through: target.is_through,
        });
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
}

impl Drop for NetBackend {
    fn drop(&mut self) {
        let targets = self.targets.iter_mut();
        targets.flat_map(|target| target.connections.drain(..)).for_each(Connection::close);
    }
}

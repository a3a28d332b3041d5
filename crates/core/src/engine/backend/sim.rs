//! A simulated device on a simulated clock: a run of a minute is a test of a millisecond, with
//! exactly known counts, and every offset can be recorded.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::rc::Rc;

use super::{Backend, BackendError, Completion, Operation, Transfer, Wait};
use crate::engine::random::Random;
use crate::engine::worker::Clock;
use crate::measure::BackendDescription;

/// A clock that only the simulated device and sleeps advance.
#[derive(Debug, Clone, Default)]
pub struct SimClock {
    now_ns: Rc<Cell<u64>>,
}

impl Clock for SimClock {
    fn now_ns(&self) -> u64 {
        self.now_ns.get()
    }

    fn sleep_until_ns(&self, deadline_ns: u64) {
        self.now_ns.set(self.now_ns.get().max(deadline_ns));
    }
}

/// A look at the completions takes time, as on a real machine: otherwise whoever looks again and again
/// would wait forever.
const LOOK_NS: u64 = 100;

/// How the simulated device behaves.
#[derive(Debug, Clone)]
pub struct SimDevice {
    /// Seed of latencies and faults.
    pub seed: u64,
    /// Least service time of an I/O.
    pub latency_ns: u64,
    /// Until this instant ...
    pub fresh_until_ns: u64,
    /// ... an I/O takes at least this long instead, as on a device whose cache is not full yet.
    pub fresh_latency_ns: u64,
    /// Greatest random addition to it, drawn uniformly.
    pub jitter_ns: u64,
    /// I/Os served at the same time; the others wait for their turn.
    pub channels: usize,
    /// Share of I/Os that fail with an error number, in parts per million.
    pub error_ppm: u32,
    /// The error number of those.
    pub errno: i32,
    /// Share of I/Os that transfer only half, in parts per million.
    pub short_ppm: u32,
    /// Share of I/Os that never complete, in parts per million.
    pub hang_ppm: u32,
    /// From this instant on ...
    pub stall_from_ns: u64,
    /// ... nothing completes for this long.
    pub stall_ns: u64,
    /// Only I/Os of this operation stall; all if absent.
    pub stalls: Option<Operation>,
    /// Only I/Os to this file of the thread stall; all if absent.
    pub stalled_file: Option<u32>,
    /// What the device holds, from its first byte on; it holds nothing if absent. An I/O takes place when
    /// it is submitted, when it completes, or up to some byte at first and from there on at last, as chance
    /// has it. Only what is written from slots is kept.
    pub memory: Option<Rc<RefCell<Vec<u8>>>>,
}

impl Default for SimDevice {
    fn default() -> Self {
        Self {
            seed: 0,
            latency_ns: 100_000,
            fresh_until_ns: 0,
            fresh_latency_ns: 0,
            jitter_ns: 0,
            channels: usize::MAX,
            error_ppm: 0,
            errno: 5,
            short_ppm: 0,
            hang_ppm: 0,
            stall_from_ns: 0,
            stall_ns: 0,
            stalls: None,
            stalled_file: None,
            memory: None,
        }
    }
}

/// One I/O as the recorder saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimRecord {
    /// When it was submitted.
    pub at_ns: u64,
    /// What was submitted.
    pub transfer: Transfer,
    /// What the device answers: bytes, or a negative error number.
    pub result: i32,
}

impl SimRecord {
    /// The result of an I/O that never completes.
    pub const NEVER: i32 = i32::MIN;
}

/// A device that exists only in the simulation.
pub struct SimBackend {
    clock: SimClock,
    device: SimDevice,
    random: Random,
    buffers: Vec<Vec<u8>>,
    /// What each slot is to do with the memory when it completes, and from which byte of it on.
    postponed: Vec<Option<(Transfer, usize)>>,
    pending: BinaryHeap<Reverse<(u64, u32, i32)>>,
    channel_free_ns: BinaryHeap<Reverse<u64>>,
    /// I/Os that never complete.
    hung: usize,
    record: Rc<RefCell<Vec<SimRecord>>>,
}

impl SimBackend {
    /// A backend with one buffer per entry of `slot_bytes`; every I/O is appended to `record`.
    #[must_use]
    pub fn new(
        clock: SimClock,
        device: SimDevice,
        slot_bytes: &[usize],
        record: Rc<RefCell<Vec<SimRecord>>>,
    ) -> Self {
        Self {
            clock,
            random: Random::new(device.seed),
            device,
            postponed: vec![None; slot_bytes.len()],
            buffers: slot_bytes.iter().map(|&bytes| vec![0; bytes]).collect(),
            pending: BinaryHeap::new(),
            channel_free_ns: BinaryHeap::new(),
            hung: 0,
            record,
        }
    }

    fn outcome(&mut self, transfer: &Transfer) -> i32 {
        let draw = self.random.below(1_000_000);
        let error_ppm = u64::from(self.device.error_ppm);
        if draw < error_ppm {
            return -self.device.errno;
        }
        if draw >= 1_000_000 - u64::from(self.device.hang_ppm) {
            return SimRecord::NEVER;
        }
        if !transfer.operation.moves_bytes() {
            return 0;
        }
        let short = draw < error_ppm + u64::from(self.device.short_ppm);
        (if short { transfer.bytes / 2 } else { transfer.bytes }).cast_signed()
    }

    fn begin_in_memory(&mut self, transfer: Transfer, result: i32) {
        let length = usize::try_from(result).unwrap_or(0);
        let at_first = match self.random.below(3) {
            0 => length,
            1 => usize::try_from(self.random.below(length as u64)).unwrap_or(0),
            _ => 0,
        };
        self.do_in_memory(transfer, 0..at_first);
        self.postponed[transfer.slot as usize] = Some((transfer, at_first));
    }

    /// Moves some bytes of the I/O.
    fn do_in_memory(&mut self, transfer: Transfer, part: Range<usize>) {
        let start = usize::try_from(transfer.offset_bytes).unwrap_or(usize::MAX);
        let mut memory = self.device.memory.as_ref().map(|memory| memory.borrow_mut());
        let place = start + part.start..start + part.end;
        let held = memory.as_mut().and_then(|memory| memory.get_mut(place));
        let slot = &mut self.buffers[transfer.slot as usize][part];
        match held {
            Some(held) if transfer.operation == Operation::Write => held.copy_from_slice(slot),
            Some(held) if transfer.operation == Operation::Read => slot.copy_from_slice(held),
            _ => {}
        }
    }

    fn completion_ns(&mut self, now_ns: u64, transfer: &Transfer) -> u64 {
        let mut start_ns = now_ns;
        if self.channel_free_ns.len() >= self.device.channels {
            let free_ns = self.channel_free_ns.pop().map_or(0, |Reverse(free_ns)| free_ns);
            start_ns = start_ns.max(free_ns);
        }
        let jitter_ns = self.random.below(self.device.jitter_ns + 1);
        let is_fresh = start_ns < self.device.fresh_until_ns;
        let least_ns = if is_fresh { self.device.fresh_latency_ns } else { self.device.latency_ns };
        let mut end_ns = start_ns + least_ns + jitter_ns;
        let stall_end_ns = self.device.stall_from_ns + self.device.stall_ns;
        let may_stall = self.device.stalls.is_none_or(|stalls| stalls == transfer.operation)
            && self.device.stalled_file.is_none_or(|file| file == transfer.file);
        if may_stall && (self.device.stall_from_ns..stall_end_ns).contains(&end_ns) {
            end_ns = stall_end_ns;
        }
        if self.device.channels != usize::MAX {
            self.channel_free_ns.push(Reverse(end_ns));
        }
        end_ns
    }
}

impl Backend for SimBackend {
    const MAX_IN_FLIGHT: usize = usize::MAX;

    fn slot_mut(&mut self, slot: usize) -> &mut [u8] {
        &mut self.buffers[slot]
    }

    fn submit(&mut self, transfer: &Transfer) {
        let at_ns = self.clock.now_ns();
        let result = self.outcome(transfer);
        self.record.borrow_mut().push(SimRecord { at_ns, transfer: *transfer, result });
        if self.device.memory.is_some() {
            self.begin_in_memory(*transfer, result);
        }
        if result == SimRecord::NEVER {
            self.hung += 1;
            return;
        }
        let end_ns = self.completion_ns(at_ns, transfer);
        self.pending.push(Reverse((end_ns, transfer.slot, result)));
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), BackendError> {
        let next_ns = self.pending.peek().map(|Reverse((end_ns, ..))| *end_ns);
        if wait == Wait::ForOne && next_ns.is_none() && self.hung > 0 {
            let source = std::io::ErrorKind::TimedOut.into();
            return Err(BackendError { backend: "sim", doing: "waiting without end", source });
        }
        let until_ns = match (wait, next_ns) {
            (Wait::No, _) | (Wait::ForOne, None) => self.clock.now_ns() + LOOK_NS,
            (Wait::ForOne, Some(next_ns)) => next_ns,
            (Wait::ForOneOrNs(nanos), next_ns) => {
                let deadline_ns = self.clock.now_ns() + nanos;
                next_ns.map_or(deadline_ns, |next_ns| next_ns.min(deadline_ns))
            }
        };
        self.clock.sleep_until_ns(until_ns);
        let now_ns = self.clock.now_ns();
        while let Some(&Reverse((end_ns, slot, result))) = self.pending.peek() {
            if end_ns > now_ns {
                break;
            }
            self.pending.pop();
            if let Some((transfer, from)) = self.postponed[slot as usize].take() {
                self.do_in_memory(transfer, from..usize::try_from(result).unwrap_or(0).max(from));
            }
            done.push(Completion { slot, result });
        }
        Ok(())
    }

    fn describe(&self) -> BackendDescription {
        BackendDescription { name: "sim".to_owned(), ..BackendDescription::default() }
    }
}

/// The same device by calls that come back when the I/O has completed, as plain reads and writes do.
pub struct SimCalls(pub SimBackend);

impl Backend for SimCalls {
    const MAX_IN_FLIGHT: usize = 1;

    fn slot_mut(&mut self, slot: usize) -> &mut [u8] {
        self.0.slot_mut(slot)
    }

    fn submit(&mut self, transfer: &Transfer) {
        self.0.submit(transfer);
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), BackendError> {
        self.0.reap(wait, done)
    }

    fn describe(&self) -> BackendDescription {
        self.0.describe()
    }
}

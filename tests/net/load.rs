//! A small load on a connection, driven as the engine drives it.

use std::time::Duration;

use fathom_net::{Connection, Done, Operation, Request, Slots, Waiter};
use fathom_sys::clock::now_ns;

/// Buffers by slot.
pub struct Buffers(pub Vec<Vec<u8>>);

impl Slots for Buffers {
    fn for_read(&mut self, tag: u32) -> &mut [u8] {
        &mut self.0[tag as usize]
    }

    fn for_write(&self, tag: u32) -> &[u8] {
        &self.0[tag as usize]
    }
}

/// A request that has no slot yet.
pub fn request(operation: Operation, offset_bytes: u64, bytes: u32) -> Request {
    Request { tag: 0, operation, offset_bytes, bytes, is_through: false }
}

/// No error number at all.
pub const NONE: [i32; 0] = [];

/// What a load was like.
#[derive(Debug, Default)]
pub struct Load {
    /// Request and result, in the order of completion.
    pub ended: Vec<(Request, i32)>,
    /// Waits, each of which is a look whether something has come.
    pub waits: usize,
    pub took: Duration,
}

impl Load {
    pub fn failed(&self) -> Vec<i32> {
        self.ended.iter().map(|(_, result)| *result).filter(|result| *result < 0).collect()
    }
}

/// Drives `requests` with `depth` outstanding. `fill` makes a write's data, `see` looks at those of a read.
pub fn drive(
    connection: &mut Connection,
    requests: &[Request],
    depth: usize,
    mut fill: impl FnMut(&Request, &mut [u8]),
    mut see: impl FnMut(&Request, &[u8]),
) -> Load {
    let largest = requests.iter().map(|request| request.bytes).max().unwrap_or(0);
    let mut buffers = Buffers(vec![vec![0; largest as usize]; depth]);
    let mut in_slot: Vec<Option<Request>> = vec![None; depth];
    let mut free: Vec<usize> = (0..depth).rev().collect();
    let (mut waiter, mut load, mut left) = (Waiter::default(), Load::default(), requests.iter());
    let begun = now_ns();
    let mut done: Vec<Done> = Vec::new();
    while load.ended.len() < requests.len() {
        while let Some(slot) = free.pop() {
            let Some(request) = left.next() else { break };
            let tag = u32::try_from(slot).unwrap();
            let request = Request { tag, ..*request };
            fill(&request, &mut buffers.0[slot][..request.bytes as usize]);
            in_slot[slot] = Some(request);
            connection.submit(request);
        }
        connection.advance(&mut buffers, &mut done);
        if done.is_empty() {
            load.waits += 1;
            let interest = std::iter::once(connection.interest());
            assert!(waiter.wait(interest, Some(20_000_000_000)).unwrap(), "nothing came");
        }
        for done in done.drain(..) {
            let slot = done.tag as usize;
            let request = in_slot[slot].take().expect("only what was submitted completes");
            see(&request, &buffers.0[slot][..request.bytes as usize]);
            load.ended.push((request, done.result));
            free.push(slot);
        }
    }
    load.took = Duration::from_nanos(now_ns() - begun);
    load
}

/// The same with nothing to fill and nothing to see.
pub fn drive_blind(connection: &mut Connection, requests: &[Request], depth: usize) -> Load {
    drive(connection, requests, depth, |_, _| {}, |_, _| {})
}

/// The least round trip of many, since whoever else uses this machine only ever adds to one. It stops at one
/// that is below `enough`.
pub fn floor_ms(connection: &mut Connection, enough: f64) -> f64 {
    let mut least = f64::INFINITY;
    for _ in 0..1000 {
        least = least.min(connection.no_op().unwrap().as_secs_f64() * 1e3);
        if least < enough {
            break;
        }
    }
    least
}

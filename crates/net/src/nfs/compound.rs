//! Compounds of version 4: operations that go together, and the heads of their results.

use super::v4::operation;
use super::xdr::{Read, Short, Write};

/// Operations that go together.
pub(super) struct Compound {
    pub(super) arguments: Vec<u8>,
    count: u32,
    counted_at: usize,
}

impl Compound {
    pub(super) fn new(minor: u32) -> Self {
        let mut arguments = Vec::new();
        arguments.opaque(&[]);
        arguments.word(minor);
        let counted_at = arguments.len();
        arguments.word(0);
        Self { arguments, count: 0, counted_at }
    }

    /// Adds an operation; its arguments follow.
    pub(super) fn add(&mut self, operation: u32) -> &mut Vec<u8> {
        self.count += 1;
        self.arguments[self.counted_at..self.counted_at + 4]
            .copy_from_slice(&self.count.to_be_bytes());
        self.arguments.word(operation);
        &mut self.arguments
    }

    pub(super) fn put(&mut self, handle: Option<&[u8]>) {
        match handle {
            Some(handle) => self.add(operation::PUT_HANDLE).opaque(handle),
            None => {
                self.add(operation::PUT_ROOT);
            }
        }
    }
}

/// The head of an answer to a compound, of which the status is that of its last operation.
pub(super) fn answered(read: &mut Read<'_>) -> Result<(), Short> {
    let _status = read.word()?;
    let _tag = read.opaque(64)?;
    let _count = read.word()?;
    Ok(())
}

/// The status of the next operation, which has to be this one.
pub(super) fn result(read: &mut Read<'_>, operation: u32) -> Result<u32, Short> {
    // Operation 10044 stands for one that the server does not know.
    let told = read.word()?;
    let status = read.word()?;
    if told == operation || status != 0 { Ok(status) } else { Err(Short) }
}

/// What the server says to a call on a slot.
pub(super) fn sequence(read: &mut Read<'_>, id: &[u8; 16]) -> Result<u32, Short> {
    let status = result(read, operation::SEQUENCE)?;
    if status == 0 {
        let told: [u8; 16] = read.take()?;
        read.skip(20)?;
        if told != *id {
            return Err(Short);
        }
    }
    Ok(status)
}

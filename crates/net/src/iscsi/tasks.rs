//! The commands in flight, and what the server says of them.

use super::pdu::{HEAD_BYTES, Head, NO_TAG, flag, is_after, opcode};
use crate::connection::{Done, Slots};
use crate::fault::{Fault, FaultKind, errno};
use crate::incoming::{Reader, Step};

/// What a server may want at once that keeps to the window.
const WANTED_MAX: usize = 1 << 17;
/// Units without data for slots are short.
const OTHER_BYTES_MAX: usize = 64 << 10;

/// One command in flight.
#[derive(Debug, Clone, Copy)]
pub(super) struct Task {
    /// Bytes that may come, or that go.
    pub(super) bytes: u32,
    pub(super) is_read: bool,
    pub(super) is_write: bool,
    /// Told apart from an earlier command of the same slot by this part of its tag.
    sequence: u32,
    got: u32,
    /// Units that are queued and not sent.
    unsent: u32,
    /// All bytes have to come; otherwise fewer are an answer, too.
    is_exact: bool,
}

/// Something that the server wants to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Data of a write.
    Data { slot: u32, tag: u32, transfer_tag: u32, at: u32, bytes: u32 },
    /// An answer to its own no-op.
    Pong { transfer_tag: u32 },
}

/// What is known of a session while it runs.
#[derive(Debug)]
pub(super) struct Tasks {
    slots: Vec<Option<Task>>,
    pub(super) count: usize,
    sequence: u32,
    pub(super) command_number_max: u32,
    /// Number of the next status that is expected.
    pub(super) status_number: u32,
    pub(super) wanted: Vec<Wanted>,
    /// The command whose data are coming, and its result if that is its end.
    ending: Option<(u32, i32)>,
}

impl Tasks {
    pub(super) fn new(command_number_max: u32, status_number: u32) -> Self {
        Self {
            slots: Vec::new(),
            count: 0,
            sequence: 0,
            command_number_max,
            status_number,
            wanted: Vec::new(),
            ending: None,
        }
    }

    /// Enters a command and gives its tag.
    pub(super) fn enter(&mut self, slot: u32, bytes: u32, flags: u8, is_exact: bool) -> u32 {
        assert!(slot < 1 << 16, "a connection has at most 65536 slots");
        let index = slot as usize;
        if index >= self.slots.len() {
            self.slots.resize(index + 1, None);
        }
        assert!(self.slots[index].is_none(), "slot {index} is in flight");
        self.sequence = (self.sequence + 1) & 0x7fff;
        self.slots[index] = Some(Task {
            bytes,
            is_read: flags & flag::READ != 0,
            is_write: flags & flag::WRITE != 0,
            sequence: self.sequence,
            got: 0,
            unsent: 1,
            is_exact,
        });
        self.count += 1;
        self.sequence << 16 | slot
    }

    pub(super) fn will_send(&mut self, slot: u32) {
        if let Some(Some(task)) = self.slots.get_mut(slot as usize) {
            task.unsent += 1;
        }
    }

    pub(super) fn has_sent(&mut self, slot: u32) {
        if let Some(Some(task)) = self.slots.get_mut(slot as usize) {
            task.unsent = task.unsent.saturating_sub(1);
        }
    }

    fn of_tag(&mut self, tag: u32) -> Result<&mut Task, Fault> {
        let slot = (tag & 0xffff) as usize;
        match self.slots.get_mut(slot) {
            Some(Some(task)) if task.sequence == tag >> 16 && task.unsent == 0 => Ok(task),
            _ => Err(Fault::garbled("the server answers a command that nobody is waiting for")),
        }
    }

    /// Ends a command with its result.
    fn finish(&mut self, tag: u32, result: i32, done: &mut Vec<Done>) {
        let slot = tag & 0xffff;
        if self.slots[slot as usize].take().is_some() {
            self.count -= 1;
            done.push(Done { tag: slot, result });
        }
    }

    pub(super) fn fail_all(&mut self, errno: i32, done: &mut Vec<Done>) {
        for (slot, _) in (0..).zip(&mut self.slots).filter_map(|(k, task)| Some((k, task.take()?)))
        {
            done.push(Done { tag: slot, result: -errno });
        }
        self.count = 0;
    }

    /// What a good status is worth: an error if not all data came.
    fn result(&mut self, tag: u32, status: u8) -> Result<i32, Fault> {
        let task = *self.of_tag(tag)?;
        match status {
            0 if task.is_read && task.is_exact && task.got != task.bytes => {
                Err(Fault::garbled("the server calls a read done before all of its data came"))
            }
            0 if task.is_read => Ok(i32::try_from(task.got).expect("commands are bounded")),
            0 if task.is_write => Ok(i32::try_from(task.bytes).expect("commands are bounded")),
            0 => Ok(0),
            0x08 | 0x28 => Ok(-errno::EBUSY),
            0x18 => Ok(-errno::EBADE),
            _ => Ok(-errno::EIO),
        }
    }

    /// Data of a read, with or without its status.
    fn data_in(&mut self, head: Head) -> Result<Step, Fault> {
        let tag = head.word(16);
        let (at, bytes) = (head.word(40), head.data_bytes());
        let task = self.of_tag(tag)?;
        let end = u64::from(at) + bytes as u64;
        let is_fine =
            task.is_read && end <= u64::from(task.bytes) && u64::from(task.got) == u64::from(at);
        if !is_fine {
            return Err(Fault::garbled("the server sends data that were not requested"));
        }
        task.got += u32::try_from(bytes).expect("it is within the command");
        let has_status = head.flags() & flag::STATUS != 0;
        self.ending = None;
        if has_status {
            self.count_status(head);
            let is_cut = head.flags() & (flag::OVERFLOW | flag::UNDERFLOW) != 0;
            let is_exact = self.of_tag(tag)?.is_exact;
            let result =
                if is_exact && is_cut { -errno::EIO } else { self.result(tag, head.byte(3))? };
            self.ending = Some((tag, result));
        }
        let taken = HEAD_BYTES + head.more_head_bytes();
        Ok(Step::Data { taken, tag: tag & 0xffff, at: at as usize, bytes })
    }

    /// The end of a command, with sense data if it failed.
    fn response(&mut self, head: Head, data: &[u8], done: &mut Vec<Done>) -> Result<(), Fault> {
        let tag = head.word(16);
        self.count_status(head);
        let is_cut = head.flags() & (flag::OVERFLOW | flag::UNDERFLOW) != 0;
        let task = self.of_tag(tag)?;
        // What is left over of a trim's list is no matter of the data.
        let is_exact = task.is_exact && (task.is_read || task.is_write);
        let result = match (head.byte(2), head.byte(3)) {
            (0, 0x02) => Self::check_condition(data),
            (0, 0) if is_exact && is_cut => -errno::EIO,
            (0, status) => self.result(tag, status)?,
            _ => -errno::EIO,
        };
        self.finish(tag, result, done);
        Ok(())
    }

    /// Sense data as an error number.
    fn check_condition(data: &[u8]) -> i32 {
        // Two bytes of length, then fixed (70h, 71h) or descriptor (72h, 73h) format.
        let sense = data.get(2..).unwrap_or_default();
        let at = |place: usize| sense.get(place).copied().unwrap_or(0);
        let (key, code, qualifier) = match at(0) & 0x7f {
            0x72 | 0x73 => (at(1) & 0xf, at(2), at(3)),
            _ => (at(2) & 0xf, at(12), at(13)),
        };
        -match key {
            // Not ready; unit attention: what is asked once more may go well.
            2 | 6 => errno::EAGAIN,
            5 => errno::EINVAL,
            7 if code == 0x27 && qualifier == 7 => errno::ENOSPC,
            7 => errno::EROFS,
            0xb => errno::ECANCELED,
            _ => errno::EIO,
        }
    }

    fn count_status(&mut self, head: Head) {
        self.status_number = head.word(24).wrapping_add(1);
    }

    fn widen(&mut self, head: Head) {
        // RFC 7143, 4.2.2.1: numbers that contradict each other are ignored, and so are older ones.
        let (expected, most) = (head.word(28), head.word(32));
        let is_sane = !is_after(expected.wrapping_sub(1), most);
        if is_sane && is_after(most, self.command_number_max) {
            self.command_number_max = most;
        }
    }

    /// The server is ready for a part of a write.
    fn ready(&mut self, head: Head) -> Result<(), Fault> {
        let tag = head.word(16);
        let (at, bytes) = (head.word(40), head.word(44));
        let task = self.of_tag(tag)?;
        let end = u64::from(at) + u64::from(bytes);
        if !task.is_write || bytes == 0 || end > u64::from(task.bytes) {
            return Err(Fault::garbled("the server asks for data that a command does not have"));
        }
        // Until these data are sent, nothing else is to be said about the command.
        task.unsent += 1;
        let transfer_tag = head.word(20);
        self.wanted.push(Wanted::Data { slot: tag & 0xffff, tag, transfer_tag, at, bytes });
        Ok(())
    }

    fn other(&mut self, head: Head, data: &[u8], done: &mut Vec<Done>) -> Result<(), Fault> {
        match head.opcode() {
            opcode::RESPONSE => self.response(head, data, done),
            opcode::READY_TO_TRANSFER => self.ready(head),
            opcode::NOP_IN if head.word(20) != NO_TAG && self.wanted.len() < WANTED_MAX => {
                self.wanted.push(Wanted::Pong { transfer_tag: head.word(20) });
                Ok(())
            }
            opcode::NOP_IN => {
                self.count_status(head);
                let tag = head.word(16);
                self.of_tag(tag)?;
                self.finish(tag, 0, done);
                Ok(())
            }
            // An event of SCSI, of which the next command tells more.
            opcode::ASYNCHRONOUS if head.byte(36) == 0 => {
                self.count_status(head);
                Ok(())
            }
            opcode::ASYNCHRONOUS | opcode::LOGOUT_RESPONSE => {
                Err(Fault::new(FaultKind::Disconnected, "the server ends the session"))
            }
            opcode::REJECT => {
                let text =
                    format!("the server rejects what it was sent (reason {:#04x})", head.byte(2));
                Err(Fault::garbled(text))
            }
            other => Err(Fault::garbled(format!(
                "the server sends a unit of the unknown kind {other:#04x}"
            ))),
        }
    }
}

impl Reader for Tasks {
    fn head(
        &mut self,
        there: &[u8],
        slots: &mut impl Slots,
        done: &mut Vec<Done>,
    ) -> Result<Step, Fault> {
        let Some(head) = Head::of(there) else { return Ok(Step::More) };
        let before = HEAD_BYTES + head.more_head_bytes();
        if there.len() < before {
            return Ok(Step::More);
        }
        let is_padded = head.padded_bytes() != head.data_bytes();
        if head.opcode() == opcode::DATA_IN && !is_padded {
            self.widen(head);
            return self.data_in(head);
        }
        if head.padded_bytes() > OTHER_BYTES_MAX {
            return Err(Fault::garbled("the server sends more than was requested"));
        }
        let taken = before + head.padded_bytes();
        let Some(data) = there.get(before..before + head.data_bytes()) else {
            return Ok(Step::More);
        };
        if there.len() < taken {
            return Ok(Step::More);
        }
        self.widen(head);
        if head.opcode() == opcode::DATA_IN {
            // Of an odd length are only short answers, which are copied whole.
            if let Step::Data { tag, at, bytes, .. } = self.data_in(head)? {
                slots.for_read(tag)[at..at + bytes].copy_from_slice(data);
            }
            self.data_end(slots, done)?;
        } else {
            self.other(head, data, done)?;
        }
        Ok(Step::Taken(taken))
    }

    fn data_end(&mut self, _: &mut impl Slots, done: &mut Vec<Done>) -> Result<(), Fault> {
        if let Some((tag, result)) = self.ending.take() {
            self.finish(tag, result, done);
        }
        Ok(())
    }
}

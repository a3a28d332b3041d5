//! iSCSI (RFC 7143): one session of one connection, error recovery level 0.
//!
//! A client of its own: libiscsi could only be loaded at run time, which a static binary cannot do, and wants
//! addresses of buffers to keep.

mod chap;
mod login;
mod pdu;
mod tasks;

use std::collections::VecDeque;
use std::io::IoSlice;
use std::time::Duration;

use fathom_sys::clock::now_ns;
use fathom_sys::socket::Interest;
use fathom_sys::transfer::Operation;

use self::login::Agreed;
use self::pdu::cdb::{self, Cdb};
use self::pdu::{
    HEAD_BYTES, Head, INQUIRY_BYTES, NO_TAG, UNMAP_LIST_BYTES, flag, is_after, opcode,
};
use self::tasks::{Tasks, Wanted};
use crate::address::Address;
use crate::connection::{Done, OneSlot, Request, Slots};
use crate::facts::Facts;
use crate::fault::{Fault, FaultKind, errno};
use crate::incoming::Incoming;
use crate::outgoing::Outgoing;
use crate::settings::Settings;
use crate::stream::{Deadline, Stream, wait};

/// Reads and writes beyond this are the caller's to split; what a server says of itself may be less.
const REQUEST_BYTES_MAX: u32 = 16 << 20;
/// Commands that are tried again while a LUN reports what has happened to it since.
const ATTENTIONS_MAX: usize = 8;

/// One session.
#[derive(Debug)]
pub(crate) struct Session {
    stream: Stream,
    facts: Facts,
    lun: u16,
    /// What the server tells this session from others by.
    pub(crate) identifier: u32,
    agreed: Agreed,
    tasks: Tasks,
    command_number: u32,
    outgoing: Outgoing,
    incoming: Incoming,
    /// What the server's window has no room for yet.
    waiting: VecDeque<Request>,
    timeout: Duration,
}

impl Session {
    pub(crate) fn connect(address: &Address, settings: &Settings) -> Result<Self, Fault> {
        let deadline = Deadline::of(settings);
        let mut stream = Stream::connect(address, deadline)?;
        let now = now_ns().to_be_bytes();
        let now = u32::from_be_bytes(now[4..].try_into().expect("four bytes"));
        let by_chance = now.rotate_left(16) ^ std::process::id();
        let identifier = settings.session.unwrap_or(by_chance);
        let agreed = login::log_in(
            &mut stream,
            address,
            settings.credentials.as_ref(),
            identifier,
            deadline,
        )?;
        let mut session = Self {
            stream,
            facts: Facts::default(),
            lun: address.lun,
            identifier,
            agreed,
            tasks: Tasks::new(agreed.command_number_max, agreed.status_number),
            command_number: agreed.command_number,
            outgoing: Outgoing::default(),
            incoming: Incoming::new(),
            waiting: VecDeque::new(),
            timeout: settings.timeout,
        };
        session.learn()?;
        // Only now: a server opens its window when the login is over.
        let window = session.tasks.command_number_max.wrapping_sub(session.command_number);
        session.facts.outstanding_max = Some(window.wrapping_add(1));
        Ok(session)
    }

    /// Asks the LUN for its facts.
    fn learn(&mut self) -> Result<(), Fault> {
        for _ in 0..ATTENTIONS_MAX {
            if self.ask(cdb::test_unit_ready(), &mut [])? != Err(errno::EAGAIN) {
                break;
            }
        }
        let mut inquiry = [0; INQUIRY_BYTES as usize];
        let answered = self.ask(cdb::inquiry(None), &mut inquiry)?;
        // Qualifier and type: a disk that is there.
        if answered.is_err() || inquiry[0] != 0 {
            let text = format!("the target has no disk with the number {}", self.lun);
            return Err(Fault::new(FaultKind::NotFound, text));
        }
        self.learn_size()?;
        let words = [&inquiry[8..16], &inquiry[16..32]].map(text);
        self.facts.description = Some(words.join(" ")).filter(|words| words != " ");
        self.learn_serial()?;
        self.learn_limits()?;
        let mut mode = [0; INQUIRY_BYTES as usize];
        if self.ask(cdb::mode_sense(), &mut mode)?.is_ok() {
            self.facts.is_read_only = mode[2] & 0x80 != 0;
            self.facts.can_write_through = mode[2] & 0x10 != 0;
        }
        self.facts.can_flush = true;
        // A LUN is one device with one cache, whichever session a command comes by (SBC-3, 4.15).
        self.facts.can_share = true;
        let login = self.agreed.login.map_or(String::new(), |login| format!(", {login}"));
        self.facts.dialect = format!("iSCSI, no digests{login}");
        Ok(())
    }

    fn learn_size(&mut self) -> Result<(), Fault> {
        let mut capacity = [0; 32];
        if let Err(errno) = self.ask(cdb::read_capacity(), &mut capacity)? {
            if errno == errno::EBADE {
                let text = "another initiator has reserved it (SCSI reservation conflict): have it \
                            released, or measure another one";
                return Err(Fault::new(FaultKind::Busy, text));
            }
            let error = std::io::Error::from_raw_os_error(errno);
            return Err(Fault::new(
                FaultKind::of_errno(errno),
                format!("its size is not told ({error})"),
            ));
        }
        let last = u64::from_be_bytes(capacity[..8].try_into().expect("eight bytes"));
        let block = u32::from_be_bytes(capacity[8..12].try_into().expect("four bytes"));
        let size = last.checked_add(1).and_then(|blocks| blocks.checked_mul(block.into()));
        let is_block = block.is_power_of_two() && (512..=1 << 20).contains(&block);
        let Some(size) = size.filter(|_| is_block) else {
            return Err(Fault::garbled(format!(
                "blocks of {block} bytes and the last {last} make no disk"
            )));
        };
        self.facts.size_bytes = size;
        self.facts.block_bytes_min = block;
        self.facts.block_bytes_preferred = block << (capacity[13] & 0xf).min(8);
        // The list of a trim goes with its command or not at all.
        let has_room = self.agreed.immediate_bytes_max >= UNMAP_LIST_BYTES.into();
        self.facts.can_trim = capacity[14] & 0x80 != 0 && has_room;
        Ok(())
    }

    fn learn_serial(&mut self) -> Result<(), Fault> {
        let mut page = [0; INQUIRY_BYTES as usize];
        if self.ask(cdb::inquiry(Some(0x80)), &mut page)?.is_ok() && page[1] == 0x80 {
            let end = 4 + usize::from(page[3]);
            let serial = page.get(4..end).map(text).filter(|serial| !serial.is_empty());
            self.facts.serial = serial;
        }
        Ok(())
    }

    fn learn_limits(&mut self) -> Result<(), Fault> {
        let mut page = [0; INQUIRY_BYTES as usize];
        let told = self.ask(cdb::inquiry(Some(0xb0)), &mut page)?.is_ok() && page[1] == 0xb0;
        let most = u32::from_be_bytes(page[8..12].try_into().expect("four bytes"));
        let most = if told && most > 0 { most } else { u32::MAX };
        let bytes = most.saturating_mul(self.facts.block_bytes_min);
        self.facts.request_bytes_max = bytes.min(REQUEST_BYTES_MAX);
        Ok(())
    }

    /// One command whose answer is waited for: how many bytes came, or the error number.
    fn ask(&mut self, cdb: Cdb, into: &mut [u8]) -> Result<Result<usize, i32>, Fault> {
        let deadline = Deadline::after(self.timeout);
        let bytes = u32::try_from(into.len()).expect("answers are short");
        let flags = if bytes > 0 { flag::READ } else { 0 };
        let tag = self.tasks.enter(0, bytes, flags, false);
        self.command(tag, flags, bytes, cdb, &[], 0);
        let mut done = Vec::with_capacity(1);
        loop {
            self.exchange(&mut OneSlot(into), &mut done)?;
            if let Some(done) = done.pop() {
                return Ok(usize::try_from(done.result).map_err(|_| -done.result));
            }
            wait(self.interest(), deadline)?;
        }
    }

    /// Queues a command with its tag; `own` are data that no slot has, `immediate` those of the slot that go
    /// with it.
    fn command(&mut self, tag: u32, flags: u8, bytes: u32, cdb: Cdb, own: &[u8], immediate: u32) {
        let own_bytes = u32::try_from(own.len()).expect("lists are short");
        let mut head =
            Head::new(opcode::COMMAND, flag::FINAL | flag::SIMPLE | flags, self.lun, tag)
                .with(20, bytes)
                .with(24, self.command_number)
                .with(28, self.tasks.status_number)
                .with_data(own_bytes + immediate);
        head.0[32..].copy_from_slice(&cdb);
        self.command_number = self.command_number.wrapping_add(1);
        let mut sent = [0; HEAD_BYTES + UNMAP_LIST_BYTES as usize];
        sent[..HEAD_BYTES].copy_from_slice(&head.0);
        sent[HEAD_BYTES..HEAD_BYTES + own.len()].copy_from_slice(own);
        let sent = &sent[..HEAD_BYTES + own.len()];
        self.outgoing.push(sent, tag & 0xffff, 0..immediate as usize);
    }

    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    pub(crate) fn submit(&mut self, request: Request) {
        self.waiting.push_back(request);
    }

    /// Queues what the server's window has room for.
    fn release(&mut self) {
        while !is_after(self.command_number, self.tasks.command_number_max) {
            let Some(request) = self.waiting.pop_front() else { return };
            self.begin(&request);
        }
    }

    fn begin(&mut self, request: &Request) {
        let block_bytes = self.facts.block_bytes_min;
        let (block, blocks) =
            (request.offset_bytes / u64::from(block_bytes), request.bytes / block_bytes);
        let (flags, bytes, cdb) = match request.operation {
            Operation::Read => (flag::READ, request.bytes, cdb::read(block, blocks)),
            Operation::Write => {
                (flag::WRITE, request.bytes, cdb::write(block, blocks, request.is_through))
            }
            Operation::Fsync | Operation::Fdatasync => (0, 0, cdb::synchronize()),
            Operation::Trim => (flag::WRITE, UNMAP_LIST_BYTES.into(), cdb::unmap()),
        };
        let is_trim = request.operation == Operation::Trim;
        // A trim's list is no data of the target.
        let entered = if is_trim { 0 } else { flags };
        let tag = self.tasks.enter(request.tag, bytes, entered, true);
        if is_trim {
            self.command(tag, flags, bytes, cdb, &pdu::unmap_list(block, blocks), 0);
        } else {
            let most = self.agreed.immediate_bytes_max.min(self.agreed.send_bytes_max);
            let immediate = if flags == flag::WRITE { most.min(bytes) & !3 } else { 0 };
            self.command(tag, flags, bytes, cdb, &[], immediate);
        }
    }

    /// Sends what there is room for, and takes what is there.
    pub(crate) fn exchange(
        &mut self,
        slots: &mut impl Slots,
        done: &mut Vec<Done>,
    ) -> Result<(), Fault> {
        self.release();
        let sent = self.send(slots);
        self.incoming.receive(&mut self.stream, &mut self.tasks, slots, done)?;
        sent?;
        // The server may be ready for data, or for commands that had to wait.
        self.give_wanted();
        self.release();
        if self.outgoing.is_empty() { Ok(()) } else { self.send(slots) }
    }

    fn send(&mut self, slots: &mut impl Slots) -> Result<(), Fault> {
        let tasks = &mut self.tasks;
        self.outgoing.send(&mut self.stream, slots, |slot| tasks.has_sent(slot))
    }

    fn give_wanted(&mut self) {
        for wanted in std::mem::take(&mut self.tasks.wanted) {
            match wanted {
                Wanted::Data { slot, tag, transfer_tag, at, bytes } => {
                    self.data_out(slot, tag, transfer_tag, at..at + bytes);
                    self.tasks.has_sent(slot);
                }
                Wanted::Pong { transfer_tag } => {
                    let head = self.nop(NO_TAG).with(20, transfer_tag);
                    self.outgoing.push(&head.0, u32::MAX, 0..0);
                }
            }
        }
    }

    /// Queues a part of a write, in units as long as the server takes.
    fn data_out(&mut self, slot: u32, tag: u32, transfer_tag: u32, range: std::ops::Range<u32>) {
        let unit_bytes = self.agreed.send_bytes_max & !3;
        let starts = range.clone().step_by(unit_bytes as usize);
        for (number, start) in (0..).zip(starts) {
            let end = (start + unit_bytes).min(range.end);
            let flags = if end == range.end { flag::FINAL } else { 0 };
            let head = Head::new(opcode::DATA_OUT, flags, self.lun, tag)
                .with(20, transfer_tag)
                .with(28, self.tasks.status_number)
                .with(36, number)
                .with(40, start)
                .with_data(end - start);
            self.tasks.will_send(slot);
            self.outgoing.push(&head.0, slot, start as usize..end as usize);
        }
    }

    fn nop(&self, tag: u32) -> Head {
        Head::new(opcode::NOP_OUT | opcode::IMMEDIATE, flag::FINAL, self.lun, tag)
            .with(20, NO_TAG)
            .with(24, self.command_number)
            .with(28, self.tasks.status_number)
    }

    /// Queues the protocol's own no-op, which completes as an I/O does.
    pub(crate) fn submit_no_op(&mut self) {
        let tag = self.tasks.enter(0, 0, 0, false);
        let head = self.nop(tag);
        self.outgoing.push(&head.0, 0, 0..0);
    }

    /// Ends what is in flight, or waits for its turn, with an error number.
    pub(crate) fn fail_all(&mut self, errno: i32, done: &mut Vec<Done>) {
        self.outgoing.clear();
        self.tasks.fail_all(errno, done);
        let waiting = self.waiting.drain(..);
        done.extend(waiting.map(|request| Done { tag: request.tag, result: -errno }));
    }

    pub(crate) fn interest(&self) -> Interest {
        self.stream.interest_of(!self.outgoing.is_empty())
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.tasks.count + self.waiting.len()
    }

    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Logs out, if the socket has room for it; dropping closes.
    pub(crate) fn close(mut self) {
        if self.outgoing.is_empty() {
            let head = Head::new(opcode::LOGOUT | opcode::IMMEDIATE, flag::FINAL, 0, 0x7fff_0000)
                .with(24, self.command_number)
                .with(28, self.tasks.status_number);
            let _ = self.stream.send(&[IoSlice::new(&head.0)]);
        }
    }
}

/// Words of the server, without what fills them up or could steer a terminal.
fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let plain: String = text.chars().filter(|sign| !sign.is_control()).collect();
    plain.trim().to_owned()
}

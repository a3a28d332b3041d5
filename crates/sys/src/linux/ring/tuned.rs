//! Handing over and reaping in measured portions.

use std::io;

use io_uring::types::{SubmitArgs, Timespec};

use super::super::transfer::{Completion, Operation, Transfer};
use super::{Ring, is_transient};

/// `IORING_ENTER_GETEVENTS`: completions are looked for, and waited for if any are wanted.
const GETEVENTS: u32 = 1;

impl Ring {
    /// I/Os that are queued and not yet handed over.
    #[must_use]
    pub fn queued(&mut self) -> usize {
        self.uring.submission().len()
    }

    /// Hands the `count` I/Os over that have been queued longest, and waits until `want`
    /// completions are there or a signal arrives; with `want` 0 it does not wait.
    ///
    /// A kernel thread that takes I/Os by itself takes all of them, whatever the count.
    pub fn hand_over(&mut self, count: usize, want: usize) -> io::Result<()> {
        let submitter = self.uring.submitter();
        if self.options.submission_thread.is_some() {
            return unless_transient(submitter.submit_and_wait(want));
        }
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        // SAFETY: no argument is passed; the entries were queued by `push` with valid buffers.
        let result = unsafe {
            submitter.enter::<libc::sigset_t>(number(count), number(want), GETEVENTS, None)
        };
        unless_transient(result)
    }

    /// Hands everything over that is queued, and waits for one completion for at most this long.
    /// The kernel has no such limit where completions are polled: it looks once then.
    pub fn hand_over_within(&mut self, timeout_ns: u64) -> io::Result<()> {
        if self.options.polled {
            let queued = self.queued();
            return self.hand_over(queued, 0);
        }
        let time = Timespec::new()
            .sec(timeout_ns / 1_000_000_000)
            .nsec(u32::try_from(timeout_ns % 1_000_000_000).unwrap_or(0));
        let arguments = SubmitArgs::new().timespec(&time);
        unless_transient(self.uring.submitter().submit_with_args(1, &arguments))
    }

    /// Takes at most `most` of the completions that are there and appends them to `done`.
    #[inline]
    pub fn reap_at_most(&mut self, most: usize, done: &mut Vec<Completion>) {
        let lending = &mut self.lending;
        done.extend(self.uring.completion().take(most).map(|entry| {
            #[expect(clippy::cast_possible_truncation, reason = "`push` stored a u32")]
            let slot = entry.user_data() as u32;
            lending.take_back(slot);
            Completion { slot, result: entry.result() }
        }));
    }

    /// Reads the first `bytes` of a target into the first slot, and tells how the kernel answered:
    /// whether a choice that depends on the target works is known only from an I/O to it.
    pub fn try_read(&mut self, file: u32, bytes: u32) -> io::Result<()> {
        let source_offset = None;
        let operation = Operation::Read;
        self.push(&Transfer { slot: 0, file, operation, offset_bytes: 0, bytes, source_offset });
        let mut done = Vec::with_capacity(1);
        while done.is_empty() {
            self.hand_over(1, 1)?;
            self.reap(&mut done);
        }
        match done[0].result {
            error if error < 0 => Err(io::Error::from_raw_os_error(-error)),
            _ => Ok(()),
        }
    }
}

fn unless_transient(result: io::Result<usize>) -> io::Result<()> {
    match result {
        Err(error) if is_transient(&error) => Ok(()),
        other => other.map(|_| ()),
    }
}

//! What can be requested of a ring beyond its size.

use io_uring::Builder;

/// How long the kernel's submission thread looks for work before it sleeps.
const SQ_THREAD_IDLE_MS: u32 = 1000;

/// Choices in the set-up of a ring; the default is what serves every target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RingOptions {
    /// The kernel pins each buffer again for each I/O.
    pub unregistered_buffers: bool,
    /// Completions are looked for at the device instead of being announced by an interrupt
    /// (`IORING_SETUP_IOPOLL`).
    pub polled: bool,
    /// A thread of the kernel takes what is queued (`IORING_SETUP_SQPOLL`).
    pub submission_thread: Option<SubmissionThread>,
}

/// The kernel's thread that takes what is queued.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SubmissionThread {
    /// The only CPU that it runs on, by the kernel's number; any if absent.
    pub cpu: Option<u32>,
}

impl RingOptions {
    /// Enters the choices into a ring's set-up.
    pub(super) fn configure(&self, builder: &mut Builder) {
        if self.polled {
            builder.setup_iopoll();
        }
        if let Some(thread) = self.submission_thread {
            builder.setup_sqpoll(SQ_THREAD_IDLE_MS);
            if let Some(cpu) = thread.cpu {
                builder.setup_sqpoll_cpu(cpu);
            }
        }
    }

    /// What the choices are called in results.
    pub(super) fn features(&self) -> impl Iterator<Item = &'static str> {
        let named = [
            (self.polled, "polled completion"),
            (self.submission_thread.is_some(), "kernel submission thread"),
        ];
        named.into_iter().filter(|(chosen, _)| *chosen).map(|(_, name)| name)
    }
}

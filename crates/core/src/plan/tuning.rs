//! How one thread's I/O is handed over and taken back, in numbers.

pub use crate::request::SubmissionThread;

/// How one thread's I/O is handed over and taken back. The default is what is fastest everywhere.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoTuning {
    /// I/Os that are handed over together; as many as there are if absent.
    pub batch_ios: Option<u32>,
    /// Completions that are taken at a time, at most; all that are there if absent.
    pub completion_depth: Option<u32>,
    /// The kernel pins each buffer again for each I/O.
    pub unregistered_buffers: bool,
    /// Completions are looked for at the device instead of being announced by an interrupt.
    pub polled: bool,
    /// A thread of the kernel takes what is queued.
    pub submission_thread: Option<SubmissionThread>,
    /// The buffers begin at a multiple of this many bytes, and nothing else lies in the same
    /// stretch; 0 leaves the place to the kernel.
    pub buffer_separation_bytes: u64,
}

impl IoTuning {
    /// Whether a ring is used otherwise than in the fastest way.
    #[must_use]
    pub fn changes_ring(&self) -> bool {
        let plain =
            Self { buffer_separation_bytes: self.buffer_separation_bytes, ..Self::default() };
        *self != plain
    }
}

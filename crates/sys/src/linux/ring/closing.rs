//! The end of a ring: nothing is in flight any more, and nothing is held any longer.

use std::mem::ManuallyDrop;

use super::Ring;

impl Drop for Ring {
    fn drop(&mut self) {
        let mut done = Vec::with_capacity(self.in_flight());
        while self.in_flight() > 0 {
            let waited = self.enter(1, None);
            self.reap(&mut done);
            if waited.is_err() {
                break;
            }
        }
        let idle = self.in_flight() == 0;
        if idle {
            self.unregister();
        }
        // SAFETY: both are dropped or leaked only here. The ring goes first; the buffers are freed
        // only when nothing is in flight, and are leaked otherwise because the kernel may still write.
        unsafe {
            ManuallyDrop::drop(&mut self.uring);
            if idle {
                ManuallyDrop::drop(&mut self.lending);
            }
        }
    }
}

impl Ring {
    /// Gives files and buffers back. The kernel takes a ring apart some time after it was closed, and until
    /// then a file that is registered stays open and memory locked: a device could not be unmounted or
    /// detached right after the run.
    fn unregister(&self) {
        let submitter = self.uring.submitter();
        // What cannot be given back now is given back then.
        if self.registered_files {
            let _given_back = submitter.unregister_files();
        }
        if !self.buffers.slots.is_empty() {
            let _given_back = submitter.unregister_buffers();
        }
    }
}

//! Takes the blocks of a file before it is filled, so that they lie together.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::atomic::Ordering;

use fathom_sys::space;

use super::room;
use super::{Making, PrepareError};
use crate::measure::Event;

/// Bytes that are taken at once. A file system that has to write them all may take seconds for so many, and
/// in between the wish to end is heard.
const PORTION_BYTES: u64 = 1 << 30;

impl Making<'_> {
    /// Takes all blocks, so that they lie together and a lack of them shows before anything is written.
    pub(super) fn reserve(&self, file: &File) -> Result<(), PrepareError> {
        let mut done_bytes = 0;
        while done_bytes < self.size_bytes {
            let end_bytes = self.size_bytes.min(done_bytes.saturating_add(PORTION_BYTES));
            self.tell_beginning();
            match self.portion(file, done_bytes..end_bytes)? {
                Portion::Taken => done_bytes = end_bytes,
                Portion::Unsupported => return self.set_size(file),
            }
        }
        Ok(())
    }

    /// From now on there is a file that is not complete.
    pub(super) fn tell_beginning(&self) {
        let (name, total_bytes) = (self.path.display().to_string(), self.size_bytes);
        (self.sink)(Event::Filling { name, done_bytes: 0, total_bytes });
    }

    fn portion(&self, file: &File, range: Range<u64>) -> Result<Portion, PrepareError> {
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(self.interrupted(0));
            }
            match space::reserve(file, range.clone()) {
                Ok(()) => return Ok(Portion::Taken),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                    return Ok(Portion::Unsupported);
                }
                Err(error) => {
                    // What was taken so far counts as free in what is reported.
                    let _emptied = file.set_len(0);
                    return Err(room::refused_size(self.path, self.size_bytes, error));
                }
            }
        }
    }

    fn set_size(&self, file: &File) -> Result<(), PrepareError> {
        let sized = file.set_len(self.size_bytes);
        sized.map_err(|error| room::refused_size(self.path, self.size_bytes, error))
    }
}

enum Portion {
    Taken,
    /// The file system reserves nothing.
    Unsupported,
}

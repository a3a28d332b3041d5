//! What was in the place of a file that is made, and what becomes of it where the file is not completed.
//!
//! What this run has made is removed. A file that was there before stays, with its owner, mode and links: one
//! without data as it was, and any other without data.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use super::ahead::{self, read};
use super::data::Data;
use super::error::Partial;

/// What was in the place of a file that is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    /// Nothing: this run has made it.
    Nothing,
    /// A file with so many zeros, which may be none.
    Zeros(u64),
    /// A file with data that may be lost.
    Data,
}

impl Before {
    /// What a file is that is there. What cannot be read holds data; one who ends the run does not wait.
    pub(super) fn of(file: &dyn Data, size_bytes: u64, stop: &AtomicBool) -> Self {
        match is_zero(file, size_bytes, stop) {
            Ok(true) => Self::Zeros(size_bytes),
            Ok(false) | Err(_) => Self::Data,
        }
    }

    /// Brings a file back to what it was, or at least empties it. `resize` gives it another size: what goes
    /// beyond the old one is zeros.
    pub(super) fn restore<E: fmt::Display>(
        self,
        mut resize: impl FnMut(u64) -> Result<(), E>,
    ) -> Partial {
        if resize(0).is_err() {
            return Partial::Left;
        }
        match self {
            Self::Nothing => Partial::EmptiedAlone,
            Self::Zeros(0) => Partial::Restored(0),
            Self::Zeros(bytes) if resize(bytes).is_ok() => Partial::Restored(bytes),
            Self::Data | Self::Zeros(_) => Partial::Emptied,
        }
    }
}

/// Whether all bytes are zeros; it ends at the first other one.
fn is_zero(file: &dyn Data, size_bytes: u64, stop: &AtomicBool) -> io::Result<bool> {
    let other = ahead::find(file, size_bytes, |range| {
        let ends = stop.load(Ordering::Relaxed) || read(file, range)?.iter().any(|&byte| byte != 0);
        Ok(ends.then_some(()))
    });
    Ok(other?.is_none())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use super::*;

    #[test]
    fn zeros_and_holes_are_no_data_and_one_byte_is() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let path = home.path().join("file");
        let mut file = File::options().read(true).write(true).create_new(true).open(path).unwrap();
        let go = AtomicBool::new(false);
        assert_eq!(Before::of(&file, 0, &go), Before::Zeros(0));
        file.write_all(&vec![0; 3 << 20]).unwrap();
        file.set_len(5 << 20).unwrap();
        assert_eq!(Before::of(&file, 5 << 20, &go), Before::Zeros(5 << 20));
        file.write_all(b"x").unwrap();
        assert_eq!(Before::of(&file, 5 << 20, &go), Before::Data);
        file.set_len(3 << 20).unwrap();
        assert_eq!(Before::of(&file, 3 << 20, &AtomicBool::new(true)), Before::Data);
    }

    #[test]
    fn a_file_that_cannot_be_brought_back_is_emptied_and_one_that_cannot_be_emptied_stays() {
        let refuses = |from: u64| move |bytes: u64| if bytes < from { Ok(()) } else { Err("no") };
        assert_eq!(Before::Zeros(7).restore(refuses(8)), Partial::Restored(7));
        assert_eq!(Before::Zeros(7).restore(refuses(7)), Partial::Emptied);
        assert_eq!(Before::Zeros(0).restore(refuses(1)), Partial::Restored(0));
        assert_eq!(Before::Data.restore(refuses(1)), Partial::Emptied);
        assert_eq!(Before::Data.restore(refuses(0)), Partial::Left);
        assert_eq!(Before::Nothing.restore(refuses(1)), Partial::EmptiedAlone);
    }
}

//! Storage of this host: files and block devices, by their paths.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use fathom_sys::contract::file::{FileFacts, FileKind};
use fathom_sys::device;
use fathom_sys::file::{Advice, OpenFlags, TargetFile};
use fathom_sys::residency;

use super::Local;
use super::contract::{Creation, Facts, Source, Storage};
use crate::engine::setup;
use crate::errors::{Failure, Kind};
use crate::guard::{Checked, DeviceLabel, Finding, Guard};
use crate::measure::EventSink;
use crate::network::RoundTrip;
use crate::plan::{FilePlan, TargetPlan};
use crate::prepare::{self, Created, PrepareError};
use crate::supervise::within;
use crate::verify::Origin;

/// Whether a file or block device can be read and written past the page cache, as far as its file system
/// says. An empty file may lie in its inode, from where it cannot until it holds more.
#[must_use]
pub fn bypasses_page_cache(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| !residency::refuses_direct(&file))
}

impl Storage for Local {
    fn look(&self, _may_be_made: bool) -> Result<Facts, Failure> {
        Ok(device::look(&self.path).map(Facts::Here)?)
    }

    fn examine(&self, guard: &Guard<'_>) -> Option<Finding> {
        guard.examine_held(&self.path)
    }

    fn label(&self, guard: &Guard<'_>) -> Option<DeviceLabel> {
        guard.label_of_held(&self.path)
    }

    fn fate(&self, file: &FilePlan) -> Result<Created, PrepareError> {
        prepare::fate(file)
    }

    fn create(&self, file: &FilePlan, with: &mut Creation<'_>) -> Result<Created, PrepareError> {
        let overwrite = with.permission.overwrite;
        let created = prepare::create(file, overwrite, with.checked, with.stop, with.sink)?;
        match created {
            Created::Kept => with.marks.kept(&self.path, with.checked),
            Created::Made | Created::Remade => with.marks.made(&self.path, with.checked),
        }
        Ok(created)
    }

    fn origin(&self, is_whole: bool) -> Option<Origin> {
        // A file that cannot be looked at is one of which nothing is known.
        Origin::of_file(&self.path, is_whole).ok().flatten()
    }

    fn open(&self) -> Result<Box<dyn Source>, Failure> {
        let found = fs::metadata(&self.path);
        let found =
            found.map_err(|error| Failure::of(&error, format!("cannot be found: {error}")))?;
        if !matches!(found.kind(), FileKind::File | FileKind::BlockDevice) {
            let words = "is neither a regular file nor a block device";
            return Err(Failure::new(Kind::Unsupported, words));
        }
        let opened = LocalSource::open(&self.path);
        let opened =
            opened.map_err(|error| Failure::of(&error, format!("cannot be read: {error}")))?;
        Ok(Box::new(opened))
    }

    fn try_open(&self, target: &TargetPlan, checked: &Checked) -> Result<(), Failure> {
        setup::open(target, checked).map(drop).map_err(Failure::from)
    }

    fn round_trip(&self, _name: &str, _with: (&AtomicBool, EventSink<'_>)) -> Option<RoundTrip> {
        None
    }

    fn remove_made(&self, checked: &Checked, sink: EventSink<'_>) -> Result<(), Failure> {
        let Some((file, made)) = checked.made_for(&self.path) else { return Ok(()) };
        let doing = format!("remove '{}'", made.path.display());
        Ok(within(sink, doing, || prepare::remove_file(file, made))?)
    }
}

/// A file or device that is read past the page cache if possible, because what is to be verified is the
/// target and not memory.
struct LocalSource {
    path: PathBuf,
    file: TargetFile,
    is_direct: bool,
}

impl LocalSource {
    fn open(path: &Path) -> io::Result<Self> {
        let direct = OpenFlags { direct: true, ..OpenFlags::default() };
        let (file, is_direct) = match TargetFile::open(path, direct) {
            Ok(file) => (file, true),
            Err(_) => (buffered(path)?, false),
        };
        Ok(Self { path: path.to_owned(), file, is_direct })
    }
}

impl Source for LocalSource {
    fn read_at(&mut self, into: &mut [u8], offset_bytes: u64) -> Result<usize, Failure> {
        loop {
            match self.file.read_at(into, offset_bytes) {
                Ok(bytes) => return Ok(bytes),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Past the page cache only whole sectors of the device can be read.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput && self.is_direct => {
                    (self.file, self.is_direct) = (buffered(&self.path)?, false);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn buffered(path: &Path) -> io::Result<TargetFile> {
    let file = TargetFile::open(path, OpenFlags::default())?;
    file.advise(Advice::DontNeed)?;
    file.advise(Advice::Sequential)?;
    Ok(file)
}

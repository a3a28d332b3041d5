//! The contract of storage: what a run needs of it besides the load, wherever it lies.
//!
//! A [`Location`](super::Location) has one implementation: [`Local`](super::Local) for what paths of this
//! host lead to, [`Served`](super::Served) for what other hosts serve. The load itself goes past it, by the
//! engine's backends, since nothing may stand between an I/O and its clock.
//!
//! Errors are [`Failure`]s, whose kind is the same on every system and over every protocol; that of making a
//! file also says what became of the part that was made. Calls may hang as their storage does: each one
//! that a run makes while somebody waits is reported to its sink.

use std::sync::atomic::AtomicBool;

use fathom_sys::device::PathFacts;

use crate::errors::Failure;
use crate::guard::{Checked, DeviceLabel, Finding, Guard};
use crate::measure::EventSink;
use crate::network::{RemoteFacts, RoundTrip};
use crate::plan::{FilePlan, TargetPlan};
use crate::prepare::{Created, Marks, PrepareError};
use crate::request::Permission;
use crate::verify::Origin;

/// What a look at a target finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Facts {
    /// What a path of this host leads to.
    Here(PathFacts),
    /// What the server says.
    Served(RemoteFacts),
}

/// What is needed to make a file.
pub(crate) struct Creation<'a> {
    /// What was permitted to the run.
    pub(crate) permission: &'a Permission,
    /// What was checked; a file that is made is noted there.
    pub(crate) checked: &'a mut Checked,
    /// The marks of the files of this host.
    pub(crate) marks: &'a Marks,
    /// Ends the making when it turns true; what was made by then is removed.
    pub(crate) stop: &'a AtomicBool,
    /// Where progress goes, and what may hang.
    pub(crate) sink: EventSink<'a>,
}

/// What a run needs of storage besides the load.
pub(crate) trait Storage {
    /// Looks at what is there; nothing is opened for I/O. Where `may_be_made`, a file that is missing is no
    /// error: the facts say so.
    ///
    /// Fails if it cannot be looked at: `NotFound` and `Denied` as the system or the server says,
    /// `Unreachable`, `TimedOut` and `Credentials` of a server alone.
    fn look(&self, may_be_made: bool) -> Result<Facts, Failure>;

    /// What speaks against writing to it; nothing if it may be written. What cannot be seen of its users is
    /// noted in the guard. What lies here must be held by the guard, which has looked at all of it at once.
    fn examine(&self, guard: &Guard<'_>) -> Option<Finding>;

    /// The device, as the person who gives permission knows it; nothing if it is none.
    fn label(&self, guard: &Guard<'_>) -> Option<DeviceLabel>;

    /// What [`Storage::create`] would do, unless that is refused; nothing is changed.
    fn fate(&self, file: &FilePlan) -> Result<Created, PrepareError>;

    /// Makes a file, or keeps one that is there as it is wanted. Data of others are replaced only where
    /// permission was given. A file that did not exist is noted in what was checked, for
    /// [`Storage::remove_made`].
    ///
    /// Fails with `NoSpace`, `Denied`, `Interrupted` and so on; a file that is not complete does not stay,
    /// unless the error says that it does.
    fn create(&self, file: &FilePlan, with: &mut Creation<'_>) -> Result<Created, PrepareError>;

    /// The data that the file was made with, if that can be known; `is_whole` if this run has made it.
    fn origin(&self, is_whole: bool) -> Option<Origin>;

    /// Opens it to read what it holds: for verification, past the caches of this host where that is possible.
    ///
    /// Fails in words that follow the name of the target.
    fn open(&self) -> Result<Box<dyn Source>, Failure>;

    /// Opens it as the load would, and lets go of it.
    fn try_open(&self, target: &TargetPlan, checked: &Checked) -> Result<(), Failure>;

    /// The shortest time that a request to a server and back takes; nothing where none lies between, or if it
    /// could not be measured. It ends when `stop` turns true.
    fn round_trip(&self, name: &str, with: (&AtomicBool, EventSink<'_>)) -> Option<RoundTrip>;

    /// Removes the file that this run has made, unless it holds somebody's data by now or another one has
    /// taken its place.
    ///
    /// Fails with a sentence if it stays.
    fn remove_made(&self, checked: &Checked, sink: EventSink<'_>) -> Result<(), Failure>;
}

/// Data that are read, one piece after the other.
pub(crate) trait Source {
    /// Reads up to the length of `into`; how much, which is 0 at the end.
    fn read_at(&mut self, into: &mut [u8], offset_bytes: u64) -> Result<usize, Failure>;
}

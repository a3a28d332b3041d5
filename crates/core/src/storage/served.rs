//! Storage that another host serves, by the clients of [`crate::network`].

use std::sync::atomic::{AtomicBool, Ordering};

use super::Served;
use super::contract::{Creation, Facts, Source, Storage};
use crate::errors::Failure;
use crate::guard::{Checked, DeviceLabel, Finding, Guard};
use crate::measure::EventSink;
use crate::network::{self, Looking, Reader, RoundTrip};
use crate::plan::{FilePlan, TargetPlan};
use crate::prepare::{Created, PrepareError, served};
use crate::supervise::{Doing, within_steps};
use crate::verify::Origin;

impl Served {
    /// What is served, as the person who gives permission knows it.
    pub(crate) fn device(&self) -> DeviceLabel {
        let facts = &self.plan.facts;
        DeviceLabel {
            path: self.remote.address.clone(),
            model: facts.description.clone(),
            serial: facts.serial.clone(),
            wwn: None,
            size_bytes: facts.size_bytes,
            tokens: facts.tokens.iter().map(|token| crate::guard::plain(token)).collect(),
        }
    }
}

impl Storage for Served {
    fn look(&self, may_be_made: bool) -> Result<Facts, Failure> {
        let (timeout, is_unbuffered) = (self.plan.timeout, self.plan.is_unbuffered);
        let how = Looking { timeout, is_unbuffered, may_be_made };
        network::look(&self.remote, how).map(Facts::Served)
    }

    fn examine(&self, guard: &Guard<'_>) -> Option<Finding> {
        guard.examine_served(self)
    }

    fn label(&self, _guard: &Guard<'_>) -> Option<DeviceLabel> {
        Some(self.device())
    }

    fn fate(&self, file: &FilePlan) -> Result<Created, PrepareError> {
        served::fate(file, self.plan.timeout)
    }

    fn create(&self, file: &FilePlan, with: &mut Creation<'_>) -> Result<Created, PrepareError> {
        let (permission, label) = (with.permission, self.device());
        let is_granted = permission.overwrite && label.is_allowed_by(&permission.allow_write);
        let leave = (!is_granted).then(|| label.option());
        let timeout = self.plan.timeout;
        let (created, handle) =
            served::create(file, timeout, leave.as_deref(), with.stop, with.sink)?;
        if created == Created::Made {
            with.checked.note_served(self, handle);
        }
        Ok(created)
    }

    fn origin(&self, _is_whole: bool) -> Option<Origin> {
        None
    }

    fn open(&self) -> Result<Box<dyn Source>, Failure> {
        let opened = Reader::open(self.path(), self.plan.timeout);
        let failed = |why: Failure| Failure { message: format!("cannot be read: {why}"), ..why };
        Ok(Box::new(opened.map_err(failed)?))
    }

    fn try_open(&self, _target: &TargetPlan, _checked: &Checked) -> Result<(), Failure> {
        Reader::open(self.path(), self.plan.timeout).map(drop)
    }

    fn round_trip(
        &self,
        name: &str,
        (stop, sink): (&AtomicBool, EventSink<'_>),
    ) -> Option<RoundTrip> {
        let what = format!("measure the round trip to '{name}'");
        let doing = Doing::with(Some(self.server()), what);
        let measure = |step: &dyn Fn()| {
            let goes_on = || {
                step();
                !stop.load(Ordering::Relaxed)
            };
            network::floor(self.path(), self.plan.timeout, &goes_on)
        };
        within_steps(sink, doing, measure).ok().flatten()
    }

    fn remove_made(&self, checked: &Checked, sink: EventSink<'_>) -> Result<(), Failure> {
        let handle = checked.served_handle(self);
        Ok(served::remove_made(self.path(), handle, self.plan.timeout, sink)?)
    }
}

impl Source for Reader {
    fn read_at(&mut self, into: &mut [u8], offset_bytes: u64) -> Result<usize, Failure> {
        Ok(Reader::read_at(self, into, offset_bytes)?)
    }
}

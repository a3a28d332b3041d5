//! Kernel events of the measured time, counted if that was requested.

use std::sync::{Mutex, MutexGuard, PoisonError};

use fathom_sys::trace::{Counted, Request, Session, TraceError};

/// Counts from the beginning of the measured time to its end.
#[derive(Debug)]
pub struct Tracer(Option<Mutex<State>>);

#[derive(Debug)]
struct State {
    session: Session,
    counted: Option<Counted>,
}

impl Tracer {
    /// Sets up what is to be counted.
    ///
    /// # Errors
    /// The first group of events that cannot be counted here.
    pub fn open(request: Option<&Request>) -> Result<Self, TraceError> {
        let session = request.map(Session::open).transpose()?;
        Ok(Self(session.map(|session| Mutex::new(State { session, counted: None }))))
    }

    /// Begins to count.
    pub fn begin(&self) {
        if let Some(mut state) = self.state() {
            state.session.begin();
        }
    }

    /// Takes in what has come up so far; to be called every few milliseconds.
    pub fn look(&self) {
        if let Some(mut state) = self.state() {
            state.session.look();
        }
    }

    /// Ends counting.
    pub fn end(&self) {
        if let Some(mut state) = self.state() {
            state.counted = Some(state.session.end());
        }
    }

    /// What was counted; nothing if nothing was requested.
    #[must_use]
    pub fn counted(&self) -> Option<Counted> {
        self.state()?.counted.clone()
    }

    fn state(&self) -> Option<MutexGuard<'_, State>> {
        Some(self.0.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

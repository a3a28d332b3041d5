//! Named events of a run: other processes learn when it starts and ends, start it, and stop it.

use std::sync::atomic::{AtomicBool, Ordering};

use fathom_sys::event::{EventError, NamedEvent};

use crate::measure::{Event, Phase};
use crate::request::NamedEvents;

/// How long a wait lasts before it looks whether the run must stop.
const LOOK_EVERY_NS: u64 = 50_000_000;

/// The named events of a run, in use from its beginning to its end.
#[derive(Debug)]
pub struct RunEvents {
    start: Option<NamedEvent>,
    finish: Option<NamedEvent>,
    wait: Option<NamedEvent>,
    stop: Option<NamedEvent>,
}

impl RunEvents {
    /// Creates those that do not exist yet.
    pub fn new(names: &NamedEvents) -> Result<Self, EventError> {
        let create = |name: &Option<String>| name.as_deref().map(NamedEvent::create).transpose();
        Ok(Self {
            start: create(&names.start)?,
            finish: create(&names.finish)?,
            wait: create(&names.wait)?,
            stop: create(&names.stop)?,
        })
    }

    /// Waits for the event that starts the run; false if the run was ended meanwhile.
    pub fn wait_for_start(&self, stop: &AtomicBool) -> bool {
        let Some(event) = &self.wait else { return true };
        while !stop.load(Ordering::Relaxed) {
            if event.wait(LOOK_EVERY_NS) {
                return true;
            }
        }
        false
    }

    /// Signals what an event of the run stands for: the measured time begins, or is over.
    pub fn follow(&self, event: &Event) {
        let signal = |named: &Option<NamedEvent>| named.as_ref().map_or((), NamedEvent::set);
        match event {
            Event::PhaseStarted { phase: Phase::Measured, .. } => signal(&self.start),
            Event::PhaseStarted { phase: Phase::CoolDown, .. } | Event::Finished { .. } => {
                signal(&self.finish);
            }
            _ => {}
        }
    }

    /// Whether an event can end the run.
    #[must_use]
    pub fn can_stop(&self) -> bool {
        self.stop.is_some()
    }

    /// Ends the run (`stop`) when somebody signals the stop event; when `stop` turns true otherwise, the
    /// event is signalled, so that all who share it stop together. Returns when `over` turns true.
    pub fn watch(&self, stop: &AtomicBool, over: &AtomicBool) {
        let Some(event) = &self.stop else { return };
        while !over.load(Ordering::Relaxed) {
            if stop.load(Ordering::Relaxed) {
                return event.set();
            }
            if event.wait(LOOK_EVERY_NS) {
                return stop.store(true, Ordering::Relaxed);
            }
        }
    }
}

//! A handle on a run: the binary, the Python module, and whoever drives runs on other hosts hold the same.

use std::hash::{BuildHasher, RandomState};
use std::panic::resume_unwind;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use fathom_sys::hand_off;

use super::{Finished, RunError, Stop, run};
use crate::engine::start_gate::{StartGate, unix_now_ns};
use crate::measure::{EndedBy, Event, RunEvent};
use crate::request::Job;

/// A run. It is prepared from the moment on at which it is opened, and its load begins when it is
/// [started](Self::start). A handle that is dropped without a word ends its run.
#[derive(Debug)]
pub struct RunHandle {
    run: String,
    stop: Arc<Stop>,
    gate: Arc<StartGate>,
    events: Mutex<Receiver<RunEvent>>,
    thread: Mutex<Option<JoinHandle<Result<Finished, RunError>>>>,
}

/// What comes next of a run.
#[derive(Debug)]
pub enum Next {
    /// Something happened.
    Event(RunEvent),
    /// Nothing has happened for so long.
    Nothing,
    /// The run is over: its result is there.
    Over,
}

impl RunHandle {
    /// Begins to prepare a run. `stop` ends it.
    ///
    /// # Errors
    /// If there may be no more threads.
    pub fn open(job: Job, stop: Arc<Stop>) -> Result<Self, RunError> {
        // Before there is another thread, if this is the first run.
        hand_off::get_ready();
        let (tell, events) = mpsc::channel();
        let name = format!("{:016x}", RandomState::new().hash_one(std::process::id()));
        let gate = Arc::new(StartGate::default());
        let teller = Teller { run: name.clone(), host: super::facts::host_name(), tell };
        let (stopped, opened) = (Arc::clone(&stop), Arc::clone(&gate));
        let thread = Builder::new()
            .name("supervisor".to_owned())
            .spawn(move || run(&job, &stopped, &opened, &|event| teller.tell(event)))?;
        Ok(Self {
            run: name,
            stop,
            gate,
            events: Mutex::new(events),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// A word that no other run has; its events carry it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.run
    }

    /// The load begins at this instant, in nanoseconds since 1970-01-01T00:00:00Z, or once all is prepared if
    /// that is later; the result says when it did. The first instant counts.
    pub fn start(&self, at_unix_ns: u64) {
        self.gate.open(at_unix_ns);
    }

    /// The load begins once all is prepared.
    pub fn start_at_once(&self) {
        self.start(0);
    }

    /// Ends the run; what was measured until then is its result.
    pub fn stop(&self, by: EndedBy) {
        self.stop.stop(by);
    }

    /// The lease of the run, if it has one, begins again.
    pub fn renew(&self) {
        self.stop.renew();
    }

    /// Waits so long for the next event.
    pub fn next(&self, wait: Duration) -> Next {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        match events.recv_timeout(wait) {
            Ok(event) => Next::Event(event),
            Err(RecvTimeoutError::Timeout) => Next::Nothing,
            Err(RecvTimeoutError::Disconnected) => Next::Over,
        }
    }

    /// The events, each as it comes, up to the end of the run.
    pub fn events(&self) -> impl Iterator<Item = RunEvent> + '_ {
        const LONG: Duration = Duration::from_secs(3600);
        std::iter::from_fn(|| {
            loop {
                match self.next(LONG) {
                    Next::Event(event) => return Some(event),
                    Next::Nothing => {}
                    Next::Over => return None,
                }
            }
        })
    }

    /// Waits for the end of the run, and gives its result.
    ///
    /// # Errors
    /// If nothing was run: the request does not fit the host, or a target is protected.
    ///
    /// # Panics
    /// If the run panicked, with what it panicked with.
    pub fn result(self) -> Result<Finished, RunError> {
        self.finish().expect("only this takes the thread, and the handle with it")
    }

    /// As [`result`](Self::result), while others may still hold the handle; none but for the first who asks.
    ///
    /// # Errors
    /// If nothing was run.
    ///
    /// # Panics
    /// If the run panicked, with what it panicked with.
    pub fn finish(&self) -> Option<Result<Finished, RunError>> {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    }
}

impl Drop for RunHandle {
    fn drop(&mut self) {
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner);
        if thread.is_some() {
            let reason = "nobody held it any longer".to_owned();
            self.stop(EndedBy::Holder { reason });
        }
    }
}

/// Tells events with the run, the host and the time.
struct Teller {
    run: String,
    host: String,
    tell: Sender<RunEvent>,
}

impl Teller {
    fn tell(&self, event: Event) {
        let (run, host) = (self.run.clone(), self.host.clone());
        let at_unix_ns = unix_now_ns();
        // Whoever waits for the result alone does not listen.
        let _told = self.tell.send(RunEvent { run, host, at_unix_ns, event });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::LatencyHistogram;
    use crate::report::json;
    use crate::request::{EngineChoice, Profile, Request, RunOptions, Target, TimeSpan};
    use crate::result::Outcome;

    /// A second on the null engine.
    fn job(folder: &tempfile::TempDir) -> Job {
        let path = folder.path().join("x").display().to_string();
        let target = Target { path: path.into(), create_bytes: Some(1 << 20), ..Target::default() };
        let span = TimeSpan {
            measure_latency: true,
            warm_up_s: 0,
            duration_s: 1,
            targets: vec![target],
            ..TimeSpan::default()
        };
        let profile = Profile { time_spans: vec![span], ..Profile::default() };
        let options = RunOptions { engine: Some(EngineChoice::Null), ..RunOptions::default() };
        Job { request: Request::new(profile, options), live: true, ..Job::default() }
    }

    #[test]
    fn a_run_is_ready_begins_when_it_is_told_and_its_events_can_be_sent() {
        let folder = tempfile::tempdir().unwrap();
        let handle = RunHandle::open(job(&folder), Arc::default()).unwrap();
        let at_ns = unix_now_ns() + 1_500_000_000;
        let mut told = Vec::new();
        for event in handle.events() {
            if event.event == Event::Ready {
                handle.start(at_ns);
            }
            told.push(event);
        }
        assert!(told.iter().all(|event| event.run == handle.name() && !event.host.is_empty()));
        let mut latency = LatencyHistogram::new();
        for event in &told {
            assert_eq!(json::read_event(&json::write_event(event)).unwrap(), *event);
            if let Event::Live { latency: second, .. } = &event.event {
                latency.merge(second);
            }
        }
        let ready = told.iter().position(|event| event.event == Event::Ready);
        let began = told.iter().position(|one| matches!(one.event, Event::PhaseStarted { .. }));
        assert!(ready.unwrap() < began.unwrap());
        let result = handle.result().unwrap().result;
        let span = &result.time_spans[0];
        assert!(span.began_unix_ns.unwrap() >= at_ns);
        assert_eq!((&span.outcome, result.ended_by), (&Outcome::Complete, None));
        let ios = span.threads[0].targets[0].read.ios;
        assert!(latency.count() >= ios, "{} of {ios}", latency.count());
    }

    #[test]
    fn a_run_that_is_ended_before_it_was_started_says_who_ended_it() {
        let folder = tempfile::tempdir().unwrap();
        let handle = RunHandle::open(job(&folder), Arc::default()).unwrap();
        let by = EndedBy::Holder { reason: "host b was lost".to_owned() };
        let mut events = handle.events();
        assert!(events.any(|event| event.event == Event::Ready));
        handle.stop(by.clone());
        drop(events);
        let result = handle.result().unwrap().result;
        assert_eq!(result.time_spans[0].outcome, Outcome::Interrupted);
        assert_eq!(result.ended_by, Some(by));
        let told = |kind: &str| result.warnings.iter().any(|one| one.evidence.contains(kind));
        assert!(told("host b was lost"), "{:?}", result.warnings);
    }

    #[test]
    fn a_handle_that_is_dropped_leaves_no_load_behind() {
        let folder = tempfile::tempdir().unwrap();
        let stop = Arc::new(Stop::default());
        drop(RunHandle::open(job(&folder), Arc::clone(&stop)).unwrap());
        assert!(matches!(stop.by(), Some(EndedBy::Holder { .. })));
    }
}

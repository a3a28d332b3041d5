//! Processes, by the tracepoints of the scheduler. `/proc/stat` counts threads only.

use std::io;

use super::perf::SystemEvent;
use super::{Count, Event, Source, TraceError};

/// The bit of `clone_flags` that makes a thread instead of a process, `CLONE_THREAD` of clone(2).
const NOT_A_THREAD: &str = "!(clone_flags & 0x10000)";
const STARTED: &str = "task/task_newtask";
const ENDED: &str = "sched/sched_process_exit";
const EVENTS: [Event; 2] = [Event::ProcessStart, Event::ProcessEnd];

/// Counts processes.
#[derive(Debug)]
pub struct Processes {
    started: SystemEvent,
    /// Older kernels do not tell which thread of a process was its last.
    ended: Result<SystemEvent, TraceError>,
}

impl Processes {
    pub fn open() -> Result<Self, TraceError> {
        Ok(Self {
            started: SystemEvent::tracepoint(STARTED, NOT_A_THREAD)?,
            ended: SystemEvent::tracepoint(ENDED, "group_dead == 1"),
        })
    }
}

impl Source for Processes {
    fn begin(&mut self) -> io::Result<()> {
        self.started.begin()?;
        self.ended.as_ref().map_or(Ok(()), SystemEvent::begin)
    }

    fn end(&mut self) -> io::Result<Vec<Count>> {
        let started = of_tracepoint(Event::ProcessStart, &self.started, STARTED)?;
        let ended = match &self.ended {
            Ok(ended) => of_tracepoint(Event::ProcessEnd, ended, ENDED)?,
            Err(error) => Count::missing(Event::ProcessEnd, &error.why),
        };
        Ok(vec![started, ended])
    }

    fn events(&self) -> &'static [Event] {
        &EVENTS
    }
}

/// Ends counting a tracepoint.
pub fn of_tracepoint(event: Event, counter: &SystemEvent, name: &str) -> io::Result<Count> {
    let reading = counter.end()?;
    let source = format!("tracepoint {name}");
    Ok(Count { partial: reading.partial(), ..Count::new(event, reading.count, &source) })
}

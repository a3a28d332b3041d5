//! Work that may never end, because it asks something of a target and the kernel does not come back.
//!
//! A thread of its own does it and owns all that it uses. The calling thread passes its events on, and
//! supervises it: it knows from them what the work waits for ([`within`]), and times out what lasts too
//! long. The load is no such thing: threads that do I/O have a watchdog that knows each of their I/Os.

use std::fmt;
use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use fathom_sys::clock::now_ns;

use crate::measure::{Event, EventSink};
use crate::result::sentence;
use crate::storage::{Answering, Location, Served};
use crate::units::NANOS_PER_SEC;

/// How long a thread may stay away once the run is to end: whoever pressed Ctrl-C waits for it.
pub(crate) const ENDED_PATIENCE_NS: u64 = 5 * NANOS_PER_SEC;
/// How often the calling thread looks at the clock and at the wish to end: rarely enough to cost nothing.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// A look that comes later than this: the process did not run meanwhile, and neither did its work.
const LATE_NS: u64 = 500_000_000;

/// What is done that may never come back, and of whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doing {
    /// As a clause such as ``look at '/a/b'``: it is what the user reads if it does not come back.
    what: String,
    /// The server that is asked, by its name or number and its port; absent if it is the kernel of this host.
    server: Option<String>,
}

impl Doing {
    /// Something that is asked of what has a location.
    pub(crate) fn at(location: &Location, what: String) -> Self {
        Self { what, server: location.served().map(Served::server) }
    }

    /// What a server is asked for, if it is one.
    pub(crate) fn with(server: Option<String>, what: String) -> Self {
        Self { what, server }
    }

    /// Who does not come back, and since when.
    fn unfinished(&self, waited_ns: u64) -> String {
        let now = jiff::Timestamp::now();
        let since = now.saturating_sub(Duration::from_nanos(waited_ns)).unwrap_or(now);
        let since = since.strftime("%Y-%m-%dT%H:%M:%SZ");
        let (what, seconds) = (&self.what, waited_ns as f64 / NANOS_PER_SEC as f64);
        match &self.server {
            None => format!(
                "cannot {what}: the kernel has not come back from it since {since}, for {seconds:.1} s"
            ),
            Some(server) => format!(
                "cannot {what}: the server {server} answers slowly or not at all, since {since}, for \
                 {seconds:.1} s"
            ),
        }
    }

    /// What to do about it.
    fn remedy(&self) -> String {
        let who = if self.server.is_some() { Answering::Servers } else { Answering::Kernel };
        format!("{}, or wait longer with --io-timeout", who.look_at())
    }
}

impl From<String> for Doing {
    /// Something that is asked of the kernel of this host.
    fn from(what: String) -> Self {
        Self { what, server: None }
    }
}

/// Does something that may never come back, and tells so before and after.
pub fn within<T>(sink: EventSink<'_>, doing: impl Into<Doing>, work: impl FnOnce() -> T) -> T {
    sink(Event::Entered(doing.into()));
    let done = work();
    sink(Event::Left);
    done
}

/// The same with work of many steps, each of which may take long: it calls what it is given before each of
/// them, as a sign of life.
pub(crate) fn within_steps<T>(
    sink: EventSink<'_>,
    doing: impl Into<Doing>,
    work: impl FnOnce(&dyn Fn()) -> T,
) -> T {
    let doing = doing.into();
    let step = || sink(Event::Entered(doing.clone()));
    within(sink, doing.clone(), || work(&step))
}

/// Why the work was not done to its end.
#[derive(Debug)]
pub enum TimedOut {
    /// It waits for something that does not come back.
    Stuck {
        /// What it does.
        doing: Doing,
        /// For how long.
        waited_ns: u64,
        /// The file that it was filling, if any: its name, and bytes written of how many.
        unfinished: Option<(String, u64, u64)>,
    },
    /// It could not begin, as there may be no more threads.
    NoThread(io::Error),
}

impl TimedOut {
    /// What happened, and what to do about it, as clauses.
    pub fn clauses(&self) -> (String, String) {
        match self {
            Self::Stuck { doing, waited_ns, .. } => (doing.unfinished(*waited_ns), doing.remedy()),
            Self::NoThread(error) => (
                format!("cannot start the thread of the run: {error}"),
                "raise the limit of processes (ulimit -u, pids.max of the control group)"
                    .to_owned(),
            ),
        }
    }
}

impl fmt::Display for TimedOut {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, remedy) = self.clauses();
        match self {
            Self::Stuck { unfinished, .. } => {
                write!(out, "{what}. The run was ended without it: {remedy}")?;
                if let Some((name, done, total)) = unfinished {
                    write!(
                        out,
                        ". '{name}' is not complete ({done} of {total} bytes), and may be left behind"
                    )?;
                }
                Ok(())
            }
            Self::NoThread(_) => write!(out, "{what}. {}", sentence(&remedy)),
        }
    }
}

/// What the thread of the work tells.
enum Told<T> {
    Event(Event),
    Done(T),
}

/// Does work on a thread of its own, and returns what it returns. Its events go on to `sink`. Whether it is
/// to end is asked of `is_due` ten times a second, with the time by the monotonic clock; what the work is
/// given as such turns true then, and when it is given up.
///
/// What lasts longer than `limit_ns` (forever, if absent), or for 5 seconds once it is to end, is given
/// up: the thread is left alone. Should it come back, the next thing that it [enters](within) ends it.
///
/// # Errors
/// If the work was given up, or could not begin.
///
/// # Panics
/// If the work panics, with what it panicked with.
pub fn supervise<T: Send + 'static>(
    limit_ns: Option<u64>,
    is_due: &dyn Fn(u64) -> bool,
    sink: EventSink<'_>,
    work: impl FnOnce(&AtomicBool, EventSink<'_>) -> T + Send + 'static,
) -> Result<T, TimedOut> {
    let halt = Arc::new(AtomicBool::new(false));
    let (tell, told) = mpsc::channel();
    let thread = start(Arc::clone(&halt), tell, work).map_err(TimedOut::NoThread)?;
    let mut watch = Watch { limit_ns, ended_ns: None, entered: None, filling: None };
    loop {
        let looked_ns = now_ns();
        let news = told.recv_timeout(LOOK_EVERY);
        let is_late = watch.forgive(looked_ns, now_ns());
        match news {
            Ok(Told::Done(done)) => {
                joined(thread);
                return Ok(done);
            }
            Ok(Told::Event(event)) => {
                watch.follow(&event, now_ns());
                if !matches!(event, Event::Entered(_) | Event::Left) {
                    sink(event);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                joined(thread);
                unreachable!("the thread of a run ends with a word or a panic");
            }
        }
        let now_ns = now_ns();
        // A process that was stopped has its time to take note of what came meanwhile.
        if watch.ended_ns.is_none() && !is_late && is_due(now_ns) {
            watch.ended_ns = Some(now_ns);
            halt.store(true, Ordering::Relaxed);
        }
        if let Some(stuck) = watch.stuck(now_ns) {
            halt.store(true, Ordering::Relaxed);
            return Err(stuck);
        }
    }
}

fn start<T: Send + 'static>(
    halt: Arc<AtomicBool>,
    tell: mpsc::Sender<Told<T>>,
    work: impl FnOnce(&AtomicBool, EventSink<'_>) -> T + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    Builder::new().name("run".to_owned()).spawn(move || {
        let sink = |event: Event| {
            let is_entering = matches!(event, Event::Entered(_));
            if tell.send(Told::Event(event)).is_err() && is_entering {
                // Nobody supervises any more, and the run has its result without what would come now. Only
                // this thread enters anything; unwinding gives back what it holds, without a word.
                resume_unwind(Box::new("given up"));
            }
        };
        let done = work(&halt, &sink);
        // Nobody listens only if the work was given up.
        let _told = tell.send(Told::Done(done));
    })
}

/// Takes over the end of a thread: its panic is that of the caller.
fn joined(thread: JoinHandle<()>) {
    if let Err(panic) = thread.join() {
        resume_unwind(panic);
    }
}

/// What the work is about, and since when.
struct Watch {
    limit_ns: Option<u64>,
    /// When it was to end.
    ended_ns: Option<u64>,
    /// What it has entered and not left, and its last sign of life.
    entered: Option<(Doing, u64)>,
    /// The file that is being filled, and how far that has come.
    filling: Option<(String, u64, u64)>,
}

impl Watch {
    fn follow(&mut self, event: &Event, now_ns: u64) {
        match event {
            Event::Entered(doing) => self.entered = Some((doing.clone(), now_ns)),
            Event::Left => (self.entered, self.filling) = (None, None),
            // Each event is a sign of life.
            _ => self.entered.iter_mut().for_each(|(_, since_ns)| *since_ns = now_ns),
        }
        if let Event::Filling { name, done_bytes, total_bytes } = event {
            self.filling = Some((name.clone(), *done_bytes, *total_bytes));
        }
    }

    /// Leaves a time out in which this process was stopped; whether this was one.
    fn forgive(&mut self, from_ns: u64, until_ns: u64) -> bool {
        let late_ns = until_ns - from_ns;
        if late_ns >= LATE_NS
            && let Some((_, since_ns)) = &mut self.entered
        {
            *since_ns += late_ns;
        }
        late_ns >= LATE_NS
    }

    fn stuck(&mut self, now_ns: u64) -> Option<TimedOut> {
        let (doing, since_ns) = self.entered.as_ref()?;
        let waited_ns = now_ns - since_ns;
        let is_over = self.limit_ns.is_some_and(|limit_ns| waited_ns >= limit_ns);
        let since_end_ns = self.ended_ns.map(|ended_ns| now_ns - ended_ns.max(*since_ns));
        let is_due = since_end_ns.is_some_and(|since_ns| since_ns >= ENDED_PATIENCE_NS);
        (is_over || is_due).then(|| TimedOut::Stuck {
            doing: doing.clone(),
            waited_ns,
            unfinished: self.filling.take(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    const NEVER: &dyn Fn(u64) -> bool = &|_| false;
    const SHORT: Option<u64> = Some(150_000_000);

    fn look(sink: EventSink<'_>, work: impl FnOnce()) {
        within(sink, "look at 'a'".to_owned(), work);
    }

    #[test]
    fn what_ends_is_returned_after_all_of_its_events() {
        let seen = Mutex::new(Vec::new());
        let sink = |event| seen.lock().unwrap().push(event);
        let done = supervise(SHORT, NEVER, &sink, |_, sink| {
            look(sink, || sink(Event::Progress));
            sink(Event::Finished { span: 0 });
            7
        });
        assert_eq!(done.ok(), Some(7));
        // What the work enters is for the attendant alone.
        assert_eq!(*seen.lock().unwrap(), [Event::Progress, Event::Finished { span: 0 }]);
    }

    #[test]
    fn what_never_comes_back_is_timed_out_by_name_and_goes_no_further_if_it_does() {
        let (keeper, kept) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let timed_out = supervise(SHORT, NEVER, &|_| {}, move |halt, sink| {
            within(sink, "create the file 'a'".to_owned(), || {
                sink(Event::Filling { name: "a".to_owned(), done_bytes: 3, total_bytes: 9 });
                kept.recv().unwrap_err();
            });
            tell.send("came back").unwrap();
            assert!(halt.load(Ordering::Relaxed));
            look(sink, || tell.send("went on").unwrap());
        });
        let words = timed_out.unwrap_err().to_string();
        for part in ["cannot create the file 'a': ", "since 2", "--io-timeout", "3 of 9 bytes"] {
            assert!(words.contains(part), "{words}");
        }
        drop(keeper);
        assert_eq!(told.iter().collect::<Vec<_>>(), ["came back"]);
    }

    /// An NBD server that took 5 s for each answer, and one was sent to the kernel's log.
    #[test]
    fn a_server_that_does_not_answer_was_taken_for_this_kernel() {
        let location = Location::named("nbd://[::1]:10810/it", Duration::from_secs(1));
        let doing = Doing::at(&location, "look at 'it'".to_owned());
        let stuck = TimedOut::Stuck { doing, waited_ns: 12 * NANOS_PER_SEC, unfinished: None };
        let words = stuck.to_string();
        let server = if cfg!(feature = "net") { "server [::1]:10810" } else { "server nbd://" };
        for part in ["cannot look at 'it': ", server, "for 12.0 s", "its log", "--io-timeout"] {
            assert!(words.contains(part), "{words}");
        }
        assert!(!words.contains("kernel"), "{words}");
    }

    #[test]
    fn a_wish_to_end_is_passed_on_even_though_nothing_happens() {
        let done = supervise(None, &|_| true, &|_| {}, |halt, _| {
            while !halt.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            true
        });
        assert!(done.is_ok_and(|done| done));
    }

    #[test]
    #[should_panic(expected = "an invariant of ours")]
    fn a_panic_of_the_work_is_that_of_the_caller() {
        let _never = supervise(None, NEVER, &|_| {}, |_, sink| {
            look(sink, || panic!("an invariant of ours"));
        });
    }

    #[test]
    fn patience_begins_again_with_each_sign_of_life_and_ends_soon_after_the_wish() {
        let at = |seconds: u64| 1 + seconds * NANOS_PER_SEC;
        let limit_ns = Some(100 * NANOS_PER_SEC);
        let mut watch = Watch { limit_ns, ended_ns: None, entered: None, filling: None };
        assert!(watch.stuck(at(1_000)).is_none(), "it is not in anything");
        watch.follow(&Event::Entered("look".to_owned().into()), at(0));
        assert!(watch.stuck(at(99)).is_none());
        watch.follow(&Event::Progress, at(50));
        assert!(watch.stuck(at(149)).is_none());
        assert!(watch.stuck(at(150)).is_some());
        watch.ended_ns = Some(at(110));
        assert!(watch.stuck(at(114)).is_none());
        assert!(watch.stuck(at(115)).is_some());
        // What begins after the wish has its time, too.
        watch.follow(&Event::Entered("remove".to_owned().into()), at(120));
        assert!(watch.stuck(at(124)).is_none());
        assert!(watch.stuck(at(125)).is_some());
        watch.limit_ns = None;
        assert!(watch.stuck(at(1_000)).is_some(), "a wish to end needs no limit");
        watch.ended_ns = None;
        assert!(watch.stuck(at(1_000)).is_none(), "0 waits forever");
        watch.follow(&Event::Left, at(1_000));
        assert!(watch.stuck(at(9_000)).is_none());
    }

    #[test]
    fn a_time_in_which_the_process_was_stopped_does_not_count() {
        let at = |seconds: u64| 1 + seconds * NANOS_PER_SEC;
        let limit_ns = Some(10 * NANOS_PER_SEC);
        let mut watch = Watch { limit_ns, ended_ns: None, entered: None, filling: None };
        watch.forgive(at(0), at(1));
        watch.follow(&Event::Entered("look".to_owned().into()), at(1));
        watch.forgive(at(1), at(1) + LATE_NS - 1);
        watch.forgive(at(2), at(62));
        assert!(watch.stuck(at(70)).is_none());
        assert!(watch.stuck(at(71)).is_some());
    }
}

//! Counts of kernel events of the whole system between two instants.
//!
//! Most counts are differences of counters that the kernel keeps anyway and shows to everybody under
//! `/proc`: they cost nothing and need no privilege. Only what it does not keep there comes from perf
//! events, which need a privilege. Each count says where it comes from.

mod disks;
mod faults;
mod images;
mod network;
mod perf;
mod processes;
#[cfg(test)]
mod tests;
mod threads;
mod tracefs;

use std::fmt;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use super::clock;

/// Events that are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Start and end of processes.
    Process,
    /// Start and end of threads.
    Thread,
    /// Files that are mapped for execution.
    ImageLoad,
    /// Reads and writes of disks.
    DiskIo,
    /// All page faults.
    PageFaults,
    /// Page faults that needed I/O.
    HardFaults,
    /// TCP and UDP.
    Network,
}

impl Group {
    fn open(self) -> Result<Box<dyn Source>, TraceError> {
        Ok(match self {
            Self::Process => Box::new(processes::Processes::open()?),
            Self::Thread => Box::new(threads::Threads::open()?),
            Self::ImageLoad => Box::new(images::Images::open()?),
            Self::DiskIo => Box::new(disks::Disks::open()?),
            Self::PageFaults => Box::new(faults::Faults::open(true)?),
            Self::HardFaults => Box::new(faults::Faults::open(false)?),
            Self::Network => Box::new(network::Network::open()?),
        })
    }
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// A process started.
    ProcessStart,
    /// The last thread of a process ended.
    ProcessEnd,
    /// A thread started, the first one of a process included.
    ThreadStart,
    /// A thread ended.
    ThreadEnd,
    /// A file was mapped for execution.
    ImageLoad,
    /// A disk completed a read.
    DiskRead,
    /// A disk completed a write.
    DiskWrite,
    /// A page fault copied a page that was shared until then.
    CopyOnWriteFault,
    /// A page fault gave a process a new page of zeros.
    DemandZeroFault,
    /// A page fault hit a guard page.
    GuardPageFault,
    /// A page fault waited for I/O.
    HardFault,
    /// A page fault found its page in memory.
    TransitionFault,
    /// A page fault needed no I/O, for whichever of these reasons.
    SoftFault,
    /// A TCP connection was accepted.
    TcpAccept,
    /// A TCP connection was opened from here.
    TcpConnect,
    /// A TCP connection that was established ended, on either side.
    TcpDisconnect,
    /// A TCP connection was opened again.
    TcpReconnect,
    /// A TCP segment was sent again.
    TcpRetransmit,
    /// A TCP segment was sent.
    TcpSend,
    /// A TCP segment was received.
    TcpReceive,
    /// A UDP datagram was sent.
    UdpSend,
    /// A UDP datagram was received.
    UdpReceive,
}

/// The clock that stamps the beginning and the end of the counting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Clock {
    /// The monotonic clock, in nanoseconds.
    #[default]
    Monotonic,
    /// The monotonic clock as of the last timer interrupt, in nanoseconds.
    Coarse,
    /// The processor's cycle counter, in its own ticks.
    Cycles,
}

impl Clock {
    /// The clock's time.
    #[must_use]
    pub fn now(self) -> u64 {
        match self {
            Self::Monotonic => clock::now_ns(),
            Self::Coarse => clock::coarse_ns(),
            Self::Cycles => clock::cycles(),
        }
    }
}

/// What is to be counted, and by which clock the time is given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// The groups, each once.
    pub groups: Vec<Group>,
    /// The clock.
    pub clock: Clock,
}

/// What was counted between two instants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// The clock that told the time.
    pub clock: Clock,
    /// The time between the instants, in the clock's unit: nanoseconds or cycles.
    pub ticks: u64,
    /// One entry per event of the groups.
    pub counts: Vec<Count>,
}

/// How often one event happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    /// The event.
    pub event: Event,
    /// How often; absent if it cannot be told.
    pub count: Option<u64>,
    /// Where the count comes from, or why there is none.
    pub source: String,
    /// Why there may have been more of them than were counted; absent if all were.
    pub partial: Option<String>,
}

impl Count {
    fn new(event: Event, count: u64, source: &str) -> Self {
        Self { event, count: Some(count), source: source.to_owned(), partial: None }
    }

    fn missing(event: Event, why: impl Into<String>) -> Self {
        Self { event, count: None, source: why.into(), partial: None }
    }
}

/// Why a group cannot be counted here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceError {
    /// What is in the way.
    pub why: String,
    /// What to do about it.
    pub remedy: String,
}

impl fmt::Display for TraceError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}; {}", self.why, self.remedy)
    }
}

impl std::error::Error for TraceError {}

impl TraceError {
    /// A counter under `/proc` that cannot be read.
    fn unreadable(path: &str, error: &io::Error) -> Self {
        Self {
            why: format!("{path} cannot be read: {error}"),
            remedy: "use a system that shows it, or leave this group out".to_owned(),
        }
    }
}

/// Something that counts. Nothing is counted before `begin` and after `end`.
trait Source: Send {
    fn begin(&mut self) -> io::Result<()>;
    /// Takes in what has come up so far, for sources that keep it only for a while.
    fn look(&mut self) {}
    fn end(&mut self) -> io::Result<Vec<Count>>;
    /// What it counts, in case that it fails.
    fn events(&self) -> &'static [Event];
}

/// The descriptor that a system call of this module has just given, or its error.
fn owned(result: libc::c_long) -> io::Result<OwnedFd> {
    match libc::c_int::try_from(result) {
        // SAFETY: the kernel has just given this descriptor to the caller: nobody else owns it.
        Ok(descriptor) if descriptor >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether a group can be counted by this process, which is found out by trying.
///
/// # Errors
/// What is in the way.
pub fn probe(group: Group) -> Result<(), TraceError> {
    group.open().map(drop)
}

/// Counters that are set up, so that beginning and ending take no time.
pub struct Session {
    sources: Vec<(Box<dyn Source>, Option<io::Error>)>,
    clock: Clock,
    began: u64,
}

impl fmt::Debug for Session {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Session").field("clock", &self.clock).finish_non_exhaustive()
    }
}

impl Session {
    /// Sets up the counters of all groups.
    ///
    /// # Errors
    /// The first group that cannot be counted.
    pub fn open(request: &Request) -> Result<Self, TraceError> {
        let open = |group: &Group| Ok((group.open()?, None));
        let sources = request.groups.iter().map(open).collect::<Result<_, _>>()?;
        Ok(Self { sources, clock: request.clock, began: 0 })
    }

    /// Begins to count. A source that fails is reported by [`Session::end`].
    pub fn begin(&mut self) {
        for (source, failure) in &mut self.sources {
            *failure = source.begin().err();
        }
        self.began = self.clock.now();
    }

    /// Takes in what has come up so far; to be called every few milliseconds.
    pub fn look(&mut self) {
        self.sources.iter_mut().for_each(|(source, _)| source.look());
    }

    /// Ends counting, and tells what was counted.
    pub fn end(&mut self) -> Counted {
        let ticks = self.clock.now().saturating_sub(self.began);
        let mut counts = Vec::new();
        for (source, failure) in &mut self.sources {
            let counted = source.end().and_then(|counts| match failure.take() {
                None => Ok(counts),
                Some(error) => Err(error),
            });
            counts.extend(counted.unwrap_or_else(|error| failed(source.events(), &error)));
        }
        Counted { clock: self.clock, ticks, counts }
    }
}

fn failed(events: &[Event], error: &io::Error) -> Vec<Count> {
    let why = format!("the counters failed: {error}");
    let missing = |&event| Count { partial: Some(why.clone()), ..Count::missing(event, &why) };
    events.iter().map(missing).collect()
}

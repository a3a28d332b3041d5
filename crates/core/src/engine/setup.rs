//! Setting a thread up: opening its targets, laying out its slots, making its backend.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use fathom_sys::aio::Aio;
use fathom_sys::buffers::{Buffers, PageKind};
use fathom_sys::file::{Advice, OpenFlags, TargetFile};
use fathom_sys::mapping::Mapping;
use fathom_sys::ring::{Ring, RingError, RingOptions, SubmissionThread};
use fathom_sys::space::is_served;
use fathom_sys::thread::{
    IoPriority, own_open_files, pin_to_cpu, set_io_priority, use_precise_timers,
};
use fathom_sys::transfer::Resources;
use thiserror::Error;

#[cfg(feature = "net")]
use super::backend::RemoteTarget;
use super::backend::{MappedTarget, TunedRing, UringBackend, Workers};
use super::payload::fill_source;
use super::random::Random;
use crate::errors::{Failure, Kind};
use crate::guard::Checked;
use crate::measure::EventSink;
#[cfg(feature = "net")]
use crate::network;
use crate::plan::{EngineKind, PayloadPlan, SpanPlan, TargetPlan, ThreadPlan};
use crate::request::Priority;
use crate::supervise::within;

/// Why a thread could not be set up. Each message names the target or the resource.
#[derive(Debug, Error)]
pub enum SetupError {
    /// A target could not be opened.
    #[error("cannot open '{name}' {how}: {source}{}", open_hint(how, .source))]
    Open {
        /// Name of the target.
        name: String,
        /// How it was to be opened.
        how: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A target could not be mapped.
    #[error("cannot map {bytes} bytes of '{name}': {source}")]
    Map {
        /// Name of the target.
        name: String,
        /// Length of the mapping.
        bytes: u64,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A target cannot give blocks back.
    #[error(
        "cannot make holes in '{name}', as --trim asks: {source}. Leave --trim out, or name a file on \
         another file system"
    )]
    Trim {
        /// Name of the target.
        name: String,
        /// The file system's answer.
        source: io::Error,
    },
    /// Too little memory for the buffers.
    #[error("cannot allocate {bytes} bytes of I/O buffers: {source}{hint}")]
    Buffers {
        /// Their size.
        bytes: u64,
        /// The kernel's answer.
        source: io::Error,
        /// What to do, with a leading separator; empty if there is nothing special to do.
        hint: &'static str,
    },
    /// The file that fills the write buffer could not be used.
    #[error("cannot fill the write buffer of '{name}': {source}")]
    Source {
        /// Name of the target.
        name: String,
        /// What happened.
        source: io::Error,
    },
    /// The thread could not be pinned.
    #[error("cannot run thread {thread} on CPU {cpu}: {source}")]
    Pin {
        /// The thread.
        thread: usize,
        /// The kernel's number of the CPU.
        cpu: usize,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A target does not answer where completions are polled.
    #[error(
        "'{name}' does not complete I/O by polling ({source}); leave --polled out, or use a device \
         whose driver has queues for it"
    )]
    Polled {
        /// Name of the target.
        name: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The I/O priority was refused.
    #[error("cannot set the I/O priority: {0}; leave -I out, or allow the system call ioprio_set")]
    Priority(io::Error),
    /// The ring could not be made.
    #[error("{0}{hint}", hint = ring_hint(.0))]
    Ring(#[from] RingError),
    /// The native asynchronous I/O context could not be made.
    #[error(transparent)]
    Aio(#[from] fathom_sys::aio::AioError),
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        let words = error.to_string();
        match &error {
            SetupError::Open { source, .. }
            | SetupError::Map { source, .. }
            | SetupError::Trim { source, .. }
            | SetupError::Buffers { source, .. }
            | SetupError::Source { source, .. }
            | SetupError::Pin { source, .. }
            | SetupError::Polled { source, .. }
            | SetupError::Priority(source)
            | SetupError::Ring(RingError::Setup { source, .. }) => Self::of(source, words),
            SetupError::Ring(_) | SetupError::Aio(_) => Self::new(Kind::Unsupported, words),
        }
    }
}

/// What to do, with a leading separator, where the kernel's answer does not tell. The soft limit of open
/// files has been raised to the hard one by then.
fn hint(error: &io::Error) -> &'static str {
    // The same on every architecture of Linux (asm-generic/errno-base.h).
    match error.raw_os_error() {
        Some(13) => "; use an account that may, or name another target",
        Some(24) => {
            ". Each thread opens each of its targets: raise the hard limit (ulimit -Hn), or use fewer \
             threads"
        }
        _ => "",
    }
}

/// File systems that cannot bypass the page cache refuse it only when a file is opened, unless they say so.
fn open_hint(how: &str, error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::InvalidInput && how.ends_with(PAST_THE_CACHE) {
        return "; its file system cannot bypass the page cache: leave -Su and -Sh out, or name \
                another target";
    }
    hint(error)
}

fn ring_hint(error: &RingError) -> &'static str {
    match error {
        RingError::Setup { source, .. } => hint(source),
        RingError::Unavailable(_) | RingError::Choice { .. } => "",
    }
}

/// The source buffer of each target that is written; `None` for the others.
pub type Sources = Vec<Option<Arc<Buffers>>>;

/// Makes and fills the source buffer of each target that is written. What may hang is reported to `sink`.
pub fn make_sources(
    plan: &SpanPlan,
    is_stamped: bool,
    sink: EventSink<'_>,
) -> Result<Sources, SetupError> {
    let make = |(index, target): (_, &TargetPlan)| {
        let mut source = make_source(index, target, sink)?;
        if let (true, Some(buffers)) = (is_stamped, &mut source) {
            turn(&target.payload, buffers.slot_mut(0));
        }
        Ok(source.map(Arc::new))
    };
    (0..).zip(&plan.targets).map(make).collect()
}

/// Beneath a stamp the counting pattern begins in its middle: somebody's bytes over the stamp would else make
/// the sector one that merely counts.
fn turn(payload: &PayloadPlan, bytes: &mut [u8]) {
    if *payload == PayloadPlan::CountingPattern {
        for byte in bytes {
            *byte ^= 0x80;
        }
    }
}

fn make_source(
    index: usize,
    target: &TargetPlan,
    sink: EventSink<'_>,
) -> Result<Option<Buffers>, SetupError> {
    let bytes = match &target.payload {
        _ if target.write_percent == 0 => return Ok(None),
        PayloadPlan::FreshRandom | PayloadPlan::Reduced(_) => return Ok(None),
        PayloadPlan::CountingPattern | PayloadPlan::Zero => u64::from(target.block_bytes),
        PayloadPlan::Buffer { bytes, .. } => *bytes,
    };
    let pages = if target.huge_pages { PageKind::Huge } else { PageKind::Normal };
    let mut source = allocate(&[to_usize(bytes)], pages, 0)?;
    let mut random = Random::new(index as u64);
    let doing = |path: &Path| format!("read '{}'", path.display());
    let read = |path: &Path| within(sink, doing(path), || read_head(path, bytes));
    fill_source(&target.payload, source.slot_mut(0), read, &mut random)
        .map_err(|source| SetupError::Source { name: target.name.clone(), source })?;
    Ok(Some(source))
}

/// The first `bytes` of a file, so that a huge one costs no more memory than its buffer.
fn read_head(path: &Path, bytes: u64) -> io::Result<Vec<u8>> {
    let mut contents = Vec::new();
    std::fs::File::open(path)?.take(bytes).read_to_end(&mut contents)?;
    Ok(contents)
}

fn to_usize(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

fn allocate(
    slot_bytes: &[usize],
    pages: PageKind,
    separation_bytes: usize,
) -> Result<Buffers, SetupError> {
    Buffers::separated(slot_bytes, pages, separation_bytes).map_err(|source| SetupError::Buffers {
        bytes: slot_bytes.iter().map(|&bytes| bytes as u64).sum(),
        source,
        hint: match pages {
            PageKind::Huge => {
                ". Reserve huge pages first, for instance with sysctl vm.nr_hugepages=512"
            }
            _ if separation_bytes > 0 => ". With -bsn the buffers need fewer addresses",
            _ => "",
        },
    })
}

/// How the slots of a thread are laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotLayout {
    /// Buffer size of each slot.
    pub slot_bytes: Vec<usize>,
    /// First slot and number of slots of each assignment; all are (0, all) when slots are shared.
    pub ranges: Vec<(u32, u32)>,
}

impl SlotLayout {
    /// The layout of a thread's plan.
    #[must_use]
    pub fn new(span: &SpanPlan, thread: &ThreadPlan) -> Self {
        let block = |target: usize| span.targets[target].block_bytes as usize;
        if span.shared_outstanding > 0 {
            let largest =
                thread.assignments.iter().map(|assignment| block(assignment.target)).max();
            let count = span.shared_outstanding;
            return Self {
                slot_bytes: vec![largest.unwrap_or(0); count as usize],
                ranges: vec![(0, count); thread.assignments.len()],
            };
        }
        let mut layout = Self { slot_bytes: Vec::new(), ranges: Vec::new() };
        let mut next = 0;
        for assignment in &thread.assignments {
            let bytes = block(assignment.target);
            layout.slot_bytes.extend(std::iter::repeat_n(bytes, assignment.outstanding as usize));
            layout.ranges.push((next, assignment.outstanding));
            next += assignment.outstanding;
        }
        layout
    }
}

/// Pins the thread, and sets its I/O priority and its timers.
pub fn prepare_thread(span: &SpanPlan, thread: &ThreadPlan) -> Result<(), SetupError> {
    use_precise_timers();
    if thread.engine == EngineKind::Sync {
        // A sandbox may refuse; then each I/O costs a little more.
        own_open_files();
    }
    if let Some(pin) = thread.cpu {
        pin_to_cpu(pin.os_id).map_err(|source| SetupError::Pin {
            thread: thread.index,
            cpu: pin.os_id,
            source,
        })?;
    }
    let first =
        thread.assignments.first().map(|assignment| span.targets[assignment.target].priority);
    let priority = match first.unwrap_or_default() {
        Priority::Normal => return Ok(()),
        Priority::Low => IoPriority::BestEffort(7),
        Priority::VeryLow => IoPriority::Idle,
    };
    set_io_priority(priority).map_err(SetupError::Priority)
}

fn flags(target: &TargetPlan) -> OpenFlags {
    OpenFlags {
        write: target.open.write,
        direct: target.open.direct && !target.open.mapped,
        write_through: target.open.write_through,
    }
}

/// Ends what is said of a target that is opened so.
const PAST_THE_CACHE: &str = "past the page cache";

/// Opens one target as its plan says. What is to be written must be what was checked.
pub fn open(target: &TargetPlan, checked: &Checked) -> Result<TargetFile, SetupError> {
    let how = match (target.open.write, target.open.direct) {
        (false, false) => "for reading",
        (false, true) => "for reading past the page cache",
        (true, false) => "for writing",
        (true, true) => "for writing past the page cache",
    };
    let wrap = |source| SetupError::Open { name: target.name.clone(), how, source };
    let checked = if target.open.write { checked.held(target.path()).map_err(wrap)? } else { None };
    let held = checked.as_deref();
    let file = TargetFile::open_as_held(held, target.path(), flags(target)).map_err(wrap)?;
    for advice in advices(target) {
        file.advise(advice).map_err(wrap)?;
    }
    if target.mix.as_ref().is_some_and(|mix| mix.trim_percent > 0) {
        file.check_trim()
            .map_err(|source| SetupError::Trim { name: target.name.clone(), source })?;
    }
    Ok(file)
}

fn advices(target: &TargetPlan) -> impl Iterator<Item = Advice> {
    let hints = target.open.hints;
    let all = [
        (hints.random, Advice::Random),
        (hints.sequential, Advice::Sequential),
        (hints.temporary, Advice::NoReuse),
    ];
    all.into_iter().filter(|(wanted, _)| *wanted).map(|(_, advice)| advice)
}

/// Few threads have a huge page each, however small their buffers are; for many that would be much memory.
/// A ring takes hold of its buffers once, and the whole page would count as locked memory.
fn page_kind(span: &SpanPlan, thread: &ThreadPlan, engine: EngineKind) -> PageKind {
    const FEW: usize = 16;
    if thread.assignments.iter().any(|assignment| span.targets[assignment.target].huge_pages) {
        PageKind::Huge
    } else if matches!(engine, EngineKind::Sync | EngineKind::Aio)
        && span.threads.len() <= FEW
        && thread.tuning.buffer_separation_bytes > 0
    {
        PageKind::Whole
    } else {
        PageKind::Normal
    }
}

/// The buffers and sources of a thread for a way to the kernel, with its open targets unless the backend
/// opens its own.
pub fn resources(
    span: &SpanPlan,
    (thread, engine): (&ThreadPlan, EngineKind),
    layout: &SlotLayout,
    sources: &Sources,
    files: Vec<TargetFile>,
) -> Result<Resources, SetupError> {
    let separation_bytes = to_usize(thread.tuning.buffer_separation_bytes);
    let buffers = allocate(&layout.slot_bytes, page_kind(span, thread, engine), separation_bytes)?;
    let sources =
        thread.assignments.iter().map(|assignment| sources[assignment.target].clone()).collect();
    Ok(Resources { files, buffers, sources })
}

/// The targets of a thread, open, one per assignment.
pub fn open_all(
    span: &SpanPlan,
    thread: &ThreadPlan,
    checked: &Checked,
) -> Result<Vec<TargetFile>, SetupError> {
    thread
        .assignments
        .iter()
        .map(|assignment| open(&span.targets[assignment.target], checked))
        .collect()
}

/// The connections of a thread to its targets, one entry per assignment.
#[cfg(feature = "net")]
pub fn connect_all(span: &SpanPlan, thread: &ThreadPlan) -> Result<Vec<RemoteTarget>, Failure> {
    let connect = |assignment: &crate::plan::Assignment| {
        let target = &span.targets[assignment.target];
        let served = target.location.served();
        let remote = served.map(|served| Arc::clone(&served.plan)).unwrap_or_default();
        let opening = fathom_net::Opening {
            is_unbuffered: remote.is_unbuffered,
            is_write_through: target.open.write_through,
        };
        let connections = (0..remote.connections.max(1)).map(|_| {
            let times = (remote.timeout, remote.reconnect);
            let check = |made: fathom_net::Connection| as_looked_at(target, &remote, made);
            let made = network::connect_lasting(target.path(), times, opening, check);
            made.map_err(|why| {
                if why.kind == Kind::Gone {
                    return why;
                }
                let message = format!("cannot connect to '{}': {why}", target.name);
                Failure { message, ..why }
            })
        });
        let is_through = target.open.write_through;
        Ok(RemoteTarget::new(connections.collect::<Result<_, Failure>>()?, is_through))
    };
    thread.assignments.iter().map(connect).collect()
}

/// A connection, if it leads to what was looked at and granted.
#[cfg(feature = "net")]
fn as_looked_at(
    target: &TargetPlan,
    remote: &network::RemotePlan,
    made: fathom_net::Connection,
) -> Result<fathom_net::Connection, Failure> {
    let (now, then) = (made.facts(), &remote.facts);
    if (now.size_bytes, &now.serial) == (target.size_bytes, &then.serial) {
        return Ok(made);
    }
    let words = format!(
        "'{}' is another one than it was when the run began (it had {} bytes, and has {} now): run it again",
        target.name, target.size_bytes, now.size_bytes
    );
    Err(Failure::new(Kind::Gone, words))
}

/// The targets of a thread, mapped, one per assignment.
pub fn map_all(
    span: &SpanPlan,
    thread: &ThreadPlan,
    checked: &Checked,
) -> Result<Vec<MappedTarget>, SetupError> {
    let map = |target: &TargetPlan| {
        let file = open(target, checked)?;
        let bytes = target.offsets.end_bytes;
        let wrap = |source| SetupError::Map { name: target.name.clone(), bytes, source };
        let mapping = Mapping::new(&file, bytes, target.open.write).map_err(wrap)?;
        for advice in advices(target) {
            mapping.advise(advice).map_err(wrap)?;
        }
        // Write-through has no other meaning for a store: DiskSpd too takes non-temporal ones.
        let streams = target.open.write && target.open.write_through;
        let mapping = if streams { mapping.with_non_temporal_stores() } else { mapping };
        Ok(MappedTarget { file, mapping, flush: target.open.flush })
    };
    thread.assignments.iter().map(|assignment| map(&span.targets[assignment.target])).collect()
}

/// A ring over the resources, with the kernel's workers as told where there are any.
pub fn ring(
    thread: &ThreadPlan,
    resources: Resources,
    workers: Workers,
) -> Result<UringBackend, SetupError> {
    let served_by_workers = !resources.files.iter().all(TargetFile::takes_nowait);
    let waits = needs_workers(&resources);
    let slots = resources.buffers.len();
    let unregistered_buffers = !thread.registers_buffers;
    let options = RingOptions { unregistered_buffers, ..RingOptions::default() };
    let mut ring = Ring::with_options(resources, options)?;
    if waits {
        ring.leave_to_workers();
    }
    if !served_by_workers {
        return Ok(UringBackend::new(ring));
    }
    let own: Vec<usize> = thread.cpu.iter().map(|pin| pin.os_id).collect();
    let cpus = if workers == Workers::Beside { &own } else { &thread.worker_cpus };
    let are_placed = !cpus.is_empty() && ring.place_workers(cpus);
    let shares_cpu = !are_placed || thread.cpu.is_some_and(|pin| cpus.contains(&pin.os_id));
    let batch = if shares_cpu && !is_paced(thread) { batch(slots) } else { 1 };
    let words = if shares_cpu { "" } else { " on idle CPUs" };
    Ok(UringBackend::new(ring).with_workers(format!("served by kernel workers{words}"), batch))
}

/// Whether a ring would wait for the I/O of any target within the call that hands it over although others
/// are to be in flight meanwhile. One I/O at a time is better waited for: a worker would only add its waking.
fn needs_workers(resources: &Resources) -> bool {
    // A server that does not even tell what its file system is called is one, too.
    let is_waited_for =
        |file: &TargetFile| !file.takes_nowait() && is_served(file.as_std()).unwrap_or(true);
    resources.buffers.len() > 1 && resources.files.iter().any(is_waited_for)
}

/// Whether a thread's I/Os have a schedule.
pub fn is_paced(thread: &ThreadPlan) -> bool {
    thread
        .assignments
        .iter()
        .any(|assignment| assignment.pace.is_some() || assignment.burst.is_some())
}

/// Completions to wait for where the kernel serves the I/O on the thread's own CPU. A wait for each of
/// them would cost two switches between the threads, and so delay all the others more than it saves.
fn batch(slots: usize) -> usize {
    const LARGEST: usize = 32;
    (slots / 2).clamp(1, LARGEST)
}

/// A ring that is used as the thread's plan says; where completions are polled, each target has
/// answered one read.
pub fn tuned_ring(
    span: &SpanPlan,
    thread: &ThreadPlan,
    resources: Resources,
) -> Result<TunedRing, SetupError> {
    let tuning = &thread.tuning;
    let options = RingOptions {
        unregistered_buffers: tuning.unregistered_buffers || !thread.registers_buffers,
        polled: tuning.polled,
        submission_thread: tuning.submission_thread.map(|one| SubmissionThread { cpu: one.cpu }),
    };
    let waits = needs_workers(&resources);
    let mut ring = Ring::with_options(resources, options)?;
    if waits {
        ring.leave_to_workers();
    }
    if !thread.worker_cpus.is_empty() {
        ring.place_workers(&thread.worker_cpus);
    }
    if tuning.polled {
        for (file, assignment) in (0..).zip(&thread.assignments) {
            let target = &span.targets[assignment.target];
            ring.try_read(file, target.sector_bytes)
                .map_err(|source| SetupError::Polled { name: target.name.clone(), source })?;
        }
    }
    Ok(TunedRing::new(ring, tuning))
}

/// A native asynchronous I/O context over the resources.
pub fn aio(thread: &ThreadPlan, resources: Resources) -> Result<Aio, SetupError> {
    let mut aio = Aio::new(resources)?;
    if let Some(depth) = thread.tuning.completion_depth {
        aio.take_at_most(depth as usize);
    }
    Ok(aio)
}

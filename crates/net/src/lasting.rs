//! A connection that is made again when it is lost, as an initiator's or a mount's is: what was in flight
//! waits meanwhile, and is then sent again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::Duration;

use fathom_sys::clock::now_ns;
use fathom_sys::socket::{Interest, TcpInfo};

use crate::address::Address;
use crate::connection::{Connection, Done, Request, Slots};
use crate::facts::Facts;
use crate::fault::{Fault, FaultKind};
use crate::settings::Settings;
use crate::stream::Deadline;

/// The first pause between two attempts; each is twice the one before, up to the longest. A server that takes
/// a connection only to end it is so knocked at a hundred times a second at most.
const PAUSE_MIN: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_millis(200);
/// The longest time for the handshake of one attempt, and for all of it. The kernel repeats a first segment
/// after 1 s, then after 2 s and more: a host that has just come back would wait for that.
const HANDSHAKE: Duration = Duration::from_secs(2);
const ATTEMPT: Duration = Duration::from_secs(10);
/// The kernel looks so often whether the server's host is there.
const PROBE_EVERY_S: u16 = 1;
const PROBES: u16 = 5;
/// A host from which nothing comes for so long, not even acknowledgements, is gone. What was sent and not
/// acknowledged stops the kernel's own probes, and would be sent again for a quarter of an hour.
const SILENCE_MS: u32 = 6000;
/// Silence from which on a connection was lost before that was noticed: longer than from probe to probe.
const SILENCE_MS_MIN: u32 = 1500;

/// How a connection is made again.
#[derive(Debug, Clone)]
pub struct Again {
    /// Where it leads.
    pub address: Address,
    /// How it was made.
    pub settings: Settings,
    /// The longest time from the loss on.
    pub within: Duration,
}

/// The engine's buffers, and what was submitted with them.
pub trait Requests: Slots {
    /// The I/O in flight that has this tag.
    fn request(&self, tag: u32) -> Request;
}

/// How often a connection was lost, and for how long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Losses {
    /// How often it was made again.
    pub made_again: u32,
    /// From each loss until it was made again, or until now, in nanoseconds. A silent host was lost when
    /// the last came from it.
    pub away_ns: u64,
    /// Segments that those which were lost had sent again.
    pub retransmits: u32,
}

/// One connection to one target, and what makes it again.
#[derive(Debug)]
pub struct Lasting {
    connection: Connection,
    again: Option<Box<Again>>,
    attempt: Option<Attempt>,
    /// What was in flight when the connection was lost, and what came since.
    waiting: Vec<Request>,
    losses: Losses,
}

/// What an attempt came to, and when that was.
type Made = (Result<Connection, Fault>, u64);

/// A connection that is being made by a thread of its own, which ends with it.
#[derive(Debug)]
struct Attempt {
    why: Fault,
    since_ns: u64,
    made: Receiver<Made>,
    is_wanted: Arc<AtomicBool>,
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.is_wanted.store(false, Ordering::Relaxed);
    }
}

impl Lasting {
    /// A connection, which is made again as told, or never.
    ///
    /// # Errors
    /// If the kernel does not watch it.
    pub fn new(connection: Connection, again: Option<Again>) -> Result<Self, Fault> {
        if again.is_some() {
            connection.keep_alive(PROBE_EVERY_S, PROBES)?;
        }
        let (again, losses) = (again.map(Box::new), Losses::default());
        Ok(Self { connection, again, attempt: None, waiting: Vec::new(), losses })
    }

    /// What the server said of the target.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        self.connection.facts()
    }

    /// Queues an I/O, as [`Connection::submit`] does; it waits while the connection is made again.
    #[inline]
    pub fn submit(&mut self, request: Request) {
        if self.attempt.is_some() {
            self.waiting.push(request);
        } else {
            self.connection.submit(request);
        }
    }

    /// Sends what there is room for, takes what is there, and appends what has completed. Where the
    /// connection is lost and is made again, what was in flight does not complete, and is sent again
    /// later.
    #[inline]
    pub fn advance(&mut self, slots: &mut impl Requests, done: &mut Vec<Done>) {
        if self.attempt.is_some() && !self.take_what_was_made(done) {
            return;
        }
        if self.again.is_none() {
            self.connection.advance(slots, done);
        } else if let Err(fault) = self.connection.exchange(slots, done) {
            self.lose(fault, slots, done);
        }
    }

    /// Takes a host for lost that is silent while I/Os wait for it.
    pub fn look(&mut self, slots: &mut impl Requests, done: &mut Vec<Done>) {
        if self.again.is_none() || self.attempt.is_some() || self.connection.in_flight() == 0 {
            return;
        }
        let silent_ms = self.connection.tcp_info().map_or(0, |info| info.silent_ms);
        if silent_ms >= SILENCE_MS {
            let seconds = SILENCE_MS / 1000;
            let text = format!("nothing has come from the server's host for {seconds} s");
            self.lose(Fault::new(FaultKind::TimedOut, text), slots, done);
        }
    }

    #[cold]
    fn lose(&mut self, fault: Fault, slots: &mut impl Requests, done: &mut Vec<Done>) {
        let is_of_the_way = matches!(
            fault.kind,
            FaultKind::Disconnected | FaultKind::TimedOut | FaultKind::Unreachable
        );
        let again =
            self.again.clone().filter(|_| is_of_the_way && self.connection.lost().is_none());
        let Some(mut again) = again else {
            self.connection.lose(fault);
            self.connection.advance(slots, done);
            return;
        };
        let info = self.connection.tcp_info().unwrap_or_default();
        let (retransmits, silent_ms) = (info.retransmits, info.silent_ms);
        self.losses.retransmits = self.losses.retransmits.saturating_add(retransmits);
        again.settings.session = self.connection.session();
        let in_flight = self.connection.abandon();
        self.waiting.extend(in_flight.iter().map(|one| slots.request(one.tag)));
        let mut attempt = Attempt::begin(*again, self.connection.facts().clone(), fault);
        if silent_ms >= SILENCE_MS_MIN {
            attempt.since_ns -= u64::from(silent_ms) * 1_000_000;
        }
        self.attempt = Some(attempt);
    }

    /// Goes on with a connection that was made again, or fails what waits for it; false if it is too early.
    #[cold]
    fn take_what_was_made(&mut self, done: &mut Vec<Done>) -> bool {
        let Some(attempt) = &self.attempt else { return true };
        let (made, at_ns) = match attempt.made.try_recv() {
            Ok(made) => made,
            Err(TryRecvError::Empty) => return false,
            Err(TryRecvError::Disconnected) => {
                let text = format!("{}, and no thread could be had to make it again", attempt.why);
                (Err(Fault::new(FaultKind::Limit, text)), now_ns())
            }
        };
        self.losses.away_ns += at_ns.saturating_sub(attempt.since_ns);
        let kind = attempt.why.kind;
        self.attempt = None;
        let waiting = std::mem::take(&mut self.waiting);
        match made {
            Ok(mut connection) => {
                connection.follow(&self.connection);
                self.connection = connection;
                self.losses.made_again = self.losses.made_again.saturating_add(1);
                for request in waiting {
                    self.connection.submit(request);
                }
            }
            Err(fault) => {
                let kind = if fault.kind == FaultKind::TimedOut { kind } else { fault.kind };
                let result = -kind.errno();
                done.extend(waiting.into_iter().map(|one| Done { tag: one.tag, result }));
                self.connection.lose(Fault { kind, ..fault });
            }
        }
        true
    }

    /// Whether it is made again when it is lost.
    #[must_use]
    pub fn is_made_again(&self) -> bool {
        self.again.is_some()
    }

    /// Whether it is lost for good.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.attempt.is_none() && self.connection.lost().is_some()
    }

    /// Whether it is being made again.
    #[must_use]
    pub fn is_away(&self) -> bool {
        self.attempt.is_some()
    }

    /// What to wait for when [`Lasting::advance`] has completed nothing; nothing while it is made again, the
    /// end of which [`Lasting::advance`] sees.
    #[inline]
    #[must_use]
    pub fn interest(&self) -> Option<Interest> {
        self.attempt.is_none().then(|| self.connection.interest())
    }

    /// I/Os that have not completed.
    #[inline]
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.waiting.len() + if self.attempt.is_some() { 0 } else { self.connection.in_flight() }
    }

    /// Why the connection is over, or is away at the moment.
    #[must_use]
    pub fn lost(&self) -> Option<Fault> {
        let Some(attempt) = &self.attempt else { return self.connection.lost() };
        let seconds = in_seconds(now_ns().saturating_sub(attempt.since_ns));
        let text = format!(
            "the connection was lost {seconds} s ago ({}), and had not been made again",
            attempt.why
        );
        Some(Fault { text, ..attempt.why.clone() }.at(self.connection.server()))
    }

    /// How often it was lost, and for how long, until now.
    #[must_use]
    pub fn losses(&self) -> Losses {
        let now = self.attempt.as_ref().map(|attempt| now_ns().saturating_sub(attempt.since_ns));
        Losses { away_ns: self.losses.away_ns + now.unwrap_or_default(), ..self.losses }
    }

    /// What the kernel knows of the connection that there is, or that there was last.
    #[must_use]
    pub fn tcp_info(&self) -> Option<TcpInfo> {
        self.connection.tcp_info()
    }

    /// Ends it, as [`Connection::close`] does.
    pub fn close(self) {
        if self.attempt.is_none() {
            self.connection.close();
        }
    }
}

fn in_seconds(nanos: u64) -> String {
    format!("{:.1}", Duration::from_nanos(nanos).as_secs_f64())
}

impl Attempt {
    /// Begins to make a connection to the target that has these facts.
    fn begin(again: Again, known: Facts, why: Fault) -> Self {
        let (sender, made) = channel();
        let is_wanted = Arc::new(AtomicBool::new(true));
        let attempt = Self { why, since_ns: now_ns(), made, is_wanted: Arc::clone(&is_wanted) };
        let why = attempt.why.clone();
        let work = move || make(&again, &known, &why, &is_wanted, &sender);
        // Without a thread the sender is gone, which is seen at the other end.
        let _ = std::thread::Builder::new().name("reconnect".to_owned()).spawn(work);
        attempt
    }
}

/// Tries until there is a connection, until there can be none, or until nobody wants it any more.
fn make(again: &Again, known: &Facts, why: &Fault, is_wanted: &AtomicBool, sender: &Sender<Made>) {
    let (deadline, mut pause, mut last) = (Deadline::after(again.within), PAUSE_MIN, None);
    while is_wanted.load(Ordering::Relaxed) {
        let Ok(left) = deadline.left() else {
            let _ = sender.send((Err(too_late(again, why, last)), now_ns()));
            return;
        };
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(PAUSE_MAX);
        let settings = Settings {
            timeout: left.min(ATTEMPT),
            handshake: Some(left.min(HANDSHAKE)),
            ..again.settings.clone()
        };
        let made = match Connection::connect(&again.address, &settings) {
            Ok(connection) => as_it_was(connection, known),
            Err(fault) if is_final(fault.kind) => {
                let text = format!("the connection was lost ({why}), and {fault}");
                Err(Fault { text, ..fault })
            }
            Err(fault) => {
                last = Some(fault);
                continue;
            }
        };
        if let Err(unsent) = sender.send((made, now_ns()))
            && let (Ok(connection), _) = unsent.0
        {
            connection.close();
        }
        return;
    }
}

/// Whether a fault will not go away by itself: a server that begins refuses, knows nothing yet, or waits for
/// its former clients; it does not talk nonsense, and knows its users.
fn is_final(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::Credentials | FaultKind::Protocol | FaultKind::Unsupported)
}

fn too_late(again: &Again, why: &Fault, last: Option<Fault>) -> Fault {
    let seconds = again.within.as_secs_f64();
    let last = last.map_or_else(String::new, |last| format!(": {last}"));
    let text = format!(
        "the connection was lost ({why}) and could not be made again within {seconds} s{last}"
    );
    Fault::new(FaultKind::TimedOut, text)
}

/// A connection that leads to the same target as before, and is watched.
fn as_it_was(connection: Connection, known: &Facts) -> Result<Connection, Fault> {
    let watched = connection.keep_alive(PROBE_EVERY_S, PROBES);
    let other = other_than(known, connection.facts());
    match (other, watched) {
        (Some(difference), _) => {
            connection.close();
            let text = format!(
                "the connection was lost, and what answers now is another target: {difference}. Nothing was sent to it"
            );
            Err(Fault::new(FaultKind::Gone, text))
        }
        (None, Err(fault)) => Err(fault),
        (None, Ok(())) => Ok(connection),
    }
}

/// In what a target is another one than it was.
fn other_than(known: &Facts, now: &Facts) -> Option<String> {
    let serial = |facts: &Facts| match &facts.serial {
        Some(serial) => format!("the serial number '{serial}'"),
        None => "no serial number".to_owned(),
    };
    if now.size_bytes != known.size_bytes {
        return Some(format!("it had {} bytes, and has {}", known.size_bytes, now.size_bytes));
    }
    if now.serial != known.serial {
        return Some(format!("it had {}, and has {}", serial(known), serial(now)));
    }
    if now.handle != known.handle {
        return Some("it is another file of that name".to_owned());
    }
    if now.block_bytes_min != known.block_bytes_min {
        let [before, after] = [known, now].map(|facts| facts.block_bytes_min);
        return Some(format!("it took multiples of {before} bytes, and takes those of {after}"));
    }
    (now.is_read_only && !known.is_read_only)
        .then(|| "it could be written, and can only be read".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        Facts {
            size_bytes: 4096,
            block_bytes_min: 512,
            serial: Some("S1".into()),
            handle: Some(vec![1]),
            ..Facts::default()
        }
    }

    #[test]
    fn another_target_in_its_place_is_told_by_what_is_another() {
        assert_eq!(other_than(&facts(), &facts()), None);
        for (change, words) in [
            ((|it| it.size_bytes = 512) as fn(&mut Facts), "had 4096 bytes, and has 512"),
            (|it| it.serial = None, "the serial number 'S1', and has no serial number"),
            (|it| it.handle = Some(vec![2]), "another file"),
            (|it| it.block_bytes_min = 4096, "multiples of 512 bytes, and takes those of 4096"),
            (|it| it.is_read_only = true, "can only be read"),
        ] {
            let mut now = facts();
            change(&mut now);
            let told = other_than(&facts(), &now).expect("a difference");
            assert!(told.contains(words), "{told}");
        }
        // What only was read may be written now.
        let read_only = Facts { is_read_only: true, ..facts() };
        assert_eq!(other_than(&read_only, &facts()), None);
    }
}

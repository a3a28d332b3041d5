//! Threads, by two numbers that the kernel shows to everybody: how many there have ever been, and how
//! many there are. Those that ended are those that started less those that are more than before.

use std::fs;
use std::io;

use super::{Count, Event, Source, TraceError};

const EVENTS: [Event; 2] = [Event::ThreadStart, Event::ThreadEnd];
const ATTEMPTS: usize = 8;

/// Threads of the whole system.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Population {
    ever: u64,
    now: u64,
}

/// Counts threads.
#[derive(Debug, Default)]
pub struct Threads {
    before: Population,
}

impl Threads {
    pub fn open() -> Result<Self, TraceError> {
        let before = read()
            .map_err(|error| TraceError::unreadable("/proc/stat or /proc/loadavg", &error))?;
        Ok(Self { before })
    }
}

impl Source for Threads {
    fn begin(&mut self) -> io::Result<()> {
        self.before = read()?;
        Ok(())
    }

    fn end(&mut self) -> io::Result<Vec<Count>> {
        let after = read()?;
        let started = after.ever.saturating_sub(self.before.ever);
        let ended = (self.before.now + started).saturating_sub(after.now);
        let forks = "/proc/stat (processes)";
        let both = "/proc/stat (processes) less the growth of /proc/loadavg (threads)";
        Ok(vec![
            Count::new(Event::ThreadStart, started, forks),
            Count::new(Event::ThreadEnd, ended, both),
        ])
    }

    fn events(&self) -> &'static [Event] {
        &EVENTS
    }
}

/// Both numbers of one instant: read again if threads came or went in between.
fn read() -> io::Result<Population> {
    let mut now = threads_now()?;
    let mut ever = threads_ever()?;
    for _ in 0..ATTEMPTS {
        let (again, ever_again) = (threads_now()?, threads_ever()?);
        if (again, ever_again) == (now, ever) {
            break;
        }
        (now, ever) = (again, ever_again);
    }
    Ok(Population { ever, now })
}

fn threads_ever() -> io::Result<u64> {
    parse_ever(&fs::read_to_string("/proc/stat")?).ok_or_else(unexpected)
}

fn threads_now() -> io::Result<u64> {
    parse_now(&fs::read_to_string("/proc/loadavg")?).ok_or_else(unexpected)
}

fn unexpected() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it has another form than proc(5) describes")
}

/// `processes` of `/proc/stat`: every thread that was ever made, see `proc_stat(5)`.
fn parse_ever(stat: &str) -> Option<u64> {
    stat.lines().find_map(|line| line.strip_prefix("processes ")?.trim().parse().ok())
}

/// The second number of the fourth field of `/proc/loadavg`: threads that exist, see `proc_loadavg(5)`.
fn parse_now(loadavg: &str) -> Option<u64> {
    loadavg.split_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_found() {
        assert_eq!(parse_ever("cpu  1 2\nctxt 5\nprocesses 4711\nprocs_running 2\n"), Some(4711));
        assert_eq!(parse_now("0.20 0.18 0.12 2/180 11206\n"), Some(180));
        assert_eq!((parse_ever("cpu 1"), parse_now("0.2 0.1")), (None, None));
    }
}

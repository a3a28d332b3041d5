//! Page faults, by the counters of `/proc/vmstat`.

use std::fs;
use std::io;

use super::{Count, Event, Source, TraceError};

const PATH: &str = "/proc/vmstat";
const UNKNOWN: &str = "Linux keeps no count of these: they are part of the soft page faults";
/// What Windows tells apart and Linux does not.
const NOT_TOLD: [Event; 4] = [
    Event::CopyOnWriteFault,
    Event::DemandZeroFault,
    Event::GuardPageFault,
    Event::TransitionFault,
];
const ALL: [Event; 2] = [Event::HardFault, Event::SoftFault];
const HARD: [Event; 1] = [Event::HardFault];

/// Faults since the start of the system.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Since {
    all: u64,
    hard: u64,
}

/// Counts page faults.
#[derive(Debug, Default)]
pub struct Faults {
    with_soft: bool,
    before: Since,
}

impl Faults {
    pub fn open(with_soft: bool) -> Result<Self, TraceError> {
        let before = read().map_err(|error| TraceError::unreadable(PATH, &error))?;
        Ok(Self { with_soft, before })
    }
}

impl Source for Faults {
    fn begin(&mut self) -> io::Result<()> {
        self.before = read()?;
        Ok(())
    }

    fn end(&mut self) -> io::Result<Vec<Count>> {
        let after = read()?;
        let hard = after.hard.saturating_sub(self.before.hard);
        let soft = after.all.saturating_sub(self.before.all).saturating_sub(hard);
        let mut counts = vec![Count::new(Event::HardFault, hard, "/proc/vmstat (pgmajfault)")];
        if self.with_soft {
            let source = "/proc/vmstat (pgfault less pgmajfault)";
            counts.push(Count::new(Event::SoftFault, soft, source));
            counts.extend(NOT_TOLD.map(|event| Count::missing(event, UNKNOWN)));
        }
        Ok(counts)
    }

    fn events(&self) -> &'static [Event] {
        if self.with_soft { &ALL } else { &HARD }
    }
}

fn read() -> io::Result<Since> {
    parse(&fs::read_to_string(PATH)?)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it has no count of page faults"))
}

fn parse(vmstat: &str) -> Option<Since> {
    let value = |name: &str| {
        let mut lines = vmstat.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
    };
    Some(Since { all: value("pgfault")?, hard: value("pgmajfault")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_found_among_their_like() {
        let text = "pgpgin 1\nthp_fault_alloc 5\npgfault 300\npgmajfault 20\n";
        assert_eq!(parse(text), Some(Since { all: 300, hard: 20 }));
        assert_eq!(parse("pgfault 3\n"), None);
    }
}

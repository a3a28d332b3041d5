//! TCP and UDP, by the counters of RFC 1213 that the kernel keeps for each network namespace.

use std::fs;
use std::io;

use super::perf::SystemEvent;
use super::processes::of_tracepoint;
use super::{Count, Event, Source, TraceError};

const PATH: &str = "/proc/net/snmp";
const PATH_6: &str = "/proc/net/snmp6";
const STATE: &str = "sock/inet_sock_set_state";
/// TCP (6) to CLOSE (7), from a state of a connection that was established: not from SYN-SENT,
/// SYN-RECEIVED, CLOSE, LISTEN and the kernel's NEW-SYN-RECEIVED.
const CLOSED: &str = "protocol == 6 && newstate == 7 && oldstate != 2 && oldstate != 3 && \
                      oldstate != 7 && oldstate != 10 && oldstate != 12";
/// Events, the rows that they are in, their columns, and their names for UDP over IPv6, which has rows of
/// its own; TCP counts both versions together.
const COLUMNS: [(Event, &str, &str, Option<&str>); 7] = [
    (Event::TcpAccept, "Tcp:", "PassiveOpens", None),
    (Event::TcpConnect, "Tcp:", "ActiveOpens", None),
    (Event::TcpRetransmit, "Tcp:", "RetransSegs", None),
    (Event::TcpSend, "Tcp:", "OutSegs", None),
    (Event::TcpReceive, "Tcp:", "InSegs", None),
    (Event::UdpSend, "Udp:", "OutDatagrams", Some("Udp6OutDatagrams")),
    (Event::UdpReceive, "Udp:", "InDatagrams", Some("Udp6InDatagrams")),
];
const EVENTS: [Event; 8] = [
    Event::TcpAccept,
    Event::TcpConnect,
    Event::TcpDisconnect,
    Event::TcpRetransmit,
    Event::TcpSend,
    Event::TcpReceive,
    Event::UdpSend,
    Event::UdpReceive,
];

type Since = [u64; COLUMNS.len()];

/// Counts network traffic.
#[derive(Debug)]
pub struct Network {
    before: Since,
    /// The kernel keeps no counter of connections that end, so that this one needs a privilege.
    closed: Result<SystemEvent, TraceError>,
}

impl Network {
    pub fn open() -> Result<Self, TraceError> {
        let before = read().map_err(|error| TraceError::unreadable(PATH, &error))?;
        Ok(Self { before, closed: SystemEvent::tracepoint(STATE, CLOSED) })
    }
}

impl Source for Network {
    fn begin(&mut self) -> io::Result<()> {
        self.before = read()?;
        self.closed.as_ref().map_or(Ok(()), SystemEvent::begin)
    }

    fn end(&mut self) -> io::Result<Vec<Count>> {
        let closed = match &self.closed {
            Ok(closed) => of_tracepoint(Event::TcpDisconnect, closed, STATE)?,
            Err(error) => Count::missing(Event::TcpDisconnect, &error.why),
        };
        let after = read()?;
        let pairs =
            self.before.iter().zip(&after).map(|(before, after)| after.saturating_sub(*before));
        let count =
            |((event, row, column, six), count): (&(Event, &str, &str, Option<&str>), u64)| {
                let six = six.map(|name| format!(" and {PATH_6} ({name})")).unwrap_or_default();
                let source = format!("{PATH} ({row} {column}){six}");
                Count::new(*event, count, &source)
            };
        let mut counts: Vec<Count> = COLUMNS.iter().zip(pairs).map(count).collect();
        counts.push(closed);
        let why = "Linux has no such notion: a connection is opened again";
        counts.push(Count::missing(Event::TcpReconnect, why));
        Ok(counts)
    }

    fn events(&self) -> &'static [Event] {
        &EVENTS
    }
}

fn read() -> io::Result<Since> {
    // Without IPv6 there is no such file, and nothing to add.
    let six = fs::read_to_string(PATH_6).unwrap_or_default();
    parse(&fs::read_to_string(PATH)?, &six)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it has no TCP and UDP counters"))
}

/// Each row of `snmp` stands there twice: with names, and with values. `snmp6` has a name and a value a
/// line.
fn parse(snmp: &str, snmp6: &str) -> Option<Since> {
    let value = |row: &str, column: &str| {
        let mut lines = snmp.lines().filter_map(|line| line.strip_prefix(row));
        let (names, values) = (lines.next()?, lines.next()?);
        let at = names.split_whitespace().position(|name| name == column)?;
        values.split_whitespace().nth(at)?.parse::<u64>().ok()
    };
    let six = |name: &str| {
        let mut lines = snmp6.lines();
        lines.find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    let mut since = Since::default();
    for (slot, (_, row, column, name_6)) in since.iter_mut().zip(COLUMNS) {
        *slot = value(row, column)? + name_6.map_or(0, six);
    }
    Some(since)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_name_and_ipv6_is_added() {
        let snmp = "Tcp: RtoMax ActiveOpens PassiveOpens InSegs OutSegs RetransSegs\n\
                    Tcp: -1 1 2 3 4 5\nUdp: InDatagrams NoPorts OutDatagrams\nUdp: 6 0 7\n\
                    UdpLite: InDatagrams NoPorts OutDatagrams\nUdpLite: 60 0 70\n";
        let snmp6 = "Udp6InDatagrams                  \t10\nUdp6OutDatagrams\t20\n";
        assert_eq!(parse(snmp, snmp6), Some([2, 1, 5, 4, 3, 27, 16]));
        assert_eq!(parse("Tcp: InSegs\nTcp: 1\n", ""), None);
    }
}

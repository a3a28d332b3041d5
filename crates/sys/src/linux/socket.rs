//! What the standard library lacks for sockets: waiting for several with a deadline, `TCP_INFO`, and probes
//! of a peer that is silent.

use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use super::clock::NANOS_PER_SEC;

/// What is waited for at one descriptor; that its peer has hung up always ends the wait too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interest {
    /// The descriptor. One that is closed meanwhile ends the wait.
    pub descriptor: RawFd,
    /// Something to receive.
    pub to_receive: bool,
    /// Room to send.
    pub to_send: bool,
}

/// Waits for descriptors, with a list that is kept from one wait to the next.
#[derive(Debug, Default)]
pub struct Waiter {
    polled: Vec<libc::pollfd>,
}

impl Waiter {
    /// Waits until one of the descriptors is ready (`true`), or until so much time has passed or a signal
    /// has come (`false`). Without a time it waits for as long as it takes.
    pub fn wait(
        &mut self,
        interests: impl Iterator<Item = Interest>,
        timeout_ns: Option<u64>,
    ) -> io::Result<bool> {
        self.polled.clear();
        self.polled.extend(interests.map(polled));
        let timeout = timeout_ns.map(timespec);
        let pointer = timeout.as_ref().map_or(std::ptr::null(), |time| &raw const *time);
        let count = self.polled.len() as libc::nfds_t;
        // SAFETY: the list is valid for `count` entries, the time for one read, and both outlive the call.
        let ready =
            unsafe { libc::ppoll(self.polled.as_mut_ptr(), count, pointer, std::ptr::null()) };
        match ready {
            -1 => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => Ok(false),
                error => Err(error),
            },
            ready => Ok(ready > 0),
        }
    }
}

fn polled(interest: Interest) -> libc::pollfd {
    let receive = if interest.to_receive { libc::POLLIN } else { 0 };
    let send = if interest.to_send { libc::POLLOUT } else { 0 };
    libc::pollfd { fd: interest.descriptor, events: receive | send, revents: 0 }
}

fn timespec(nanos: u64) -> libc::timespec {
    // SAFETY: all zero is a time of no length; some C libraries have padding beside the two fields.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    // The field's own type has no name that each C library keeps; what does not fit is decades.
    time.tv_sec = (nanos / NANOS_PER_SEC).try_into().unwrap_or(i32::MAX.into());
    time.tv_nsec = libc::c_long::try_from(nanos % NANOS_PER_SEC).unwrap_or_default();
    time
}

/// Connects to a unix socket within a time that is not zero. Where the server's queue of connections is full,
/// and it takes none of them, only the time for sending ends the wait (`unix_stream_connect` of the kernel).
pub fn connect_unix(path: &Path, within: Duration) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new(path)?;
    let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
    let socket = socket_with(family, kind, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(within))?;
    match connect(&socket, &address) {
        Ok(()) => Ok(socket.into()),
        Err(rustix::io::Errno::AGAIN) => Err(io::Error::from_raw_os_error(libc::ETIMEDOUT)),
        Err(error) => Err(error.into()),
    }
}

/// What the kernel knows of a TCP connection (`tcp(7)`, `TCP_INFO`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Smoothed round-trip time, in microseconds.
    pub rtt_us: u32,
    /// Its mean deviation, in microseconds.
    pub rtt_deviation_us: u32,
    /// The shortest round-trip time seen, in microseconds, if the kernel tells it (since 4.6).
    pub rtt_us_min: Option<u32>,
    /// Segments sent again since the connection was made.
    pub retransmits: u32,
    /// Since when nothing has come from the peer's host, data or acknowledgement, in milliseconds.
    pub silent_ms: u32,
    /// Largest segment that is sent, in bytes.
    pub segment_bytes: u32,
    /// Congestion window, in segments.
    pub window_segments: u32,
    /// The latest rate of delivery, in bytes per second, if the kernel tells it (since 4.9).
    pub delivery_bytes_per_second: Option<u64>,
}

/// Asks the kernel about a TCP connection; an error for any other descriptor.
pub fn tcp_info(socket: &impl AsFd) -> io::Result<TcpInfo> {
    let mut answer = [0_u8; 256];
    let mut bytes: libc::socklen_t = 256;
    // SAFETY: the kernel writes at most `bytes` bytes into `answer` and their number into `bytes`.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            answer.as_mut_ptr().cast(),
            &raw mut bytes,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(read_tcp_info(&answer[..bytes as usize]))
}

/// Offsets of `struct tcp_info` in `linux/tcp.h`, which only ever grows at its end.
fn read_tcp_info(answer: &[u8]) -> TcpInfo {
    let word = |at: usize| {
        let bytes = answer.get(at..at + 4)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    };
    let long = |at: usize| {
        let bytes = answer.get(at..at + 8)?;
        Some(u64::from_ne_bytes(bytes.try_into().ok()?))
    };
    TcpInfo {
        segment_bytes: word(16).unwrap_or_default(),
        rtt_us: word(68).unwrap_or_default(),
        rtt_deviation_us: word(72).unwrap_or_default(),
        window_segments: word(80).unwrap_or_default(),
        retransmits: word(100).unwrap_or_default(),
        silent_ms: word(52).unwrap_or_default().min(word(56).unwrap_or_default()),
        rtt_us_min: word(148),
        delivery_bytes_per_second: long(160),
    }
}

/// Lets the kernel probe a peer from which nothing has come for so many seconds, again and again, and end the
/// connection after so many probes without an answer (`tcp(7)`). A host that lives answers, however slow its
/// programs are.
pub fn keep_alive(socket: &impl AsFd, every_s: u16, count: u16) -> io::Result<()> {
    let [every_s, count] = [every_s, count].map(libc::c_int::from);
    for (level, name, value) in [
        (libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1),
        (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, every_s),
        (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, every_s),
        (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, count),
    ] {
        set_option(socket, level, name, value)?;
    }
    Ok(())
}

fn set_option(
    socket: &impl AsFd,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    let value: [u8; 4] = value.to_ne_bytes();
    // SAFETY: the kernel reads the four bytes that `value` has, which outlives the call.
    let result = unsafe {
        libc::setsockopt(socket.as_fd().as_raw_fd(), level, name, value.as_ptr().cast(), 4)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixListener;

    use super::super::clock::now_ns;
    use super::*;

    /// Longer than any test takes.
    const NEVER: Duration = Duration::from_secs(600);

    fn to_receive(socket: &impl AsRawFd) -> Interest {
        Interest { descriptor: socket.as_raw_fd(), to_receive: true, to_send: false }
    }

    #[test]
    fn a_wait_ends_with_what_comes_or_with_its_time() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut waiter = Waiter::default();
        let begun_ns = now_ns();
        let wait_ns = 20_000_000;
        assert!(!waiter.wait([to_receive(&ours)].into_iter(), Some(wait_ns)).unwrap());
        assert!(now_ns() - begun_ns >= wait_ns);
        theirs.write_all(b"x").unwrap();
        assert!(waiter.wait([to_receive(&ours)].into_iter(), None).unwrap());
        drop(theirs);
        let mut rest = Vec::new();
        (&ours).read_to_end(&mut rest).unwrap();
        // The end of the stream is something to take as well.
        assert!(waiter.wait([to_receive(&ours)].into_iter(), None).unwrap());
    }

    /// Connecting had no end where a server took nobody any more.
    #[test]
    fn a_full_socket_held_whoever_connected_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        assert_eq!(connect_unix(&path, NEVER).unwrap_err().kind(), io::ErrorKind::NotFound);
        let server = UnixListener::bind(&path).unwrap();
        rustix::net::listen(&server, 0).unwrap();
        let mut waits = connect_unix(&path, NEVER).unwrap();
        let refused = connect_unix(&path, Duration::from_millis(20)).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::TimedOut, "{refused}");
        let (mut taken, _) = server.accept().unwrap();
        waits.write_all(b"x").unwrap();
        taken.read_exact(&mut [0]).unwrap();
        assert!(connect_unix(&path, NEVER).is_ok());
    }

    #[test]
    fn room_to_send_is_waited_for_only_if_wanted() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let mut waiter = Waiter::default();
        let sending = Interest { to_send: true, ..to_receive(&ours) };
        assert!(waiter.wait([sending].into_iter(), Some(0)).unwrap());
        assert!(!waiter.wait([to_receive(&ours)].into_iter(), Some(0)).unwrap());
    }

    #[test]
    fn a_tcp_connection_tells_its_round_trip_and_another_socket_none() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut theirs, _) = listener.accept().unwrap();
        ours.write_all(b"x").unwrap();
        theirs.read_exact(&mut [0]).unwrap();
        let info = tcp_info(&ours).unwrap();
        assert!(info.rtt_us > 0 && info.rtt_us < 1_000_000, "{info:?}");
        assert!(info.segment_bytes > 500 && info.window_segments > 0, "{info:?}");
        assert_eq!(info.retransmits, 0, "{info:?}");
        assert!(info.silent_ms < 60_000, "{info:?}");
        let (pair, _other) = UnixStream::pair().unwrap();
        tcp_info(&pair).unwrap_err();
    }

    #[test]
    fn a_peer_that_is_probed_is_not_silent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (_theirs, _) = listener.accept().unwrap();
        keep_alive(&ours, 1, 5).unwrap();
        ours.write_all(b"x").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(2500));
        // Without probes it would be as long as the sleep.
        assert!(tcp_info(&ours).unwrap().silent_ms < 2000);
        let (pair, _other) = UnixStream::pair().unwrap();
        keep_alive(&pair, 1, 5).unwrap_err();
    }

    #[test]
    fn a_kernel_that_tells_less_gives_no_made_up_figures() {
        let info = read_tcp_info(&[1; 104]);
        assert_eq!((info.rtt_us_min, info.delivery_bytes_per_second), (None, None));
        assert_eq!(info.retransmits, 0x0101_0101);
    }
}

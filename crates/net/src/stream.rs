//! Byte streams that do not block: TCP, unix sockets, and TLS over both.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use fathom_sys::clock::now_ns;
use fathom_sys::socket::{Interest, TcpInfo, Waiter, connect_unix, keep_alive, tcp_info};

use crate::address::{Address, Place};
use crate::fault::{Fault, FaultKind};
use crate::settings::Settings;
use crate::tls::Encryption;

/// A socket that does not block.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Connects within the time. A name may have several addresses, which are tried one after the other.
    fn connect(place: &Place, deadline: Deadline) -> Result<Self, Fault> {
        match place {
            Place::Socket(path) => {
                let socket = connect_unix(path, deadline.left()?);
                let socket =
                    socket.and_then(|socket| socket.set_nonblocking(true).map(|()| socket));
                socket.map(Self::Unix).map_err(|error| Fault::of_io("connecting", &error))
            }
            Place::Host { name, port } => tcp(name, *port, deadline).map(Self::Tcp),
        }
    }
}

fn tcp(name: &str, port: u16, deadline: Deadline) -> Result<TcpStream, Fault> {
    let resolved = (name, port).to_socket_addrs();
    let resolved = resolved.map_err(|error| unresolved(&error.to_string()))?;
    first_that_answers(&resolved.collect::<Vec<_>>(), deadline)
}

fn unresolved(why: &str) -> Fault {
    Fault::new(FaultKind::NotFound, format!("the name could not be resolved ({why})"))
        .with_remedy("correct the host's name in the address, or give its number")
}

/// One that is silent leaves time for those behind it: a host may have an address of IPv6 that leads nowhere.
fn first_that_answers(addresses: &[SocketAddr], deadline: Deadline) -> Result<TcpStream, Fault> {
    let mut last = unresolved("it has no address");
    for (address, left) in addresses.iter().zip((1..=addresses.len()).rev()) {
        let share = deadline.left()? / u32::try_from(left).unwrap_or(u32::MAX);
        match connected(address, share.min(deadline.handshake)) {
            Ok(socket) => return Ok(socket),
            Err(fault) => last = fault,
        }
    }
    Err(last)
}

fn connected(address: &SocketAddr, within: Duration) -> Result<TcpStream, Fault> {
    let socket = TcpStream::connect_timeout(address, within);
    let ready = socket.and_then(|socket| {
        // A request waits for nothing: without this, Nagle's algorithm holds it back for an acknowledgement.
        socket.set_nodelay(true)?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    });
    ready.map_err(|error| Fault::of_io("connecting", &error))
}

impl Read for Socket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => socket.read(into),
            Self::Unix(socket) => socket.read(into),
        }
    }

    fn read_vectored(&mut self, into: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => socket.read_vectored(into),
            Self::Unix(socket) => socket.read_vectored(into),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(from)])
    }

    fn write_vectored(&mut self, from: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => socket.write_vectored(from),
            Self::Unix(socket) => socket.write_vectored(from),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The end of what may wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    at_ns: u64,
    allowed: Duration,
    /// The longest time for one handshake of TCP.
    handshake: Duration,
}

impl Deadline {
    pub(crate) fn after(allowed: Duration) -> Self {
        let allowed_ns = u64::try_from(allowed.as_nanos()).unwrap_or(u64::MAX);
        Self { at_ns: now_ns().saturating_add(allowed_ns), allowed, handshake: allowed }
    }

    /// That of a connection that is made now.
    pub(crate) fn of(settings: &Settings) -> Self {
        let handshake = settings.handshake.unwrap_or(settings.timeout);
        Self { handshake, ..Self::after(settings.timeout) }
    }

    /// What is left of it; a fault if nothing is.
    pub(crate) fn left(self) -> Result<Duration, Fault> {
        let left = Duration::from_nanos(self.at_ns.saturating_sub(now_ns()));
        if left.is_zero() {
            let text = format!("no answer within {} s", self.allowed.as_secs_f64());
            return Err(Fault::new(FaultKind::TimedOut, text));
        }
        Ok(left)
    }
}

/// A socket, and what encrypts it.
#[derive(Debug)]
pub(crate) struct Stream {
    socket: Socket,
    encryption: Option<Encryption>,
}

impl Stream {
    pub(crate) fn connect(address: &Address, deadline: Deadline) -> Result<Self, Fault> {
        Self::connect_to(&address.place, deadline)
    }

    /// The same where no more of the address is needed.
    pub(crate) fn connect_to(place: &Place, deadline: Deadline) -> Result<Self, Fault> {
        Ok(Self { socket: Socket::connect(place, deadline)?, encryption: None })
    }

    /// Encrypts all that follows, and does the handshake.
    pub(crate) fn encrypt(
        &mut self,
        address: &Address,
        files: &crate::TlsFiles,
        deadline: Deadline,
    ) -> Result<String, Fault> {
        let mut encryption = Encryption::new(address, files)?;
        while encryption.is_shaking_hands() {
            match encryption.shake(&mut self.socket) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let interest = self.interest_of(encryption.has_unsent());
                    wait(interest, deadline)?;
                }
                Err(error) => return Err(encryption.fault_of(&error)),
                Ok(()) => {}
            }
        }
        let words = encryption.words();
        self.encryption = Some(encryption);
        Ok(words)
    }

    /// Receives what is there; `WouldBlock` if nothing is, 0 at the end of the stream.
    #[inline]
    pub(crate) fn receive(&mut self, into: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        match &mut self.encryption {
            Some(encryption) => encryption.receive(&mut self.socket, into),
            None => self.socket.read_vectored(into),
        }
    }

    /// Sends what there is room for; `WouldBlock` if there is none.
    #[inline]
    pub(crate) fn send(&mut self, from: &[IoSlice<'_>]) -> io::Result<usize> {
        match &mut self.encryption {
            Some(encryption) => encryption.send(&mut self.socket, from),
            None => self.socket.write_vectored(from),
        }
    }

    /// Sends on what the encryption has kept; what has none keeps nothing.
    pub(crate) fn send_kept(&mut self) -> io::Result<()> {
        match &mut self.encryption {
            Some(encryption) => encryption.send_kept(&mut self.socket),
            None => Ok(()),
        }
    }

    /// Whether a receive that filled less than it was given has taken all that there is.
    pub(crate) fn is_drained_by_short_receives(&self) -> bool {
        self.encryption.is_none()
    }

    /// Whether the encryption keeps bytes that the socket had no room for.
    pub(crate) fn has_unsent(&self) -> bool {
        self.encryption.as_ref().is_some_and(Encryption::has_unsent)
    }

    /// What to wait for.
    pub(crate) fn interest_of(&self, to_send: bool) -> Interest {
        let descriptor = match &self.socket {
            Socket::Tcp(socket) => socket.as_raw_fd(),
            Socket::Unix(socket) => socket.as_raw_fd(),
        };
        Interest { descriptor, to_receive: true, to_send }
    }

    /// What the kernel knows of the connection; nothing of a unix socket.
    pub(crate) fn tcp_info(&self) -> Option<TcpInfo> {
        match &self.socket {
            Socket::Tcp(socket) => tcp_info(socket).ok(),
            Socket::Unix(_) => None,
        }
    }

    /// Lets the kernel look whether a silent host is still there; a unix socket needs nothing of that kind.
    pub(crate) fn keep_alive(&self, every_s: u16, count: u16) -> io::Result<()> {
        match &self.socket {
            Socket::Tcp(socket) => keep_alive(socket, every_s, count),
            Socket::Unix(_) => Ok(()),
        }
    }

    /// Ends the connection both ways, as far as there still is one.
    pub(crate) fn cut(&self) {
        let _ = match &self.socket {
            Socket::Tcp(socket) => socket.shutdown(Shutdown::Both),
            Socket::Unix(socket) => socket.shutdown(Shutdown::Both),
        };
    }

    /// Receives exactly so much before the deadline.
    pub(crate) fn receive_all(&mut self, into: &mut [u8], deadline: Deadline) -> Result<(), Fault> {
        let mut got = 0;
        while got < into.len() {
            match self.receive(&mut [IoSliceMut::new(&mut into[got..])]) {
                Ok(0) => return Err(hung_up()),
                Ok(bytes) => got += bytes,
                Err(error) => self.wait_after(&error, false, deadline)?,
            }
        }
        Ok(())
    }

    /// Sends all of it before the deadline.
    pub(crate) fn send_all(&mut self, from: &[u8], deadline: Deadline) -> Result<(), Fault> {
        let mut sent = 0;
        while sent < from.len() {
            match self.send(&[IoSlice::new(&from[sent..])]) {
                Ok(bytes) => sent += bytes,
                Err(error) => self.wait_after(&error, true, deadline)?,
            }
        }
        while self.has_unsent() {
            if let Err(error) = self.send_kept() {
                self.wait_after(&error, true, deadline)?;
            }
        }
        Ok(())
    }

    fn wait_after(
        &self,
        error: &io::Error,
        is_sending: bool,
        deadline: Deadline,
    ) -> Result<(), Fault> {
        match error.kind() {
            io::ErrorKind::Interrupted => Ok(()),
            io::ErrorKind::WouldBlock => {
                wait(self.interest_of(is_sending || self.has_unsent()), deadline)
            }
            _ => Err(Fault::of_io(if is_sending { "sending" } else { "receiving" }, error)),
        }
    }
}

/// The server ended the connection.
pub(crate) fn hung_up() -> Fault {
    Fault::new(FaultKind::Disconnected, "the server has closed the connection")
}

/// Waits for one descriptor, or says that nothing came in time.
pub(crate) fn wait(interest: Interest, deadline: Deadline) -> Result<(), Fault> {
    let left = u64::try_from(deadline.left()?.as_nanos()).unwrap_or(u64::MAX);
    let waited = Waiter::default().wait(std::iter::once(interest), Some(left));
    waited.map(drop).map_err(|error| Fault::of_io("waiting", &error))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    const MOMENT: Duration = Duration::from_millis(100);

    /// The first address of a name that was silent took all of the time, and the second was never tried.
    #[test]
    fn a_silent_address_kept_the_others_of_its_name_from_being_tried() {
        let [silent, lively] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [silent, lively] = [silent, lively].map(|it| (it.local_addr().unwrap(), it));
        // As many as wait for a server that takes none; whoever comes then gets no answer.
        let connect = || TcpStream::connect_timeout(&silent.0, MOMENT).ok();
        let _waiting: Vec<_> = std::iter::from_fn(connect).collect();
        let addresses = [silent.0, lively.0];
        let found = first_that_answers(&addresses, Deadline::after(Duration::from_secs(2)));
        assert_eq!(found.unwrap().peer_addr().unwrap(), lively.0);
        let none = first_that_answers(&addresses[..1], Deadline::after(MOMENT)).unwrap_err();
        assert_eq!(none.kind, FaultKind::TimedOut, "{none}");
    }
}

//! TLS of a connection, always with a verified server.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use crate::address::{Address, Place};
use crate::fault::{Fault, FaultKind};
use crate::settings::TlsFiles;
use crate::stream::Socket;

/// One encrypted connection.
#[derive(Debug)]
pub(crate) struct Encryption {
    session: Box<ClientConnection>,
    /// The name that was verified.
    name: String,
}

impl Encryption {
    pub(crate) fn new(address: &Address, files: &TlsFiles) -> Result<Self, Fault> {
        let name = verified_name(address)?;
        let server = ServerName::try_from(name.clone()).map_err(|_| {
            let text = format!(
                "'{name}' is neither a host's name nor an address: name it with tls-hostname=NAME"
            );
            Fault::new(FaultKind::Invalid, text)
        })?;
        let session = ClientConnection::new(Arc::new(configuration(files)?), server);
        let session =
            session.map_err(|error| credentials(format!("TLS could not begin ({error})")))?;
        Ok(Self { session: Box::new(session), name })
    }

    pub(crate) fn is_shaking_hands(&self) -> bool {
        self.session.is_handshaking()
    }

    /// One step of the handshake in each direction; `WouldBlock` if it has to be waited.
    pub(crate) fn shake(&mut self, socket: &mut Socket) -> io::Result<()> {
        self.send_kept(socket)?;
        if self.session.is_handshaking() {
            self.take(socket)?;
            self.send_kept(socket)?;
        }
        Ok(())
    }

    /// Protocol version and cipher.
    pub(crate) fn words(&self) -> String {
        let version =
            self.session.protocol_version().and_then(|version| version.as_str().map(str::to_owned));
        let cipher = self.session.negotiated_cipher_suite();
        let cipher = cipher.and_then(|suite| suite.suite().as_str().map(str::to_owned));
        let version = version.map(|version| version.replace("TLSv1_", "TLS 1."));
        format!("{}, {}", version.unwrap_or_default(), cipher.unwrap_or_default())
    }

    /// A handshake that failed, in words.
    pub(crate) fn fault_of(&self, error: &io::Error) -> Fault {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        match inner {
            Some(rustls::Error::InvalidCertificate(why)) => credentials(format!(
                "the server's certificate is not accepted for '{}' ({why:?}); an authority of your own is named by \
                 tls-certificates=DIR with its ca-cert.pem",
                self.name
            )),
            Some(rustls::Error::AlertReceived(alert)) => credentials(format!(
                "the server refuses this client in the TLS handshake ({alert:?})"
            )),
            Some(other) => Fault::garbled(format!("the TLS handshake failed ({other})")),
            None if error.kind() == io::ErrorKind::UnexpectedEof => Fault::new(
                FaultKind::Disconnected,
                "the server closed the connection in the TLS handshake",
            ),
            None => Fault::of_io("the TLS handshake", error),
        }
    }

    pub(crate) fn receive(
        &mut self,
        socket: &mut Socket,
        into: &mut [IoSliceMut<'_>],
    ) -> io::Result<usize> {
        loop {
            match self.session.reader().read_vectored(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.take(socket)?,
                // Who ends without saying so has ended all the same: the protocol inside tells lengths.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                received => return received,
            }
        }
    }

    /// Takes one piece of what the socket has, and decrypts it.
    fn take(&mut self, socket: &mut Socket) -> io::Result<()> {
        if self.session.read_tls(socket)? == 0 && self.session.is_handshaking() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let processed = self.session.process_new_packets();
        if let Err(error) = processed {
            // The alert that tells the server why.
            let _ = self.session.write_tls(socket);
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        Ok(())
    }

    pub(crate) fn send(&mut self, socket: &mut Socket, from: &[IoSlice<'_>]) -> io::Result<usize> {
        self.send_kept(socket)?;
        let taken = self.session.writer().write_vectored(from)?;
        match self.send_kept(socket) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(taken),
        }
    }

    pub(crate) fn send_kept(&mut self, socket: &mut Socket) -> io::Result<()> {
        while self.session.wants_write() {
            self.session.write_tls(socket)?;
        }
        Ok(())
    }

    pub(crate) fn has_unsent(&self) -> bool {
        self.session.wants_write()
    }
}

fn credentials(text: String) -> Fault {
    Fault::new(FaultKind::Credentials, text)
}

fn verified_name(address: &Address) -> Result<String, Fault> {
    match (&address.verified_name, &address.place) {
        (Some(name), _) | (None, Place::Host { name, .. }) => Ok(name.clone()),
        (None, Place::Socket(_)) => Err(Fault::new(
            FaultKind::Invalid,
            "a unix socket has no name that a certificate could be for: add tls-hostname=NAME",
        )),
    }
}

fn configuration(files: &TlsFiles) -> Result<ClientConfig, Fault> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| credentials(format!("TLS could not begin ({error})")))?;
    let builder = builder.with_root_certificates(authorities(files.authorities.as_deref())?);
    match (&files.certificate, &files.key) {
        (None, None) => Ok(builder.with_no_client_auth()),
        (Some(certificate), Some(key)) => {
            let chain = certificates(certificate)?;
            let private =
                PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, &error))?;
            let built = builder.with_client_auth_cert(chain, private);
            built.map_err(|error| credentials(format!("{}: {error}", certificate.display())))
        }
        _ => Err(credentials(
            "a client's certificate needs its key, and a key its certificate".into(),
        )),
    }
}

fn authorities(file: Option<&Path>) -> Result<RootCertStore, Fault> {
    let found = match file {
        Some(file) => certificates(file)?,
        None => rustls_native_certs::load_native_certs().certs,
    };
    let mut roots = RootCertStore::empty();
    let (taken, _) = roots.add_parsable_certificates(found);
    if taken == 0 {
        return Err(credentials(
            "this system has no certificate authorities: name a file of your own, or install ca-certificates".into(),
        ));
    }
    Ok(roots)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, Fault> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(found) if found.is_empty() => {
            Err(credentials(format!("{} holds no certificate", file.display())))
        }
        Ok(found) => Ok(found),
        Err(error) => Err(unreadable(file, &error)),
    }
}

fn unreadable(file: &Path, error: &rustls::pki_types::pem::Error) -> Fault {
    credentials(format!("{} could not be read ({error})", file.display()))
}

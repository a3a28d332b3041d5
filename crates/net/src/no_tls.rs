//! What stands for TLS in a build without it: nothing can be made of it.

use std::convert::Infallible;
use std::io::{self, IoSlice, IoSliceMut};

use crate::address::Address;
use crate::fault::{Fault, FaultKind};
use crate::settings::TlsFiles;
use crate::stream::Socket;

/// No encrypted connection.
#[derive(Debug)]
pub(crate) struct Encryption(Infallible);

impl Encryption {
    pub(crate) fn new(_: &Address, _: &TlsFiles) -> Result<Self, Fault> {
        let text = "this program was built without TLS (feature `tls`)";
        Err(Fault::new(FaultKind::Unsupported, text))
    }

    pub(crate) fn is_shaking_hands(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn shake(&mut self, _: &mut Socket) -> io::Result<()> {
        match self.0 {}
    }

    pub(crate) fn words(&self) -> String {
        match self.0 {}
    }

    pub(crate) fn fault_of(&self, _: &io::Error) -> Fault {
        match self.0 {}
    }

    pub(crate) fn receive(
        &mut self,
        _: &mut Socket,
        _: &mut [IoSliceMut<'_>],
    ) -> io::Result<usize> {
        match self.0 {}
    }

    pub(crate) fn send(&mut self, _: &mut Socket, _: &[IoSlice<'_>]) -> io::Result<usize> {
        match self.0 {}
    }

    pub(crate) fn send_kept(&mut self, _: &mut Socket) -> io::Result<()> {
        match self.0 {}
    }

    pub(crate) fn has_unsent(&self) -> bool {
        match self.0 {}
    }
}

//! Where a target or a file of a plan lies, decided once: when its name comes in.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fathom_sys::device::Disk;

use super::contract::Storage;
use super::{Remote, Target};
use crate::errors::{Failure, Kind};
use crate::network::{self, RemotePlan};

/// Where a target or a file lies. What a run needs of it besides the load, its `Storage` does: see
/// `contract.rs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// Where a path of this host leads; of a target that no I/O reaches, its name.
    Here(Local),
    /// With another host.
    Served(Served),
}

/// A path of this host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Local {
    /// The path that is opened.
    pub path: PathBuf,
}

/// What another host serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// Its address, with the protocol.
    pub remote: Remote,
    /// How it is reached, and what the server says of it.
    pub plan: Arc<RemotePlan>,
}

impl Served {
    /// The address, as it is shown and as its results are kept.
    #[must_use]
    pub fn path(&self) -> &Path {
        Path::new(&self.remote.address)
    }

    /// The server, by its name or number and its port.
    #[must_use]
    pub fn server(&self) -> String {
        network::server(self.path()).unwrap_or_else(|| self.remote.address.clone())
    }
}

impl Location {
    /// Where a path of this host leads.
    #[must_use]
    pub fn here(path: impl Into<PathBuf>) -> Self {
        Self::Here(Local { path: path.into() })
    }

    /// Where the target of a request lies; `plan` says how it is reached if another host serves it.
    ///
    /// # Errors
    /// If the name leads nowhere: a disk that is not there, or what no target is called.
    pub(crate) fn of(target: &Target, disks: &[Disk], plan: RemotePlan) -> Result<Self, Failure> {
        match target {
            Target::Path(path) => Ok(Self::here(path)),
            Target::Disk { number, name } => {
                let disk = disks.get(*number).map(|disk| Self::here(&disk.path));
                let words = || format!("there is no disk {name} here");
                disk.ok_or_else(|| Failure::new(Kind::NotFound, words()))
            }
            Target::Network(remote) => {
                Ok(Self::Served(Served { remote: remote.clone(), plan: Arc::new(plan) }))
            }
            // Refused before it is requested.
            Target::Misnamed { .. } => {
                let (what, remedy) = target.obstacle().unwrap_or_default();
                Err(Failure::new(Kind::Unsupported, format!("it {what}: {remedy}")))
            }
        }
    }

    /// Where a text leads that stands in a file or on a command line, and that nobody has looked at yet. A
    /// server may take `timeout` for a connection.
    #[must_use]
    pub fn named(name: &str, timeout: Duration) -> Self {
        match Target::from(name) {
            Target::Network(remote) => {
                let plan = RemotePlan { timeout, ..RemotePlan::default() };
                Self::Served(Served { remote, plan: Arc::new(plan) })
            }
            _ => Self::here(name),
        }
    }

    /// The path, or the address: what it is known by in results and journals.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Here(local) => &local.path,
            Self::Served(served) => served.path(),
        }
    }

    /// The path that leads to it on this host; nothing if another host serves it.
    #[must_use]
    pub fn local(&self) -> Option<&Path> {
        match self {
            Self::Here(local) => Some(&local.path),
            Self::Served(_) => None,
        }
    }

    /// What another host serves; nothing if it is this host's.
    #[must_use]
    pub fn served(&self) -> Option<&Served> {
        match self {
            Self::Here(_) => None,
            Self::Served(served) => Some(served),
        }
    }

    /// Who does what a run needs of it besides the load. This is the one place that chooses.
    pub(crate) fn storage(&self) -> &dyn Storage {
        match self {
            Self::Here(local) => local,
            Self::Served(served) => served,
        }
    }
}

impl Default for Location {
    fn default() -> Self {
        Self::Here(Local::default())
    }
}

//! Users and passwords for targets over the network.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use fathom_core::network;
use fathom_core::storage::Target;
use pyo3::prelude::*;

use crate::InvalidRequestError;
use crate::threads::detached;

/// Checks that user and password can be read from a file.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over owned values")]
pub fn check_credentials(path: PathBuf) -> PyResult<()> {
    network::check_credentials(&path).map_err(|why| InvalidRequestError::new_err(why.to_string()))
}

/// Who has to log in where, as the server and perhaps the user, if the server of an address lets nobody in
/// without a password and none was given. It is asked.
#[pyfunction]
pub fn login_wanted(py: Python<'_>, address: &str) -> PyResult<Option<(String, Option<String>)>> {
    let remote = match Target::from(address) {
        Target::Network(remote) if remote.protocol.has_users() => remote,
        _ => return Ok(None),
    };
    // A server that takes its time keeps nobody from ending the program.
    let looking = thread::spawn(move || network::login_wanted(&remote));
    while !looking.is_finished() {
        py.check_signals()?;
        detached(py, || thread::sleep(Duration::from_millis(5)));
    }
    let wanted = looking.join().ok().flatten();
    Ok(wanted.map(|wanted| (wanted.server, wanted.user)))
}

/// Logs in with this from now on.
#[pyfunction]
pub fn log_in(user: &str, password: String) {
    network::log_in(user, password.into_bytes());
}

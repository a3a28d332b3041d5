//! Asking at a terminal for the password that a server wants.

use std::io::{self, BufRead, IsTerminal, Write};

use fathom_core::network::{LoginWanted, log_in, login_wanted};
use fathom_core::request::Job;
use fathom_core::shown::shown;
use fathom_core::storage::Target;
use fathom_sys::terminal::ask_secretly;

/// Asks once for the first server that lets nobody in without a password, if there is a terminal and none was
/// given. Who types nothing goes on without, and reads what the server says.
pub fn ask(job: &Job) {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return;
    }
    let targets = job.profile().time_spans.iter().flat_map(|span| &span.targets);
    let remotes = targets.filter_map(|target| match &target.path {
        Target::Network(remote) => Some(remote),
        _ => None,
    });
    let wanted = remotes.filter(|remote| remote.protocol.has_users()).find_map(login_wanted);
    if let Some(wanted) = wanted {
        // Without an answer the run says what the server wants.
        let _ = ask_for(&wanted);
    }
}

fn ask_for(wanted: &LoginWanted) -> Option<()> {
    let user = match &wanted.user {
        Some(user) => user.clone(),
        None => ask_openly(&format!("User on {}: ", wanted.server))?,
    };
    let question = format!("Password of {user} on {}: ", wanted.server);
    let password = ask_secretly(&shown(&question)).ok()??;
    log_in(&user, password);
    Some(())
}

fn ask_openly(question: &str) -> Option<String> {
    let mut out = io::stderr().lock();
    out.write_all(shown(question).as_bytes()).and_then(|()| out.flush()).ok()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).ok()?;
    Some(line.trim().to_owned()).filter(|user| !user.is_empty())
}

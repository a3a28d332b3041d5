//! Asking at a terminal for the password that a server wants.

use std::time::Duration;

use fathom_core::network::{LoginWanted, log_in, login_wanted};
use fathom_core::request::Job;
use fathom_core::storage::Target;

use crate::question::{Interrupted, Questions};

/// How often it is looked whether a server has answered, or the program has to end.
const TURN: Duration = Duration::from_millis(5);

/// Asks once for the first server that lets nobody in without a password, if there is a terminal and none was
/// given. Who types nothing goes on without, and reads what the server says.
pub fn ask(job: &Job, questions: &Questions<'_>) -> Result<(), Interrupted> {
    if !questions.can_be_asked() {
        return Ok(());
    }
    let targets = job.profile().time_spans.iter().flat_map(|span| &span.targets);
    let remotes = targets.filter_map(|target| match &target.path {
        Target::Network(remote) => Some(remote),
        _ => None,
    });
    let remotes: Vec<_> = remotes.filter(|remote| remote.protocol.has_users()).cloned().collect();
    if remotes.is_empty() {
        return Ok(());
    }
    // A server that takes its time keeps nobody from ending the program, and this thread with it.
    let looking = std::thread::spawn(move || remotes.iter().find_map(login_wanted));
    while !looking.is_finished() {
        if questions.is_over() {
            return Err(Interrupted);
        }
        std::thread::sleep(TURN);
    }
    let wanted = looking.join().ok().flatten();
    wanted.map_or(Ok(()), |wanted| ask_for(&wanted, questions))
}

fn ask_for(wanted: &LoginWanted, questions: &Questions<'_>) -> Result<(), Interrupted> {
    let user = match &wanted.user {
        Some(user) => Some(user.clone()),
        None => questions.ask_openly(&format!("User on {}: ", wanted.server))?,
    };
    let Some(user) = user.filter(|user| !user.is_empty()) else { return Ok(()) };
    let question = format!("Password of {user} on {}: ", wanted.server);
    if let Some(password) = questions.ask_secretly(&question)? {
        log_in(&user, password);
    }
    Ok(())
}

//! `diskspd`: measure storage, with the command line and the results of Microsoft's `DiskSpd`.
#![forbid(unsafe_code)]

mod destination;
mod leave;
mod live;
mod login;
mod output;
mod patience;
mod progress;
mod question;
mod run;
mod whole_file;

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use fathom_core::dialect::diskspd::manual;
use fathom_core::dialect::diskspd::parse::{
    Act, DoctorRequest, Invocation, Outside, ParseError, parse,
};
use fathom_core::dialect::diskspd::profile_xml;
use fathom_core::report::json;
use fathom_core::shown::from_os;
use fathom_sys::event::NamedEvent;
use fathom_sys::privileges;

use destination::Beside;
use output::{Code, complain, print};
use patience::Enter;

/// That of musl serves many threads one after the other, and waits in a loop: a thousand threads took half
/// a minute to end.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    // Before any other thread begins, since privileges are a thread's own.
    if let Err(error) = privileges::drop_unneeded() {
        complain(&format!(
            "WARNING: privileges that are not needed could not be given up: {error}"
        ));
    }
    run::survive_file_size_limit();
    match ask() {
        Ok(invocation) => act(invocation),
        Err(error) => {
            for warning in &error.warnings {
                complain(&format!("WARNING: {warning}"));
            }
            for sentence in &error.errors {
                complain(&format!("ERROR: {sentence}"));
            }
            Code::Invalid.into()
        }
    }
}

/// What the command line asks for.
fn ask() -> Result<Invocation, ParseError> {
    let not_text =
        |arg: OsString| ParseError::from(format!("argument '{}' is not UTF-8 text", from_os(&arg)));
    let args = std::env::args_os().skip(1).map(|arg| arg.into_string().map_err(not_text));
    let args = args.collect::<Result<Vec<_>, _>>()?;
    let outside = Outside { read_file: &read_profile, fresh_seed: run::fresh_seed() };
    parse(&args, &outside)
}

/// The bytes of a profile, however long its file is waited for.
fn read_profile(path: &Path) -> io::Result<Vec<u8>> {
    let (doing, path) = (format!("read the profile '{}'", path.display()), path.to_owned());
    let read = move |_: Enter<'_>| profile_xml::read_file(&path);
    patience::wait(&doing, None, &AtomicBool::new(false), read)
        .unwrap_or_else(|timed_out| Err(io::Error::other(timed_out.to_string())))
}

fn act(invocation: Invocation) -> ExitCode {
    match invocation {
        Invocation::Nothing => {
            print(&manual::usage());
            Code::Invalid.into()
        }
        Invocation::Usage => print(&manual::usage()),
        Invocation::Version => print(&output::version()),
        Invocation::ListDisks => print(&output::disks()),
        Invocation::Doctor(request) => doctor(&request),
        Invocation::ShowSystem(format) => print(&output::system(format)),
        Invocation::SignalEvent(event) => signal(&event),
        Invocation::VerifyOnly(request) => run::verify_only(&request),
        Invocation::Run(command) => {
            for warning in &command.warnings {
                complain(&format!("WARNING: {warning}"));
            }
            match command.act {
                Act::Run => run::run(&command.job),
                Act::ShowProfile => print(&output::profile(&command.job)),
                Act::Explain => run::explain(&command.job),
            }
        }
    }
}

/// Looks at the machine, and tells what slows a measurement there.
fn doctor(request: &DoctorRequest) -> ExitCode {
    let targets = request.targets.iter().map(String::as_str);
    let destination =
        match destination::destination(request.json_file.as_deref(), targets, Beside::default()) {
            Ok(destination) => destination,
            Err(code) => return code,
        };
    let (targets, looked) = (request.targets.clone(), AtomicBool::new(false));
    let names = targets.iter().map(|target| format!("'{target}'")).collect::<Vec<_>>().join(", ");
    let doing = if names.is_empty() {
        "look at this machine".to_owned()
    } else {
        format!("look at {names}")
    };
    // It asks nothing of a file system, and lasts as long as others take the CPUs.
    let cost = fathom_core::doctor::cost::measure();
    let examine = move |_: Enter<'_>| fathom_core::doctor::examine(&targets, cost);
    let diagnosis = match patience::wait(&doing, None, &looked, examine) {
        Ok(diagnosis) => diagnosis,
        Err(timed_out) => {
            complain(&format!("ERROR: {timed_out}"));
            return Code::Failed.into();
        }
    };
    let printed = print(&output::diagnosis(&diagnosis, request.format));
    let text = json::write_diagnosis(&diagnosis);
    output::save(destination, &text, &run::stop_flag()).unwrap_or(printed)
}

/// Signals an event that a running process uses.
fn signal(event: &str) -> ExitCode {
    match NamedEvent::open_existing(event) {
        Ok(event) => {
            event.set();
            ExitCode::SUCCESS
        }
        Err(error) => {
            complain(&format!("ERROR: {error}"));
            Code::Failed.into()
        }
    }
}

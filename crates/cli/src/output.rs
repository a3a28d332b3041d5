//! What goes to standard output and standard error, and the exit codes.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fathom_core::dialect::diskspd::number::show_size;
use fathom_core::dialect::diskspd::{profile_text, profile_xml, result_text, result_xml, system};
use fathom_core::doctor::Diagnosis;
use fathom_core::explain::Explanation;
use fathom_core::report::{doctor, explain, json};
use fathom_core::request::{Job, ResultFormat};
use fathom_core::result::RunResult;
use fathom_core::run::look_at_system;
use fathom_core::shown::{from_os, shown};
use fathom_sys::clock::now_ns;

use crate::destination::Destination;
use crate::patience;
use crate::run::leave_flag;
use crate::whole_file::Place;

/// Exit codes; they are documented in the usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// The run failed.
    Failed = 1,
    /// Refused, to protect data.
    Refused = 2,
    /// The command line or the profile is wrong.
    Invalid = 3,
    /// Verification found faults.
    Faulty = 4,
    /// No I/O completed.
    NoIo = 5,
    /// Verification found no fault, but its journal is damaged.
    JournalDamaged = 6,
    /// The run was interrupted.
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// Writes to standard output. A reader that has gone away is no error of ours.
pub fn print(text: &str) -> ExitCode {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            complain(&format!("ERROR: cannot write the result to standard output: {error}"));
            Code::Failed.into()
        }
        _ => ExitCode::SUCCESS,
    }
}

/// Writes a line to standard error, as people see it. If nobody reads it, there is nobody to tell.
pub fn complain(line: &str) {
    let line = shown(line);
    let _written = writeln!(io::stderr().lock(), "{line}");
}

/// The version, and whose behaviour it follows.
pub fn version() -> String {
    format!("diskspd (Fathom) {}, compatible with DiskSpd 2.2.0\n", env!("CARGO_PKG_VERSION"))
}

/// The profile in the form that was requested.
pub fn profile(job: &Job) -> String {
    let profile = job.profile();
    match profile.format {
        ResultFormat::Text => profile_text::write(profile, &job.command_line),
        ResultFormat::Xml => profile_xml::write(profile),
        ResultFormat::Json => json::write_profile(profile),
    }
}

/// The result in the form that was requested.
pub fn result(result: &RunResult) -> String {
    match result.request.profile.format {
        ResultFormat::Text => result_text::write(result),
        ResultFormat::Xml => result_xml::write(result),
        ResultFormat::Json => json::write(result),
    }
}

/// What was found about the machine.
pub fn diagnosis(diagnosis: &Diagnosis, format: ResultFormat) -> String {
    match format {
        ResultFormat::Json => json::write_diagnosis(diagnosis),
        ResultFormat::Text | ResultFormat::Xml => doctor::write(diagnosis),
    }
}

/// What a run would do.
pub fn explanation(explanation: &Explanation, format: ResultFormat) -> String {
    match format {
        ResultFormat::Json => json::write_explanation(explanation),
        ResultFormat::Text | ResultFormat::Xml => explain::write(explanation),
    }
}

/// Writes JSON where it was requested; the exit code if that failed. Once `stop` is true, nobody who does not
/// read is waited for any longer.
pub fn save(destination: Destination, text: &str, stop: &AtomicBool) -> Option<ExitCode> {
    match destination {
        Destination::None => None,
        Destination::Stdout => Some(print(text)).filter(|code| *code != ExitCode::SUCCESS),
        Destination::File(place) => save_to_file(place, json::sealed(text)),
        Destination::Stream(path, stream) => {
            Some(not_saved(&path, &pour(&stream, text.as_bytes(), stop).err()?))
        }
    }
}

/// Writes JSON to a file. One that does not answer is waited for until somebody ends that: there is no second
/// result.
fn save_to_file(place: Place, text: String) -> Option<ExitCode> {
    let path = place.path().to_owned();
    let doing = format!("write the JSON result to '{}'", path.display());
    let written =
        patience::wait(&doing, None, &leave_flag(), move |_| place.write(text.as_bytes()));
    let written = written.unwrap_or_else(|timed_out| Err(io::Error::other(timed_out.to_string())));
    Some(not_saved(&path, &written.err()?))
}

fn not_saved(path: &Path, error: &io::Error) -> ExitCode {
    complain(&format!("ERROR: cannot write the JSON result to '{}': {error}", path.display()));
    Code::Failed.into()
}

/// Writes to a pipe or a device that takes what it has room for and does not wait itself.
fn pour(mut pipe: &File, mut bytes: &[u8], stop: &AtomicBool) -> io::Result<()> {
    const PAUSE: Duration = Duration::from_millis(5);
    /// Whoever pressed Ctrl-C waits for it.
    const PATIENCE_NS: u64 = 2_000_000_000;
    let mut since_ns: Option<u64> = None;
    while !bytes.is_empty() {
        match pipe.write(bytes) {
            Ok(length) => {
                bytes = &bytes[length..];
                since_ns = None;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let is_asked = stop.load(Ordering::Relaxed);
                if is_asked && now_ns() - *since_ns.get_or_insert_with(now_ns) > PATIENCE_NS {
                    return Err(io::Error::other(
                        "its reader takes no more, and the run was ended",
                    ));
                }
                std::thread::sleep(PAUSE);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// What this host is, in the form that was requested.
pub fn system(format: ResultFormat) -> String {
    let report = look_at_system();
    match format {
        ResultFormat::Text => system::text(&report),
        ResultFormat::Xml => system::xml(&report),
        ResultFormat::Json => json::write_system(&report),
    }
}

/// The whole disks of this machine, in the order of their numbers.
pub fn disks() -> String {
    let mut text =
        format!("{:<8}{:<18}{:>10}  {:<26}serial\n", "number", "device", "size", "model");
    let disks = fathom_sys::device::disks();
    for (number, disk) in disks.iter().enumerate() {
        let size = show_size(disk.size_bytes);
        let model = shown(disk.model.as_deref().unwrap_or("-"));
        let serial = shown(disk.serial.as_deref().unwrap_or("-"));
        let path = shown(&from_os(disk.path.as_os_str())).into_owned();
        text.push_str(&format!("#{number:<7}{path:<18}{size:>10}  {model:<26}{serial}\n"));
        for user in users(disk) {
            text.push_str(&format!("        in use: {user}\n"));
        }
    }
    if disks.is_empty() {
        text.push_str("(no disks)\n");
    }
    text
}

/// Who uses a disk, so that it must not be written.
fn users(disk: &fathom_sys::device::Disk) -> Vec<String> {
    let mounts = disk
        .mount_points
        .iter()
        .map(|mount| format!("mounted on {}", shown(&from_os(mount.as_os_str()))));
    let holders = disk.holders.iter().map(|holder| format!("held by {}", shown(holder)));
    mounts.chain(holders).chain(disk.is_swap.then(|| "swap".to_owned())).collect()
}

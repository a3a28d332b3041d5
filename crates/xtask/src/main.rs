//! The project's own chores: `generate`, `check-generated`, `tidy`.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a tool for the terminal")]

mod generate;
mod python;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let root = root();
    let chore = std::env::args().nth(1).unwrap_or_default();
    let (faults, summary) = match chore.as_str() {
        "generate" => (generate::write_all(&root), "written".to_owned()),
        "check-generated" => (generate::check_all(&root), "up to date".to_owned()),
        "tidy" => {
            let findings = tidy::check_all(&root);
            (findings.faults, findings.summary)
        }
        _ => (vec!["usage: xtask generate | check-generated | tidy".to_owned()], String::new()),
    };
    for fault in &faults {
        eprintln!("{fault}");
    }
    if !faults.is_empty() {
        return ExitCode::FAILURE;
    }
    println!("{chore}: {summary}");
    ExitCode::SUCCESS
}

/// The top of the checkout.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

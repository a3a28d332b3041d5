//! The project's own chores: `generate`, `check-generated`, `tidy`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a tool for the terminal")]

mod generate;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let root = root();
    let chore = std::env::args().nth(1).unwrap_or_default();
    let faults = match chore.as_str() {
        "generate" => generate::write_all(&root),
        "check-generated" => generate::check_all(&root),
        "tidy" => tidy::check_all(&root),
        _ => vec!["usage: xtask generate | check-generated | tidy".to_owned()],
    };
    for fault in &faults {
        eprintln!("{fault}");
    }
    if faults.is_empty() {
        println!("{chore}: ok");
        return ExitCode::SUCCESS;
    }
    ExitCode::FAILURE
}

/// The top of the checkout.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

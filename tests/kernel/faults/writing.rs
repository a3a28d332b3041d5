//! A run whose process may not end for as long as its target hangs, read as it writes.

use std::io::Read;
use std::process::{Child, Command, Stdio};

/// A run, and what it has written so far.
pub struct Writing {
    pub child: Child,
    written: String,
}

impl Writing {
    pub fn start(mut command: Command) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Self { child, written: String::new() }
    }

    /// Reads what the run writes up to this mark, which comes while the target still hangs. It is not read to
    /// the end of the stream: the kernel keeps that open for as long as a thread is in an I/O that it cannot
    /// give up.
    pub fn read_to(&mut self, mark: &str) {
        let mut piece = [0; 4096];
        while !self.written.contains(mark) {
            let count = self.child.stdout.as_mut().unwrap().read(&mut piece).unwrap();
            if count == 0 {
                let mut told = String::new();
                self.child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
                panic!("no '{mark}': {}{told}", self.written);
            }
            self.written.push_str(std::str::from_utf8(&piece[..count]).unwrap());
        }
    }

    /// Waits until the process ends, for which the target must answer again: all of its result, what it said,
    /// and its exit code.
    pub fn end(mut self) -> (String, String, Option<i32>) {
        let output = self.child.wait_with_output().unwrap();
        self.written.push_str(std::str::from_utf8(&output.stdout).unwrap());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        (self.written, told, output.status.code())
    }
}

//! Showing a run while it is under way: steps, dots, and a bar while files are filled.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;

use fathom_core::measure::Event;
use fathom_core::shown::shown;
use indicatif::{ProgressBar, ProgressStyle};

use crate::live::{self, Second};
use crate::output::complain;

/// Shows events. Steps and dots go to standard output as in `DiskSpd`, unless a machine reads it.
pub struct Progress {
    to_stdout: bool,
    verbose: bool,
    bar: Mutex<Option<ProgressBar>>,
}

impl Progress {
    /// `for_people` if the result goes to standard output as text.
    pub fn new(for_people: bool, verbose: bool) -> Self {
        Self { to_stdout: for_people, verbose, bar: Mutex::new(None) }
    }

    /// Shows one event.
    pub fn show(&self, event: &Event) {
        match event {
            Event::Step(words) if self.verbose => {
                let now = jiff::Zoned::now().strftime("%Y-%m-%dT%H:%M:%S");
                self.write(&format!("{now}: {}\n", shown(words)));
            }
            Event::Progress => self.write("."),
            Event::Live { second, ios, bytes, in_flight, latency, .. } => {
                complain(&live::line(&Second {
                    number: *second,
                    ios: *ios,
                    bytes: *bytes,
                    in_flight: *in_flight,
                    latency_ns: [0.5, 0.99, 0.999].map(|quantile| latency.quantile_ns(quantile)),
                }));
            }
            Event::Filling { name, done_bytes, total_bytes } => {
                self.fill("creating", name, *done_bytes, *total_bytes);
            }
            Event::Verifying { name, done_bytes, total_bytes } => {
                self.fill("verifying", name, *done_bytes, *total_bytes);
            }
            _ => {}
        }
    }

    fn write(&self, text: &str) {
        // A reader that has gone away must not end the measurement.
        let _written = if self.to_stdout {
            let mut out = io::stdout().lock();
            out.write_all(text.as_bytes()).and_then(|()| out.flush())
        } else {
            io::stderr().lock().write_all(text.as_bytes())
        };
    }

    fn fill(&self, doing: &str, name: &str, done_bytes: u64, total_bytes: u64) {
        if !io::stderr().is_terminal() {
            return;
        }
        let Ok(mut bar) = self.bar.lock() else { return };
        let shown = bar.get_or_insert_with(|| new_bar(doing, name, total_bytes));
        shown.set_position(done_bytes);
        if done_bytes >= total_bytes {
            shown.finish_and_clear();
            *bar = None;
        }
    }
}

fn new_bar(doing: &str, name: &str, total_bytes: u64) -> ProgressBar {
    let bar = ProgressBar::new(total_bytes).with_message(format!("{doing} {}", shown(name)));
    let form = "{msg} [{bar:30}] {bytes} of {total_bytes}, {binary_bytes_per_sec}, {eta} left";
    match ProgressStyle::with_template(form) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

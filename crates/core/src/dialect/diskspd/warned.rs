//! What `DiskSpd` warns of on standard error during a run, in its words: scripts look for them there.

use std::collections::BTreeSet;

use crate::result::RunResult;

/// The lines for standard error, without the word `WARNING`; each once.
#[must_use]
pub fn lines(result: &RunResult) -> Vec<String> {
    let mut known = BTreeSet::new();
    let requested = result.request.profile.time_spans.iter();
    let spans = requested.zip(&result.time_spans);
    let targets = spans.flat_map(|(asked, span)| asked.targets.iter().zip(&span.targets));
    targets
        .filter(|(asked, found)| asked.limit_bytes > found.size_bytes)
        .map(|(asked, found)| {
            let (size_bytes, limit_bytes) = (found.size_bytes, asked.limit_bytes);
            format!("file size {size_bytes} is less than MaxFileSize {limit_bytes}")
        })
        .filter(|line| known.insert(line.clone()))
        .collect()
}

//! An explanation as text: the verdict first, then files, targets, and what could not be seen.

use crate::dialect::diskspd::number::show_size;
use crate::explain::{
    ExplainedDevice, ExplainedTarget, ExplainedVerdict, Explanation, Fate, FileToMake,
};
use crate::shown;

/// The explanation, for people.
#[must_use]
pub fn write(explanation: &Explanation) -> String {
    let plain = shown::of(explanation);
    let explanation = plain.as_ref().unwrap_or(explanation);
    let verdict = if explanation.would_run { "would go ahead" } else { "would be refused" };
    let mut text = format!(
        "{}\nThis run {verdict}. It takes at most {:.0} s, without the making of files.\n",
        explanation.command_line, explanation.duration_s
    );
    if !explanation.files.is_empty() {
        text.push_str("\nFiles to make:\n");
        text.extend(explanation.files.iter().map(file));
    }
    for one in &explanation.targets {
        text.push_str(&target(one));
    }
    for note in &explanation.notes {
        text.push_str(&format!("\nNote: {note}\n"));
    }
    text.push_str("\nNothing was created or written.\n");
    text
}

fn file(file: &FileToMake) -> String {
    let fate = match file.fate {
        Fate::Kept => "kept as it is".to_owned(),
        Fate::Made => format!("made: {} bytes are written", file.write_bytes),
        Fate::Replaced => format!("made again: {} bytes are written", file.write_bytes),
    };
    let end = if file.is_removed { ", and it is removed when the run ends" } else { "" };
    let size = show_size(file.size_bytes);
    format!("  {} ({size}): {fate}{end}; {}\n", file.path, verdict(&file.verdict))
}

fn target(target: &ExplainedTarget) -> String {
    let use_of = if target.is_written { "written" } else { "only read" };
    let size = show_size(target.size_bytes);
    let mut lines = vec![
        ("is", format!("{}, {}, {size}", target.path, target.kind.replace('_', " "))),
        ("device", target.device.as_ref().map_or_else(|| "unknown".to_owned(), device)),
        (
            "use",
            format!("{use_of}, bytes {} to {}", target.range_start_bytes, target.range_end_bytes),
        ),
    ];
    if target.is_written {
        lines.push(("writes", amount(target)));
    }
    lines.push(("verdict", verdict(&target.verdict)));
    let lines: Vec<String> =
        lines.iter().map(|(name, words)| format!("  {name:<8} {words}\n")).collect();
    format!("\nTarget {} (time span {}):\n{}", target.name, target.time_span, lines.concat())
}

fn device(device: &ExplainedDevice) -> String {
    let label =
        |name: &str, value: &Option<String>| value.as_ref().map(|value| format!("{name}{value}"));
    let size = Some(show_size(device.size_bytes));
    let parts = [
        Some(device.path.clone()),
        size,
        label("", &device.model),
        label("serial ", &device.serial),
        label("wwn ", &device.wwn),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn amount(target: &ExplainedTarget) -> String {
    let writes = &target.writes;
    let Some(bytes) = writes.bytes_at_most else { return writes.bound.clone() };
    let wear = writes.drive_writes_at_most;
    let wear = wear.map(|wear| format!("; {wear:.3} drive writes")).unwrap_or_default();
    format!("at most {bytes} bytes ({}){wear}", writes.bound)
}

fn verdict(verdict: &ExplainedVerdict) -> String {
    if verdict.is_refused {
        format!("REFUSED: {}; {}", verdict.reason, verdict.remedy)
    } else {
        "allowed".to_owned()
    }
}

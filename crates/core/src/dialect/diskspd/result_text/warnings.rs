//! What a reader must know before believing the numbers, each with the target that it is about.

use crate::result::{RunResult, Warning};

/// The warnings in their order. Those with the same remedy stand together, and the remedy is reported once.
pub fn write_warnings(text: &mut String, result: &RunResult) {
    if result.warnings.is_empty() {
        return;
    }
    text.push_str("\nWarnings:\n");
    let with_span = result.time_spans.len() > 1;
    for group in groups(&result.warnings) {
        if let [one] = group[..] {
            text.push_str(&format!("- {}{} {}\n", about(one, with_span), one.evidence, one.remedy));
            continue;
        }
        for (index, one) in group.iter().enumerate() {
            let mark = if index == 0 { '-' } else { ' ' };
            text.push_str(&format!("{mark} {}{}\n", about(one, with_span), one.evidence));
        }
        text.push_str(&format!("  {}\n", group[0].remedy));
    }
}

/// Warnings of one kind with one remedy, in the order of the first of each.
fn groups(warnings: &[Warning]) -> Vec<Vec<&Warning>> {
    let mut groups: Vec<Vec<&Warning>> = Vec::new();
    for warning in warnings {
        let same = |group: &&mut Vec<&Warning>| {
            (group[0].kind, &group[0].remedy) == (warning.kind, &warning.remedy)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(warning),
            None => groups.push(vec![warning]),
        }
    }
    groups
}

/// Time span, if there are several, and target, as the head of a line.
fn about(warning: &Warning, with_span: bool) -> String {
    let span = warning.time_span.filter(|_| with_span);
    let span = span.map(|index| format!("timespan {}", index + 1));
    let parts: Vec<String> = span.into_iter().chain(warning.target.clone()).collect();
    if parts.is_empty() { String::new() } else { format!("{}: ", parts.join(", ")) }
}

//! Warnings in the text result.

use fathom_core::dialect::diskspd::result_text;
use fathom_core::measure::{Ending, SpanMeasurements};
use fathom_core::request::Request;
use fathom_core::result::assemble::{Provenance, assemble};
use fathom_core::result::{Host, RunResult, Warning, WarningKind};

use crate::plans::span;

fn warning(kind: WarningKind, target: Option<&str>, evidence: &str, remedy: &str) -> Warning {
    Warning {
        kind,
        target: target.map(str::to_owned),
        time_span: Some(0),
        evidence: evidence.to_owned(),
        remedy: remedy.to_owned(),
    }
}

fn result(warnings: Vec<Warning>, spans: usize) -> RunResult {
    let provenance = Provenance {
        command_line: "diskspd virtual".to_owned(),
        started_at_unix_s: 0,
        host: Host::default(),
    };
    let plan = span(1 << 20);
    let ended = || SpanMeasurements {
        measured_ns: 1_000_000_000,
        ..SpanMeasurements::nothing(Ending::Complete)
    };
    let measured: Vec<_> = (0..spans).map(|_| (&plan, ended())).collect();
    let result = assemble(provenance, &Request::default(), measured);
    RunResult { warnings, ..result }
}

fn lines(result: &RunResult) -> Vec<String> {
    let text = result_text::write(result);
    let (_, warnings) = text.split_once("\nWarnings:\n").unwrap();
    warnings.lines().map(str::to_owned).collect()
}

#[test]
fn a_warning_about_a_target_did_not_name_it() {
    let cached =
        |name| warning(WarningKind::PageCache, Some(name), "7 reads were cached.", "Use -Su.");
    let busy = warning(WarningKind::CoreSaturated, None, "CPU 1 was busy.", "Use larger blocks.");
    assert_eq!(
        lines(&result(vec![cached("a.dat"), busy], 1)),
        ["- a.dat: 7 reads were cached. Use -Su.", "- CPU 1 was busy. Use larger blocks."]
    );
}

#[test]
fn two_cached_files_gave_two_lines_that_looked_alike() {
    let cached = |name, evidence| warning(WarningKind::PageCache, Some(name), evidence, "Use -Su.");
    let found = vec![
        cached("a.dat", "7 reads were cached."),
        warning(WarningKind::ShortIo, Some("a.dat"), "2 reads were short.", "Look at it."),
        cached("b.dat", "9 reads were cached."),
    ];
    assert_eq!(
        lines(&result(found, 1)),
        [
            "- a.dat: 7 reads were cached.",
            "  b.dat: 9 reads were cached.",
            "  Use -Su.",
            "- a.dat: 2 reads were short. Look at it."
        ]
    );
}

#[test]
fn a_warning_did_not_name_its_time_span_among_several() {
    let mut second =
        warning(WarningKind::PageCache, Some("a.dat"), "7 reads were cached.", "Use -Su.");
    second.time_span = Some(1);
    assert_eq!(
        lines(&result(vec![second], 2)),
        ["- timespan 2, a.dat: 7 reads were cached. Use -Su."]
    );
}

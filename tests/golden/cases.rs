//! Every golden command line, in process: nothing is opened but the files that the case brings.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use fathom_core::dialect::diskspd::parse::{Act, Invocation, Outside, parse};
use fathom_core::dialect::diskspd::{profile_text, profile_xml};
use fathom_core::request::{Profile, ResultFormat};
use serde_json::Value;

use crate::deviations::DEVIATIONS;
use crate::golden::{folded_lines, golden_path, xml_tree};

struct Case {
    id: String,
    args: Vec<String>,
    mode: String,
    exit: i64,
    stdout: String,
    files: HashMap<String, Vec<u8>>,
}

fn cases() -> Vec<Case> {
    let lines = std::fs::read_to_string(golden_path("cases.jsonl")).unwrap();
    let case = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let args = value["args"].as_array().unwrap();
        let files = value["files"].as_object().cloned().unwrap_or_default();
        let bytes = |(name, text): (String, Value)| {
            (name, text.as_str().unwrap_or_default().as_bytes().to_vec())
        };
        Case {
            id: text("id"),
            args: args.iter().map(|arg| arg.as_str().unwrap().to_owned()).collect(),
            mode: text("mode"),
            exit: value["exit"].as_i64().unwrap(),
            stdout: text("stdout"),
            files: files.into_iter().map(bytes).collect(),
        }
    };
    lines.lines().map(case).collect()
}

fn answer(case: &Case) -> Result<Invocation, String> {
    let read = |path: &Path| {
        let file = case.files.get(path.to_str().unwrap());
        file.cloned().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    };
    let outside = Outside { read_file: &read, fresh_seed: 7 };
    parse(&case.args, &outside).map_err(|error| error.to_string())
}

/// What differs between the golden answer and ours; nothing if they agree.
fn difference(case: &Case) -> Option<String> {
    let answer = answer(case);
    match (case.mode.as_str(), answer) {
        ("error", Err(words)) if words.trim().is_empty() => Some("an error without words".into()),
        ("error", Err(_) | Ok(Invocation::SignalEvent(_))) => None,
        ("usage", Ok(Invocation::Usage)) if case.exit == 0 => None,
        ("usage", Ok(Invocation::Nothing)) if case.exit == 3 => None,
        (mode @ ("profile-xml" | "profile-text"), Ok(Invocation::Run(request))) => {
            if request.act != Act::ShowProfile {
                return Some("the profile would run instead of being shown".into());
            }
            let format = if mode == "profile-xml" { ResultFormat::Xml } else { ResultFormat::Text };
            if request.job.profile().format != format {
                return Some(format!("the format is {:?}", request.job.profile().format));
            }
            compare(mode, request.job.profile(), &request.job.command_line, &case.stdout)
        }
        (mode, other) => Some(format!("{mode} expected, but got {other:?}")),
    }
}

fn compare(mode: &str, profile: &Profile, command_line: &str, golden: &str) -> Option<String> {
    let (ours, theirs) = if mode == "profile-xml" {
        // The real tool does not escape paths, which makes some golden texts ill-formed.
        let golden = golden.replace("a&b<c>", "a&amp;b&lt;c&gt;");
        (xml_tree(&profile_xml::write(profile)).unwrap(), xml_tree(&golden).unwrap())
    } else {
        let ours = profile_text::write(profile, command_line);
        (folded_lines(&ours), folded_lines(golden))
    };
    let differing = ours.iter().zip(&theirs).find(|(ours, theirs)| ours != theirs);
    match differing {
        Some((ours, theirs)) => Some(format!("ours {ours}, golden {theirs}")),
        None if ours.len() == theirs.len() => None,
        None => Some(format!("{} lines instead of {}", ours.len(), theirs.len())),
    }
}

#[test]
fn all_738_command_lines_are_answered_as_diskspd_answers_them() {
    let cases = cases();
    assert_eq!(cases.len(), 738);
    let listed: HashMap<&str, &str> = DEVIATIONS.iter().copied().collect();
    let mut wrong = Vec::new();
    for case in &cases {
        match (difference(case), listed.contains_key(case.id.as_str())) {
            (Some(difference), false) => wrong.push(format!("{}: {difference}", case.id)),
            (None, true) => wrong.push(format!("{}: agrees, but is listed", case.id)),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_listed_deviation_is_a_golden_case_with_a_reason() {
    let cases = cases();
    for (id, reason) in DEVIATIONS {
        assert!(cases.iter().any(|case| case.id == *id), "{id} is not a golden case");
        assert!(reason.len() > 20, "{id} has no reason");
    }
}

#[test]
fn every_golden_profile_survives_writing_and_reading() {
    for case in cases().iter().filter(|case| case.mode.starts_with("profile")) {
        let Ok(Invocation::Run(request)) = answer(case) else { continue };
        let xml = profile_xml::write(request.job.profile());
        let read_back = profile_xml::read(&xml).map_err(|error| format!("{}: {error}", case.id));
        assert_eq!(read_back.as_ref(), Ok(request.job.profile()), "{}", case.id);
    }
}

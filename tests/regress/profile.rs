//! Profiles in XML.

use std::path::Path;

use fathom_core::dialect::diskspd::parse::{Invocation, Outside, parse};
use fathom_core::request::Profile;

/// The answer to `-Rpxml -Xp.xml` and these targets.
fn ask(xml: &str, targets: &[&str]) -> Result<Profile, String> {
    ask_bytes(xml.as_bytes(), targets)
}

fn ask_bytes(xml: &[u8], targets: &[&str]) -> Result<Profile, String> {
    let read = |_: &Path| Ok(xml.to_vec());
    let outside = Outside { read_file: &read, fresh_seed: 1 };
    let args: Vec<String> =
        ["-Rpxml", "-Xp.xml"].iter().chain(targets).map(|&arg| arg.to_owned()).collect();
    match parse(&args, &outside) {
        Ok(Invocation::Run(command)) => Ok(command.job.request.profile),
        other => Err(other.map_or_else(|error| error.to_string(), |other| format!("{other:?}"))),
    }
}

fn with_targets(head: &str, targets: &str) -> String {
    format!(
        "<Profile><TimeSpans>\n<TimeSpan>{head}<Targets>{targets}</Targets></TimeSpan></TimeSpans>\
         </Profile>"
    )
}

fn target(inside: &str) -> String {
    format!("\n<Target>{inside}</Target>")
}

#[test]
fn random_write_data_was_an_unknown_element() {
    let targets = target("<Path>a</Path>") + &target("<Path>b</Path>");
    for (text, fresh) in [("true", true), ("1", true), ("false", false)] {
        let head = format!("<RandomWriteData>{text}</RandomWriteData>");
        let profile = ask(&with_targets(&head, &targets), &[]).unwrap();
        let written = fathom_core::dialect::diskspd::profile_xml::write(&profile);
        let again = ask(&written, &[]).unwrap();
        for profile in [profile, again] {
            let targets = &profile.time_spans[0].targets;
            assert!(targets.iter().all(|target| target.write_data.fresh_random == fresh), "{text}");
        }
    }
}

#[test]
fn a_template_without_a_substitute_was_left_as_it_is() {
    let xml = with_targets("", &(target("<Path>*1</Path>") + &target("<Path>*2</Path>")));
    let paths = |targets: &[&str]| {
        let profile = ask(&xml, targets)?;
        Ok(profile.time_spans[0].targets.iter().map(|target| target.path.to_string()).collect())
    };
    assert_eq!(paths(&["a", "b"]), Ok(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(paths(&[]), Ok(vec!["*1".to_owned(), "*2".to_owned()]));
    let words: Result<Vec<String>, String> = paths(&["a"]);
    let words = words.unwrap_err();
    assert!(words.contains("line 4") && words.contains("*2"), "{words}");
}

#[test]
fn paths_that_begin_with_a_star_were_taken_for_files() {
    for path in ["*", "*0", "*+1", "*-1", "*1a", "*a"] {
        let words =
            ask(&with_targets("", &target(&format!("<Path>{path}</Path>"))), &[]).unwrap_err();
        assert!(words.contains("p.xml") && words.contains("line 3"), "{path}: {words}");
    }
}

#[test]
fn only_the_first_unused_substitute_was_told() {
    let words = ask(&with_targets("", &target("<Path>*2</Path>")), &["a", "b", "c"]).unwrap_err();
    assert!(words.contains("*1") && words.contains("*3") && !words.contains("*2"), "{words}");
}

#[test]
fn a_stride_beside_a_random_alignment_was_ignored() {
    for random in ["<Random>4096</Random>", "<RandomRatio>30</RandomRatio>"] {
        let inside = format!("<Path>a</Path>{random}\n<StrideSize>8192</StrideSize>");
        let words = ask(&with_targets("", &target(&inside)), &[]).unwrap_err();
        assert!(words.contains("line 4") && words.contains("StrideSize"), "{words}");
    }
}

#[test]
fn the_error_about_another_root_element_named_no_line() {
    let words = ask("<!-- a comment -->\n\n<Settings/>", &[]).unwrap_err();
    assert!(words.contains("p.xml") && words.contains("line 3"), "{words}");
    assert!(words.contains("<Settings>"), "{words}");
}

#[test]
fn an_error_found_after_reading_named_neither_file_nor_line() {
    let good = target("<Path>a</Path>");
    let bad = target("<Path>b</Path><BurstSize>3</BurstSize>");
    let words = ask(&with_targets("", &(good + &bad)), &[]).unwrap_err();
    assert!(words.contains("profile 'p.xml': line 4: "), "{words}");
}

#[test]
fn what_a_terminal_acts_on_came_back_from_the_name_of_an_event_as_a_reference() {
    for name in ["a\u{7f}b", "a\u{85}\u{202e}b", "&#127;", "a&b&", "<a>\"&amp;", "&&;"] {
        let read = |_: &Path| Ok(Vec::new());
        let outside = Outside { read_file: &read, fresh_seed: 1 };
        let args = ["-Rpxml".to_owned(), format!("-yr{name}"), "t".to_owned()];
        let Ok(Invocation::Run(request)) = parse(&args, &outside) else { panic!("{name:?}") };
        let written = fathom_core::dialect::diskspd::profile_xml::write(request.job.profile());
        let again = ask(&written, &[]).unwrap();
        assert_eq!(again.events.wait.as_deref(), Some(name), "{written}");
    }
}

#[test]
fn a_random_ratio_of_0_made_a_random_profile_sequential() {
    for (ratio, words) in [("0", "<StrideSize>"), ("100", "<Random> alone"), ("101", "1 to 99")] {
        let inside =
            format!("<Path>a</Path>\n<Random>4096</Random>\n<RandomRatio>{ratio}</RandomRatio>");
        let error = ask(&with_targets("", &target(&inside)), &[]).unwrap_err();
        assert!(error.contains("line 5: <RandomRatio>") && error.contains(words), "{error}");
    }
    for ratio in [1, 99] {
        let inside = format!("<Path>a</Path><RandomRatio>{ratio}</RandomRatio>");
        let profile = ask(&with_targets("", &target(&inside)), &[]).unwrap();
        assert_eq!(profile.time_spans[0].targets[0].access.random_percent, ratio);
    }
}

#[test]
fn a_profile_that_powershell_redirected_was_refused() {
    let xml = with_targets("", &target("<Path>größe.dat</Path>"));
    let plain = ask(&xml, &[]);
    assert!(plain.is_ok(), "{plain:?}");
    let marked = format!("\u{feff}{xml}");
    let little: Vec<u8> = marked.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = marked.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for bytes in [little, big] {
        assert_eq!(ask_bytes(&bytes, &[]), plain);
    }
}

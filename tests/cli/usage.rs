//! Usage, version, lists, and outputs that nobody reads.

use std::collections::HashSet;
use std::process::{Command, Output, Stdio};

use fathom_core::dialect::diskspd::flags;
use fathom_core::dialect::diskspd::parse::{Invocation, Outside, parse};

fn diskspd(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_diskspd")).args(args).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn help_is_code_0_and_no_arguments_are_code_3_with_the_usage() {
    for args in [&["-?"][..], &["--help"]] {
        let output = diskspd(args);
        assert_eq!(output.status.code(), Some(0));
        assert!(stdout(&output).starts_with("Usage: diskspd"));
    }
    let output = diskspd(&[]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stdout(&output).starts_with("Usage: diskspd"));
}

#[test]
fn the_usage_names_every_option() {
    let usage = stdout(&diskspd(&["-?"]));
    for flag in flags::all() {
        assert!(usage.contains(flag.form) && usage.contains(flag.short), "{}", flag.form);
    }
}

/// It listed `-ag#`, which is refused: a group alone has no CPU.
#[test]
fn the_usage_listed_a_group_without_its_cpus() {
    let usage = stdout(&diskspd(&["-?"]));
    assert!(usage.contains("| -ag |") && !usage.contains("-ag# |"), "{usage}");
    assert_eq!(diskspd(&["-Rptext", "-ag0", "t.dat"]).status.code(), Some(3));
    assert_eq!(diskspd(&["-Rptext", "-ag", "t.dat"]).status.code(), Some(0));
}

/// The longest forms were justified, and broken with a hyphen that looked like one of theirs.
#[test]
fn the_manual_page_could_not_be_laid_out_without_a_warning() {
    const OPTIONS: [&str; 4] = ["-man", "-Tascii", "-P-cbou", "-ww"];
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/diskspd.1");
    let Ok(output) = Command::new("groff").args(OPTIONS).arg(page).output() else {
        #[expect(clippy::print_stderr, reason = "a test that cannot run says why")]
        {
            eprintln!("skipped: there is no groff here");
        }
        return;
    };
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(stdout(&output).contains("--read-pattern=<random|sequential|interlocked>"));
}

#[test]
fn a_template_target_is_shown_as_one() {
    let text = stdout(&diskspd(&["-Rptext", "*2"]));
    assert!(text.contains("\n\tpath: template target '2'\n"), "{text}");
}

#[test]
fn the_system_alone_is_shown_in_every_form() {
    let model = fathom_sys::cpu::model_name();
    for args in [&["-Rs"][..], &["-Rstext"]] {
        let text = stdout(&diskspd(args));
        for words in ["System information:", "cpu count:", "cache information:", &model] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(!text.contains("Results for timespan"));
    }
    let xml = stdout(&diskspd(&["-Rsxml"]));
    let document = roxmltree::Document::parse(&xml).unwrap();
    assert!(document.root_element().has_tag_name("System"));
    let caches = document.descendants().filter(|node| node.has_tag_name("Cache"));
    let json: serde_json::Value = serde_json::from_str(&stdout(&diskspd(&["-Rsjson"]))).unwrap();
    assert_eq!(json["host"]["cpu_model"], model);
    assert_eq!(json["caches"].as_array().unwrap().len(), caches.count());
    let output = diskspd(&["-Rs", "t.dat"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("only parameter"));
}

#[test]
fn version_and_disks_are_shown() {
    assert!(stdout(&diskspd(&["--version"])).contains(env!("CARGO_PKG_VERSION")));
    assert_eq!(diskspd(&["--list"]).status.code(), Some(0));
}

#[test]
fn an_unknown_long_option_proposes_the_nearest() {
    let output = diskspd(&["--engien=aio", "t.dat"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("--engine"), "{stderr}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_diskspd"))
        .arg("-?")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
}

#[test]
fn the_profile_as_json_is_json() {
    let output = diskspd(&["-Rpjson", "-b8K", "-r", "-w30", "nowhere.dat"]);
    let profile: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(profile["time_spans"][0]["targets"][0]["block_bytes"], 8192);
}

#[test]
fn every_option_of_diskspd_2_2_is_in_the_table_with_docs_and_an_example_that_parses() {
    let names: Vec<&str> = flags::all().map(|flag| flag.name).collect();
    let distinct: HashSet<&str> = names.iter().copied().collect();
    assert_eq!(names.len(), distinct.len());
    for name in [
        "?", ":", "a", "b", "B", "c", "C", "d", "D", "e", "f", "F", "g", "h", "i", "I", "j", "l",
        "L", "n", "N", "o", "O", "p", "P", "r", "rs", "rd", "R", "s", "S", "t", "T", "v", "w", "W",
        "x", "X", "ys", "yf", "yr", "yp", "ye", "z", "Z",
    ] {
        assert!(distinct.contains(name), "-{name} is missing");
    }
    for flag in flags::all() {
        let texts = [flag.short, flag.long, flag.form, flag.unit, flag.default, flag.example];
        assert!(texts.iter().all(|text| !text.is_empty()), "-{} lacks docs", flag.name);
        assert!(flag.form.starts_with('-') && flag.example.starts_with('-'));
    }
}

/// Options that others need beside them, so that their example parses.
fn company(name: &str) -> &'static [&'static str] {
    match name {
        "rd" | "-skew" => &["-r"],
        "T" => &["-t2"],
        "N" => &["-Sm"],
        "i" => &["-j5"],
        "j" => &["-i5"],
        "-arrivals" => &["--rate=5"],
        "-fsync" | "-fdatasync" => &["-w50"],
        "-stop-interval" => &["--stop-steady"],
        _ => &[],
    }
}

#[test]
fn every_example_of_the_table_parses_and_changes_what_is_asked_for() {
    let profile = b"<Profile><TimeSpans><TimeSpan><Duration>7</Duration><Targets><Target>\
                    <Path>*1</Path></Target>\
                    </Targets></TimeSpan></TimeSpans></Profile>";
    let outside = Outside { read_file: &|_| Ok(profile.to_vec()), fresh_seed: 1 };
    let ask = |args: &[&str]| {
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        // The command line itself always differs; what it asks for must differ too.
        parse(&args, &outside).map_err(|error| error.to_string()).map(|asked| match asked {
            Invocation::Run(mut request) => {
                request.job.command_line.clear();
                Invocation::Run(request)
            }
            other => other,
        })
    };
    for flag in flags::all() {
        let company = company(flag.name);
        let target = if flag.name == "-reconnect" { "nbd://host/" } else { "t.dat" };
        let example: Vec<&str> = flag.example.split_whitespace().collect();
        let with = [company, &example, &[target]].concat();
        let without = [company, &[target]].concat();
        let with = ask(&with).unwrap_or_else(|error| panic!("{}: {error}", flag.example));
        assert_ne!(Ok(with), ask(&without), "{} changes nothing", flag.example);
    }
}

/// A new option was lost in silence where a load was written for another tool.
#[test]
fn what_an_example_sets_for_a_run_is_written_as_that_example() {
    let outside = Outside { read_file: &|_| Ok(Vec::new()), fresh_seed: 1 };
    let ask = |args: &[&str]| {
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        match parse(&args, &outside) {
            Ok(Invocation::Run(command)) => Some(command.job.request.options),
            _ => None,
        }
    };
    let mut written = Vec::new();
    for flag in flags::all() {
        let company = company(flag.name);
        let example: Vec<&str> = flag.example.split_whitespace().collect();
        let with = ask(&[company, &example, &["t.dat"]].concat());
        let without = ask(&[company, &["t.dat"]].concat());
        let Some(options) = with.filter(|options| *options != without.unwrap_or_default()) else {
            continue;
        };
        let words = flags::option_words(&options);
        let name = flag.name;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        assert_eq!(words.last(), example.last(), "{name}: `written` of its entry");
        let beside = company.iter().chain(&example).copied().filter(|one| !words.contains(one));
        let again: Vec<&str> = words.iter().copied().chain(beside).chain(["t.dat"]).collect();
        assert_eq!(ask(&again), Some(options), "{name}");
        written.push(name);
    }
    assert!(written.len() >= 11, "{written:?}");
}

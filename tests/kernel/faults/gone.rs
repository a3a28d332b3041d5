//! Targets that go away, shrink or are deleted while they are used.

use std::fs::OpenOptions;
use std::process::{Command, Output};

use roxmltree::Document;
use serde_json::Value;

use super::fault_fs::{Answer, Kind};
use super::{faults, mount};
use crate::bench::{Bench, Ended, ios, records, sum};
use crate::devices::attached;

const ENODEV: i32 = 19;
const FORMS: [&str; 3] = ["-Rtext", "-Rxml", "-Rjson"];

fn words(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// Whether a result is whole in its form and says that it is a part only.
fn is_partial(form: &str, written: &str) -> bool {
    match form {
        "-Rtext" => written.contains("\ntotal:") && written.contains("was ended after"),
        "-Rxml" => Document::parse(written).is_ok() && written.contains("was ended after"),
        _ => {
            let result: Value = serde_json::from_str(written).unwrap();
            result["time_spans"][0]["outcome"] == "interrupted"
        }
    }
}

/// The count of one kind of fault, as a form tells it.
fn told(form: &str, written: &str, kind: &str) -> u64 {
    match form {
        "-Rtext" => {
            let row = written.lines().find(|line| line.contains(&format!("| {kind} "))).unwrap();
            row.split('|').filter_map(|cell| cell.trim().parse::<u64>().ok()).sum()
        }
        "-Rxml" => {
            let document = Document::parse(written).unwrap();
            let faults = document.descendants().filter(|node| node.has_tag_name("Fault"));
            let child = |node: roxmltree::Node, name: &str| {
                let found = node.children().find(|child| child.has_tag_name(name));
                found.and_then(|child| child.text()).unwrap_or_default().to_owned()
            };
            let of_kind = faults.filter(|fault| child(*fault, "Kind") == kind);
            let counts = ["Count", "OutsideCount"];
            let count = |fault, name| child(fault, name).parse::<u64>().unwrap();
            of_kind.map(|fault| counts.iter().map(|name| count(fault, name)).sum::<u64>()).sum()
        }
        _ => {
            let result: Value = serde_json::from_str(written).unwrap();
            ["read", "write"].map(|operation| faults(&result, operation, kind)).iter().sum()
        }
    }
}

#[test]
fn a_device_that_goes_away_is_counted_in_each_form() {
    let bench = Bench::new();
    let script = |number, _, _| if number >= 1_000 { Answer::Fail(ENODEV) } else { Answer::Whole };
    for engine in ["uring", "aio", "sync"] {
        for form in FORMS {
            let Some(system) = mount(script) else { return };
            let path = system.file();
            let options = format!("-W0 -d60 -b4K -r -o4 -t2 --engine={engine} --on-error=count=30");
            let output = bench.run(&format!("{options} {form} {}", path.display()));
            let (written, complaint) = words(&output);
            assert_eq!(output.status.code(), Some(1), "{engine} {form}: {complaint}");
            assert!(complaint.contains("No such device"), "{complaint}");
            assert!(is_partial(form, &written), "{engine} {form}: {written}");
            let failed = system.count(Kind::Read, Answer::Fail(ENODEV));
            assert_eq!(told(form, &written, "ENODEV"), failed, "{engine} {form}");
            assert!(failed >= 30, "{engine} {form}: {failed}");
            if form == "-Rjson" {
                let result: Value = serde_json::from_str(&written).unwrap();
                // What was in flight when the run ended is counted as such, and came back behind it.
                let at_end: u64 = records(&result, "read")
                    .filter_map(|record| record["edges"]["at_end"]["ios"].as_u64())
                    .sum();
                let counted = sum(&result, "read", "ios");
                let whole = system.count(Kind::Read, Answer::Whole);
                assert!((counted..=counted + at_end).contains(&whole), "{counted} of {whole}");
            }
        }
    }
}

/// Starts a run, does something to its target, and waits for its end.
fn during(bench: &Bench, args: &str, act: impl FnOnce()) -> Ended {
    let run = bench.start(args);
    act();
    run.wait()
}

#[test]
fn a_file_system_whose_server_dies_ends_the_run_with_a_partial_result() {
    let bench = Bench::new();
    for engine in ["uring", "aio", "sync"] {
        for form in FORMS {
            let Some(system) = mount(|_, _, _| Answer::Whole) else { return };
            let path = system.file();
            let args = format!("-W0 -d60 -b4K -r -o4 --engine={engine} {form} {}", path.display());
            let ended = during(&bench, &args, || system.die());
            assert_eq!(ended.code, Some(1), "{engine} {form}: {}", ended.stderr);
            assert!(is_partial(form, &ended.stdout), "{engine} {form}: {}", ended.stdout);
            let kinds = ["ENOTCONN", "ECONNABORTED", "EIO"];
            assert!(kinds.iter().any(|kind| ended.stdout.contains(kind)), "{}", ended.stdout);
            if form == "-Rjson" {
                let result: Value = serde_json::from_str(&ended.stdout).unwrap();
                // An answer that was under way when the connection broke may be lost, one for each slot.
                let lost = system.count(Kind::Read, Answer::Whole) - sum(&result, "read", "ios");
                assert!(lost <= 4, "{engine}: {lost}");
            }
        }
    }
}

#[test]
fn a_device_that_is_cut_short_is_told_in_each_form() {
    for form in FORMS {
        let (_turn, Some(device)) = attached() else { return };
        let bench = Bench::new();
        let args = format!("-W0 -d60 -b64K -r -o4 -Su {form} {}", device.name());
        let ended = during(&bench, &args, || {
            let backing = OpenOptions::new().write(true).open(device.image()).unwrap();
            backing.set_len(1 << 20).unwrap();
        });
        assert_eq!(ended.code, Some(1), "{form}: {}", ended.stderr);
        assert!(is_partial(form, &ended.stdout), "{form}: {}", ended.stdout);
        // One error ends the run; with four in flight, up to three more come back behind it.
        assert!((1..=4).contains(&told(form, &ended.stdout, "EIO")), "{}", ended.stdout);
    }
}

#[test]
fn a_device_that_is_detached_while_it_is_used_stays_until_the_end() {
    let (_turn, Some(device)) = attached() else { return };
    let bench = Bench::new();
    let args = format!("-W0 -d2 -b4K -r -Su -Rjson {}", device.name());
    let ended = during(&bench, &args, || {
        // The kernel detaches it when the last one has closed it (LO_FLAGS_AUTOCLEAR of loop(4)).
        assert!(Command::new("losetup").args(["-d", device.name()]).status().unwrap().success());
    });
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let result: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(result["time_spans"][0]["outcome"], "complete");
    assert!(ios(&result) > 0);
}

fn warnings(result: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let warnings = result["warnings"].as_array().unwrap().iter();
    warnings.map(|warning| (text(&warning["kind"]), text(&warning["evidence"]))).collect()
}

#[test]
fn a_file_that_is_deleted_is_used_to_the_end_and_that_is_told() {
    let bench = Bench::new();
    for (args, forms) in
        [("-r", &FORMS[..]), ("-r -w50 --overwrite", &["-Rjson"]), ("-r -Sm", &["-Rjson"])]
    {
        for form in forms {
            bench.fill("gone.dat", 8 << 20);
            let args = format!("-W0 -d2 -b4K {args} {form} gone.dat");
            let path = bench.path("gone.dat");
            let ended = during(&bench, &args, || std::fs::remove_file(&path).unwrap());
            assert_eq!(ended.code, Some(0), "{args}: {}", ended.stderr);
            assert!(ended.stdout.contains("deleted or renamed"), "{args}: {}", ended.stdout);
            assert!(!path.exists());
            if *form == "-Rjson" {
                let result: Value = serde_json::from_str(&ended.stdout).unwrap();
                let found = warnings(&result);
                assert!(found.iter().any(|(kind, _)| kind == "target_replaced"), "{found:?}");
            }
        }
    }
    // Nothing is reported of a target that stays.
    let result = bench.measure("-b4K -r t.dat");
    assert!(warnings(&result).iter().all(|(kind, _)| kind != "target_replaced"));
}

/// Most I/Os were short, yet the run ended well, and they were counted as if they were whole.
#[test]
fn break_10_a_file_that_is_cut_in_mid_run_ends_it() {
    let bench = Bench::new();
    for engine in ["uring", "aio", "sync"] {
        for form in FORMS {
            bench.fill("cut.dat", 8 << 20);
            let args = format!("-W0 -d60 -b4K -r -o4 -t2 --engine={engine} {form} cut.dat");
            let ended = during(&bench, &args, || cut(&bench, 4 << 20));
            assert_eq!(ended.code, Some(1), "{engine} {form}: {}", ended.stderr);
            assert!(is_partial(form, &ended.stdout), "{engine} {form}: {}", ended.stdout);
            // One short I/O ends the run; the others in flight come back behind it.
            assert!((1..=8).contains(&told(form, &ended.stdout, "short")), "{}", ended.stdout);
            for words in
                ["cut.dat' moved only 0 bytes", "it had 8388608 bytes", "s after the load began"]
            {
                assert!(ended.stderr.contains(words), "{engine}: {}", ended.stderr);
            }
            assert!(
                ended.stdout.contains("before the load, and has 4,194,304 now"),
                "{}",
                ended.stdout
            );
        }
    }
}

fn cut(bench: &Bench, bytes: u64) {
    let file = OpenOptions::new().write(true).open(bench.path("cut.dat")).unwrap();
    file.set_len(bytes).unwrap();
}

#[test]
fn a_load_that_goes_on_counts_short_ios_apart_from_the_others() {
    let bench = Bench::new();
    for engine in ["uring", "aio", "sync"] {
        bench.fill("cut.dat", 8 << 20);
        let options = format!("-r -o4 --engine={engine} --on-error=continue");
        let args = format!("-W0 -d2 -b4K {options} -Rjson cut.dat");
        // The last block that is there is there by a half.
        let ended = during(&bench, &args, || cut(&bench, (4 << 20) - 2048));
        assert_eq!(ended.code, Some(0), "{engine}: {}", ended.stderr);
        let result: Value = serde_json::from_str(&ended.stdout).unwrap();
        let [short, whole, bytes] =
            ["short_ios", "ios", "bytes"].map(|name| sum(&result, "read", name));
        assert!(short > 0 && whole > 0, "{engine}: {short} {whole}");
        // Behind the end nothing comes, of the last block a half does, and of the others all.
        let halves = bytes - whole * 4096;
        assert!(halves % 2048 == 0 && halves < short * 2048 && halves > 0, "{engine}: {halves}");
        assert!(faults(&result, "read", "short") >= short);
        for kind in ["short_io", "target_replaced"] {
            assert!(warnings(&result).iter().any(|(found, _)| found == kind), "{engine}: {kind}");
        }
    }
}

#[test]
fn a_file_that_is_punched_while_it_is_read_is_told() {
    let bench = Bench::new();
    bench.fill("cut.dat", 8 << 20);
    std::fs::File::open(bench.path("cut.dat")).unwrap().sync_all().unwrap();
    let path = bench.path("cut.dat");
    let ended = during(&bench, "-W0 -d2 -b4K -r -Rjson cut.dat", || {
        let punched =
            Command::new("fallocate").args(["-p", "-o", "1M", "-l", "4M"]).arg(&path).status();
        assert!(punched.unwrap().success());
    });
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let result: Value = serde_json::from_str(&ended.stdout).unwrap();
    let found = warnings(&result);
    let told: Vec<_> = found.iter().filter(|(_, words)| words.contains("punched")).collect();
    assert_eq!(told.len(), 1, "{found:?}");
    assert!(told[0].1.contains("50.0 % of its blocks (8 MiB before, 4 MiB after)"), "{told:?}");
}

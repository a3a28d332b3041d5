//! Where `--json=` may go: pipes, standard output, sockets, and results that somebody has added to.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use fathom_sys::clock::now_ns;
use serde_json::Value;

use crate::bench::{Bench, bytes};
use crate::unseen::apart;

const LOAD: &str = "-W0 -d30 -b4K --stop-ios=9 t.dat";
/// Behind this a command hangs.
const LONGEST_NS: u64 = 60_000_000_000;
/// `O_NONBLOCK` of Linux.
const NONBLOCK: i32 = 0o4000;

fn pipe(bench: &Bench) -> PathBuf {
    let path = bench.path("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_pipe_that_nobody_reads_held_the_run_up_for_ever() {
    let bench = Bench::new();
    let _pipe = pipe(&bench);
    let mut child = bench.command(&format!("--json=pipe {LOAD}"));
    let mut child = child.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let begun_ns = now_ns();
    while child.try_wait().unwrap().is_none() {
        if now_ns() - begun_ns > LONGEST_NS {
            child.kill().unwrap();
            panic!("it hangs");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
    assert!(told(&output).contains("a pipe that nobody reads"), "{}", told(&output));
}

#[test]
fn a_pipe_with_a_reader_gets_the_whole_result() {
    let bench = Bench::new();
    let pipe = pipe(&bench);
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        File::open(pipe).unwrap().read_to_string(&mut text).unwrap();
        text
    });
    // It waits for the pipe to be opened; a look that comes before it is refused.
    let begun_ns = now_ns();
    while bench.run(&format!("--json=pipe {LOAD}")).status.code() != Some(0) {
        assert!(now_ns() - begun_ns < LONGEST_NS);
    }
    let result: Value = serde_json::from_str(&reader.join().unwrap()).unwrap();
    assert_eq!(result["tool"]["name"], "Fathom diskspd");
}

#[test]
fn a_signal_did_not_end_a_run_whose_pipe_takes_no_more() {
    let bench = Bench::new();
    let path = pipe(&bench);
    let mut options = File::options();
    let mut full = options.read(true).write(true).custom_flags(NONBLOCK).open(path).unwrap();
    while !matches!(full.write(&[b'x'; 4096]), Err(error) if error.kind() == ErrorKind::WouldBlock)
    {
    }
    let mut command = bench.command(&format!("--json=pipe {LOAD}"));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // The text comes before the JSON.
    let mut text = [0; 1];
    child.stdout.as_mut().unwrap().read_exact(&mut text).unwrap();
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let begun_ns = now_ns();
    while child.try_wait().unwrap().is_none() {
        if now_ns() - begun_ns > LONGEST_NS {
            child.kill().unwrap();
            panic!("it hangs");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_ne!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn standard_output_takes_both_forms_also_where_it_is_a_file() {
    let bench = Bench::new();
    let place = bench.path("both");
    let mut command = bench.command(&format!("--json=/dev/stdout {LOAD}"));
    assert!(command.stdout(File::create(&place).unwrap()).status().unwrap().success());
    let text = fs::read_to_string(&place).unwrap();
    let json = text.find("\n{\n").map(|at| &text[at + 1..]).unwrap();
    assert!(serde_json::from_str::<Value>(json).is_ok() && text.contains("Command Line"), "{text}");
}

#[test]
fn what_takes_no_text_is_told_before_the_run() {
    let bench = Bench::new();
    let _listener = UnixListener::bind(bench.path("socket")).unwrap();
    for (place, words) in [("socket", "a socket"), (".", "a directory")] {
        let output = bench.run(&format!("--json={place} {LOAD}"));
        assert_eq!(output.status.code(), Some(3), "{place}");
        assert!(told(&output).contains(words) && output.stdout.is_empty(), "{}", told(&output));
    }
    let output = bench.run(&format!("--json=/dev/full {LOAD}"));
    assert_eq!(output.status.code(), Some(1));
    assert!(told(&output).contains("/dev/full"), "{}", told(&output));
}

#[test]
fn a_result_that_somebody_has_added_to_was_replaced() {
    let bench = Bench::new();
    let place = bench.path("r.json");
    let loads = ["", "-t2 -L -D --verify", "-w50 -r", "--explain"];
    for load in loads {
        let args = format!("--json=r.json {load} {LOAD}");
        let output = bench.run(&args);
        assert_eq!(output.status.code(), Some(0), "{args}: {}", told(&output));
    }
    let text = fs::read_to_string(&place).unwrap();
    let added = text.replacen('{', "{\n  \"notes\": \"mine\",", 1);
    assert_ne!(added, text);
    fs::write(&place, &added).unwrap();
    let output = bench.run(&format!("--json=r.json {LOAD}"));
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(bytes(&place) == added.as_bytes());
}

#[test]
fn a_result_that_somebody_has_edited_was_replaced() {
    let bench = Bench::new();
    let place = bench.path("r.json");
    let args = format!("--json=r.json {LOAD}");
    assert_eq!(bench.run(&args).status.code(), Some(0));
    let text = fs::read_to_string(&place).unwrap();
    let name = "\"host\": {\n    \"name\": \"";
    let edits = [
        text.replacen(name, &format!("{name}my own note: "), 1),
        text.replacen("{\n", "{\n  \"command_line\": \"my own note\",\n", 1),
        // One of an earlier version.
        format!("{}\n}}\n", &text[..text.rfind(",\n  \"checksum\"").unwrap()]),
    ];
    for edited in edits {
        assert_ne!(edited, text);
        fs::write(&place, &edited).unwrap();
        let output = bench.run(&args);
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        assert!(told(&output).contains("as it wrote it"), "{}", told(&output));
        assert!(bytes(&place) == edited.as_bytes());
    }
    let output = bench.run(&format!("--overwrite {args}"));
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert_eq!(bench.run(&args).status.code(), Some(0));
}

/// Where the result is, as it is reported.
fn kept(told: &str) -> PathBuf {
    let from = told.find("the result is in '").map(|at| at + "the result is in '".len()).unwrap();
    told[from..].split('\'').next().unwrap().into()
}

fn is_result(place: &std::path::Path) -> bool {
    let result: Value = serde_json::from_slice(&bytes(place)).unwrap();
    result["tool"]["name"] == "Fathom diskspd"
}

// It is under way behind its first second.
const WHILE: &str = "-W0 -d2 -b4K t.dat";

/// What somebody does to a result in mid-run, with content of theirs.
type Meanwhile = fn(&std::path::Path, &[u8]);

#[test]
fn a_file_that_took_the_place_of_the_result_in_mid_run_was_replaced() {
    let foreign = b"Dear Ada, these are my notes";
    let meanwhile: [Meanwhile; 3] = [
        // Another file at the name, an earlier result that somebody writes into, and a link to another file.
        |place, content| {
            fs::write(place.with_extension("new"), content).unwrap();
            fs::rename(place.with_extension("new"), place).unwrap();
        },
        |place, content| fs::write(place, content).unwrap(),
        |place, content| {
            fs::write(place.with_extension("new"), content).unwrap();
            let _absent = fs::remove_file(place);
            std::os::unix::fs::symlink(place.with_extension("new"), place).unwrap();
        },
    ];
    for (number, meanwhile) in meanwhile.iter().enumerate() {
        for is_there in [false, true] {
            let bench = Bench::new();
            let place = bench.path("r.json");
            if is_there {
                assert!(bench.run(&format!("--json=r.json {LOAD}")).status.success());
            }
            let running = bench.start(&format!("--json=r.json {WHILE}"));
            meanwhile(&place, foreign);
            let ended = running.wait();
            let case = format!("{number}, {is_there}: {}", ended.stderr);
            assert_eq!(ended.code, Some(1), "{case}");
            assert_eq!(bytes(&place), foreign, "{case}");
            assert!(ended.stderr.contains("'r.json'"), "{case}");
            assert!(is_result(&kept(&ended.stderr)), "{case}");
            assert!(!bench.path(".r.json.unfinished").exists(), "{case}");
        }
    }
}

#[test]
fn a_folder_that_is_exchanged_in_mid_run_did_not_lose_what_stands_in_the_other() {
    for is_there in [false, true] {
        let bench = Bench::new();
        let (folder, moved) = (bench.path("out"), bench.path("moved"));
        fs::create_dir(&folder).unwrap();
        if is_there {
            assert!(bench.run(&format!("--json=out/r.json {LOAD}")).status.success());
        }
        let running = bench.start(&format!("--json=out/r.json {WHILE}"));
        fs::rename(&folder, &moved).unwrap();
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("r.json"), "precious").unwrap();
        let ended = running.wait();
        assert_eq!(ended.code, Some(1), "{}", ended.stderr);
        assert_eq!(kept(&ended.stderr), moved.join("r.json"), "{}", ended.stderr);
        assert!(is_result(&moved.join("r.json")));
        assert_eq!(bytes(&folder.join("r.json")), b"precious");
        for folder in [folder, moved] {
            assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
        }
    }
}

#[test]
fn a_result_that_was_removed_in_mid_run_is_written_again() {
    let bench = Bench::new();
    assert!(bench.run(&format!("--json=r.json {LOAD}")).status.success());
    let running = bench.start(&format!("--json=r.json {WHILE}"));
    fs::remove_file(bench.path("r.json")).unwrap();
    let ended = running.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(is_result(&bench.path("r.json")));
}

#[test]
fn a_file_that_the_shell_had_opened_was_replaced_and_called_moved() {
    let bench = Bench::new();
    let run = |more: &str, redirection: &str| {
        let program = env!("CARGO_BIN_EXE_diskspd");
        let script = format!("exec {program} {more} {LOAD} {redirection}");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).current_dir(bench.path("")).output().unwrap()
    };
    let text = |name: &str| String::from_utf8(bytes(&bench.path(name))).unwrap();
    for path in ["/dev/fd/3", "/proc/self/fd/3"] {
        let output = run(&format!("--json={path}"), "3>new.json");
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
        let result: Value = serde_json::from_str(&text("new.json")).unwrap();
        assert!(result["schema_version"].is_u64());
        fs::write(bench.path("kept.json"), "mine\n").unwrap();
        let output = run(&format!("--json={path}"), "3>>kept.json");
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
        let result: Value =
            serde_json::from_str(text("kept.json").strip_prefix("mine\n").unwrap()).unwrap();
        assert!(result["schema_version"].is_u64());
    }
    fs::write(bench.path("kept.json"), "mine").unwrap();
    for (more, redirection, code, words) in [
        ("--json=/dev/fd/3", "3<kept.json", 3, "open for reading only"),
        ("--json=/dev/fd/9", "", 3, "nothing is open under this number"),
        ("--json=/dev/fd/3", "3>>t.dat", 2, "a target of this run"),
        ("--protect=kept.json --json=/dev/fd/3", "3>>kept.json", 2, "it is protected"),
        ("--protect=. --json=/dev/fd/3", "3>>kept.json", 2, "below the protected"),
    ] {
        let output = run(more, redirection);
        assert_eq!(output.status.code(), Some(code), "{more}: {}", told(&output));
        assert!(told(&output).contains(words), "{more}: {}", told(&output));
    }
    assert_eq!(text("kept.json"), "mine");
}

#[test]
fn a_result_whose_file_is_mounted_by_itself_was_lost_behind_the_run() {
    let bench = Bench::new();
    for name in ["r.json", "store.json"] {
        fs::write(bench.path(name), "").unwrap();
    }
    let Some(mut command) = apart(&["--mount"]) else { return };
    let program = env!("CARGO_BIN_EXE_diskspd");
    let script = format!(
        "mount --bind store.json r.json && {program} --json=r.json {LOAD} && exec {program} --json=r.json {LOAD}"
    );
    let output = command.args(["sh", "-c", &script]).current_dir(bench.path("")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let result: Value = serde_json::from_slice(&bytes(&bench.path("store.json"))).unwrap();
    assert!(result["schema_version"].is_u64());
    assert!(bytes(&bench.path("r.json")).is_empty());
}

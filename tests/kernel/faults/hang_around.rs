//! A target that hangs around the load: before it, between time spans, afterwards, and while it is verified.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::hang_fs::{Asked, HangFs};
use super::signals::has_left;
use super::writing::Writing;
use crate::bench::{Bench, skip};
use crate::signals::send;

const MIB: u64 = 1 << 20;

fn mount() -> Option<HangFs> {
    let mounted = HangFs::mount(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let mounted = mounted.inspect_err(|error| skip(&format!("FUSE cannot be mounted: {error}")));
    let system = mounted.ok()?;
    system.put("there.dat", 8 * MIB);
    Some(system)
}

/// Runs until the result is written, and lets the target answer then, so that the process can end: the
/// result, what the run said, and its exit code.
fn run(system: &HangFs, command: Command, mark: &str) -> (String, String, Option<i32>) {
    let mut run = Writing::start(command);
    run.read_to(mark);
    assert!(system.held() > 0, "nothing hung");
    system.release();
    run.end()
}

fn result(system: &HangFs, command: Command) -> (Value, String, Option<i32>) {
    let (written, told, code) = run(system, command, "\n}\n");
    (serde_json::from_str(&written).unwrap(), told, code)
}

fn warns_of_its_end(result: &Value) -> bool {
    let warnings = result["warnings"].as_array().unwrap();
    warnings.iter().any(|one| {
        one["kind"] == "interrupted" && one["evidence"].as_str().unwrap().contains("not come back")
    })
}

fn wait_until(is_so: impl Fn() -> bool) {
    assert!(comes(is_so), "it never came to that");
}

/// Whether it comes to that in good time.
fn comes(is_so: impl Fn() -> bool) -> bool {
    (0..1_000).any(|_| {
        let is_so = is_so();
        if !is_so {
            std::thread::sleep(Duration::from_millis(20));
        }
        is_so
    })
}

/// Where the threads of a process that does not end are in the kernel.
fn threads_of(process: u32) -> String {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let folders = threads.map(|thread| thread.unwrap().path());
    let read = |folder: &Path, name| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    let told =
        folders.map(|folder| format!("\n{}{}", read(&folder, "status"), read(&folder, "stack")));
    told.collect()
}

#[test]
fn each_step_that_hangs_ends_the_run_and_is_told_with_its_target() {
    let bench = Bench::new();
    for (asked, file, options, doing) in [
        (Asked::Look, "there.dat", "", "look at '"),
        (Asked::Open, "there.dat", "", "look at what '"),
        (Asked::Read, "there.dat", "-w50", "look at what '"),
        (Asked::Look, "new.dat", "-c8M", "create the file '"),
        (Asked::Reserve, "new.dat", "-c8M", "create the file '"),
        (Asked::Write, "new.dat", "-c8M", "create the file '"),
        (Asked::Sync, "new.dat", "-c8M", "create the file '"),
    ] {
        let Some(system) = mount() else { return };
        system.hang(asked, file);
        let path = system.path(file);
        let args = format!("-W0 -d600 -b4K -r -Rjson --io-timeout=1 {options} {}", path.display());
        let (result, told, code) = result(&system, bench.command(&args));
        assert_eq!(code, Some(1), "{asked:?} {file}: {told}");
        let words = format!("ERROR: cannot {doing}{}'", path.display());
        assert!(told.contains(&words), "{asked:?} {file}: {told}");
        assert!(told.contains("since 2") && told.contains("--io-timeout"), "{told}");
        // What may be left behind is named.
        let is_left = doing == "create the file '";
        assert_eq!(told.contains("' is not complete ("), is_left, "{asked:?}: {told}");
        let spans = result["time_spans"].as_array().unwrap();
        assert_eq!(spans.len(), 1, "{asked:?} {file}");
        let reason = spans[0]["outcome"]["failed"].as_str().unwrap();
        assert!(told.contains(reason), "{reason}: {told}");
    }
}

#[test]
fn what_would_be_written_to_a_file_that_hangs_was_told_by_nothing_that_timed_out() {
    let bench = Bench::new();
    for (asked, file, options, doing) in [
        (Asked::Look, "there.dat", "", "look at '"),
        (Asked::Open, "there.dat", "-w50", "find out who uses '"),
        (Asked::Read, "there.dat", "-w50", "look at what '"),
        (Asked::Look, "there.dat", "-w50 -c16M", "look at '"),
        (Asked::Read, "there.dat", "-w50 -c16M", "look at what '"),
    ] {
        let Some(system) = mount() else { return };
        system.hang(asked, file);
        let path = system.path(file);
        let load = format!("-d600 -b4K -r --io-timeout=1 {options} {}", path.display());
        let mut command = bench.command(&format!("--explain {load}"));
        let mut explaining = command.stderr(Stdio::piped()).spawn().unwrap();
        // It cannot end before the kernel comes back.
        let told = BufReader::new(explaining.stderr.take().unwrap()).lines().map(Result::unwrap);
        let told = told.into_iter().find(|line| line.contains("--io-timeout")).unwrap();
        assert!(system.held() > 0, "nothing hung");
        system.release();
        assert_eq!(explaining.wait().unwrap().code(), Some(1), "{asked:?} {options}: {told}");
        let words = format!("ERROR: cannot {doing}{}'", path.display());
        assert!(told.contains(&words), "{asked:?} {options}: {told}");
    }
}

/// As for a run; it was 1, as if the target had failed.
#[test]
fn ctrl_c_ends_an_explanation_whose_target_hangs_with_its_own_code() {
    let Some(system) = mount() else { return };
    system.hang(Asked::Open, "there.dat");
    let load = format!("--explain -d600 -b4K -w50 {}", system.path("there.dat").display());
    let bench = Bench::new();
    let mut command = bench.command(&load);
    let mut explaining = command.stderr(Stdio::piped()).spawn().unwrap();
    wait_until(|| system.held() > 0);
    send("-INT", explaining.id());
    let mut told = BufReader::new(explaining.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(told.any(|line| line.contains("ended by the user")));
    system.release();
    assert_eq!(explaining.wait().unwrap().code(), Some(130));
}

const SPANS: &str = "<Profile><TimeSpans>\
    <TimeSpan><MeasureLatency>true</MeasureLatency><Duration>1</Duration><Warmup>0</Warmup>\
    <Targets><Target><Path>t.dat</Path><BlockSize>4096</BlockSize><Random>4096</Random>\
    </Target></Targets></TimeSpan>\
    <TimeSpan><Duration>600</Duration><Warmup>0</Warmup>\
    <Targets><Target><Path>HUNG</Path><BlockSize>4096</BlockSize><FileSize>8388608</FileSize>\
    </Target></Targets></TimeSpan>\
    </TimeSpans></Profile>";

#[test]
fn what_was_measured_before_is_whole_in_every_form_of_the_result() {
    let bench = Bench::new();
    for (form, mark) in [("-Rtext", "\nWarnings:"), ("-Rxml", "</Results>"), ("-Rjson", "\n}\n")] {
        let Some(system) = mount() else { return };
        system.hang(Asked::Write, "new.dat");
        let path = system.path("new.dat");
        let profile = SPANS.replace("HUNG", &path.to_string_lossy());
        std::fs::write(bench.path("p.xml"), profile).unwrap();
        let command = bench.command(&format!("-Xp.xml {form} --io-timeout=1 --json=r.json"));
        let (written, told, code) = run(&system, command, mark);
        assert_eq!(code, Some(1), "{told}");
        assert!(told.contains(&format!("cannot create the file '{}'", path.display())), "{told}");
        let saved = std::fs::read_to_string(bench.path("r.json")).unwrap();
        let result: Value = serde_json::from_str(&saved).unwrap();
        let [first, second] = result["time_spans"].as_array().unwrap().as_slice() else {
            panic!("two time spans expected: {result}");
        };
        assert_eq!(first["outcome"], "complete");
        assert!(second["outcome"]["failed"].is_string(), "{}", second["outcome"]);
        let read = &first["threads"][0]["targets"][0]["read"];
        let (ios, bytes) = (read["ios"].as_u64().unwrap(), read["bytes"].as_u64().unwrap());
        assert!(ios > 0);
        match form {
            "-Rtext" => {
                let cells = format!("{bytes:>15} | {ios:>12} |");
                assert!(written.contains(&cells), "{cells}: {written}");
            }
            "-Rxml" => {
                let document = roxmltree::Document::parse(&written).unwrap();
                let count = document.descendants().find(|node| node.has_tag_name("ReadCount"));
                assert_eq!(count.and_then(|node| node.text()), Some(ios.to_string().as_str()));
            }
            _ => {
                // The file ends with its checksum besides.
                let mut kept = result.clone();
                assert!(kept.as_object_mut().unwrap().remove("checksum").is_some());
                assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), kept);
            }
        }
    }
}

#[test]
fn a_target_that_hangs_after_the_last_load_costs_no_figure() {
    let bench = Bench::new();
    let Some(system) = mount() else { return };
    let path = system.path("there.dat");
    let args = format!("-v -W0 -d2 -b4K -r --io-timeout=1 --json=r.json {}", path.display());
    let mut run = Writing::start(bench.command(&args));
    run.read_to("starting measurements");
    system.hang(Asked::Look, "there.dat");
    run.read_to("not come back");
    system.release();
    let (_, told, code) = run.end();
    assert_eq!(code, Some(1), "{told}");
    let saved = std::fs::read_to_string(bench.path("r.json")).unwrap();
    let result: Value = serde_json::from_str(&saved).unwrap();
    let spans = result["time_spans"].as_array().unwrap();
    assert_eq!((spans.len(), &spans[0]["outcome"]), (1, &"complete".into()));
    assert!(crate::bench::ios(&result) > 0 && warns_of_its_end(&result), "{result}");
}

#[test]
fn a_verification_that_hangs_keeps_what_it_has_verified() {
    let bench = Bench::new();
    bench.fill("u.dat", 8 << 20);
    bench.measure("-b4K -r -w100 --overwrite --verify --verify-journal=j t.dat u.dat");
    let whole = bench.run("-Rjson --verify-only=j");
    let whole: Value = serde_json::from_slice(&whole.stdout).unwrap();
    for (asked, doing) in [(Asked::Open, "open '"), (Asked::Read, "verify '")] {
        let Some(system) = mount() else { return };
        system.hang(asked, "there.dat");
        let path = system.path("there.dat");
        let args = format!("-Rjson --io-timeout=1 --verify-only=j t.dat {}", path.display());
        let (result, told, code) = result(&system, bench.command(&args));
        assert_eq!(code, Some(1), "{told}");
        assert!(told.contains(&format!("cannot {doing}{}'", path.display())), "{told}");
        assert!(warns_of_its_end(&result), "{result}");
        let targets = result["verification"]["targets"].as_array().unwrap();
        if asked == Asked::Read {
            assert_eq!(targets[0], whole["verification"]["targets"][0]);
            assert_eq!(targets[1]["verified_blocks"], 0);
        }
    }
}

#[test]
fn the_first_signal_ends_a_run_whose_target_hangs_before_the_load() {
    let bench = Bench::new();
    for (signal, asked, file, options) in
        [("-INT", Asked::Look, "there.dat", ""), ("-TERM", Asked::Write, "new.dat", "-c8M")]
    {
        let Some(system) = mount() else { return };
        system.hang(asked, file);
        let path = system.path(file);
        let args = format!("-W0 -d600 -b4K -Rjson {options} {}", path.display());
        let mut run = Writing::start(bench.command(&args));
        wait_until(|| system.held() > 0);
        send(signal, run.child.id());
        run.read_to("\n}\n");
        system.release();
        let (written, told, code) = run.end();
        assert_eq!(code, Some(130), "{signal}: {told}");
        assert!(told.contains(&format!("'{}'", path.display())), "{told}");
        let result: Value = serde_json::from_str(&written).unwrap();
        assert_eq!(result["time_spans"][0]["outcome"], "interrupted");
        assert!(!told.contains("panicked"), "{told}");
    }
}

#[test]
fn the_second_signal_leaves_at_once_although_a_look_hangs() {
    let bench = Bench::new();
    for signal in ["-INT", "-TERM"] {
        let Some(system) = mount() else { return };
        system.hang(Asked::Look, "there.dat");
        let args = format!("-W0 -d600 -b4K {}", system.path("there.dat").display());
        let run = Writing::start(bench.command(&args));
        wait_until(|| system.held() > 0);
        send(signal, run.child.id());
        std::thread::sleep(Duration::from_millis(200));
        assert!(!has_left(run.child.id()), "{signal}: the first one was enough");
        send(signal, run.child.id());
        wait_until(|| has_left(run.child.id()));
        system.release();
        let (written, _, code) = run.end();
        assert_eq!((code, written.as_str()), (Some(130), ""), "{signal}");
    }
}

#[test]
fn a_file_that_is_made_here_holds_what_was_asked_for() {
    // The file system itself is sound: what hangs above hangs because the test says so.
    let bench = Bench::new();
    let Some(system) = mount() else { return };
    let path = system.path("new.dat");
    let result = bench.measure(&format!("-b4K -r -c8M {}", path.display()));
    assert!(crate::bench::ios(&result) > 0);
    assert_eq!((system.size("new.dat"), system.held()), (Some(8 * MIB), 0));
}

/// Reads what a run says up to a line with these words.
fn told_to(told: &mut impl BufRead, words: &str) -> String {
    let line = told.lines().map(Result::unwrap).find(|line| line.contains(words));
    line.unwrap_or_else(|| panic!("no '{words}'"))
}

/// Each of them was waited for without a word and without end.
#[test]
fn a_file_beside_the_targets_that_hangs_held_the_run_up_without_a_word() {
    let bench = Bench::new();
    let load = "-W0 -d1 -b4K -c1M t.dat";
    for (asked, file, options, words) in [
        (Asked::Look, "p.xml", "-XFILE", "still waiting to read the profile 'FILE'"),
        (Asked::Open, "p.xml", "-XFILE", "still waiting to read the profile 'FILE'"),
        (
            Asked::Look,
            "r.json",
            "--json=FILE LOAD",
            "still waiting to look at 'FILE', where the JSON",
        ),
        (Asked::Look, "there.dat", "--doctor FILE", "still waiting to look at 'FILE'"),
        (Asked::Write, ".new.json.unfinished", "--json=NEW LOAD", "write the JSON result to 'NEW'"),
        (Asked::Sync, ".new.json.unfinished", "--json=NEW LOAD", "write the JSON result to 'NEW'"),
    ] {
        let Some(system) = mount() else { return };
        system.put("p.xml", 100);
        system.put("r.json", 0);
        system.hang(asked, file);
        let [at, new] = [file, "new.json"].map(|name| system.path(name).display().to_string());
        let named = |text: &str| text.replace("FILE", &at).replace("NEW", &new);
        let options = named(options).replace("LOAD", load);
        let mut command = bench.command(&options);
        let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut running = command.spawn().unwrap();
        let mut told = BufReader::new(running.stderr.take().unwrap());
        let line = told_to(&mut told, &named(words));
        assert!(line.starts_with("WARNING: ") && line.contains("Ctrl-C"), "{line}");
        // One is enough. A shell may have what it starts in the background ignore Ctrl-C.
        send("-TERM", running.id());
        let left = comes(|| has_left(running.id()));
        let threads = if left { String::new() } else { threads_of(running.id()) };
        system.release();
        let code = running.wait().unwrap().code();
        assert!(left && [None, Some(130)].contains(&code), "{options}: {code:?}{threads}");
    }
}

#[test]
fn a_place_of_a_result_or_credentials_that_hang_end_the_run_with_their_name() {
    let bench = Bench::new();
    for (options, words) in [
        ("--json=FILE", "cannot look at 'FILE', where the JSON result goes: the kernel has not"),
        ("--credentials=FILE", "cannot read the credentials in 'FILE': the kernel has not"),
        // It is not the place of the result that hangs.
        ("--json=r.json --protect=FILE", "cannot look at what is protected: the kernel has not"),
        (
            "--json=r.json --overwrite FILE",
            "cannot look whether 'FILE' is 'r.json': the kernel has",
        ),
    ] {
        let Some(system) = mount() else { return };
        system.hang(Asked::Look, "there.dat");
        let path = system.path("there.dat").display().to_string();
        let [options, words] = [options, words].map(|text| text.replace("FILE", &path));
        std::fs::write(bench.path("r.json"), "").unwrap();
        let args = format!("-W0 -d600 -b4K -c1M --io-timeout=1 {options} t.dat");
        let mut command = bench.command(&args);
        let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut running = command.spawn().unwrap();
        let mut told = BufReader::new(running.stderr.take().unwrap());
        told_to(&mut told, &words);
        system.release();
        assert_eq!(running.wait().unwrap().code(), Some(1), "{options}");
    }
}

/// With --json, a target that hangs was waited for once more behind the error, without a word: the end came
/// after twice --io-timeout.
#[test]
fn a_target_that_hangs_was_waited_for_again_where_the_result_had_a_place() {
    let bench = Bench::new();
    let Some(system) = mount() else { return };
    system.hang(Asked::Look, "there.dat");
    std::fs::write(bench.path("r.json"), "").unwrap();
    let target = system.path("there.dat").display().to_string();
    let mut command =
        bench.command(&format!("-d1 -b4K --json=r.json --overwrite --io-timeout=8 {target}"));
    let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut running = command.spawn().unwrap();
    let mut told = BufReader::new(running.stderr.take().unwrap());
    told_to(&mut told, "ERROR: cannot look whether");
    // Long before another --io-timeout is over.
    let left = (0..250).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        has_left(running.id())
    });
    system.release();
    assert_eq!((left, running.wait().unwrap().code()), (true, Some(1)));
}

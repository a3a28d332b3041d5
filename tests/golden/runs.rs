//! The 43 whole results: the binary runs the same command lines, and the layout must be the same.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

use serde_json::Value;

use crate::golden::golden_path;
use crate::layout::{layout_of_text, layout_of_xml};
use crate::test_data::test_data;

/// Runs whose layout differs, each with its reason.
const DEVIATIONS: [(&str, &str); 3] = [
    ("50-B-toobig", "a base beyond the end is an error here; DiskSpd reports I/Os of 0 bytes"),
    ("62-etw", "the recording shows a crash of the compatibility layer, not a result"),
    ("64-c-subdir", "a backslash is part of a file's name on Linux; see the test of the same name"),
];

/// Complete runs whose standard error differs, each with its reason.
const STDERR_DEVIATIONS: [(&str, &str); 1] =
    [("68-P-xml", "steps and dots go to standard error where a program reads the result")];

struct Run {
    name: String,
    args: Vec<String>,
    exit: i64,
    stderr: String,
    golden: String,
    is_xml: bool,
}

fn runs() -> Vec<Run> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(golden_path("runs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    files.iter().map(|path| read_run(path)).collect()
}

fn read_run(path: &Path) -> Run {
    let value: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let stdout = value["stdout_file"].as_str().unwrap();
    let args = value["args"].as_array().unwrap();
    Run {
        name: path.file_stem().unwrap().to_str().unwrap().to_owned(),
        args: args.iter().map(|arg| arg.as_str().unwrap().to_owned()).collect(),
        exit: value["exit"].as_i64().unwrap(),
        stderr: value["stderr"].as_str().unwrap().to_owned(),
        golden: std::fs::read_to_string(path.with_file_name(stdout)).unwrap(),
        is_xml: Path::new(stdout).extension().is_some_and(|extension| extension == "xml"),
    }
}

/// The files that the recordings were made beside, as their results show them.
fn fill(folder: &Path) {
    let data = test_data(7, 8 << 20);
    std::fs::write(folder.join("t.dat"), &data).unwrap();
    std::fs::write(folder.join("u.dat"), &data).unwrap();
    let span = |body: &str, target: &str| {
        format!(
            "<TimeSpan><Duration>1</Duration><Warmup>0</Warmup>{body}<Targets><Target>{target}\
             <BlockSize>4096</BlockSize></Target></Targets></TimeSpan>"
        )
    };
    let two = span("<MeasureLatency>true</MeasureLatency>", "<Path>*1</Path><Random>4096</Random>")
        + &span("", "<Path>*1</Path><WriteRatio>100</WriteRatio>");
    let pre = span("", "<Path>pre.dat</Path><FileSize>1048576</FileSize>")
        + &span("", "<Path>pre.dat</Path><FileSize>2097152</FileSize>");
    let profile = |head: &str, spans: &str| {
        format!("<Profile>{head}<TimeSpans>{spans}</TimeSpans></Profile>")
    };
    std::fs::write(folder.join("ts2.xml"), profile("", &two)).unwrap();
    let head = "<PrecreateFiles>UseMaxSize</PrecreateFiles>";
    std::fs::write(folder.join("pre.xml"), profile(head, &pre)).unwrap();
}

fn diskspd(folder: &Path, args: &[String]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_diskspd")).args(args).current_dir(folder).output().unwrap()
}

fn difference(run: &Run) -> Option<String> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fill(folder.path());
    let output = diskspd(folder.path(), &run.args);
    let stdout = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    if output.status.code().map(i64::from) != Some(run.exit) {
        return Some(format!("exit {:?}, golden {}: {stderr}", output.status.code(), run.exit));
    }
    if let Some(words) = stderr_difference(run, &stderr) {
        return Some(words);
    }
    let (ours, golden) = if run.is_xml {
        (layout_of_xml(&stdout).unwrap(), layout_of_xml(&run.golden).unwrap())
    } else {
        (layout_of_text(&stdout), layout_of_text(&run.golden))
    };
    let differing = ours.iter().zip(&golden).position(|(ours, golden)| ours != golden);
    let at = differing.or((ours.len() != golden.len()).then(|| ours.len().min(golden.len())))?;
    let line = |lines: &[String]| lines.get(at).cloned().unwrap_or("(end)".to_owned());
    Some(format!("line {at}\n    ours   {:?}\n    golden {:?}", line(&ours), line(&golden)))
}

/// Warnings of a complete run are word for word those of DiskSpd. Why a run failed is said in our own words,
/// as a kernel says it differently.
fn stderr_difference(run: &Run, ours: &str) -> Option<String> {
    let listed = STDERR_DEVIATIONS.iter().any(|(name, _)| *name == run.name);
    let agrees = if run.exit == 0 {
        ours == run.stderr
    } else {
        ours.starts_with("ERROR: ") && !run.stderr.is_empty()
    };
    match (agrees, listed) {
        (false, false) => Some(format!("stderr\n    ours   {ours:?}\n    golden {:?}", run.stderr)),
        (true, true) => Some("its standard error agrees, but is listed".to_owned()),
        _ => None,
    }
}

/// What differs three times: a second of a busy disk may have too few I/Os for a deviation, which is N/A
/// then.
fn lasting_difference(run: &Run) -> Option<String> {
    difference(run).and_then(|_| difference(run)).and_then(|_| difference(run))
}

/// The recording shows a host without large pages; one that has some runs what was refused there.
#[expect(clippy::print_stderr, reason = "a skipped run says why")]
fn fits_host(run: &Run) -> bool {
    let reserved = std::fs::read_to_string("/proc/sys/vm/nr_hugepages").unwrap_or_default();
    let fits = run.name != "63-large-pages" || ["", "0"].contains(&reserved.trim());
    if !fits {
        eprintln!("skipped: {}: {} huge pages are reserved here", run.name, reserved.trim());
    }
    fits
}

#[test]
fn all_43_whole_results_have_diskspds_layout() {
    let runs = runs();
    assert_eq!(runs.len(), 43);
    let queue = Mutex::new(runs.iter().filter(|run| fits_host(run)));
    let wrong = Mutex::new(Vec::new());
    // The runs last a second each and are light: a few at a time keep the test short.
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                loop {
                    let Some(run) = queue.lock().unwrap().next() else { break };
                    let listed = DEVIATIONS.iter().any(|(name, _)| *name == run.name);
                    let words = if listed { difference(run) } else { lasting_difference(run) };
                    match (words, listed) {
                        (Some(words), false) => {
                            wrong.lock().unwrap().push(format!("{}: {words}", run.name));
                        }
                        (None, true) => {
                            wrong
                                .lock()
                                .unwrap()
                                .push(format!("{}: agrees, but is listed", run.name));
                        }
                        _ => {}
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} runs:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn c_subdir_a_file_in_a_missing_folder_is_not_created() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let args = ["-W0", "-d1", "-c1M", "sub1/sub2/t.dat"].map(str::to_owned);
    let output = diskspd(folder.path(), &args);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("sub1/sub2"), "{stderr}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_target_had_no_mean_of_both_kinds_and_its_distribution_behind_its_series() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fill(folder.path());
    let args = "-Rxml -W0 -d1 -L -D -r -b4K -w50 -c1M -rdpct90/10 n.dat";
    let args: Vec<String> = args.split(' ').map(str::to_owned).collect();
    let output = diskspd(folder.path(), &args);
    let xml = String::from_utf8(output.stdout).unwrap();
    let document = roxmltree::Document::parse(&xml).unwrap();
    let target = |node: &roxmltree::Node<'_, '_>| {
        node.has_tag_name("Target") && node.parent().is_some_and(|one| one.has_tag_name("Thread"))
    };
    let target = document.descendants().find(target).unwrap();
    let names = target.children().filter(roxmltree::Node::is_element);
    let names: Vec<&str> = names.map(|node| node.tag_name().name()).collect();
    // As DiskSpd's writer has them.
    let expected = [
        "Path",
        "BytesCount",
        "FileSize",
        "IOCount",
        "ReadBytes",
        "ReadCount",
        "WriteBytes",
        "WriteCount",
        "Distribution",
        "AverageReadLatencyMilliseconds",
        "ReadLatencyStdev",
        "AverageWriteLatencyMilliseconds",
        "WriteLatencyStdev",
        "AverageLatencyMilliseconds",
        "LatencyStdev",
        "Iops",
    ];
    assert_eq!(names, expected, "{xml}");
}

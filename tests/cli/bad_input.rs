//! Wrong command lines and profiles: each gives a clear line and a code that is not 0, and nothing is
//! created, truncated or written.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

/// Wrong arguments before the target `t.dat`, and a word that the error must contain.
const COMMAND_LINES: &[(&str, &str)] = &[
    ("-q", "-q"),
    ("-", "-"),
    ("--nope", "--nope"),
    ("--engine=warp", "warp"),
    ("--engine", "value"),
    ("--overwrite=1", "no value"),
    ("--rate=0", "--rate"),
    ("--arrivals=often", "often"),
    ("--arrivals=poisson", "rate"),
    ("--rate=5 -g5i", "--rate"),
    ("--skew=zipf:1.1", "sequential"),
    ("--skew=zipf:0 -r", "zipf"),
    ("--skew=pareto:0.6 -r", "pareto"),
    ("--skew=bell -r", "bell"),
    ("--stop-ios=0", "greater than 0"),
    ("--stop-ios", "value"),
    ("--stop-bytes=5X", "5X"),
    ("--stop-bytes=1M --block-mix=4K:50,8K:50", "--stop-ios"),
    ("--stop-pass -r", "--stop-bytes"),
    ("--stop-pass -p", "-p"),
    ("--stop-pass --fsync=5 -w50", "--stop-pass"),
    ("--stop-pass=2", "no value"),
    ("--stop-ios=9 --trim=100", "count reads and writes"),
    ("--stop-bytes=1M --trim=100", "count reads and writes"),
    ("--stop-steady --trim=100", "judge the rate of reads and writes"),
    ("--stop-steady=2", "3 or more"),
    ("--stop-steady=5:0", "percent"),
    ("--stop-confidence=100", "percent"),
    ("--stop-confidence=95:0", "percent"),
    ("--stop-interval=100", "--stop-steady"),
    ("--skew=zipf:1 -r -rdpct90/10", "-rd"),
    ("--verify -b1000", "512"),
    ("--verify -r100", "alignment"),
    ("--verify -s700", "stride"),
    ("--verify -B100", "base offset"),
    ("--verify -t2 -T1000", "thread stride"),
    ("--verify --engine=null", "null"),
    ("--verify --trim=10 -w50 -r", "trimmed"),
    ("--verify -b4K --block-mix=4K:50,1000:50", "512"),
    ("--verify -r -o2048 -t2", "4095"),
    ("--verify-journal=", "missing"),
    ("--verify-journal=t.dat", "journal"),
    ("--verify-journal=run.journal -b1000", "512"),
    ("--verify-only=", "missing"),
    ("--json=nosuch/r.json", "no folder 'nosuch'"),
    ("--json=folder", "directory"),
    ("--json=t.dat/r.json", "correct the path"),
    ("--json=t.dat --overwrite -w100", "a target of this run"),
    ("--json=./t.dat -c2M t.dat", "a target of this run"),
    ("--json=t.dat -c2M other.dat", "no result of this tool"),
    ("--json=t.dat --explain other.dat", "no result of this tool"),
    ("--json=t.dat --doctor", "cannot be used with --doctor"),
    ("--verify-only=nosuch.journal", "'-d1' cannot be used"),
    ("-b", "-b"),
    ("-b0", "-b0"),
    ("-b4G", "-b4G"),
    ("-b4X", "4X"),
    ("-b-1", "-b-1"),
    ("-b99999999999999999999", "too large"),
    ("-B", "-B"),
    ("-B1M:", "-B1M:"),
    ("-B1M -B2M", "once"),
    ("-B1M:1M -f2M", "once"),
    ("-B2M -f1M", "greater"),
    ("-c16777216T", "too large"),
    ("-c1.5G", "-c1.5G"),
    ("-d-1", "-d-1"),
    ("-d5x", "5x"),
    ("-W-1", "-W-1"),
    ("-C1s", "1s"),
    ("-D5ms", "5ms"),
    ("-fx", "-fx"),
    ("-f", "-f"),
    ("-F0", "-F0"),
    ("-F2 -t2", "-F"),
    ("-F2 -O4 -g100", "-g"),
    ("-F2 -O4 -p", "-p"),
    ("-g0", "-g0"),
    ("-g10K", "10K"),
    ("-g100 -x", "-x"),
    ("-i5", "-j"),
    ("-j5", "-i"),
    ("-I4", "-I4"),
    ("-n -a0", "-a"),
    ("-a0,", "-a0,"),
    ("-a256", "256"),
    ("-a99", "99"),
    ("-ag7,0", "group 7"),
    ("-Nv", "-Sm"),
    ("-Nx -Sm", "-Nx"),
    ("-o0", "-o0"),
    ("-o8x", "8x"),
    ("-O0", "-O0"),
    ("-p -r", "-p"),
    ("-p -si -t2", "-si"),
    ("-r0", "-r0"),
    ("-r -s", "-s"),
    ("-r -r", "once"),
    ("-rs0", "-rs0"),
    ("-rs101", "-rs101"),
    ("-rs50 -s4K", "-r"),
    ("-rdpct10/10", "-rd"),
    ("-r -rdpct60/50:60/50", "100"),
    ("-r -rdabs10/1", "block"),
    ("-r -rdfoo10/10", "foo"),
    ("-Rjpeg", "jpeg"),
    ("-R", "-R"),
    ("-s0", "-s0"),
    ("-Sbu", "-Su"),
    ("-Sm -Su", "-Su"),
    ("-Sx", "-Sx"),
    ("-t0", "-t0"),
    ("-T4K", "-T"),
    ("-T4K -t2 -r", "-T"),
    ("-vx", "-vx"),
    ("-w", "-w"),
    ("-w101", "101"),
    ("-w50x", "50x"),
    ("-zx", "zx"),
    ("-Z1K", "-Z"),
    ("-Zx", "-Zx"),
    ("-Z1M,nosuch.bin -w100", "nosuch.bin"),
    ("-Xnosuch.xml", "nosuch.xml"),
    ("-X", "-X"),
    ("-r -Xnosuch.xml", "-r"),
    ("-yx", "-yx"),
    ("-e", "-e"),
    ("-Su -b1000", "sector"),
    ("-Sr", "t.dat"),
    ("-B1G", "t.dat"),
    ("-b2M -t3 -T1M", "small"),
    ("missing.dat", "missing.dat"),
    ("missing/made.dat -c1M", "-c1M"),
    ("-c1M missing/made.dat", "missing"),
    ("C:", "C:"),
    (r"\\server\share\x.dat", "share"),
    ("*1", "*1"),
    ("*made.dat", "./*made.dat"),
    ("#9999", "#9999"),
    ("folder", "folder"),
];

/// Wrong profiles, and a word that the error must contain.
const PROFILES: &[(&str, &str)] = &[
    ("", "XML"),
    ("not XML at all", "XML"),
    ("<Profile>", "XML"),
    ("<Settings/>", "Settings"),
    ("<Profile/>", "TimeSpan"),
    ("<Profile><TimeSpans/></Profile>", "TimeSpan"),
    ("<Profile><Nope/></Profile>", "Nope"),
    ("<Profile>text<TimeSpans/></Profile>", "text"),
    ("<Profile><Progress>x</Progress></Profile>", "Progress"),
    ("<Profile><Verbose>perhaps</Verbose></Profile>", "Verbose"),
    ("<Profile><ResultFormat>csv</ResultFormat></Profile>", "ResultFormat"),
    ("<Profile><PrecreateFiles>All</PrecreateFiles></Profile>", "PrecreateFiles"),
    ("<Profile><ETW><Disk>true</Disk></ETW></Profile>", "Disk"),
    ("<Profile><Verbose>true</Verbose><Verbose>true</Verbose></Profile>", "twice"),
    ("<Profile Name=\"a\"/>", "Name"),
    ("<!DOCTYPE a [<!ENTITY b \"c\">]><Profile>&b;</Profile>", "document type"),
];

/// Wrong elements inside `<Target>` beside a good `<Path>`, and a word that the error must contain.
const TARGETS: &[(&str, &str)] = &[
    ("<BlockSize>0</BlockSize>", "BlockSize"),
    ("<BlockSize>4K</BlockSize>", "BlockSize"),
    ("<Blocksize>4096</Blocksize>", "Blocksize"),
    ("<WriteRatio>101</WriteRatio>", "WriteRatio"),
    ("<WriteRatio>-1</WriteRatio>", "WriteRatio"),
    ("<Random>0</Random>", "Random"),
    ("<RequestCount>0</RequestCount>", "RequestCount"),
    ("<IOPriority>9</IOPriority>", "IOPriority"),
    ("<Throughput unit=\"MBPS\">1</Throughput>", "Throughput"),
    ("<FlushType>Often</FlushType>", "FlushType"),
    ("<Distribution/>", "Distribution"),
    ("<Distribution><Percent><Range>5</Range></Percent></Distribution>", "Range"),
    ("<WriteBufferContent><Pattern>ones</Pattern></WriteBufferContent>", "WriteBufferContent"),
    ("<WriteBufferContent><Pattern>random</Pattern></WriteBufferContent>", "RandomDataSource"),
    ("<DisableOSCache>true</DisableOSCache><DisableLocalCache>true</DisableLocalCache>", "Target"),
    ("<Path>second.dat</Path>", "twice"),
    ("<BurstSize>3</BurstSize>", "-j"),
    ("<MaxFileSize>10</MaxFileSize><BaseFileOffset>20</BaseFileOffset>", "-f"),
    ("<StrideSize>4096</StrideSize><Random>4096</Random>", "Random"),
    ("<RandomRatio>50</RandomRatio><StrideSize>4096</StrideSize>", "RandomRatio"),
    ("<WriteBufferContent/>", "Pattern"),
    ("<Distribution><Percent/></Distribution>", "Range"),
    ("<ThreadTargets/>", "ThreadTarget"),
    ("<BlockSize unit=\"KiB\">4</BlockSize>", "unit"),
    ("<ThreadTargets><ThreadTarget/></ThreadTargets>", "Thread"),
];

/// Wrong elements inside `<TimeSpan>` beside a good target, and a word that the error must contain.
const TIME_SPANS: &[(&str, &str)] = &[
    ("<Duration>1s</Duration>", "Duration"),
    ("<RandomWriteData>yes</RandomWriteData>", "RandomWriteData"),
    ("<Affinity/>", "AffinityGroupAssignment"),
    ("<Affinity><AffinityAssignment>256</AffinityAssignment></Affinity>", "255"),
    (
        "<Affinity><AffinityAssignment>0</AffinityAssignment>\
         <AffinityGroupAssignment Group=\"0\" Processor=\"1\"/></Affinity>",
        "AffinityAssignment",
    ),
    (
        "<DisableAffinity>true</DisableAffinity><Affinity><AffinityAssignment>0</AffinityAssignment>\
         </Affinity>",
        "-n",
    ),
];

/// Paths of targets that are no template, with the targets of the command line, and a word that the error
/// must contain.
const TEMPLATES: &[(&str, &str, &str)] = &[
    ("*", "", "*1, *2"),
    ("*0", "t.dat", "*1, *2"),
    ("*+1", "t.dat", "*1, *2"),
    ("*1a", "t.dat", "*1, *2"),
    ("*t.dat", "", "./*t.dat"),
    ("*2", "t.dat", "only 1"),
];

/// Names, contents and times of all files below a folder.
fn snapshot(folder: &Path) -> BTreeMap<String, (Vec<u8>, SystemTime)> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let changed = path.metadata().unwrap().modified().unwrap();
        let bytes = if path.is_dir() { Vec::new() } else { std::fs::read(&path).unwrap() };
        files.insert(path.display().to_string(), (bytes, changed));
    }
    files
}

/// What it says; an error if it does not fail, without that word, or if a file was touched.
fn must_fail(folder: &Path, args: &[&str], word: &str) -> Result<String, String> {
    let before = snapshot(folder);
    let output = Command::new(env!("CARGO_BIN_EXE_diskspd"))
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let is_told = |line: &&str| line.starts_with("ERROR") || line.starts_with("REFUSED");
    let line = stderr.lines().filter(is_told).find(|line| line.contains(word));
    match (output.status.code(), line) {
        (Some(0) | None, _) => Err(format!("{args:?}: exit {:?}", output.status.code())),
        (_, None) => Err(format!("{args:?}: no line with '{word}': {stderr}")),
        _ if snapshot(folder) != before => Err(format!("{args:?}: a file was touched")),
        _ => Ok(stderr),
    }
}

/// A wrong profile must fail with an error that names the file, a line, and the given word.
fn must_fail_at_a_line(folder: &Path, text: &str, targets: &str, word: &str) -> Option<String> {
    std::fs::write(folder.join("p.xml"), text).unwrap();
    let mut args = vec!["-Xp.xml"];
    args.extend(targets.split_whitespace());
    let stderr = match must_fail(folder, &args, word) {
        Ok(stderr) => stderr,
        Err(words) => return Some(format!("{text}: {words}")),
    };
    let mut errors = stderr.lines().filter(|line| line.starts_with("ERROR"));
    let nowhere = errors.find(|line| !line.contains("profile 'p.xml': line "));
    nowhere.map(|line| format!("{text}: names no line: {line}"))
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::write(folder.path().join("t.dat"), vec![7; 1 << 20]).unwrap();
    std::fs::create_dir(folder.path().join("folder")).unwrap();
    folder
}

#[test]
fn a_diagnosis_is_not_written_over_its_target() {
    let folder = folder();
    let args = ["--json=t.dat", "--doctor", "t.dat"];
    must_fail(folder.path(), &args, "a target of this run").unwrap();
}

#[test]
fn wrong_command_lines_say_what_is_wrong_and_touch_nothing() {
    let folder = folder();
    let wrong = COMMAND_LINES.iter().filter_map(|(line, word)| {
        let mut args: Vec<&str> = vec!["-d1", "-W0"];
        args.extend(line.split(' '));
        if args.iter().all(|arg| arg.starts_with('-')) {
            args.push("t.dat");
        }
        must_fail(folder.path(), &args, word).err()
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn wrong_profiles_name_line_and_element_and_touch_nothing() {
    let folder = folder();
    let profile = |span: &str, target: &str, path: &str| {
        format!(
            "<Profile>\n<TimeSpans><TimeSpan>{span}<Targets><Target><Path>{path}</Path>\n{target}\
             </Target></Targets></TimeSpan></TimeSpans></Profile>"
        )
    };
    let whole = PROFILES.iter().map(|(text, word)| ((*text).to_owned(), "", *word));
    let spans = TIME_SPANS.iter().map(|(inside, word)| (profile(inside, "", "t.dat"), "", *word));
    let targets = TARGETS.iter().map(|(inside, word)| (profile("", inside, "t.dat"), "", *word));
    let templates =
        TEMPLATES.iter().map(|(path, names, word)| (profile("", "", path), *names, *word));
    let all = whole.chain(spans).chain(targets).chain(templates);
    let wrong: Vec<String> = all
        .filter_map(|(text, names, word)| must_fail_at_a_line(folder.path(), &text, names, word))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_profile_that_is_not_text_or_expands_without_end_is_refused() {
    let folder = folder();
    std::fs::write(folder.path().join("p.xml"), [0xff, 0xfe, 0x00]).unwrap();
    must_fail(folder.path(), &["-Xp.xml"], "UTF-8").unwrap();
    std::fs::write(folder.path().join("p.xml"), b"<Profile>\n\n<Path>\xff</Path></Profile>")
        .unwrap();
    must_fail(folder.path(), &["-Xp.xml"], "line 3: is not UTF-8").unwrap();
    let bomb = (0..20).fold("<!ENTITY a0 \"ha\">".to_owned(), |text, level| {
        format!("{text}<!ENTITY a{} \"&a{level};&a{level};\">", level + 1)
    });
    let bomb = format!("<!DOCTYPE Profile [{bomb}]><Profile>&a20;</Profile>");
    std::fs::write(folder.path().join("p.xml"), bomb).unwrap();
    must_fail(folder.path(), &["-Xp.xml"], "document type").unwrap();
    let deep = format!("{}{}", "<Profile>".repeat(100_000), "</Profile>".repeat(100_000));
    std::fs::write(folder.path().join("p.xml"), deep).unwrap();
    must_fail(folder.path(), &["-Xp.xml"], "p.xml").unwrap();
    // A file without end is read no further than the limit.
    must_fail(folder.path(), &["-X/dev/zero"], "64 MiB").unwrap();
}

//! Names that would move the cursor, ring the bell, turn the direction of writing or begin a line of their
//! own: wherever they come from, what is printed shows them spelled out.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Parts of names, each with how it is shown in text.
const HOSTILE: [(&str, &str); 6] = [
    ("e\x1b[2J\x1b]0;owned\x07", r"e\x1b[2J\x1b]0;owned\x07"),
    ("c\u{9b}31m\u{9d}", r"c\u{9b}31m\u{9d}"),
    ("n\nREFUSED: forged\r", r"n\x0aREFUSED: forged\x0d"),
    ("b\u{202e}\u{2066}fdp", r"b\u{202e}\u{2066}fdp"),
    ("d\x7f\x08\t|", r"d\x7f\x08\x09|"),
    (r"s\x1b", r"s\x5cx1b"),
];

/// Whether a terminal would do something else than show it.
fn acts(one: char) -> bool {
    one != '\n' && one.is_control()
        || matches!(one, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn assert_harmless(what: &str, bytes: &[u8]) -> String {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    // DiskSpd's own tables are indented by tabs.
    let found = text.lines().find(|line| {
        line.trim_start_matches('\t').replace(":\t", "").contains(|one| acts(one) && one != '\t')
    });
    assert_eq!(found, None, "{what}");
    let forged = text.lines().find(|line| line.starts_with("REFUSED: forged"));
    assert_eq!(forged, None, "{what}: {text}");
    text
}

fn run<Name: AsRef<OsStr>>(folder: &Path, args: &[Name]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_diskspd"));
    command.args(args).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// What is printed for these arguments, and the exit code.
fn printed(args: &[&str]) -> (String, Option<i32>) {
    let folder = folder();
    fs::write(folder.path().join("text"), "Dear Ada").unwrap();
    let output = run(folder.path(), args);
    let mut text = assert_harmless(&format!("{args:?}"), &output.stdout);
    text.push_str(&assert_harmless(&format!("{args:?}"), &output.stderr));
    (text, output.status.code())
}

/// Break 8: the name of a target, of a profile, of a journal and of a result, in results, explanations,
/// steps, diagnoses and errors.
#[test]
fn break_8_a_name_with_control_characters_was_printed_raw() {
    for (name, words) in HOSTILE {
        let json = format!("--json={name}/r.json");
        let (profile, journal) = (format!("-X{name}.xml"), format!("--verify-journal={name}/j"));
        let (missing, event) = (format!("./{name}-missing"), format!("-ye{name}"));
        let null: &[&str] = &["-W0", "-d30", "--stop-ios=50", "-b4K"];
        let made = [null, &["-c64K", "-w50", "-r", name]].concat();
        let cases: [(&[&str], i32); 13] = [
            (&made, 0),
            (&[null, &["-v", "-c64K", name]].concat(), 0),
            (&[null, &["-c64K", "-Rxml", "-D", "-L", name]].concat(), 0),
            (&[null, &["-c64K", "-Rjson", name]].concat(), 0),
            (&["-Rp", "-c1M", name], 0),
            (&["-Rpxml", "-c1M", name], 0),
            (&["--explain", "-c1M", "-w100", name], 0),
            (&["-d1", &missing], 3),
            (&["-d1", &json, "-c64K", "t"], 3),
            (&[&profile], 3),
            (&["-d1", "--verify", "-w100", "-c64K", &journal, "t"], 1),
            (&[&event], 1),
            (&[&format!("-d1{name}"), "t"], 3),
        ];
        for (args, code) in cases {
            let (text, ended) = printed(args);
            assert!(
                text.contains(words)
                    || args.contains(&"-Rxml")
                    || args.contains(&"-Rpxml")
                    || args.contains(&"-Rjson"),
                "{args:?}: {text}"
            );
            if code != 3 && code != 1 {
                assert_eq!(ended, Some(code), "{args:?}: {text}");
            } else {
                assert_ne!(ended, Some(0), "{args:?}: {text}");
            }
        }
    }
}

#[test]
fn json_and_xml_name_a_hostile_target_exactly() {
    for (name, _) in HOSTILE {
        let folder = folder();
        let args = ["-W0", "-d30", "--stop-ios=9", "-c64K", "-Rjson", "--json=r.json", name];
        let output = run(folder.path(), &args);
        for json in [output.stdout, fs::read(folder.path().join("r.json")).unwrap()] {
            let result: Value = serde_json::from_slice(&json).unwrap();
            assert_eq!(result["request"]["profile"]["time_spans"][0]["targets"][0]["path"], name);
        }
        let output = run(folder.path(), &["-W0", "-d30", "--stop-ios=9", "-Rxml", name]);
        let xml = String::from_utf8(output.stdout).unwrap();
        let parsed = roxmltree::Document::parse(&xml).unwrap();
        let path = parsed.descendants().find(|node| node.has_tag_name("Path")).unwrap();
        // XML 1.0 has no place for most of the first 32 characters.
        if !name.contains(['\x1b', '\x07', '\x08']) {
            assert_eq!(path.text(), Some(name));
        }
    }
}

#[test]
fn a_profile_cannot_print_what_acts_on_a_terminal() {
    let folder = folder();
    let profile = "<Profile><TimeSpans><TimeSpan><Duration>1&#x9b;2J</Duration><Targets><Target>\
                   <Path>x&#10;REFUSED: forged&#x202e;&#x9b;31m</Path></Target>\
                   </Targets></TimeSpan></TimeSpans></Profile>";
    for profile in [
        profile.to_owned(),
        profile.replace("1&#x9b;2J", "1"),
        profile.replace("Path>", "Pa\u{9b}th>"),
    ] {
        fs::write(folder.path().join("p.xml"), profile).unwrap();
        let output = run(folder.path(), &["-Xp.xml"]);
        assert_ne!(output.status.code(), Some(0));
        let told = assert_harmless("profile", &output.stderr);
        assert_eq!(told.lines().filter(|line| !line.starts_with("ERROR: ")).count(), 0, "{told}");
    }
}

#[test]
fn an_argument_that_is_no_text_is_shown_byte_for_byte() {
    let folder = folder();
    let name = OsStr::from_bytes(b"a\xff\xed\xa0\x80\x1bb");
    let output = run(folder.path(), &[OsString::from("-c1M").as_os_str(), name]);
    assert_eq!(output.status.code(), Some(3));
    let told = assert_harmless("argument", &output.stderr);
    assert!(told.contains(r"'a\xff\xed\xa0\x80\x1bb' is not UTF-8"), "{told}");
}

/// `script` of util-linux makes a terminal; the bar and the question are only shown at one.
#[test]
fn a_terminal_gets_no_control_characters_of_a_name() {
    for (name, words) in HOSTILE {
        let folder = folder();
        let line =
            format!("{} -v -W0 -d1 -b4K -w100 -c32M \"$NAME\" 2>&1", env!("CARGO_BIN_EXE_diskspd"));
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--command", &line, "/dev/null"]).env("NAME", name);
        let Ok(output) = command.current_dir(folder.path()).stdin(Stdio::null()).output() else {
            #[expect(clippy::print_stderr, reason = "a skipped test says why")]
            return eprintln!("skipped: there is no `script` to make a terminal");
        };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains(words), "{text}");
        // The bar itself moves the cursor.
        for raw in ["\x1b]0;", "\x1b[2J", "\u{9b}", "\u{202e}", "\nREFUSED: forged", "\x07"] {
            assert!(!text.contains(raw), "{name:?}: {text:?}");
        }
    }
}

/// A password in the address of something that is no target of ours was repeated in errors and in the result.
#[test]
fn a_password_of_an_address_was_repeated() {
    let secrets = ["smb://user:p@ss@host/share", "nfs://host/x?user=u&password=p@ss"];
    for address in secrets {
        for args in
            [["-d1", "-c1M", address], ["-d1", "--json=r", address], ["-Rp", "-d5", address]]
        {
            let (text, _) = printed(&args);
            assert!(!text.contains("p@ss") && text.contains("***"), "{args:?}: {text}");
        }
    }
}

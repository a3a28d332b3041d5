//! `--explain`: what a run would do, and the question at a terminal.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use fathom_core::explain::{Explanation, Fate, FileToMake};

fn diskspd(folder: &Path, args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_diskspd"));
    command.args(args.split_whitespace()).current_dir(folder).output().unwrap()
}

fn explained(folder: &Path, args: &str) -> (Option<i32>, Explanation) {
    let output = diskspd(folder, &format!("--explain -Rjson {args}"));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let read = serde_json::from_slice(&output.stdout);
    (output.status.code(), read.unwrap_or_else(|error| panic!("{args}: {error}: {stderr}")))
}

#[test]
fn a_run_that_would_go_ahead_is_told_with_files_bytes_and_time_and_does_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let args = "-c8M -b4K -W1 -d3 -C1 -w50 -t2 --rate=100 t.dat";
    let (code, told) = explained(folder.path(), args);
    assert_eq!(code, Some(0));
    assert!(told.would_run);
    assert!((told.duration_s - 5.0).abs() < 1e-9, "{}", told.duration_s);
    let file = &told.files[0];
    assert_eq!((file.fate, file.size_bytes, file.write_bytes), (Fate::Made, 8 << 20, 8 << 20));
    let target = &told.targets[0];
    assert!(target.is_written && target.path.ends_with("t.dat") && !target.verdict.is_refused);
    // 100 I/Os a second for 5 s, and the first of each thread; half of them are writes.
    assert_eq!(target.writes.bytes_at_most, Some(502 * 4096 / 2));
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "something was created");
}

#[test]
fn a_file_that_is_there_is_said_to_be_kept_and_one_of_another_size_to_be_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let made = diskspd(folder.path(), "-c1M -W0 -d1 t.dat");
    assert_eq!(made.status.code(), Some(0));
    let fate = |args: &str| explained(folder.path(), args).1.files[0].fate;
    assert_eq!(fate("-c1M -d1 t.dat"), Fate::Kept);
    assert_eq!(fate("-c2M -d1 t.dat"), Fate::Replaced);
    assert_eq!(folder.path().join("t.dat").metadata().unwrap().len(), 1 << 20);
}

/// The form that a profile has for results was taken for a typed `-Rxml`.
#[test]
fn a_profile_whose_results_are_xml_was_refused_for_an_option_that_nobody_typed() {
    let folder = tempfile::tempdir().unwrap();
    let profile = diskspd(folder.path(), "-c1M -b4K -d3 -Rpxml t.dat").stdout;
    let profile = String::from_utf8(profile).unwrap();
    assert!(profile.contains("<ResultFormat>xml</ResultFormat>"), "{profile}");
    std::fs::write(folder.path().join("p.xml"), profile).unwrap();
    let output = diskspd(folder.path(), "--explain -Xp.xml");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("This run would go ahead."), "{text}");
    assert_eq!(explained(folder.path(), "-Xp.xml").0, Some(0));
    assert_eq!(diskspd(folder.path(), "--explain -Rxml -Xp.xml").status.code(), Some(3));
}

/// What stands in the place of the journal was not seen, though the run would refuse it, or write it over.
#[test]
fn the_journal_of_a_verified_run_was_not_explained() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    std::fs::write(place("notes"), "milk, bread\n").unwrap();
    std::fs::write(place("empty"), "").unwrap();
    std::os::unix::fs::symlink("empty", place("link")).unwrap();
    std::os::unix::fs::symlink("nothing", place("dangling")).unwrap();
    let load = "-b4K -W0 -d60 --stop-ios=64 -w100";
    let both = |journal: &str, target: &str| {
        let args = format!("--verify-journal={journal} -c1M {load} {target}");
        let explained = diskspd(folder.path(), &format!("--explain {args}"));
        let told = String::from_utf8([explained.stdout, explained.stderr].concat()).unwrap();
        let ran = diskspd(folder.path(), &args);
        let errors = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(explained.status.code(), ran.status.code(), "{told} {errors}");
        (ran.status.code(), told, errors)
    };
    for (journal, target, code, words) in [
        ("notes", "t.dat", 2, "'notes' is no journal of a verified run and is left alone"),
        (".", "t.dat", 2, "'.' is a directory and is left alone"),
        ("dangling", "t.dat", 2, "'dangling' is a symbolic link that leads to no file"),
        ("no/where", "t.dat", 1, "cannot open the folder of the journal 'no/where'"),
        ("./new.dat", "new.dat", 2, "the journal './new.dat' is a target too"),
        // That file was written, and the link removed.
        ("link", "empty", 2, "the journal 'link' is a target too"),
    ] {
        let (was, told, errors) = both(journal, target);
        assert_eq!(was, Some(code), "{journal}: {errors}");
        assert!(told.contains(words) && errors.contains(words), "{journal}: {told} {errors}");
    }
    assert_eq!(std::fs::read(place("notes")).unwrap(), b"milk, bread\n");
    assert_eq!(std::fs::read(place("empty")).unwrap(), b"");
    assert!(place("link").is_symlink() && !place("new.dat").exists() && !place("t.dat").exists());
    // The journal of a run that has ended is replaced, which is said.
    assert_eq!(both("j", "t.dat").0, Some(0));
    let (code, told, _) = both("j", "t.dat");
    assert_eq!(code, Some(0));
    assert!(told.contains("The journal 'j' takes the place of that of an earlier run"), "{told}");
}

/// A run for which there is no room was said to go ahead.
#[test]
fn room_for_files_was_not_explained() {
    let folder = tempfile::tempdir().unwrap();
    let said = |before: &str, args: &str| {
        let script = format!("{before} exec \"$0\" $1");
        let mut command = Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_diskspd"), args]);
        let output = command.current_dir(folder.path()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for (before, args, words) in [
        ("", "-c100T -d1 t.dat", "not enough space: 109951162777600 bytes are needed"),
        ("ulimit -f 1000;", "-c10M -d1 t.dat", "ulimit -f"),
    ] {
        let (explained, ran) = (said(before, &format!("--explain {args}")), said(before, args));
        assert_eq!((explained.0, ran.0), (Some(1), Some(1)), "{explained:?} {ran:?}");
        assert!(explained.1.contains(words) && ran.1.contains(words), "{explained:?} {ran:?}");
    }
    // A file that is kept takes no room, and a folder that is not there is named.
    assert_eq!(diskspd(folder.path(), "-c2M -W0 -d1 t.dat").status.code(), Some(0));
    assert_eq!(said("ulimit -f 1000;", "--explain -c2M -d1 t.dat").0, Some(0));
    assert!(folder.path().join("t.dat").exists());
}

/// `SIGXFSZ` ended the process while it wrote its result, with neither a line nor an exit code of its own.
#[test]
fn a_result_that_the_limit_of_file_sizes_leaves_no_room_for_was_lost_without_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let script = "ulimit -f 8; exec \"$0\" -c4K -b4K -W0 -d1 --json=r.json t.dat";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_diskspd")]).current_dir(folder.path());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        errors.contains("cannot write the JSON result to 'r.json': File too large"),
        "{errors}"
    );
    assert!(String::from_utf8(output.stdout).unwrap().contains("Total IO"));
}

/// What `--explain` announces is what the run then does: one file is made, one is made again, one is kept.
#[test]
fn files_that_remove_created_would_remove_are_told_and_they_are_those_that_it_removes() {
    let folder = tempfile::tempdir().unwrap();
    for made in ["-c1M -W0 -d1 kept.dat", "-c2M -W0 -d1 again.dat"] {
        assert_eq!(diskspd(folder.path(), made).status.code(), Some(0));
    }
    let args = "-c1M -b4K -W0 -d1 kept.dat again.dat new.dat";
    let (_, told) = explained(folder.path(), args);
    assert!(told.files.iter().all(|file| !file.is_removed), "{told:?}");
    let args = format!("--remove-created {args}");
    let (_, told) = explained(folder.path(), &args);
    let of = |file: &FileToMake| {
        let name = Path::new(&file.path).file_name().unwrap().to_string_lossy().into_owned();
        (name, (file.fate, file.is_removed))
    };
    let told: BTreeMap<_, _> = told.files.iter().map(of).collect();
    assert_eq!(told["kept.dat"], (Fate::Kept, false));
    assert_eq!(told["again.dat"], (Fate::Replaced, false));
    assert_eq!(told["new.dat"], (Fate::Made, true));
    let text = diskspd(folder.path(), &format!("--explain {args}"));
    let text = String::from_utf8(text.stdout).unwrap();
    let lines = text.lines().filter(|line| line.contains("is removed when the run ends"));
    let lines: Vec<_> = lines.collect();
    assert!(matches!(lines.as_slice(), [line] if line.contains("new.dat (1MiB): made")), "{text}");
    assert_eq!(diskspd(folder.path(), &args).status.code(), Some(0));
    for (name, (_, is_removed)) in told {
        assert_eq!(folder.path().join(&name).exists(), !is_removed, "{name}");
    }
}

#[test]
fn a_run_that_would_be_refused_is_told_with_the_reason_and_exit_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let letter = "Dear Ada, how are you?\n".repeat(100);
    std::fs::write(folder.path().join("letter"), letter).unwrap();
    let (code, told) = explained(folder.path(), "-b512 -w100 letter");
    assert_eq!(code, Some(2));
    assert!(!told.would_run && told.targets[0].verdict.is_refused);
    assert!(told.targets[0].verdict.reason.contains("text"), "{told:?}");
    assert!(told.targets[0].verdict.remedy.contains("--overwrite"), "{told:?}");
    assert_eq!(explained(folder.path(), "-b512 -w100 --overwrite letter").0, Some(0));
    assert_eq!(explained(folder.path(), "-b512 -w0 letter").0, Some(0), "it is only read");
}

#[test]
fn the_text_says_it_too_and_the_json_goes_to_a_file_besides() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.dat"), vec![0; 1 << 20]).unwrap();
    let output = diskspd(folder.path(), "--explain --json=e.json -b4K -w100 -d7 t.dat");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    for words in ["would go ahead", "written, bytes 0 to 1048576", "not bounded", "Nothing was"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let json = std::fs::read(folder.path().join("e.json")).unwrap();
    assert!(serde_json::from_slice::<Explanation>(&json).unwrap().would_run);
}

#[test]
fn a_request_that_is_wrong_is_told_as_ever() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(diskspd(folder.path(), "--explain -w100 missing.dat").status.code(), Some(1));
    assert_eq!(diskspd(folder.path(), "--explain -Rxml t.dat").status.code(), Some(3));
    assert_eq!(diskspd(folder.path(), "--explain -Rp t.dat").status.code(), Some(3));
    assert_eq!(diskspd(folder.path(), "--allow-write= t.dat").status.code(), Some(3));
}

/// Where libblkid cannot be loaded, the binary starts, says so, and still refuses what is not ours.
#[test]
#[cfg_attr(target_env = "musl", ignore = "the static binary carries libblkid")]
fn without_libblkid_data_of_others_are_refused_without_their_name() {
    let folder = tempfile::tempdir().unwrap();
    // The loader takes the first file of the name, and this one is no library.
    std::fs::write(folder.path().join("libblkid.so.1"), "not a library").unwrap();
    let mut image = vec![0_u8; 1 << 20];
    image[65_600..65_608].copy_from_slice(b"_BHRfS_M");
    std::fs::write(folder.path().join("image"), &image).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_diskspd"))
        .args(["--explain", "-w100", "image"])
        .env("LD_LIBRARY_PATH", folder.path())
        .current_dir(folder.path())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(
        text.contains("neither diskspd nor fathom made") && text.contains("libblkid is not here"),
        "{text}"
    );
}

/// The run ended with an error where it was said to go ahead, or with another file made already.
#[test]
fn files_that_cannot_be_made_were_explained_as_made() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("nowhere/t.dat", folder.path().join("link")).unwrap();
    for (targets, words) in [
        ("link", "nowhere' does not exist"),
        ("new.dat link", "nowhere' does not exist"),
        ("/sys/t.dat", "may not be made: its folder is of sysfs"),
        ("new.dat /proc/self/t.dat", "may not be made: its folder is of proc"),
    ] {
        let args = format!("-c1M -b4K -W0 -d1 {targets}");
        let explained = diskspd(folder.path(), &format!("--explain {args}"));
        let ran = diskspd(folder.path(), &args);
        for output in [explained, ran] {
            let told = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            assert_eq!(output.status.code(), Some(1), "{targets}: {told}");
            assert!(told.contains(words), "{targets}: {told}");
        }
        assert!(!folder.path().join("new.dat").exists(), "{targets}");
    }
}

/// The result took the place of the target, which was then somebody's.
#[test]
fn a_result_went_by_a_link_to_where_the_target_was_to_be_made() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("d")).unwrap();
    for (link, to) in [("j", "t.dat"), ("d/j", "../t.dat"), ("k", "j")] {
        std::os::unix::fs::symlink(to, folder.path().join(link)).unwrap();
        for explain in ["--explain ", ""] {
            let args = format!("{explain}-c1M -b4K -W0 -d1 --json={link} t.dat");
            let output = diskspd(folder.path(), &args);
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{args}: {said}");
            assert!(said.contains("it is a target of this run"), "{args}: {said}");
            assert!(!folder.path().join("t.dat").exists(), "{args}");
        }
    }
    let output = diskspd(folder.path(), "--explain -c1M -d1 --json=r/ t.dat");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("its name ends as that of a folder does"), "{said}");
    assert_eq!(output.status.code(), Some(3));
}

//! Making, keeping, making again, and leaving nothing behind.

use std::fs::OpenOptions;
use std::os::unix::fs::symlink;
use std::sync::Mutex;

use fathom_sys::contract::file::PositionedIo;

use super::*;
use crate::storage::Location;

static GO: AtomicBool = AtomicBool::new(false);

fn quiet(_: Event) {}

fn make(path: &Path, size_bytes: u64) -> Result<Created, PrepareError> {
    create(
        &FilePlan { location: Location::here(path), size_bytes, ..FilePlan::default() },
        false,
        &mut Checked::default().watched(),
        &GO,
        &quiet,
    )
}

fn home() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

#[test]
fn files_of_odd_sizes_are_complete() {
    let home = home();
    for size in [1, 7, 511, 4096, 4097, 65_536, (4 << 20) + 4096, (9 << 20) + 123] {
        let path = home.path().join(format!("file{size}"));
        assert_eq!(make(&path, size).expect("made"), Created::Made);
        let file = File::open(&path).expect("a file");
        assert_eq!(file.metadata().expect("metadata").len(), size);
        let backing = extents::backing(&file, 0..size).expect("extents");
        assert_eq!(backing.unbacked_bytes(), 0, "{size}");
        let proof = content::proven(&file, size, Reduction::default()).expect("reads");
        assert_eq!(proof.is_some(), size >= 16, "{size}");
        // A drawn byte is zero once in 256 times, and zeros are nobody's.
        let first_drawn = fs::read(&path).expect("a file").iter().position(|byte| *byte != 0);
        let expected = match (size, first_drawn) {
            (16.., _) => Whose::Ours,
            (_, None) => Whose::Empty,
            (_, Some(at)) => Whose::Theirs(at as u64),
        };
        let without_mark = proof::look(&file, size, proof::Hints::new(None, false)).expect("reads");
        assert_eq!(without_mark, expected, "{size}");
        let with_mark = if first_drawn.is_none() { Whose::Empty } else { Whose::Ours };
        assert_eq!(whose(&file, size).expect("reads"), with_mark, "{size}");
    }
}

#[test]
fn the_whole_content_is_as_its_seed_says() {
    let home = home();
    let path = home.path().join("file");
    let size_bytes = (13 << 20) + 77;
    make(&path, size_bytes).expect("made");
    let data = fs::read(&path).expect("a file");
    let file = File::open(&path).expect("a file");
    let content =
        content::proven(&file, size_bytes, Reduction::default()).expect("reads").expect("ours");
    let mut expected = vec![0; data.len()];
    content.fill(0, &mut expected);
    assert!(expected == data);
}

#[test]
fn an_empty_file_can_be_made_and_kept() {
    let home = home();
    let path = home.path().join("empty");
    assert_eq!(make(&path, 0).expect("made"), Created::Made);
    assert_eq!(fs::metadata(&path).expect("a file").len(), 0);
    assert_eq!(make(&path, 0).expect("kept"), Created::Kept);
}

#[test]
fn a_complete_file_is_kept_and_another_size_is_made_again() {
    let home = home();
    let path = home.path().join("file");
    make(&path, 100_000).expect("made");
    let before = fs::metadata(&path).expect("a file");
    assert_eq!(make(&path, 100_000).expect("kept"), Created::Kept);
    let after = fs::metadata(&path).expect("a file");
    let kept = |found: &std::fs::Metadata| (found.number(), found.modified().expect("a time"));
    assert_eq!(kept(&before), kept(&after));
    assert_eq!(make(&path, 50_000).expect("made again"), Created::Remade);
    assert_eq!(make(&path, 200_000).expect("made again"), Created::Remade);
    assert_eq!(fs::metadata(&path).expect("a file").len(), 200_000);
}

#[test]
fn a_file_without_mark_is_kept_by_its_content() {
    let home = home();
    let (path, copy) = (home.path().join("file"), home.path().join("copy"));
    make(&path, 300_000).expect("made");
    fs::write(&copy, fs::read(&path).expect("a file")).expect("a copy");
    assert_eq!(make(&copy, 300_000).expect("kept"), Created::Kept);
    let file = OpenOptions::new().write(true).open(&copy).expect("a file");
    file.write_all_at(&[0; 4096], 0).expect("a write");
    drop(file);
    assert_eq!(make(&copy, 300_000).expect("made again"), Created::Remade);
}

#[test]
fn test_data_of_others_is_made_again() {
    let home = home();
    let path = home.path().join("file");
    fs::write(&path, vec![0; 100_000]).expect("a file");
    assert_eq!(make(&path, 100_000).expect("made again"), Created::Remade);
    assert!(!content::has_zeros(&File::open(&path).expect("a file"), 100_000).expect("reads"));
}

#[test]
fn a_marked_file_is_made_again_once_it_holds_zeros_or_holes() {
    let home = home();
    let path = home.path().join("file");
    make(&path, 100_000).expect("made");
    let file = OpenOptions::new().read(true).write(true).open(&path).expect("a file");
    if Mark::of(&file) == Mark::default() {
        return; // Without marks every written file is made again, as other tests show.
    }
    let mut random = [0; 4096];
    crate::noise::fill(7, &mut random);
    file.write_all_at(&random, 8192).expect("a write");
    assert_eq!(make(&path, 100_000).expect("kept"), Created::Kept);
    file.write_all_at(&[0; 4096], 8192).expect("a write");
    assert_eq!(make(&path, 100_000).expect("made again"), Created::Remade);
    file.set_len(0).expect("a length");
    file.set_len(100_000).expect("a length");
    assert_eq!(make(&path, 100_000).expect("made again"), Created::Remade);
}

#[test]
fn recognisable_data_stay_unless_told_otherwise() {
    let home = home();
    let path = home.path().join("notes");
    let words = "these are somebody's words\n";
    fs::write(&path, words).expect("a file");
    let error = make(&path, 8192).expect_err("refused");
    assert!(matches!(error, PrepareError::Theirs { .. }), "{error}");
    assert!(error.to_string().contains("--overwrite"), "{error}");
    assert_eq!(fs::read_to_string(&path).expect("a file"), words);
    let file =
        FilePlan { location: Location::here(&path), size_bytes: 8192, ..FilePlan::default() };
    assert_eq!(
        create(&file, true, &mut Checked::default(), &GO, &quiet).expect("made again"),
        Created::Remade
    );
}

#[test]
fn links_lead_to_the_file_even_where_there_is_none_yet() {
    let home = home();
    let (path, link) = (home.path().join("file"), home.path().join("link"));
    symlink("file", &link).expect("a link");
    assert_eq!(make(&link, 5000).expect("made"), Created::Made);
    assert_eq!(fs::metadata(&path).expect("a file").len(), 5000);
    assert!(fs::symlink_metadata(&link).expect("a link").is_symlink());
    assert_eq!(make(&link, 5000).expect("kept"), Created::Kept);
    // Who ends the run before the file is touched keeps it, and who does so afterwards has an empty one.
    let stop = AtomicBool::new(true);
    let stop_soon =
        |event: Event| stop.store(matches!(event, Event::Filling { .. }), Ordering::Relaxed);
    let file =
        FilePlan { location: Location::here(&link), size_bytes: 9000, ..FilePlan::default() };
    let error = create(&file, false, &mut Checked::default(), &stop, &stop_soon).expect_err("stop");
    assert!(matches!(error, PrepareError::NotBegun { .. }), "{error}");
    assert_eq!(make(&link, 5000).expect("kept"), Created::Kept);
    stop.store(false, Ordering::Relaxed);
    let error = create(&file, false, &mut Checked::default(), &stop, &stop_soon).expect_err("stop");
    assert!(
        matches!(error, PrepareError::Interrupted { partial: Partial::Emptied, .. }),
        "{error}"
    );
    assert_eq!(fs::read(&path).expect("it stays"), b"");
    assert!(fs::symlink_metadata(&link).expect("a link").is_symlink());
}

#[test]
fn what_is_in_the_way_is_named() {
    let home = home();
    let error = make(home.path(), 10).expect_err("a directory");
    assert!(error.to_string().contains("a directory"), "{error}");
    let error = make(&home.path().join("runs/64"), 10).expect_err("no directory");
    assert!(matches!(error, PrepareError::MissingDirectory { .. }), "{error}");
    assert!(error.to_string().contains("runs does not exist"), "{error}");
    let error = make(Path::new("/dev/null"), 10).expect_err("a device");
    assert!(matches!(error, PrepareError::NotAFile { .. }), "{error}");
    fs::write(home.path().join("plain"), "x").expect("a file");
    let error = make(&home.path().join("plain/file"), 10).expect_err("no directory");
    assert!(error.to_string().contains("correct the path"), "{error}");
}

#[test]
fn too_large_a_file_is_refused_before_a_byte_is_written() {
    let home = home();
    let path = home.path().join("huge");
    let error = make(&path, 1 << 61).expect_err("no room");
    assert!(
        matches!(error, PrepareError::NoSpace { .. } | PrepareError::TooLarge { .. }),
        "{error}"
    );
    assert!(!path.exists());
    fs::write(&path, [0; 5000]).expect("a file");
    assert!(make(&path, 1 << 61).is_err());
    assert_eq!(fs::metadata(&path).expect("a file").len(), 5000);
}

#[test]
fn stopping_leaves_nothing() {
    let home = home();
    let path = home.path().join("file");
    let stop = AtomicBool::new(false);
    let size_bytes = 64 << 20;
    let stop_at_once = |event: Event| {
        if matches!(event, Event::Filling { .. }) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let file = FilePlan { location: Location::here(&path), size_bytes, ..FilePlan::default() };
    let error =
        create(&file, false, &mut Checked::default(), &stop, &stop_at_once).expect_err("stopped");
    assert!(
        matches!(error, PrepareError::Interrupted { done_bytes, .. } if done_bytes < size_bytes),
        "{error}"
    );
    assert!(!path.exists());
}

#[test]
fn progress_ascends_and_ends_with_all_bytes() {
    let home = home();
    let path = home.path().join("file");
    let seen = Mutex::new(Vec::new());
    let sink = |event: Event| seen.lock().expect("no panic").push(event);
    let size_bytes = (24 << 20) + 5;
    create(
        &FilePlan { location: Location::here(path), size_bytes, ..FilePlan::default() },
        false,
        &mut Checked::default(),
        &GO,
        &sink,
    )
    .expect("made");
    let events = seen.into_inner().expect("no panic");
    let done: Vec<u64> = events
        .iter()
        .filter_map(|event| match event {
            Event::Filling { done_bytes, total_bytes, .. } => {
                assert_eq!(*total_bytes, size_bytes);
                Some(*done_bytes)
            }
            _ => None,
        })
        .collect();
    assert_eq!(done.first(), Some(&0));
    assert_eq!(done.last(), Some(&size_bytes));
    assert!(done.is_sorted());
    assert!(matches!(events.last(), Some(Event::Step(step)) if step.contains("created")));
}

/// What others write while a file is filled was taken for what it was filled with.
#[test]
fn a_file_that_others_wrote_while_it_was_filled_is_not_marked_as_ours() {
    let home = home();
    let path = home.path().join("file");
    let size_bytes = 9 << 20;
    let (at, written) = (5 << 20, Mutex::new(false));
    let sink = |event: Event| {
        let Event::Filling { done_bytes, .. } = event else { return };
        let mut written = written.lock().expect("no other fault");
        // All that is left then is the first block.
        if done_bytes + 4096 >= size_bytes && !std::mem::replace(&mut *written, true) {
            let line = format!("printf theirs | dd of=\"$1\" bs=1 seek={at} conv=notrunc 2>&1");
            let done =
                std::process::Command::new("sh").args(["-c", &line, "-"]).arg(&path).output();
            assert!(done.expect("a shell").status.success());
        }
    };
    let plan = FilePlan { location: Location::here(&path), size_bytes, ..FilePlan::default() };
    let mut checked = Checked::default().watched();
    create(&plan, false, &mut checked, &GO, &sink).expect("made");
    let file = File::open(&path).expect("a file");
    let mut there = [0; 6];
    file.read_exact_at(&mut there, at).expect("a read");
    assert_eq!(&there, b"theirs");
    assert_eq!(whose(&file, size_bytes).expect("a look"), Whose::Theirs(at));
}

/// A file of fewer than 16 bytes proves nothing: its mark counts, as nobody else has written to it.
#[test]
fn a_file_that_nobody_else_wrote_is_marked_as_ours() {
    let home = home();
    let path = home.path().join("file");
    for size_bytes in [5, 7] {
        make(&path, size_bytes).expect("made");
        let file = File::open(&path).expect("a file");
        if Mark::of(&file) != Mark::default() && fathom_sys::watch::Watch::new().is_ok() {
            assert_eq!(whose(&file, size_bytes).expect("a look"), Whose::Ours);
        }
    }
}

/// Another program that has a file open for writing, until it is dropped.
struct Writer(std::process::Child);

impl Writer {
    /// One that has written a word at an offset, if there is one.
    fn of(path: &Path, word_at: Option<u64>) -> Self {
        use std::io::BufRead;
        let write = |at| {
            format!("printf precious | dd of=/dev/fd/3 bs=1 seek={at} conv=notrunc status=none; ")
        };
        let script = format!(
            "exec 3<>\"$1\"; {}echo open; read -r _",
            word_at.map(write).unwrap_or_default()
        );
        let mut child = std::process::Command::new("sh")
            .args(["-c", &script, "sh"])
            .arg(path)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut line = String::new();
        let out = child.stdout.as_mut().expect("its output");
        io::BufReader::new(out).read_line(&mut line).expect("a line");
        assert_eq!(line, "open\n");
        Self(child)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

#[test]
fn a_file_that_another_program_has_open_for_writing_since_the_look_is_not_made_again() {
    let home = home();
    let path = home.path().join("file");
    File::create(&path).expect("an empty file");
    let mut checked = Checked::default().watched();
    assert!(matches!(checked.look(&path), Found::There(_)));
    let writer = Writer::of(&path, Some(0));
    let file =
        FilePlan { location: Location::here(&path), size_bytes: 9000, ..FilePlan::default() };
    for overwrite in [false, true] {
        let error = create(&file, overwrite, &mut checked, &GO, &quiet).expect_err("it is in use");
        assert!(matches!(error, PrepareError::InUse { .. }), "{error}");
    }
    drop(writer);
    let error = create(&file, false, &mut checked, &GO, &quiet).expect_err("it has data");
    assert!(matches!(error, PrepareError::Theirs { .. }), "{error}");
    assert_eq!(fs::read(&path).expect("a file"), b"precious");
}

/// What no disk takes before the first report of progress, which comes after a tenth of a second.
const LONG_TO_FILL_BYTES: u64 = 1 << 30;

/// What became of a file of `size_bytes` whose filling ended when this had been done, and the error in words.
fn interrupted(path: &Path, size_bytes: u64, by: &(dyn Fn() + Sync)) -> (Option<Partial>, String) {
    let stop = AtomicBool::new(false);
    let sink = |event: Event| {
        if matches!(event, Event::Filling { done_bytes: 1.., .. }) && !stop.load(Ordering::Relaxed)
        {
            by();
            stop.store(true, Ordering::Relaxed);
        }
    };
    let file = FilePlan { location: Location::here(path), size_bytes, ..FilePlan::default() };
    let mut checked = Checked::default().watched();
    let error = create(&file, false, &mut checked, &stop, &sink).expect_err("interrupted");
    let PrepareError::Interrupted { partial, .. } = error else { return (None, error.to_string()) };
    (Some(partial), error.to_string())
}

#[test]
fn what_another_program_wrote_meanwhile_stays_while_it_has_the_file_open() {
    let home = home();
    let size_bytes = 3 << 30;
    for was_there in [false, true] {
        let path = home.path().join(format!("file{was_there}"));
        if was_there {
            File::create(&path).expect("an empty file");
        }
        if let Err(PrepareError::NoSpace { .. }) = room::check(&path, size_bytes, 0) {
            return;
        }
        let writer = Mutex::new(None);
        let at = size_bytes - 4096;
        let write = || *writer.lock().expect("no panic") = Some(Writer::of(&path, Some(at)));
        let (partial, words) = interrupted(&path, size_bytes, &write);
        assert_eq!(partial, Some(Partial::Kept), "{words}");
        let mut held = [0; 8];
        File::open(&path).expect("it stays").read_exact_at(&mut held, at).expect("reads");
        assert_eq!(&held, b"precious");
    }
}

#[test]
fn a_reader_of_a_partial_file_does_not_keep_it() {
    let home = home();
    let path = home.path().join("file");
    let reader = Mutex::new(None);
    let read = || *reader.lock().expect("no panic") = Some(File::open(&path).expect("a file"));
    let (partial, words) = interrupted(&path, LONG_TO_FILL_BYTES, &read);
    assert_eq!(partial, Some(Partial::Removed), "{words}");
    assert!(!path.exists());
}

#[test]
fn what_took_the_place_of_a_partial_file_is_never_called_its_own() {
    let home = home();
    let (path, old) = (home.path().join("file"), home.path().join("old"));
    for was_there in [false, true] {
        let _ = fs::remove_file(&path);
        if was_there {
            File::create(&path).expect("an empty file");
        }
        let exchange = || {
            fs::rename(&path, &old).expect("renamed");
            fs::write(&path, "somebody's").expect("another file");
        };
        let (partial, words) = interrupted(&path, LONG_TO_FILL_BYTES, &exchange);
        assert_eq!(partial, Some(Partial::Elsewhere), "{words}");
        assert!(words.contains("not of this run") && !words.contains("by hand"), "{words}");
        assert_eq!(fs::read(&path).expect("it stays"), b"somebody's");
        assert_eq!(fs::read(&old).expect("it stays"), b"");
    }
}

#[test]
fn a_partial_file_is_removed_from_the_folder_that_was_held() {
    let home = home();
    let (folder, moved) = (home.path().join("folder"), home.path().join("moved"));
    fs::create_dir(&folder).expect("a folder");
    let path = folder.join("file");
    let exchange = || {
        fs::rename(&folder, &moved).expect("renamed");
        fs::create_dir(&folder).expect("another folder");
        fs::write(&path, "somebody's").expect("another file");
    };
    let (partial, words) = interrupted(&path, LONG_TO_FILL_BYTES, &exchange);
    assert_eq!(partial, Some(Partial::Removed), "{words}");
    assert_eq!(fs::read(&path).expect("it stays"), b"somebody's");
    assert_eq!(fs::read_dir(&moved).expect("the folder").count(), 0);
}

#[test]
fn another_name_of_a_partial_file_keeps_no_data() {
    let home = home();
    let (path, other) = (home.path().join("file"), home.path().join("other"));
    let (partial, words) =
        interrupted(&path, LONG_TO_FILL_BYTES, &|| fs::hard_link(&path, &other).expect("a link"));
    assert_eq!(partial, Some(Partial::Elsewhere), "{words}");
    assert!(!path.exists());
    assert_eq!(fs::read(&other).expect("it stays"), b"");
}

//! The mark on files that this tool has made: an extended attribute with the state in which it left them.
//!
//! The mark alone proves nothing. It counts while the file is the one that was marked (inode, and the time
//! at which that was made) and in the state in which it was left: length, time of the last change of data,
//! and time of the last change of anything, which no program can set. Whatever else was done to it since,
//! what it holds must prove whose it is ([`super::proof`]); then the mark tells what to look for.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use fathom_sys::attributes;
use fathom_sys::file_state::{self, COARSE_NS, FileState, TICK_NS, clock_ns};

use super::content::Content;
use super::counted::Writes;
use super::proof::Hints;
use super::source::{END, Source};
use super::sum::Sum;
use crate::guard::Alone;
use crate::plan::Reduction;

const NAME: &CStr = c"user.fathom.made";
/// Version of the mark; those of version 1 told no state.
const VERSION: &str = "5";
/// Marks of this version told no sum.
const VERSION_4: &str = "4";
/// Marks of this version did not tell where I/Os began.
const VERSION_3: &str = "3";
/// Marks of this version told the file that fed the writes last, and not when it was changed.
const VERSION_2: &str = "2";
/// Time within which a mark that is set must have reached the file system, for its own change to be known.
const SETTING_NS: i64 = 5_000_000;
/// No file was changed then.
const IN_NO_STATE_NS: i64 = -1;
/// Files that fed the writes are kept as long as a mark is not longer.
const VALUE_BYTES_MAX: usize = 2048;

/// What a mark says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// What the file was created with, where this tool has created it.
    pub(super) content: Option<Content>,
    /// A person said that its data may be lost, whatever they were.
    pub(super) is_adopted: bool,
    /// The state in which it was left; absent in marks of version 1.
    left: Option<FileState>,
    /// Where the I/Os of our runs began that wrote to it, as far as that is known of all of them.
    pub(super) writes: Option<Writes>,
    /// The sum of all data, where content alone would not prove whose they are.
    pub(super) sum: Option<Sum>,
    /// The files that fed the writes, the last one first.
    fed: Vec<Source>,
}

impl Mark {
    /// A mark for a file that was created with `content`.
    pub(super) fn created(content: Content) -> Self {
        Self { content: Some(content), ..Self::default() }
    }

    /// A mark for a file whose data may be lost, whatever they are.
    pub(super) fn adopted() -> Self {
        Self { is_adopted: true, ..Self::default() }
    }

    /// The mark of `file`; an empty one if it has none that is understood.
    pub(super) fn of(file: &File) -> Self {
        let value = attributes::get(file, NAME).ok().flatten().unwrap_or_default();
        String::from_utf8(value).ok().and_then(|text| Self::parse(&text)).unwrap_or_default()
    }

    fn parse(text: &str) -> Option<Self> {
        let version = text.split(' ').next()?;
        let (has_sum, has_writes) = (version == VERSION, [VERSION, VERSION_4].contains(&version));
        let count = 11 + usize::from(has_writes) + usize::from(has_sum);
        let mut words = text.splitn(count, ' ').skip(1);
        let size_bytes = words.next()?.parse().ok()?;
        let seed = u64::from_str_radix(words.next()?, 16).ok();
        let mut number = || words.next().and_then(|word| word.parse::<i64>().ok());
        let mut percent = || number().and_then(|percent| u32::try_from(percent).ok()).unwrap_or(0);
        let reduction = Reduction { compress_percent: percent(), dedupe_percent: percent() };
        let content = seed.map(|seed| Content { seed, size_bytes, reduction });
        match version {
            "1" => {
                return Some(Self { content, writes: Some(Writes::ANY), ..Self::default() });
            }
            VERSION | VERSION_4 | VERSION_3 | VERSION_2 => {}
            _ => return None,
        }
        let is_adopted = number()? != 0;
        let inode = number()?.cast_unsigned();
        let born_ns = Some(number()?).filter(|born| *born != 0);
        let (modified_ns, changed_ns) = (number()?, number()?);
        let left = Some(FileState { inode, born_ns, size_bytes, modified_ns, changed_ns });
        let writes = if has_writes { Writes::parse(words.next()?) } else { Some(Writes::ANY) };
        let sum = if has_sum { Sum::parse(words.next()?) } else { None };
        let fed = words.next().filter(|_| version != VERSION_2).unwrap_or_default();
        let fed = fed.split_terminator(END).filter_map(Source::parse).collect();
        Some(Self { content, is_adopted, left, writes, sum, fed })
    }

    fn to_text(&self, state: FileState) -> String {
        let seed = self.content.map_or("-".to_owned(), |one| format!("{:016x}", one.seed));
        let Reduction { compress_percent, dedupe_percent } =
            self.content.map(|content| content.reduction).unwrap_or_default();
        let FileState { inode, born_ns, size_bytes, modified_ns, changed_ns } = state;
        let (adopted, inode) = (i32::from(self.is_adopted), inode.cast_signed());
        let born_ns = born_ns.unwrap_or(0);
        let writes = self.writes.map_or("-".to_owned(), Writes::to_text);
        let sum = self.sum.map_or("-".to_owned(), Sum::to_text);
        let mut text = format!(
            "{VERSION} {size_bytes} {seed} {compress_percent} {dedupe_percent} {adopted} {inode} {born_ns} \
             {modified_ns} {changed_ns} {writes} {sum}"
        );
        text.push(' ');
        for fed in self.fed.iter().filter_map(Source::to_text) {
            if text.len() + fed.len() <= VALUE_BYTES_MAX {
                text.push_str(&fed);
            }
        }
        text
    }

    /// Notes a file that feeds the writes.
    pub(super) fn fed_by(&mut self, path: &Path, bytes: u64) {
        let Some(source) = Source::new(path, bytes) else { return };
        self.fed.retain(|fed| (&fed.path, fed.bytes) != (&source.path, bytes));
        self.fed.insert(0, source);
    }

    /// Notes where I/Os begin. A mark that tells of none is that of a file to which no run of ours has
    /// written; without one, nothing is known of what wrote before.
    pub(super) fn written_by(&mut self, writes: Writes, is_as_made: bool) {
        let is_known = is_as_made || self.left.is_some();
        let before = self.writes.or((!is_known).then_some(Writes::ANY));
        self.writes = Some(before.map_or(writes, |before| before.and(writes)));
    }

    /// Notes that another tool has written for a run of ours.
    pub(super) fn written_by_another_tool(&mut self) {
        self.written_by(Writes::ANY, true);
    }

    /// Whether `file` is in the state in which it was left, and is the one that was left so.
    pub(super) fn holds(&self, file: &File) -> io::Result<bool> {
        let Some(left) = self.left else { return Ok(false) };
        let now = file_state::of(file)?;
        let changed = now.changed_ns - left.changed_ns;
        // Data that were changed within the last tick before the mark may have been changed again behind it.
        let is_settled = left.changed_ns - left.modified_ns > TICK_NS;
        Ok(is_settled
            && !is_coarse(now)
            && (-TICK_NS..=SETTING_NS).contains(&changed)
            && FileState { changed_ns: left.changed_ns, ..now } == left)
    }

    /// Whether `file` is the one that was marked, whatever was done to it since.
    pub(super) fn is_of(&self, file: &File) -> io::Result<bool> {
        let Some(left) = self.left else { return Ok(false) };
        let now = file_state::of(file)?;
        Ok((now.inode, now.born_ns) == (left.inode, left.born_ns))
    }

    /// What to look for in `file`, which has this mark. What fed another file proves nothing in this one: it
    /// may be a copy of what fed the writes.
    pub(super) fn hints(&self, file: &File) -> io::Result<Hints> {
        let mut hints = Hints::new(self.content, self.is_of(file)?);
        let writes = self.writes.unwrap_or(Writes::ANY);
        // A copy may be of anything besides.
        hints.writes = if hints.is_marked { writes } else { writes.and(Writes::ANY) };
        for fed in &self.fed {
            if hints.is_marked && fed.is_as_it_was(file)? {
                hints.feed(&fed.path, fed.bytes);
            }
        }
        Ok(hints)
    }

    /// Marks `file`, which is open for reading, in the state in which it is if it is certain that nobody else
    /// has written to it meanwhile. Otherwise the mark only tells what to look for.
    pub(super) fn seal(&self, file: &File, alone: &Alone) {
        if alone.is_alone(file) {
            self.set(file);
            if alone.is_alone(file) {
                return;
            }
        }
        self.note_unsealed(file);
    }

    /// Notes a mark of data that somebody else may have written.
    fn note_unsealed(&self, file: &File) {
        Self { sum: None, ..self.clone() }.note(file);
    }

    /// Confirms a mark that was set, when time has passed since: whoever wrote within the time that a setting
    /// may take, and gave the file its old time back, would else pass for the setting.
    pub(super) fn confirm(file: &File, is_alone: impl FnOnce() -> bool) {
        let mark = Self::of(file);
        if (mark.sum.is_some() || mark.holds(file).unwrap_or(false)) && !is_alone() {
            mark.note_unsealed(file);
        }
    }

    /// Leaves a mark that only tells what to look for in `file`, in whatever state it is.
    pub(super) fn note(&self, file: &File) {
        let Ok(now) = file_state::of(file) else { return };
        let state = FileState { modified_ns: IN_NO_STATE_NS, changed_ns: clock_ns(), ..now };
        let _ = attributes::set(file, NAME, self.to_text(state).as_bytes());
    }

    /// Marks `file` in the state in which it is; where the state proves nothing, the mark only tells what to
    /// look for. A file system that keeps no such attributes is no error, as the content proves the same.
    pub(super) fn set(&self, file: &File) {
        let mut ahead_ns = 0;
        for _ in 0..5 {
            let Ok(now) = file_state::of(file) else { return };
            let changed_ns = clock_ns() + ahead_ns;
            let text = self.to_text(FileState { changed_ns, ..now });
            if attributes::set(file, NAME, text.as_bytes()).is_err() {
                return;
            }
            let Ok(after) = file_state::of(file) else { return };
            if is_coarse(after) {
                return self.note(file);
            }
            if (-TICK_NS..=SETTING_NS).contains(&(after.changed_ns - changed_ns)) {
                return;
            }
            // The clock of a file server is not ours.
            ahead_ns += after.changed_ns - changed_ns;
        }
    }
}

/// Whether the file system keeps so coarse times that a change may leave no trace in them.
fn is_coarse(state: FileState) -> bool {
    state.changed_ns % COARSE_NS == 0
}

/// Sets a mark that says nothing.
///
/// # Errors
/// If the file system keeps no such attributes, or this account may not write to the file.
pub(super) fn try_to_set(file: &File) -> io::Result<()> {
    attributes::set(file, NAME, Mark::default().to_text(FileState::default()).as_bytes())
}

/// Waits until what anybody changes afterwards has a later time than what was changed before.
pub(super) fn let_time_pass() {
    std::thread::sleep(Duration::from_nanos((TICK_NS + SETTING_NS + 1_000_000).cast_unsigned()));
}

/// Removes the mark.
pub(super) fn remove(file: &File) -> io::Result<()> {
    match attributes::remove(file, NAME) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests {
    use fathom_sys::contract::file::PositionedIo;

    use super::super::counted::Torn;
    use super::*;

    const REDUCTION: Reduction = Reduction { compress_percent: 50, dedupe_percent: 7 };
    const CONTENT: Content = Content { seed: 3, size_bytes: 4096, reduction: REDUCTION };

    fn marked() -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.as_file().write_all_at(&[7; 4096], 0).expect("a write");
        let_time_pass();
        Mark::created(CONTENT).set(file.as_file());
        let_time_pass();
        file
    }

    fn holds(file: &File) -> bool {
        Mark::of(file).holds(file).expect("a state")
    }

    #[test]
    fn a_mark_counts_until_anybody_changes_the_file() {
        let changes: [fn(&File); 4] = [
            |file| file.write_all_at(&[8], 0).expect("a write"),
            |file| file.set_len(4097).expect("a length"),
            |file| file.set_modified(std::time::UNIX_EPOCH).expect("a time"),
            |file| {
                let before = file.metadata().and_then(|one| one.modified()).expect("a time");
                file.write_all_at(&[8], 0).expect("a write");
                file.set_modified(before).expect("a time");
            },
        ];
        for change in changes {
            let file = marked();
            assert!(holds(file.as_file()));
            assert_eq!(Mark::of(file.as_file()).content, Some(CONTENT));
            change(file.as_file());
            assert!(!holds(file.as_file()));
            assert_eq!(Mark::of(file.as_file()).content, Some(CONTENT));
        }
    }

    #[test]
    fn a_mark_that_travels_to_another_file_does_not_count() {
        let (file, other) = (marked(), tempfile::NamedTempFile::new().expect("a temporary file"));
        let value = attributes::get(file.as_file(), NAME).expect("a mark").expect("a mark");
        other.as_file().write_all_at(&[7; 4096], 0).expect("a write");
        attributes::set(other.as_file(), NAME, &value).expect("a mark");
        let modified = file.as_file().metadata().and_then(|one| one.modified()).expect("a time");
        other.as_file().set_modified(modified).expect("a time");
        assert!(!holds(other.as_file()));
    }

    #[test]
    fn marks_of_version_1_only_tell_what_to_look_for() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.as_file().set_len(4096).expect("a length");
        let value = b"1 4096 0000000000000003 50 7";
        attributes::set(file.as_file(), NAME, value).expect("a mark");
        assert_eq!(Mark::of(file.as_file()).content, Some(CONTENT));
        assert!(!holds(file.as_file()));
        attributes::set(file.as_file(), NAME, b"9 4096 03").expect("a mark");
        assert_eq!(Mark::of(file.as_file()), Mark::default());
    }

    #[test]
    fn a_mark_without_writes_tells_that_there_were_none() {
        let (block, writes) = (4096, |step_bytes| Writes { step_bytes, ..Writes::ANY });
        let mut left = Mark::of(marked().as_file());
        left.written_by(writes(block), false);
        assert_eq!(left.writes, Some(writes(block)));
        left.written_by(writes(48), false);
        assert_eq!(left.writes, Some(writes(16)));
        let mut unknown = Mark::default();
        unknown.written_by(writes(block), false);
        assert_eq!(unknown.writes, Some(Writes::ANY));
    }

    #[test]
    fn a_mark_reads_as_it_was_written() {
        let state = FileState { inode: u64::MAX, born_ns: None, ..FileState::default() };
        let mut mark = Mark { is_adopted: true, ..Mark::default() };
        let home = tempfile::tempdir().expect("a temporary directory");
        for (name, bytes) in [("a b", 1 << 20), ("c\n", 7), ("a b", 1 << 20)] {
            std::fs::write(home.path().join(name), "data").expect("a file");
            mark.fed_by(&home.path().join(name), bytes);
        }
        mark.fed_by(Path::new("/is/gone"), 9);
        assert_eq!(mark.fed.iter().map(|fed| fed.bytes).collect::<Vec<_>>(), [1 << 20, 7]);
        let read = Mark::parse(&mark.to_text(state)).expect("a mark");
        assert_eq!(read, Mark { left: Some(state), ..mark.clone() });
        let torn = Torn::Anywhere;
        let writes = Some(Writes { step_bytes: 16, counted: true, zeros: false, torn });
        let sum = Some(Sum::of_words([7, 9]));
        let written = Mark { writes, sum, ..mark.clone() };
        let read = Mark::parse(&written.to_text(state)).expect("a mark");
        assert_eq!(read, Mark { left: Some(state), ..written });
        let text = mark.to_text(state).replacen("5 ", "3 ", 1);
        let (before, fed) = text.rsplit_once(" - - ").expect("no writes");
        let without = format!("{before} {fed}");
        assert_eq!(Mark::parse(&without).map(|read| read.fed.len()), Some(2), "{without}");
        let earlier = Mark::parse("2 4096 - 0 0 1 7 0 8 9 65536 /a b/c").expect("a mark");
        assert!(earlier.fed.is_empty() && earlier.is_adopted);
    }
}

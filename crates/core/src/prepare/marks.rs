//! The marks of the files that a run writes: renewed before the first write and behind the last.
//!
//! Before, so that a run that is killed leaves behind what to look for; behind, so that the next run knows
//! the file by its state.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::counted::{Torn, Writes};
use super::mark::{self, Mark};
use super::sum::Sum;
use super::{finding, whose};
use crate::divisor::greatest_common_divisor;
use crate::guard::{self, Checked, Finding, Refusal, Refusals};
use crate::measure::EventSink;
use crate::plan::{PayloadPlan, Plan, SpanPlan, TargetKind, ThreadPlan};
use crate::supervise::within;

/// Looks again at the files that others write, or have written since the guard has looked at them.
///
/// # Errors
/// If one of them holds somebody's data by now, or somebody has it open for writing.
pub(crate) fn look_again(
    plan: &Plan,
    overwrite: bool,
    checked: &Checked,
    sink: EventSink<'_>,
) -> Result<(), Refusals> {
    look_at(written(&plan.spans).into_keys(), overwrite, checked, sink)
}

/// The same for the files that a time span writes, before it begins: others were made, or measured, since the
/// guard has looked.
pub(crate) fn look_before(
    span: &SpanPlan,
    overwrite: bool,
    checked: &Checked,
    sink: EventSink<'_>,
) -> Result<(), Refusals> {
    look_at(written(std::slice::from_ref(span)).into_keys(), overwrite, checked, sink)
}

fn look_at(
    paths: impl Iterator<Item = PathBuf>,
    overwrite: bool,
    checked: &Checked,
    sink: EventSink<'_>,
) -> Result<(), Refusals> {
    let look = |path: PathBuf| {
        let doing = format!("look at what '{}' holds", path.display());
        let found = within(sink, doing, || found_now(&path, overwrite, checked));
        let finding = found.unwrap_or_else(|error| Some(Finding::Unreadable(error.to_string())))?;
        Some(Refusal { target: path, finding })
    };
    let refusals: Vec<Refusal> = paths.filter_map(look).collect();
    if refusals.is_empty() { Ok(()) } else { Err(Refusals(refusals)) }
}

fn found_now(path: &Path, overwrite: bool, checked: &Checked) -> io::Result<Option<Finding>> {
    let Ok(Some(held)) = checked.held(path) else { return Ok(None) };
    let alone = &checked.alone;
    if alone.has_foreign_writer(&held, path) {
        return Ok(Some(Finding::FileInUse(guard::unseen_writer())));
    }
    if overwrite {
        return Ok(None);
    }
    let file = match held.open_to_read(path) {
        // What may not be read passed the guard as it was empty.
        Err(_) if !alone.is_touched(held.identity()) => return Ok(None),
        opened => opened?,
    };
    if !alone.may_be_touched(&file) {
        return Ok(None);
    }
    let size_bytes = file.metadata()?.len();
    finding(&file, size_bytes)
}

/// The files that a time span has written are as it left them: what is changed in them from now on was
/// changed by others.
pub(crate) fn settle_written(span: &SpanPlan, checked: &Checked, sink: EventSink<'_>) {
    settle(written(std::slice::from_ref(span)).into_keys(), checked, sink);
}

/// The same of files that this run has made.
pub(crate) fn settle(paths: impl Iterator<Item = PathBuf>, checked: &Checked, sink: EventSink<'_>) {
    let open = |path: PathBuf| {
        let doing = format!("look at the state of '{}'", path.display());
        within(sink, doing, || checked.held(&path).ok()??.open_to_read(&path).ok())
    };
    let files: Vec<File> = paths.filter_map(open).collect();
    checked.alone.settle(files.iter());
}

/// How a run writes to a file.
#[derive(Debug, Clone, Default)]
struct Written {
    /// The files that feed the writes, and how much of each.
    fed: BTreeSet<(PathBuf, u64)>,
    /// Where its I/Os begin; absent if it only makes the file.
    writes: Option<Writes>,
    /// How I/Os of earlier runs may have ended.
    torn: Option<Torn>,
    /// The run makes it if it is not there as it is wanted, for which it looks once more whose it is.
    is_made: bool,
    /// Several threads write to one mapping: bytes of two I/Os may alternate where both wrote.
    mixes: bool,
}

/// When a mark is renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    /// Before the run; what was let pass because it was told to may be somebody's.
    Before { may_be_theirs: bool },
    /// Before the first write to a file that the run has made.
    Made,
    /// Behind the run. All its I/Os are whole if none failed.
    Behind { is_whole: bool },
}

/// The files that a run writes and that are ours.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    files: BTreeMap<PathBuf, Written>,
}

impl Marks {
    /// Marks each file that `plan` writes and that is there already, as the guard has let it pass. What it
    /// let pass because it was told to (`overwrite`) stays somebody's, unless the run makes it again.
    pub(crate) fn begin(
        plan: &Plan,
        overwrite: bool,
        checked: &Checked,
        sink: EventSink<'_>,
    ) -> Self {
        let made = created(plan);
        let mut files = written(&plan.spans);
        for path in &made {
            files.entry(path.clone()).and_modify(|written| written.is_made = true);
        }
        files.retain(|path, written| {
            let doing = format!("mark '{}'", path.display());
            let when = When::Before { may_be_theirs: overwrite };
            let renewed = within(sink, doing, || renew(path, written, checked, when));
            renewed.unwrap_or(true) || made.contains(path)
        });
        for path in made {
            files.entry(path).or_default();
        }
        Self { files }
    }

    /// Marks a file that the run has made just now: before the first write to it, as a run that is killed
    /// ends nothing.
    pub(crate) fn made(&self, path: &Path, checked: &Checked) {
        if let Some(written) = self.files.get(path) {
            // What cannot be marked proves by its content whose it is.
            let _ = renew(path, &mut written.clone(), checked, When::Made);
        }
    }

    /// Takes the state from the mark of a file that was there as it is wanted: from now on it may be written.
    pub(crate) fn kept(&self, path: &Path, checked: &Checked) {
        let is_written = self.files.get(path).is_some_and(|written| written.writes.is_some());
        let held = checked.held(path).ok().flatten().filter(|_| is_written);
        if let Some(Ok(file)) = held.map(|held| held.open_to_read(path)) {
            Mark::of(&file).note(&file);
        }
    }

    /// Marks each file in the state in which the run has left it. `is_whole` if no I/O failed.
    pub(crate) fn end(&self, is_whole: bool, checked: &Checked, sink: EventSink<'_>) {
        if self.files.is_empty() {
            return;
        }
        let when = When::Behind { is_whole };
        mark::let_time_pass();
        for (path, written) in &self.files {
            let doing = format!("mark '{}'", path.display());
            // What cannot be marked proves by its content whose it is.
            let mut written = written.clone();
            let _ = within(sink, doing, || renew(path, &mut written, checked, when));
        }
        mark::let_time_pass();
        for path in self.files.keys() {
            let doing = format!("look at the mark of '{}'", path.display());
            let _ = within(sink, doing, || confirm(path, checked));
        }
    }
}

/// Confirms one mark.
fn confirm(path: &Path, checked: &Checked) -> io::Result<()> {
    if let Some(held) = checked.held(path)? {
        let file = held.open_to_read(path)?;
        Mark::confirm(&file, || checked.alone.is_alone(&file));
    }
    Ok(())
}

/// Renews one mark; false if the file is somebody's.
fn renew(path: &Path, written: &mut Written, checked: &Checked, when: When) -> io::Result<bool> {
    let Some(held) = checked.held(path)? else { return Ok(false) };
    let file = held.open_to_read(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(false);
    }
    let is_asked = when == When::Before { may_be_theirs: true };
    if is_asked && whose(&file, metadata.len())?.theirs().is_some() {
        return Ok(false);
    }
    let mut mark = Mark::of(&file);
    let is_first = matches!(when, When::Before { .. });
    mark.is_adopted &= !is_first || mark.holds(&file)?;
    for (fed, bytes) in &written.fed {
        mark.fed_by(fed, *bytes);
    }
    note_writes(&mut mark, written, when, metadata.len());
    if matches!(when, When::Behind { .. }) {
        let is_untold = mark.writes.is_some_and(|writes| writes.are_untold());
        mark.sum = if is_untold { Sum::of(&file, metadata.len())? } else { None };
    }
    // A state is confirmed by the time that passes behind it, which a run that is killed does not wait for.
    if matches!(when, When::Behind { .. }) || (is_first && written.is_made) {
        mark.seal(&file, &checked.alone);
    } else {
        mark.note(&file);
    }
    Ok(true)
}

/// Notes where I/Os begin. A run that is killed ends nothing, so that before it the mark says how its I/Os
/// may end then.
fn note_writes(mark: &mut Mark, written: &mut Written, when: When, size_bytes: u64) {
    let Some(writes) = written.writes else { return };
    let is_first = matches!(when, When::Before { .. });
    if is_first {
        written.torn = mark.writes.map(|before| before.torn);
    }
    // At the end, a mark that does not tell is that of a file which this run has made.
    mark.written_by(writes, size_bytes == 0 || !is_first);
    let is_whole = when == When::Behind { is_whole: true } && !written.mixes;
    if let (Some(noted), true) = (&mut mark.writes, is_whole) {
        noted.torn = written.torn.unwrap_or(Torn::Nowhere);
    }
}

/// Files that are written, each with what feeds it and where I/Os begin.
fn written(spans: &[SpanPlan]) -> BTreeMap<PathBuf, Written> {
    let mut files = BTreeMap::<PathBuf, Written>::new();
    for span in spans {
        for (index, target) in span.targets.iter().enumerate() {
            if target.kind != TargetKind::File || !guard::is_written(span, index) {
                continue;
            }
            let written = files.entry(target.path().to_owned()).or_default();
            if let PayloadPlan::Buffer { bytes, file: Some(file) } = &target.payload {
                written.fed.insert((file.clone(), *bytes));
            }
            written.mixes |= target.open.mapped && writers(span, index) > 1;
            let writes = writes(span, index);
            written.writes = Some(written.writes.map_or(writes, |before| before.and(writes)));
        }
    }
    files
}

/// How many threads do I/O to a target.
fn writers(span: &SpanPlan, target: usize) -> usize {
    let has =
        |thread: &&ThreadPlan| thread.assignments.iter().any(|stream| stream.target == target);
    span.threads.iter().filter(has).count()
}

/// Where the I/Os of a time span to one target begin and end.
fn writes(span: &SpanPlan, target: usize) -> Writes {
    let plan = &span.targets[target];
    let streams = span.threads.iter().flat_map(|thread| &thread.assignments);
    let starts = streams.filter(|stream| stream.target == target).map(|stream| stream.start_bytes);
    let streams = plan.mix.iter().flat_map(|mix| [&mix.read, &mix.write]);
    let (mut offsets, mut sizes) = (vec![&plan.offsets], vec![plan.block_bytes]);
    for stream in streams {
        offsets.push(&stream.offsets);
        sizes.extend(stream.sizes.iter().map(|size| size.block_bytes));
    }
    let places = offsets.into_iter().flat_map(|one| [one.base_bytes, one.align_bytes]);
    let sizes = sizes.into_iter().map(u64::from);
    let step_bytes = places.chain(starts).chain(sizes).fold(0, greatest_common_divisor).max(1);
    // A file that feeds the writes may hold zeros of any length.
    let is_fed = matches!(plan.payload, PayloadPlan::Buffer { file: Some(_), .. });
    let trims = plan.mix.as_ref().is_some_and(|mix| mix.trim_percent > 0);
    Writes {
        step_bytes,
        counted: plan.payload == PayloadPlan::CountingPattern,
        zeros: is_fed || trims || plan.payload == PayloadPlan::Zero,
        torn: if plan.open.mapped { Torn::Anywhere } else { Torn::AtSectors },
    }
}

fn created(plan: &Plan) -> BTreeSet<PathBuf> {
    // No mark goes over the network.
    plan.files().filter_map(|file| file.location.local()).map(Path::to_owned).collect()
}

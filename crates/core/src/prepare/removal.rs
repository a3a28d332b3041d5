//! Removes the files that a run has made, when it was asked to.

use std::io;

use fathom_sys::held::Removal;
use fathom_sys::identity::Identity;

use super::whose;
use crate::errors::Failure;
use crate::guard::{Checked, MadeFile};
use crate::measure::EventSink;
use crate::storage::Location;

/// Removes each file that this run has made and that still lies where it was made. A file that was there
/// before, even one whose data were made again, is none of them, and one that holds somebody's data by now
/// stays. One sentence for each that stays.
#[must_use]
pub fn remove_made(checked: &Checked, sink: EventSink<'_>) -> Vec<Failure> {
    let remove = |made: Location| made.storage().remove_made(checked, sink).err();
    checked.made_files().filter_map(remove).collect()
}

/// Removes a file of this host that the run has made; a sentence if it stays.
pub(crate) fn remove_file(file: Identity, made: &MadeFile) -> Result<(), String> {
    let name = made.path.display();
    let failed = |error: io::Error| {
        format!("cannot remove '{name}', which this run has made: {error}. Remove it by hand")
    };
    let stays = |why: &str| {
        format!(
            "'{name}', which this run has made, was not removed: {why}. Look at it, and remove it by hand"
        )
    };
    match is_somebodys(made) {
        Ok(false) => {}
        Ok(true) => return Err(stays("it holds data that the run did not write")),
        Err(error) => return Err(stays(&format!("it cannot be looked at ({error})"))),
    }
    match made.place.directory.remove(&made.place.name, file).map_err(failed)? {
        // Absent: somebody else was faster.
        Removal::Removed | Removal::Absent => Ok(()),
        Removal::Replaced => Err(format!(
            "'{name}' was not removed: another file has taken the place of the one that this run has made"
        )),
    }
}

/// Whether somebody else has written to it meanwhile.
fn is_somebodys(made: &MadeFile) -> io::Result<bool> {
    let file = made.held.open_to_read(&made.path)?;
    let size_bytes = file.metadata()?.len();
    Ok(whose(&file, size_bytes)?.theirs().is_some())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::guard::Found;

    #[test]
    fn only_what_was_made_and_still_lies_there_is_removed() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let place = |name: &str| home.path().join(name);
        let mut checked = Checked::default();
        for name in ["made", "moved", "replaced", "linked", "written"] {
            let Found::Nothing(Some(there)) = checked.look(&place(name)) else { panic!("a place") };
            let file = there.directory.create_new(&there.name, 0o600).expect("a file");
            checked.made(&place(name), there, file).expect("noted");
        }
        fs::write(place("older"), "not made here").expect("a file");
        fs::rename(place("moved"), place("elsewhere")).expect("moved");
        fs::write(place("other"), "somebody's").expect("a file");
        fs::rename(place("other"), place("replaced")).expect("replaced");
        fs::rename(place("linked"), place("target")).expect("moved");
        std::os::unix::fs::symlink(place("target"), place("linked")).expect("a link");
        fs::write(place("written"), "somebody's").expect("written");
        let told = remove_made(&checked, &|_| {});
        let mut told: Vec<String> = told.into_iter().map(|one| one.message).collect();
        told.sort();
        assert_eq!(told.len(), 3, "{told:?}");
        for (sentence, name) in told.iter().zip(["linked", "replaced", "written"]) {
            assert!(sentence.contains(name), "{told:?}");
        }
        assert!(!place("made").exists());
        for kept in ["older", "elsewhere", "replaced", "linked", "target", "written"] {
            assert!(place(kept).exists(), "{kept}");
        }
    }
}

//! Disk I/O, by `/proc/diskstats`: reads and writes that each disk has completed.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use super::{Count, Event, Source, TraceError};

const PATH: &str = "/proc/diskstats";
const EVENTS: [Event; 2] = [Event::DiskRead, Event::DiskWrite];

/// Reads and writes that a disk has completed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Completed {
    reads: u64,
    writes: u64,
}

/// Counts disk I/O.
#[derive(Debug, Default)]
pub struct Disks {
    before: BTreeMap<String, Completed>,
}

impl Disks {
    pub fn open() -> Result<Self, TraceError> {
        let before = read().map_err(|error| TraceError::unreadable(PATH, &error))?;
        Ok(Self { before })
    }
}

impl Source for Disks {
    fn begin(&mut self) -> io::Result<()> {
        self.before = read()?;
        Ok(())
    }

    fn end(&mut self) -> io::Result<Vec<Count>> {
        let after = read()?;
        let (reads, writes) = difference(&self.before, &after);
        let partial = unseen(&self.before, &after);
        let source = "/proc/diskstats (whole disks that lie on no other)";
        let count =
            |event, number| Count { partial: partial.clone(), ..Count::new(event, number, source) };
        Ok(vec![count(Event::DiskRead, reads), count(Event::DiskWrite, writes)])
    }

    fn events(&self) -> &'static [Event] {
        &EVENTS
    }
}

/// What all disks have completed since; a disk that is new began at 0.
fn difference(
    before: &BTreeMap<String, Completed>,
    after: &BTreeMap<String, Completed>,
) -> (u64, u64) {
    let since = |(name, after): (&String, &Completed)| {
        let before = before.get(name).copied().unwrap_or_default();
        (after.reads.saturating_sub(before.reads), after.writes.saturating_sub(before.writes))
    };
    after.iter().map(since).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// Disks whose I/O is not in the counts, in words.
fn unseen(
    before: &BTreeMap<String, Completed>,
    after: &BTreeMap<String, Completed>,
) -> Option<String> {
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    let gone = gone.map(|name| format!("{name} was removed"));
    let off = after.keys().filter(|name| keeps_no_statistics(Path::new("/sys/block"), name));
    let off = off.map(|name| format!("{name} keeps no statistics (its queue/iostats is 0)"));
    let reasons: Vec<String> = gone.chain(off).collect();
    (!reasons.is_empty()).then(|| reasons.join(", "))
}

fn keeps_no_statistics(block: &Path, name: &str) -> bool {
    let switch = block.join(directory_of(name)).join("queue/iostats");
    fs::read_to_string(switch).is_ok_and(|text| text.trim() == "0")
}

fn read() -> io::Result<BTreeMap<String, Completed>> {
    let mut disks = parse(&fs::read_to_string(PATH)?);
    disks.retain(|name, _| lies_on_no_other(Path::new("/sys/block"), name));
    Ok(disks)
}

/// Whether this is a whole disk, and none that is made of others, whose I/O would count twice.
fn lies_on_no_other(block: &Path, name: &str) -> bool {
    let directory = block.join(directory_of(name));
    let parts = fs::read_dir(directory.join("slaves"));
    directory.exists() && parts.map_or(true, |mut parts| parts.next().is_none())
}

/// A slash in a disk's name is an exclamation mark in sysfs.
fn directory_of(name: &str) -> String {
    name.replace('/', "!")
}

/// Completed reads and writes are the fields 4 and 8, see Documentation/admin-guide/iostats.rst.
fn parse(diskstats: &str) -> BTreeMap<String, Completed> {
    let disk = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse().ok();
        let completed = Completed { reads: number(3)?, writes: number(7)? };
        Some(((*fields.get(2)?).to_owned(), completed))
    };
    diskstats.lines().filter_map(disk).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "   7  2 loop2 587837 211 22032024 31370 388493 71 3110588 15376 0 1 2\n\
                        252  0 zram0 11 0 88 0 22 0 176 0 0 0 0\n";

    #[test]
    fn completed_reads_and_writes_are_told_apart() {
        let disks = parse(TEXT);
        assert_eq!(disks["loop2"], Completed { reads: 587_837, writes: 388_493 });
        assert_eq!(disks["zram0"], Completed { reads: 11, writes: 22 });
    }

    #[test]
    fn a_disk_that_comes_counts_from_0_and_one_that_goes_is_told() {
        let after = parse(TEXT);
        let before = [("zram0".to_owned(), Completed { reads: 1, writes: 2 })].into();
        assert_eq!(difference(&before, &after), (587_837 + 10, 388_493 + 20));
        let gone = unseen(&[("sdz".to_owned(), Completed::default())].into(), &BTreeMap::new());
        assert_eq!(gone.unwrap(), "sdz was removed");
    }

    #[test]
    fn partitions_and_disks_made_of_others_are_left_out() {
        let block = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(block.path().join("sda/queue")).unwrap();
        std::fs::create_dir_all(block.path().join("dm-0/slaves/sda")).unwrap();
        std::fs::create_dir_all(block.path().join("cciss!c0d0/slaves")).unwrap();
        std::fs::write(block.path().join("sda/queue/iostats"), "0\n").unwrap();
        assert!(lies_on_no_other(block.path(), "sda"));
        assert!(lies_on_no_other(block.path(), "cciss/c0d0"));
        assert!(!lies_on_no_other(block.path(), "dm-0"));
        assert!(!lies_on_no_other(block.path(), "sda1"));
        assert!(keeps_no_statistics(block.path(), "sda"));
        assert!(!keeps_no_statistics(block.path(), "dm-0"));
    }
}

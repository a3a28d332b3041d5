//! Targets that share devices: each counter is compared with what was asked of those that go through it.

use super::{AnsweredBy, BYTES, Fake, READS, beneath, plan, result};
use crate::result::WarningKind;
use crate::result::warnings::words;

/// Of each of two files that share their blocks it said "all of 2,465 reads", which were those of both.
#[test]
fn what_the_devices_saw_of_several_targets_is_not_said_of_one() {
    let fake = Fake::new();
    let span = plan(&["/x.dat", "/y.dat"]);
    let observed = fake.observe(&span, |fake| {
        fake.counts("sda", [2 * READS, 2 * BYTES, 0, 0]);
        fake.fetched(2 * BYTES);
    });
    let result = result(&span, observed, &[(READS, 0), (READS, 0)]);
    let expected = "of all targets on the same devices: all of 20,000 reads (78.1 MiB) reached sda";
    assert!(beneath(&result).targets.iter().all(|origin| origin.sentence == expected));
}

/// "Of 33,855 reads (529.0 MiB), 258.4 MiB reached any device" was said of a loop device that had seen all
/// that was asked of it: what was asked of both was compared with what each saw.
#[test]
fn two_targets_that_share_a_disk_beneath_loop_devices_are_each_compared_with_their_own() {
    let mut fake = Fake::new();
    fake.write("a.img", "x");
    for index in [2, 3, 4] {
        fake.loop_over(index, "/a.img", true);
    }
    fake.mount("7:4 / /m rw - ext4 /dev/loop4 rw");
    let together = |loops: [u64; 3], paths: &[&str]| {
        let (span, count) = (plan(paths), paths.len() as u64);
        for index in [2, 3, 4] {
            fake.counts(&format!("loop{index}"), [0; 4]);
        }
        fake.counts("sda", [0; 4]);
        fake.fetched(0);
        let observed = fake.observe(&span, |fake| {
            for (index, reads) in [2, 3, 4].into_iter().zip(loops) {
                fake.counts(&format!("loop{index}"), [reads, reads * 4096, 0, 0]);
            }
            fake.counts("sda", [count * READS, count * BYTES, 0, 0]);
            fake.fetched(count * BYTES);
        });
        let result = result(&span, observed, &vec![(READS, 0); paths.len()]);
        let said = beneath(&result).targets.iter();
        said.map(|origin| (origin.answered_by, origin.sentence.clone())).collect::<Vec<_>>()
    };
    let all = |count: u64| {
        let ios = words::grouped(count * READS);
        let mib = words::size(count * BYTES);
        let words =
            format!("of all targets on the same devices: all of {ios} reads ({mib}) reached sda");
        (AnsweredBy::Device, words)
    };
    let of_two = vec![all(2), all(2)];
    assert_eq!(together([READS, READS, 0], &["/dev/loop2", "/dev/loop3"]), of_two);
    assert_eq!(together([READS, 0, 0], &["/x.dat", "/dev/loop2"]), of_two);
    assert_eq!(together([0, 0, READS], &["/x.dat", "/m/y.dat"]), of_two);
    assert_eq!(together([0, 0, 2 * READS], &["/m/x.dat", "/m/y.dat"]), of_two);
    let of_three = vec![all(3); 3];
    assert_eq!(together([READS, 0, 2 * READS], &["/dev/loop2", "/m/x.dat", "/m/y.dat"]), of_three);
    // What did not come through its own loop device is missing, whatever the disk saw meanwhile.
    let said = together([READS, READS / 4, 0], &["/dev/loop2", "/dev/loop3"]);
    assert_eq!(said[0], all(2));
    let missing = "of 10,000 reads (39.1 MiB), 9.8 MiB reached any device";
    assert_eq!(said[1], (AnsweredBy::PartlyDevice, missing.to_owned()));
    let said = together([0, 0, READS], &["/m/x.dat", "/m/y.dat"]);
    let missing = "of all targets on the same devices: of 20,000 reads (78.1 MiB), 39.1 MiB reached any \
                   device";
    assert!(
        said.iter().all(|one| *one == (AnsweredBy::PartlyDevice, missing.to_owned())),
        "{said:?}"
    );
}

/// What went to the other disk of a volume was missing from the one that a second target lies on.
#[test]
fn a_disk_beside_a_volume_over_it_is_compared_with_what_was_asked_of_all_its_disks() {
    let fake = Fake::new();
    fake.device("sdc", (8, 32));
    fake.volume("md0", (9, 0), &["sdb", "sdc"]);
    let span = plan(&["/dev/md0", "/dev/sdb"]);
    let observed = fake.observe(&span, |fake| {
        fake.counts("sdb", [READS * 3 / 2, BYTES * 3 / 2, 0, 0]);
        fake.counts("sdc", [READS / 2, BYTES / 2, 0, 0]);
        fake.fetched(2 * BYTES);
    });
    let result = result(&span, observed, &[(READS, 0), (READS, 0)]);
    assert!(beneath(&result).targets.iter().all(|origin| {
        origin.answered_by == AnsweredBy::Device && origin.sentence.contains("20,000 reads")
    }));
    assert_eq!(result.warnings, []);
}

/// Each volume over a disk that counts nothing counts its own target alone.
#[test]
fn volumes_over_a_disk_that_counts_nothing_are_each_compared_with_their_own() {
    let fake = Fake::new();
    fake.write("sys/devices/sdb/queue/iostats", "0");
    fake.volume("dm-0", (253, 0), &["sdb"]);
    fake.volume("dm-1", (253, 1), &["sdb"]);
    let span = plan(&["/dev/dm-0", "/dev/dm-1"]);
    let observed = fake.observe(&span, |fake| {
        fake.counts("dm-0", [READS, BYTES, 0, 0]);
        fake.counts("dm-1", [READS / 2, BYTES / 2, 0, 0]);
        fake.fetched(2 * BYTES);
    });
    let result = result(&span, observed, &[(READS, 0), (READS, 0)]);
    let told = beneath(&result).targets.iter().map(|origin| origin.answered_by);
    let expected = [AnsweredBy::Device, AnsweredBy::PartlyDevice];
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

/// A file system that a process serves reads on the account of that process.
#[test]
fn what_others_fetch_for_one_target_is_not_missed_on_the_account_of_this_process() {
    let mut fake = Fake::new();
    fake.mount("8:16 / /served rw - fuseblk /dev/sdb rw");
    let span = plan(&["/served/x.dat", "/dev/sdb"]);
    let observed = fake.observe(&span, |fake| {
        fake.counts("sdb", [2 * READS, 2 * BYTES, 0, 0]);
        fake.fetched(BYTES);
    });
    let result = result(&span, observed, &[(READS, 0), (READS, 0)]);
    let told = beneath(&result).targets.iter().map(|origin| origin.answered_by);
    assert_eq!(told.collect::<Vec<_>>(), [AnsweredBy::Device, AnsweredBy::Device]);
}

/// Twelve files past the page cache brought 12,924 of 14,000 reads to the disk: nine tenths of all, so that
/// the 1,076 of a cached loop device passed for the disk's, too.
#[test]
fn a_cached_loop_device_does_not_hide_behind_direct_files_on_its_disk() {
    const OWN: u64 = 1_000;
    let fake = Fake::new();
    fake.write("a.img", "x");
    fake.loop_over(2, "/a.img", false);
    let span = plan(&["/x.dat", "/dev/loop2"]);
    let said = |reads_at_disk: u64| {
        for place in ["sda", "loop2"] {
            fake.counts(place, [0; 4]);
        }
        fake.fetched(0);
        let observed = fake.observe(&span, |fake| {
            fake.counts("loop2", [OWN, OWN * 4096, 0, 0]);
            fake.counts("sda", [reads_at_disk, reads_at_disk * 4096, 0, 0]);
            fake.fetched((READS + OWN) * 4096);
        });
        let result = result(&span, observed, &[(READS, 0), (OWN, 0)]);
        let told = beneath(&result).targets.iter();
        let told = told.map(|origin| (origin.answered_by, origin.sentence.clone()));
        let kinds: Vec<WarningKind> = result.warnings.iter().map(|one| one.kind).collect();
        (told.collect::<Vec<_>>(), kinds)
    };
    let (told, kinds) = said(READS);
    let files = "of all targets on the same devices: of 11,000 reads (43.0 MiB), 10,000 (39.1 MiB) \
                 reached sda";
    assert_eq!(told[0], (AnsweredBy::Device, files.to_owned()));
    let cached = "whether 1,000 reads (3.9 MiB) reached sda cannot be told: the loop device loop2, over \
                  /a.img, through the page cache answers, and sda saw 39.1 MiB of everybody, while other \
                  targets asked 39.1 MiB of it";
    assert_eq!(told[1], (AnsweredBy::NotCounted, cached.to_owned()));
    assert_eq!(kinds, [WarningKind::PageCache]);
    // What others did meanwhile proves as little.
    assert_eq!(said(READS + 2 * OWN).0[1].0, AnsweredBy::NotCounted);
    let (told, kinds) = said(READS + OWN);
    let all = "of all targets on the same devices: all of 11,000 reads (43.0 MiB) reached sda";
    assert!(told.iter().all(|one| *one == (AnsweredBy::Device, all.to_owned())), "{told:?}");
    assert_eq!(kinds, []);
}

/// Writes of one target that stayed in a cache were missing from another that only read.
#[test]
fn a_target_is_judged_by_what_was_asked_of_it_alone() {
    let fake = Fake::new();
    let span = plan(&["/x.dat", "/y.dat"]);
    let observed = fake.observe(&span, |fake| {
        fake.counts("sda", [READS, BYTES, 3, 12_288]);
        fake.fetched(BYTES);
    });
    let result = result(&span, observed, &[(READS, 0), (0, READS)]);
    let told: Vec<AnsweredBy> =
        beneath(&result).targets.iter().map(|one| one.answered_by).collect();
    assert_eq!(told, [AnsweredBy::Device, AnsweredBy::AboveDevice]);
}

//! File systems that write all data more than once.

use super::{AnsweredBy, BYTES, Fake, READS, beneath, plan, result};

const GROUP: &str = "sys/fs/btrfs/5f-aa";

/// Btrfs on two disks, with data of these profiles.
fn pool(profiles: &[&str]) -> Fake {
    let mut fake = Fake::new();
    fake.device("sdc", (8, 32));
    for (name, number) in [("sdb", "8:16"), ("sdc", "8:32")] {
        fake.write(&format!("{GROUP}/devices/{name}/dev"), number);
        fake.write(&format!("{GROUP}/devinfo/{name}/missing"), "0\n");
    }
    for profile in profiles {
        fake.write(&format!("{GROUP}/allocation/data/{profile}/total_bytes"), "1073741824\n");
    }
    fake.mount("0:41 / /data rw - btrfs /dev/sdb rw,compress=zstd:3");
    fake
}

/// What is said of writes of which each disk saw so many bytes.
fn written(fake: &Fake, on_each: u64) -> (AnsweredBy, String) {
    let span = plan(&["/data/x.dat"]);
    let observed = fake.observe(&span, |fake| {
        fake.counts("sdb", [0, 0, READS, on_each]);
        fake.counts("sdc", [0, 0, READS, on_each]);
    });
    let result = result(&span, observed, &[(0, READS)]);
    let origin = &beneath(&result).targets[0];
    (origin.answered_by, origin.sentence.clone())
}

/// Data that Btrfs halved and wrote to both disks of a mirror were told as "all of 10,000 writes reached sdb,
/// sdc".
#[test]
fn two_copies_of_half_the_data_are_not_all_of_them() {
    let (answered_by, sentence) = written(&pool(&["raid1"]), BYTES / 2);
    assert_eq!(answered_by, AnsweredBy::PartlyDevice, "{sentence}");
    let expected =
        "of 10,000 writes (39.1 MiB), 78.1 MiB with all copies, 39.1 MiB reached sdb, sdc";
    assert_eq!(sentence, expected);
}

#[test]
fn both_copies_of_all_data_are_all_of_them() {
    let (answered_by, sentence) = written(&pool(&["raid1"]), BYTES);
    assert_eq!(answered_by, AnsweredBy::Device);
    assert_eq!(sentence, "all of 10,000 writes (39.1 MiB) reached sdb, sdc");
}

/// Without another profile beside it, no conversion is under way; with all devices there, all are written.
#[test]
fn copies_that_are_not_sure_are_not_expected() {
    let fake = pool(&["raid1"]);
    fake.write(&format!("{GROUP}/devinfo/sdc/missing"), "1\n");
    for fake in [fake, pool(&["raid0"]), pool(&["raid1", "single"]), pool(&[])] {
        let (answered_by, sentence) = written(&fake, BYTES / 2);
        assert_eq!(answered_by, AnsweredBy::Device, "{sentence}");
    }
}

#[test]
fn who_halves_what_it_writes_twice_to_one_device_is_named_in_the_remedy() {
    let mut fake = Fake::new();
    fake.write(&format!("{GROUP}/devices/sdb/dev"), "8:16");
    fake.write(&format!("{GROUP}/allocation/data/dup/total_bytes"), "1073741824\n");
    fake.mount("0:41 / /data rw - btrfs /dev/sdb rw,compress=zstd:3");
    let span = plan(&["/data/x.dat"]);
    let observed = fake.observe(&span, |fake| fake.counts("sdb", [0, 0, READS, BYTES]));
    let told = &result(&span, observed, &[(0, READS)]).warnings[0];
    assert!(told.remedy.ends_with("read the figures as those of btrfs"), "{}", told.remedy);
}

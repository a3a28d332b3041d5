//! Trims, which devices count as discards.

use super::{AnsweredBy, Fake, READS, beneath, plan, result_of};
use crate::measure::{DirectionRecord, TargetRecord};

/// "No I/O completed, and nothing is known of vda" was said of 4,934 trims, beside 2,845 discards.
#[test]
fn trims_alone_are_told_beside_the_discards_of_the_device() {
    let fake = Fake::new();
    let said = |reads: u64, trims: u64| {
        let span = plan(&["/dev/sdb"]);
        fake.counts("sdb", [0; 4]);
        fake.fetched(0);
        let observed = fake.observe(&span, |fake| {
            let sectors = reads * 8;
            let line = format!("{reads} 0 {sectors} 0 0 0 0 0 0 0 0 2845 0 9000 0 0 0\n");
            fake.write("sys/devices/sdb/stat", &line);
            fake.fetched(reads * 4096);
        });
        let direction =
            |ios: u64| DirectionRecord { ios, bytes: ios * 4096, ..DirectionRecord::default() };
        let record = TargetRecord {
            read: direction(reads),
            trim: direction(trims),
            ..TargetRecord::default()
        };
        let result = result_of(&span, observed, vec![record]);
        let origin = beneath(&result).targets[0].clone();
        assert_eq!((origin.asked.trim_ios, origin.asked.trim_bytes), (trims, trims * 4096));
        (origin.answered_by, origin.sentence)
    };
    let trims = "4,934 trims (19.3 MiB) completed, and sdb saw 2,845 discards of everybody: ranges are \
                 merged and divided on their way, so that none can be followed by itself";
    assert_eq!(said(0, 4_934), (AnsweredBy::NotCounted, trims.to_owned()));
    let both = format!("all of 10,000 reads (39.1 MiB) reached sdb; {trims}");
    assert_eq!(said(READS, 4_934), (AnsweredBy::Device, both));
    let nothing = "no I/O completed, and nothing is known of sdb".to_owned();
    assert_eq!(said(0, 0), (AnsweredBy::Device, nothing));
}

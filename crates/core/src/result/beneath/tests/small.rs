//! So little that was read so often that a cache of the device may hold it.

use super::{BYTES, Fake, READS, plan, result};
use crate::plan::{Order, Skew, TargetPlan};
use crate::result::{Warning, WarningKind};
use crate::units::MIB;

/// One block was read 20,000 times, and nobody said so, as the range has 256 MiB.
#[test]
fn a_stride_that_leaves_out_nearly_all_of_the_range_is_a_small_working_set() {
    let fake = Fake::new();
    let said = |change: &dyn Fn(&mut TargetPlan)| {
        let mut span = plan(&["/dev/sdb"]);
        span.targets[0].offsets.end_bytes = 256 * MIB;
        change(&mut span.targets[0]);
        fake.counts("sdb", [0; 4]);
        fake.fetched(0);
        let observed = fake.observe(&span, |fake| {
            fake.counts("sdb", [READS, BYTES, 0, 0]);
            fake.fetched(BYTES);
        });
        result(&span, observed, &[(READS, 0)]).warnings
    };
    let evidence = |warnings: Vec<Warning>| {
        let kinds: Vec<WarningKind> = warnings.iter().map(|one| one.kind).collect();
        assert_eq!(kinds, [WarningKind::SmallWorkingSet]);
        warnings[0].evidence.clone()
    };
    let stride = evidence(said(&|target| target.offsets.align_bytes = 300 * MIB));
    let expected = "the 4 KiB that were used, of a range of 256 MiB, were read 10,000 times over: it is \
                    possible that a cache of the device, or of what lies beneath it, held all of them";
    assert_eq!(stride, expected);
    let aligned = |target: &mut TargetPlan| {
        target.offsets.order = Order::Random;
        target.offsets.align_bytes = 16 * MIB;
    };
    assert!(evidence(said(&aligned)).starts_with("the 64 KiB that were used"));
    let skewed = evidence(said(&|target| {
        target.offsets.order = Order::Random;
        target.offsets.skew = Some(Skew::Zipf { theta_milli: 3_000 });
    }));
    let expected = "83.2 % of the reads went to 4 KiB alone, which were read 8,319 times over: it is \
                    possible that a cache of the device, or of what lies beneath it, held all of them";
    assert_eq!(skewed, expected);
    assert!(said(&|_| {}).is_empty(), "all of the range is walked");
    let random = |target: &mut TargetPlan| target.offsets.order = Order::Random;
    assert!(said(&random).is_empty(), "all of the range is read");
    // 39 MiB of 2.6 MiB are 15 times over.
    let often = |target: &mut TargetPlan| target.offsets.align_bytes = 401_408;
    assert!(said(&often).is_empty());
}

//! Where random I/Os fell, in the form of a profile: lengths one after the other from the target's base on.

use crate::dialect::diskspd::xml::Writer;
use crate::result::EffectiveShare;

/// The element `<Distribution>` of a target whose range begins at `base_bytes`.
pub fn write(xml: &mut Writer, shares: &[EffectiveShare], base_bytes: u64) {
    if shares.is_empty() {
        return;
    }
    xml.group("Distribution", |xml| {
        xml.group("Absolute", |xml| {
            for (io_percent, length) in ranges(shares, base_bytes) {
                xml.line(&format!("<Range IO=\"{io_percent}\">{length}</Range>"));
            }
        });
    });
}

/// Shares and lengths, with a share of 0 where there is a gap, and before the first range, too: without it,
/// all ranges would read as if they began earlier.
fn ranges(shares: &[EffectiveShare], base_bytes: u64) -> Vec<(f64, u64)> {
    let mut at_bytes = base_bytes;
    let mut ranges = Vec::with_capacity(shares.len() + 1);
    for (share, io_percent) in shares.iter().zip(whole_percents(shares)) {
        if share.start_bytes > at_bytes {
            ranges.push((0.0, share.start_bytes - at_bytes));
        }
        ranges.push((io_percent, share.end_bytes.saturating_sub(share.start_bytes)));
        at_bytes = share.end_bytes;
    }
    ranges
}

/// The shares as whole percents, which are all that `DiskSpd`'s schema (and our reader) takes: where a target
/// was too small for some ranges, the others share what was theirs, and the greatest remainders are rounded
/// up, so that the sum stays 100. The JSON result has the exact shares.
fn whole_percents(shares: &[EffectiveShare]) -> Vec<f64> {
    // Shares that are whole but for the rounding of a division stay what they are.
    let floor = |share: &EffectiveShare| (share.io_percent + 1e-9).floor();
    let mut whole: Vec<f64> = shares.iter().map(floor).collect();
    let sum: f64 = shares.iter().map(|share| share.io_percent).sum();
    let mut missing = sum.round() - whole.iter().sum::<f64>();
    let mut order: Vec<usize> = (0..shares.len()).collect();
    let remainder = |index: usize| shares[index].io_percent - floor(&shares[index]);
    order.sort_by(|&a, &b| remainder(b).total_cmp(&remainder(a)));
    for index in order {
        if missing < 0.5 {
            break;
        }
        whole[index] += 1.0;
        missing -= 1.0;
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn shares(list: &[(f64, u64, u64)]) -> Vec<EffectiveShare> {
        let share = |&(io_percent, start, end): &(f64, u64, u64)| EffectiveShare {
            io_percent,
            start_bytes: start * MIB,
            end_bytes: end * MIB,
        };
        list.iter().map(share).collect()
    }

    #[test]
    fn a_hole_at_the_start_was_lost_and_shifted_all_ranges() {
        // -rdabs0/1M:50/2M on 8 MiB, as its profile has it.
        let of = shares(&[(50.0, 1, 3), (50.0, 3, 8)]);
        assert_eq!(ranges(&of, 0), [(0.0, MIB), (50.0, 2 * MIB), (50.0, 5 * MIB)]);
        // Ranges count from the base (-B), which is no hole.
        assert_eq!(ranges(&of, MIB), [(50.0, 2 * MIB), (50.0, 5 * MIB)]);
        let of = shares(&[(60.0, 0, 4), (30.0, 5, 7), (10.0, 7, 8)]);
        assert_eq!(ranges(&of, 0), [(60.0, 4 * MIB), (0.0, MIB), (30.0, 2 * MIB), (10.0, MIB)]);
    }

    #[test]
    fn rescaled_shares_are_whole_percents_that_total_100() {
        // 50 and 20 of 70, since the third range lies beyond the target.
        let of = shares(&[(100.0 * 50.0 / 70.0, 0, 3), (100.0 * 20.0 / 70.0, 3, 7)]);
        assert_eq!(ranges(&of, 0), [(71.0, 3 * MIB), (29.0, 4 * MIB)]);
        for parts in [[1, 1, 1], [1, 2, 4], [33, 33, 1], [3, 3, 90]] {
            let sum: u32 = parts.iter().sum();
            let list: Vec<_> = parts
                .iter()
                .zip(0..)
                .map(|(&part, at)| (f64::from(part) * 100.0 / f64::from(sum), at, at + 1))
                .collect();
            let whole = whole_percents(&shares(&list));
            let text = whole.iter().map(f64::to_string).collect::<Vec<_>>();
            assert!(text.iter().all(|one| one.parse::<u32>().is_ok_and(|one| one > 0)), "{text:?}");
            let sum: u32 = text.iter().map(|one| one.parse::<u32>().unwrap()).sum();
            assert_eq!(sum, 100, "{parts:?}: {whole:?}");
        }
    }
}

//! The transient at the front of a series: what may be cut, and what may not.
//!
//! MSER-5 (K. P. White, 1997; S. Spratt, 1998) finds the cut that leaves the mean of the rest with the least
//! standard error. By itself it cuts a stall just as readily, with all that lies before it. So a cut counts
//! only where the head is an approach: it begins away from the level of the rest, comes nearer without
//! turning back, and the rest never leaves for where the head was.

use super::{mean, median};

/// Values in one of the groups by which a transient is looked for: the 5 of MSER-5.
const GROUP: usize = 5;
/// A rest of fewer groups, or of a smaller part of them, may agree by chance.
const GROUPS_MIN: usize = 5;
const REST_PART: usize = 4;
/// The deviation of a normal variable, by the median of its absolute values.
const MAD_TO_DEVIATION: f64 = 1.4826;
/// A head begins away from the rest if it does so by this many deviations of a group.
const AWAY: f64 = 3.0;
/// An approach turns back, or goes too far, if it does so by this many deviations of a group.
const TURNED_BACK: f64 = 4.0;
/// The rest comes back to the head if it leaves for this share of the head's distance.
const COME_BACK_SHARE: f64 = 0.5;
/// A cut in the second half counts if its error is less than this share of the best of the first half; small
/// rests agree by chance.
const CLEARLY: f64 = 0.7;
/// A constant level is known to this share of itself; sums of fractions are not exact.
const ROUNDING: f64 = 1e-9;

/// How many values at the front belong to the transient. `None` while the best cut clearly lies in the second
/// half, which says that the transient may not have ended yet.
#[must_use]
pub fn transient(series: &[f64]) -> Option<usize> {
    let groups: Vec<f64> = series.chunks_exact(GROUP).map(mean).collect();
    if groups.len() < GROUPS_MIN {
        return None;
    }
    let errors = errors(&groups);
    let mut cuts: Vec<usize> = (0..errors.len()).collect();
    cuts.sort_by(|one, other| errors[*one].total_cmp(&errors[*other]).then(one.cmp(other)));
    // The whole series is always left: nothing is cut where no head is an approach.
    let early = |cut: &usize| *cut * 2 <= groups.len();
    let best = |wanted: &dyn Fn(&usize) -> bool| {
        cuts.iter().copied().find(|cut| wanted(cut) && is_approach(&groups, *cut))
    };
    let cut = best(&early).unwrap_or(0);
    let least = errors[cut];
    let late = best(&|late| !early(late) && errors[*late] < CLEARLY * least);
    late.is_none().then_some(cut * GROUP)
}

/// The squared standard error of the mean of the rest, apart from a factor, for each cut that leaves enough.
fn errors(groups: &[f64]) -> Vec<f64> {
    let origin = groups[groups.len() - 1];
    let (mut sum, mut squares, mut count) = (0.0, 0.0, 0.0);
    let rest = GROUPS_MIN.max(groups.len() / REST_PART);
    let mut errors = vec![0.0; groups.len() - rest + 1];
    // From the back, so that one walk gives the sums of all rests; relative to the last group, so that the
    // squares of great figures do not swallow their differences.
    for (index, group) in groups.iter().enumerate().rev() {
        let value = group - origin;
        sum += value;
        squares += value * value;
        count += 1.0;
        if let Some(error) = errors.get_mut(index) {
            *error = (squares - sum * sum / count).max(0.0) / (count * count);
        }
    }
    errors
}

/// Whether the groups before a cut come nearer to the level behind it, and the rest stays there.
fn is_approach(groups: &[f64], cut: usize) -> bool {
    if cut == 0 {
        return true;
    }
    let (head, rest) = groups.split_at(cut);
    let level = median(rest);
    let distances: Vec<f64> = rest.iter().map(|group| (group - level).abs()).collect();
    let noise = (MAD_TO_DEVIATION * median(&distances)).max(ROUNDING * level.abs());
    let side = (head[0] - level).signum();
    let begins = side * (head[0] - level);
    if begins <= AWAY * noise {
        return false;
    }
    let steps: Vec<f64> = head.windows(2).map(|two| (two[1] - two[0]).abs()).collect();
    let own_noise = if steps.is_empty() { 0.0 } else { MAD_TO_DEVIATION * median(&steps) };
    let mut nearest = begins;
    for group in head {
        let distance = side * (group - level);
        // A rate that is several times as high varies as many times as much, or by more of its own.
        let turned = TURNED_BACK * noise * (group / level).abs().max(1.0);
        let own = TURNED_BACK * own_noise;
        if distance > nearest + turned.max(own) || distance < -turned {
            return false;
        }
        nearest = nearest.min(distance);
    }
    let limit = (COME_BACK_SHARE * begins).max(TURNED_BACK * noise);
    rest.iter().all(|group| side * (group - level) < limit)
}

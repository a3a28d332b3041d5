//! Template targets: a `<Path>` of `*1`, `*2`, ... stands for the first, second, ... target of the command
//! line. `DiskSpd` reads every path that begins with `*` so, and refuses what does not fit.

use roxmltree::Node;

use super::fields::{FieldError, error};
use crate::request::Profile;

/// What every template path begins with.
pub const PREFIX: char = '*';

/// The number of a template target, from 1; nothing if the path is none or names no number.
#[must_use]
pub fn number(path: &str) -> Option<usize> {
    let digits = path.strip_prefix(PREFIX)?;
    let only_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|number| only_digits && *number > 0)
}

/// Whether a path is read as a template target.
#[must_use]
pub fn is_template(path: &str) -> bool {
    path.starts_with(PREFIX)
}

/// Checks a path as it stands in its element. Without any substitute a template may stay as it is, so that
/// it can be shown.
pub fn check(node: Node<'_, '_>, path: &str, substitutes: usize) -> Result<(), FieldError> {
    if !is_template(path) {
        return Ok(());
    }
    let Some(number) = number(path) else {
        return Err(error(
            node,
            format!(
                "is '{path}', which is no template: it must be *1, *2, ... Write './{path}' for a file of \
                 that name"
            ),
        ));
    };
    if substitutes > 0 && number > substitutes {
        return Err(error(
            node,
            format!("is '{path}', but only {substitutes} target(s) are given for the templates"),
        ));
    }
    Ok(())
}

/// Puts the targets of the command line in place of the templates, and gives those that no template asked
/// for, each with its number from 1.
pub fn substitute(profile: &mut Profile, substitutes: &[String]) -> Vec<(usize, String)> {
    let mut used = vec![false; substitutes.len()];
    for target in profile.time_spans.iter_mut().flat_map(|span| &mut span.targets) {
        let Some(index) = number(target.path.as_str()).map(|number| number - 1) else { continue };
        if let Some(substitute) = substitutes.get(index) {
            target.path = substitute.as_str().into();
            used[index] = true;
        }
    }
    let numbered = (1..).zip(substitutes).zip(used);
    numbered.filter(|(_, used)| !used).map(|((number, name), _)| (number, name.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_star_with_a_number_from_1_is_a_template() {
        assert_eq!([number("*1"), number("*02"), number("*17")], [Some(1), Some(2), Some(17)]);
        for path in ["*", "*0", "*+1", "*-1", "*1a", "* 1", "1", "", "*99999999999999999999999"] {
            assert_eq!(number(path), None, "{path}");
        }
        assert!(is_template("*abc") && !is_template("./*abc"));
    }
}

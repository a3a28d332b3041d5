//! `-a[g#,]#[,#...]`: a list of CPUs, in which `g#` sets the group of those that follow.

use crate::profile::CpuId;

/// Reads the text behind `-a`. Nothing, or a bare `g`, asks for the default and gives no CPU.
///
/// # Errors
/// A sentence that names the part that is wrong.
pub fn parse(text: &str) -> Result<Vec<CpuId>, String> {
    if text.is_empty() || text == "g" {
        return Ok(Vec::new());
    }
    let mut cpus = Vec::new();
    let mut group = 0;
    let mut complete = false;
    for part in text.split(',') {
        if let Some(number) = part.strip_prefix('g') {
            group = parse_part(number, part, "group", &u16::MAX)?;
            complete = false;
        } else {
            let index = parse_part(part, part, "CPU", &u8::MAX)?;
            cpus.push(CpuId { group, index });
            complete = true;
        }
    }
    if complete { Ok(cpus) } else { Err(format!("'{text}' ends with a group: name its CPUs too")) }
}

fn parse_part<T>(digits: &str, part: &str, what: &str, max: &T) -> Result<T, String>
where
    T: TryFrom<u64> + std::fmt::Display,
{
    if digits.is_empty() || digits.bytes().any(|byte| !byte.is_ascii_digit()) {
        return Err(format!("'{part}' is not a {what} number"));
    }
    let value = digits.parse::<u64>().ok().and_then(|value| T::try_from(value).ok());
    value.ok_or_else(|| format!("{what} {digits} is out of range: the greatest is {max}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_hold_for_the_cpus_that_follow() {
        let cpu = |group, index| CpuId { group, index };
        assert_eq!(parse("0,1,g1,2,g0,4"), Ok(vec![cpu(0, 0), cpu(0, 1), cpu(1, 2), cpu(0, 4)]));
        assert_eq!(parse("g"), Ok(Vec::new()));
    }

    #[test]
    fn incomplete_and_wrong_lists_are_refused() {
        for wrong in
            ["0,", ",0", "g0", "g1,0,g2", "gg", "g,", "0,,1", "x", "0;1", "256", "g65536,0"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}

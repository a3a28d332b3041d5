//! `-a` in all its forms: `-a[g#,]#[-#][,#...]` lists CPUs, and letters choose
//! the order in which CPUs are given to threads (`DiskSpd` 2.3).

use crate::request::{CpuId, CpuOrder, EfficiencyOrder};

/// What one `-a` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Affinity {
    /// These CPUs, in this order; none for the default.
    Cpus(Vec<CpuId>),
    /// This order.
    Order(CpuOrder),
}

/// Reads the text behind `-a`. Nothing, or a bare `g`, asks for the default and gives no CPU.
///
/// # Errors
/// A sentence that names the part that is wrong.
pub fn parse(text: &str) -> Result<Affinity, String> {
    match text.chars().next() {
        None => Ok(Affinity::Cpus(Vec::new())),
        Some('g') if text == "g" => Ok(Affinity::Cpus(Vec::new())),
        Some('c' | 's' | 'p' | 'P' | 'e' | 'E' | 'u') => parse_order(text).map(Affinity::Order),
        Some(_) => parse_cpus(text).map(Affinity::Cpus),
    }
}

/// Adds an order to those of earlier options. The kinds of cores can be ordered once only.
///
/// # Errors
/// A sentence, if they have been ordered already.
pub fn add_order(order: &mut CpuOrder, more: CpuOrder) -> Result<(), String> {
    if order.efficiency.is_some() && more.efficiency.is_some() {
        return Err("P- and E-cores can be ordered in one way only".to_owned());
    }
    order.core_first |= more.core_first;
    order.span_groups |= more.span_groups;
    order.efficiency = order.efficiency.or(more.efficiency);
    Ok(())
}

fn parse_order(text: &str) -> Result<CpuOrder, String> {
    let efficiency = |efficiency| CpuOrder { efficiency: Some(efficiency), ..CpuOrder::default() };
    if text == "up" {
        return Ok(efficiency(EfficiencyOrder::Unordered));
    }
    let mut order = CpuOrder::default();
    for letter in text.chars() {
        let one = match letter {
            'c' => CpuOrder { core_first: true, ..CpuOrder::default() },
            's' => CpuOrder { span_groups: true, ..CpuOrder::default() },
            'p' => efficiency(EfficiencyOrder::FastFirst),
            'P' => efficiency(EfficiencyOrder::FillFast),
            'e' => efficiency(EfficiencyOrder::SlowFirst),
            'E' => efficiency(EfficiencyOrder::FillSlow),
            _ => {
                return Err(format!(
                    "'{letter}' is no order of CPUs: give letters of c, s and one of p, P, e, E, \
                     or up alone"
                ));
            }
        };
        add_order(&mut order, one)?;
    }
    Ok(order)
}

fn parse_cpus(text: &str) -> Result<Vec<CpuId>, String> {
    let mut cpus = Vec::new();
    let mut group = 0;
    let mut complete = false;
    for part in text.split(',') {
        complete = !part.starts_with('g');
        if let Some(number) = part.strip_prefix('g') {
            group = parse_part(number, part, "group", &u16::MAX)?;
        } else {
            let range = parse_range(part)?;
            cpus.extend(range.map(|index| CpuId { group, index: Some(index) }));
        }
    }
    if complete {
        Ok(cpus)
    } else {
        Err(format!("'{text}' ends with a group: name its CPUs too, as in g0,0-3"))
    }
}

/// One CPU, or a range of CPUs with both its ends.
fn parse_range(part: &str) -> Result<std::ops::RangeInclusive<u8>, String> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let first = parse_part(first, part, "CPU", &u8::MAX)?;
    let last = parse_part(last, part, "CPU", &u8::MAX)?;
    if first <= last {
        return Ok(first..=last);
    }
    Err(format!("the range '{part}' ends before it begins"))
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

/// The order in the words of `DiskSpd` 2.3.
#[must_use]
pub fn order_in_words(order: CpuOrder) -> String {
    let traversal = if order.core_first { "core-aware" } else { "cpu order" };
    let groups = if order.span_groups { "span groups" } else { "fill groups" };
    let efficiency = match order.efficiency {
        None | Some(EfficiencyOrder::FastFirst) => "P-cores first",
        Some(EfficiencyOrder::Unordered) => "no P/E order",
        Some(EfficiencyOrder::SlowFirst) => "E-cores first",
        Some(EfficiencyOrder::FillFast) => "fill P-cores first",
        Some(EfficiencyOrder::FillSlow) => "fill E-cores first",
    };
    format!("{traversal}, {groups}, {efficiency}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(list: &[(u16, Option<u8>)]) -> Affinity {
        Affinity::Cpus(list.iter().map(|&(group, index)| CpuId { group, index }).collect())
    }

    #[test]
    fn groups_hold_for_the_cpus_that_follow() {
        let expected = [(0, Some(0)), (0, Some(1)), (1, Some(2)), (0, Some(4))];
        assert_eq!(parse("0,1,g1,2,g0,4"), Ok(cpus(&expected)));
        assert_eq!(parse("g"), Ok(cpus(&[])));
        assert_eq!(parse(""), Ok(cpus(&[])));
    }

    #[test]
    fn ranges_have_both_ends_and_groups_have_cpus() {
        let expected = [(0, Some(0)), (0, Some(1)), (0, Some(2)), (0, Some(9)), (1, Some(3))];
        assert_eq!(parse("0-2,9,g1,3-3"), Ok(cpus(&expected)));
        // DiskSpd 2.3 takes the whole group; 2.2 says that the list is incomplete, and so do we.
        assert!(parse("g7").is_err() && parse("0,g7").is_err());
    }

    #[test]
    fn letters_choose_the_order() {
        let order = |text: &str| match parse(text) {
            Ok(Affinity::Order(order)) => order_in_words(order),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(order("c"), "core-aware, fill groups, P-cores first");
        assert_eq!(
            order("acsE".trim_start_matches('a')),
            "core-aware, span groups, fill E-cores first"
        );
        assert_eq!(order("Pc"), "core-aware, fill groups, fill P-cores first");
        assert_eq!(order("e"), "cpu order, fill groups, E-cores first");
        assert_eq!(order("up"), "cpu order, fill groups, no P/E order");
    }

    #[test]
    fn kinds_of_cores_are_ordered_once() {
        assert!(parse("pe").is_err());
        let Ok(Affinity::Order(mut order)) = parse("p") else { panic!("an order") };
        let Ok(Affinity::Order(again)) = parse("up") else { panic!("an order") };
        assert!(add_order(&mut order, again).is_err());
        let Ok(Affinity::Order(core_first)) = parse("c") else { panic!("an order") };
        assert_eq!(add_order(&mut order, core_first), Ok(()));
        assert!(order.core_first && order.efficiency.is_some());
    }

    #[test]
    fn incomplete_and_wrong_lists_are_refused() {
        for wrong in [
            "0,", ",0", "g1,0,g2", "gg", "g,", "g0,", "0,,1", "x", "0;1", "256", "g65536,0",
            "g65536", "3-1", "0-256", "-3", "0-", "1-2-3", "u", "upc", "cp0", "c,0",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}

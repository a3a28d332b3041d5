//! The elements of a time span that `DiskSpd` 2.3 added.

use std::fmt::Write as _;

use roxmltree::Node;

use super::super::xml::Writer;
use super::fields::{
    FieldError, attribute, boolean, bounded, children, error, number, some_children, text, unknown,
};
use crate::request::{
    BufferSeparation, CpuId, CpuOrder, EfficiencyOrder, RingBatch, RingUse, TimeSpan,
};

const EFFICIENCY: [(&str, EfficiencyOrder); 5] = [
    ("Unordered", EfficiencyOrder::Unordered),
    ("PFirst", EfficiencyOrder::FastFirst),
    ("EFirst", EfficiencyOrder::SlowFirst),
    ("FillPFirst", EfficiencyOrder::FillFast),
    ("FillEFirst", EfficiencyOrder::FillSlow),
];

/// Reads one element of a time span; false if there is none of that name.
pub fn read(name: &str, node: Node<'_, '_>, span: &mut TimeSpan) -> Result<bool, FieldError> {
    match name {
        "IoRing" => span.tuning.ring = Some(read_ring(node)?),
        "CompletionDepth" => span.tuning.completion_depth = Some(bounded(node, 1, 16)?),
        "BufferSeparation" => {
            span.tuning.buffer_separation = Some(match text(node)?.trim() {
                "SystemDefault" => BufferSeparation::SystemDefault,
                "PDECacheLine" => BufferSeparation::PageDirectoryLine,
                _ => return Err(error(node, "must be SystemDefault or PDECacheLine")),
            });
        }
        "AffinityTraversal" => span.cpu_order = read_order(node)?,
        "Affinity" => span.cpus = read_affinity(node)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn read_ring(node: Node<'_, '_>) -> Result<RingUse, FieldError> {
    let mut ring = RingUse::default();
    for child in children(node)? {
        match child.tag_name().name() {
            "IoRingBatchSize" => {
                // Without the attribute the size is a percentage, as before there was one.
                ring.batch = match child.attribute("Percent") {
                    Some("false" | "0") => RingBatch::Ios(bounded(child, 1, 65_536)?),
                    None | Some("true" | "1") => RingBatch::Percent(bounded(child, 1, 100)?),
                    Some(_) => return Err(error(child, "has Percent other than true and false")),
                };
            }
            "UseRegBuffer" => ring.registered_buffers = boolean(child)?,
            _ => return Err(unknown(child, "IoRing")),
        }
    }
    Ok(ring)
}

fn read_order(node: Node<'_, '_>) -> Result<CpuOrder, FieldError> {
    let core_first = match text(node)?.trim() {
        "CoreAware" => true,
        "Cpu" => false,
        _ => return Err(error(node, "must be Cpu or CoreAware")),
    };
    let span_groups = match node.attribute("Group") {
        None | Some("Fill") => false,
        Some("Span") => true,
        Some(_) => return Err(error(node, "has a Group other than Fill and Span")),
    };
    let find = |name| EFFICIENCY.iter().find(|(known, _)| *known == name).map(|(_, order)| *order);
    let unknown = || {
        let names = EFFICIENCY.map(|(name, _)| name).join(", ");
        error(node, format!("has an Efficiency that is none of {names}"))
    };
    let efficiency = match node.attribute("Efficiency") {
        None => None,
        Some(name) => Some(find(name).ok_or_else(unknown)?),
    };
    Ok(CpuOrder { core_first, span_groups, efficiency })
}

/// CPUs of the first group, CPUs with their group, or masks of CPUs, as `DiskSpd`'s schema has it.
fn read_affinity(node: Node<'_, '_>) -> Result<Vec<CpuId>, FieldError> {
    let children = some_children(node, "AffinityGroupAssignment")?;
    let first = children[0].tag_name().name();
    let mut cpus = Vec::new();
    for child in children {
        let one = |group, index| CpuId { group, index: Some(index) };
        let beyond = || error(child, "names a CPU beyond 255");
        match child.tag_name().name() {
            "AffinityAssignment" => {
                cpus.push(one(0, u8::try_from(number(child)?).map_err(|_| beyond())?));
            }
            "AffinityGroupAssignment" => {
                let index = u8::try_from(attribute(child, "Processor", 255)?);
                cpus.push(one(read_group(child)?, index.map_err(|_| beyond())?));
            }
            "Group" => cpus.extend(read_mask(child, read_group(child)?)?),
            _ => return Err(unknown(child, "Affinity")),
        }
        if !child.has_tag_name(first) {
            return Err(error(child, format!("stands beside <{first}>. Use one of them")));
        }
    }
    Ok(cpus)
}

fn read_group(node: Node<'_, '_>) -> Result<u16, FieldError> {
    let group = attribute(node, "Group", 65_535)?;
    u16::try_from(group).map_err(|_| error(node, "names a group beyond 65535"))
}

/// The CPUs of a hexadecimal mask in ascending order; an empty mask stands for the whole group.
fn read_mask(node: Node<'_, '_>, group: u16) -> Result<Vec<CpuId>, FieldError> {
    let wrong = || error(node, "needs a Mask of 1 to 64 hexadecimal digits, such as 0x3f");
    let mask = node.attribute("Mask").ok_or_else(wrong)?.trim();
    let digits = mask.strip_prefix("0x").or_else(|| mask.strip_prefix("0X")).unwrap_or(mask);
    if digits.is_empty() || digits.len() > 64 {
        return Err(wrong());
    }
    let mut cpus = Vec::new();
    for (digit, position) in digits.chars().rev().zip((0_u8..).step_by(4)) {
        let bits = digit.to_digit(16).ok_or_else(wrong)?;
        let set = (0..4).filter(|bit| bits & (1 << bit) != 0);
        cpus.extend(set.map(|bit| CpuId { group, index: Some(position + bit) }));
    }
    if cpus.is_empty() {
        cpus.push(CpuId { group, index: None });
    }
    Ok(cpus)
}

/// The use of a ring, where one was requested.
pub fn write_ring(xml: &mut Writer, span: &TimeSpan) {
    let Some(ring) = span.tuning.ring else { return };
    let (is_percent, size) = match ring.batch {
        RingBatch::Percent(percent) => (true, percent),
        RingBatch::Ios(ios) => (false, ios),
    };
    xml.group("IoRing", |xml| {
        xml.line(&format!("<IoRingBatchSize Percent=\"{is_percent}\">{size}</IoRingBatchSize>"));
        xml.element("UseRegBuffer", ring.registered_buffers);
    });
}

/// CPUs and their order. Lists keep the form of `DiskSpd` 2.2; whole groups exist only as masks.
pub fn write_affinity(xml: &mut Writer, span: &TimeSpan) {
    if span.cpu_order.is_given() {
        write_order(xml, span.cpu_order);
    }
    if span.cpus.is_empty() {
        return;
    }
    let as_masks = span.cpus.iter().any(|cpu| cpu.index.is_none());
    xml.group("Affinity", |xml| {
        for cpu in &span.cpus {
            let group = cpu.group;
            xml.line(&match cpu.index {
                Some(index) if !as_masks => {
                    format!("<AffinityGroupAssignment Group=\"{group}\" Processor=\"{index}\"/>")
                }
                index => format!("<Group Group=\"{group}\" Mask=\"{}\"/>", mask(index)),
            });
        }
    });
}

fn mask(index: Option<u8>) -> String {
    let Some(index) = index else { return "0x0".to_owned() };
    format!("0x{:x}{}", 1 << (index % 4), "0".repeat(usize::from(index / 4)))
}

fn write_order(xml: &mut Writer, order: CpuOrder) {
    let group = if order.span_groups { "Span" } else { "Fill" };
    let traversal = if order.core_first { "CoreAware" } else { "Cpu" };
    let mut attributes = format!("Group=\"{group}\"");
    if let Some((name, _)) = EFFICIENCY.iter().find(|(_, known)| Some(*known) == order.efficiency) {
        // Writing to a String cannot fail.
        let _written = write!(attributes, " Efficiency=\"{name}\"");
    }
    xml.line(&format!("<AffinityTraversal {attributes}>{traversal}</AffinityTraversal>"));
}

/// What stands between the CPUs and the targets.
pub fn write_buffers(xml: &mut Writer, span: &TimeSpan) {
    let separation = span.tuning.buffer_separation.map(|separation| match separation {
        BufferSeparation::SystemDefault => "SystemDefault",
        BufferSeparation::PageDirectoryLine => "PDECacheLine",
    });
    xml.optional("BufferSeparation", separation);
    xml.optional("CompletionDepth", span.tuning.completion_depth);
}

#[cfg(test)]
mod tests {
    use super::super::{read, write};
    use super::*;
    use crate::request::Profile;

    fn profile(elements: &str, target: &str) -> Result<Profile, String> {
        let xml = format!(
            "<Profile><TimeSpans><TimeSpan>{elements}<Targets><Target><Path>t</Path>{target}\
             </Target></Targets></TimeSpan></TimeSpans></Profile>"
        );
        read(&xml).map_err(|error| error.to_string())
    }

    #[test]
    fn a_profile_of_diskspd_2_3_is_read_and_written() {
        let given = profile(
            "<IoRing><IoRingBatchSize Percent=\"false\">75</IoRingBatchSize>\
             <UseRegBuffer>false</UseRegBuffer></IoRing>\
             <AffinityTraversal Group=\"Span\" Efficiency=\"FillEFirst\">CoreAware</AffinityTraversal>\
             <Affinity><Group Group=\"1\" Mask=\"0x13\"/><Group Group=\"0\" Mask=\"0x0\"/></Affinity>\
             <BufferSeparation>SystemDefault</BufferSeparation>\
             <CompletionDepth>4</CompletionDepth><RandomWriteData>true</RandomWriteData>",
            "",
        )
        .expect("a profile");
        let span = &given.time_spans[0];
        let ring = RingUse { batch: RingBatch::Ios(75), registered_buffers: false };
        assert_eq!(span.tuning.ring, Some(ring));
        assert_eq!(span.tuning.completion_depth, Some(4));
        assert_eq!(span.tuning.buffer_separation, Some(BufferSeparation::SystemDefault));
        let efficiency = Some(EfficiencyOrder::FillSlow);
        assert_eq!(span.cpu_order, CpuOrder { core_first: true, span_groups: true, efficiency });
        let cpus: Vec<_> = span.cpus.iter().map(|cpu| (cpu.group, cpu.index)).collect();
        assert_eq!(cpus, [(1, Some(0)), (1, Some(1)), (1, Some(4)), (0, None)]);
        assert!(span.targets[0].write_data.fresh_random);
        assert_eq!(read(&write(&given)), Ok(given));
    }

    #[test]
    fn a_size_without_the_attribute_is_a_percentage() {
        let given = profile("<IoRing><IoRingBatchSize>75</IoRingBatchSize></IoRing>", "");
        let ring = given.expect("a profile").time_spans[0].tuning.ring;
        assert_eq!(ring, Some(RingUse { batch: RingBatch::Percent(75), registered_buffers: true }));
    }

    #[test]
    fn what_is_wrong_is_told_by_its_element() {
        for (elements, words) in [
            ("<CompletionDepth>17</CompletionDepth>", "CompletionDepth"),
            ("<IoRing><IoRingBatchSize>101</IoRingBatchSize></IoRing>", "IoRingBatchSize"),
            ("<IoRing><Depth>1</Depth></IoRing>", "Depth"),
            ("<BufferSeparation>None</BufferSeparation>", "PDECacheLine"),
            ("<AffinityTraversal>Socket</AffinityTraversal>", "CoreAware"),
            ("<AffinityTraversal Efficiency=\"Fast\">Cpu</AffinityTraversal>", "FillPFirst"),
            ("<Affinity><Group Group=\"0\" Mask=\"0xZ\"/></Affinity>", "hexadecimal"),
            ("<Affinity><Group Group=\"0\"/></Affinity>", "Mask"),
        ] {
            let error = profile(elements, "").expect_err(elements);
            assert!(error.contains(words), "{elements}: {error}");
        }
        let error = profile("", "<BypassIO>Full</BypassIO>").expect_err("an error");
        assert!(error.contains("BypassIO") && error.contains("Linux has none"), "{error}");
    }
}

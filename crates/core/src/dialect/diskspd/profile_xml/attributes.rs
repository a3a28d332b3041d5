//! The attributes that elements may have: `DiskSpd`'s schema knows a few, and refuses all others.

use roxmltree::Node;

use super::fields::{FieldError, error};

/// The namespace of the attributes that point to a schema, which any element may have.
const SCHEMA_INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// Checks all elements of a profile.
pub fn check(root: Node<'_, '_>) -> Result<(), FieldError> {
    for node in root.descendants().filter(Node::is_element) {
        let allowed: &[&str] = match node.tag_name().name() {
            "Throughput" => &["unit"],
            "Range" => &["IO"],
            "AffinityGroupAssignment" => &["Group", "Processor"],
            "AffinityTraversal" => &["Group", "Efficiency"],
            "Group" => &["Group", "Mask"],
            "IoRingBatchSize" => &["Percent"],
            _ => &[],
        };
        let unknown = node.attributes().find(|attribute| {
            attribute.namespace() != Some(SCHEMA_INSTANCE) && !allowed.contains(&attribute.name())
        });
        if let Some(unknown) = unknown {
            return Err(error(node, format!("has an unknown attribute {}", unknown.name())));
        }
    }
    Ok(())
}

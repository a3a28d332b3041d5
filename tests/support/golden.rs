//! Where the golden data are, and how texts are compared.

use std::path::PathBuf;

use roxmltree::Document;

/// A file of the golden data.
pub fn golden_path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/diskspd").join(name)
}

/// The tree of an XML text: one line per element with its attributes and its own text.
pub fn xml_tree(xml: &str) -> Result<Vec<String>, String> {
    let document = Document::parse(xml).map_err(|error| error.to_string())?;
    let elements = document.descendants().filter(roxmltree::Node::is_element);
    let line = |node: roxmltree::Node<'_, '_>| {
        let depth = node.ancestors().count();
        let attributes: Vec<String> =
            node.attributes().map(|a| format!(" {}={:?}", a.name(), a.value())).collect();
        let has_elements = node.children().any(|child| child.is_element());
        let text = if has_elements { "" } else { node.text().unwrap_or_default() };
        format!("{depth} {}{} {text:?}", node.tag_name().name(), attributes.concat())
    };
    Ok(elements.map(line).collect())
}

/// Lines with white space folded, empty ones left out, and the program's own name left out of the
/// command line.
pub fn folded_lines(text: &str) -> Vec<String> {
    let fold = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines = text.lines().map(fold).filter(|line| !line.is_empty());
    lines.map(|line| line.replace("Command Line: diskspd.exe", "Command Line: diskspd")).collect()
}

//! Where the parts of a profile stand in its text, for errors that are found after reading.

use roxmltree::{Document, Node};

/// Lines of a time span, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanLines {
    /// Of the time span itself.
    pub span: u32,
    /// Of each of its targets.
    pub targets: Vec<u32>,
}

/// The lines of all time spans of a profile that was read; none if the text is no XML.
#[must_use]
pub fn lines(xml: &str) -> Vec<SpanLines> {
    let Ok(document) = Document::parse(xml) else { return Vec::new() };
    let line = |node: Node<'_, '_>| document.text_pos_at(node.range().start).row;
    let spans = document.descendants().filter(|node| node.has_tag_name("TimeSpan"));
    let of_span = |span: Node<'_, '_>| SpanLines {
        span: line(span),
        targets: span.descendants().filter(|node| node.has_tag_name("Target")).map(line).collect(),
    };
    spans.map(of_span).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_its_line() {
        let xml = "<Profile>\n<TimeSpans>\n<TimeSpan><Targets>\n<Target/>\n\n<Target/></Targets></TimeSpan>\
                   \n<TimeSpan/></TimeSpans></Profile>";
        assert_eq!(
            lines(xml),
            [
                SpanLines { span: 3, targets: vec![4, 6] },
                SpanLines { span: 7, targets: Vec::new() }
            ]
        );
    }
}

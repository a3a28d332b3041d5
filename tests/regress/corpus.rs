//! The committed corpus of each fuzzed reader, read again: what a fuzzer once found stays mended. New inputs
//! are hunted by `make fuzz`.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;

#[path = "../../fuzz/readers/arguments.rs"]
mod arguments;
#[path = "../../fuzz/readers/profile_xml.rs"]
mod profile_xml;
#[path = "../../fuzz/readers/result_json.rs"]
mod result_json;
#[path = "../../fuzz/readers/verify_journal.rs"]
mod verify_journal;
#[path = "../../fuzz/readers/verify_stamp.rs"]
mod verify_stamp;

/// The inputs of a reader, in the order of the archive.
fn inputs(reader: &str) -> Vec<Vec<u8>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let packed = File::open(corpus.join(format!("{reader}.tar.gz"))).expect("a committed corpus");
    let mut archive = tar::Archive::new(GzDecoder::new(packed));
    let entries = archive.entries().expect("an archive");
    let content = |entry: std::io::Result<tar::Entry<'_, _>>| {
        let mut bytes = Vec::new();
        entry.expect("an entry").read_to_end(&mut bytes).expect("its content");
        bytes
    };
    entries.map(content).collect()
}

/// The text that an input begins with, which is what libFuzzer hands over to these readers.
fn text(input: &[u8]) -> &str {
    input.utf8_chunks().next().map_or("", |chunk| chunk.valid())
}

fn read_texts(reader: &str, least: usize, one: fn(&str)) {
    assert!(inputs(reader).iter().map(|input| one(text(input))).count() >= least, "{reader}");
}

fn read_bytes(reader: &str, least: usize, one: fn(&[u8])) {
    assert!(inputs(reader).iter().map(|input| one(input)).count() >= least, "{reader}");
}

#[test]
fn command_lines_of_the_corpus() {
    read_texts("arguments", 400, arguments::one);
}

#[test]
fn xml_profiles_of_the_corpus() {
    read_texts("profile_xml", 500, profile_xml::one);
}

#[test]
fn json_results_of_the_corpus() {
    read_texts("result_json", 2000, result_json::one);
}

#[test]
fn journals_of_the_corpus() {
    read_bytes("verify_journal", 400, verify_journal::one);
}

#[test]
fn stamps_of_the_corpus() {
    read_bytes("verify_stamp", 20, verify_stamp::one);
}

//! A target that stalls forever: the watchdog ends the run, and says what it waited for.

use std::time::Duration;

use fathom_sys::clock::now_ns;
use roxmltree::Document;
use serde_json::Value;

use super::fault_fs::{Answer, FaultFs, Kind};
use super::mount;
use super::writing::Writing;
use crate::bench::{Bench, sum};

/// From this request on, nothing is answered.
const HANGS_FROM: u64 = 500;
const ENGINES: [(&str, &str); 3] = [("uring", "-o4 -t2"), ("aio", "-o4 -t2"), ("sync", "-o1 -t3")];

fn hanging() -> Option<FaultFs> {
    mount(|number, _, _| if number >= HANGS_FROM { Answer::Held } else { Answer::Whole })
}

/// A run over a target that hangs, with the result in one form.
struct Hanging {
    system: FaultFs,
    run: Writing,
}

impl Hanging {
    fn start(bench: &Bench, engine: &str, options: &str) -> Option<Self> {
        let system = hanging()?;
        let path = system.file();
        let run = Writing::start(
            bench.command(&format!("-W0 -b4K -r --engine={engine} {options} {}", path.display())),
        );
        Some(Self { system, run })
    }

    fn read_to(&mut self, mark: &str) {
        self.run.read_to(mark);
        assert!(self.system.count(Kind::Read, Answer::Held) > 0, "nothing hung");
    }

    /// Lets the target answer, so that the process can end.
    fn release(self) -> (String, String, Option<i32>) {
        self.system.release();
        self.run.end()
    }
}

fn number(io: &Value, name: &str) -> u64 {
    io[name].as_u64().unwrap()
}

#[test]
fn a_target_that_hangs_is_told_io_by_io_and_the_run_ends() {
    let bench = Bench::new();
    for (engine, options) in ENGINES {
        let options = format!("-d600 -Rjson --io-timeout=1 {options}");
        let began_ns = now_ns();
        let Some(mut run) = Hanging::start(&bench, engine, &options) else { return };
        run.read_to("\n}\n");
        let took_ns = now_ns() - began_ns;
        let (offsets, whole) =
            (run.system.held_offsets(), run.system.count(Kind::Read, Answer::Whole));
        let (written, told, code) = run.release();
        assert_eq!(code, Some(1), "{engine}: {told}");
        assert!(told.contains("have not come back; the oldest is a read of 4096 bytes"), "{told}");
        let result: Value = serde_json::from_str(&written).unwrap();
        let span = &result["time_spans"][0];
        assert_eq!(span["outcome"], "interrupted", "{engine}");
        let outstanding = span["outstanding"].as_array().unwrap();
        let of = |io| number(io, "offset_bytes");
        let mut told_at: Vec<u64> = outstanding.iter().map(of).collect();
        told_at.sort_unstable();
        assert!(
            offsets.iter().all(|held| told_at.contains(held)),
            "{engine}: {told_at:?} {offsets:?}"
        );
        for io in outstanding {
            let (since, waited) = (number(io, "submitted_ns"), number(io, "waited_ns"));
            assert!(waited >= 1_000_000_000 && since + waited <= took_ns, "{engine}: {io}");
        }
        // What was measured before is kept, to the last I/O. Where the kernel serves a submission by itself
        // (aio, uring), the thread hangs in it: what is queued behind it never reaches the target, and what
        // was answered within it cannot be fetched. Both are reported as outstanding.
        let unfetched = whole - sum(&result, "read", "ios");
        let (named, held) = (told_at.len() as u64, offsets.len() as u64);
        assert!(unfetched + held <= named, "{engine}: {whole} {unfetched} {held} {named}");
        if engine == "sync" {
            assert_eq!((unfetched, named), (0, held));
        }
    }
}

#[test]
fn text_and_xml_are_whole_although_the_target_hangs() {
    let bench = Bench::new();
    for (engine, options) in ENGINES {
        let options = format!("-d600 --io-timeout=1 {options}");
        let Some(mut text) = Hanging::start(&bench, engine, &options) else { return };
        text.read_to("I/Os of timespan 1 that have not come back: ");
        let held = text.system.held_offsets();
        let (written, ..) = text.release();
        assert!(written.contains("\ntotal:"), "{engine}: {written}");
        let rows = written.split("that have not come back: ").nth(1).unwrap().lines().skip(3);
        let cells: Vec<Vec<&str>> =
            rows.map(|row| row.split('|').map(str::trim).collect()).collect();
        let row = |offset: u64| {
            cells.iter().find(|cells| cells.get(2) == Some(&offset.to_string().as_str()))
        };
        for offset in held {
            let row = row(offset).unwrap_or_else(|| panic!("{engine}: {offset}: {written}"));
            assert_eq!((row[1], row[3]), ("read", "4096"), "{written}");
            assert!(row[5].parse::<f64>().unwrap() >= 1.0, "{written}");
        }

        let Some(mut xml) = Hanging::start(&bench, engine, &format!("{options} -Rxml")) else {
            return;
        };
        xml.read_to("</Results>");
        let held = xml.system.held_offsets();
        let (written, ..) = xml.release();
        let document = Document::parse(&written).unwrap();
        let offsets: Vec<u64> = document
            .descendants()
            .filter(|node| node.has_tag_name("Io") && node.parent_element().is_some())
            .filter(|node| node.parent_element().unwrap().has_tag_name("Outstanding"))
            .filter_map(|io| io.children().find(|child| child.has_tag_name("Offset"))?.text())
            .map(|offset| offset.parse().unwrap())
            .collect();
        assert!(held.iter().all(|offset| offsets.contains(offset)), "{engine}: {written}");
    }
}

#[test]
fn a_first_signal_ends_a_run_whose_target_hangs_with_its_result() {
    let bench = Bench::new();
    for signal in ["-INT", "-TERM"] {
        let Some(mut run) = Hanging::start(&bench, "sync", "-o1 -t1 -d600 -Rjson") else { return };
        while run.system.count(Kind::Read, Answer::Held) == 0 {
            assert!(run.run.child.try_wait().unwrap().is_none(), "the run did not wait");
            std::thread::sleep(Duration::from_millis(20));
        }
        crate::signals::send(signal, run.run.child.id());
        run.read_to("\n}\n");
        let whole = run.system.count(Kind::Read, Answer::Whole);
        let (written, told, code) = run.release();
        assert_eq!(code, Some(130), "{signal}: {told}");
        let result: Value = serde_json::from_str(&written).unwrap();
        assert_eq!(result["time_spans"][0]["outcome"], "interrupted");
        assert_eq!(result["time_spans"][0]["outstanding"].as_array().unwrap().len(), 1);
        assert_eq!(sum(&result, "read", "ios"), whole);
    }
}

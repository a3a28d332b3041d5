//! Kernel events in text, XML and JSON.

use fathom_core::dialect::diskspd::{result_text, result_xml};
use fathom_core::report::json;
use fathom_core::request::Tracing;
use fathom_core::result::{KernelEvent, KernelEventCount, KernelEvents, RunResult, TraceClock};
use roxmltree::Document;

use crate::results::result;

fn count(event: KernelEvent, count: impl Into<Option<u64>>, source: &str) -> KernelEventCount {
    KernelEventCount { event, count: count.into(), source: source.to_owned(), partial: None }
}

fn with(tracing: Tracing, counts: Vec<KernelEventCount>) -> RunResult {
    let mut result = result(&[(vec![1_000], vec![])]);
    result.request.profile.tracing = Some(tracing);
    result.time_spans[0].kernel_events = Some(KernelEvents {
        clock: TraceClock::Monotonic,
        counted_ns: Some(2_000_100_000),
        counted_cycles: None,
        counts,
    });
    result
}

fn example() -> RunResult {
    let tracing = Tracing {
        disk_io: true,
        image_load: true,
        memory_page_faults: true,
        memory_hard_faults: true,
        process: true,
        registry: true,
        ..Tracing::default()
    };
    let counts = vec![
        count(KernelEvent::DiskRead, 11, "disks"),
        count(KernelEvent::DiskWrite, 12, "disks"),
        count(KernelEvent::ImageLoad, 13, "records <of> images"),
        count(KernelEvent::HardFault, 14, "vmstat"),
        count(KernelEvent::SoftFault, 15, "vmstat"),
        count(KernelEvent::CopyOnWriteFault, None, "nobody tells"),
        count(KernelEvent::ProcessStart, 16, "sched"),
        count(KernelEvent::ProcessEnd, 17, "sched"),
    ];
    with(tracing, counts)
}

/// Titles, names and order are those of `DiskSpd`, which shows what was requested and nothing else.
#[test]
fn the_text_has_diskspds_sections() {
    let text = result_text::write(&example());
    let expected = "\n\n\nETW:\n----\n\n\
        \tDisk I/O\n\t\tRead: 11\n\t\tWrite: 12\n\
        \tLoad Image\n\t\tLoad Image: 13\n\
        \tMemory Page Faults\n\t\tCopy on Write: N/A\n\t\tDemand Zero fault: N/A\n\
        \t\tGuard Page fault: N/A\n\t\tHard page fault: 14\n\t\tTransition fault: N/A\n\
        \t\tSoft page fault: 15\n\
        \tProcess\n\t\tStart: 16\n\t\tEnd: 17\n\
        \tRegistry\n\t\tnot counted: there is none on this system\n\
        \n\tcounted on the whole system for 2.000100 s by the monotonic clock, from\n\
        \t\tDisk I/O (Read, Write): disks\n\
        \t\tLoad Image (Load Image): records <of> images\n\
        \t\tMemory Page Faults (Copy on Write): nobody tells\n\
        \t\tMemory Page Faults (Hard page fault, Soft page fault): vmstat\n\
        \t\tProcess (Start, End): sched\n";
    assert!(text.contains(expected), "{text}");
    let place = text.find("ETW:").unwrap();
    assert!(text.find("Total latency distribution").unwrap() < place);
}

#[test]
fn the_xml_has_diskspds_elements_and_none_for_what_nobody_told() {
    let xml = result_xml::write(&example());
    let document = Document::parse(&xml).unwrap();
    let span = document.root_element().children().find(|node| node.has_tag_name("TimeSpan"));
    let etw = span.unwrap().children().find(|node| node.has_tag_name("ETW")).unwrap();
    let names = |node: roxmltree::Node<'_, '_>| -> Vec<String> {
        let elements = node.children().filter(roxmltree::Node::is_element);
        elements.map(|node| node.tag_name().name().to_owned()).collect()
    };
    let expected = ["DiskIO", "LoadImage", "MemoryPageFaults", "Process", "Interval"];
    assert_eq!(names(etw)[..5], expected.map(str::to_owned));
    let value = |path: &[&str]| {
        let child = |node: roxmltree::Node<'_, '_>, name: &str| {
            node.children().find(|child| child.has_tag_name(name)).map(|child| child.id())
        };
        let mut node = etw;
        for name in path {
            node = document.get_node(child(node, name)?)?;
        }
        node.text().map(str::to_owned)
    };
    assert_eq!(value(&["DiskIO", "Write"]).as_deref(), Some("12"));
    assert_eq!(value(&["LoadImage"]).as_deref(), Some("13"));
    assert_eq!(value(&["MemoryPageFaults", "HardPageFault"]).as_deref(), Some("14"));
    assert_eq!(value(&["MemoryPageFaults", "CopyOnWrite"]), None);
    assert_eq!(value(&["Process", "End"]).as_deref(), Some("17"));
    let sources = etw.children().filter(|node| node.has_tag_name("Source"));
    assert!(sources.into_iter().any(|node| node.text() == Some("records <of> images")));
}

#[test]
fn hard_faults_alone_stand_by_themselves() {
    let tracing = Tracing { memory_hard_faults: true, ..Tracing::default() };
    let result = with(tracing, vec![count(KernelEvent::HardFault, 3, "vmstat")]);
    let text = result_text::write(&result);
    assert!(text.contains("\tMemory Hard Faults\n\t\tHard page fault: 3\n\n"), "{text}");
    assert!(result_xml::write(&result).contains("<ETW>\n      <HardPageFault>3</HardPageFault>"));
}

#[test]
fn cycles_are_told_as_cycles() {
    let mut result = example();
    let events = result.time_spans[0].kernel_events.as_mut().unwrap();
    events.clock = TraceClock::Cycles;
    (events.counted_ns, events.counted_cycles) = (None, Some(4_711));
    assert!(result_text::write(&result).contains("for 4711 cycles by the cycle counter"));
    assert!(result_xml::write(&result).contains("<Interval Clock=\"cycles\" Cycles=\"4711\"/>"));
}

#[test]
fn json_keeps_them_and_results_without_them_are_read() {
    let result = example();
    let text = json::write(&result);
    assert_eq!(json::read(&text).unwrap(), result);
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    value["time_spans"][0].as_object_mut().unwrap().remove("kernel_events");
    let older = json::read(&value.to_string()).unwrap();
    assert_eq!(older.time_spans[0].kernel_events, None);
    assert!(!result_text::write(&older).contains("ETW:"));
}

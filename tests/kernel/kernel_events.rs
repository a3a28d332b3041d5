//! Kernel events (`-e...`): what happens on the system during the measured time is in the result. Others
//! work on the same system, so that a count may be greater than what was done here, and never smaller.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::{Child, ChildStderr, Command, Stdio};

use fathom_sys::file::{OpenFlags, TargetFile};
use fathom_sys::mapping::Mapping;
use fathom_sys::residency::drop_pages;
use serde_json::Value;

use crate::bench::{Bench, skip};
use crate::prepare::support::Loop;

/// A run without I/O of its own, which counts while something else is done.
struct Counting {
    child: Child,
    stderr: BufReader<ChildStderr>,
    told: String,
}

impl Counting {
    /// Starts a run; nothing, with the reason printed, where it is not allowed to count.
    fn start(bench: &Bench, args: &str) -> Self {
        let mut command = bench.command(&format!("--engine=null -v -Rjson -b4K -r {args} null"));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self { child, stderr, told: String::new() }
    }

    /// Waits until the run has told of this phase; whether it has.
    fn until(&mut self, phase: &str) -> bool {
        while !self.told.contains(phase) {
            if self.stderr.read_line(&mut self.told).unwrap() == 0 {
                return false;
            }
        }
        true
    }

    /// Ends it, and returns its counts.
    fn end(mut self) -> Value {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        let mut stdout = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        self.stderr.read_to_string(&mut self.told).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(130), "{}", self.told);
        let result: Value = serde_json::from_str(&stdout).unwrap();
        result["time_spans"][0]["kernel_events"].clone()
    }
}

/// What is counted while something is done in the measured time.
fn counted(args: &str, action: impl FnOnce()) -> Option<Value> {
    let bench = Bench::new();
    let mut run = Counting::start(&bench, &format!("-W0 -d60 {args}"));
    if !run.until("starting measurements") {
        assert_eq!(run.child.wait().unwrap().code(), Some(3), "{}", run.told);
        skip(&run.told);
        return None;
    }
    action();
    Some(run.end())
}

fn entry<'a>(events: &'a Value, event: &str) -> &'a Value {
    let counts = events["counts"].as_array().unwrap();
    counts.iter().find(|count| count["event"] == event).unwrap_or(&Value::Null)
}

#[track_caller]
fn at_least(events: &Value, event: &str, least: u64) {
    let entry = entry(events, event);
    let count = entry["count"].as_u64();
    assert!(count.is_some_and(|count| count >= least), "{least} of {event} were made: {entry}");
    assert!(!entry["source"].as_str().unwrap().is_empty());
}

fn run_true(times: usize) {
    for _ in 0..times {
        assert!(Command::new("true").status().unwrap().success());
    }
}

#[test]
fn processes_of_the_measured_time_are_counted() {
    let Some(events) = counted("-ePROCESS", || run_true(40)) else { return };
    at_least(&events, "process_start", 40);
    if !entry(&events, "process_end")["count"].is_null() {
        at_least(&events, "process_end", 40);
    }
    assert_eq!(entry(&events, "thread_start"), &Value::Null, "it was not requested");
}

#[test]
fn processes_of_the_warm_up_are_not_counted() {
    const STARTED: usize = 400;
    let bench = Bench::new();
    let mut run = Counting::start(&bench, "-W3 -d60 -ePROCESS");
    if !run.until("starting warm up") {
        return skip(&run.told);
    }
    run_true(STARTED);
    let early = !run.told.contains("starting measurements");
    assert!(run.until("starting measurements") && early);
    let events = run.end();
    let count = entry(&events, "process_start")["count"].as_u64().unwrap();
    assert!(count < STARTED as u64, "{count} processes in a moment");
}

#[test]
fn threads_of_the_measured_time_are_counted() {
    let spawn = || {
        for _ in 0..500 {
            std::thread::spawn(|| ()).join().unwrap();
        }
    };
    let events = counted("-eTHREAD", spawn).unwrap();
    at_least(&events, "thread_start", 500);
    at_least(&events, "thread_end", 490);
}

#[test]
fn programs_and_their_libraries_are_counted() {
    let Some(events) = counted("-eIMAGE_LOAD", || run_true(30)) else { return };
    at_least(&events, "image_load", 90);
}

#[test]
fn page_faults_are_counted() {
    // How many pages a program touches depends on its libraries: field 11 of `proc_pid_stat(5)` tells those
    // of the children that have ended.
    let script = "for i in $(seq 100); do /bin/true; done; cut -d' ' -f11 /proc/$$/stat";
    let mut made = 0;
    let run = || {
        let output = Command::new("sh").args(["-c", script]).output().unwrap();
        made = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
    };
    let events = counted("-eMEMORY_PAGE_FAULTS -eMEMORY_HARD_FAULTS", run).unwrap();
    assert!(made > 1_000, "{made}");
    at_least(&events, "soft_fault", made);
    assert!(entry(&events, "hard_fault")["count"].is_u64());
    assert!(entry(&events, "demand_zero_fault")["count"].is_null());
}

#[test]
fn page_faults_that_read_a_disk_are_counted() {
    let bench = Bench::new();
    let file = TargetFile::open(&bench.path("t.dat"), OpenFlags::default()).unwrap();
    file.as_std().sync_all().unwrap();
    let read = || {
        for _ in 0..100 {
            drop_pages(file.as_std(), 0..8 << 20).unwrap();
            let mapping = Mapping::new(&file, 8 << 20, false).unwrap();
            assert_eq!(mapping.read_at(&mut [0; 8], 4 << 20).unwrap(), 8);
        }
    };
    let events = counted("-eMEMORY_HARD_FAULTS", read).unwrap();
    assert_eq!(events["counts"].as_array().unwrap().len(), 1);
    if entry(&events, "hard_fault")["count"] == 0 {
        return skip("the file system keeps its files in memory");
    }
    at_least(&events, "hard_fault", 100);
}

#[test]
fn network_traffic_is_counted() {
    const TIMES: u64 = 50;
    let talk = || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        for _ in 0..TIMES {
            let mut here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (mut there, _) = listener.accept().unwrap();
            here.write_all(b"word").unwrap();
            there.read_exact(&mut [0; 4]).unwrap();
            socket.send_to(b"word", socket.local_addr().unwrap()).unwrap();
            socket.recv_from(&mut [0; 4]).unwrap();
        }
    };
    let events = counted("-eNETWORK", talk).unwrap();
    for event in ["tcp_accept", "tcp_connect", "tcp_send", "tcp_receive", "udp_send", "udp_receive"]
    {
        at_least(&events, event, TIMES);
    }
    if !entry(&events, "tcp_disconnect")["count"].is_null() {
        at_least(&events, "tcp_disconnect", TIMES);
    }
}

#[test]
fn disk_reads_and_writes_are_counted() {
    let _turn = crate::devices::turn();
    let Some(device) = Loop::attach("/dev/loop2", 32 << 20) else { return };
    let bench = Bench::new();
    for (direction, event) in [("-w0", "disk_read"), ("-w100", "disk_write")] {
        let mut ios = 0;
        let load = || {
            let leave = device.leave();
            let args = format!("-b4K -r -Su -o4 -g500i {direction} {leave} {}", device.name());
            ios = crate::bench::ios(&bench.measure(&args));
        };
        let events = counted("-eDISK_IO", load).unwrap();
        assert!(ios > 0);
        at_least(&events, event, ios);
    }
}

#[test]
fn the_clock_that_was_asked_for_tells_for_how_long() {
    for (option, clock) in [("-eq", "monotonic"), ("-es", "coarse"), ("-ec", "cycles")] {
        let bench = Bench::new();
        let result = bench.measure(&format!("--engine=null -b4K -r -eTHREAD {option} null"));
        let events = &result["time_spans"][0]["kernel_events"];
        assert_eq!(events["clock"], clock);
        let (counted_ns, cycles) = (&events["counted_ns"], &events["counted_cycles"]);
        assert_eq!(counted_ns.is_null(), clock == "cycles");
        assert_eq!(cycles.is_null(), clock != "cycles");
        // Measured for a second, less what the coarse clock is behind.
        let least = if clock == "cycles" { 1_000_000 } else { 900_000_000 };
        assert!(counted_ns.as_u64().or(cycles.as_u64()).unwrap() > least, "{events}");
    }
}

#[test]
fn what_was_not_asked_for_is_not_counted() {
    let result = Bench::new().measure("--engine=null -b4K -r null");
    assert!(result["time_spans"][0]["kernel_events"].is_null());
}

#[test]
fn what_means_nothing_here_is_told() {
    let result = Bench::new().measure("--engine=null -b4K -r -eREGISTRY -ep null");
    assert_eq!(result["time_spans"][0]["kernel_events"]["counts"], Value::Array(Vec::new()));
    let told: Vec<&str> = result["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|warning| warning["kind"] == "no_effect")
        .map(|warning| warning["evidence"].as_str().unwrap())
        .collect();
    assert!(told.iter().any(|words| words.contains("-eREGISTRY")), "{told:?}");
    assert!(told.iter().any(|words| words.contains("-ep")), "{told:?}");
}

#[test]
fn without_the_privilege_nothing_begins() {
    let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    if level.trim().parse::<i32>().unwrap_or(2) <= 0 {
        return skip("everybody may count events of the whole system here");
    }
    let bench = Bench::new();
    let without = |args: &str| {
        let mut command = Command::new("setpriv");
        command.args(["--bounding-set=-all", "--inh-caps=-all"]);
        command.arg(env!("CARGO_BIN_EXE_diskspd")).args(args.split_whitespace());
        command.current_dir(bench.path("")).output()
    };
    let Ok(plain) = without("-W0 -d1 -b4K -r -eTHREAD -eMEMORY_PAGE_FAULTS -eDISK_IO t.dat") else {
        return skip("there is no setpriv here");
    };
    let stderr = String::from_utf8(plain.stderr).unwrap();
    if stderr.contains("setpriv:") {
        return skip(&stderr);
    }
    assert_eq!(plain.status.code(), Some(0), "{stderr}");
    for option in ["-ePROCESS", "-eIMAGE_LOAD"] {
        let refused = without(&format!("-W0 -d1 -b4K -w100 -c1M {option} new.dat")).unwrap();
        let stderr = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(3), "{stderr}");
        assert!(stderr.contains(option), "{stderr}");
        assert!(stderr.contains("root"), "{stderr}");
        assert!(!bench.path("new.dat").exists(), "it began before it was refused");
    }
    let network = without("-W0 -d1 -b4K -r -Rjson -eNETWORK t.dat").unwrap();
    let result: Value = serde_json::from_slice(&network.stdout).unwrap();
    let events = &result["time_spans"][0]["kernel_events"];
    assert!(entry(events, "tcp_send")["count"].is_u64());
    assert!(entry(events, "tcp_disconnect")["count"].is_null());
    let why = entry(events, "tcp_disconnect")["source"].as_str().unwrap();
    assert!(why.contains("CAP_PERFMON") || why.contains("tracefs"), "{why}");
}

#[test]
fn each_time_span_has_counts_of_its_own_in_text_and_xml() {
    let bench = Bench::new();
    let span = "<TimeSpan><Duration>1</Duration><Warmup>0</Warmup><Targets><Target>\
                <Path>t.dat</Path><BlockSize>4096</BlockSize></Target></Targets></TimeSpan>";
    let profile = format!(
        "<Profile><ETW><Thread>true</Thread><UseSystemTimer>true</UseSystemTimer></ETW>\
         <TimeSpans>{span}{span}</TimeSpans></Profile>"
    );
    std::fs::write(bench.path("p.xml"), profile).unwrap();
    let text = String::from_utf8(bench.run("-Xp.xml").stdout).unwrap();
    assert_eq!(text.matches("\nETW:\n----\n\n\tThread\n\t\tStart: ").count(), 2, "{text}");
    assert_eq!(text.matches(" by the coarse clock, from\n").count(), 2, "{text}");
    let xml = String::from_utf8(bench.run("-Xp.xml -Rxml").stdout).unwrap();
    let document = roxmltree::Document::parse(&xml).unwrap();
    let spans = document.root_element().children().filter(|node| node.has_tag_name("TimeSpan"));
    for span in spans {
        let etw = span.children().find(|node| node.has_tag_name("ETW")).unwrap();
        let started = etw.descendants().find(|node| node.has_tag_name("Start")).unwrap();
        assert!(started.text().unwrap().parse::<u64>().is_ok());
    }
}

//! A request that comes as data, from Python or a file, is run or refused in words, whatever it says: no
//! number and no combination makes anything panic.
use std::path::PathBuf;

use fathom_core::dialect::diskspd::parse::{Act, Invocation, Outside, check, parse};
use fathom_core::engine::backend::SimDevice;
use fathom_core::engine::simulate::simulate;
use fathom_core::plan::SpanPlan;
use fathom_core::plan::facts::{EngineAvailability, HostFacts};
use fathom_core::plan::resolve::{Resolved, resolve};
use fathom_core::report::json;
use fathom_core::request::Request;
use fathom_core::result::Cpu;
use fathom_core::storage::Facts;
use fathom_core::units::NANOS_PER_MILLI;
use fathom_sys::device::{PathFacts, PathKind};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::Value;

/// Loads that together give each setting, so that there is a number in its place.
const LOADS: [&str; 14] = [
    "-b4K -r -w30 -t2 -o4 -g100i --arrivals=poisson -D100 -L --interval-latency x",
    "-b4K -r -w100 -F3 -o8 -i4 -j2 -B4K:4M -c8M x",
    "-b4K -F4 -O8 -r --skew=normal:7 --verify-journal=j x y",
    "-b4K -r --skew=zipf:1.1 --rate=5000 -t3 x",
    "-b4K -r4K --skew=pareto:0.2 -w50 -Z1M x",
    "-b4K -rs40 -rdpct10/20:90/80 -w20 --trim=10 --ratio=exact x",
    "-b4K -rdabs60/1M:40/2M -r -u4 x",
    "-b4K -si -t4 -w50 --compress=40 --dedupe=20 x",
    "-b4K -s8K -T64K -t4 --stop-pass x",
    "-b4K -p -o4 --stop-bytes=1M -un50p -oc4 x",
    "-b4K --read-pattern=random,block=8K,align=4K,range=0:4M --write-pattern=interlocked,range=1M:1M -w50 --fsync=8 x",
    "-b4K -w50 --read-block-mix=4K:60,8K:40 --write-block-mix=16K:100 -r --stop-ios=100 x",
    "-b4K -r --stop-steady=3:20:10 --stop-confidence=95:2 --stop-interval=1 --on-error=count=3 x",
    "-b4K -Sm -Nv -w40 -P10 -a0,1 --io-timeout=9 x",
];

/// Values at which arithmetic goes wrong.
const EDGES: [u64; 26] = [
    0,
    1,
    2,
    3,
    7,
    50,
    99,
    100,
    101,
    256,
    500,
    512,
    4095,
    4096,
    4097,
    65_536,
    65_537,
    1 << 20,
    8 << 20,
    (8 << 20) + 1,
    (1 << 31) - 1,
    1 << 31,
    u32::MAX as u64,
    1 << 32,
    1 << 63,
    u64::MAX,
];

/// A change of one setting: which, whether it is left out, and to what.
type Change = (Index, u8, u64);

fn changes() -> impl Strategy<Value = Vec<Change>> {
    vec((any::<Index>(), any::<u8>(), select(&EDGES[..])), 1..4)
}

fn load(line: &str) -> Value {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let missing = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
    let outside = Outside { read_file: &missing, fresh_seed: 1 };
    let Ok(Invocation::Run(command)) = parse(&words, &outside) else { panic!("{line}") };
    serde_json::from_str(&json::write_request(&command.job.request)).expect("JSON")
}

/// The paths of all settings that are numbers, switches, or lists.
fn settings(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(_) | Value::Bool(_) => found.push(path.to_owned()),
        Value::Array(list) => {
            found.push(path.to_owned());
            for (index, one) in list.iter().enumerate() {
                settings(one, &format!("{path}/{index}"), found);
            }
        }
        Value::Object(parts) => {
            for (key, part) in parts {
                settings(part, &format!("{path}/{key}"), found);
            }
        }
        Value::Null | Value::String(_) => {}
    }
}

fn change(request: &mut Value, (which, how, edge): Change) {
    let mut paths = Vec::new();
    settings(request, "", &mut paths);
    paths.retain(|path| !path.ends_with("request_version"));
    let path: &String = which.get(&paths);
    let setting = request.pointer_mut(path).expect("a setting");
    match setting {
        _ if how % 16 == 0 => *setting = Value::Null,
        Value::Bool(on) => *on = !*on,
        Value::Array(list) if how % 2 == 0 => list.clear(),
        Value::Array(list) => list.extend(list.first().cloned()),
        _ => *setting = edge.into(),
    }
}

/// A host with two CPUs, little memory, and a file of 8 MiB by each name.
fn host() -> HostFacts {
    let cpu = |os_id: u8| Cpu {
        os_id: os_id.into(),
        group: 0,
        index: os_id,
        node: 0,
        socket: 0,
        core: os_id.into(),
        efficiency_class: 0,
    };
    let file = |name: &str| {
        let file = PathFacts {
            path: PathBuf::from("/").join(name),
            kind: PathKind::File,
            size_bytes: 8 << 20,
            file_system: "ext4".into(),
            logical_sector_bytes: 512,
            ..PathFacts::default()
        };
        (name.to_owned(), Ok(Facts::Here(file)))
    };
    HostFacts {
        name: "box".into(),
        kernel: "Linux 6.12".into(),
        cpu_model: "Example".into(),
        power_scheme: String::new(),
        memory_bytes: Some(64 << 20),
        memory_left: None,
        lockable: None,
        page_directory_line_bytes: 16 << 20,
        cpus: vec![cpu(0), cpu(1)],
        usable_cpus: [0, 1].into(),
        disks: Vec::new(),
        targets: ["x", "y"].into_iter().map(file).collect(),
        data_files: std::collections::BTreeMap::new(),
        engines: EngineAvailability { uring: Ok(()), aio: Ok(()), uring_discard: Ok(()) },
        uncountable: Vec::new(),
    }
}

/// The first milliseconds of a time span, as far as they are soon over.
fn run(mut plan: SpanPlan) {
    plan.warm_up_ns = plan.warm_up_ns.min(5 * NANOS_PER_MILLI);
    plan.measured_ns = plan.measured_ns.min(20 * NANOS_PER_MILLI);
    plan.cool_down_ns = plan.cool_down_ns.min(5 * NANOS_PER_MILLI);
    plan.threads.truncate(4);
    let slots: usize = plan
        .threads
        .iter()
        .map(|thread| fathom_core::engine::setup::SlotLayout::new(&plan, thread).slot_bytes.len())
        .sum();
    if slots <= 1000 {
        // Whether the time span can be run is for an error to say; nothing more is asked here.
        drop(simulate(&plan, &SimDevice::default()));
    }
}

/// What becomes of a request at the door, on a host, and on a device.
fn follow(request: &Request) -> Result<(), String> {
    check(request, Act::Run, &|_, _| String::new()).map_err(|error| error.to_string())?;
    let resolved = resolve(&request.profile, &request.options, &host());
    let Resolved { plan, .. } = resolved.map_err(|error| error.to_string())?;
    plan.spans.into_iter().for_each(run);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 800, ..ProptestConfig::default() })]

    #[test]
    fn a_typed_request_is_run_or_refused_in_words_and_never_panics(
        line in select(&LOADS[..]),
        changes in changes(),
    ) {
        let mut value = load(line);
        for one in changes {
            change(&mut value, one);
        }
        if let Ok(request) = json::read_request(&value.to_string())
            && let Err(words) = follow(&request)
        {
            prop_assert!(!words.is_empty());
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn a_request_of_any_numbers_is_refused_in_words_and_never_panics(
        request in crate::profile::request(),
    ) {
        drop(follow(&request));
        // What passes no door is no reason to panic, either.
        drop(resolve(&request.profile, &request.options, &host()).map(drop));
    }
}

#[test]
fn each_of_the_loads_runs() {
    for line in LOADS {
        let request = json::read_request(&load(line).to_string()).expect("a request");
        assert_eq!(follow(&request), Ok(()), "{line}");
    }
}

/// The greatest and the least that a setting can be: drawn values seldom are.
const EXTREMES: [u64; 5] = [0, 1, u32::MAX as u64, 1 << 63, u64::MAX];

#[test]
fn no_extreme_number_makes_a_request_panic() {
    let mut panicked = Vec::new();
    for line in LOADS {
        let plain = load(line);
        let mut paths = Vec::new();
        settings(&plain, "", &mut paths);
        for (path, edge) in paths.iter().flat_map(|path| EXTREMES.map(|edge| (path, edge))) {
            let mut value = plain.clone();
            *value.pointer_mut(path).expect("a setting") = edge.into();
            let Ok(request) = json::read_request(&value.to_string()) else { continue };
            if std::panic::catch_unwind(|| drop(follow(&request))).is_err() {
                panicked.push(format!("{line}: {path} = {edge}"));
            }
        }
    }
    assert!(panicked.is_empty(), "{}", panicked.join("\n"));
}

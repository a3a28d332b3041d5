//! Each number of a request has the same borders at every door: words, XML, and JSON, in which Python's types
//! come.
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use fathom_core::dialect::diskspd::parse::{Act, Invocation, Outside, check, parse};
use fathom_core::dialect::diskspd::profile_xml::write;
use fathom_core::report::json;
use fathom_core::request::{
    BlockShare, ByteRange, OnError, Pattern, Rate, Request, RingBatch, Skew, Target, ThreadTarget,
    TimeSpan, WriteSource,
};

/// A number of a request.
struct Number {
    /// Its structure and name, as in the schema.
    name: &'static str,
    /// A command line that gives it, or one on which it may be set if there is no word for it.
    line: &'static str,
    /// How it is written there.
    shown: fn(u64) -> String,
    set: fn(&mut Request, u64),
    borders: RangeInclusive<u64>,
    /// `DiskSpd`'s XML has it, and 0 is no other word for "none" there.
    is_in_xml: bool,
}

const ANY: RangeInclusive<u64> = 1..=u64::MAX;

const fn number(name: &'static str, line: &'static str, set: fn(&mut Request, u64)) -> Number {
    Number { name, line, shown: plain, set, borders: ANY, is_in_xml: true }
}

impl Number {
    const fn most(self, most: u64) -> Self {
        Self { borders: *self.borders.start()..=most, ..self }
    }

    const fn from(self, least: u64) -> Self {
        Self { borders: least..=*self.borders.end(), ..self }
    }

    const fn in_thousandths(self) -> Self {
        Self { shown: thousandths, ..self }
    }

    const fn not_in_xml(self) -> Self {
        Self { is_in_xml: false, ..self }
    }
}

fn plain(value: u64) -> String {
    value.to_string()
}

fn thousandths(value: u64) -> String {
    format!("{}.{:03}", value / 1000, value % 1000)
}

fn small(value: u64) -> u32 {
    u32::try_from(value).expect("a number of 32 bits")
}

fn span(request: &mut Request) -> &mut TimeSpan {
    &mut request.profile.time_spans[0]
}

fn target(request: &mut Request) -> &mut Target {
    &mut span(request).targets[0]
}

fn pattern(request: &mut Request) -> &mut Pattern {
    target(request).extensions.read_pattern.as_mut().expect("a pattern")
}

fn mix(request: &mut Request) -> &mut BlockShare {
    &mut target(request).extensions.block_mix[0]
}

const MIX: &str = "--block-mix={}:100 x";
const STEADY: &str = "--stop-steady={}:20:10 x";

/// Each number that may not be just any.
fn numbers() -> Vec<Number> {
    let mut numbers = of_targets();
    numbers.extend(of_extensions());
    numbers.extend(of_time_spans());
    numbers.extend(of_options());
    numbers
}

fn of_targets() -> Vec<Number> {
    vec![
        number("Target.block_bytes", "-b{} x", |r, v| target(r).block_bytes = small(v)),
        number("Target.burst_ios", "-i{} -j5 x", |r, v| target(r).burst_ios = Some(small(v)))
            .not_in_xml(),
        number("Target.think_ms", "-i5 -j{} x", |r, v| target(r).think_ms = Some(small(v)))
            .not_in_xml(),
        number("Target.outstanding", "-o{} x", |r, v| target(r).outstanding = small(v)),
        number("Target.threads", "-t{} x", |r, v| target(r).threads = small(v)),
        number("Target.weight", "x", |r, v| target(r).weight = small(v)),
        number("Target.write_percent", "-w{} x", |r, v| target(r).write_percent = small(v))
            .from(0)
            .most(100),
        number("Access.align_bytes", "-r{} x", |r, v| target(r).access.align_bytes = v),
        number("Access.align_bytes", "-s{} x", |r, v| target(r).access.align_bytes = v),
        // The words of no random I/O are -s.
        number("Access.random_percent", "-rs50 x", |r, v| {
            target(r).access.random_percent = small(v);
        })
        .from(0)
        .most(100)
        .not_in_xml(),
        number("Rate.iops", "-g{}i x", |r, v| target(r).rate = Some(Rate::Iops(small(v))))
            .not_in_xml(),
        number("Rate.bytes_per_ms", "-g{} x", |r, v| {
            target(r).rate = Some(Rate::BytesPerMs(small(v)));
        })
        .not_in_xml(),
        number("WriteSource.bytes", "-b4K -Z{} x", |r, v| {
            target(r).write_data.source = WriteSource::Buffer { bytes: v, file: None };
        })
        .from(4096),
        number("ThreadTarget.thread", "-F4 -O4 x", |r, v| {
            target(r).thread_targets = vec![ThreadTarget { thread: small(v), weight: 1 }];
        })
        .from(0)
        .most(3),
    ]
}

fn of_extensions() -> Vec<Number> {
    vec![
        number("Extensions.trim_percent", "--trim={} x", |r, v| {
            target(r).extensions.trim_percent = Some(small(v));
        })
        .from(0)
        .most(100),
        number("Extensions.compress_percent", "--compress={} x", |r, v| {
            target(r).extensions.compress_percent = Some(small(v));
        })
        .from(0)
        .most(100),
        number("Extensions.dedupe_percent", "--dedupe={} x", |r, v| {
            target(r).extensions.dedupe_percent = Some(small(v));
        })
        .from(0)
        .most(100),
        number("SyncCadence.every_writes", "-w50 --fsync={} x", |r, v| {
            target(r).extensions.sync.as_mut().expect("syncs").every_writes = small(v);
        }),
        number("Pattern.block_bytes", "--read-pattern=random,block={} x", |r, v| {
            pattern(r).block_bytes = Some(small(v));
        }),
        number("Pattern.align_bytes", "--read-pattern=random,align={} x", |r, v| {
            pattern(r).align_bytes = Some(v);
        }),
        // As words, a range up to the end has no length.
        number("ByteRange.length_bytes", "--read-pattern=random x", |r, v| {
            pattern(r).range = Some(ByteRange { base_bytes: 4096, length_bytes: v });
        })
        .from(0)
        .most(u64::MAX - 4096),
        number("BlockShare.block_bytes", MIX, |r, v| mix(r).block_bytes = small(v)),
        number("BlockShare.io_percent", "--block-mix=4K:{} x", |r, v| {
            mix(r).io_percent = small(v);
        })
        .from(100)
        .most(100),
    ]
}

fn of_time_spans() -> Vec<Number> {
    vec![
        // As words and in XML, 0 milliseconds are the 1000 that hold without any.
        number("TimeSpan.interval_ms", "x", |r, v| span(r).interval_ms = small(v)).not_in_xml(),
        number("Tuning.completion_depth", "-oc{} x", |r, v| {
            span(r).tuning.completion_depth = Some(small(v));
        })
        .most(16),
        number("RingBatch.ios", "-u{} x", |r, v| {
            span(r).tuning.ring.as_mut().expect("a ring").batch = RingBatch::Ios(small(v));
        })
        .most(65_536),
        number("RingBatch.percent", "-u{}p x", |r, v| {
            span(r).tuning.ring.as_mut().expect("a ring").batch = RingBatch::Percent(small(v));
        })
        .most(100),
        number("StopRules.bytes", "--stop-bytes={} x", |r, v| span(r).stop.bytes = Some(v)),
        number("StopRules.ios", "--stop-ios={} x", |r, v| span(r).stop.ios = Some(v)),
        number("StopRules.interval_ms", "--stop-steady --stop-interval={} x", |r, v| {
            span(r).stop.interval_ms = Some(small(v));
        }),
        number("SteadyRule.intervals", STEADY, |r, v| {
            span(r).stop.steady.as_mut().expect("a rule").intervals = small(v);
        })
        .from(3),
        number("SteadyRule.range_milli", "--stop-steady=3:{}:10 x", |r, v| {
            span(r).stop.steady.as_mut().expect("a rule").range_milli = small(v);
        })
        .in_thousandths()
        .most(1_000_000),
        number("SteadyRule.slope_milli", "--stop-steady=3:10:{} x", |r, v| {
            span(r).stop.steady.as_mut().expect("a rule").slope_milli = small(v);
        })
        .in_thousandths()
        .most(1_000_000),
        number("ConfidenceRule.level_milli", "--stop-confidence={} x", |r, v| {
            span(r).stop.confidence.as_mut().expect("a rule").level_milli = small(v);
        })
        .in_thousandths()
        .most(99_999),
        number("ConfidenceRule.precision_milli", "--stop-confidence=95:{} x", |r, v| {
            span(r).stop.confidence.as_mut().expect("a rule").precision_milli = small(v);
        })
        .in_thousandths()
        .most(100_000),
        number("OnError.count", "--on-error=count={} x", |r, v| {
            span(r).faults.on_error = Some(OnError::Count(small(v)));
        }),
        number("FaultPolicy.reconnect_s", "--reconnect={} nbd://host/x", |r, v| {
            span(r).faults.reconnect_s = Some(small(v));
        })
        .most(86_400),
    ]
}

fn of_options() -> Vec<Number> {
    let numbers = vec![
        number("RunOptions.total_iops", "--rate={} x", |r, v| r.options.total_iops = Some(v)),
        number("RunOptions.connections", "--connections={} nbd://host/x", |r, v| {
            r.options.connections = Some(small(v));
        })
        .most(1024),
        number("Skew.theta_milli", "-r --skew=zipf:{} x", |r, v| {
            r.options.skew = Some(Skew::Zipf { theta_milli: small(v) });
        })
        .in_thousandths()
        .most(10_000),
        number("Skew.h_milli", "-r --skew=pareto:{} x", |r, v| {
            r.options.skew = Some(Skew::Pareto { h_milli: small(v) });
        })
        .in_thousandths()
        .most(500),
        number("Skew.deviation_milli", "-r --skew=normal:{} x", |r, v| {
            r.options.skew = Some(Skew::Normal { deviation_milli: small(v) });
        })
        .in_thousandths()
        .most(100_000),
    ];
    numbers.into_iter().map(Number::not_in_xml).collect()
}

/// Those that may be any number, or whose borders are a matter of the host or of other fields.
const FREE: &[&str] = &[
    "Profile.experiment_flags",
    "Profile.progress_every_ios",
    "CpuId.group",
    "CpuId.index",
    "ByteRange.base_bytes",
    "DistributionRange.io_percent",
    "DistributionRange.length",
    "FaultPolicy.io_timeout_s",
    "Request.request_version",
    "SubmissionThread.cpu",
    "Target.base_bytes",
    "Target.create_bytes",
    "Target.limit_bytes",
    "Target.thread_stride_bytes",
    "ThreadTarget.weight",
    "TimeSpan.cool_down_s",
    "TimeSpan.duration_s",
    "TimeSpan.random_seed",
    "TimeSpan.request_count",
    "TimeSpan.thread_count",
    "TimeSpan.warm_up_s",
];

/// What a command line asks for, where `file` is the profile that it may name.
fn asked(line: &str, file: &str) -> Result<Request, String> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let outside = Outside { read_file: &|_| Ok(file.as_bytes().to_vec()), fresh_seed: 1 };
    match parse(&words, &outside) {
        Ok(Invocation::Run(command)) => Ok(command.job.request),
        Ok(other) => panic!("{line}: {other:?}"),
        Err(error) => Err(error.to_string()),
    }
}

/// The answer to the same request in JSON.
fn told(request: &Request) -> Result<(), String> {
    let read = json::read_request(&json::write_request(request)).expect("JSON");
    check(&read, Act::Run, &|_, _| String::new()).map(drop).map_err(|error| error.to_string())
}

#[test]
fn a_number_just_within_its_borders_is_taken_at_every_door_and_one_just_outside_at_none() {
    let wrong: Vec<String> = numbers().iter().flat_map(wrong_answers).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What the doors answer that is not as the borders say.
fn wrong_answers(one: &Number) -> Vec<String> {
    let (least, most) = (*one.borders.start(), *one.borders.end());
    let within =
        asked(&line(one, least), "").unwrap_or_else(|error| panic!("{}: {error}", one.name));
    let beside = [least.checked_sub(1), Some(least), Some(most), most.checked_add(1)];
    // Numbers of 32 bits have no greater one here than their type has.
    let beside = beside.into_iter().flatten().filter(|value| *value != u64::MAX);
    let mut wrong = Vec::new();
    for value in beside {
        let mut typed = within.clone();
        (one.set)(&mut typed, value);
        for (door, answer) in answers(one, value, &typed) {
            if answer.is_ok() != one.borders.contains(&value) {
                wrong.push(format!("{} {value} as {door}: {answer:?}", one.name));
            }
        }
    }
    wrong
}

/// What each door makes of a value that stands in `typed`.
fn answers(one: &Number, value: u64, typed: &Request) -> Vec<(&'static str, Result<(), String>)> {
    let mut answers = vec![("JSON", told(typed))];
    if one.line.contains("{}") {
        let words = asked(&line(one, value), "");
        let same = |request: Request| {
            let error = "words that are another request".to_owned();
            if request == *typed { Ok(()) } else { Err(error) }
        };
        answers.push(("words", words.and_then(same)));
    }
    if one.is_in_xml {
        answers.push(("XML", asked("-Xp.xml", &write(&typed.profile)).map(drop)));
    }
    answers
}

fn line(one: &Number, value: u64) -> String {
    one.line.replace("{}", &(one.shown)(value))
}

#[test]
fn a_rate_that_cannot_be_kept_is_refused_in_xml_and_cut_in_words_as_by_diskspd() {
    let mut request = asked("-g4294967297i x", "").expect("a request");
    let rate = |request: &mut Request, ios| target(request).rate = Some(Rate::Iops(ios));
    let mut cut = request.clone();
    rate(&mut cut, 2_147_483_647);
    assert_eq!(request, cut);
    rate(&mut request, u32::MAX);
    let xml = write(&request.profile);
    assert_eq!(asked("-Xp.xml", &xml), Ok(request));
    let error = asked("-Xp.xml", &xml.replace(">4294967295<", ">4294967296<")).expect_err("a rate");
    assert!(error.contains("<Throughput> exceeds 4294967295"), "{error}");
}

#[test]
fn no_number_of_a_request_is_forgotten() {
    let schema: serde_json::Value = serde_json::from_str(&json::request_schema()).expect("JSON");
    let mut known = BTreeSet::new();
    collect("Request", &schema, &mut known);
    for (name, part) in schema["$defs"].as_object().expect("parts") {
        collect(name, part, &mut known);
    }
    let listed = numbers().into_iter().map(|one| one.name).chain(FREE.iter().copied());
    let listed: BTreeSet<String> = listed.map(str::to_owned).collect();
    assert_eq!(known, listed);
}

/// The numbers of a part of the schema, also of the forms that it may have.
fn collect(name: &str, part: &serde_json::Value, found: &mut BTreeSet<String>) {
    for (key, value) in part["properties"].as_object().into_iter().flatten() {
        let kind = &value["type"];
        if kind == "integer"
            || kind.as_array().is_some_and(|kinds| kinds.contains(&"integer".into()))
        {
            found.insert(format!("{name}.{key}"));
        }
        collect(name, value, found);
    }
    for form in part["oneOf"].as_array().into_iter().flatten() {
        collect(name, form, found);
    }
}

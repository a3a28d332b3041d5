//! Parsers and printers: they undo each other, and nothing makes them panic.
use fathom_core::dialect::diskspd::flags;
use fathom_core::dialect::diskspd::parse::{Invocation, Outside, parse};
use fathom_core::dialect::diskspd::profile_xml::{read, write};
use fathom_core::report::json;
use fathom_core::request::{
    Access, AccessHints, Arrivals, BlockShare, BufferSeparation, ByteRange, Caching,
    ConfidenceRule, CpuId, CpuOrder, Distribution, DistributionRange, EfficiencyOrder,
    EngineChoice, Extensions, FaultPolicy, FlushMode, NamedEvents, OnError, Pattern, PatternOrder,
    Precreate, Priority, Profile, Rate, Ratio, Request, ResultFormat, RingBatch, RingUse,
    RunOptions, Skew, SteadyRule, StopRules, SubmissionThread, SyncCadence, Target, ThreadTarget,
    TimeSpan, Tracing, Tuning, WriteData, WriteSource,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// Names with everything that XML and shells find special. A star in front makes a template, which has a
/// form of its own.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        9 => "[a-zA-Z0-9 &<>\"'./\\\\äß漢#?-][a-zA-Z0-9 &<>\"'./\\\\äß漢#*?-]{0,11}",
        1 => r"\*[1-9]",
    ]
}

fn write_data() -> impl Strategy<Value = WriteData> {
    let buffer =
        (1_u64.., option::of(name())).prop_map(|(bytes, file)| WriteSource::Buffer { bytes, file });
    let source = prop_oneof![Just(WriteSource::CountingPattern), Just(WriteSource::Zero), buffer];
    (source, any::<bool>()).prop_map(|(source, fresh_random)| WriteData { source, fresh_random })
}

fn access() -> impl Strategy<Value = (Access, Option<Distribution>)> {
    let range = (0_u32..50, 1_u64..1 << 40)
        .prop_map(|(io_percent, length)| DistributionRange { io_percent, length });
    // Two shares that leave nothing over, so that no rest is added when the profile is read.
    let percent = (1_u32..99, 1_u64..99).prop_map(|(io, length)| {
        Distribution::Percent(vec![
            DistributionRange { io_percent: io, length },
            DistributionRange { io_percent: 100 - io, length: 100 - length },
        ])
    });
    let absolute = (range, 1_u64..1 << 40).prop_map(|(first, length)| {
        let rest = DistributionRange { io_percent: 100 - first.io_percent, length };
        Distribution::Absolute(vec![first, rest])
    });
    let random = (1_u32..=100, 1_u64.., option::of(prop_oneof![percent, absolute])).prop_map(
        |(random_percent, align_bytes, distribution)| {
            (Access { random_percent, align_bytes, interlocked: false }, distribution)
        },
    );
    let sequential = (1_u64.., any::<bool>()).prop_map(|(align_bytes, interlocked)| {
        (Access { random_percent: 0, align_bytes, interlocked }, None)
    });
    prop_oneof![random, sequential]
}

fn pattern() -> impl Strategy<Value = Pattern> {
    let order = prop_oneof![
        Just(PatternOrder::Random),
        Just(PatternOrder::Sequential),
        Just(PatternOrder::Interlocked)
    ];
    let range = option::of((any::<u64>(), any::<u64>()));
    let parts = (order, option::of(1_u32..), option::of(1_u64..), range);
    parts.prop_map(|(order, block_bytes, align_bytes, range)| Pattern {
        order,
        block_bytes,
        align_bytes,
        range: range.map(|(base_bytes, length_bytes)| ByteRange { base_bytes, length_bytes }),
    })
}

fn extensions() -> impl Strategy<Value = Extensions> {
    let mix = || {
        let share = (any::<u32>(), any::<u32>());
        let share =
            share.prop_map(|(block_bytes, io_percent)| BlockShare { block_bytes, io_percent });
        vec(share, 0..4)
    };
    let ratio = option::of(prop_oneof![Just(Ratio::Drawn), Just(Ratio::Exact)]);
    let sync = (any::<u32>(), any::<bool>());
    let sync = sync.prop_map(|(every_writes, data_only)| SyncCadence { every_writes, data_only });
    let percent = || option::of(any::<u32>());
    let parts = (
        ratio,
        option::of(pattern()),
        option::of(pattern()),
        (mix(), mix(), mix()),
        option::of(sync),
        (percent(), percent(), percent()),
    );
    parts.prop_map(|(ratio, read_pattern, write_pattern, mixes, sync, percents)| Extensions {
        ratio,
        read_pattern,
        write_pattern,
        block_mix: mixes.0,
        read_block_mix: mixes.1,
        write_block_mix: mixes.2,
        sync,
        trim_percent: percents.0,
        compress_percent: percents.1,
        dedupe_percent: percents.2,
    })
}

fn thread_target() -> impl Strategy<Value = ThreadTarget> {
    let numbers = (any::<u32>(), any::<u32>());
    numbers.prop_map(|(thread, weight)| ThreadTarget { thread, weight })
}

fn target() -> impl Strategy<Value = Target> {
    let kinds = (
        prop_oneof![
            Just(Caching::Cached),
            Just(Caching::Unbuffered),
            Just(Caching::RemoteUnbuffered)
        ],
        option::of(prop_oneof![
            Just(FlushMode::ViewOfFile),
            Just(FlushMode::NonVolatileMemory),
            Just(FlushMode::NonVolatileMemoryNoDrain)
        ]),
        prop_oneof![Just(Priority::VeryLow), Just(Priority::Low), Just(Priority::Normal)],
        option::of(prop_oneof![
            (1_u32..).prop_map(Rate::BytesPerMs),
            (1_u32..).prop_map(Rate::Iops)
        ]),
        vec(thread_target(), 0..3),
    );
    let numbers = (
        1_u32..,
        any::<u64>(),
        any::<u64>(),
        option::of(any::<u64>()),
        any::<u64>(),
        1_u32..,
        0_u32..=100,
        1_u32..,
        1_u32..,
    );
    let bursts = (option::of(1_u32..), option::of(1_u32..));
    let switches = any::<[bool; 7]>();
    let parts = (name(), kinds, numbers, bursts, switches, write_data(), access(), extensions());
    parts.prop_map(|(path, kinds, numbers, bursts, switches, write_data, access, extensions)| {
        Target {
            path: path.into(),
            block_bytes: numbers.0,
            base_bytes: numbers.1,
            limit_bytes: numbers.2,
            create_bytes: numbers.3,
            hints: AccessHints {
                sequential: switches[0],
                random: switches[1],
                temporary: switches[2],
            },
            caching: kinds.0,
            write_through: switches[3],
            memory_mapped: switches[4],
            flush: kinds.1,
            large_pages: switches[5],
            write_data,
            parallel_same_offset: switches[6],
            burst_ios: bursts.0,
            think_ms: bursts.1,
            access: access.0,
            distribution: access.1,
            thread_stride_bytes: numbers.4,
            outstanding: numbers.5,
            write_percent: numbers.6,
            rate: kinds.3,
            threads: numbers.7,
            priority: kinds.2,
            weight: numbers.8,
            thread_targets: kinds.4,
            extensions,
        }
    })
}

fn stop_rules() -> impl Strategy<Value = StopRules> {
    let steady = (3_u32..1 << 31, 1_u32..=1_000_000, 1_u32..=1_000_000).prop_map(
        |(intervals, range_milli, slope_milli)| SteadyRule { intervals, range_milli, slope_milli },
    );
    let confidence = (1_u32..=99_999, 1_u32..=100_000)
        .prop_map(|(level_milli, precision_milli)| ConfidenceRule { level_milli, precision_milli });
    let counts = (option::of(1_u64..), option::of(1_u64..), any::<bool>());
    (counts, option::of(steady), option::of(confidence), option::of(1_u32..1 << 31)).prop_map(
        |((bytes, ios, pass), steady, confidence, interval_ms)| StopRules {
            bytes,
            ios,
            pass,
            steady,
            confidence,
            interval_ms,
        },
    )
}

fn faults() -> impl Strategy<Value = FaultPolicy> {
    let count = (1_u32..1 << 31).prop_map(OnError::Count);
    let on_error = option::of(prop_oneof![Just(OnError::Stop), Just(OnError::Continue), count]);
    let timeout = option::of(any::<u32>());
    (on_error, timeout).prop_map(|(on_error, io_timeout_s)| FaultPolicy {
        on_error,
        io_timeout_s,
        // It is for targets over the network alone.
        reconnect_s: None,
    })
}

fn time_span() -> impl Strategy<Value = TimeSpan> {
    let cpus = (vec((any::<u16>(), option::of(any::<u8>())), 0..3), cpu_order());
    let parts = (
        any::<[bool; 4]>(),
        any::<[u32; 6]>(),
        1_u32..,
        cpus,
        tuning(),
        vec(target(), 1..3),
        (stop_rules(), faults()),
    );
    parts.prop_map(|(switches, numbers, interval_ms, (cpus, cpu_order), tuning, targets, rules)| {
        TimeSpan {
            alternate_completion: switches[0],
            measure_latency: switches[1],
            interval_series: switches[2],
            disable_affinity: switches[3],
            cpus: cpus.into_iter().map(|(group, index)| CpuId { group, index }).collect(),
            cpu_order,
            tuning,
            duration_s: numbers[0],
            warm_up_s: numbers[1],
            cool_down_s: numbers[2],
            thread_count: numbers[3],
            request_count: numbers[4],
            random_seed: numbers[5],
            stop: rules.0,
            faults: rules.1,
            interval_ms,
            targets,
        }
    })
}

fn cpu_order() -> impl Strategy<Value = CpuOrder> {
    let efficiency = prop_oneof![
        Just(EfficiencyOrder::Unordered),
        Just(EfficiencyOrder::FastFirst),
        Just(EfficiencyOrder::SlowFirst),
        Just(EfficiencyOrder::FillFast),
        Just(EfficiencyOrder::FillSlow),
    ];
    (any::<bool>(), any::<bool>(), option::of(efficiency)).prop_map(
        |(core_first, span_groups, efficiency)| CpuOrder { core_first, span_groups, efficiency },
    )
}

fn tuning() -> impl Strategy<Value = Tuning> {
    let batch = prop_oneof![
        (1_u32..=65_536).prop_map(RingBatch::Ios),
        (1_u32..=100).prop_map(RingBatch::Percent)
    ];
    let ring = (batch, any::<bool>())
        .prop_map(|(batch, registered_buffers)| RingUse { batch, registered_buffers });
    let separation = prop_oneof![
        Just(BufferSeparation::SystemDefault),
        Just(BufferSeparation::PageDirectoryLine)
    ];
    (option::of(ring), option::of(1_u32..=16), option::of(separation)).prop_map(
        |(ring, completion_depth, buffer_separation)| Tuning {
            ring,
            completion_depth,
            buffer_separation,
        },
    )
}

fn tracing() -> impl Strategy<Value = Tracing> {
    any::<[bool; 12]>().prop_map(|on| Tracing {
        process: on[0],
        thread: on[1],
        image_load: on[2],
        disk_io: on[3],
        memory_page_faults: on[4],
        memory_hard_faults: on[5],
        network: on[6],
        registry: on[7],
        paged_memory: on[8],
        clock_monotonic: on[9],
        clock_coarse: on[10],
        clock_cycles: on[11],
    })
}

fn profile() -> impl Strategy<Value = Profile> {
    let event = || option::of("[a-zA-Z0-9_&<>?-]{1,8}");
    let events = (event(), event(), event(), event());
    let precreate = prop_oneof![
        Just(Precreate::None),
        Just(Precreate::UseMaxSize),
        Just(Precreate::OnlyConstantSizes),
        Just(Precreate::OnlyConstantOrZeroSizes)
    ];
    let format =
        prop_oneof![Just(ResultFormat::Text), Just(ResultFormat::Xml), Just(ResultFormat::Json)];
    let parts = (
        any::<[u32; 2]>(),
        any::<[bool; 2]>(),
        format,
        precreate,
        option::of(tracing()),
        events,
        vec(time_span(), 1..3),
    );
    parts.prop_map(|(numbers, switches, format, precreate, tracing, events, time_spans)| Profile {
        progress_every_ios: numbers[0],
        format,
        verbose: switches[0],
        wait_statistics: switches[1],
        precreate,
        tracing,
        events: NamedEvents { start: events.0, finish: events.1, wait: events.2, stop: events.3 },
        experiment_flags: numbers[1],
        time_spans,
    })
}

fn ask(args: &[String], file: &str) -> Option<Profile> {
    let outside = Outside { read_file: &|_| Ok(file.as_bytes().to_vec()), fresh_seed: 1 };
    match parse(args, &outside) {
        Ok(Invocation::Run(command)) => Some(command.job.request.profile),
        _ => None,
    }
}

fn words(line: &[&str]) -> Vec<String> {
    line.iter().map(|&word| word.to_owned()).collect()
}

/// An option as somebody might type it: an example of the table, perhaps with other digits.
fn option_like() -> impl Strategy<Value = String> {
    let examples: Vec<&str> = flags::all()
        .filter(|flag| !["X", "ye", "?", "-help", "-version", "-list"].contains(&flag.name))
        .map(|flag| flag.example)
        .collect();
    (proptest::sample::select(examples), "[0-9]{0,3}[KMGTbi]?")
        .prop_map(|(example, tail)| format!("{example}{tail}"))
}

fn run_options() -> impl Strategy<Value = RunOptions> {
    let engine = prop_oneof![
        Just(EngineChoice::Uring),
        Just(EngineChoice::Aio),
        Just(EngineChoice::Sync),
        Just(EngineChoice::Mapped),
        Just(EngineChoice::Null)
    ];
    let skew = prop_oneof![
        any::<u32>().prop_map(|theta_milli| Skew::Zipf { theta_milli }),
        any::<u32>().prop_map(|h_milli| Skew::Pareto { h_milli }),
        any::<u32>().prop_map(|deviation_milli| Skew::Normal { deviation_milli })
    ];
    let thread = option::of(any::<u32>()).prop_map(|cpu| SubmissionThread { cpu });
    let arrivals = prop_oneof![Just(Arrivals::Constant), Just(Arrivals::Poisson)];
    let parts = (
        any::<[bool; 4]>(),
        option::of(engine),
        option::of(any::<u64>()),
        arrivals,
        option::of(skew),
        option::of(name()),
        option::of(thread),
        option::of(any::<u32>()),
    );
    parts.prop_map(|(on, engine, total_iops, arrivals, skew, journal, thread, connections)| {
        RunOptions {
            engine,
            remove_created: on[0],
            interval_latency: on[1],
            total_iops,
            arrivals,
            skew,
            verify: on[2],
            verify_journal: journal.map(Into::into),
            polled: on[3],
            submission_thread: thread,
            connections,
        }
    })
}

pub fn request() -> impl Strategy<Value = Request> {
    (profile(), run_options()).prop_map(|(profile, options)| Request::new(profile, options))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_request_is_the_same_in_json_and_in_the_result_of_its_run(request in request()) {
        let read = json::read_request(&json::write_request(&request));
        prop_assert_eq!(read.map_err(|error| error.to_string()), Ok(request.clone()));
        let mut result = crate::results::result(&[]);
        result.request = request.clone();
        let read = json::read(&json::write(&result)).map(|result| result.request);
        prop_assert_eq!(read.map_err(|error| error.to_string()), Ok(request));
    }

    #[test]
    fn a_profile_that_is_written_is_read_back(profile in profile()) {
        let xml = write(&profile);
        prop_assert_eq!(read(&xml).map_err(|error| format!("{error}\n{xml}")), Ok(profile));
    }

    #[test]
    fn the_xml_of_any_command_line_gives_the_same_profile(
        options in vec(option_like(), 0..8),
        paths in vec(name(), 1..3),
    ) {
        let mut args = words(&["-Rpxml"]);
        args.extend(options);
        args.extend(paths.into_iter().filter(|path| !path.starts_with('-')));
        if let Some(profile) = ask(&args, "") {
            let again = ask(&words(&["-Rpxml", "-Xp.xml"]), &write(&profile));
            prop_assert_eq!(again, Some(profile), "{:?}", args);
        }
    }

    #[test]
    fn no_command_line_makes_the_parser_panic(args in vec(".{0,12}", 0..6)) {
        ask(&args, "<Profile/>");
    }

    #[test]
    fn no_option_makes_the_parser_panic(
        letter in "-[a-zA-Z:?]",
        rest in "[a-z0-9,:/.+-]{0,10}",
    ) {
        ask(&[format!("{letter}{rest}"), "t.dat".to_owned()], "");
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in ".{0,200}") {
        drop(read(&text));
    }

    #[test]
    fn no_damage_to_a_profile_makes_the_reader_panic(
        profile in profile(),
        cut in any::<prop::sample::Index>(),
        insert in "[<>/&\"a0]{0,3}",
    ) {
        let xml = write(&profile);
        let mut at = cut.index(xml.len());
        while !xml.is_char_boundary(at) {
            at -= 1;
        }
        drop(read(&format!("{}{insert}{}", &xml[..at], &xml[at..])));
        drop(read(&xml[..at]));
    }
}

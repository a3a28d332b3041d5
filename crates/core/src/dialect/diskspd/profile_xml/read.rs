//! XML becomes a profile. Every element of `DiskSpd`'s schema is known; everything else is refused by
//! line and name. Document type declarations are refused, so that no entity can expand.

use std::io::{self, Read};
use std::path::Path;

use roxmltree::{Document, Node, ParsingOptions};
use thiserror::Error;

use super::super::{faults, stop};
use super::fields::{
    FieldError, boolean, children, error, number, repeated_children, text, unknown,
};
use super::target::read_target;
use super::{INSTRUCTION, attributes, template, tuning};
use crate::request::{
    FaultPolicy, NamedEvents, Precreate, Profile, ResultFormat, StopRules, TimeSpan, Tracing,
};

/// A profile text may have at most this many bytes: a thousand targets take about one mebibyte.
pub const TEXT_LIMIT_BYTES: usize = 64 << 20;
/// A profile may have at most this many nodes.
const NODE_LIMIT: u32 = 4 << 20;

/// Why a profile could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProfileXmlError {
    /// The text is larger than any profile.
    #[error("the profile is larger than 64 MiB, which no profile is")]
    TooLarge,
    /// The text is not well-formed, or declares a document type.
    #[error("line {line}: the profile is not well-formed XML without a document type: {reason}")]
    Syntax {
        /// Line in the text, from 1.
        line: u32,
        /// What is wrong, in the parser's words.
        reason: String,
    },
    /// An element is unknown, ill-typed, missing or out of range.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// Targets were given for templates that the profile lacks: number and name of each.
    #[error("{}", .0.iter().map(unused_substitute).collect::<Vec<_>>().join("; "))]
    Unused(Vec<(usize, String)>),
}

fn unused_substitute((number, name): &(usize, String)) -> String {
    format!("has no target *{number}, so that '{name}' would not be used")
}

/// The bytes of a profile file, and of one that is larger than any profile no more than shows that it is.
///
/// # Errors
/// Those of opening and reading the file.
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = TEXT_LIMIT_BYTES as u64 + 1;
    std::fs::File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a profile; what it leaves out takes `DiskSpd`'s default.
///
/// # Errors
/// The first thing that is wrong, with its line and element.
pub fn read(xml: &str) -> Result<Profile, ProfileXmlError> {
    read_with(xml, &[])
}

/// The same, with targets in place of the templates `*1`, `*2`, ...; without any, templates stay.
///
/// # Errors
/// The first thing that is wrong, with its line and element; and all targets that no template requested.
pub fn read_with(xml: &str, substitutes: &[String]) -> Result<Profile, ProfileXmlError> {
    if xml.len() > TEXT_LIMIT_BYTES {
        return Err(ProfileXmlError::TooLarge);
    }
    let xml = xml.strip_prefix('\u{feff}').unwrap_or(xml);
    let options =
        ParsingOptions { allow_dtd: false, nodes_limit: NODE_LIMIT, ..ParsingOptions::default() };
    let document = Document::parse_with_options(xml, options).map_err(|error| {
        ProfileXmlError::Syntax { line: error.pos().row, reason: error.to_string() }
    })?;
    let root = document.root_element();
    if root.tag_name().name() != "Profile" {
        return Err(error(root, "is the root element; it must be <Profile>").into());
    }
    attributes::check(root)?;
    let mut profile = read_profile(root, substitutes.len())?;
    let unused = template::substitute(&mut profile, substitutes);
    if unused.is_empty() { Ok(profile) } else { Err(ProfileXmlError::Unused(unused)) }
}

fn read_profile(root: Node<'_, '_>, substitutes: usize) -> Result<Profile, FieldError> {
    let mut profile = Profile { events: read_events(root), ..Profile::default() };
    profile.time_spans.clear();
    for child in children(root)? {
        match child.tag_name().name() {
            "Progress" => profile.progress_every_ios = number(child)?,
            "ExperimentFlags" => profile.experiment_flags = number(child)?,
            "ResultFormat" => profile.format = read_format(child)?,
            "Verbose" => profile.verbose = boolean(child)?,
            "VerboseStats" => profile.wait_statistics = boolean(child)?,
            "PrecreateFiles" => profile.precreate = read_precreate(child)?,
            "ETW" => profile.tracing = Some(read_tracing(child)?),
            "TimeSpans" => {
                for span in repeated_children(child)? {
                    if span.tag_name().name() != "TimeSpan" {
                        return Err(unknown(span, "TimeSpans"));
                    }
                    profile.time_spans.push(read_time_span(span, substitutes)?);
                }
            }
            _ => return Err(unknown(child, "Profile")),
        }
    }
    if profile.time_spans.is_empty() {
        return Err(error(root, "has no <TimeSpan> inside <TimeSpans>"));
    }
    Ok(profile)
}

fn read_format(node: Node<'_, '_>) -> Result<ResultFormat, FieldError> {
    match text(node)?.trim() {
        "text" => Ok(ResultFormat::Text),
        "xml" => Ok(ResultFormat::Xml),
        "json" => Ok(ResultFormat::Json),
        _ => Err(error(node, "must be text, xml or json")),
    }
}

fn read_precreate(node: Node<'_, '_>) -> Result<Precreate, FieldError> {
    match text(node)?.trim() {
        "UseMaxSize" => Ok(Precreate::UseMaxSize),
        "CreateOnlyFilesWithConstantSizes" => Ok(Precreate::OnlyConstantSizes),
        "CreateOnlyFilesWithConstantOrZeroSizes" => Ok(Precreate::OnlyConstantOrZeroSizes),
        _ => Err(error(
            node,
            "must be UseMaxSize, CreateOnlyFilesWithConstantSizes or \
             CreateOnlyFilesWithConstantOrZeroSizes",
        )),
    }
}

fn read_tracing(node: Node<'_, '_>) -> Result<Tracing, FieldError> {
    let mut tracing = Tracing::default();
    for child in children(node)? {
        let field = match child.tag_name().name() {
            "Process" => &mut tracing.process,
            "Thread" => &mut tracing.thread,
            "ImageLoad" => &mut tracing.image_load,
            "DiskIO" => &mut tracing.disk_io,
            "MemoryPageFaults" => &mut tracing.memory_page_faults,
            "MemoryHardFaults" => &mut tracing.memory_hard_faults,
            "Network" => &mut tracing.network,
            "Registry" => &mut tracing.registry,
            "UsePagedMemory" => &mut tracing.paged_memory,
            "UsePerfTimer" => &mut tracing.clock_monotonic,
            "UseSystemTimer" => &mut tracing.clock_coarse,
            "UseCyclesCounter" => &mut tracing.clock_cycles,
            _ => return Err(unknown(child, "ETW")),
        };
        *field = boolean(child)?;
    }
    Ok(tracing)
}

/// Named events, which `DiskSpd`'s schema has no element for, come in processing instructions.
fn read_events(root: Node<'_, '_>) -> NamedEvents {
    let mut events = NamedEvents::default();
    for instruction in root.children().filter_map(|child| child.pi()) {
        if instruction.target != INSTRUCTION {
            continue;
        }
        let (kind, name) =
            instruction.value.unwrap_or_default().split_once(' ').unwrap_or_default();
        let name = Some(unescape(name));
        match kind {
            "event-start" => events.start = name,
            "event-finish" => events.finish = name,
            "event-wait" => events.wait = name,
            "event-stop" => events.stop = name,
            _ => {}
        }
    }
    events
}

/// Undoes the escaping of a name, which a reader leaves alone inside a processing instruction.
fn unescape(name: &str) -> String {
    let mut parts = name.split('&');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let referred = part.split_once(';').and_then(|(name, rest)| Some((character(name)?, rest)));
        match referred {
            Some((character, rest)) => plain.extend([character.to_string().as_str(), rest]),
            None => plain.extend(["&", part]),
        }
    }
    plain
}

/// The character that a reference tells.
fn character(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "amp" => Some('&'),
        _ => name.strip_prefix('#')?.parse().ok().and_then(char::from_u32),
    }
}

fn read_time_span(node: Node<'_, '_>, substitutes: usize) -> Result<TimeSpan, FieldError> {
    let mut span =
        TimeSpan { stop: read_stop(node)?, faults: read_faults(node)?, ..TimeSpan::default() };
    let mut fresh_random = false;
    for child in children(node)? {
        match child.tag_name().name() {
            "CompletionRoutines" => span.alternate_completion = boolean(child)?,
            "MeasureLatency" => span.measure_latency = boolean(child)?,
            "CalculateIopsStdDev" => span.interval_series = boolean(child)?,
            "DisableAffinity" => span.disable_affinity = boolean(child)?,
            // Round robin over all groups is the default, so that the old element changes nothing.
            "GroupAffinity" => drop(boolean(child)?),
            "Duration" => span.duration_s = number(child)?,
            "Warmup" => span.warm_up_s = number(child)?,
            "Cooldown" => span.cool_down_s = number(child)?,
            "ThreadCount" => span.thread_count = number(child)?,
            "RequestCount" => span.request_count = number(child)?,
            "IoBucketDuration" => span.interval_ms = number(child)?,
            // What -Zr sets; DiskSpd reads it for the whole time span, and does not write it.
            "RandomWriteData" => fresh_random = boolean(child)?,
            "RandSeed" => span.random_seed = number(child)?,
            "Targets" => {
                for target in repeated_children(child)? {
                    if target.tag_name().name() != "Target" {
                        return Err(unknown(target, "Targets"));
                    }
                    span.targets.push(read_target(target, substitutes)?);
                }
            }
            name if tuning::read(name, child, &mut span)? => {}
            _ => return Err(unknown(child, "TimeSpan")),
        }
    }
    if span.targets.is_empty() {
        return Err(error(node, "has no <Target> inside <Targets>"));
    }
    for target in &mut span.targets {
        target.write_data.fresh_random |= fresh_random;
    }
    if span.interval_ms == 0 {
        span.interval_ms = 1000;
    }
    Ok(span)
}

/// What is done about faults, which `DiskSpd`'s schema has no element for.
fn read_faults(node: Node<'_, '_>) -> Result<FaultPolicy, FieldError> {
    let mut policy = FaultPolicy::default();
    for instruction in node.children().filter_map(|child| child.pi()) {
        if instruction.target == INSTRUCTION {
            let words = instruction.value.unwrap_or_default().trim_end();
            let (name, value) = words.split_once(' ').unwrap_or((words, ""));
            faults::enter(&mut policy, name, value)
                .map_err(|reason| error(node, format!("has a wrong '{words}': {reason}")))?;
        }
    }
    Ok(policy)
}

/// Rules that end the measured time, which `DiskSpd`'s schema has no element for.
fn read_stop(node: Node<'_, '_>) -> Result<StopRules, FieldError> {
    let mut rules = StopRules::default();
    for instruction in node.children().filter_map(|child| child.pi()) {
        let words = instruction.value.unwrap_or_default().trim_end();
        let Some(rule) = words.strip_prefix("stop-").filter(|_| instruction.target == INSTRUCTION)
        else {
            continue;
        };
        let (name, value) = rule.split_once(' ').unwrap_or((rule, ""));
        stop::enter(&mut rules, name, value, 1)
            .map_err(|reason| error(node, format!("has a wrong stop rule '{words}': {reason}")))?;
    }
    Ok(rules)
}

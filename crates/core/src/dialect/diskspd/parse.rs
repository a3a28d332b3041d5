//! The command line becomes a request, in two passes as in `DiskSpd`: options that others depend on
//! first. Nothing here touches the machine; a profile file is read through the caller.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::draft::{Draft, Instead};
use super::flags::{self, Flag};
use super::profile_xml::{self, SpanLines, template};
use super::validate::{self, Place};
use crate::request::{Job, Profile, Request, ResultFormat, VerifyRequest};
use crate::shown::without_secrets;

/// What a command line asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Invocation {
    /// Nothing: there are no arguments. The usage helps, and the exit code says that nothing was done.
    Nothing,
    /// The usage.
    Usage,
    /// The version.
    Version,
    /// The disks of this machine.
    ListDisks,
    /// What slows a measurement on this machine.
    Doctor(DoctorRequest),
    /// What the host is, in this form.
    ShowSystem(ResultFormat),
    /// To signal a named event.
    SignalEvent(String),
    /// To verify what an earlier run has left.
    VerifyOnly(Box<VerifyRequest>),
    /// A run, or only a look at its profile.
    Run(Box<RunCommand>),
}

/// An examination of the machine that was requested.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DoctorRequest {
    /// Whose disks to look at; all disks if there is none.
    pub targets: Vec<String>,
    /// The form in which it is reported.
    pub format: ResultFormat,
    /// It also goes to this file, as JSON.
    pub json_file: Option<PathBuf>,
}

/// A run that was requested, or a look at it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunCommand {
    /// What to run, and what is typed for this run alone.
    pub job: Job,
    /// What to do with it.
    pub act: Act,
    /// What is doubtful about it, as sentences.
    pub warnings: Vec<String>,
}

/// What to do with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Run it.
    Run,
    /// Show its profile.
    ShowProfile,
    /// Explain what it would do.
    Explain,
}

/// Why a command line was refused: one sentence per line.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", .errors.join("\n"))]
pub struct ParseError {
    /// What is wrong.
    pub errors: Vec<String>,
    /// What is doubtful besides.
    pub warnings: Vec<String>,
}

impl From<String> for ParseError {
    fn from(error: String) -> Self {
        Self { errors: vec![error], warnings: Vec::new() }
    }
}

/// One argument that begins with a dash, matched with the table.
struct Switch<'a> {
    argument: &'a str,
    flag: &'static Flag,
    value: &'a str,
}

impl Switch<'_> {
    /// Whether it needs a value, has none, and what follows it looks like one.
    fn lacks(&self, next: &str) -> bool {
        let needs = self.flag.form.starts_with(&format!("-{}<", self.flag.name));
        needs && self.value.is_empty() && next.starts_with(|first: char| first.is_ascii_digit())
    }

    fn apply(&self, draft: &mut Draft) -> Result<(), ParseError> {
        (self.flag.apply)(draft, self.value)
            .map_err(|reason| format!("invalid option '{}': {reason}", self.argument).into())
    }
}

/// What parsing needs from outside, handed in so that parsing itself touches no machine.
#[derive(Clone, Copy)]
pub struct Outside<'a> {
    /// Gives the contents of a profile file.
    pub read_file: &'a dyn Fn(&Path) -> io::Result<Vec<u8>>,
    /// The seed for `-z` alone, which differs from run to run.
    pub fresh_seed: u32,
}

/// Reads a command line without the program's name.
///
/// # Errors
/// Everything that is wrong with it, in words.
pub fn parse(args: &[String], outside: &Outside<'_>) -> Result<Invocation, ParseError> {
    if args.is_empty() {
        return Ok(Invocation::Nothing);
    }
    let (switches, targets) = split(args)?;
    let targets = targets.as_slice();
    let mut draft = Draft { fresh_seed: outside.fresh_seed, ..Draft::default() };
    let options = first_pass(&switches, &mut draft)?;
    second_pass(&options, &mut draft)?;
    if let Some(instead) = draft.instead {
        return Ok(match instead {
            Instead::Usage => Invocation::Usage,
            Instead::Version => Invocation::Version,
            Instead::Disks => {
                nothing_beside("--list", &["-list"], &options, &draft)?;
                Invocation::ListDisks
            }
            Instead::Doctor => Invocation::Doctor(doctor(draft, &options, targets)?),
            Instead::System(_) if args.len() > 1 => {
                return Err("-Rs must be the only parameter".to_owned().into());
            }
            Instead::System(format) => Invocation::ShowSystem(format),
        });
    }
    if let Some(event) = draft.signal_event {
        return Ok(Invocation::SignalEvent(event));
    }
    let command_line = std::iter::once("diskspd").chain(args.iter().map(String::as_str));
    let command_line = without_secrets(&command_line.collect::<Vec<_>>().join(" ")).into_owned();
    if let Some(journal) = &draft.verify_only {
        let (journal, targets) = (journal.into(), targets.to_vec());
        let format = only_shown(&options, &draft)?;
        let json_file = draft.job.json_file.clone();
        let request = VerifyRequest {
            command_line,
            journal,
            targets,
            format,
            credentials: draft.job.credentials.clone(),
            json_file,
            faults: draft.overrides.faults,
        };
        return Ok(Invocation::VerifyOnly(Box::new(request)));
    }
    finish(draft, targets, command_line, outside)
}

fn doctor(
    draft: Draft,
    options: &[Result<Switch<'_>, ParseError>],
    targets: &[String],
) -> Result<DoctorRequest, ParseError> {
    nothing_beside("--doctor", &["R", "-json", "-doctor"], options, &draft)?;
    let format = draft.overrides.format.unwrap_or_default();
    if format == ResultFormat::Xml {
        return Err("--doctor has no XML form: use -Rjson".to_owned().into());
    }
    Ok(DoctorRequest { targets: targets.to_vec(), format, json_file: draft.job.json_file })
}

/// The form of a verification's result; every option that does not say how to show it is refused.
fn only_shown(
    options: &[Result<Switch<'_>, ParseError>],
    draft: &Draft,
) -> Result<ResultFormat, ParseError> {
    let allowed = ["R", "-json", "-io-timeout", "-credentials", "-verify-only"];
    nothing_beside("--verify-only", &allowed, options, draft)?;
    Ok(draft.overrides.format.unwrap_or(draft.profile.format))
}

/// Refuses what a mode without a run would ignore.
fn nothing_beside(
    mode: &str,
    allowed: &[&str],
    options: &[Result<Switch<'_>, ParseError>],
    draft: &Draft,
) -> Result<(), ParseError> {
    let others = options.iter().flatten();
    let other = others
        .filter(|option| !allowed.contains(&option.flag.name))
        .map(|option| option.argument)
        .chain(draft.profile_only.then_some("-Rp"))
        .next();
    other.map_or(Ok(()), |other| Err(format!("'{other}' cannot be used with {mode}").into()))
}

/// All options come before the first target, and before `--`, behind which all are targets. `/` never begins
/// an option, because it begins paths.
fn split(args: &[String]) -> Result<(Vec<&str>, Vec<String>), ParseError> {
    let end = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
    let (args, behind) = args.split_at(end);
    let first_target = args.iter().position(|arg| !arg.starts_with('-')).unwrap_or(args.len());
    let (switches, targets) = args.split_at(first_target);
    if let Some(late) = targets.iter().find(|arg| arg.starts_with('-')) {
        return Err(too_late(late, switches.last(), &targets[0]));
    }
    let targets = targets.iter().chain(behind.iter().skip(1)).cloned().collect();
    Ok((switches.iter().map(String::as_str).collect(), targets))
}

/// An option behind a target. What was taken for the target may be the value of the option before it.
fn too_late(late: &str, before: Option<&String>, target: &str) -> ParseError {
    let error = format!("option '{late}' must come before the targets, as '{target}' is one");
    match before.map(|before| recognise(before)) {
        Some(Err(wrong)) => wrong,
        Some(Ok(option)) if option.lacks(target) => {
            format!("{error}; a value stands beside its option: {}{target}", option.argument).into()
        }
        _ => error.into(),
    }
}

/// Reads the options that others depend on. What is unknown is left for the second pass to tell.
fn first_pass<'a>(
    switches: &[&'a str],
    draft: &mut Draft,
) -> Result<Vec<Result<Switch<'a>, ParseError>>, ParseError> {
    let mut options = Vec::with_capacity(switches.len());
    for &argument in switches {
        let option = recognise(argument);
        if let Ok(option) = &option
            && option.flag.first_pass
        {
            option.apply(draft)?;
        }
        options.push(option);
    }
    if draft.profile_file.is_some() && draft.seen.block {
        return Err("-b cannot be used with a profile file (-X)".to_owned().into());
    }
    Ok(options)
}

fn second_pass(
    options: &[Result<Switch<'_>, ParseError>],
    draft: &mut Draft,
) -> Result<(), ParseError> {
    for option in options {
        let option = option.as_ref().map_err(Clone::clone)?;
        if option.flag.first_pass {
            continue;
        }
        let short = !option.flag.name.starts_with('-');
        if draft.profile_file.is_some() && short {
            let error = format!("'{}' cannot be used with a profile file (-X)", option.argument);
            return Err(error.into());
        }
        option.apply(draft)?;
        if ENDS.contains(&option.flag.name) {
            break;
        }
    }
    Ok(())
}

/// Options that are done at once in `DiskSpd`'s second pass, so that it looks at none behind them.
const ENDS: [&str; 4] = ["?", "-help", "-version", "ye"];

fn recognise(argument: &str) -> Result<Switch<'_>, ParseError> {
    let name = argument.strip_prefix('-').unwrap_or(argument);
    if name.starts_with('-') {
        return recognise_long(argument, name);
    }
    match flags::find(name) {
        Some((flag, value)) => Ok(Switch { argument, flag, value }),
        None => Err(format!("unknown option '{argument}'. Try -? for the list").into()),
    }
}

fn recognise_long<'a>(argument: &'a str, name: &'a str) -> Result<Switch<'a>, ParseError> {
    let (name, value) = match name.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (name, None),
    };
    let Some(flag) = flags::find_long(name) else {
        let nearest = flags::all()
            .filter(|flag| flag.name.starts_with('-'))
            .min_by_key(|flag| distance(flag.name, name))
            .map_or("-help", |flag| flag.name);
        let error = format!("unknown option '{argument}'. Is '-{nearest}' meant?");
        return Err(error.into());
    };
    let wants_value = flag.form.contains('=');
    let may_lack_value = flag.form.contains("[=");
    match (wants_value, value) {
        (true, None) if !may_lack_value => {
            Err(format!("'{argument}' needs a value: {}", flag.form).into())
        }
        (false, Some(_)) => Err(format!("'-{name}' takes no value").into()),
        (_, value) => Ok(Switch { argument, flag, value: value.unwrap_or_default() }),
    }
}

/// How many single changes turn one name into another (Levenshtein).
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, from) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &to) in right.iter().enumerate() {
            let change = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

fn finish(
    mut draft: Draft,
    targets: &[String],
    command_line: String,
    outside: &Outside<'_>,
) -> Result<Invocation, ParseError> {
    let overrides = std::mem::take(&mut draft.overrides);
    let act = match (draft.profile_only, draft.explain) {
        (true, _) => Act::ShowProfile,
        (false, true) => Act::Explain,
        (false, false) => Act::Run,
    };
    let explains = draft.explain;
    // A profile says in what form results are written: what is explained is no result.
    let is_xml_typed = overrides.format == Some(ResultFormat::Xml);
    let mut job = std::mem::take(&mut draft.job);
    job.command_line = command_line;
    let (mut profile, source) = match draft.profile_file.clone() {
        Some(path) => {
            let (mut profile, source) = from_file(&path, targets, outside)?;
            for target in profile.time_spans.iter_mut().flat_map(|span| &mut span.targets) {
                target.extensions.override_with(&draft.target.extensions);
            }
            (profile, source)
        }
        None if targets.is_empty() => {
            return Err("no target is given: name a file or a device at the end".to_owned().into());
        }
        None => (draft.into_profile(targets), Source::CommandLine),
    };
    overrides.apply_to(&mut profile);
    job.request.profile = profile;
    let warnings = check(&job.request, act, &|span, target| source.place(span, target))?;
    if explains && (act == Act::ShowProfile || is_xml_typed) {
        let shows = act == Act::ShowProfile;
        let other = if shows { "-Rp, which shows a profile" } else { "-Rxml: use -Rjson" };
        return Err(format!("--explain cannot be used with {other}").into());
    }
    Ok(Invocation::Run(Box::new(RunCommand { job, act, warnings })))
}

/// Checks a request, wherever it comes from; gives what is doubtful about it.
///
/// # Errors
/// Everything that is wrong with it, in words.
pub fn check(request: &Request, act: Act, place: Place<'_>) -> Result<Vec<String>, ParseError> {
    let Request { profile, options, .. } = request;
    let mut findings = validate::check(profile, place);
    validate::check_options(profile, options, &mut findings);
    if !findings.errors.is_empty() {
        return Err(ParseError { errors: findings.errors, warnings: findings.warnings });
    }
    if act != Act::ShowProfile {
        check_runnable(profile)?;
    }
    Ok(findings.warnings)
}

/// Where a profile comes from.
enum Source {
    CommandLine,
    File { path: String, lines: Vec<SpanLines> },
}

impl Source {
    /// The head of an error about a time span or one of its targets.
    fn place(&self, span: usize, target: Option<usize>) -> String {
        let Self::File { path, lines } = self else { return String::new() };
        let line = lines.get(span).and_then(|lines| match target {
            Some(target) => lines.targets.get(target).copied(),
            None => Some(lines.span),
        });
        let line = line.map_or_else(String::new, |line| format!("line {line}: "));
        format!("profile '{path}': {line}")
    }
}

fn from_file(
    path: &str,
    substitutes: &[String],
    outside: &Outside<'_>,
) -> Result<(Profile, Source), ParseError> {
    let cannot = |reason: String| ParseError::from(format!("profile '{path}': {reason}"));
    let bytes = (outside.read_file)(Path::new(path)).map_err(|error| cannot(error.to_string()))?;
    let xml = profile_xml::decode(bytes).map_err(cannot)?;
    let profile =
        profile_xml::read_with(&xml, substitutes).map_err(|error| cannot(error.to_string()))?;
    let source = Source::File { path: path.to_owned(), lines: profile_xml::lines(&xml) };
    Ok((profile, source))
}

/// Names of targets that can be shown in a profile but never be run here.
fn check_runnable(profile: &Profile) -> Result<(), ParseError> {
    let mut errors = Vec::new();
    for target in profile.time_spans.iter().flat_map(|span| &span.targets) {
        let path = target.path.as_str();
        if path.is_empty() {
            errors.push("a target has an empty name".to_owned());
        } else if template::is_template(path) {
            errors.push(format!(
                "template target '{path}' was not substituted: name a file or a device for it, or \
                 './{path}' if that is its name"
            ));
        } else if let Some((what, remedy)) = target.path.obstacle() {
            errors.push(format!("the target '{path}' {what}; {remedy}"));
        }
    }
    errors.dedup();
    if errors.is_empty() { Ok(()) } else { Err(ParseError { errors, warnings: Vec::new() }) }
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use super::*;

    fn parsed(args: &[&str]) -> Result<Invocation, ParseError> {
        let missing = |_: &Path| Err(Error::from(ErrorKind::NotFound));
        let args: Vec<_> = args.iter().map(|&arg| arg.to_owned()).collect();
        parse(&args, &Outside { read_file: &missing, fresh_seed: 1 })
    }

    /// Those that ask for something else than a run; the first of them is done.
    const OTHER_MODES: [&str; 7] =
        ["?", "-help", "-version", "-list", "-doctor", "-verify-only", "ye"];

    #[test]
    fn no_option_is_ignored_beside_a_mode_without_a_run() {
        let modes: [(&str, &[&str]); 3] = [
            ("--verify-only=x.journal", &["R", "-json", "-io-timeout", "-credentials"]),
            // Of -R, its example is XML, which a diagnosis has not.
            ("--doctor", &["-json"]),
            ("--list", &[]),
        ];
        for (mode, taken) in modes {
            let mut tried = 0;
            for flag in flags::all().filter(|flag| !OTHER_MODES.contains(&flag.name)) {
                let Some(example) = flag.example.split_whitespace().next() else { continue };
                // What is no option of a line by itself is refused for that, or asks for a host.
                if !example.starts_with('-') || example.starts_with("-Rs") || example == "-R" {
                    continue;
                }
                tried += 1;
                let found = parsed(&[mode, example]);
                let is_taken = taken.contains(&flag.name) && !example.starts_with("-Rp");
                assert_eq!(found.is_ok(), is_taken, "{mode} {example}: {found:?}");
            }
            assert!(tried > 50, "{mode}: {tried} options were tried");
        }
    }

    #[test]
    fn a_lease_beside_a_verification_is_refused_by_its_name() {
        let error = parsed(&["--lease=10", "--verify-only=x.journal"]).unwrap_err();
        assert_eq!(error.errors, ["'--lease=10' cannot be used with --verify-only"]);
    }

    #[test]
    fn the_first_option_that_acts_decides_unless_the_first_pass_fails() {
        for acts in ["-?", "--help"] {
            assert_eq!(parsed(&[acts, "-w101"]), Ok(Invocation::Usage), "{acts}");
            assert_eq!(parsed(&[acts, "-qqq", "t.dat"]), Ok(Invocation::Usage), "{acts}");
        }
        assert_eq!(parsed(&["--version", "-o0"]), Ok(Invocation::Version));
        assert_eq!(parsed(&["-yego", "-?"]), Ok(Invocation::SignalEvent("go".to_owned())));
        assert_eq!(parsed(&["-?", "-yego"]), Ok(Invocation::Usage));
        for (wrong, words) in [(["-w101", "-?"], "-w101"), (["-?", "-d-1"], "-d-1")] {
            let error = parsed(&wrong).unwrap_err().to_string();
            assert!(error.contains(words), "{wrong:?}: {error}");
        }
    }

    #[test]
    fn a_dash_behind_a_target_was_another_target() {
        let error = parsed(&["-Rpxml", "t.dat", "-"]).unwrap_err().to_string();
        assert_eq!(error, "option '-' must come before the targets, as 't.dat' is one");
        // Behind two dashes all are targets.
        assert!(parsed(&["-Rpxml", "--", "t.dat", "-"]).is_ok());
    }

    /// `-d 10 -b4K` was answered with "option '-b4K' must come before the targets".
    #[test]
    fn a_value_apart_from_its_option_was_a_target_without_a_word() {
        let told = |args: &[&str]| parsed(args).unwrap_err().to_string();
        let apart = told(&["-d", "10", "-b4K", "t.dat"]);
        assert!(
            apart.ends_with("as '10' is one; a value stands beside its option: -d10"),
            "{apart}"
        );
        assert!(told(&["--rate", "10", "-b4K", "t.dat"]).starts_with("'--rate' needs a value"));
        assert!(told(&["--time", "10", "-b4K", "t.dat"]).starts_with("unknown option '--time'"));
        assert!(told(&["-L", "t.dat", "-b4K"]).ends_with("as 't.dat' is one"));
    }
}

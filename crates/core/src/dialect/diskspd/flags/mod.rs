//! The command line as a table: one entry per option. The parser, the usage, the manual page and the
//! reference page all come from it.

mod access;
mod apply;
mod caching;
mod faults;
mod long;
mod mix;
mod run;
mod stop;
mod tuning;

use super::draft::Draft;
use crate::request::RunOptions;

/// One option.
#[derive(Clone, Copy)]
pub struct Flag {
    /// What follows the dash; options that begin alike are tried in the order of the table.
    pub name: &'static str,
    /// How it is written, as `-b<size>[K|M|G|T]`.
    pub form: &'static str,
    /// Where it stands in the usage.
    pub category: Category,
    /// Unit of its value; `none` for a switch.
    pub unit: &'static str,
    /// What holds without it.
    pub default: &'static str,
    /// What it is allowed to be, and what it excludes.
    pub limits: &'static str,
    /// One line for the usage.
    pub short: &'static str,
    /// What it does, in full.
    pub long: &'static str,
    /// How this system does what the option meant on Windows; empty where nothing differs.
    pub here: &'static str,
    /// Where `DiskSpd`'s own behaviour is a defect that is not copied; empty where there is none.
    pub deviation: &'static str,
    /// Whether the option is read in the first pass, before all others.
    pub first_pass: bool,
    /// Whether it lets data be destroyed: then a person types it, for one run.
    pub is_permission: bool,
    /// Whether it is of one run and no part of the request, as a place for the result is.
    pub is_for_one_run: bool,
    /// An example that parses.
    pub example: &'static str,
    /// Enters the option's value into the draft.
    pub apply: fn(&mut Draft, &str) -> Result<(), String>,
    /// How the option is written for settings of a run, if they have what it sets; nothing for all others.
    pub written: fn(&RunOptions) -> Option<String>,
}

/// Chapters of the usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    /// Size, place and order of I/O.
    Access,
    /// Caches, hints and buffers.
    Caching,
    /// Threads, rates, times.
    Load,
    /// What is shown.
    Output,
    /// What ends the measured time before its duration.
    Stop,
    /// What is done about faults.
    Faults,
    /// Other processes and the kernel.
    System,
    /// Options that `DiskSpd` lacks.
    Beyond,
}

impl Category {
    /// The chapter's title.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Access => "Size, place and order of I/O",
            Self::Caching => "Caches, hints and buffers",
            Self::Load => "Threads, rates and times",
            Self::Output => "Output",
            Self::Stop => "End of the measured time",
            Self::Faults => "Faults",
            Self::System => "Events and tracing",
            Self::Beyond => "Beyond DiskSpd",
        }
    }
}

/// Fields that most entries leave as they are.
const PLAIN: Flag = Flag {
    name: "",
    form: "",
    category: Category::Access,
    unit: "none",
    default: "off",
    limits: "",
    short: "",
    long: "",
    here: "",
    deviation: "",
    first_pass: false,
    is_permission: false,
    is_for_one_run: false,
    example: "",
    apply: |_, _| Ok(()),
    written: |_| None,
};

/// What all counts have in common.
const JUNK: &str = "DiskSpd lets characters behind the number pass; they are an error here.";

/// Every option, in the order of the usage.
pub fn all() -> impl Iterator<Item = &'static Flag> {
    let tables = [
        access::FLAGS,
        caching::FLAGS,
        run::LOAD,
        tuning::FLAGS,
        run::OUTPUT,
        stop::FLAGS,
        faults::FLAGS,
        run::SYSTEM,
        long::FLAGS,
        mix::FLAGS,
        tuning::LONG,
    ];
    tables.into_iter().flatten()
}

/// The options that stand for the settings of a run, as somebody would type them.
#[must_use]
pub fn option_words(options: &RunOptions) -> Vec<String> {
    all().filter_map(|flag| (flag.written)(options)).collect()
}

/// The option that an argument without its dash names, and its value: the longest name that fits.
#[must_use]
pub fn find(argument: &str) -> Option<(&'static Flag, &str)> {
    let short = all().filter(|flag| !flag.name.starts_with('-'));
    let fitting = short.filter_map(|flag| Some((flag, argument.strip_prefix(flag.name)?)));
    fitting.max_by_key(|(flag, _)| flag.name.len())
}

/// Whether an argument lets data be destroyed, rightly written or not. A person types such an option for one
/// run, so that no list of arguments that was kept, sent or made may have it.
#[must_use]
pub fn is_permission(argument: &str) -> bool {
    long_of(argument).is_some_and(|flag| flag.is_permission)
}

/// Whether an argument is typed for one run and no part of the request: a permission, a prohibition, or what
/// is done with the result.
#[must_use]
pub fn is_for_one_run(argument: &str) -> bool {
    long_of(argument).is_some_and(|flag| flag.is_permission || flag.is_for_one_run)
}

/// The long option that an argument begins with, rightly written or not.
fn long_of(argument: &str) -> Option<&'static Flag> {
    let name = argument.strip_prefix('-').filter(|name| name.starts_with('-'))?;
    find_long(name.split_once('=').map_or(name, |(name, _)| name))
}

/// The long option that an argument names, `-` and name, without its value.
#[must_use]
pub fn find_long(name: &str) -> Option<&'static Flag> {
    all().find(|flag| flag.name == name)
}

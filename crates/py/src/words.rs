//! What errors say of a request: which option is no part of it, and where in it a setting is wrong.

use fathom_core::dialect::diskspd::parse::Act;
use fathom_core::request::{Job, Permission, Profile};

/// What is typed for one run, and stands beside its request: a sentence for each option, with what takes its
/// place.
pub fn beside_the_request(job: &Job, act: Act) -> Vec<String> {
    let Job {
        request: _,
        command_line: _,
        permission,
        credentials,
        json_file,
        live,
        live_as_json: _,
        is_lent: _,
        lease_s,
    } = job;
    let Permission { overwrite, allow_write, protect, strict, stores: _ } = permission;
    let given = [
        (*overwrite, "--overwrite", "give overwrite=True to run"),
        (!allow_write.is_empty(), "--allow-write", "give allow_write= to run"),
        (!protect.is_empty(), "--protect", "give protect= to run"),
        (*strict, "--strict", "give strict=True to run"),
        (credentials.is_some(), "--credentials", "name the file in FATHOM_CREDENTIALS"),
        (json_file.is_some(), "--json", "write Result.raw to a file"),
        (*live, "--live", "give on_event= to run"),
        (lease_s.is_some(), "--lease", "use RunHandle(..., lease_s=10)"),
        (act == Act::Explain, "--explain", "use explain"),
        (act == Act::ShowProfile, "-Rp", "leave it out"),
    ];
    let sentence = |(_, option, instead): (bool, &str, &str)| {
        format!("{option} belongs to one run and is no part of a request: {instead}")
    };
    given.into_iter().filter(|one| one.0).map(sentence).collect()
}

/// The head of an error about a time span or one of its targets, where there are several.
pub fn place_of(profile: &Profile, span: usize, target: Option<usize>) -> String {
    let targets = profile.time_spans.get(span).map_or(&[][..], |span| &span.targets[..]);
    let named = target.and_then(|target| targets.get(target)).filter(|_| targets.len() > 1);
    let number = (profile.time_spans.len() > 1).then(|| format!("time span {}", span + 1));
    let words = number.into_iter().chain(named.map(|target| format!("target '{}'", target.path)));
    let words = words.collect::<Vec<_>>().join(", ");
    if words.is_empty() { words } else { format!("{words}: ") }
}

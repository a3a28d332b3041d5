//! A target over the network: what its server says, against what is requested.

use std::sync::Arc;
use std::time::Duration;

use super::checks::Found;
use super::threads::Use;
use super::{EngineKind, Place, Resolver, facts, kind_of};
use crate::errors::Kind;
use crate::network::{RemoteFacts, RemotePlan};
use crate::plan::TargetKind;
use crate::request::{Caching, EngineChoice, RunOptions, Target, TimeSpan};
use crate::result::WarningKind;
use crate::storage::{self, Facts, Location, Served};

/// More slots than this no client tells apart.
const SLOTS_MAX: u64 = 65_536;

/// What to do where a target could not be looked at. What is missing may be a share or a folder, too.
pub(crate) fn remedy(name: &storage::Target, kind: Kind, is_made: bool) -> &'static str {
    match kind {
        Kind::NotFound if name.is_of_files() && is_made => {
            "correct the address: -c makes the file, and neither shares nor folders"
        }
        Kind::NotFound if name.is_of_files() => {
            "correct the address, or create it with -c<size> or fathom prepare fill, which make a file and \
             no folders"
        }
        Kind::NotFound | Kind::Invalid => "correct the address",
        Kind::Credentials if !name.has_users() => {
            "correct tls-certificates and tls-hostname in the address, or the server's certificate"
        }
        Kind::Credentials => "give the right user and password with --credentials=FILE",
        Kind::Denied if name.has_users() && name.is_of_files() => {
            "give a user who may with --credentials=FILE"
        }
        Kind::Denied => "have the server allow it to this host and user",
        Kind::Busy => "try again when it is free",
        Kind::Unsupported => "have the server allow what is supported, or name another",
        Kind::Protocol => "correct the address, its port above all",
        Kind::Disconnected => {
            "look at the log of the server, which is there and ended the connection, or correct the address"
        }
        Kind::TimedOut => {
            "look whether its server runs and answers, and at the way to it (its log, a firewall), or \
             correct the address"
        }
        _ => "start its server, or correct the address",
    }
}

impl Resolver<'_> {
    /// What a target over the network is, with all that speaks against the request.
    pub(super) fn find_served(
        &mut self,
        remote: &storage::Remote,
        place: Place<'_>,
        made_bytes: Option<u64>,
    ) -> Option<Found> {
        let target = place.target;
        let name = &target.path;
        let is_made = made_bytes.is_some();
        let known = match self.facts.targets.get(name.as_str()) {
            Some(Ok(Facts::Served(known))) => known,
            Some(Err(why)) => {
                let message = format!("the target '{name}' cannot be examined: {why}");
                let remedy = why.remedy.unwrap_or_else(|| remedy(name, why.kind, is_made));
                self.findings.target_is(why.kind, message, remedy);
                return None;
            }
            _ => {
                let message = format!("the target '{name}' cannot be examined");
                self.findings.target(message, "correct the address");
                return None;
            }
        };
        if is_made && !known.is_file {
            let message = format!("the target '{name}' is {} and cannot be created", known.kind);
            self.findings.target(message, "leave -c out to use it as it is");
            return None;
        }
        if known.is_missing && !is_made {
            let message = format!("the target '{name}' does not exist");
            let remedy = if super::files::makes_nothing(target) {
                "-c0 makes no file: give the size that it is to have, for instance -c1G"
            } else {
                "create it with -c<size> or fathom prepare fill, or correct the address"
            };
            self.findings.target_is(Kind::NotFound, message, remedy);
            return None;
        }
        self.check_abilities(target, known, is_made);
        self.check_units(target, known);
        let plan = RemotePlan {
            facts: known.clone(),
            connections: self.options.connections.unwrap_or(1),
            is_unbuffered: target.caching == Caching::Unbuffered,
            timeout: facts::patience(self.profile),
            reconnect: self.reconnect(place),
        };
        Some(Found {
            location: Location::Served(Served { remote: remote.clone(), plan: Arc::new(plan) }),
            kind: TargetKind::Network,
            size_bytes: made_bytes.unwrap_or(known.size_bytes),
            sector_bytes: known.block_bytes_min.max(1),
        })
    }

    /// For how long a connection of this time span is made again.
    fn reconnect(&self, place: Place<'_>) -> Option<Duration> {
        let span = self.profile.time_spans.get(place.span_index)?;
        span.faults.reconnect_s.map(|seconds| Duration::from_secs(seconds.into()))
    }

    /// What the server does not do.
    fn check_abilities(&mut self, target: &Target, known: &RemoteFacts, is_made: bool) {
        let name = &target.path;
        if known.is_read_only && (target.is_changed() || is_made) {
            let message = format!("the server offers '{name}' for reading only");
            let remedy =
                "test reads only, with -w0 and without -c, or have the server offer it for writing";
            self.findings.target_is(Kind::ReadOnly, message, remedy);
        }
        let is_mapped = target.memory_mapped || target.flush.is_some();
        let lacks = [
            (is_mapped, "be mapped into memory", "-Sm and -N"),
            (
                target.write_through && target.is_changed() && !known.can_write_through,
                "bring a single write to stable storage before it answers",
                "-Sw and -Sh",
            ),
            (target.trim_percent() > 0 && !known.can_trim, "trim", "--trim"),
            (
                target.extensions.sync.is_some() && !known.can_flush,
                "bring writes to stable storage",
                "--fsync and --fdatasync",
            ),
        ];
        for (_, what, options) in lacks.into_iter().filter(|(is_wanted, ..)| *is_wanted) {
            let message = format!("'{name}' is {}, which cannot {what}", known.kind);
            let remedy = format!("leave {options} out");
            self.findings.target_is(Kind::Unsupported, message, remedy);
        }
    }

    /// Lengths and places that the server does not take.
    fn check_units(&mut self, target: &Target, known: &RemoteFacts) {
        let (name, unit) = (&target.path, u64::from(known.block_bytes_min.max(1)));
        let largest = target.largest_block_bytes();
        if largest > known.request_bytes_max {
            let message = format!(
                "the block size of '{name}' is {largest} bytes, and its server takes at most {} in one request",
                known.request_bytes_max
            );
            self.findings.target(message, "use smaller blocks (-b)");
        }
        let sizes = target.read_sizes().into_iter().chain(target.write_sizes());
        let sizes = sizes.map(|size| ("block size", u64::from(size.block_bytes)));
        let others = [
            ("block size", u64::from(target.block_bytes)),
            ("base offset", target.base_bytes),
            ("alignment or stride", target.access.align_bytes),
            ("thread stride", target.thread_stride_bytes),
        ];
        for (what, bytes) in others.into_iter().chain(sizes) {
            if bytes % unit != 0 {
                let message = format!(
                    "the {what} of '{name}' is {bytes} bytes, but its server takes multiples of {unit} bytes"
                );
                self.findings.target(message, format!("give a multiple of {unit}"));
            }
        }
    }

    /// Checks once per time span what was requested of all targets over the network; whether there are any.
    pub(super) fn check_network(&mut self, span: &TimeSpan) {
        let mut remotes = span.targets.iter().filter(|target| target.path.remote().is_some());
        let first = remotes.next().filter(|_| !self.is_virtual());
        let Some(first) = first else {
            if self.options.connections.is_some() {
                let evidence = "--connections is for targets over the network, and there is none";
                self.findings.no_effect(evidence, "leave it out");
            }
            return;
        };
        let name = &first.path;
        let unused = [
            (self.options.engine.is_some_and(|it| it != EngineChoice::Null), "--engine"),
            (self.wish_for_ring(span).is_some(), self.wish_for_ring(span).unwrap_or_default()),
            (span.alternate_completion, "-x"),
        ];
        if let Some((_, option)) = unused.into_iter().find(|(is_given, _)| *is_given) {
            let message = format!(
                "{option} chooses a way to this host's kernel, but '{name}' is served by another host"
            );
            self.findings.request(message, format!("leave {option} out"));
        }
        let connections = self.options.connections.unwrap_or(1);
        if connections == 0 || connections > RunOptions::CONNECTIONS_MAX {
            let message = format!("{connections} connections for each thread cannot be made");
            let most = RunOptions::CONNECTIONS_MAX;
            let remedy = format!("ask for 1 to {most} (--connections)");
            self.findings.request(message, remedy);
        }
    }

    /// The engine of a thread with targets over the network; nothing if it has none.
    pub(super) fn network_engine(
        &mut self,
        (span_index, span): (usize, &TimeSpan),
        (thread, uses): (usize, &[Use]),
        outstanding: u64,
    ) -> Option<EngineKind> {
        let choice = self.options.engine.map(kind_of);
        if choice == Some(EngineKind::Null) {
            return None;
        }
        let is_remote = |one: &&Use| span.targets[one.0].path.remote().is_some();
        let remotes = uses.iter().filter(is_remote).count();
        if remotes == 0 {
            return None;
        }
        if remotes < uses.len() {
            let message = format!(
                "thread {thread} has targets over the network and targets of this host at once"
            );
            let remedy = "give them threads of their own, with -t instead of -F";
            self.findings.request(message, remedy);
        }
        if outstanding > SLOTS_MAX {
            let message = format!("thread {thread} has {outstanding} I/Os outstanding");
            let remedy = format!("ask for at most {SLOTS_MAX} on a network, or for more threads");
            self.findings.request(message, remedy);
        }
        for one in uses {
            self.check_window(Place { span_index, target: &span.targets[one.0] }, span);
        }
        Some(EngineKind::Net)
    }

    /// Whether the server lets as many I/Os be outstanding as are requested.
    fn check_window(&mut self, place: Place<'_>, span: &TimeSpan) {
        let target = place.target;
        let Some(known) = self.facts.served(target) else { return };
        let shared =
            (span.thread_count > 0 && span.request_count > 0).then_some(span.request_count);
        let asked = shared.unwrap_or(target.outstanding);
        let connections = self.options.connections.unwrap_or(1).max(1);
        let each = asked.div_ceil(connections);
        if connections > asked && asked > 0 {
            let evidence = format!(
                "each thread has {connections} connections, but only {asked} I/Os outstanding: the others stay idle"
            );
            let remedy = "use no more connections than outstanding I/Os (-o)";
            self.findings.warn(WarningKind::NoEffect, place, evidence, remedy);
        }
        if let Some(most) = known.outstanding_max.filter(|most| *most < each) {
            let evidence = format!(
                "{each} I/Os per connection are to be outstanding, but the server takes {most} at once: the \
                 others wait in this process, and their time counts"
            );
            let remedy = "use more connections (--connections) or threads (-t), or fewer I/Os (-o)";
            self.findings.warn(WarningKind::ServerWindow, place, evidence, remedy);
        }
        if u64::from(connections) * threads(target, span) > 1
            && !known.can_share
            && target.is_changed()
        {
            let evidence =
                "the server does not promise that one connection sees what another has written"
                    .to_owned();
            let remedy = "use one thread and one connection where that matters, as with --verify";
            self.findings.warn(WarningKind::ServerWindow, place, evidence, remedy);
        }
    }
}

fn threads(target: &Target, span: &TimeSpan) -> u64 {
    u64::from(if span.thread_count > 0 { span.thread_count } else { target.threads })
}

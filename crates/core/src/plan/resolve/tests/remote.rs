//! Targets over the network, as a server tells of them.

use super::*;
use crate::errors::{Failure, Kind};
use crate::network::RemoteFacts;
use crate::plan::{EngineKind, TargetKind};
use crate::request::EngineChoice;

const ADDRESS: &str = "nbd://storage/disk";

fn served() -> RemoteFacts {
    RemoteFacts {
        kind: "an NBD export".into(),
        size_bytes: 8 * MIB,
        block_bytes_min: 512,
        request_bytes_max: 1 << 20,
        can_share: true,
        ..RemoteFacts::default()
    }
}

fn serving(facts: RemoteFacts) -> HostFacts {
    let mut host = host();
    host.targets.insert(ADDRESS.into(), Ok(Facts::Served(facts)));
    host
}

fn on_it(change: impl FnOnce(&mut Target)) -> TimeSpan {
    let mut target = named(ADDRESS);
    change(&mut target);
    span(vec![target])
}

#[test]
fn a_thread_with_targets_over_the_network_has_their_engine() {
    let options = RunOptions { connections: Some(2), ..RunOptions::default() };
    let resolved = with(on_it(|one| one.threads = 3), &options, &serving(served()));
    let plan = resolved.expect("a plan").plan.spans.remove(0);
    assert!(plan.threads.iter().all(|one| one.engine == EngineKind::Net && !one.tries_ways));
    let target = &plan.targets[0];
    assert_eq!((target.kind, target.size_bytes), (TargetKind::Network, 8 * MIB));
    assert_eq!(target.location.served().expect("it is served").plan.connections, 2);
}

/// A certificate that nobody vouches for ended with *give the right user and password*, which NBD has not.
#[test]
fn a_server_whose_certificate_was_refused_was_to_get_another_password() {
    let remedy_of = |address: &str| {
        let name = crate::storage::Target::from(address);
        super::super::remote::remedy(&name, Kind::Credentials, false)
    };
    assert!(remedy_of("nbds://storage/disk").contains("tls-certificates"));
    assert!(remedy_of("iscsi://storage/iqn.x:y/1").contains("--credentials=FILE"));
}

/// *check `target_username` ...* was followed by *give the right user and password*.
#[test]
fn a_login_that_failed_had_two_remedies() {
    const LUN: &str = "iscsi://storage/iqn.x:y/1";
    for remedy in [Some("name the same user in both"), None] {
        let why = Failure::new(Kind::Credentials, "nobody is logged in").with_remedy(remedy);
        let mut facts = host();
        facts.targets.insert(LUN.into(), Err(why));
        let (_, told) = error_of(span(vec![named(LUN)]), &facts);
        assert_eq!(told.contains("name the same user in both"), remedy.is_some(), "{told}");
        assert_eq!(told.contains("give the right user and password"), remedy.is_none(), "{told}");
    }
}

#[test]
fn what_the_server_does_not_take_is_told() {
    for (change, words) in [
        ((|one| one.write_percent = 1) as fn(&mut Target), "for reading only"),
        (|one| one.block_bytes = 4096 + 100, "multiples of 512 bytes"),
        (|one| one.block_bytes = 2 << 20, "at most 1048576"),
        (|one| one.create_bytes = Some(MIB), "cannot be created"),
        (|one| one.memory_mapped = true, "mapped into memory"),
    ] {
        let facts = serving(RemoteFacts { is_read_only: true, ..served() });
        assert_says(&error_of(on_it(change), &facts), ErrorClass::Target, &[ADDRESS, words]);
    }
    let through = on_it(|one| (one.write_percent, one.write_through) = (1, true));
    let error = error_of(through, &serving(served()));
    assert_says(&error, ErrorClass::Target, &["stable storage", "leave -Sw and -Sh out"]);
}

#[test]
fn a_way_to_this_hosts_kernel_is_not_chosen_for_it() {
    let options = RunOptions { engine: Some(EngineChoice::Aio), ..RunOptions::default() };
    let errors = with(on_it(|_| {}), &options, &serving(served())).expect_err("an error");
    assert_says(&only(&errors), ErrorClass::Request, &["--engine", "another host"]);
    // The null engine touches nothing of it.
    let options = RunOptions { engine: Some(EngineChoice::Null), ..RunOptions::default() };
    assert!(with(on_it(|_| {}), &options, &host()).is_ok());
}

#[test]
fn more_outstanding_than_the_server_takes_is_told() {
    let kinds = |outstanding, connections| {
        let options = RunOptions { connections: Some(connections), ..RunOptions::default() };
        let facts = serving(RemoteFacts { outstanding_max: Some(32), ..served() });
        let resolved = with(on_it(|one| one.outstanding = outstanding), &options, &facts);
        let warnings = resolved.expect("a plan").warnings;
        warnings.iter().map(|warning| warning.kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(32, 1), []);
    assert_eq!(kinds(33, 1), [WarningKind::ServerWindow]);
    assert_eq!(kinds(64, 2), []);
    assert_eq!(kinds(1, 2), [WarningKind::NoEffect]);
}

#[test]
fn targets_of_this_host_and_of_others_do_not_share_a_thread() {
    let mut both = span(vec![target(), named(ADDRESS)]);
    assert!(with(both.clone(), &RunOptions::default(), &serving(served())).is_ok());
    both.thread_count = 1;
    let error = error_of(both, &serving(served()));
    assert_says(&error, ErrorClass::Request, &["thread 0", "-t instead of -F"]);
}

#[test]
fn a_server_that_does_not_answer_keeps_its_kind() {
    let mut facts = host();
    let why = Failure::new(Kind::Unreachable, "storage:10809: connecting failed");
    facts.targets.insert(ADDRESS.into(), Err(why));
    let errors = with(on_it(|_| {}), &RunOptions::default(), &facts).expect_err("an error");
    assert_eq!(errors.0[0].kind, Kind::Unreachable);
    assert!(errors.to_string().contains("connecting failed"), "{errors}");
}

#[test]
fn a_file_that_is_made_has_its_size_and_one_that_is_missing_is_told() {
    const FILE: &str = "smb://storage/share/file";
    let facts = |is_missing| {
        let mut host = host();
        let file = RemoteFacts { is_file: true, is_missing, size_bytes: 0, ..served() };
        host.targets.insert(FILE.into(), Ok(Facts::Served(file)));
        host
    };
    let made = span(vec![Target { create_bytes: Some(2 * MIB), ..named(FILE) }]);
    for is_missing in [false, true] {
        let resolved = with(made.clone(), &RunOptions::default(), &facts(is_missing));
        let plan = resolved.expect("a plan").plan.spans.remove(0);
        assert_eq!((plan.create.len(), plan.targets[0].size_bytes), (1, 2 * MIB));
    }
    let error = error_of(span(vec![named(FILE)]), &facts(true));
    assert_says(&error, ErrorClass::Target, &[FILE, "does not exist", "-c<size>"]);
}

#[test]
fn what_to_do_about_a_server_fits_what_was_wrong() {
    const FILE: &str = "nfs://storage/export/file";
    for (kind, created, words) in [
        (Kind::NotFound, None, "create it with -c<size> or fathom prepare fill"),
        (Kind::NotFound, Some(MIB), "-c makes the file, and neither shares nor folders"),
        (Kind::Invalid, None, "correct the address"),
        (Kind::Busy, None, "try again when it is free"),
        (Kind::Unreachable, None, "start its server"),
        // One that closes a connection runs.
        (Kind::Disconnected, None, "look at the log of the server"),
        // One that answers after 11 s has been started.
        (Kind::TimedOut, None, "look whether its server runs and answers"),
    ] {
        let mut facts = host();
        facts.targets.insert(FILE.into(), Err(Failure::new(kind, "as the server says")));
        let asked = span(vec![Target { create_bytes: created, ..named(FILE) }]);
        let (_, told) = error_of(asked, &facts);
        assert!(told.contains(words), "{told}");
        assert_eq!(told.contains("start its server"), kind == Kind::Unreachable, "{told}");
    }
    let empty = serving(RemoteFacts { size_bytes: 0, ..served() });
    let error = error_of(on_it(|_| {}), &empty);
    assert_says(&error, ErrorClass::Target, &["is empty", "have its server give it a size"]);
}

/// The advice for an address of SMB or NFS was to make a file with -c, whatever was not found.
#[test]
fn an_unknown_host_was_to_be_made_as_a_file() {
    for (name, created) in [
        ("smb://nohost/share/file", None),
        ("nfs://nohost/export/file", Some(MIB)),
        ("nbd://nohost", None),
    ] {
        let mut facts = host();
        let unknown = Failure::new(Kind::NotFound, "the name could not be resolved");
        let unknown = unknown.with_remedy(Some("correct the host's name in the address"));
        facts.targets.insert(name.into(), Err(unknown));
        let asked = span(vec![Target { create_bytes: created, ..named(name) }]);
        let (_, told) = error_of(asked, &facts);
        assert!(told.contains("correct the host's name in the address"), "{told}");
        assert!(!told.contains("-c"), "{told}");
    }
}

#[test]
fn a_source_of_mount_is_told_how_it_is_named_here() {
    for (name, words) in [
        ("storage:/export/file", "nfs://HOST/EXPORT/FILE"),
        ("//storage/share/file", "smb://HOST/SHARE/FILE"),
        ("/storage/a:/file", "use an account that may"),
    ] {
        let mut facts = host();
        facts.targets.insert(name.into(), Err(Failure::new(Kind::NotFound, "it is not there")));
        assert_says(&error_of(span(vec![named(name)]), &facts), ErrorClass::Target, &[words]);
    }
}

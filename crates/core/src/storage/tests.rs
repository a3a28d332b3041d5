//! The contract, held by both who implement it. No server answers here: what one says is in `tests/remote`.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use fathom_sys::device::{Disk, PathKind};

use super::contract::{Creation, Storage};
use super::{Facts, Location};
use crate::errors::{Failure, Kind};
use crate::guard::fixture::{span, target};
use crate::guard::{self, Checked, Finding};
use crate::network::RemotePlan;
use crate::plan::{FilePlan, Plan, TargetPlan};
use crate::prepare::{Created, Marks};
use crate::request::Permission;
use crate::verify::Origin;

const SIZE_BYTES: u64 = 100_000;
const TIMEOUT: Duration = Duration::from_secs(5);

/// An address of each protocol that nobody answers: port 1 is that of tcpmux (RFC 1078), which is not in use.
fn unanswered() -> [Location; 4] {
    [
        "nbd://127.0.0.1:1/export",
        "iscsi://127.0.0.1:1/iqn.2001-04.com.example:x/1",
        "nfs://127.0.0.1:1/export/t.dat",
        "smb://127.0.0.1:1/share/t.dat",
    ]
    .map(|address| Location::named(address, TIMEOUT))
}

/// What became of a file that is made at a location.
fn made(location: &Location, checked: &mut Checked) -> Result<Created, Failure> {
    let (permission, marks, stop) =
        (Permission::default(), Marks::default(), AtomicBool::default());
    let mut with =
        Creation { permission: &permission, checked, marks: &marks, stop: &stop, sink: &|_| {} };
    let created = location.storage().create(&file(location), &mut with);
    created.map_err(|why| Failure::from(&why))
}

fn file(location: &Location) -> FilePlan {
    FilePlan { location: location.clone(), size_bytes: SIZE_BYTES, ..FilePlan::default() }
}

fn target_at(location: &Location) -> TargetPlan {
    TargetPlan { location: location.clone(), ..target(location.path(), 100) }
}

/// Reads all of it: how much it has.
fn read(storage: &dyn Storage) -> Result<u64, Failure> {
    let (mut source, mut piece, mut bytes) = (storage.open()?, vec![0; 65_536], 0_u64);
    loop {
        match source.read_at(&mut piece, bytes)? {
            0 => return Ok(bytes),
            more => bytes += more as u64,
        }
    }
}

#[test]
fn a_name_leads_to_one_place() {
    let disk = Disk { path: "/dev/sda".into(), ..Disk::default() };
    let leads = |name: &str| {
        Location::of(&name.into(), std::slice::from_ref(&disk), RemotePlan::default())
            .map_err(|why| why.kind)
    };
    assert_eq!(leads("t.dat"), Ok(Location::here("t.dat")));
    assert_eq!(leads("#0"), Ok(Location::here("/dev/sda")));
    assert_eq!(leads("#1"), Err(Kind::NotFound));
    assert_eq!(leads("C:"), Err(Kind::Unsupported));
    let address = "nbd://host/export";
    assert!(leads(address).is_ok_and(|found| found.served().is_some()));
    assert_eq!(Location::named(address, TIMEOUT).path(), Path::new(address));
    for name in ["t.dat", "/dev/sda", "#0", "./nbd://host/export", ""] {
        assert_eq!(Location::named(name, TIMEOUT).local(), Some(Path::new(name)));
    }
}

#[test]
fn a_file_of_this_host_is_made_read_and_removed() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let place = Location::here(home.path().join("t.dat"));
    let (storage, mut checked) = (place.storage(), Checked::default());
    let kind = || match storage.look(true).expect("facts") {
        Facts::Here(facts) => facts.kind,
        Facts::Served(facts) => panic!("it is nobody else's: {facts:?}"),
    };
    assert_eq!((kind(), storage.origin(true)), (PathKind::Missing, None));
    assert_eq!(read(storage).map_err(|why| why.kind), Err(Kind::NotFound));
    assert_eq!(storage.fate(&file(&place)).ok(), Some(Created::Made));
    assert_eq!(made(&place, &mut checked), Ok(Created::Made));
    assert_eq!(kind(), PathKind::File);
    assert_eq!(storage.fate(&file(&place)).ok(), Some(Created::Kept));
    assert_eq!(made(&place, &mut Checked::default()), Ok(Created::Kept));
    assert_eq!(read(storage), Ok(SIZE_BYTES));
    assert!(storage.origin(true).is_some_and(|Origin { is_whole, .. }| is_whole));
    assert_eq!(storage.try_open(&target_at(&place), &checked), Ok(()));
    assert_eq!(storage.round_trip("t.dat", (&AtomicBool::new(false), &|_| {})), None);
    assert_eq!(storage.remove_made(&Checked::default(), &|_| {}), Ok(()));
    assert_eq!(kind(), PathKind::File, "another run has made it");
    assert_eq!(storage.remove_made(&checked, &|_| {}), Ok(()));
    assert_eq!(kind(), PathKind::Missing);
}

#[test]
fn what_is_wrong_here_has_its_kind() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let folder = Location::here(home.path());
    let why = read(folder.storage()).expect_err("a folder");
    assert_eq!((why.kind, why.message.starts_with("is neither")), (Kind::Unsupported, true));
    let nowhere = Location::here(home.path().join("no/t.dat"));
    assert_eq!(
        made(&nowhere, &mut Checked::default()).map_err(|why| why.kind),
        Err(Kind::NotFound)
    );
    fs::write(home.path().join("notes"), "milk, bread, and what else?\n").expect("a file");
    let notes = Location::here(home.path().join("notes"));
    assert!(made(&notes, &mut Checked::default()).is_err());
    let mut checked = Checked::default();
    let made_here = Location::here(home.path().join("t.dat"));
    assert_eq!(made(&made_here, &mut checked), Ok(Created::Made));
    fs::write(made_here.path(), "somebody's words").expect("a file");
    let stays = made_here.storage().remove_made(&checked, &|_| {}).expect_err("it stays");
    assert!(stays.message.contains("was not removed"), "{stays}");
}

#[test]
fn a_server_that_nobody_answers_for_fails_in_each_verb_with_one_kind() {
    let wanted = if cfg!(feature = "net") { Kind::Unreachable } else { Kind::Unsupported };
    for place in unanswered() {
        let (storage, checked) = (place.storage(), Checked::default());
        let plan = file(&place);
        let failures = [
            storage.look(true).map(drop),
            read(storage).map(drop),
            storage.try_open(&target_at(&place), &checked),
            storage.fate(&plan).map(drop).map_err(|why| Failure::from(&why)),
            made(&place, &mut Checked::default()).map(drop),
        ];
        let kinds = failures.map(|outcome| outcome.map_err(|why| why.kind));
        assert_eq!(kinds, [Err(wanted); 5], "{place:?}");
        let stays = storage.remove_made(&checked, &|_| {}).expect_err("it cannot be looked at");
        assert!(stays.message.contains("Remove it by hand"), "{stays}");
        assert_eq!(storage.round_trip("it", (&AtomicBool::new(false), &|_| {})), None);
        assert_eq!(storage.origin(true), None);
    }
}

#[test]
fn the_guard_asks_both_kinds_of_storage_and_lets_nothing_pass_that_it_cannot_see() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let notes = home.path().join("notes");
    fs::write(&notes, "milk, bread, and what else?\n").expect("a file");
    let mut targets = vec![target_at(&Location::here(&notes))];
    targets.extend(unanswered().iter().map(target_at));
    let plan = Plan { spans: vec![span(targets)], ..Plan::default() };
    let refused = guard::check(&plan, &Permission::default(), &|_| {}).expect_err("refused").0;
    let findings: Vec<_> = refused.iter().map(|one| &one.finding).collect();
    assert!(matches!(findings[0], Finding::FileWithData(_)), "those of this host come first");
    assert_eq!(findings.len(), 5);
    let is_unreadable = |one: &&&Finding| matches!(one, Finding::Unreadable(_));
    assert_eq!(findings.iter().filter(is_unreadable).count(), 4, "{findings:?}");
}

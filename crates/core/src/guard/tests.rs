//! What is refused and what passes, on real files.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::AtomicBool;

use super::fixture::{span, target, thread};
use super::*;
use crate::plan::{EngineKind, FilePlan, TargetKind};

fn writing(path: &Path) -> Plan {
    Plan { spans: vec![span(vec![target(path, 30)])], ..Plan::default() }
}

fn creating(path: &Path) -> Plan {
    let file = FilePlan { location: Location::here(path), size_bytes: 4096, ..FilePlan::default() };
    Plan { precreate: vec![file], ..Plan::default() }
}

const ANYHOW: Permission = Permission {
    overwrite: true,
    allow_write: Vec::new(),
    protect: Vec::new(),
    stores: Vec::new(),
    strict: false,
};

fn findings(plan: &Plan, permission: &Permission) -> Vec<Finding> {
    let refusals = check(plan, permission, &|_| {}).err().map_or(Vec::new(), |refusals| refusals.0);
    refusals.into_iter().map(|refusal| refusal.finding).collect()
}

fn plain(plan: &Plan) -> Vec<Finding> {
    findings(plan, &Permission::default())
}

#[test]
fn recognisable_data_are_refused_unless_told_otherwise() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let path = home.path().join("notes");
    fs::write(&path, "milk, bread, and what else?\n").expect("a file");
    for plan in [writing(&path), creating(&path)] {
        assert!(
            matches!(&plain(&plan)[..], [Finding::FileWithData(Some(found))] if found == "text")
        );
        assert_eq!(findings(&plan, &ANYHOW), []);
    }
    let message =
        check(&writing(&path), &Permission::default(), &|_| {}).expect_err("refused").to_string();
    for part in [path.to_str().expect("a name"), "text", "--overwrite"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn reading_needs_no_check() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let path = home.path().join("notes");
    fs::write(&path, "milk, bread, and what else?\n").expect("a file");
    let plan = Plan { spans: vec![span(vec![target(&path, 0)])], ..Plan::default() };
    assert_eq!(plain(&plan), []);
    let folder = Plan { spans: vec![span(vec![target(home.path(), 0)])], ..Plan::default() };
    assert_eq!(plain(&folder), []);
}

#[test]
fn test_data_and_missing_files_pass() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let path = home.path().join("test.dat");
    assert_eq!(plain(&writing(&path)), []);
    assert_eq!(plain(&creating(&path)), []);
    let pattern: Vec<u8> = (0..=255).cycle().take(195 * 512).collect();
    for data in [&vec![0; 100_000], &pattern, &Vec::new()] {
        fs::write(&path, data).expect("a file");
        assert_eq!(plain(&writing(&path)), []);
    }
    let file =
        FilePlan { location: Location::here(&path), size_bytes: 100_000, ..FilePlan::default() };
    prepare::create(&file, false, &mut Checked::default(), &AtomicBool::new(false), &|_| {})
        .expect("a file is made");
    assert_eq!(plain(&writing(&path)), []);
    assert_eq!(plain(&creating(&path)), []);
}

#[test]
fn links_are_followed() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let (path, link) = (home.path().join("db"), home.path().join("link"));
    fs::write(&path, b"SQLite format 3\0\x10\0\x01\x01\0").expect("a file");
    symlink(&path, &link).expect("a link");
    assert!(matches!(&plain(&writing(&link))[..], [Finding::FileWithData(_)]));
    let folder_link = home.path().join("folder");
    symlink(home.path(), &folder_link).expect("a link");
    assert_eq!(plain(&writing(&folder_link)), [Finding::WrongKind("a directory")]);
}

#[test]
fn other_kinds_are_refused_whatever_is_given() {
    let home = tempfile::tempdir().expect("a temporary directory");
    assert_eq!(findings(&writing(home.path()), &ANYHOW), [Finding::WrongKind("a directory")]);
    let null = Path::new("/dev/null");
    assert_eq!(findings(&writing(null), &ANYHOW), [Finding::WrongKind("a character device")]);
    assert_eq!(findings(&creating(null), &ANYHOW), [Finding::WrongKind("a character device")]);
}

#[test]
fn all_refusals_are_told_once_each() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let paths = ["one", "two"].map(|name| home.path().join(name));
    for path in &paths {
        fs::write(path, "some words of somebody").expect("a file");
    }
    let targets = || paths.iter().map(|path| target(path, 100)).collect();
    let plan = Plan { spans: vec![span(targets()), span(targets())], ..Plan::default() };
    let refusals = check(&plan, &Permission::default(), &|_| {}).expect_err("refused");
    assert_eq!(refusals.0.len(), 2);
    assert_eq!(refusals.to_string().lines().count(), 2);
}

#[test]
fn what_no_engine_touches_needs_no_check() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let path = home.path().join("notes");
    fs::write(&path, "milk, bread, and what else?\n").expect("a file");
    let mut plan = writing(&path);
    plan.spans[0].targets[0].kind = TargetKind::Virtual;
    assert_eq!(plain(&plan), []);
    plan.spans[0].targets[0].kind = TargetKind::File;
    plan.spans[0].threads = vec![thread(0, EngineKind::Null, 0)];
    assert_eq!(plain(&plan), []);
    plan.spans[0].threads.push(thread(1, EngineKind::Sync, 0));
    assert_eq!(plain(&plan).len(), 1);
}

//! Which files are made, and when.

use super::*;
use crate::plan::FilePlan;
use crate::request::Precreate;

/// Names and sizes of files in units of MiB.
type Shown = Vec<(String, u64)>;

fn shown(files: &[FilePlan]) -> Shown {
    let show = |file: &FilePlan| (file.path().display().to_string(), file.size_bytes / MIB);
    files.iter().map(show).collect()
}

fn expected(list: &[(&str, u64)]) -> Shown {
    list.iter().map(|&(name, size)| (format!("/{name}"), size)).collect()
}

fn creating(targets: &[(&str, Option<u64>)]) -> TimeSpan {
    let target = |&(name, mebibytes): &(&str, Option<u64>)| Target {
        create_bytes: mebibytes.map(|count| count * MIB),
        ..named(name)
    };
    span(targets.iter().map(target).collect())
}

/// Targets with their sizes in three time spans, of files that do not exist.
fn spans() -> Vec<TimeSpan> {
    vec![
        creating(&[("same", Some(2)), ("grows", Some(1)), ("once", Some(3))]),
        creating(&[("same", Some(2)), ("grows", Some(4)), ("once", None)]),
    ]
}

fn resolved(rule: Precreate) -> Plan {
    let mut facts = host();
    for name in ["same", "grows", "once"] {
        add(&mut facts, name, of_kind(PathKind::Missing));
    }
    let mut request = profile(spans());
    request.precreate = rule;
    resolve(&request, &RunOptions::default(), &facts).expect("a plan").plan
}

fn sizes(span: &SpanPlan) -> Vec<u64> {
    span.targets.iter().map(|target| target.size_bytes / MIB).collect()
}

#[test]
fn each_time_span_makes_its_files() {
    let plan = resolved(Precreate::None);
    assert!(plan.precreate.is_empty());
    let first = [("same", 2), ("grows", 1), ("once", 3)];
    assert_eq!(shown(&plan.spans[0].create), expected(&first));
    assert_eq!(shown(&plan.spans[1].create), expected(&[("same", 2), ("grows", 4)]));
    assert_eq!(sizes(&plan.spans[0]), [2, 1, 3]);
    // What an earlier time span has made is there.
    assert_eq!(sizes(&plan.spans[1]), [2, 4, 3]);
}

#[test]
fn files_are_made_early_at_their_greatest_size() {
    let plan = resolved(Precreate::UseMaxSize);
    let all = [("grows", 4), ("once", 3), ("same", 2)];
    assert_eq!(shown(&plan.precreate), expected(&all));
    assert!(plan.spans.iter().all(|span| span.create.is_empty()));
    assert_eq!(sizes(&plan.spans[0]), [2, 4, 3]);
}

#[test]
fn files_of_one_size_are_made_early() {
    let plan = resolved(Precreate::OnlyConstantSizes);
    assert_eq!(shown(&plan.precreate), expected(&[("same", 2)]));
    assert_eq!(shown(&plan.spans[0].create), expected(&[("grows", 1), ("once", 3)]));
    let plan = resolved(Precreate::OnlyConstantOrZeroSizes);
    assert_eq!(shown(&plan.precreate), expected(&[("once", 3), ("same", 2)]));
    assert_eq!(shown(&plan.spans[0].create), expected(&[("grows", 1)]));
    assert_eq!(shown(&plan.spans[1].create), expected(&[("grows", 4)]));
}

#[test]
fn a_file_with_two_sizes_is_made_once() {
    let mut facts = host();
    add(&mut facts, "new", of_kind(PathKind::Missing));
    let plan = plan(creating(&[("new", Some(1)), ("new", Some(2)), ("new", None)]), &facts);
    assert_eq!(shown(&plan.create), expected(&[("new", 2)]));
    assert_eq!(sizes(&plan), [2, 2, 2]);
}

#[test]
fn two_names_of_a_file_are_one_file() {
    let mut facts = host();
    add(&mut facts, "new", of_kind(PathKind::Missing));
    let known = facts.targets["new"].clone();
    facts.targets.insert("./new".into(), known);
    let both = plan(creating(&[("new", Some(2)), ("./new", None)]), &facts);
    assert_eq!((shown(&both.create), sizes(&both)), (expected(&[("new", 2)]), vec![2, 2]));
    let twice = plan(creating(&[("new", Some(2)), ("./new", Some(3))]), &facts);
    assert_eq!((shown(&twice.create), sizes(&twice)), (expected(&[("new", 3)]), vec![3, 3]));
}

/// A misspelt folder made a file of its name.
#[test]
fn the_name_of_a_folder_that_is_not_there_makes_no_file() {
    let mut facts = host();
    add(&mut facts, "new/", of_kind(PathKind::Missing));
    let error = error_of(creating(&[("new/", Some(2))]), &facts);
    assert_says(&error, ErrorClass::Target, &["'new/'", "named as a folder", "name a file"]);
}

/// A misspelt device became a file in memory, of its name.
#[test]
fn the_name_of_a_device_that_is_not_there_makes_no_file() {
    let mut facts = host();
    let missing = of_kind(PathKind::Missing);
    add(&mut facts, "sdzz", PathFacts { is_among_devices: true, ..missing });
    for size in [None, Some(2)] {
        let error = error_of(creating(&[("sdzz", size)]), &facts);
        assert_says(&error, ErrorClass::Target, &["'sdzz' does not exist", "lies in memory"]);
    }
}

#[test]
fn a_size_of_zero_makes_nothing() {
    let mut facts = host();
    add(&mut facts, "new", of_kind(PathKind::Missing));
    let error = error_of(creating(&[("new", Some(0))]), &facts);
    assert_says(&error, ErrorClass::Target, &["'new'", "does not exist"]);
}

#[test]
fn only_files_can_be_made() {
    for (kind, word) in
        [(PathKind::BlockDevice, "block device"), (PathKind::Directory, "a directory")]
    {
        let mut facts = host();
        add(&mut facts, "d", PathFacts { size_bytes: MIB, ..of_kind(kind) });
        let error = error_of(creating(&[("d", Some(1))]), &facts);
        assert_says(&error, ErrorClass::Target, &["'d'", word]);
    }
}

#[test]
fn the_advice_for_a_file_of_no_bytes_was_the_option_that_was_given() {
    let mut facts = host();
    add(&mut facts, "new", of_kind(PathKind::Missing));
    let error = error_of(creating(&[("new", Some(0))]), &facts);
    assert_says(&error, ErrorClass::Target, &["'new'", "-c0 makes no file", "-c1G"]);
    add(&mut facts, "empty", of_kind(PathKind::File));
    let error = error_of(creating(&[("empty", Some(0))]), &facts);
    assert_says(&error, ErrorClass::Target, &["'empty' is empty", "no block has room", "-c1G"]);
}

#[test]
fn a_size_of_no_bytes_touches_no_file_and_says_so() {
    let request = creating(&[("t.dat", Some(0)), ("u.dat", None)]);
    let mut facts = host();
    add(&mut facts, "u.dat", file(8 * MIB));
    let resolved = with(request, &RunOptions::default(), &facts).expect("a plan");
    assert!(resolved.plan.spans[0].create.is_empty());
    let [warning] = resolved.warnings.as_slice() else { panic!("{:?}", resolved.warnings) };
    assert_eq!(warning.kind, WarningKind::NoEffect);
    assert_eq!(warning.evidence, "-c0 makes no file: 't.dat' is used as it is");
    // A profile that makes its files before says with 0 which time spans have no say in that.
    let mut request = profile(vec![creating(&[("t.dat", Some(0))])]);
    request.precreate = Precreate::OnlyConstantOrZeroSizes;
    let resolved = resolve(&request, &RunOptions::default(), &facts).expect("a plan");
    assert!(resolved.warnings.is_empty(), "{:?}", resolved.warnings);
}

//! What it costs to read a command line and a profile.

use std::hint::black_box;
use std::io;
use std::path::Path;

use criterion::{Criterion, criterion_group, criterion_main};
use fathom_core::dialect::diskspd::parse::{Invocation, Outside, parse};
use fathom_core::dialect::diskspd::profile_xml;

const LINE: &str =
    "-c1G -b8K -r4K -w30 -o8 -t2 -d30 -W5 -Suw -L -D500 -rdpct90/10:10/90 -Z1M -a0,1 one.dat";

/// A profile of this many targets.
const TARGETS: usize = 1000;

fn no_file(_: &Path) -> io::Result<Vec<u8>> {
    Err(io::ErrorKind::NotFound.into())
}

fn request(args: &[String]) -> Invocation {
    parse(args, &Outside { read_file: &no_file, fresh_seed: 1 }).expect("a valid command line")
}

fn benches(criterion: &mut Criterion) {
    let args: Vec<String> = LINE.split_whitespace().map(str::to_owned).collect();
    criterion.bench_function("parser/command line", |bencher| {
        bencher.iter(|| request(black_box(&args)));
    });
    let mut many = args[..args.len() - 1].to_vec();
    many.extend((0..TARGETS).map(|number| format!("{number}.dat")));
    let Invocation::Run(request) = request(&many) else { panic!("a run") };
    let xml = profile_xml::write(request.job.profile());
    criterion.bench_function("parser/profile of 1,000 targets", |bencher| {
        bencher.iter(|| profile_xml::read(black_box(&xml)).expect("a valid profile"));
    });
}

criterion_group!(parser, benches);
criterion_main!(parser);

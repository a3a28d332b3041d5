//! Several files on one small file system, through the binary.

use crate::bench::{Bench, ios};

use super::support::Mount;

const SMALL: [&str; 5] = ["-t", "tmpfs", "-o", "size=32m", "tmpfs"];

#[test]
fn files_that_fit_only_one_by_one_are_refused_before_the_first_is_made() {
    let Some(mount) = Mount::new(&SMALL) else { return };
    let (one, two) = (mount.path().join("one.dat"), mount.path().join("two.dat"));
    let targets = format!("{} {}", one.display(), two.display());
    let bench = Bench::new();
    let output = bench.run(&format!("-W0 -d1 -b4K -r -c20M {targets}"));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    for word in ["one.dat", "two.dat", "not enough space for all", "41943040"] {
        assert!(stderr.contains(word), "no {word}: {stderr}");
    }
    assert!(!one.exists() && !two.exists(), "a file was made");

    // Where both fit they are made; and then they are there, so that the same run needs no more room.
    for _ in 0..2 {
        assert!(ios(&bench.measure_ios(100, &format!("-b4K -r -c12M {targets}"))) > 0);
    }
    // Two names of one file are one file.
    let again = format!(
        "{}/../{}/one.dat",
        mount.path().display(),
        mount.path().file_name().unwrap().display()
    );
    std::fs::remove_file(&two).unwrap();
    assert!(ios(&bench.measure_ios(100, &format!("-b4K -r -c20M {} {again}", one.display()))) > 0);
}

#[test]
fn files_of_later_time_spans_count_too() {
    let Some(mount) = Mount::new(&SMALL) else { return };
    let bench = Bench::new();
    let span = |name: &str| {
        format!(
            "<TimeSpan><Duration>1</Duration><Warmup>0</Warmup><Targets><Target><Path>{}</Path>\
             <FileSize>20971520</FileSize></Target></Targets></TimeSpan>",
            mount.path().join(name).display()
        )
    };
    let spans = span("one.dat") + &span("two.dat");
    let profile = format!("<Profile><TimeSpans>{spans}</TimeSpans></Profile>");
    std::fs::write(bench.path("p.xml"), profile).unwrap();
    let output = bench.run("-Xp.xml");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("not enough space for all"), "{stderr}");
    assert_eq!(std::fs::read_dir(mount.path()).unwrap().count(), 0);
}

//! The command lines that people publish, with local paths, small sizes and short times, and the way in
//! which their scripts take the numbers from the result.

use crate::bench::Bench;

/// As in the blogs, but for `-c`, `-d`, `-W` and the path.
const COMMAND_LINES: [&str; 16] = [
    "-b4k -t1 -o1 -w0 -c8M -r -h -d1 -W0 -L test.dat",
    "-b64k -t4 -o16 -w0 -c8M -r -h -d1 -W0 -L test.dat",
    "-b2048k -t2 -o2 -w0 -c8M -r -h -d1 -W0 -L test.dat",
    "-c8M -d1 -W0 -w0 -r -b8k -o10 -t1 -h -L testfile.dat",
    "-c8M -d1 -W0 -r -w0 -t8 -o8 -b8K -h -L testfile.dat",
    "-c8M -d1 -W0 -w0 -t1 -o6 -b512K -h -L testfile.dat",
    "-c8M -d1 -W0 -w0 -t2 -o8 -b512K -h -L testfile.dat",
    "-c8192K -d1 -W0 -L testfile.dat",
    "-c8M -b4K -t2 -r -o32 -d1 -W0 -h -L testfile.dat",
    "-c8M -b4K -t2 -d1 -W0 -a0,1 -L testfile1.dat testfile2.dat",
    "-b8K -d1 -W0 -h -L -o2 -t4 -r -w50 -c8M io.dat",
    "-c8M -d1 -W0 -o1 -F1 -b60K -h -s -L -w100 iotest.dat",
    "-c8M -d1 -W0 -o32 -t2 -b64K -h -r -L -w0 iotest.dat",
    "-c8M -d1 -W0 -o32 -t4 -b512K -h -s -L -w0 iotest.dat",
    "-c8M -d1 -W0 -L testfile1.dat",
    "-c8M -w100 -Zr -d1 -W0 -L testfile1.dat",
];

/// Column `index` of the first line that begins with `start`, as the scripts split it.
fn column(text: &str, start: &str, index: usize) -> f64 {
    let line = text.lines().find(|line| line.starts_with(start)).unwrap();
    line.split('|').nth(index).unwrap().trim().replace('%', "").parse().unwrap()
}

#[test]
fn published_command_lines_run_and_scripts_find_their_numbers() {
    let bench = Bench::new();
    for args in COMMAND_LINES {
        let output = bench.run(args);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{args}: {stderr}");
        let text = String::from_utf8(output.stdout).unwrap();
        let (mib, iops) = (column(&text, "total:", 2), column(&text, "total:", 3));
        let (latency, cpu) = (column(&text, "total:", 4), column(&text, "avg.", 1));
        assert!(mib > 0.0 && iops > 0.0 && latency >= 0.0, "{args}");
        assert!((0.0..=100.0).contains(&cpu), "{args}: {cpu}");
    }
}

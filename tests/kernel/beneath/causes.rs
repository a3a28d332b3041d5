//! What takes the load its CPUs and its I/Os: a quota, a limit, and what a load asks of itself.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::Value;

use super::{answered_by, evidence, fill, is_told, measure};
use crate::bench::{Bench, has_no_room, ios, skip};
use crate::latency::slow_fs::SlowFs;

const MIB: usize = 1 << 20;

/// How many groups have been made here: each has a name of its own.
static MADE: AtomicU32 = AtomicU32::new(0);

/// A control group of version 1, which is removed in the end.
struct Group(PathBuf);

impl Group {
    /// With these files set, if this kernel has the controller.
    fn new(controller: &str, files: &[(&str, &str)]) -> Option<Self> {
        let parent = Path::new("/sys/fs/cgroup").join(controller);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let made = Self(parent.join(format!("fathom-test-{}-{number}", std::process::id())));
        let set = || {
            std::fs::create_dir(&made.0)?;
            files.iter().try_for_each(|(name, value)| std::fs::write(made.0.join(name), value))
        };
        match set() {
            Ok(()) => Some(made),
            Err(error) => {
                skip(&format!("no control group of {controller} can be made: {error}"));
                None
            }
        }
    }

    fn measure(&self, bench: &Bench, args: &str) -> Value {
        let join = "echo $$ > \"$1/cgroup.procs\" && shift && exec \"$@\"";
        let mut command = std::process::Command::new("sh");
        command.args(["-c", join, "sh"]).arg(&self.0).arg(env!("CARGO_BIN_EXE_diskspd"));
        let args = format!("-W0 -d1 -Rjson {args}");
        let output =
            command.args(args.split_whitespace()).current_dir(bench.path(".")).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{args}: {stderr}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn name(&self) -> &str {
        self.0.file_name().unwrap().to_str().unwrap()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A process that has ended may be in it for a moment longer.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

#[test]
fn a_quota_of_cpu_time_is_told_with_the_time_that_it_took() {
    let quota = [("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "10000")];
    let Some(group) = Group::new("cpu", &quota) else { return };
    let bench = Bench::new();
    let result = group.measure(&bench, "-b4K -r -o1 -t2 -Sb t.dat");
    let told = evidence(&result, "cpu_throttled");
    assert!(told.contains(group.name()) && told.contains("allows 0.10 CPUs"), "{told}");
    assert!(!is_told(&result, "core_saturated"), "{}", result["warnings"]);
    let throttled = result["time_spans"][0]["beneath"]["groups"].as_array().unwrap().iter();
    let nanos: u64 = throttled.map(|one| one["throttled_ns"].as_u64().unwrap()).sum();
    assert!(nanos > 300_000_000, "{nanos}");
    // A load that needs less than the quota is not throttled, and one without a quota is not, either.
    let ample = [("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "90000")];
    let Some(ample) = Group::new("cpu", &ample) else { return };
    let slow = ample.measure(&bench, "-b4K -r -o1 -g20i -Sb t.dat");
    let free = bench.measure("-b4K -r -o1 -t2 -Sb t.dat");
    for clean in [slow, free] {
        assert!(!is_told(&clean, "cpu_throttled"), "{}", clean["warnings"]);
    }
}

/// The number of the disk beneath the files of a bench, as `7:0`.
fn disk(bench: &Bench, file: &Path) -> Option<String> {
    let result = measure(bench, "-b4K -r -o1 -Su", file);
    let layers = result["time_spans"][0]["beneath"]["layers"].as_array().unwrap();
    let name = layers.last()?["name"].as_str()?;
    let number = std::fs::read_to_string(format!("/sys/class/block/{name}/dev")).ok()?;
    (answered_by(&result) == "device").then(|| number.trim().to_owned())
}

/// "Stop what else runs" was the advice where that was the server of the file system that was measured: here
/// it is this test.
#[test]
fn the_process_that_serves_a_target_is_told_with_that_target() {
    let parent = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let Ok(system) = SlowFs::mount(parent, 8 << 20, Duration::ZERO) else {
        return skip("a file system of one's own cannot be mounted");
    };
    let bench = Bench::new();
    let args = format!("-b4K -r -o8 -t2 -Su {}", system.file().display());
    let own = |result: &Value| {
        let most = result["time_spans"][0]["beneath"]["cpu"]["most"].as_array()?.iter();
        most.clone().find(|one| one["pid"] == std::process::id()).cloned()
    };
    // Where others keep the CPUs busy, it may not be among those that used most.
    let found = (0..10).find_map(|_| own(&bench.measure(&args)));
    let Some(found) = found else { return skip("others use more of the CPUs all the time") };
    let certain = std::fs::read_dir("/proc/self/fdinfo").unwrap().flatten();
    let texts = certain.filter_map(|one| std::fs::read_to_string(one.path()).ok());
    let is_told = texts.into_iter().any(|text| text.contains("fuse_connection"));
    let field = if is_told { "serves" } else { "may_serve" };
    assert_eq!(found[field], serde_json::json!([0]), "{found}");
    let clean = bench.measure("-b4K -r -o1 -Sb t.dat");
    let none = own(&clean).is_none_or(|one| one["serves"] == serde_json::json!([]));
    assert!(none, "{clean}");
}

/// Who used the CPUs, and what was waited for, stands in each form of a result alike.
#[test]
fn shares_of_the_cpus_and_pressure_stand_in_text_and_xml_as_in_json() {
    let bench = Bench::new();
    let run = |form: &str| {
        let output = bench.run(&format!("-W0 -d1 -b4K -r -o1 -Sb {form} --json=r.json t.dat"));
        let result: Value =
            serde_json::from_slice(&crate::bench::bytes(&bench.path("r.json"))).unwrap();
        let beneath = result["time_spans"][0]["beneath"].clone();
        (String::from_utf8(output.stdout).unwrap(), beneath)
    };
    let number = |value: &Value| value.as_u64().unwrap();
    let (xml, beneath) = run("-Rxml");
    let document = roxmltree::Document::parse(&xml).unwrap();
    let node = |name: &str| document.descendants().find(|node| node.has_tag_name(name));
    let Some(cpu) = node("CpuNanoseconds") else { panic!("{xml}") };
    for (attribute, field) in
        [("OwnUser", "own_user_ns"), ("Others", "others_ns"), ("Waited", "waited_ns")]
    {
        let told: u64 = cpu.attribute(attribute).unwrap().parse().unwrap();
        assert_eq!(told, number(&beneath["cpu"][field]), "{attribute}");
    }
    if !beneath["pressure"].is_null() {
        let told = node("Pressure").unwrap().attribute("IoNanoseconds").unwrap();
        assert_eq!(told, number(&beneath["pressure"]["io_ns"]).to_string());
    }
    let (text, beneath) = run("-Rtext");
    let others = number(&beneath["cpu"]["others_ns"]) as f64 / 1e9;
    let line = text.lines().find(|line| line.starts_with("CPU time of ")).unwrap();
    assert!(line.contains(&format!(" {others:.2} s others,")), "{line}");
}

/// A host that is busy ends a second late.
fn reads_per_s(result: &Value) -> f64 {
    ios(result) as f64 * 1e9 / result["time_spans"][0]["measured_ns"].as_f64().unwrap()
}

#[test]
fn a_limit_of_ios_is_told_where_it_was_measured() {
    let bench = Bench::new();
    let file = bench.path("t.dat");
    fill(&file, 64 * MIB);
    let Some(number) = disk(&bench, &file) else {
        return skip("files of this checkout do not lie on a disk");
    };
    let limit = |per_s: u32| {
        let rule = format!("{number} {per_s}");
        Group::new("blkio", &[("blkio.throttle.read_iops_device", &rule)])
    };
    let Some(group) = limit(300) else { return };
    // A disk that others keep busy may not come near the limit.
    let run = || group.measure(&bench, "-b4K -r -o4 -Su t.dat");
    let mut result = run();
    for _ in 0..8 {
        if reads_per_s(&result) >= 297.0 {
            break;
        }
        result = [result, run()]
            .into_iter()
            .max_by(|one, other| reads_per_s(one).total_cmp(&reads_per_s(other)))
            .unwrap();
    }
    if reads_per_s(&result) < 275.0 {
        return skip("others keep the disk too busy for 275 reads a second");
    }
    let told = evidence(&result, "io_limited");
    assert!(told.contains("allows 300 reads per second of"), "{told}");
    let words = if reads_per_s(&result) >= 297.0 {
        "the limit was measured"
    } else {
        "the limit may have been"
    };
    assert!(told.contains(words) && told.contains(", and not the device"), "{told}");
    assert!((200.0..=400.0).contains(&reads_per_s(&result)), "{}", ios(&result));
    assert!(!is_told(&group.measure(&bench, "-b4K -r -o4 -Su -g100i t.dat"), "io_limited"));
    let Some(wide) = limit(1_000_000) else { return };
    assert!(!is_told(&wide.measure(&bench, "-b4K -r -o4 -Su t.dat"), "io_limited"));
}

/// More is requested than completes within the time: no share of a CPU is over 100 %, and what did not
/// complete is reported.
#[test]
fn no_more_than_all_of_a_cpu_is_used_however_much_is_in_flight() {
    let bench = Bench::new();
    bench.fill("t.dat", 64 << 20);
    let output = bench.run("-W0 -d1 -b4K -r -o40000 -t4 -Su -Rjson t.dat");
    if has_no_room(&String::from_utf8_lossy(&output.stderr)) {
        return;
    }
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    for warning in result["warnings"].as_array().unwrap() {
        let evidence = warning["evidence"].as_str().unwrap();
        let words: Vec<&str> = evidence.split_whitespace().collect();
        let percents = words.windows(2).filter(|two| two[1].starts_with('%'));
        for percent in percents.filter_map(|two| two[0].parse::<f64>().ok()) {
            assert!(percent <= 100.0, "{evidence}");
        }
    }
    let outcome = result["time_spans"][0]["outcome"].as_str().unwrap();
    assert_eq!(outcome == "no_io", ios(&result) == 0, "{outcome}");
    if ios(&result) == 0 {
        assert!(evidence(&result, "no_io_completed").contains("hands over all of its I/Os"));
    }
}

/// One call moves at most 2,147,479,552 bytes (`MAX_RW_COUNT`): more is refused before anything is made.
#[test]
fn blocks_that_no_call_moves_at_once_are_refused() {
    let bench = Bench::new();
    for (block, fits) in [("2147479552", true), ("2147483648", false), ("4294967295", false)] {
        let output = bench.run(&format!("-b{block} -o1 -d1 -W0 --explain -f4G t.dat"));
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        let is_refused = words.contains("2147479552 in one I/O");
        assert_eq!(is_refused, !fits, "-b{block}: {words}");
    }
}

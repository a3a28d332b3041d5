//! Small plans, and file systems and devices that go away with the test.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use fathom_core::guard::Checked;
use fathom_core::measure::Event;
use fathom_core::plan::{
    FaultPolicy, FilePlan, OffsetPlan, OpenPlan, Order, PayloadPlan, Plan, SpanPlan, StopRules,
    TargetKind, TargetPlan,
};
use fathom_core::prepare::{self, Created, PrepareError};
use fathom_core::request::Priority;
use fathom_core::storage::Location;

/// A plan of one time span that uses the whole of one target.
pub fn plan_for(path: &Path, kind: TargetKind, write_percent: u32) -> Plan {
    let size_bytes = size_of(path);
    let offsets = OffsetPlan {
        base_bytes: 0,
        end_bytes: size_bytes,
        block_bytes: 4096,
        align_bytes: 4096,
        order: Order::Random,
        ranges: Vec::new(),
        skew: None,
    };
    let target = TargetPlan {
        location: Location::here(path),
        name: path.display().to_string(),
        kind,
        size_bytes,
        open: OpenPlan::default(),
        block_bytes: 4096,
        offsets,
        write_percent,
        mix: None,
        payload: PayloadPlan::CountingPattern,
        huge_pages: false,
        sector_bytes: 512,
        priority: Priority::Normal,
    };
    let span = SpanPlan {
        index: 0,
        create: Vec::new(),
        warm_up_ns: 0,
        measured_ns: 1,
        stop: StopRules::default(),
        faults: FaultPolicy::default(),
        cool_down_ns: 0,
        interval_ns: 0,
        measure_latency: false,
        interval_latency: false,
        progress_every_ios: 0,
        shared_outstanding: 0,
        targets: vec![target],
        threads: Vec::new(),
    };
    Plan { spans: vec![span], ..Plan::default() }
}

/// Size of a file or block device, found by seeking to its end.
fn size_of(path: &Path) -> u64 {
    use std::io::{Seek, SeekFrom};
    File::open(path).and_then(|mut file| file.seek(SeekFrom::End(0))).unwrap_or(0)
}

/// Makes a file without asking anybody.
pub fn make(path: &Path, size_bytes: u64) -> Result<Created, PrepareError> {
    let ignore = |_: Event| {};
    let file = FilePlan { location: Location::here(path), size_bytes, ..FilePlan::default() };
    prepare::create(&file, false, &mut Checked::default(), &AtomicBool::new(false), &ignore)
}

/// A digest of a file: FNV-1a of 64 bits, which is enough to see any change.
pub fn digest(path: &Path) -> u64 {
    let data = fs::read(path).expect("a file that can be read");
    data.iter().fold(0xCBF2_9CE4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

/// Why this test did not run, on standard error.
#[expect(clippy::print_stderr, reason = "a test that is left out must say so")]
pub fn skip(reason: &str) {
    eprintln!("left out: {reason}");
}

/// Whether a command ran and succeeded.
pub fn run(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

/// A mounted file system; unmounted when dropped.
pub struct Mount {
    directory: tempfile::TempDir,
}

impl Mount {
    /// Mounts by the arguments that stand before the directory; none if that is not allowed here.
    pub fn new(arguments: &[&str]) -> Option<Self> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let place = directory.path().to_str().expect("a plain name").to_owned();
        let all: Vec<&str> = arguments.iter().copied().chain([place.as_str()]).collect();
        if run("mount", &all) {
            return Some(Self { directory });
        }
        skip(&format!("`mount {}` is not allowed here", all.join(" ")));
        None
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        run("umount", &["-l", self.directory.path().to_str().unwrap_or("")]);
    }
}

/// A loop device over a fresh file; detached when dropped.
pub struct Loop {
    device: PathBuf,
    /// Closed: what another process has open for writing is refused.
    image: tempfile::TempPath,
    size_bytes: u64,
}

impl Loop {
    /// Attaches a file of `size_bytes` to `device`; none if that is not allowed or the device taken.
    pub fn attach(device: &str, size_bytes: u64) -> Option<Self> {
        let image = tempfile::NamedTempFile::new().expect("a temporary file");
        image.as_file().set_len(size_bytes).expect("a length");
        let image = image.into_temp_path();
        // Another test may have it for a moment.
        let name = device.trim_start_matches("/dev/");
        wait_until_gone(&PathBuf::from(format!("/sys/block/{name}/loop")), || {});
        if run("losetup", &[device, image.to_str().expect("a plain name")]) {
            return Some(Self { device: device.into(), image, size_bytes });
        }
        skip(&format!("{device} cannot be attached here, or is taken"));
        None
    }

    pub fn path(&self) -> &Path {
        &self.device
    }

    /// The word that permits writing to it.
    pub fn token(&self) -> String {
        format!("{}:{}", self.name(), self.size_bytes)
    }

    /// The option that permits writing to it.
    pub fn leave(&self) -> String {
        format!("--allow-write={}", self.token())
    }

    /// The file behind the device.
    pub fn image(&self) -> &Path {
        &self.image
    }

    pub fn name(&self) -> &str {
        self.device.to_str().expect("a plain name")
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        run("losetup", &["-d", self.name()]);
        let name = self.name().trim_start_matches("/dev/");
        wait_until_gone(&PathBuf::from(format!("/sys/block/{name}/loop")), || {});
    }
}

/// The kernel lets go of a device once the last one who looks at it is gone; the next test wants it.
pub fn wait_until_gone(path: &Path, again: impl Fn()) {
    for _ in 0..500 {
        if !path.exists() {
            return;
        }
        again();
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

//! A folder to run the binary in, and its results as data.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::test_data::test_data;
use crate::turns;

/// The length of `t.dat`.
const FILE_BYTES: u32 = 8 << 20;

/// A folder of its own on the disk, with `t.dat` of 8 MiB in it.
pub struct Bench {
    folder: TempDir,
}

impl Bench {
    pub fn new() -> Self {
        turns::wait();
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let bench = Self { folder };
        bench.fill("t.dat", FILE_BYTES);
        bench
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes a file of test data, which may be written over.
    pub fn fill(&self, name: &str, bytes: u32) {
        static DATA: OnceLock<Vec<u8>> = OnceLock::new();
        let data = DATA.get_or_init(|| test_data(7, FILE_BYTES as usize));
        let write = |data: &[u8]| std::fs::write(self.path(name), data).unwrap();
        if let Some(data) = data.get(..bytes as usize) {
            write(data);
        } else {
            write(&test_data(7, bytes as usize));
        }
    }

    pub fn command(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_diskspd"));
        command.args(args.split_whitespace()).current_dir(self.folder.path());
        command
    }

    pub fn run(&self, args: &str) -> Output {
        self.command(args).output().unwrap()
    }

    /// Starts a run, and returns when its load is under way.
    pub fn start(&self, args: &str) -> Running {
        let running = self.start_until("phase_started", &format!("--live=json {args}"));
        thread::sleep(Duration::from_millis(100));
        running
    }

    /// Starts a run, and returns when the first second of its load is over.
    pub fn start_for_a_second(&self, args: &str) -> Running {
        self.start_until(" IOPS ", &format!("--live {args}"))
    }

    fn start_until(&self, words: &str, args: &str) -> Running {
        let mut command = self.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut told = String::new();
        while !told.contains(words) {
            assert_ne!(stderr.read_line(&mut told).unwrap(), 0, "{args}: {told}");
        }
        Running { child, stderr, told }
    }

    /// Runs so many I/Os, where what they do is the subject and not how long it takes.
    pub fn measure_ios(&self, ios: u32, args: &str) -> Value {
        self.measure(&format!("-d60 --stop-ios={ios} {args}"))
    }

    /// Runs for a second with a JSON result, which must be complete.
    pub fn measure(&self, args: &str) -> Value {
        let output = self.run(&format!("-W0 -d1 -Rjson {args}"));
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{args}: {stderr}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// A run whose load is under way.
pub struct Running {
    child: Child,
    stderr: BufReader<ChildStderr>,
    told: String,
}

/// How a run ended: its code, and what it wrote.
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Running {
    /// Number of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What Ctrl-C does.
    pub fn interrupt(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    }

    /// Waits until a whole second had I/Os that completed: a disk may stand still for several.
    pub fn until_a_second_is_served(&mut self) {
        // The first line is of a second that had begun before.
        for _ in 0..2 {
            let mut line = String::new();
            while !line.contains(" IOPS ") || line.contains(" 0 IOPS ") {
                line.clear();
                assert_ne!(self.stderr.read_line(&mut line).unwrap(), 0, "{}", self.told);
                self.told.push_str(&line);
            }
        }
    }

    /// The threads of the run: the name of each, and the CPUs that it may use.
    pub fn threads(&self) -> Vec<(String, String)> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let describe = |task: PathBuf| {
            let name = std::fs::read_to_string(task.join("comm")).ok()?;
            let status = std::fs::read_to_string(task.join("status")).ok()?;
            let cpus = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
            Some((name.trim().to_owned(), cpus.trim().to_owned()))
        };
        tasks.filter_map(|task| describe(task.ok()?.path())).collect()
    }

    /// The kernel's number of the thread of load with this number.
    pub fn load_thread(&self, index: u32) -> String {
        let mut tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let wanted = format!("load {index}\n");
        let found = tasks.find_map(|task| {
            let task = task.ok()?;
            let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
            (name == wanted).then(|| task.file_name().to_string_lossy().into_owned())
        });
        found.expect("the load is under way")
    }

    /// What `kill -9` does: nothing of the process is left when this returns.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn wait(mut self) -> Ended {
        self.told.push_str(&String::from_utf8_lossy(self.stderr.buffer()));
        self.child.stderr = Some(self.stderr.into_inner());
        // Both are read at once, so that neither fills up.
        let output = self.child.wait_with_output().unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        self.told.push_str(&String::from_utf8_lossy(&output.stderr));
        let is_event = |line: &&str| line.starts_with("{\"run\":");
        let stderr = self.told.split_inclusive('\n').filter(|line| !is_event(line)).collect();
        Ended { code: output.status.code(), stdout, stderr }
    }
}

/// The records of all threads and targets in one direction (`read` or `write`) of the first time span.
pub fn records<'a>(result: &'a Value, direction: &'a str) -> impl Iterator<Item = &'a Value> {
    let threads = result["time_spans"][0]["threads"].as_array().unwrap();
    let targets = threads.iter().flat_map(|thread| thread["targets"].as_array().unwrap());
    targets.map(move |target| &target[direction])
}

/// The sum of one number over all records of one direction.
pub fn sum(result: &Value, direction: &str, number: &str) -> u64 {
    records(result, direction).map(|record| record[number].as_u64().unwrap()).sum()
}

/// I/Os of both directions.
pub fn ios(result: &Value) -> u64 {
    sum(result, "read", "ios") + sum(result, "write", "ios")
}

/// The names of the backends, and the reasons for a fallback.
pub fn backends(result: &Value) -> Vec<(String, String)> {
    let threads = result["time_spans"][0]["threads"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let backend =
        |thread: &Value| (text(&thread["backend"]["name"]), text(&thread["backend"]["fallback"]));
    threads.iter().map(backend).collect()
}

/// Whether the RAM disk can be read; if not, it is reported why.
pub fn has_ram_disk() -> bool {
    let size = std::fs::read_to_string("/sys/block/zram0/size").unwrap_or_default();
    if size.trim().parse::<u64>().unwrap_or(0) < 131_072 {
        skip("there is no RAM disk of 64 MiB at /dev/zram0");
        return false;
    }
    // A user who is not root may see it without being allowed to read it.
    let opened = std::fs::File::open("/dev/zram0");
    if let Err(error) = &opened {
        skip(&format!("the RAM disk at /dev/zram0 cannot be read: {error}"));
    }
    opened.is_ok()
}

/// Whether a run failed because an ordinary account has no room for so many outstanding I/Os, and says so:
/// neither for rings (`ulimit -l`) nor in the system's limit for libaio.
pub fn has_no_room(stderr: &str) -> bool {
    let words = ["this account may lock", "fs.aio-max-nr"];
    let told = stderr.lines().find(|line| words.iter().any(|word| line.contains(word)));
    if let Some(line) = told {
        skip(line);
    }
    told.is_some()
}

/// Says why a test cannot run here.
pub fn skip(reason: &str) {
    crate::prepare::support::skip(reason);
}

/// Waits for something that a slow disk may delay, for a minute at most.
pub fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let is_in_time = (0..600).any(|_| {
        thread::sleep(Duration::from_millis(100));
        is_so()
    });
    assert!(is_in_time, "{what}: not within a minute");
}

/// The bytes of a file.
pub fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

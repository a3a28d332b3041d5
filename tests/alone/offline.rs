//! A CPU that is taken offline, or put online, under a run.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::MutexGuard;
use std::time::Duration;

use serde_json::Value;

/// Long enough that the run notices, and short enough that nobody else does.
const AWAY: Duration = Duration::from_millis(200);

/// A CPU that tests take offline. Whatever becomes of the test, it is online again a few seconds later.
struct Lent {
    os_id: u32,
    /// Puts it online when its time has come, also if this process has died.
    keeper: Child,
    _turn: MutexGuard<'static, ()>,
}

impl Lent {
    /// One that is online now and may be taken offline, besides the first; none where there is none.
    fn take() -> Option<Self> {
        let turn = crate::turn();
        let usable = fathom_sys::cpu::usable().unwrap_or_default();
        let may_go =
            |os_id: &u32| *os_id != 0 && File::options().write(true).open(switch(*os_id)).is_ok();
        let Some(os_id) = usable.into_iter().find(may_go) else {
            skip("there is no second CPU that this user may take offline");
            return None;
        };
        let restore = format!("sleep 10; echo 1 > {}", switch(os_id));
        let keeper =
            Command::new("setsid").args(["sh", "-c", &restore]).stdin(Stdio::null()).spawn();
        let lent = Self { os_id, keeper: keeper.unwrap(), _turn: turn };
        if let Err(error) = fs::write(switch(os_id), "0") {
            skip(&format!("CPU {os_id} cannot be taken offline: {error}"));
            return None;
        }
        lent.put_online();
        Some(lent)
    }

    fn take_offline(&self) {
        fs::write(switch(self.os_id), "0").unwrap();
    }

    fn put_online(&self) {
        fs::write(switch(self.os_id), "1").unwrap();
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let restored = fs::write(switch(self.os_id), "1");
        // It stays as long as it may still be needed.
        if restored.is_ok() {
            let _ended = self.keeper.kill().and_then(|()| self.keeper.wait());
        }
    }
}

fn switch(os_id: u32) -> String {
    format!("/sys/devices/system/cpu/cpu{os_id}/online")
}

/// Why a test did not run, on standard error.
#[expect(clippy::print_stderr, reason = "a test that is left out must say so")]
fn skip(reason: &str) {
    eprintln!("left out: {reason}");
}

/// A run of two seconds, as JSON, during which something is done.
fn measured(options: &str, meanwhile: impl FnOnce()) -> Value {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_diskspd"));
    let load = "--live -W0 -d2 -b4K -r -g500i -c1M -Rjson";
    command.args(load.split(' ')).args(options.split(' ')).arg("t.dat").current_dir(&folder);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut told = String::new();
    while !told.contains(" IOPS ") {
        assert_ne!(stderr.read_line(&mut told).unwrap(), 0, "{told}");
    }
    meanwhile();
    let mut json = String::new();
    child.stdout.take().unwrap().read_to_string(&mut json).unwrap();
    stderr.read_to_string(&mut told).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{told}");
    serde_json::from_str(&json).unwrap()
}

/// The evidence of all warnings of one kind.
fn told(result: &Value, kind: &str) -> Vec<String> {
    let warnings = result["warnings"].as_array().unwrap().iter();
    let found = warnings.filter(|one| one["kind"] == kind);
    found.map(|one| one["evidence"].as_str().unwrap().to_owned()).collect()
}

/// The CPUs whose use is reported, each of which must be shares of one whole.
fn rows(result: &Value) -> Vec<u64> {
    let rows = result["time_spans"][0]["cpu"].as_array().unwrap().iter();
    let whole = |row: &Value| {
        let parts = ["user_percent", "kernel_percent", "idle_percent", "steal_percent"];
        let sum: f64 = parts.iter().map(|part| row[part].as_f64().unwrap()).sum();
        assert!((sum - 100.0).abs() < 1e-6, "{row}");
        row["os_id"].as_u64().unwrap()
    };
    rows.map(whole).collect()
}

#[test]
fn a_cpu_that_goes_under_a_pinned_thread_and_comes_back_is_told() {
    let Some(lent) = Lent::take() else { return };
    let os_id = lent.os_id;
    let result = measured(&format!("-t2 -a0,{os_id}"), || {
        lent.take_offline();
        std::thread::sleep(AWAY);
        lent.put_online();
    });
    let migrated = told(&result, "affinity_changed");
    let [migrated] = migrated.as_slice() else { panic!("{migrated:?}") };
    assert!(
        migrated.starts_with(&format!("Thread 1 had been pinned to CPU {os_id}, ")),
        "{migrated}"
    );
    assert!(migrated.contains("the CPU was taken offline"), "{migrated}");
    let away = format!(
        "CPU {os_id} was offline for a part of the measured time; the CPU use tells of the rest."
    );
    assert_eq!(told(&result, "cpu_offline"), [away]);
    assert!(rows(&result).contains(&u64::from(os_id)));
    // The load went on elsewhere: both threads kept their rate.
    for thread in result["time_spans"][0]["threads"].as_array().unwrap() {
        assert!(thread["targets"][0]["read"]["ios"].as_u64() > Some(600), "{thread}");
    }
}

#[test]
fn a_cpu_that_is_gone_at_the_end_is_told_and_not_shown() {
    let Some(lent) = Lent::take() else { return };
    let os_id = lent.os_id;
    let result = measured("-t2 -n", || lent.take_offline());
    assert_eq!(told(&result, "affinity_changed"), [""; 0]);
    let away =
        format!("CPU {os_id} was offline when the measured time ended; the CPU use leaves it out.");
    assert_eq!(told(&result, "cpu_offline"), [away]);
    assert!(!rows(&result).contains(&u64::from(os_id)));
}

#[test]
fn a_cpu_that_comes_during_the_run_is_no_idle_one() {
    let Some(lent) = Lent::take() else { return };
    let os_id = lent.os_id;
    lent.take_offline();
    let result = measured("-t2 -n", || lent.put_online());
    let away =
        format!("CPU {os_id} was offline when the measured time began; the CPU use leaves it out.");
    assert_eq!(told(&result, "cpu_offline"), [away]);
    assert!(!rows(&result).contains(&u64::from(os_id)));
}

//! Perf events (`perf_event_open(2)`) on every CPU of the system.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::{TraceError, owned, tracefs};
use crate::cpu;

const PERF_TYPE_TRACEPOINT: u32 = 2;
const DISABLED: u64 = 1;
const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 8;
const FORMAT_TIMES: u64 = 1 | 2;
const FORMAT_LOST: u64 = 1 << 4;
const ENABLE: libc::c_ulong = 0x2400;
const DISABLE: libc::c_ulong = 0x2401;
const RESET: libc::c_ulong = 0x2403;
const SET_FILTER: libc::c_ulong = 0x4008_2406;
const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";

/// The first version of `struct perf_event_attr`, which every kernel takes.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint_kind: u32,
    config1: u64,
}

impl Attributes {
    /// An event that is off until it is switched on.
    pub fn new(kind: u32, config: u64, flags: u64) -> Self {
        let size = u32::try_from(size_of::<Self>()).unwrap_or(0);
        let flags = flags | DISABLED;
        Self { kind, size, config, read_format: FORMAT_TIMES, flags, ..Self::default() }
    }

    /// The same, with the number of lost records in what is read; kernels before 6.0 refuse it.
    pub fn with_lost(self) -> Self {
        Self { read_format: self.read_format | FORMAT_LOST, ..self }
    }
}

/// An event on one CPU.
#[derive(Debug)]
pub struct CpuEvent(pub OwnedFd);

impl CpuEvent {
    fn open(attributes: &Attributes, os_id: u32) -> io::Result<Self> {
        let os_id = libc::c_int::try_from(os_id).unwrap_or(libc::c_int::MAX);
        let (all_processes, no_group): (libc::pid_t, libc::c_int) = (-1, -1);
        // SAFETY: the attributes have the layout and the size that they name, and outlive the call.
        let descriptor = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const *attributes,
                all_processes,
                os_id,
                no_group,
                PERF_FLAG_FD_CLOEXEC,
            )
        };
        owned(descriptor).map(Self)
    }

    fn control(&self, command: libc::c_ulong) -> io::Result<()> {
        // SAFETY: these commands take no argument, and the descriptor is open.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), command as _, 0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn filter(&self, filter: &CString) -> io::Result<()> {
        // SAFETY: the filter is a valid string that outlives the call, and the descriptor is open.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), SET_FILTER as _, filter.as_ptr()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The count, the time that the event was on, and the time that it did count, in nanoseconds; if it was
    /// requested, the number of records that were lost.
    pub fn read<const WORDS: usize>(&self) -> io::Result<[u64; WORDS]> {
        let mut words = [0_u64; WORDS];
        let bytes = size_of_val(&words);
        // SAFETY: the buffer is valid for the write of as many bytes as are requested.
        let read = unsafe { libc::read(self.0.as_raw_fd(), words.as_mut_ptr().cast(), bytes) };
        if usize::try_from(read) == Ok(bytes) { Ok(words) } else { Err(io::Error::last_os_error()) }
    }
}

/// The same event on every CPU.
#[derive(Debug)]
pub struct SystemEvent {
    pub cpus: Vec<CpuEvent>,
}

/// A count over all CPUs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    pub count: u64,
    /// The time that the events were on, over all CPUs.
    pub enabled_ns: u64,
    /// The part of it in which they did count: less if the kernel had to share out its counters.
    pub running_ns: u64,
}

impl Reading {
    /// Why the count is too small, if it is.
    pub fn partial(&self) -> Option<String> {
        if self.running_ns >= self.enabled_ns {
            return None;
        }
        let share = self.running_ns as f64 * 100.0 / self.enabled_ns as f64;
        Some(format!("the kernel counted only {share:.1} % of the time"))
    }
}

impl SystemEvent {
    /// Opens an event on all CPUs that are online; it is off.
    pub fn open(attributes: &Attributes) -> Result<Self, TraceError> {
        let cpus =
            cpu::topology().map_err(|error| TraceError::unreadable("the list of CPUs", &error))?;
        let open = |cpu: &cpu::Cpu| CpuEvent::open(attributes, cpu.os_id);
        let cpus = cpus.iter().map(open).collect::<io::Result<_>>();
        Ok(Self { cpus: cpus.map_err(|error| refused(&error))? })
    }

    /// Counts a tracepoint where the filter holds, which is in the kernel's language for it.
    pub fn tracepoint(name: &str, filter: &str) -> Result<Self, TraceError> {
        let config = tracefs::number_of(name)?;
        let event = Self::open(&Attributes::new(PERF_TYPE_TRACEPOINT, config, 0))?;
        let text = CString::new(filter).unwrap_or_default();
        for cpu in &event.cpus {
            cpu.filter(&text).map_err(|_| TraceError {
                why: format!("this kernel's tracepoint {name} does not tell '{filter}'"),
                remedy: "use a later kernel, or leave this group out".to_owned(),
            })?;
        }
        Ok(event)
    }

    /// Counts from 0.
    pub fn begin(&self) -> io::Result<()> {
        self.cpus.iter().try_for_each(|cpu| cpu.control(RESET))?;
        self.cpus.iter().try_for_each(|cpu| cpu.control(ENABLE))
    }

    /// Stops counting.
    pub fn stop(&self) -> io::Result<()> {
        self.cpus.iter().try_for_each(|cpu| cpu.control(DISABLE))
    }

    /// Stops, and sums up.
    pub fn end(&self) -> io::Result<Reading> {
        self.stop()?;
        let mut sum = Reading::default();
        for cpu in &self.cpus {
            let [count, enabled_ns, running_ns] = cpu.read()?;
            sum.count += count;
            sum.enabled_ns += enabled_ns;
            sum.running_ns += running_ns;
        }
        Ok(sum)
    }
}

fn refused(error: &io::Error) -> TraceError {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => TraceError {
            why: format!(
                "events of the whole system need the capability CAP_PERFMON here \
                 (kernel.perf_event_paranoid is {})",
                fs::read_to_string(PARANOID).unwrap_or_default().trim()
            ),
            remedy: "run as root, give the program the capability (setcap cap_perfmon+ep), or set \
                     kernel.perf_event_paranoid to 0"
                .to_owned(),
        },
        _ => TraceError {
            why: format!("the kernel refuses perf events: {error}"),
            remedy: "use a kernel with CONFIG_PERF_EVENTS and a sandbox that allows \
                     perf_event_open, or leave this group out"
                .to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_missed_time_says_so() {
        let whole = Reading { count: 7, enabled_ns: 2_000, running_ns: 2_000 };
        assert_eq!(whole.partial(), None);
        let shared = Reading { running_ns: 500, ..whole };
        assert_eq!(shared.partial().unwrap(), "the kernel counted only 25.0 % of the time");
    }
}

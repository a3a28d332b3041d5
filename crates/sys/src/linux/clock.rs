//! Clocks and precise sleeping.

use std::mem::MaybeUninit;

pub(super) const NANOS_PER_SEC: u64 = 1_000_000_000;

/// Nanoseconds on the monotonic clock, which never steps and counts from the host's start.
#[inline]
#[must_use]
pub fn now_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds on the monotonic clock as of the last timer interrupt: cheaper, and coarser by
/// milliseconds.
#[must_use]
pub fn coarse_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC_COARSE)
}

/// What the clock of the host shows, in nanoseconds since 1970.
#[must_use]
pub fn real_ns() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// The processor's own counter of time, in ticks of its own length. It runs at the same pace on every CPU of
/// a host whose monotonic clock is built on it. Where there is none, nanoseconds.
#[must_use]
pub fn cycles() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction, and Linux lets all programs use it unless one
    // forbids it to itself (`PR_SET_TSC`).
    let cycles = unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(target_arch = "aarch64")]
    let cycles = {
        let count: u64;
        // SAFETY: Linux lets all programs read the virtual counter, which changes nothing.
        unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) count, options(nomem, nostack)) };
        count
    };
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let cycles = now_ns();
    cycles
}

/// CPU time that the calling thread has used, in nanoseconds.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time that all threads of this process have used, in nanoseconds.
#[must_use]
pub fn process_cpu_ns() -> u64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// CPU time that a thread has used, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadCpu {
    /// All of it.
    pub total_ns: u64,
    /// The part outside the kernel. Kernels that do not watch each entry divide the total by what they
    /// found at each clock tick (`getrusage(2)`), so that a short stretch tells little.
    pub user_ns: u64,
}

impl ThreadCpu {
    /// What has been used since an earlier instant.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            total_ns: self.total_ns.saturating_sub(earlier.total_ns),
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
        }
    }
}

/// CPU time that the calling thread has used.
#[must_use]
pub fn thread_cpu() -> ThreadCpu {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for the write of one rusage, which is plain integers and zeroed.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    let user = usage.ru_utime;
    let user_ns =
        user.tv_sec.cast_unsigned() * NANOS_PER_SEC + user.tv_usec.cast_unsigned() * 1_000;
    ThreadCpu { total_ns: thread_cpu_ns(), user_ns }
}

#[inline]
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the pointer is valid for the write of one timespec; these clocks exist on every Linux,
    // so the call cannot fail and the value is initialised.
    let time = unsafe {
        libc::clock_gettime(clock, time.as_mut_ptr());
        time.assume_init()
    };
    time.tv_sec.cast_unsigned() * NANOS_PER_SEC + time.tv_nsec.cast_unsigned()
}

/// Sleeps until the monotonic clock shows `deadline_ns`, or until a signal arrives.
pub fn sleep_until_ns(deadline_ns: u64) {
    let time = timespec(deadline_ns);
    // SAFETY: `time` outlives the call, and no remaining time is requested with an absolute deadline.
    unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &raw const time,
            std::ptr::null_mut(),
        );
    }
}

/// A duration or an instant in the kernel's form.
pub(crate) fn timespec(nanos: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (nanos / NANOS_PER_SEC).cast_signed(),
        tv_nsec: (nanos % NANOS_PER_SEC).cast_signed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monotonic_clock_advances_over_a_sleep() {
        let before_ns = now_ns();
        sleep_until_ns(before_ns + 2_000_000);
        assert!(now_ns() >= before_ns + 2_000_000);
    }

    #[test]
    fn the_coarse_clock_stands_still_between_interrupts() {
        let different = |clock: fn() -> u64| {
            let mut times: Vec<u64> = (0..2_000).map(|_| clock()).collect();
            times.dedup();
            times.len()
        };
        assert!(different(coarse_ns) < 1_000, "it is as fine as the other");
        assert!(different(now_ns) > 1_000);
    }

    #[test]
    fn the_cycle_counter_runs_at_a_steady_pace_of_its_own() {
        let pace = || {
            let before = (now_ns(), cycles());
            sleep_until_ns(before.0 + 20_000_000);
            let after = (now_ns(), cycles());
            (after.1 - before.1) as f64 / (after.0 - before.0) as f64
        };
        let (first, second) = (pace(), pace());
        assert!(first > 0.0 && (first / second - 1.0).abs() < 0.05, "{first} and {second}");
    }

    #[test]
    fn a_thread_that_works_uses_cpu_time() {
        let before_ns = thread_cpu_ns();
        let sum: u64 = (0..2_000_000_u64).map(std::hint::black_box).sum();
        assert!(sum > 0 && thread_cpu_ns() > before_ns);
    }

    #[test]
    fn work_outside_the_kernel_counts_as_such() {
        let before = thread_cpu();
        // Long enough for many ticks of the kernel's clock, however slow this build is.
        while thread_cpu_ns() < before.total_ns + 200_000_000 {
            let sum: u64 = (0..200_000_u64).map(std::hint::black_box).sum();
            assert!(sum > 0);
        }
        let used = thread_cpu().since(before);
        assert!(used.user_ns > used.total_ns / 2, "{used:?}");
        assert!(used.user_ns <= used.total_ns + used.total_ns / 10, "{used:?}");
    }
}

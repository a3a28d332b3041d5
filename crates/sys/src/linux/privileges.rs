//! Privileges that a load generator has no use for.

use std::io;

use caps::{CapSet, Capability, CapsHashSet};

/// What some part of the program needs, where it has it: opening what the user may open, extended attributes,
/// looking at who else uses a target, priorities, locked memory, limits, kernel counters, devices.
const NEEDED: [Capability; 10] = [
    Capability::CAP_DAC_OVERRIDE,
    Capability::CAP_DAC_READ_SEARCH,
    Capability::CAP_FOWNER,
    Capability::CAP_IPC_LOCK,
    Capability::CAP_LEASE,
    Capability::CAP_PERFMON,
    Capability::CAP_SYS_ADMIN,
    Capability::CAP_SYS_NICE,
    Capability::CAP_SYS_PTRACE,
    Capability::CAP_SYS_RESOURCE,
];

/// Gives up what the process has beside `NEEDED`, such as loading modules, setting the clock, or becoming
/// another user, and takes care that no program it might start could gain any.
///
/// # Errors
/// If the kernel keeps one of them.
pub fn drop_unneeded() -> io::Result<()> {
    let needed: CapsHashSet = NEEDED.into_iter().collect();
    // Changing the bounding set is itself a privilege, so it comes first.
    if caps::has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP).map_err(io::Error::other)? {
        drop_from(CapSet::Bounding, &needed)?;
    }
    drop_from(CapSet::Ambient, &needed)?;
    for set in [CapSet::Effective, CapSet::Permitted, CapSet::Inheritable] {
        let kept = caps::read(None, set).map_err(io::Error::other)?;
        let kept = kept.intersection(&needed).copied().collect();
        caps::set(None, set, &kept).map_err(io::Error::other)?;
    }
    forbid_new()
}

fn drop_from(set: CapSet, needed: &CapsHashSet) -> io::Result<()> {
    let had = caps::read(None, set).map_err(io::Error::other)?;
    had.difference(needed).try_for_each(|one| caps::drop(None, set, *one)).map_err(io::Error::other)
}

fn forbid_new() -> io::Result<()> {
    // SAFETY: `prctl` with PR_SET_NO_NEW_PRIVS takes numbers only and touches no memory of ours; the unused
    // arguments must be 0 and are.
    let result = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

//! Which kernel events are counted, and whether this host allows it.

use fathom_sys::trace::{Clock, Group, Request, TraceError, probe};

use crate::request::{Profile, Tracing};

/// What is to be counted; nothing if the profile asks for none.
#[must_use]
pub fn request(profile: &Profile) -> Option<Request> {
    let tracing = profile.tracing.as_ref()?;
    Some(Request { groups: groups(tracing), clock: clock(tracing) })
}

/// Hard faults are part of all faults, and are not counted twice.
fn groups(tracing: &Tracing) -> Vec<Group> {
    let hard_only = tracing.memory_hard_faults && !tracing.memory_page_faults;
    let asked = [
        (tracing.disk_io, Group::DiskIo),
        (tracing.image_load, Group::ImageLoad),
        (tracing.memory_page_faults, Group::PageFaults),
        (hard_only, Group::HardFaults),
        (tracing.network, Group::Network),
        (tracing.process, Group::Process),
        (tracing.thread, Group::Thread),
    ];
    asked.into_iter().filter_map(|(asked, group)| asked.then_some(group)).collect()
}

/// Of several clocks the one wins that wins in `DiskSpd`.
fn clock(tracing: &Tracing) -> Clock {
    match (tracing.clock_cycles, tracing.clock_coarse) {
        (true, _) => Clock::Cycles,
        (false, true) => Clock::Coarse,
        (false, false) => Clock::Monotonic,
    }
}

/// The groups that are requested and cannot be counted by this process, with the reasons. Counters are
/// opened and closed again; nothing is counted.
#[must_use]
pub fn uncountable(profile: &Profile) -> Vec<(Group, TraceError)> {
    let groups = request(profile).map(|request| request.groups).unwrap_or_default();
    groups.into_iter().filter_map(|group| Some((group, probe(group).err()?))).collect()
}

/// The option that asks for a group.
#[must_use]
pub fn option(group: Group) -> &'static str {
    match group {
        Group::Process => "-ePROCESS",
        Group::Thread => "-eTHREAD",
        Group::ImageLoad => "-eIMAGE_LOAD",
        Group::DiskIo => "-eDISK_IO",
        Group::PageFaults => "-eMEMORY_PAGE_FAULTS",
        Group::HardFaults => "-eMEMORY_HARD_FAULTS",
        Group::Network => "-eNETWORK",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request_of(tracing: Tracing) -> Request {
        let profile = Profile { tracing: Some(tracing), ..Profile::default() };
        request(&profile).expect("a request")
    }

    #[test]
    fn a_profile_without_tracing_counts_nothing() {
        assert_eq!(request(&Profile::default()), None);
        assert_eq!(request_of(Tracing::default()).groups, []);
    }

    #[test]
    fn hard_faults_are_not_counted_twice() {
        let hard = Tracing { memory_hard_faults: true, ..Tracing::default() };
        assert_eq!(request_of(hard.clone()).groups, [Group::HardFaults]);
        let both = Tracing { memory_page_faults: true, ..hard };
        assert_eq!(request_of(both).groups, [Group::PageFaults]);
    }

    #[test]
    fn the_last_clock_of_diskspds_order_wins() {
        let all = |coarse, cycles| Tracing {
            clock_monotonic: true,
            clock_coarse: coarse,
            clock_cycles: cycles,
            ..Tracing::default()
        };
        assert_eq!(request_of(Tracing::default()).clock, Clock::Monotonic);
        assert_eq!(request_of(all(false, false)).clock, Clock::Monotonic);
        assert_eq!(request_of(all(true, false)).clock, Clock::Coarse);
        assert_eq!(request_of(all(true, true)).clock, Clock::Cycles);
    }
}

//! What ends a run before its end: a wish, or a lease that nobody renews.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use fathom_sys::clock::now_ns;

use crate::measure::EndedBy;

/// The wish to end a run, who has it, and the lease.
#[derive(Debug, Default)]
pub struct Stop {
    flag: Arc<AtomicBool>,
    by: OnceLock<EndedBy>,
    lease: Option<Lease>,
}

/// A run goes on for so long behind its last renewal.
#[derive(Debug)]
struct Lease {
    ns: u64,
    renewed_ns: AtomicU64,
}

impl Stop {
    /// A wish that is there once `flag` is true, which a handler of signals may set. With a lease the run
    /// ends by itself unless it is [renewed](Self::renew) so often; the first one begins now.
    #[must_use]
    pub fn new(flag: Arc<AtomicBool>, lease: Option<Duration>) -> Self {
        let whole_ns = |lease: Duration| u64::try_from(lease.as_nanos()).unwrap_or(u64::MAX);
        let lease =
            lease.map(|lease| Lease { ns: whole_ns(lease), renewed_ns: AtomicU64::new(now_ns()) });
        Self { flag, by: OnceLock::new(), lease }
    }

    /// Ends the run. The first who wants that is told.
    pub fn stop(&self, by: EndedBy) {
        let _first = self.by.set(by);
        self.flag.store(true, Ordering::Relaxed);
    }

    /// The lease begins again.
    pub fn renew(&self) {
        self.renew_at(now_ns());
    }

    fn renew_at(&self, at_ns: u64) {
        if let Some(lease) = &self.lease {
            lease.renewed_ns.fetch_max(at_ns, Ordering::Relaxed);
        }
    }

    /// Whether the run is to end.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    /// Whether the run is to end, also because its lease has run out by `now_ns`.
    pub(crate) fn is_due(&self, now_ns: u64) -> bool {
        if let Some(lease) = &self.lease
            && !self.is_wanted()
            && now_ns.saturating_sub(lease.renewed_ns.load(Ordering::Relaxed)) >= lease.ns
        {
            self.stop(EndedBy::Lease { lease_ns: lease.ns });
        }
        self.is_wanted()
    }

    /// Who ended the run, if anybody did.
    #[must_use]
    pub fn by(&self) -> Option<EndedBy> {
        self.is_wanted().then(|| self.by.get().cloned().unwrap_or(EndedBy::Signal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::NANOS_PER_SEC;

    fn leased(seconds: u64) -> (Stop, impl Fn(u64) -> u64) {
        let stop = Stop::new(Arc::default(), Some(Duration::from_secs(seconds)));
        let began_ns = stop.lease.as_ref().unwrap().renewed_ns.load(Ordering::Relaxed);
        (stop, move |seconds| began_ns + seconds * NANOS_PER_SEC)
    }

    #[test]
    fn a_lease_that_is_renewed_lasts_and_one_that_is_not_ends_the_run() {
        let (stop, at) = leased(10);
        assert!(!stop.is_due(at(9)));
        stop.renew_at(at(9));
        assert!(!stop.is_due(at(18)));
        assert_eq!(stop.by(), None);
        assert!(stop.is_due(at(19)));
        assert_eq!(stop.by(), Some(EndedBy::Lease { lease_ns: 10 * NANOS_PER_SEC }));
        // Too late.
        stop.renew_at(at(19));
        assert!(stop.is_due(at(20)));
    }

    #[test]
    fn a_renewal_that_comes_late_shortens_no_lease() {
        let (stop, at) = leased(10);
        stop.renew_at(at(5));
        stop.renew_at(at(2));
        assert!(!stop.is_due(at(14)));
    }

    #[test]
    fn without_a_lease_a_run_goes_on_for_ever() {
        let stop = Stop::default();
        stop.renew();
        assert!(!stop.is_due(u64::MAX));
    }

    #[test]
    fn the_first_who_ends_a_run_is_told_and_a_flag_alone_is_a_signal() {
        let flag = Arc::new(AtomicBool::new(false));
        let stop = Stop::new(Arc::clone(&flag), Some(Duration::from_secs(1)));
        flag.store(true, Ordering::Relaxed);
        assert!(stop.is_due(u64::MAX));
        assert_eq!(stop.by(), Some(EndedBy::Signal));
        let stop = Stop::default();
        let holder = || EndedBy::Holder { reason: "a host was lost".to_owned() };
        stop.stop(holder());
        stop.stop(EndedBy::Signal);
        assert_eq!(stop.by(), Some(holder()));
    }
}

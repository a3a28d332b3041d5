//! What excludes the settings of `DiskSpd` 2.3.

use super::Findings;
use crate::request::TimeSpan;

pub(super) fn check(span: &TimeSpan, findings: &mut Findings) {
    let tuning = &span.tuning;
    let mapped = span.targets.iter().filter(|target| target.memory_mapped).count();
    findings.error_if(
        span.disable_affinity && span.cpu_order.is_given(),
        "-n (no affinity) and -a (order of CPUs) cannot be used together",
    );
    findings.error_if(
        tuning.ring.is_some() && span.alternate_completion,
        "-u (ring) cannot be used with -x (completion routines)",
    );
    findings.error_if(
        tuning.ring.is_some() && mapped > 0,
        "-u (ring) cannot be used with memory mapped I/O (-Sm)",
    );
    if tuning.completion_depth.is_none() {
        return;
    }
    findings.error_if(
        span.alternate_completion,
        "-oc (completion depth) cannot be used with -x (completion routines)",
    );
    findings.error_if(
        mapped > 0 && mapped == span.targets.len(),
        "-oc (completion depth) cannot be used if all targets are memory mapped (-Sm)",
    );
}

//! Whether the kernel events that were requested can be counted on this host.

use super::Resolver;
use crate::plan::tracing::option;

impl Resolver<'_> {
    pub(super) fn check_tracing(&mut self) {
        let Some(tracing) = &self.profile.tracing else { return };
        for (group, error) in &self.facts.uncountable {
            let message = format!("{} cannot count on this host: {}", option(*group), error.why);
            self.findings.request(message, &error.remedy);
        }
        if tracing.registry {
            let evidence = "-eREGISTRY counts nothing: there is a registry on Windows only";
            self.findings.no_effect(evidence, "leave it out");
        }
        if tracing.paged_memory {
            let evidence =
                "-ep has no effect: nothing is counted in memory that could be paged out";
            self.findings.no_effect(evidence, "leave it out");
        }
    }
}

//! Whether a site needs a certificate. A site with http works without one.

use super::ToolState;
use crate::checks::run::Run;
use crate::checks::tool::Tool;
use crate::issues::evaluate::{Evaluation, ssl};
use crate::sites::site::Site;

impl ToolState {
    /// Whether a missing or invalid certificate is a fault of the site, according to the state of its `ssl` tool. That
    /// of a site with http is none, unless the site's own settings enable the tool, or its host had a valid
    /// certificate before.
    pub fn needs_certificate(&self, site: &Site) -> bool {
        let is_chosen = site.overrides.tools.enabled(Tool::Ssl) == Some(true);
        site.url.is_https() || is_chosen || self.had_certificate
    }

    /// The evaluations of a run that count.
    pub(super) fn needed(&self, run: &Run, evaluations: Vec<Evaluation>) -> Vec<Evaluation> {
        if run.tool() != Tool::Ssl || self.needs_certificate(&run.site) {
            return evaluations;
        }
        ssl::without_need(evaluations, run.site.url.domain())
    }

    /// The state after the site moved to another host.
    #[must_use]
    pub fn on_another_host(self) -> Self {
        Self { had_certificate: false, ..self }
    }
}

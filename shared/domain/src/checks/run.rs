//! A run of a tool on a site. It keeps this form from the message that requests it to the commit that saves it.

use jiff::Timestamp;

use crate::accounts::team::Team;
use crate::checks::check::{DnsBaseline, Finish};
use crate::checks::policy::ToolPolicy;
use crate::checks::schedule::TimeScale;
use crate::checks::tool::Tool;
use crate::id::CheckId;
use crate::issues::evaluate::{Evaluation, evaluate};
use crate::issues::tracker::TrackerPolicy;
use crate::issues::{Fingerprint, Severity};
use crate::sites::settings::Settings;
use crate::sites::site::Site;

/// A run, with everything that was decided when it began.
#[derive(Debug, Clone)]
pub struct Run {
    /// The check that the run creates or finishes. It contains the tool, trigger and slot.
    pub check: CheckId,
    /// The site.
    pub site: Site,
    /// The site's team.
    pub team: Team,
    /// The site's settings: those of its team and its own, as far as the plan allows.
    pub settings: Settings,
    /// The length of a monitoring minute.
    pub time_scale: TimeScale,
}

impl Run {
    /// The tool.
    pub const fn tool(&self) -> Tool {
        self.check.tool()
    }

    /// What the end of the run says about issues `now`: nothing, unless the run is automatic and completed. `baseline`
    /// are the records that earlier DNS checks have learned.
    pub fn evaluate(
        &self,
        finish: &Finish,
        baseline: Option<&DnsBaseline>,
        now: Timestamp,
    ) -> Vec<Evaluation> {
        match finish {
            Finish::Completed(result) if self.check.is_automatic() => {
                let Site { expected_records, expectations, .. } = &self.site;
                evaluate(result, &self.settings, expected_records, expectations, baseline, now)
            }
            _ => Vec::new(),
        }
    }

    /// Until when the site is in maintenance, if the run began or ended in a maintenance window. Such a run is not an
    /// observation. `now` is when it ended.
    pub fn maintenance_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.team.windows.until(self.site.id, &self.site.tags, self.check.created_at(), now)
    }

    /// When issues of a fingerprint open and resolve.
    pub fn thresholds_of(&self, fingerprint: Fingerprint) -> TrackerPolicy {
        let expected = self.site.expectations.policy_of(fingerprint);
        expected.map_or_else(|| self.policy().thresholds_of(fingerprint), |of| of.thresholds())
    }

    /// The severity of an issue that opens, if it is not that of its fingerprint.
    pub fn chosen_severity(&self, fingerprint: Fingerprint) -> Option<Severity> {
        let chosen = self.site.expectations.policy_of(fingerprint)?.severity;
        (chosen != fingerprint.severity()).then_some(chosen)
    }

    /// How the result is judged and followed up.
    pub fn policy(&self) -> ToolPolicy {
        ToolPolicy::of(self.tool(), &self.settings)
    }

    /// How long the team's plan keeps the check, in days.
    pub const fn retention_days(&self) -> u32 {
        self.team.plan.limits().history_retention_days
    }
}

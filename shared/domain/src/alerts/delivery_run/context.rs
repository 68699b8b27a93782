//! What stays the same throughout a delivery run.

use jiff::Timestamp;

use crate::accounts::team::Team;
use crate::alerts::channel::Channel;
use crate::alerts::due::AlertPolicy;
use crate::alerts::ended::EndReason;
use crate::checks::schedule::TimeScale;
use crate::issues::record::Issue;
use crate::sites::settings::Settings;
use crate::sites::site::Site;

/// What stays the same throughout a run.
#[derive(Debug, Clone, Copy)]
pub struct DeliveryContext<'a> {
    /// The channel that the run delivers to.
    pub channel: &'a Channel,
    /// Its team.
    pub team: &'a Team,
    /// The team's settings.
    pub settings: &'a Settings,
    /// How long a monitoring minute is.
    pub time_scale: TimeScale,
    /// Where the service's pages are, without a slash at the end; none where nobody said.
    pub pages_base: Option<&'a str>,
}

impl<'a> DeliveryContext<'a> {
    /// What decides what is due of an issue.
    pub(super) fn policy(&self, issue: &Issue, site: &Site) -> AlertPolicy<'a> {
        let settings = Settings::resolve(self.settings, &site.overrides, self.team.plan);
        let ended = EndReason::of(issue.id.fingerprint().tool(), self.team, &settings);
        AlertPolicy::of(self.channel, (self.team, self.settings), ended, self.time_scale)
    }

    /// When the quiet time that an instant lies in ends; none where it lies in none.
    pub(super) fn quiet_until(&self, at: Timestamp) -> Option<Timestamp> {
        self.settings.quiet_time.until(at, &self.team.zone)
    }
}

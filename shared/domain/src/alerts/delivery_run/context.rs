//! What stays the same during a delivery run.

use jiff::{SignedDuration, Timestamp};

use crate::accounts::team::Team;
use crate::alerts::channel::Channel;
use crate::alerts::compose::AlertSubject;
use crate::alerts::delivery::DeliveryState;
use crate::alerts::due::AlertPolicy;
use crate::alerts::ended::EndReason;
use crate::checks::schedule::TimeScale;
use crate::issues::record::Issue;
use crate::monitor::Monitor;
use crate::sites::settings::Settings;
use crate::time_zone::NamedZone;

/// What stays the same during a run.
#[derive(Debug, Clone, Copy)]
pub struct DeliveryContext<'a> {
    /// The channel that the run delivers to.
    pub channel: &'a Channel,
    /// Its team.
    pub team: &'a Team,
    /// The time zone of the times in messages for people.
    pub zone: &'a NamedZone,
    /// The team's settings.
    pub settings: &'a Settings,
    /// How long a monitoring minute is.
    pub time_scale: TimeScale,
    /// The base URL of the dashboard, without a trailing slash; `None` if it is not configured.
    pub pages_base: Option<&'a str>,
}

impl<'a> DeliveryContext<'a> {
    /// The rules for what is due about an issue.
    pub(super) fn policy<'s>(&self, issue: &Issue, monitor: &'s Monitor) -> AlertPolicy<'s>
    where
        'a: 's,
    {
        let settings = Settings::resolve(self.settings, &monitor.overrides(), self.team.plan);
        let ended = EndReason::of(issue.id.fingerprint().tool(), self.team, &settings);
        AlertPolicy::of(self.channel, (self.team, self.settings), monitor, ended, self.time_scale)
    }

    /// An issue for its alert, without the users who decided about it.
    pub(super) fn subject<'s>(
        &self,
        delivery: &DeliveryState,
        issue: &'s Issue,
        monitor: &'s Monitor,
    ) -> AlertSubject<'s>
    where
        'a: 's,
    {
        let is_deleted = delivery.deleted.is_some();
        AlertSubject {
            issue,
            monitor,
            team: self.team,
            zone: self.zone,
            acknowledged_by: None,
            resolved_by: None,
            base_url: self.pages_base.filter(|_| !is_deleted),
            ended: match is_deleted {
                true => Some(EndReason::SiteDeleted),
                false => self.policy(issue, monitor).ended.filter(|_| issue.lifecycle.is_active()),
            },
            channel: Some(self.channel),
        }
    }

    /// The time between two snapshots; `None` if the channel is sent none.
    pub(super) fn period(&self) -> Option<SignedDuration> {
        let minutes = self.channel.target.kind().period_minutes()?;
        self.time_scale.minutes(minutes).try_into().ok()
    }

    /// The end of the quiet time at an instant; `None` if it is not in quiet time.
    pub(super) fn quiet_until(&self, at: Timestamp) -> Option<Timestamp> {
        self.settings.quiet_time.until(at, &self.team.zone)
    }
}

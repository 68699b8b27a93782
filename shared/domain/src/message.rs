//! Queue messages. A message contains nothing that is not in the table.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use uuid::Uuid;

use crate::accounts::session::SessionHash;
use crate::checks::schedule::TimeScale;
use crate::checks::tool::{RunReason, Tool};
use crate::id::{
    ChannelId, CheckId, HeartbeatId, IssueId, ListId, MonitorId, Partition, SiteId, StatusPageId,
    SubscriptionId, TeamId, Trigger, UserId,
};
use crate::reports::ReportPeriod;
use crate::sites::site::Site;
use crate::status_pages::MailingTopic;

/// A message to one of the service's queues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// For the queue of the tool.
    Check(CheckMessage),
    /// For the queue of the reconciler.
    #[serde(rename = "maintenance")]
    Reconcile(ReconcileMessage),
    /// For the alert queue.
    Alert(AlertMessage),
    /// For the queue of transactional emails.
    Mail(MailRequest),
}

impl Message {
    /// The team or user for whom the message is sent. Queues let them take turns.
    pub const fn sender(&self) -> Uuid {
        match self {
            Self::Check(CheckMessage { team, .. })
            | Self::Reconcile(
                ReconcileMessage::Sync { team, .. }
                | ReconcileMessage::Purge { team, .. }
                | ReconcileMessage::SyncTeam(team)
                | ReconcileMessage::Publish { team, .. }
                | ReconcileMessage::Rebuild { team, .. }
                | ReconcileMessage::Deadline { team, .. }
                | ReconcileMessage::Report(team),
            )
            | Self::Alert(
                AlertMessage::Issue { team, .. }
                | AlertMessage::Channel { team, .. }
                | AlertMessage::Unchecked { team, .. }
                | AlertMessage::Team(team)
                | AlertMessage::Rebuild(team),
            )
            | Self::Mail(
                MailRequest::Invitation { team, .. }
                | MailRequest::Subscription { team, .. }
                | MailRequest::Mailing { team, .. }
                | MailRequest::Report { team, .. },
            ) => team.0,
            Self::Mail(MailRequest::SignIn { user, .. }) => user.0,
        }
    }
}

/// Requests one run of a tool on a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckMessage {
    /// The site's team, which never changes.
    pub team: TeamId,
    /// The site.
    pub site: SiteId,
    /// The tool.
    pub tool: Tool,
    /// Which run.
    #[serde(flatten)]
    pub order: RunOrder,
}

/// Which run of a tool is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RunOrder {
    /// The pending on-demand check with this id.
    OnDemand {
        /// The check.
        check: CheckId,
    },
    /// The automatic run at a slot.
    Automatic {
        /// Why it runs.
        reason: RunReason,
        /// The slot that identifies the run.
        slot: Timestamp,
    },
}

impl CheckMessage {
    /// Requests the run of a check.
    pub fn of(site: &Site, check: CheckId) -> Self {
        let order = match check.trigger() {
            Trigger::OnDemand => RunOrder::OnDemand { check },
            Trigger::Automatic(reason) => RunOrder::Automatic { reason, slot: check.created_at() },
        };
        Self { team: site.team, site: site.id, tool: check.tool(), order }
    }

    /// The id of the run's check.
    pub fn check_id(&self) -> CheckId {
        match self.order {
            RunOrder::OnDemand { check } => check,
            RunOrder::Automatic { reason, slot } => {
                CheckId::automatic(self.site, self.tool, reason, slot)
            }
        }
    }

    /// The same scheduled run a millisecond later, for a slot that was used before the clock was set back. `None` if it
    /// is not a scheduled run: no schedule would repeat it.
    pub fn a_millisecond_later(self) -> Option<Self> {
        let RunOrder::Automatic { reason: RunReason::Scheduled, slot } = self.order else {
            return None;
        };
        let slot = slot.saturating_add(SignedDuration::from_millis(1)).ok()?;
        let order = RunOrder::Automatic { reason: RunReason::Scheduled, slot };
        Some(Self { order, ..self })
    }

    /// The message to handle now. A scheduled run that is a cadence or more late becomes the run of the newest slot
    /// that is due. So of all slots that passed while a queue stood still, only one is probed, and the other messages
    /// find it counted.
    #[must_use]
    pub fn caught_up(self, time_scale: TimeScale, cadence_minutes: u32, now: Timestamp) -> Self {
        match self.order {
            RunOrder::Automatic { reason: RunReason::Scheduled, slot }
                if slot
                    .checked_add(time_scale.minutes(cadence_minutes))
                    .is_ok_and(|next| next <= now) =>
            {
                let slot =
                    time_scale.latest_at_or_before(self.site, self.tool, cadence_minutes, now);
                let order = RunOrder::Automatic { reason: RunReason::Scheduled, slot };
                Self { order, ..self }
            }
            _ => self,
        }
    }
}

/// Requests that the reconciler brings something in line with the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReconcileMessage {
    /// Make one site's schedules follow its settings, and start the first runs of a new site.
    Sync {
        /// The site's team.
        team: TeamId,
        /// The site.
        site: SiteId,
    },
    /// Remove what is left of a deleted site or heartbeat.
    Purge {
        /// Its team.
        team: TeamId,
        /// The site or heartbeat.
        site: MonitorId,
    },
    /// Sync every site of a team.
    #[serde(rename = "resync")]
    SyncTeam(TeamId),
    /// Repair the timers of a team's sites, in the order of their partitions.
    Rebuild {
        /// The team.
        team: TeamId,
        /// The last site that was repaired.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<Partition>,
    },
    /// Look at a heartbeat whose deadline has passed.
    Deadline {
        /// The team.
        team: TeamId,
        /// The heartbeat.
        heartbeat: HeartbeatId,
        /// The deadline.
        due: Timestamp,
    },
    /// Publish a status page.
    Publish {
        /// The team.
        team: TeamId,
        /// The page.
        page: StatusPageId,
    },
    /// Make the reports of a team that are due.
    Report(TeamId),
}

/// Requests that the notifier updates channels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlertMessage {
    /// An issue changed. Tell the channels that need to know.
    Issue {
        /// The team.
        team: TeamId,
        /// The issue.
        issue: IssueId,
    },
    /// Send what is due to one channel.
    Channel {
        /// The team.
        team: TeamId,
        /// The channel.
        channel: ChannelId,
    },
    /// Tell the owners of a site's team that the site can't be checked.
    Unchecked {
        /// The team.
        team: TeamId,
        /// The site.
        site: SiteId,
    },
    /// The times at which a team's alerts are due have changed.
    Team(TeamId),
    /// Correct what the channels of a team know about its issues.
    Rebuild(TeamId),
}

/// Requests a transactional email, whose link lets its reader in, or emails to subscribers of a status page and to the
/// recipients of reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailRequest {
    /// Send a user a sign-in link.
    SignIn {
        /// The user.
        user: UserId,
        /// When it was requested. If it is too old, nobody waits for it any more.
        asked_at: Timestamp,
    },
    /// Send an invitation to the address that it is for.
    Invitation {
        /// The team.
        team: TeamId,
        /// The hash under which the team lists the invitation.
        invitation: SessionHash,
    },
    /// Ask a reader to confirm a subscription.
    Subscription {
        /// The team.
        team: TeamId,
        /// The list that the subscription is on.
        #[serde(rename = "page")]
        list: ListId,
        /// The subscription.
        subscription: SubscriptionId,
    },
    /// Send readers what is new about an incident, or the report of a period.
    Mailing {
        /// The team.
        team: TeamId,
        /// The readers.
        #[serde(rename = "page")]
        list: ListId,
        /// What it is about.
        #[serde(rename = "incident")]
        topic: MailingTopic,
    },
    /// Send a member a report that they have requested.
    Report {
        /// The team.
        team: TeamId,
        /// The period.
        period: ReportPeriod,
        /// The group that the report is about; `None` for the whole team.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<String>,
        /// The member.
        user: UserId,
        /// When they requested it. If that is too long ago, nobody waits for it any more.
        asked_at: Timestamp,
    },
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    fn team() -> TeamId {
        TeamId::parse("7e0c1d4a-3b52-4f86-9c1e-2a5d8f604b13").expect("a team id")
    }

    fn site() -> SiteId {
        SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a site id")
    }

    fn automatic(reason: RunReason, slot: Timestamp) -> CheckMessage {
        let order = RunOrder::Automatic { reason, slot };
        CheckMessage { team: team(), site: site(), tool: Tool::Status, order }
    }

    #[test]
    fn messages_have_a_stable_form() {
        let (team, site) = (team(), site());
        let slot: Timestamp = "2026-11-20T09:54:00Z".parse().expect("a timestamp");
        let check = CheckId::on_demand(site, Tool::BrokenLinks, slot, 3);
        let order = RunOrder::OnDemand { check };
        let on_demand = CheckMessage { team, site, tool: Tool::BrokenLinks, order };
        for (message, form) in [
            (
                automatic(RunReason::Scheduled, slot),
                r#"{"team":"7e0c1d4a-3b52-4f86-9c1e-2a5d8f604b13","site":"0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01","tool":"status","reason":"scheduled","slot":"2026-11-20T09:54:00Z"}"#,
            ),
            (
                on_demand,
                r#"{"team":"7e0c1d4a-3b52-4f86-9c1e-2a5d8f604b13","site":"0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01","tool":"broken-links","check":"01a1f860-8ec0-8603-8a55-6c1f3b7d9e01"}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&message).expect("json"), form);
            assert_eq!(serde_json::from_str::<CheckMessage>(form).expect("a message"), message);
        }
        let sync = serde_json::to_string(&ReconcileMessage::Sync { team, site }).expect("json");
        assert_eq!(
            sync,
            r#"{"sync":{"team":"7e0c1d4a-3b52-4f86-9c1e-2a5d8f604b13","site":"0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01"}}"#
        );
    }

    #[test]
    fn a_scheduled_run_that_is_a_cadence_late_is_that_of_the_youngest_slot() {
        const CADENCE: u32 = 5;
        let time_scale = TimeScale::default();
        let start = "2026-11-20T09:54:00Z".parse().expect("a timestamp");
        let slot = time_scale.next_after(site(), Tool::Status, CADENCE, start);
        let later = |seconds| slot + SignedDuration::from_secs(seconds);
        let scheduled = automatic(RunReason::Scheduled, slot);
        for (late, runs_as) in [(-30, 0), (0, 0), (299, 0), (300, 300), (599, 300), (3_700, 3_600)]
        {
            let message = scheduled.caught_up(time_scale, CADENCE, later(late));
            let expected = automatic(RunReason::Scheduled, later(runs_as));
            assert_eq!(message, expected, "{late} seconds late");
        }
        // The table asks for retries and follow-ups at their own times.
        for reason in [RunReason::ConfirmationRetry, RunReason::IncidentFollowUp] {
            let timed = automatic(reason, slot);
            assert_eq!(timed.caught_up(time_scale, CADENCE, later(3_700)), timed);
        }
    }
}

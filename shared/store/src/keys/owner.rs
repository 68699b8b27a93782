//! What outstanding work belongs to, read from the key of its item.

use vedette_domain::checks::tool::Tool;
use vedette_domain::id::{ChannelId, ListId, Partition, StatusPageId, TeamId};
use vedette_domain::issues::Fingerprint;
use vedette_domain::status_pages::MailingTopic;

use super::{Key, MAILING, OUTBOX, Prefix, SELF, TOOL, UNCHECKED_NOTICE};

/// What an item with outstanding work is, according to its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Owner {
    /// A site whose schedules do not follow its settings yet, or that was deleted.
    Site(Partition),
    /// A tool with a timer or a pending check.
    Tool(Partition, Tool),
    /// A heartbeat with a deadline.
    Deadline(Partition),
    /// A site that can't be checked, of which the owners of its team must hear.
    Unchecked(Partition),
    /// A team whose sites' schedules do not follow its plan and settings yet.
    Team(TeamId),
    /// Changes of an issue that channels do not know yet.
    Outbox(Partition, Fingerprint),
    /// A channel that something waits to be sent to.
    Channel(TeamId, ChannelId),
    /// A team whose alerts need new due times.
    TeamAlerts(TeamId),
    /// A status page that must be published, or was deleted.
    Publication(TeamId, StatusPageId),
    /// A team whose next report must be made.
    Reports(TeamId),
    /// What subscribers still have to be sent about an incident or a period.
    Mailing(ListId, MailingTopic),
}

pub(crate) fn owner(key: &Key) -> Option<Owner> {
    if let Some(hex) = key.pk.strip_prefix(Prefix::Site.as_str()) {
        let partition = Partition(u64::from_str_radix(hex, 16).ok()?);
        if key.sk == SELF {
            return Some(Owner::Site(partition));
        }
        if key.sk == UNCHECKED_NOTICE {
            return Some(Owner::Unchecked(partition));
        }
        if let Some(change) = key.sk.strip_prefix(OUTBOX) {
            let (fingerprint, _) = change.split_once('#')?;
            return Some(Owner::Outbox(partition, Fingerprint::parse(fingerprint)?));
        }
        let sort = key.sk.strip_prefix(TOOL)?;
        if sort == Tool::Heartbeat.as_str() {
            return Some(Owner::Deadline(partition));
        }
        return Some(Owner::Tool(partition, Tool::parse(sort)?));
    }
    if let Some(place) = key.pk.strip_prefix(Prefix::Delivery.as_str()) {
        return match place.split_once('#') {
            Some((team, channel)) => {
                Some(Owner::Channel(TeamId::parse(team)?, ChannelId::parse(channel)?))
            }
            None => TeamId::parse(place).map(Owner::TeamAlerts),
        };
    }
    if let Some(team) = key.pk.strip_prefix(Prefix::Publication.as_str()) {
        return Some(Owner::Publication(TeamId::parse(team)?, StatusPageId::parse(&key.sk)?));
    }
    if let Some(list) = key.pk.strip_prefix(Prefix::Subscription.as_str()) {
        let topic = MailingTopic::parse(key.sk.strip_prefix(MAILING)?)?;
        return Some(Owner::Mailing(ListId::parse(list)?, topic));
    }
    if let Some(team) = key.pk.strip_prefix(Prefix::Report.as_str()) {
        return (key.sk == SELF).then_some(Owner::Reports(TeamId::parse(team)?));
    }
    let team = TeamId::parse(key.pk.strip_prefix(Prefix::Team.as_str())?)?;
    (key.sk == SELF).then_some(Owner::Team(team))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use jiff::civil::date;
    use vedette_domain::id::{IncidentId, IssueId, SiteId};
    use vedette_domain::reports::ReportPeriod;

    use super::super::{
        channel_state, day, delivery, mailing, outbox, publication, queued, report_schedule, site,
        team, team_alerts, team_settings, tool, unchecked_notice,
    };
    use super::*;

    #[test]
    fn the_owner_of_work_is_told_by_its_key() {
        let partition = Partition(0x0a55_6c1f_3b7d_9e01);
        let team_id = TeamId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a team id");
        assert_eq!(owner(&site(partition)), Some(Owner::Site(partition)));
        assert_eq!(
            owner(&tool(partition, Tool::BrokenLinks)),
            Some(Owner::Tool(partition, Tool::BrokenLinks))
        );
        assert_eq!(owner(&tool(partition, Tool::Heartbeat)), Some(Owner::Deadline(partition)));
        assert_eq!(owner(&unchecked_notice(partition)), Some(Owner::Unchecked(partition)));
        assert_eq!(owner(&team(team_id)), Some(Owner::Team(team_id)));
        assert_eq!(owner(&team_alerts(team_id)), Some(Owner::TeamAlerts(team_id)));
        let site = SiteId(team_id.0);
        let issue_id = IssueId::new(site, Fingerprint::StatusDown, Timestamp::UNIX_EPOCH);
        let change = Owner::Outbox(issue_id.partition(), Fingerprint::StatusDown);
        assert_eq!(owner(&outbox(issue_id, 7, None)), Some(change));
        assert_eq!(owner(&outbox(issue_id, 7, Some(3))), Some(change));
        let channel_id = ChannelId(team_id.0);
        let channel = Some(Owner::Channel(team_id, channel_id));
        for key in [
            channel_state(team_id, channel_id),
            delivery(team_id, channel_id, issue_id),
            queued(team_id, channel_id, "test", "0"),
        ] {
            assert_eq!(owner(&key), channel);
        }
        let page = StatusPageId(team_id.0);
        assert_eq!(owner(&publication(team_id, page)), Some(Owner::Publication(team_id, page)));
        let month = ReportPeriod::Month(date(2026, 11, 1));
        for topic in [MailingTopic::Incident(IncidentId(team_id.0)), MailingTopic::Report(month)] {
            let list = ListId::from(page);
            assert_eq!(owner(&mailing(list, topic)), Some(Owner::Mailing(list, topic)));
        }
        assert_eq!(owner(&report_schedule(team_id)), Some(Owner::Reports(team_id)));
        assert_eq!(owner(&team_settings(team_id)), None);
        assert_eq!(owner(&day(partition, Tool::Dns, date(2026, 11, 20))), None);
    }
}

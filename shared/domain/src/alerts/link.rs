//! The paths of the dashboard's pages, and the links to them in alerts.

use url::form_urlencoded;

use super::channel::{Channel, LinkKey};
use crate::accounts::session::SessionSecret;
use crate::id::{ChannelId, HeartbeatId, IssueId, SiteId, TeamId};
use crate::monitor::Monitor;
use crate::reports::ReportPeriod;
use crate::status_pages::{PageAddress, Subscription};

/// The path of an issue's page.
pub const ISSUE: &str = "/issues/{issue}";
/// The path of a site's page.
pub const SITE: &str = "/sites/{site}";
/// The path of a heartbeat's page.
pub const HEARTBEAT: &str = "/teams/{team}/heartbeats/{heartbeat}";
/// The path of the page of a team's events.
pub const EVENTS: &str = "/teams/{team}/events";
/// The path of the page of a team's channels.
pub const CHANNELS: &str = "/teams/{team}/channels";
/// The path of the page that confirms an address.
pub const CONFIRM: &str = "/channels/{team}/{channel}/confirm";
/// The path of the page that unsubscribes an address.
pub const UNSUBSCRIBE: &str = "/channels/{team}/{channel}/unsubscribe";
/// The path of the page where the readers of a message respond to its issue; see
/// [`ReaderLink`](super::reader_link::ReaderLink).
pub const READER: &str = "/channels/{team}/{channel}/issues/{issue}";
/// The path of the page that says how to sign in.
pub const SIGN_IN: &str = "/sign-in";
/// The path of a sign-in link, which works once.
pub const SIGN_IN_LINK: &str = "/sign-in/{secret}";
/// The path of the setup link, which works once.
pub const SETUP: &str = "/setup/{secret}";
/// The path that leads to the OpenID provider.
pub const SIGN_IN_WITH_PROVIDER: &str = "/oidc";
/// The path that the provider sends people back to.
pub const PROVIDER_ANSWER: &str = "/oidc/callback";
/// The path of a link that accepts an invitation. It works once.
pub const INVITATION: &str = "/join/{secret}";
/// The path where the same link declines it.
pub const DECLINED_INVITATION: &str = "/join/{secret}/decline";
/// The path of the calendar feed of a team's maintenance windows.
pub const CALENDAR: &str = "/calendars/{team}/maintenance.ics";
/// The path of a report of a team.
pub const REPORT: &str = "/teams/{team}/reports/{period}";
/// The path of a published status page.
pub const STATUS_PAGE: &str = "/status/{address}";
/// The path of the page where readers subscribe to a status page.
pub const SUBSCRIBE: &str = "/subscribe/{address}";
/// The path of the page that confirms a subscription.
pub const CONFIRM_SUBSCRIPTION: &str = "/subscriptions/{list}/{subscription}/confirm";
/// The path of the page that ends a subscription.
pub const END_SUBSCRIPTION: &str = "/subscriptions/{list}/{subscription}/unsubscribe";
/// The query parameter with the key of a channel, a subscription or a calendar feed.
pub const KEY: &str = "key";

/// An issue's page, below the base URL, which has no trailing slash.
pub fn issue(base: &str, issue: IssueId) -> String {
    format!("{base}{}", ISSUE.replace("{issue}", &issue.to_string()))
}

/// A site's page.
pub fn site(base: &str, site: SiteId) -> String {
    format!("{base}{}", SITE.replace("{site}", &site.to_string()))
}

/// A heartbeat's page.
pub fn heartbeat(base: &str, team: TeamId, heartbeat: HeartbeatId) -> String {
    let path = HEARTBEAT.replace("{team}", &team.to_string());
    format!("{base}{}", path.replace("{heartbeat}", &heartbeat.to_string()))
}

/// The page of a site or a heartbeat.
pub fn monitor(base: &str, monitor: &Monitor) -> String {
    match monitor {
        Monitor::Site(of) => site(base, of.id),
        Monitor::Heartbeat(of) => heartbeat(base, of.team, of.id),
    }
}

/// The page of a team's events: its active and resolved issues.
pub fn events(base: &str, team: TeamId) -> String {
    format!("{base}{}", EVENTS.replace("{team}", &team.to_string()))
}

/// A channel on the page of its team's channels.
pub fn channel(base: &str, team: TeamId, channel: ChannelId) -> String {
    format!("{base}{}#{channel}", CHANNELS.replace("{team}", &team.to_string()))
}

/// The calendar feed of a team's maintenance windows.
pub fn calendar(base: &str, team: TeamId, key: &LinkKey) -> String {
    format!("{base}{}?{KEY}={}", CALENDAR.replace("{team}", &team.to_string()), key.reveal())
}

/// A report of a team, about all of its sites or about those of a group.
pub fn report(base: &str, team: TeamId, period: ReportPeriod, group: Option<&str>) -> String {
    let path = REPORT.replace("{team}", &team.to_string());
    let path = path.replace("{period}", &period.to_string());
    let group = group.map(|group| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        format!("?{}", query.append_pair("group", group).finish())
    });
    format!("{base}{path}{}", group.unwrap_or_default())
}

/// A published status page.
pub fn status_page(base: &str, address: &PageAddress) -> String {
    format!("{base}{}", STATUS_PAGE.replace("{address}", address.reveal()))
}

/// Where readers subscribe to a status page.
pub fn subscribe(base: &str, address: &PageAddress) -> String {
    format!("{base}{}", SUBSCRIBE.replace("{address}", address.reveal()))
}

/// Where the reader of an address confirms a subscription.
pub fn confirm_subscription(base: &str, subscription: &Subscription) -> String {
    of_subscription(base, CONFIRM_SUBSCRIPTION, subscription)
}

/// Where a subscriber unsubscribes: a POST does it, and a GET asks first.
pub fn end_subscription(base: &str, subscription: &Subscription) -> String {
    of_subscription(base, END_SUBSCRIPTION, subscription)
}

fn of_subscription(base: &str, path: &str, subscription: &Subscription) -> String {
    let path = path.replace("{list}", &subscription.list.to_string());
    let path = path.replace("{subscription}", &subscription.id.to_string());
    format!("{base}{path}?{KEY}={}", subscription.key.reveal())
}

/// A sign-in link.
pub fn sign_in(base: &str, secret: &SessionSecret) -> String {
    format!("{base}{}", SIGN_IN_LINK.replace("{secret}", &secret.reveal()))
}

/// A setup link.
pub fn setup(base: &str, secret: &SessionSecret) -> String {
    format!("{base}{}", SETUP.replace("{secret}", &secret.reveal()))
}

/// A link that accepts an invitation.
pub fn invitation(base: &str, secret: &SessionSecret) -> String {
    format!("{base}{}", INVITATION.replace("{secret}", &secret.reveal()))
}

/// The path where an invited person declines.
pub fn declined_invitation(base: &str, secret: &SessionSecret) -> String {
    format!("{base}{}", DECLINED_INVITATION.replace("{secret}", &secret.reveal()))
}

/// Where the reader of an address confirms it.
pub fn confirm(base: &str, channel: &Channel) -> String {
    of_channel(base, CONFIRM, channel)
}

/// Where the reader of an address unsubscribes it: a POST does it, and a GET asks first.
pub fn unsubscribe(base: &str, channel: &Channel) -> String {
    of_channel(base, UNSUBSCRIBE, channel)
}

fn of_channel(base: &str, path: &str, channel: &Channel) -> String {
    let path = path.replace("{team}", &channel.team.to_string());
    let path = path.replace("{channel}", &channel.id.to_string());
    format!("{base}{path}?{KEY}={}", channel.key.reveal())
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use uuid::Uuid;

    use super::*;
    use crate::alerts::channel::{Filter, Target};
    use crate::id::SiteId;
    use crate::issues::Fingerprint;

    #[test]
    fn links_name_what_they_are_about() {
        let now = Timestamp::from_second(1_795_000_000).expect("a timestamp");
        let (base, site) = ("https://alerts.example.com", SiteId(Uuid::from_u128(1)));
        let id = IssueId::new(site, Fingerprint::StatusDown, now);
        assert_eq!(issue(base, id), format!("https://alerts.example.com/issues/{id}"));
        let target = Target::email("ada@example.com").expect("an address");
        let (channel, team) = (ChannelId(Uuid::from_u128(2)), TeamId(Uuid::from_u128(3)));
        let key = LinkKey::from_random([7; LinkKey::BYTES]);
        assert_eq!(
            super::channel(base, team, channel),
            "https://alerts.example.com/teams/00000000-0000-0000-0000-000000000003/channels\
             #00000000-0000-0000-0000-000000000002"
        );
        let channel = Channel::new(channel, team, "Ada", target, Filter::default(), key, now);
        let place = "https://alerts.example.com/channels/00000000-0000-0000-0000-000000000003/\
                     00000000-0000-0000-0000-000000000002";
        let key = "key=07070707070707070707070707070707";
        assert_eq!(confirm(base, &channel), format!("{place}/confirm?{key}"));
        assert_eq!(unsubscribe(base, &channel), format!("{place}/unsubscribe?{key}"));
    }
}

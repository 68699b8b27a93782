//! Where the service's pages are: the paths that it serves, and the links to them in alerts.

use super::channel::Channel;
use crate::accounts::session::SessionSecret;
use crate::id::{ChannelId, IssueId, TeamId};

/// The path of an issue's page.
pub const ISSUE: &str = "/issues/{issue}";
/// The path of the page of a team's events.
pub const EVENTS: &str = "/teams/{team}/events";
/// The path of the page of a team's channels.
pub const CHANNELS: &str = "/teams/{team}/channels";
/// The path of the page on which an address is confirmed.
pub const CONFIRM: &str = "/channels/{team}/{channel}/confirm";
/// The path of the page on which an address is unsubscribed.
pub const UNSUBSCRIBE: &str = "/channels/{team}/{channel}/unsubscribe";
/// The path of the page that says how to sign in.
pub const SIGN_IN: &str = "/sign-in";
/// The path of a link that signs in, once.
pub const SIGN_IN_LINK: &str = "/sign-in/{secret}";
/// The path of a link by which the first user of a service comes in, once.
pub const SETUP: &str = "/setup/{secret}";
/// The path that leads to the OpenID provider.
pub const SIGN_IN_WITH_PROVIDER: &str = "/oidc";
/// The path to which the provider sends people back.
pub const PROVIDER_ANSWER: &str = "/oidc/callback";
/// The path of a link that accepts an invitation, once.
pub const INVITATION: &str = "/join/{secret}";
/// The path at which the same link declines it.
pub const DECLINED_INVITATION: &str = "/join/{secret}/decline";
/// The parameter of the query that holds a channel's key.
pub const KEY: &str = "key";

/// An issue's page, under the base address of all pages, which has no slash at the end.
pub fn issue(base: &str, issue: IssueId) -> String {
    format!("{base}{}", ISSUE.replace("{issue}", &issue.to_string()))
}

/// The page of a team's events: its active issues, and those that are over.
pub fn events(base: &str, team: TeamId) -> String {
    format!("{base}{}", EVENTS.replace("{team}", &team.to_string()))
}

/// A channel on the page of its team's channels.
pub fn channel(base: &str, team: TeamId, channel: ChannelId) -> String {
    format!("{base}{}#{channel}", CHANNELS.replace("{team}", &team.to_string()))
}

/// A link that signs in.
pub fn sign_in(base: &str, secret: &SessionSecret) -> String {
    format!("{base}{}", SIGN_IN_LINK.replace("{secret}", &secret.reveal()))
}

/// A link by which the first user comes in.
pub fn setup(base: &str, secret: &SessionSecret) -> String {
    format!("{base}{}", SETUP.replace("{secret}", &secret.reveal()))
}

/// A link that accepts an invitation.
pub fn invitation(base: &str, secret: &SessionSecret) -> String {
    format!("{base}{}", INVITATION.replace("{secret}", &secret.reveal()))
}

/// Path at which an invited person declines.
pub fn declined_invitation(base: &str, secret: &SessionSecret) -> String {
    format!("{base}{}", DECLINED_INVITATION.replace("{secret}", &secret.reveal()))
}

/// Where the reader of an address confirms it.
pub fn confirm(base: &str, channel: &Channel) -> String {
    of_channel(base, CONFIRM, channel)
}

/// Where the reader of an address unsubscribes it: one POST does it, and a GET asks.
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
    use crate::alerts::channel::{Filter, LinkKey, Target};
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

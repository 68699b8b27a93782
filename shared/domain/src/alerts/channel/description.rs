//! The description of a kind of channel, and what people enter about a channel.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use super::secret::{AccessToken, MaskedUrl, SecretUrl};
use super::{EventKind, Filter, WeekHour};
use crate::checks::tool::Tool;
use crate::input::{FlagRule, InputField, ListRule, MinutesRule, input, line};
use crate::issues::Severity;
use crate::name::NAME_MAX;
use crate::sites::selector::Selector;

/// The description of a kind, without anything secret. Forms, the command line and messages are derived from it.
#[derive(Debug)]
pub struct KindDescription {
    /// Its name for people.
    pub label: &'static str,
    /// A one-line description for the command line's help.
    pub about: &'static str,
    /// The fields for where messages go. One of them is required.
    pub fields: &'static [InputField],
    /// What forms say about the required field.
    pub destination: TargetField,
    /// The domains of shared services that have limits of their own. Each team's messages to them are counted
    /// separately, so that no team uses up what another may send.
    pub services: &'static [&'static str],
    /// The domains that take the messages of this kind only, so that no channel of another kind can lead there.
    pub own_domains: &'static [&'static str],
    /// How many messages in a minute a destination takes, if that is fewer than a host does.
    pub per_minute: Option<u32>,
    /// How much of an alert about many issues fits into a message.
    pub room: Room,
}

/// What forms say about where messages go.
#[derive(Debug)]
pub struct TargetField {
    /// Its name.
    pub label: &'static str,
    /// An example.
    pub example: &'static str,
    /// Where people find it.
    pub help: &'static str,
}

/// Whether a host is one of these domains, or below one of them.
pub(in crate::alerts) fn is_in(host: &str, domains: &[&str]) -> bool {
    let is_below = |domain: &&str| {
        host.strip_suffix(*domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    domains.iter().any(is_below)
}

input! {
    /// A URL that messages are posted to.
    UrlInput,
    /// A change of that URL.
    UrlEdit {
        /// The URL, which is as secret as a password.
        url: Required<SecretUrl> = SecretUrl::RULE;
    }
}

/// A change of where a channel leads. It says only what changes, because the rest of the secret may be read only by the
/// sender of messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TargetEdit {
    /// The new URL.
    pub url: Option<SecretUrl>,
    /// The new access token, or that there is none any more.
    pub token: Option<Option<AccessToken>>,
}

impl From<UrlEdit> for TargetEdit {
    fn from(UrlEdit { url }: UrlEdit) -> Self {
        Self { url, token: None }
    }
}

impl TargetEdit {
    /// The change that is left for a channel that leads to `current`; `None` if nothing is.
    pub fn beyond(mut self, current: Option<&MaskedUrl>) -> Option<Self> {
        let digest = current.map(|masked| &masked.digest);
        self.url = self.url.filter(|url| digest != Some(&url.masked().digest));
        (self != Self::default()).then_some(self)
    }

    /// How the URLs of the server begin to which the channel must lead already to keep its access token; `None` if the
    /// token is part of the change, or does not depend on it.
    pub fn server_of_token(&self) -> Option<String> {
        self.url.as_ref().filter(|_| self.token.is_none())?.server()
    }
}

input! {
    /// What a channel is called, and which alerts it gets.
    ChannelInput,
    /// A change of a channel. What it omits stays as it is.
    ChannelEdit {
        /// Its name; by default the address or the kind.
        name: Optional<String> = line(NAME_MAX);
        /// Events that it gets, repeated or separated by commas; all if left out. Only webhooks and PagerDuty get
        /// acknowledged, a webhook only if this names it. PagerDuty and Alertmanager get no reminder, and Alertmanager
        /// always gets both others.
        #[option("events", "EVENT")]
        events: Optional<BTreeSet<EventKind>> = ListRule::new(0, EventKind::ALL.len(), EventKind::ALL);
        /// Tools whose issues it gets; all if left out.
        #[option("tools", "TOOL")]
        tools: Optional<BTreeSet<Tool>> = ListRule::new(0, Tool::WITH_HEARTBEAT.len(), Tool::WITH_HEARTBEAT);
        /// Severities that it gets; all if left out.
        #[option("severities", "SEVERITY")]
        severities: Optional<BTreeSet<Severity>> = ListRule::new(0, Severity::ALL.len(), Severity::ALL);
        /// An addition to the specification: which sites it is about, by their tags, such as env:prod, team in
        /// (shop,web), !legacy; all if left out or null. It is notified of the end of what it was notified of, even if the
        /// tags of the site change.
        #[form("Sites")]
        selector: Clearable<Selector> = Selector::RULE;
        /// An addition to the specification: how many minutes after its opening people are notified of an issue, if
        /// nobody has acknowledged it by then; at once if left out or null. They are not notified of an issue that ends
        /// before. Only for channels that people read.
        #[form("Delay", "Minutes after an issue opens, if nobody has acknowledged it. Leave it empty to notify at once.")]
        #[option("delay", "MINUTES")]
        delay_minutes: Clearable<NonZeroU32> = MinutesRule(TIME_MAX_MINUTES);
        /// An addition to the specification: how many minutes after each alert people are reminded of an issue, until
        /// somebody acknowledges it; if left out or null, they are reminded at the times in the team's settings. Only
        /// for channels that people read.
        #[form("Repeat", "Minutes between reminders until somebody acknowledges the issue. Leave it empty for the team’s reminders.")]
        #[option("repeat", "MINUTES")]
        repeat_minutes: Clearable<NonZeroU32> = MinutesRule(TIME_MAX_MINUTES);
        /// An addition to the specification: whether openings and reminders leave out the link with which everybody who
        /// reads them can acknowledge or snooze the issue without signing in. Only for channels that people read.
        #[form("Leave out the link to acknowledge or snooze without signing in")]
        #[option("without-links")]
        #[off("with-links")]
        without_links: Optional<bool> = FlagRule, or false;
        /// An addition to the specification: the day and the full hour at which it gets a test every week, in the
        /// team's time zone, such as Mon 09:00; null for never. A test that does not arrive counts as a failure of the
        /// channel.
        #[form("Weekly test", "Day and hour in the team’s time zone, such as Mon 09:00. Leave it empty for no weekly test.")]
        #[option("weekly-test", "HOUR")]
        weekly_test: Clearable<WeekHour> = WeekHour::RULE;
    }
}

/// The longest delay, and the longest time between reminders.
const TIME_MAX_MINUTES: u32 = 24 * 60;

impl ChannelInput {
    /// The alerts that it gets.
    pub fn filter(&self) -> Filter {
        Filter {
            events: self.events.clone().unwrap_or_default(),
            tools: self.tools.clone().unwrap_or_default(),
            severities: self.severities.clone().unwrap_or_default(),
            selector: self.selector.clone(),
            delay_minutes: self.delay_minutes,
            repeat_minutes: self.repeat_minutes,
            without_links: self.without_links,
            weekly_test: self.weekly_test,
        }
    }
}

impl ChannelEdit {
    /// The alerts that a channel gets from now on.
    pub fn filter(&self, before: &Filter) -> Filter {
        Filter {
            events: self.events.clone().unwrap_or_else(|| before.events.clone()),
            tools: self.tools.clone().unwrap_or_else(|| before.tools.clone()),
            severities: self.severities.clone().unwrap_or_else(|| before.severities.clone()),
            selector: self.selector.clone().unwrap_or_else(|| before.selector.clone()),
            delay_minutes: self.delay_minutes.unwrap_or(before.delay_minutes),
            repeat_minutes: self.repeat_minutes.unwrap_or(before.repeat_minutes),
            without_links: self.without_links.unwrap_or(before.without_links),
            weekly_test: self.weekly_test.unwrap_or(before.weekly_test),
        }
    }
}

/// How many issues an alert about many of them may name. An issue that the alert names counts as sent, so the alert
/// must not name more than the channel shows.
#[derive(Debug, Clone, Copy)]
pub enum Room {
    /// The limit that all kinds without a limit of their own have in common; see
    /// [`collection`](crate::alerts::collection).
    Common,
    /// As many as fit into this many units.
    Own {
        /// The units.
        size: usize,
        /// How many units a character takes.
        size_of: fn(char) -> usize,
    },
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use serde_json::{Value, json};

    use super::*;
    use crate::alerts::channel::{ChannelKind, SigningKey, Target};
    use crate::validation::{Fields, ValidationError};

    fn read(kind: ChannelKind, texts: &Value) -> Result<(Target, ChannelInput), ValidationError> {
        let texts = texts.as_object().expect("an object");
        let key = || Ok::<_, Infallible>(SigningKey::from_random([7; SigningKey::BYTES]));
        let Ok(read) = kind.read(&Fields::texts(texts), key);
        read
    }

    #[test]
    fn a_topic_of_ntfy_is_given_by_its_url_or_its_name() {
        for (given, url) in [
            (" alerts-1\n", "https://ntfy.sh/alerts-1"),
            ("https://ntfy.sh/alerts", "https://ntfy.sh/alerts"),
            ("HTTPS://Ntfy.Example.com:8443/a_b", "https://ntfy.example.com:8443/a_b"),
            ("http://127.0.0.1:8080/alerts", "http://127.0.0.1:8080/alerts"),
        ] {
            for token in ["", "tk_s3cr3t"] {
                let input = json!({ "url": given, "token": token });
                let (target, _) = read(ChannelKind::Ntfy, &input).expect(given);
                assert_eq!(target.url().map(SecretUrl::reveal), Some(url));
                assert!(!format!("{target:?}").contains("tk_s3cr3t"));
                assert_eq!(target.default_name(), "ntfy");
            }
        }
    }

    #[test]
    fn a_host_of_another_kind_is_refused_and_an_unknown_one_is_not() {
        use ChannelKind::{Discord, Ntfy, Slack, Teams, Webhook};
        for (kind, url, other) in [
            (Slack, "https://ntfy.sh/alerts", Some(Ntfy)),
            (Slack, "https://discord.com/api/webhooks/1/x/slack", Some(Discord)),
            (Slack, "https://ptb.discord.com./api/webhooks/1/x", Some(Discord)),
            (Discord, "https://discordapp.com/api/webhooks/1/x", None),
            (Discord, "https://hooks.slack.com/services/T/B/x", Some(Slack)),
            (Teams, "https://hooks.slack-gov.com/services/T/B/x", Some(Slack)),
            (Ntfy, "https://example.webhook.office.com/x", Some(Teams)),
            (Webhook, "https://example.webhook.office.com/x", Some(Teams)),
            (Webhook, "https://ntfy.sh/alerts", Some(Ntfy)),
            // Flows in the cloud read what any program sends, and so does a program of one's own.
            (Webhook, "https://prod-1.westeurope.logic.azure.com/x", None),
            (Slack, "https://hooks.zapier.com/x", None),
            (Slack, "https://chat.example.com/hooks/x", None),
            (Slack, "https://notdiscord.com/x", None),
            (Slack, "https://127.0.0.1/x", None),
        ] {
            let found = read(kind, &json!({ "url": url })).map(|(target, _)| target.kind());
            let expected = other.map(|other| {
                let label = other.description().label;
                let why = format!("The url field belongs to {label}; add a channel of that type.");
                ValidationError::new("url", why)
            });
            assert_eq!(found.err(), expected, "{kind} {url}");
        }
    }

    #[test]
    fn a_channel_without_a_choice_gets_everything() {
        let input = json!({ "address": " ada@example.com ", "events": ["resolved", "opened"] });
        let (target, input) = read(ChannelKind::Email, &input).expect("a channel");
        assert_eq!(target, Target::Email { address: "ada@example.com".to_owned() });
        let events = [EventKind::Opened, EventKind::Resolved].into();
        assert_eq!((&input.name, input.filter()), (&None, Filter { events, ..Filter::default() }));
    }

    #[test]
    fn what_is_wrong_with_a_channel_is_said_at_its_fields() {
        use ChannelKind::{Email, Ntfy, Slack};
        let topic = "must be that of a topic, such as https://ntfy.example.com/alerts";
        let scheme = "must start with http:// or https://";
        let address = "must be an address such as ada@example.com";
        let (topics, tokens) = ("a".repeat(65), "a".repeat(256));
        for (kind, field, text, why) in [
            (Slack, "url", "", "is required"),
            (Slack, "url", "hooks.slack.com/secret", scheme),
            (Ntfy, "url", &topics, topic),
            (Ntfy, "url", "http://ntfy.sh/alerts", "must start with https://"),
            (Ntfy, "url", "https://ntfy.sh", topic),
            (Ntfy, "url", "https://ntfy.sh/alerts/json", topic),
            (Ntfy, "url", "https://ntfy.sh/alerts?auth=x", topic),
            (Ntfy, "url", "https://ntfy.sh/al.erts", topic),
            (Ntfy, "token", "tk secret", "must not contain spaces or accented letters"),
            (Ntfy, "token", &tokens, "must not be longer than 255 characters"),
            (Email, "address", "", "is required"),
            (Email, "address", "ada@", address),
            (Email, "address", "a..b@example.com", address),
            (Email, "name", "", "must not be empty"),
            (
                Email,
                "name",
                "\u{7}",
                "must not contain control characters or characters that change the direction of text",
            ),
        ] {
            let mut input = match kind {
                Email => json!({ "address": "ada@example.com" }),
                _ => json!({ "url": "https://example.com/hook" }),
            };
            input[field] = text.into();
            let expected = ValidationError::new(field, format!("The {field} field {why}."));
            assert_eq!(read(kind, &input).expect_err(text), expected, "{kind}");
        }
        for (field, values) in [
            ("events", "opened, resolved, reminder, acknowledged"),
            ("tools", "status, ssl, dns, broken-links, performance, heartbeat"),
            ("severities", "critical, warning, info"),
        ] {
            let mut input = json!({ "address": "ada@example.com" });
            input[field] = json!(["pager"]);
            let why = format!("The {field}.0 field must be one of {values}.");
            let expected = ValidationError::new(format!("{field}.0"), why);
            assert_eq!(read(Email, &input).expect_err(field), expected);
        }
    }
}

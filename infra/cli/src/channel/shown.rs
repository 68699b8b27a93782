//! The output of `vedette channel`. Except for a new signing key, it contains nothing with which somebody could post to
//! a channel.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Serialize;
use vedette_actions::{WaitingDelivery, waiting_for};
use vedette_domain::alerts::channel::{Channel, Disabled, EventKind, Filter, SigningKey, Target};
use vedette_domain::alerts::channel_state::{ChannelState, FailedAttempt, Standing};
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::{ChannelId, IssueId, TeamId};
use vedette_domain::issues::Severity;
use vedette_domain::time::{wire_time, wire_time_or_null};
use vedette_runtime::App;

use crate::Failure;
use crate::output::{Show, moment, moment_or_dash, printable, record, table};

/// A channel.
#[derive(Serialize)]
pub(super) struct Shown {
    uuid: ChannelId,
    team: TeamId,
    name: String,
    kind: &'static str,
    /// The address, or the URL without its secret part.
    to: String,
    events: BTreeSet<EventKind>,
    tools: BTreeSet<Tool>,
    severities: BTreeSet<Severity>,
    state: Standing,
    #[serde(serialize_with = "wire_time_or_null")]
    confirmed_at: Option<Timestamp>,
    disabled: Option<Why>,
    #[serde(serialize_with = "wire_time_or_null")]
    delivered_at: Option<Timestamp>,
    #[serde(serialize_with = "wire_time")]
    created_at: Timestamp,
    #[serde(serialize_with = "wire_time")]
    updated_at: Timestamp,
}

/// Why a channel receives nothing.
#[derive(Serialize)]
struct Why {
    #[serde(serialize_with = "wire_time")]
    at: Timestamp,
    reason: String,
}

impl Why {
    fn of(channel: &Channel, state: &ChannelState) -> Option<Self> {
        let Disabled { at, reason } =
            channel.disabled.as_ref().or(state.disabled.as_ref())?.clone();
        Some(Self { at, reason })
    }

    fn text(&self) -> String {
        format!("{} ({})", moment(self.at), self.reason)
    }
}

impl Shown {
    pub(super) async fn read(app: &App, channel: &Channel) -> Result<Self, Failure> {
        let state = app.store.channel_state(channel.into()).await?;
        let Channel { id, team, name, target, filter, since, created_at, updated_at, .. } = channel;
        let Filter { events, tools, severities } = filter.clone();
        Ok(Self {
            uuid: *id,
            team: *team,
            name: name.clone(),
            kind: target.kind().as_str(),
            to: target.leads_to().to_owned(),
            events,
            tools,
            severities,
            state: Standing::of(channel, &state),
            confirmed_at: *since,
            disabled: Why::of(channel, &state),
            delivered_at: state.delivered_at,
            created_at: *created_at,
            updated_at: *updated_at,
        })
    }
}

/// The alerts that a filter selects.
fn wanted<T: Copy>(values: &BTreeSet<T>, as_str: fn(T) -> &'static str) -> String {
    if values.is_empty() {
        return "all".to_owned();
    }
    values.iter().map(|value| as_str(*value)).collect::<Vec<_>>().join(" ")
}

impl Show for Shown {
    fn text(&self) -> String {
        let mut lines = vec![
            ("channel", self.uuid.to_string()),
            ("name", self.name.clone()),
            ("kind", self.kind.to_owned()),
            ("to", self.to.clone()),
            ("events", wanted(&self.events, EventKind::as_str)),
            ("tools", wanted(&self.tools, Tool::as_str)),
            ("severities", wanted(&self.severities, Severity::as_str)),
            ("state", self.state.as_str().to_owned()),
        ];
        lines.extend(self.disabled.as_ref().map(|why| ("disabled", why.text())));
        lines.push(("delivered", moment_or_dash(self.delivered_at)));
        record(lines)
    }
}

impl Show for Vec<Shown> {
    fn text(&self) -> String {
        if self.is_empty() {
            return "The team has no channels, so nobody is notified of its issues.\n".to_owned();
        }
        let rows = self.iter().map(|channel| {
            [
                channel.uuid.to_string(),
                channel.name.clone(),
                channel.kind.to_owned(),
                channel.to.clone(),
                channel.state.as_str().to_owned(),
                moment_or_dash(channel.delivered_at),
            ]
        });
        table(["CHANNEL", "NAME", "KIND", "TO", "STATE", "DELIVERED"], rows)
    }
}

/// A new channel. Not `Debug`, because it may contain its key.
#[derive(Serialize)]
pub(super) struct Added {
    #[serde(skip_serializing_if = "Option::is_none")]
    signing_key: Option<String>,
    #[serde(flatten)]
    channel: Shown,
}

impl Added {
    pub(super) fn new(channel: &Channel, shown: Shown) -> Self {
        let keys = channel.secret.as_ref().and_then(Target::keys);
        let signing_key = keys.map(|keys| keys.current.reveal());
        Self { signing_key, channel: shown }
    }
}

impl Show for Added {
    fn text(&self) -> String {
        let known = self.channel.text();
        match (&self.signing_key, self.channel.state) {
            (Some(key), _) => format!("{known}{}", key_text(key)),
            (None, Standing::Unconfirmed) => {
                let to = printable(&self.channel.to);
                format!("{known}\n{to} must confirm the address, and gets no alerts until then.\n")
            }
            (None, _) => known,
        }
    }
}

/// A webhook with its new key. Not `Debug`, because the key is not.
#[derive(Serialize)]
pub(super) struct NewKey {
    signing_key: String,
    #[serde(flatten)]
    channel: Shown,
}

impl NewKey {
    pub(super) fn new(key: &SigningKey, channel: Shown) -> Self {
        Self { signing_key: key.reveal(), channel }
    }
}

impl Show for NewKey {
    fn text(&self) -> String {
        let key = key_text(&self.signing_key);
        format!("{}{key}The old key stays valid for 24 hours.\n", self.channel.text())
    }
}

fn key_text(key: &str) -> String {
    format!("\nsigning key  {key}\n\nThe key cannot be shown again.\n")
}

/// A channel that received a test message.
#[derive(Serialize)]
pub(super) struct Arrived {
    uuid: ChannelId,
    name: String,
}

impl Arrived {
    pub(super) fn at(channel: &Channel) -> Self {
        Self { uuid: channel.id, name: channel.name.clone() }
    }
}

impl Show for Arrived {
    fn text(&self) -> String {
        format!("{} received the test message.\n", printable(&self.name))
    }
}

/// A channel that was removed.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct Removed(pub(super) Shown);

impl Show for Removed {
    fn text(&self) -> String {
        format!("{} is no longer a channel of team {}.\n", printable(&self.0.name), self.0.team)
    }
}

/// The messages that did not arrive, and those that are waiting.
#[derive(Serialize)]
pub(super) struct Failures {
    state: Standing,
    disabled: Option<Why>,
    /// Why no email can be sent, if that is what the channel waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<String>,
    log: Vec<Attempt>,
    waiting: Vec<Pending>,
}

#[derive(Serialize)]
struct Attempt {
    #[serde(serialize_with = "wire_time")]
    at: Timestamp,
    what: String,
    why: String,
}

/// A message to send.
#[derive(Serialize)]
struct Pending {
    what: String,
    issue: Option<IssueId>,
    #[serde(serialize_with = "wire_time_or_null")]
    failing_since: Option<Timestamp>,
    /// `None` if it was given up, or the channel is disabled.
    #[serde(serialize_with = "wire_time_or_null")]
    due: Option<Timestamp>,
}

impl Failures {
    pub(super) async fn read(app: &App, channel: &Channel) -> Result<Self, Failure> {
        let deliveries = app.store.deliveries(channel.into()).await?;
        let waiting = waiting_for(app, channel, &deliveries).await?.into_iter();
        let state = deliveries.state;
        let pending = |WaitingDelivery { what, issue, failing_since, due }| Pending {
            what,
            issue,
            failing_since,
            due,
        };
        let attempt = |FailedAttempt { at, what, why }| Attempt { at, what, why };
        Ok(Self {
            state: Standing::of(channel, &state),
            disabled: Why::of(channel, &state),
            held: state.held,
            log: state.log.into_iter().map(attempt).collect(),
            waiting: waiting.map(pending).collect(),
        })
    }
}

impl Show for Failures {
    fn text(&self) -> String {
        let state = self.disabled.as_ref().map_or_else(
            || format!("The channel is {}.\n", self.state.as_str()),
            |why| format!("The channel has been disabled since {}.\n", printable(&why.text())),
        );
        let held = self.held.as_ref();
        let held = held.map(|why| format!("No email can be sent: {}\n", printable(why)));
        let log = match &self.log[..] {
            [] if held.is_some() => String::new(),
            [] => "All recent messages arrived.\n".to_owned(),
            log => {
                let rows = log.iter().map(|it| [moment(it.at), it.what.clone(), it.why.clone()]);
                table(["FAILED", "WHAT", "WHY"], rows)
            }
        };
        let waiting = match &self.waiting[..] {
            [] => "Nothing is waiting.\n".to_owned(),
            waiting => {
                let never = if self.disabled.is_some() { "once enabled" } else { "given up" };
                let rows = waiting.iter().map(|it| {
                    let issue = it.issue.map_or_else(|| "-".to_owned(), |id| id.to_string());
                    let due = it.due.map_or_else(|| never.to_owned(), moment);
                    [it.what.clone(), issue, moment_or_dash(it.failing_since), due]
                });
                table(["WAITING", "ISSUE", "FAILING SINCE", "DUE"], rows)
            }
        };
        format!("{state}{}\n{log}\n{waiting}", held.unwrap_or_default())
    }
}

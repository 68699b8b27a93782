//! Channels as the API shows them, without their secrets.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use jiff::Timestamp;
use serde::{Serialize, Serializer};
use vedette_actions::WaitingDelivery;
use vedette_domain::alerts::channel::{
    Channel, ChannelKind, Disabled, EventKind, Filter, SigningKey, WeekHour,
};
use vedette_domain::alerts::channel_state::{ChannelState, FailedAttempt, Standing};
use vedette_domain::checks::tool::Tool;
use vedette_domain::configuration::ManagedBy;
use vedette_domain::id::{ChannelId, IssueId};
use vedette_domain::issues::Severity;
use vedette_domain::sites::selector::Selector;

use super::{wire_time, wire_time_or_null};

/// A channel, without its secrets.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Channel"))]
pub struct ChannelResource<'a> {
    /// Its unique ID.
    uuid: ChannelId,
    /// Its name, unique in the team.
    name: &'a str,
    /// Its kind.
    kind: ChannelKind,
    /// The address, or the URL without its path, which is a secret.
    to: &'a str,
    /// Whether it has a secret, which is never shown: a URL, a token or a signing key.
    has_secret: bool,
    /// Events that it gets; all if empty.
    events: &'a BTreeSet<EventKind>,
    /// Tools whose issues it gets; all if empty.
    #[cfg_attr(feature = "schema", schemars(schema_with = "any_tools"))]
    tools: &'a BTreeSet<Tool>,
    /// Severities that it gets; all if empty.
    severities: &'a BTreeSet<Severity>,
    /// An addition to the specification: which sites it is about, by their tags. Omitted if it is about all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String", default))]
    selector: Option<&'a Selector>,
    /// An addition to the specification: how many minutes after its opening people are notified of an issue, if nobody
    /// has acknowledged it by then. Omitted if they are notified at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "NonZeroU32", default))]
    delay_minutes: Option<NonZeroU32>,
    /// An addition to the specification: how many minutes after each alert people are reminded of an issue, until
    /// somebody acknowledges it. Omitted if they are reminded at the times in the team's settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "NonZeroU32", default))]
    repeat_minutes: Option<NonZeroU32>,
    /// An addition to the specification: whether openings and reminders leave out the link with which everybody who
    /// reads them can acknowledge or snooze the issue without signing in. Omitted if false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "schema", schemars(default))]
    without_links: bool,
    /// An addition to the specification: when it gets a test every week, in the team's time zone. Omitted if never.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String", default))]
    weekly_test: Option<WeekHour>,
    /// An addition to the specification: the document that manages it; omitted if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "ManagedBy", default))]
    managed_by: Option<&'a ManagedBy>,
    /// Its state.
    state: Standing,
    /// Since when it gets alerts; null if its recipient has not confirmed the address.
    #[serde(serialize_with = "wire_time_or_null")]
    confirmed_at: Option<Timestamp>,
    /// Why it receives nothing, unless it does.
    disabled: Option<DisabledResource<'a>>,
    /// The test that was sent last; null if there was none.
    last_test: Option<TestResource<'a>>,
    /// When a message arrived last.
    #[serde(serialize_with = "wire_time_or_null")]
    delivered_at: Option<Timestamp>,
    /// The latest deliveries that failed, newest last.
    failures: Vec<FailureResource<'a>>,
    /// What waits to be sent to it.
    waiting: Vec<WaitingResource<'a>>,
    /// Why no email can be sent, if the channel waits for that. Omitted otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<&'a str>,
    /// When it would be notified of the issue in the request; null if never. Omitted unless the request names a site.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "wire_forecast")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Timestamp>", default))]
    would_be_notified_at: Option<Option<Timestamp>>,
    /// Creation.
    #[serde(serialize_with = "wire_time")]
    created_at: Timestamp,
    /// Last change.
    #[serde(serialize_with = "wire_time")]
    updated_at: Timestamp,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
struct DisabledResource<'a> {
    /// Since when.
    #[serde(serialize_with = "wire_time")]
    at: Timestamp,
    /// Who or what disabled it.
    reason: &'a str,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
struct TestResource<'a> {
    /// When its outcome was known.
    #[serde(serialize_with = "wire_time")]
    at: Timestamp,
    /// Why it did not arrive; null if it did.
    failed: Option<&'a str>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
struct FailureResource<'a> {
    /// When.
    #[serde(serialize_with = "wire_time")]
    at: Timestamp,
    /// What was sent.
    what: &'a str,
    /// Why it did not arrive.
    why: &'a str,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
struct WaitingResource<'a> {
    /// What is to be sent.
    what: &'a str,
    /// The issue that it is about.
    issue: Option<IssueId>,
    /// Since when it could not be delivered; null if nothing has failed.
    #[serde(serialize_with = "wire_time_or_null")]
    failing_since: Option<Timestamp>,
    /// When it is sent; null if it waits until the channel is enabled, or was given up.
    #[serde(serialize_with = "wire_time_or_null")]
    due: Option<Timestamp>,
}

#[expect(clippy::option_option, clippy::ref_option, reason = "serde passes the field")]
fn wire_forecast<S: Serializer>(
    forecast: &Option<Option<Timestamp>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    wire_time_or_null(&forecast.flatten(), serializer)
}

/// Tools of sites and heartbeats.
#[cfg(feature = "schema")]
fn any_tools(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let items = super::issue::any_tool(generator);
    schemars::json_schema!({ "type": "array", "items": items, "uniqueItems": true })
}

impl<'a> ChannelResource<'a> {
    /// The same with when it would be notified of an issue; `None` if never.
    #[must_use]
    pub fn with_forecast(self, notified_at: Option<Timestamp>) -> Self {
        Self { would_be_notified_at: Some(notified_at), ..self }
    }

    /// A channel with its state, and what waits for it.
    pub fn new(
        channel: &'a Channel,
        state: &'a ChannelState,
        waiting: &'a [WaitingDelivery],
    ) -> Self {
        let Filter {
            events,
            tools,
            severities,
            selector,
            delay_minutes,
            repeat_minutes,
            without_links,
            weekly_test,
        } = &channel.filter;
        let disabled = channel.disabled.as_ref().or(state.disabled.as_ref());
        let disabled = disabled.map(|Disabled { at, reason }| DisabledResource { at: *at, reason });
        let last_test = state.last_test.as_ref();
        let failures = state.log.iter().map(|FailedAttempt { at, what, why }| FailureResource {
            at: *at,
            what,
            why,
        });
        let waiting = waiting.iter().map(|waiting| WaitingResource {
            what: &waiting.what,
            issue: waiting.issue,
            failing_since: waiting.failing_since,
            due: waiting.due,
        });
        Self {
            uuid: channel.id,
            name: &channel.name,
            kind: channel.target.kind(),
            to: channel.target.leads_to(),
            has_secret: channel.target.address().is_none(),
            events,
            tools,
            severities,
            selector: selector.as_ref(),
            managed_by: channel.managed_by.as_ref(),
            delay_minutes: *delay_minutes,
            repeat_minutes: *repeat_minutes,
            without_links: *without_links,
            weekly_test: *weekly_test,
            state: Standing::of(channel, state),
            confirmed_at: channel.since,
            disabled,
            last_test: last_test
                .map(|test| TestResource { at: test.at, failed: test.failed.as_deref() }),
            delivered_at: state.delivered_at,
            failures: failures.collect(),
            waiting: waiting.collect(),
            held: state.held.as_deref(),
            would_be_notified_at: None,
            created_at: channel.created_at,
            updated_at: channel.updated_at,
        }
    }
}

/// A new channel. It has no `Debug`, so that the key does not slip into a log.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "NewChannel"))]
#[expect(missing_debug_implementations, reason = "it has a secret")]
pub struct NewChannelResource<'a> {
    #[serde(flatten)]
    channel: ChannelResource<'a>,
    /// The key with which requests to a webhook are signed. It is shown only this once.
    #[serde(skip_serializing_if = "Option::is_none")]
    signing_key: Option<String>,
}

impl<'a> NewChannelResource<'a> {
    /// A channel with its signing key, if it has one.
    pub fn new(channel: ChannelResource<'a>, key: Option<&SigningKey>) -> Self {
        Self { channel, signing_key: key.map(SigningKey::reveal) }
    }
}

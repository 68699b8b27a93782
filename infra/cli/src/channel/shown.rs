//! The output of `vedette channel`. Except for a new signing key, it contains nothing with which somebody could post to
//! a channel.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use vedette_actions::{WaitingDelivery, waiting_for};
use vedette_domain::alerts::channel::{Channel, Disabled, EventKind, Filter, SigningKey, Target};
use vedette_domain::alerts::channel_state::{ChannelState, FailedAttempt, Standing};
use vedette_domain::checks::tool::Tool;
use vedette_domain::issues::Severity;
use vedette_domain::time::wire;
use vedette_runtime::App;

use crate::Failure;
use crate::output::{Record, Records, Show as _, moment};

pub(super) const NONE: &str = "The team has no channels, so nobody is notified of its issues.\n";
pub(super) const LISTED: &[&str] = &["channel", "name", "kind", "to", "state", "delivered"];

/// A channel. Its field `to` is the address, or the URL without its secret part.
pub(super) async fn shown(app: &App, channel: &Channel) -> Result<Record, Failure> {
    let state = app.store.channel_state(channel.into()).await?;
    let Filter { events, tools, severities } = &channel.filter;
    let disabled = disabled(channel, &state);
    let why = disabled.map_or_else(|| "-".to_owned(), since);
    Ok(Record::default()
        .with("uuid", "channel", channel.id.to_string())
        .with("team", "", channel.team.to_string())
        .with("name", "name", channel.name.as_str())
        .with("kind", "kind", channel.target.kind().as_str())
        .with("to", "to", channel.target.leads_to())
        .worded("events", "events", json!(events), wanted(events, EventKind::as_str))
        .worded("tools", "tools", json!(tools), wanted(tools, Tool::as_str))
        .worded("severities", "severities", json!(severities), wanted(severities, Severity::as_str))
        .with("state", "state", Standing::of(channel, &state).as_str())
        .at("confirmed_at", "confirmed", channel.since)
        .worded("disabled", "disabled", disabled.map(as_json), why)
        .at("delivered_at", "delivered", state.delivered_at)
        .at("created_at", "created", channel.created_at)
        .at("updated_at", "updated", channel.updated_at))
}

/// Why a channel receives nothing.
fn disabled<'c>(channel: &'c Channel, state: &'c ChannelState) -> Option<&'c Disabled> {
    channel.disabled.as_ref().or(state.disabled.as_ref())
}

fn as_json(Disabled { at, reason }: &Disabled) -> Value {
    json!({ "at": wire(*at), "reason": reason })
}

fn since(Disabled { at, reason }: &Disabled) -> String {
    format!("{} ({reason})", moment(*at))
}

/// The alerts that a filter selects.
fn wanted<T: Copy>(values: &BTreeSet<T>, as_str: fn(T) -> &'static str) -> String {
    match values.is_empty() {
        true => "all".to_owned(),
        false => values.iter().map(|value| as_str(*value)).collect::<Vec<_>>().join(" "),
    }
}

/// A channel that was added, with its signing key if it has one.
pub(super) async fn added(app: &App, channel: &Channel) -> Result<Record, Failure> {
    let record = shown(app, channel).await?;
    let to = channel.target.leads_to();
    Ok(match channel.secret.as_ref().and_then(Target::keys) {
        Some(keys) => with_key(record, &keys.current, ""),
        None if channel.since.is_some() => record,
        None => record.with_details(format!(
            "\n{to} must confirm the address, and gets no alerts until then.\n"
        )),
    })
}

/// A webhook with a new key, and what else there is to say.
pub(super) fn with_key(record: Record, key: &SigningKey, more: &str) -> Record {
    record
        .with("signing_key", "signing key", key.reveal())
        .with_details(format!("\nThe key cannot be shown again.\n{more}"))
}

/// The messages that did not arrive, and those that are waiting.
pub(super) async fn failures(app: &App, channel: &Channel) -> Result<Record, Failure> {
    let deliveries = app.store.deliveries(channel.into()).await?;
    let waiting = waiting_for(app, channel, &deliveries).await?;
    let ChannelState { log, held, .. } = &deliveries.state;
    let (standing, disabled) =
        (Standing::of(channel, &deliveries.state), disabled(channel, &deliveries.state));
    let log = log.iter().map(|FailedAttempt { at, what, why }| {
        let record = Record::default().at("at", "failed", *at);
        record.with("what", "what", what.as_str()).with("why", "why", why.as_str())
    });
    let arrived = if held.is_some() { "" } else { "All recent messages arrived.\n" };
    let log = Records::new(arrived, &["failed", "what", "why"], log);
    let never = if disabled.is_some() { "once enabled" } else { "given up" };
    let waiting = waiting.into_iter().map(|WaitingDelivery { what, issue, failing_since, due }| {
        let text = due.map_or_else(|| never.to_owned(), moment);
        Record::default()
            .with("what", "waiting", what)
            .with("issue", "issue", issue.map(|issue| issue.to_string()))
            .at("failing_since", "failing since", failing_since)
            .worded("due", "due", due.map(wire), text)
    });
    let labels = &["waiting", "issue", "failing since", "due"];
    let waiting = Records::new("Nothing is waiting.\n", labels, waiting);
    let state = disabled.map_or_else(
        || format!("is {}", standing.as_str()),
        |why| format!("has been disabled since {}", since(why)),
    );
    let problem = held.as_ref().map(|why| format!("No email can be sent: {why}\n"));
    let (log_text, problem) = (log.text(), problem.unwrap_or_default());
    let text = format!("The channel {state}.\n{problem}\n{log_text}\n{}", waiting.text());
    let record = Record::default()
        .with("state", "", standing.as_str())
        .with("disabled", "", disabled.map(as_json))
        .with("log", "", json!(log))
        .with("waiting", "", json!(waiting));
    // Why no email can be sent, if that is what the channel waits for.
    let record = match held {
        Some(held) => record.with("held", "", held.as_str()),
        None => record,
    };
    Ok(record.saying(text))
}

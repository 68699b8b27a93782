//! The output of `vedette channel`. Except for a new signing key, it contains nothing with which somebody could post to
//! a channel.

use serde_json::{Value, json};
use vedette_domain::alerts::channel::ChannelKind;

use crate::output::{Record, Records, Show as _, instant_at, moment, text_at};

pub(super) const NONE: &str = "The team has no channels, so nobody is notified of its issues.\n";
pub(super) const LISTED: &[&str] =
    &["channel", "name", "kind", "to", "sites", "state", "delivered"];
/// What is said below a signing key.
pub(super) const KEY_SHOWN: &str = "\nThe key cannot be shown again.\n";

/// A channel.
pub(super) fn shown(channel: Value) -> Record<Value> {
    let why = since(&channel).unwrap_or_else(|| "-".to_owned());
    let wanted = |what: &str| match text_at(&channel, what) {
        none if none == "-" => "all".to_owned(),
        some => some,
    };
    let [events, tools, severities, selector] =
        ["/events", "/tools", "/severities", "/selector"].map(wanted);
    let minutes = |what: &str| match text_at(&channel, what) {
        none if none == "-" => none,
        some => format!("{some} minutes"),
    };
    let [delay, repeat] = ["/delay_minutes", "/repeat_minutes"].map(minutes);
    let kind = ChannelKind::parse(&text_at(&channel, "/kind"));
    let links = match channel["without_links"] == true {
        _ if kind.is_some_and(|kind| !kind.is_for_people()) => "-",
        true => "left out",
        false => "to acknowledge",
    };
    let weekly_test = text_at(&channel, "/weekly_test");
    Record::of(channel)
        .field("channel", "/uuid")
        .field("name", "/name")
        .field("kind", "/kind")
        .field("to", "/to")
        .labeled("events", events)
        .labeled("tools", tools)
        .labeled("severities", severities)
        .labeled("sites", selector)
        .labeled("delay", delay)
        .labeled("repeat", repeat)
        .labeled("links", links.to_owned())
        .labeled("weekly test", weekly_test)
        .field("state", "/state")
        .instant("confirmed", "/confirmed_at")
        .labeled("disabled", why)
        .instant("delivered", "/delivered_at")
        .instant("created", "/created_at")
        .instant("updated", "/updated_at")
}

/// Since when a channel receives nothing, and why.
fn since(channel: &Value) -> Option<String> {
    let at = instant_at(channel, "/disabled/at")?;
    Some(format!("{} ({})", moment(at), text_at(channel, "/disabled/reason")))
}

/// A channel that was added, with its signing key if it has one.
pub(super) fn added(channel: Value) -> Record<Value> {
    let to = text_at(&channel, "/to");
    if let Some(key) = channel["signing_key"].as_str().map(str::to_owned) {
        return shown(channel).labeled("signing key", key).with_details(KEY_SHOWN);
    }
    match text_at(&channel, "/state") == "unconfirmed" {
        true => shown(channel).with_details(format!(
            "\n{to} must confirm the address, and gets no alerts until then.\n"
        )),
        false => shown(channel),
    }
}

impl Record<Value> {
    /// The same with a new signing key.
    pub(super) fn with_key(self, key: &str) -> Self {
        self.adding("signing_key", key).labeled("signing key", key)
    }
}

/// The messages that did not arrive, and those that are waiting.
pub(super) fn failures(channel: Value) -> Record<Value> {
    let list = |name: &str| channel[name].as_array().cloned().unwrap_or_default();
    let log = list("failures").into_iter().map(|failure| {
        Record::of(failure).instant("failed", "/at").field("what", "/what").field("why", "/why")
    });
    let log = Records::new("All recent messages arrived.\n", &["failed", "what", "why"], log);
    let is_disabled = channel["disabled"].is_object();
    let never = if is_disabled { "once enabled" } else { "given up" };
    let waiting = list("waiting").into_iter().map(|waiting| {
        let due = instant_at(&waiting, "/due").map_or_else(|| never.to_owned(), moment);
        Record::of(waiting)
            .field("waiting", "/what")
            .field("issue", "/issue")
            .instant("failing since", "/failing_since")
            .labeled("due", due)
    });
    let labels = &["waiting", "issue", "failing since", "due"];
    let waiting = Records::new("Nothing is waiting.\n", labels, waiting);
    let state = since(&channel).map_or_else(
        || format!("is {}", text_at(&channel, "/state")),
        |why| format!("has been disabled since {why}"),
    );
    let held = match text_at(&channel, "/held") {
        none if none == "-" => String::new(),
        why => format!("No email can be sent: {why}\n\n"),
    };
    let text = format!("The channel {state}.\n\n{held}{}\n{}", log.text(), waiting.text());
    let resource = json!({
        "state": channel["state"],
        "disabled": channel["disabled"],
        "failures": channel["failures"],
        "waiting": channel["waiting"],
    });
    Record::of(resource).saying(text)
}

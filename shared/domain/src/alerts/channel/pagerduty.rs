//! Events for [PagerDuty](https://developer.pagerduty.com/docs/events-api-v2-overview), which are made from those that
//! webhooks get.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::EventKind;
use super::description::{KindDescription, Room, TargetEdit, TargetField};
use super::program::Program;
use super::request::{ChannelRequest, Failure, InvalidUrl};
use super::secret::{SecretUrl, is_key};
use super::webhook::{MISSED, TEST, event_type};
use crate::alerts::text::{cut, one_line};
use crate::input::{Input as _, TextRule, input};

/// The server of accounts outside the EU.
const SERVER: &str = "https://events.pagerduty.com";
/// The domains of PagerDuty's servers. They also take webhooks.
const DOMAINS: &[&str] = &["events.pagerduty.com", "events.eu.pagerduty.com"];
/// Characters of an integration key.
const KEY: usize = 32;
/// Characters in a summary.
const SUMMARY: usize = 1_024;

/// An integration of a PagerDuty service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PagerDuty {
    /// The URL of the server, and the integration key.
    pub url: SecretUrl,
}

input! {
    /// An integration of a PagerDuty service.
    PagerDutyInput,
    /// A change of the integration.
    PagerDutyEdit {
        /// The integration key. For an account in the EU, https://events.eu.pagerduty.com/ followed by the key.
        url: Required<SecretUrl> = KEY_URL;
    }
}

const KEY_URL: TextRule<SecretUrl> = TextRule {
    parse: |text| {
        let error = "must be an integration key of 32 letters and digits";
        SecretUrl::parse_place(text, is_key::<KEY>, Some(SERVER), error)
    },
    ..SecretUrl::RULE
};

pub(super) const DESCRIPTION: KindDescription = KindDescription {
    label: "PagerDuty",
    about: "A service of PagerDuty, whose incidents open, are acknowledged and are resolved with the issues",
    fields: PagerDutyInput::FIELDS,
    destination: TargetField {
        label: "Integration key",
        example: "a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6",
        help: "In PagerDuty, it is under Integrations of the service, after you add Events API V2.",
    },
    services: DOMAINS,
    own_domains: &[],
    per_minute: None,
    room: Room::Common,
};

/// The events that it has a use for. It repeats notifications itself.
pub(super) const EVENTS: [EventKind; 3] =
    [EventKind::Opened, EventKind::Resolved, EventKind::Acknowledged];

impl From<PagerDutyEdit> for TargetEdit {
    fn from(PagerDutyEdit { url }: PagerDutyEdit) -> Self {
        Self { url, token: None }
    }
}

impl PagerDuty {
    pub(super) fn new(PagerDutyInput { url }: PagerDutyInput) -> Self {
        Self { url }
    }
}

impl Program for PagerDuty {
    fn url(&self) -> &SecretUrl {
        &self.url
    }

    fn request(
        &self,
        id: &str,
        body: &[u8],
        _: Timestamp,
    ) -> Result<Option<ChannelRequest>, InvalidUrl> {
        let (mut server, key) = self.url.place(is_key::<KEY>).ok_or(InvalidUrl)?;
        server.set_path("/v2/enqueue");
        Ok(event(id, body).map(|mut event| {
            event["routing_key"] = key.as_str().into();
            let body = event.to_string().into_bytes();
            let request = ChannelRequest::json_to(server, body, Failure::of_service);
            request.hiding([key]).failing_for_good(&["routing key", "routing_key"])
        }))
    }
}

/// An event of a webhook.
#[derive(Deserialize)]
struct Event {
    r#type: String,
    timestamp: Value,
    data: Value,
}

/// The body of the request, without the key; `None` if PagerDuty has no use for the event.
pub fn event(id: &str, body: &[u8]) -> Option<Value> {
    let Event { r#type, timestamp, data } = serde_json::from_slice(body).ok()?;
    let text = |pointer: &str| data.pointer(pointer).and_then(Value::as_str);
    // An issue that opens again is another incident.
    let of_opening = text("/uuid").zip(text("/opened_at"));
    let key = of_opening.map_or(id.to_owned(), |(issue, opened_at)| format!("{issue}/{opened_at}"));
    let is = |kind| r#type == event_type(kind);
    let action = match r#type.as_str() {
        _ if is(EventKind::Acknowledged) => "acknowledge",
        _ if is(EventKind::Resolved) => "resolve",
        _ if is(EventKind::Reminder) => return None,
        _ => "trigger",
    };
    let mut event = json!({ "event_action": action, "dedup_key": key });
    if action != "trigger" {
        return Some(event);
    }
    let channel = text("/channel/name").unwrap_or_default();
    let site = text("/site/name").unwrap_or_default();
    let (summary, severity) = match r#type.as_str() {
        TEST => (format!("Test of the channel {channel}"), "info"),
        MISSED => (format!("The channel {channel} was off and has missed events"), "warning"),
        // An opening that the channel missed has no summary.
        _ => (
            text("/summary").map_or_else(|| format!("A problem with {site}"), str::to_owned),
            text("/severity").unwrap_or("critical"),
        ),
    };
    let summary = cut(&one_line(&summary), SUMMARY, |_| 1);
    event["payload"] = json!({
        "summary": if summary.is_empty() { "A problem" } else { &summary },
        "severity": severity,
        "source": text("/site/url").unwrap_or("Vedette"),
        "timestamp": timestamp,
        "component": site,
        "class": text("/fingerprint").unwrap_or(&r#type),
    });
    event["client"] = "Vedette".into();
    if let Some(issue) = text("/links/issue") {
        event["client_url"] = issue.into();
        event["links"] = json!([{ "href": issue, "text": "Open issue" }]);
    }
    Some(event)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::webhook;
    use super::*;

    fn sent(r#type: &str, data: &Value) -> Option<Value> {
        let at = "2026-11-21T12:01:00Z".parse().expect("a timestamp");
        event("msg_1", &webhook::body(r#type, at, data.clone()))
    }

    #[test]
    fn an_incident_opens_is_acknowledged_and_is_resolved_with_its_issue() {
        let issue = json!({
            "uuid": "01a1fd9b",
            "opened_at": "2026-11-21T12:01:00+00:00",
            "summary": "shop.example is down:\nHTTP 503",
            "severity": "critical",
            "fingerprint": "status:down",
            "site": { "name": "Shop", "url": "https://shop.example" },
            "links": { "issue": "https://vedette.example.com/issues/01a1fd9b" },
        });
        let key = "01a1fd9b/2026-11-21T12:01:00+00:00";
        let opened = json!({
            "event_action": "trigger",
            "dedup_key": key,
            "payload": {
                "summary": "shop.example is down: HTTP 503",
                "severity": "critical",
                "source": "https://shop.example",
                "timestamp": "2026-11-21T12:01:00Z",
                "component": "Shop",
                "class": "status:down",
            },
            "client": "Vedette",
            "client_url": "https://vedette.example.com/issues/01a1fd9b",
            "links": [
                { "href": "https://vedette.example.com/issues/01a1fd9b", "text": "Open issue" },
            ],
        });
        let follow_up = |action: &str| Some(json!({ "event_action": action, "dedup_key": key }));
        for (kind, expected) in [
            (EventKind::Opened, Some(opened)),
            (EventKind::Acknowledged, follow_up("acknowledge")),
            (EventKind::Resolved, follow_up("resolve")),
            (EventKind::Reminder, None),
        ] {
            assert_eq!(sent(event_type(kind), &issue), expected, "{kind}");
        }
    }

    #[test]
    fn what_is_about_the_channel_has_a_key_of_its_own() {
        let data = json!({ "channel": { "name": "On call" } });
        for (kind, summary, severity) in [
            (TEST, "Test of the channel On call", "info"),
            (MISSED, "The channel On call was off and has missed events", "warning"),
        ] {
            let event = sent(kind, &data).expect("an event");
            assert_eq!(event["dedup_key"], "msg_1");
            assert_eq!(event["payload"]["summary"], summary);
            assert_eq!(event["payload"]["severity"], severity);
        }
    }

    proptest! {
        #[test]
        fn every_opening_has_what_pagerduty_requires(
            summary in proptest::option::of("\\PC{0,2000}"),
            name in "\\PC{0,300}",
        ) {
            let data = json!({ "summary": summary, "site": { "name": name, "url": "https://a.example" } });
            let event = sent(event_type(EventKind::Opened), &data).expect("an event");
            let payload = &event["payload"];
            let summary = payload["summary"].as_str().expect("a summary");
            prop_assert!((1..=SUMMARY).contains(&summary.chars().count()), "{}", summary);
            prop_assert!(["critical", "warning", "info"].contains(&payload["severity"].as_str().expect("a severity")));
            prop_assert!(payload["source"].is_string());
        }
    }
}

//! The events that the service sends to a team's webhooks.

use serde_json::{Map, Value, json};
use vedette_domain::alerts::channel::EventKind;
use vedette_domain::alerts::channel::webhook::{BODY_LIMIT, MISSED, TEST, event_type};
use vedette_domain::alerts::ended::EndReason;
use vedette_domain::alerts::missed::{MISSED_MAX, MISSED_TIME};
use vedette_http::resource::IssueResource;

use crate::schemas::Schemas;
use crate::story::Story;

/// Every event by its type.
pub(crate) fn webhooks(schemas: &mut Schemas, story: &Story) -> Value {
    let of_issues = issue_event(schemas, "IssueEvent", &EventKind::FOR_PEOPLE);
    // Released clients know the types of the other events only.
    let of_acknowledged =
        issue_event(schemas, "IssueAcknowledgedEvent", &[EventKind::Acknowledged]);
    let of_tests = test_event(schemas);
    let of_missed = missed_event(schemas);
    let days = MISSED_TIME.as_hours() / 24;
    let about_missed = format!(
        "Sent when a disabled webhook is enabled again, if it missed more than \
         {MISSED_MAX} openings and resolutions, or if the first of them was more than {days} \
         days ago. None of them is sent. `GET /issues` shows the current state."
    );
    let issues = EventKind::ALL.into_iter().map(|kind| {
        let (summary, description) = match kind {
            EventKind::Opened => ("An issue opened", "An issue opened, or opened again."),
            EventKind::Resolved => (
                "An issue was resolved",
                "An issue was resolved by a check or by a person, or it is no longer \
                 monitored, for the `reason` in its data.",
            ),
            EventKind::Reminder => {
                ("An issue is still active", "A reminder is due by the escalation settings.")
            }
            EventKind::Acknowledged => (
                "Somebody acknowledged an issue",
                "Somebody acknowledged an issue. Only sent to a webhook whose `events` contain \
                 `acknowledged`.",
            ),
        };
        let schema = match kind {
            EventKind::Acknowledged => &of_acknowledged,
            _ => &of_issues,
        };
        (event_type(kind), summary, description, schema)
    });
    let test = (TEST, "A test of the webhook", "Sent by `vedette channel test`.", &of_tests);
    let missed = (MISSED, "Events are missing", &*about_missed, &of_missed);
    let described = issues.chain([test, missed]).map(|(name, summary, description, schema)| {
        let webhook = json!({ "post": {
            "summary": summary,
            "description": description,
            "security": [],
            "parameters": headers(),
            "requestBody": {
                "required": true,
                "content": { "application/json": {
                    "schema": schema,
                    "examples": { "sent": { "value": story.event(name) } },
                } },
            },
            "responses": {
                "2XX": { "description": "The event has arrived." },
                "410": { "description": "Nothing more is sent to the webhook." },
                "default": {
                    "description": "The event is sent again, for up to 76 hours. Later events \
                                    of the same issue wait meanwhile. `Retry-After` is \
                                    honored, and redirects are not followed.",
                },
            },
        } });
        (name.to_owned(), webhook)
    });
    described.collect::<Map<_, _>>().into()
}

/// The headers of every event, from Standard Webhooks.
fn headers() -> Value {
    let header = |name: &str, description: &str| {
        json!({
            "name": name,
            "in": "header",
            "required": true,
            "description": description,
            "schema": { "type": "string" },
        })
    };
    json!([
        header(
            "webhook-id",
            "The event's id. It is the same whenever the event is sent again, so that a \
             receiver recognizes repetitions.",
        ),
        header("webhook-timestamp", "When this attempt was made, in seconds of Unix time."),
        header(
            "webhook-signature",
            "Signatures of `id.timestamp.body`, separated by spaces: `v1,` and the HMAC-SHA256 in \
             base64. While a key is being replaced, there is one for each key.",
        ),
    ])
}

fn issue_event(schemas: &mut Schemas, name: &str, kinds: &[EventKind]) -> Value {
    let issue = schemas.of::<IssueResource>();
    let data = json!({
        "description": format!(
            "The issue as it was then. The checks and the header that they send are left out. If \
             the body would exceed {BODY_LIMIT} bytes, the context, the oldest entries of the \
             timeline and the ends of long texts are left out too. Events that a webhook missed \
             while it was disabled are sent later; for an opening before the last one, they have \
             neither the summary nor the context."
        ),
        "allOf": [
            issue,
            {
                "type": "object",
                "properties": {
                    "links": {
                        "type": "object",
                        "properties": { "issue": {
                            "description": "The issue's page.",
                            "type": "string",
                            "format": "uri",
                        } },
                    },
                    "reason": {
                        "description":
                            "In `issue.resolved`: why the issue is no longer monitored. Unless \
                             its site was deleted, it stays active in the API until a check or \
                             a person resolves it. If monitoring resumes, `issue.opened` is \
                             sent again.",
                        "type": "string",
                        "enum": EndReason::ALL.map(EndReason::as_str),
                    },
                },
            },
        ],
    });
    let types: Vec<_> = kinds.iter().copied().map(event_type).collect();
    let event = event("Something happened to an issue.", &json!({ "enum": types }), &data);
    schemas.named(name, event)
}

fn test_event(schemas: &mut Schemas) -> Value {
    let data = json!({
        "type": "object",
        "properties": { "channel": channel() },
        "required": ["channel"],
    });
    let event = event("A test of a webhook.", &json!({ "const": TEST }), &data);
    schemas.named("TestEvent", event)
}

fn missed_event(schemas: &mut Schemas) -> Value {
    let instant = |description: &str| json!({ "description": description, "type": "string", "format": "date-time" });
    let data = json!({
        "type": "object",
        "properties": {
            "channel": channel(),
            "since": instant("The first opening or resolution that is not sent."),
            "until": instant("When the webhook was enabled again."),
        },
        "required": ["channel", "since", "until"],
    });
    let event = event("A webhook missed events.", &json!({ "const": MISSED }), &data);
    schemas.named("MissedEvent", event)
}

fn channel() -> Value {
    json!({
        "type": "object",
        "properties": {
            "uuid": { "type": "string", "format": "uuid" },
            "name": { "type": "string" },
        },
        "required": ["uuid", "name"],
    })
}

fn event(description: &str, types: &Value, data: &Value) -> Value {
    let mut kind = types.clone();
    kind["type"] = "string".into();
    json!({
        "description": description,
        "type": "object",
        "properties": {
            "type": kind,
            "timestamp": {
                "description": "When it happened.",
                "type": "string",
                "format": "date-time",
            },
            "data": data,
        },
        "required": ["type", "timestamp", "data"],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_event_has_an_example_that_was_sent() {
        let story = Story::play().await;
        let webhooks = webhooks(&mut Schemas::new(), &story);
        let webhooks = webhooks.as_object().expect("webhooks");
        assert_eq!(webhooks.len(), EventKind::ALL.len() + 2);
        for (name, webhook) in webhooks {
            let body = &webhook["post"]["requestBody"]["content"]["application/json"];
            assert_eq!(body["examples"]["sent"]["value"]["type"], **name);
        }
    }
}

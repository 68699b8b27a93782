//! Describes a dead letter.

use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use vedette_domain::message::{
    AlertMessage, CheckMessage, MailRequest, ReconcileMessage, RunOrder,
};
use vedette_domain::status_pages::MailingTopic;
use vedette_domain::time::wire_time_or_null;

use crate::output::moment;

/// A message that was given up.
#[derive(Debug, Clone, Serialize)]
pub(super) struct DeadLetter {
    pub(super) queue: &'static str,
    /// Its id, which is also in the functions' logs.
    pub(super) message: String,
    /// When it was first sent.
    #[serde(serialize_with = "wire_time_or_null")]
    pub(super) sent_at: Option<Timestamp>,
    /// How often it was received, including by `vedette dlq`.
    pub(super) received: u32,
    /// What it requests.
    pub(super) what: String,
    pub(super) site: Option<String>,
    pub(super) check: Option<String>,
    /// Why it was given up, if the message says so. Otherwise, the logs do, under its id.
    pub(super) why: Option<String>,
}

/// The parameters of the call that EventBridge Scheduler could not make.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Undelivered {
    pub(super) queue_url: String,
    pub(super) message_body: String,
    pub(super) message_group_id: Option<String>,
}

impl DeadLetter {
    /// Reads a message of a queue.
    pub(super) fn read(queue: &'static str, message: &Message) -> Self {
        let body = message.body().unwrap_or_default();
        let attribute = |name| message.attributes()?.get(&name);
        let sent_at = attribute(MessageSystemAttributeName::SentTimestamp);
        let sent_at = sent_at.and_then(|millis| millis.parse().ok());
        let received = attribute(MessageSystemAttributeName::ApproximateReceiveCount);
        let undelivered = serde_json::from_str::<Undelivered>(body).ok();
        let asked = undelivered.as_ref().map_or(body, |undelivered| &undelivered.message_body);
        let (what, site, check) = in_words(asked);
        Self {
            queue,
            message: message.message_id().unwrap_or_default().to_owned(),
            sent_at: sent_at.and_then(|millis| Timestamp::from_millisecond(millis).ok()),
            received: received.and_then(|count| count.parse().ok()).unwrap_or_default(),
            what,
            site,
            check,
            why: reason(message),
        }
    }
}

/// The attributes that EventBridge Scheduler adds to a message that it could not send.
fn reason(message: &Message) -> Option<String> {
    let attributes = message.message_attributes()?;
    let told = ["ERROR_CODE", "ERROR_MESSAGE"].into_iter();
    let told: Vec<&str> = told.filter_map(|name| attributes.get(name)?.string_value()).collect();
    (!told.is_empty()).then(|| told.join(": "))
}

/// What a message requests, its site, and its check.
fn in_words(body: &str) -> (String, Option<String>, Option<String>) {
    if let Ok(check) = serde_json::from_str::<CheckMessage>(body) {
        let tool = check.tool;
        let what = match check.order {
            RunOrder::OnDemand { .. } => format!("{tool} check on demand"),
            RunOrder::Automatic { reason, slot } => {
                let reason = reason.as_str().replace('_', " ");
                format!("{tool} check ({reason}) of {}", moment(slot))
            }
        };
        return (what, Some(check.site.to_string()), Some(check.check_id().to_string()));
    }
    if let Ok(alert) = serde_json::from_str::<AlertMessage>(body) {
        let what = match alert {
            AlertMessage::Issue { issue, .. } => format!("alerts about issue {issue}"),
            AlertMessage::Channel { channel, .. } => format!("alerts to channel {channel}"),
            AlertMessage::Unchecked { site, .. } => {
                format!("notifying the owners that site {site} can't be checked")
            }
            AlertMessage::Team(team) => format!("deriving the alerts of team {team} again"),
            AlertMessage::Rebuild(team) => format!("rebuilding the alerts of team {team}"),
        };
        return (what, None, None);
    }
    if let Ok(dead_letter) = serde_json::from_str::<MailRequest>(body) {
        let what = match dead_letter {
            MailRequest::SignIn { user, .. } => format!("a link that signs in user {user}"),
            MailRequest::Invitation { team, .. } => format!("an invitation to team {team}"),
            MailRequest::Subscription { list, .. } => {
                format!("a link that confirms a subscription to {list}")
            }
            MailRequest::Mailing { list, topic, .. } => match topic {
                MailingTopic::Incident(incident) => {
                    format!("emails about incident {incident} to subscribers of status page {list}")
                }
                MailingTopic::Report(period) => {
                    format!("emails with report {period} to recipients of team {list}")
                }
            },
            MailRequest::Report { period, user, .. } => {
                format!("an email with report {period} to user {user}")
            }
        };
        return (what, None, None);
    }
    match serde_json::from_str::<ReconcileMessage>(body) {
        Ok(ReconcileMessage::Sync { site, .. }) => {
            ("sync of a site's schedules".to_owned(), Some(site.to_string()), None)
        }
        Ok(ReconcileMessage::Purge { site, .. }) => {
            ("purge of a deleted site or heartbeat".to_owned(), Some(site.to_string()), None)
        }
        Ok(ReconcileMessage::SyncTeam(team)) => {
            (format!("sync of the sites of team {team}"), None, None)
        }
        Ok(ReconcileMessage::Rebuild { team, .. }) => {
            (format!("rebuilding the timers of team {team}"), None, None)
        }
        Ok(ReconcileMessage::Deadline { heartbeat, .. }) => {
            (format!("deadline of heartbeat {heartbeat}"), None, None)
        }
        Ok(ReconcileMessage::Publish { page, .. }) => {
            (format!("publication of status page {page}"), None, None)
        }
        Ok(ReconcileMessage::Report(team)) => (format!("reports of team {team}"), None, None),
        Err(_) => {
            const EXCERPT_CHARACTERS: usize = 60;
            let start: String = body.chars().take(EXCERPT_CHARACTERS).collect();
            (format!("not a message of this service: {start}"), None, None)
        }
    }
}

//! The audit log of a team: who changed what, in its settings, sites, tokens, members, channels and issues.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::accounts::account::{Role, Scope};
use crate::alerts::channel::Channel;
use crate::expectations::Expectations;
use crate::heartbeats::heartbeat::Heartbeat;
use crate::id::{ChannelId, ComponentId, HeartbeatId, IssueId, SiteId, TeamId, UserId};
use crate::issues::Responder;
use crate::issues::record::Issue;
use crate::maintenance::MaintenanceWindow;
use crate::sites::group::SiteGroups;
use crate::sites::settings::Settings;
use crate::sites::site::Site;
use crate::status_pages::{Component, ComponentChange, PageIncident, StatusPage, Subscription};
use crate::time_zone::NamedZone;

/// How long an entry is kept.
pub const AUDIT_LIFETIME: SignedDuration = SignedDuration::from_hours(400 * 24);
/// The most differences in an entry: more than there are settings.
const DIFFERENCES_MAX: usize = 64;
/// The longest value that is kept, in characters.
const VALUE_MAX: usize = 100;

/// Who changed something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// A user, through the API or the dashboard.
    User(UserId),
    /// The operator of the service, through its command line.
    Operator,
    /// The reader of an email address, through a link in an email.
    Reader,
    /// Somebody who read a message in this channel, through its link.
    ReaderOf(ChannelId),
    /// The service, which follows what somebody has chosen earlier.
    Service,
}

impl Actor {
    /// The user, if the actor is one.
    pub const fn user(self) -> Option<UserId> {
        match self {
            Self::User(user) => Some(user),
            Self::Operator | Self::Reader | Self::ReaderOf(_) | Self::Service => None,
        }
    }

    /// Who responds to an issue, if the actor does that under a name.
    pub const fn responder(self) -> Option<Responder> {
        match self {
            Self::User(user) => Some(Responder::Member(user)),
            Self::ReaderOf(channel) => Some(Responder::Reader { channel }),
            Self::Operator | Self::Reader | Self::Service => None,
        }
    }
}

/// Who does something, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct By {
    /// Who.
    pub actor: Actor,
    /// When.
    pub now: Timestamp,
}

impl By {
    /// The operator.
    pub const fn operator(now: Timestamp) -> Self {
        Self { actor: Actor::Operator, now }
    }

    /// A user.
    pub const fn user(user: UserId, now: Timestamp) -> Self {
        Self { actor: Actor::User(user), now }
    }
}

/// An entry of a team's audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// The team.
    pub team: TeamId,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: Actor,
    /// What.
    pub event: AuditEvent,
}

impl AuditEntry {
    /// The entry for what somebody did to a team.
    pub const fn new(team: TeamId, by: By, event: AuditEvent) -> Self {
        Self { team, at: by.now, actor: by.actor, event }
    }

    /// When it is deleted.
    pub fn expires_at(&self) -> Timestamp {
        self.at.saturating_add(AUDIT_LIFETIME).unwrap_or(Timestamp::MAX)
    }

    /// Distinguishes it from other entries of the same instant. Two identical entries become one.
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(serde_json::to_vec(self).unwrap_or_default()).into()
    }

    /// The users whom it names: the actor, and the user whom it is about.
    pub fn users(&self) -> impl Iterator<Item = UserId> {
        let about = match self.event {
            AuditEvent::MemberAdded { user, .. }
            | AuditEvent::MemberChanged { user, .. }
            | AuditEvent::MemberRemoved { user, .. }
            | AuditEvent::TokenCreated { user, .. }
            | AuditEvent::TokenRevoked { user, .. } => Some(user),
            _ => None,
        };
        self.actor.user().into_iter().chain(about)
    }
}

/// What was changed. The changed thing has the name that it had then, because it may be gone by now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum AuditEvent {
    /// The team's monitoring settings changed.
    SettingsChanged {
        /// What differs.
        differences: Vec<Difference>,
    },
    /// A site was created.
    SiteCreated {
        /// The site.
        site: SiteId,
        /// Its name.
        name: String,
    },
    /// A site or its settings changed.
    SiteChanged {
        /// The site.
        site: SiteId,
        /// Its name before.
        name: String,
        /// What differs.
        differences: Vec<Difference>,
    },
    /// A site was deleted.
    SiteDeleted {
        /// The site.
        site: SiteId,
        /// Its name.
        name: String,
    },
    /// A member has a new token, which works for all their teams.
    TokenCreated {
        /// Whose it is.
        user: UserId,
        /// The short form of its secret's hash. The token's name is private to its user, who may have other teams.
        hash: String,
        /// What it may be used for.
        scopes: Vec<Scope>,
    },
    /// A member's token was revoked.
    TokenRevoked {
        /// Whose it was.
        user: UserId,
        /// The short form of its secret's hash.
        hash: String,
    },
    /// A user was added to the team.
    MemberAdded {
        /// The user.
        user: UserId,
        /// What they may do.
        role: Role,
    },
    /// A member got another role.
    MemberChanged {
        /// The member.
        user: UserId,
        /// What they could do.
        before: Role,
        /// What they may do now.
        after: Role,
    },
    /// A user was removed from the team.
    MemberRemoved {
        /// The user.
        user: UserId,
        /// What they could do.
        role: Role,
    },
    /// Somebody was invited, or an invitation was renewed.
    Invited {
        /// Their address.
        email: String,
        /// What they will be able to do.
        role: Role,
    },
    /// An invitation was withdrawn.
    InvitationWithdrawn {
        /// The address that it was for.
        email: String,
    },
    /// The invited person declined.
    InvitationDeclined {
        /// Their address.
        email: String,
    },
    /// A channel was added, changed or removed.
    Channel {
        /// Its name.
        name: String,
        /// What was done.
        change: ChannelChange,
    },
    /// A heartbeat was created, changed, paused, resumed or deleted.
    Heartbeat {
        /// The heartbeat.
        heartbeat: HeartbeatId,
        /// Its name.
        name: String,
        /// What was done.
        change: HeartbeatChange,
    },
    /// The team got another key for the ping addresses of its heartbeats.
    PingKeyReplaced,
    /// A maintenance window was added, changed, ended or removed.
    MaintenanceWindow {
        /// Its name.
        name: String,
        /// What was done.
        change: WindowChange,
    },
    /// The calendar feed of the maintenance windows got an address, which replaces any other.
    CalendarShared,
    /// The calendar feed has no address any more.
    CalendarUnshared,
    /// A status page was added, changed or removed.
    StatusPage {
        /// Its name.
        name: String,
        /// What was done.
        change: PageChange,
    },
    /// The selector of a status page added a component or removed one.
    Component {
        /// The name of the page.
        page: String,
        /// The component.
        component: ComponentId,
        /// Its name.
        name: String,
        /// What was done.
        change: ComponentChange,
    },
    /// A recipient of reports was added, confirmed the address, unsubscribed or was removed.
    Recipient {
        /// The address.
        email: String,
        /// Which reports, as in `monthly reports`.
        reports: String,
        /// What was done.
        change: RecipientChange,
    },
    /// Somebody wrote or removed an incident on a status page.
    Incident {
        /// The name of the page.
        page: String,
        /// The title of the incident.
        title: String,
        /// What was done.
        change: IncidentChange,
    },
    /// Somebody decided about an issue, or wrote something about it.
    Issue {
        /// The issue.
        issue: IssueId,
        /// A one-line summary of the issue.
        summary: String,
        /// What was decided.
        decision: IssueDecision,
    },
}

/// What was done with a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChannelChange {
    /// It was added.
    Added,
    /// Its name or its choice of alerts changed.
    Edited,
    /// It leads to another URL or has another access token; its name or its choice of alerts may have changed as well.
    Moved,
    /// Its reader confirmed the address.
    Confirmed,
    /// Its reader unsubscribed.
    Unsubscribed,
    /// It was enabled again.
    Enabled,
    /// It was disabled.
    Disabled,
    /// It got another signing key.
    KeyRotated,
    /// It was removed.
    Removed,
}

/// What was done with a heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HeartbeatChange {
    /// It was created.
    Added,
    /// It was changed.
    Edited,
    /// No ping is expected any more.
    Paused,
    /// Pings are expected again.
    Resumed,
    /// It was deleted.
    Removed,
}

/// What was done with a maintenance window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WindowChange {
    /// It was added.
    Added,
    /// It was added, and is active from then on.
    Started,
    /// Its name, its sites or its time changed.
    Edited,
    /// It was active, and was ended.
    Ended,
    /// It was removed.
    Removed,
}

/// What was done with a status page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PageChange {
    /// It was added.
    Added,
    /// It shows something else, or is somewhere else.
    Edited,
    /// It was removed.
    Removed,
}

/// What was done with a recipient of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RecipientChange {
    /// A member added the address.
    Added,
    /// Its reader confirmed it.
    Confirmed,
    /// Its reader unsubscribed.
    Unsubscribed,
    /// A member removed it.
    Removed,
}

/// What was done with an incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IncidentChange {
    /// It was written.
    Added,
    /// It got an update.
    Updated,
    /// It got an update that says that it is over.
    Resolved,
    /// Something else about it changed.
    Edited,
    /// It was removed.
    Removed,
}

impl IncidentChange {
    /// What differs between an incident before and after a change.
    pub fn of(before: &PageIncident, after: &PageIncident) -> Self {
        if before.updates.len() == after.updates.len() {
            Self::Edited
        } else if after.is_resolved() {
            Self::Resolved
        } else {
            Self::Updated
        }
    }
}

/// What was decided about an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueDecision {
    /// Somebody acknowledged it.
    Acknowledged,
    /// The acknowledgment was taken back.
    Unacknowledged,
    /// It was resolved.
    Resolved,
    /// Its reminders stop until then.
    Snoozed(Timestamp),
    /// Its reminders start again.
    Unsnoozed,
    /// Somebody wrote something about it.
    Noted,
}

/// One list of texts, because generators of clients fail at a choice between constants and an object.
#[cfg(feature = "schema")]
impl schemars::JsonSchema for IssueDecision {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "IssueDecision".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "What was decided about an issue.",
            "anyOf": [
                {
                    "type": "string",
                    "enum": ["acknowledged", "unacknowledged", "resolved", "unsnoozed", "noted"],
                },
                {
                    "description": "Its reminders stop until then.",
                    "type": "object",
                    "properties": { "snoozed": { "type": "string", "format": "date-time" } },
                    "required": ["snoozed"],
                    "additionalProperties": false,
                },
            ],
        })
    }
}

impl AuditEvent {
    /// A change of the team's settings.
    pub fn settings(before: &Settings, after: &Settings) -> Self {
        Self::SettingsChanged { differences: differences(&document(before), &document(after)) }
    }

    /// A change of the team's time zone.
    pub fn time_zone(before: &NamedZone, after: &NamedZone) -> Self {
        let document = |zone: &NamedZone| json!({ "time_zone": zone.name() });
        Self::SettingsChanged { differences: differences(&document(before), &document(after)) }
    }

    /// A change of the team's name.
    pub fn team_name(before: &str, after: &str) -> Self {
        let document = |name: &str| json!({ "team_name": name });
        Self::SettingsChanged { differences: differences(&document(before), &document(after)) }
    }

    /// A change of the team's groups of sites.
    pub fn site_groups(before: &SiteGroups, after: &SiteGroups) -> Self {
        let document = |groups: &SiteGroups| -> Value {
            let fields = groups.groups.iter().flat_map(|group| {
                let name = format!("group {}", group.name);
                let objective = group.objective.map(|of| (format!("{name}.objective"), json!(of)));
                [(name, json!(group.selector))].into_iter().chain(objective)
            });
            fields.collect()
        };
        Self::SettingsChanged { differences: differences(&document(before), &document(after)) }
    }

    /// A change of a site.
    pub fn site(before: &Site, after: &Site) -> Self {
        let mut differences = differences(&chosen(before), &chosen(after));
        differences.extend(expectations_differ(&before.expectations, &after.expectations));
        if before.records != after.records {
            differences.push(Difference::unshown("learnt_dns_records"));
        }
        Self::SiteChanged { site: before.id, name: before.name.clone(), differences }
    }

    /// A change of a channel.
    pub fn channel(channel: &Channel, change: ChannelChange) -> Self {
        Self::Channel { name: channel.name.clone(), change }
    }

    /// A change of a heartbeat.
    pub fn heartbeat(heartbeat: &Heartbeat, change: HeartbeatChange) -> Self {
        Self::Heartbeat { heartbeat: heartbeat.id, name: heartbeat.name.clone(), change }
    }

    /// A change of a maintenance window.
    pub fn window(window: &MaintenanceWindow, change: WindowChange) -> Self {
        Self::MaintenanceWindow { name: window.name.clone(), change }
    }

    /// A change of a status page.
    pub fn status_page(page: &StatusPage, change: PageChange) -> Self {
        Self::StatusPage { name: page.name.clone(), change }
    }

    /// A component that the selector of a page added or removed.
    pub fn component(page: &StatusPage, of: &Component, change: ComponentChange) -> Self {
        Self::Component { page: page.name.clone(), component: of.id, name: of.name.clone(), change }
    }

    /// A change of a recipient of reports; `None` if the subscription is one to a status page.
    pub fn recipient(subscription: &Subscription, change: RecipientChange) -> Option<Self> {
        let reports = subscription.reports.as_ref()?.name();
        Some(Self::Recipient { email: subscription.email.clone(), reports, change })
    }

    /// A change of an incident.
    pub fn incident(page: &StatusPage, incident: &PageIncident, change: IncidentChange) -> Self {
        Self::Incident { page: page.name.clone(), title: incident.title.clone(), change }
    }

    /// A decision about an issue.
    pub fn issue(issue: &Issue, decision: IssueDecision) -> Self {
        Self::Issue { issue: issue.id, summary: issue.summary.clone(), decision }
    }
}

/// A setting that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// Its path, as in `tools.status.cadence_minutes`.
    pub setting: String,
    /// The old value as text, if there was one. Values that may be secret or are too long are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The new value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

impl Difference {
    /// A setting whose values are left out.
    fn unshown(setting: &str) -> Self {
        Self { setting: setting.to_owned(), before: None, after: None }
    }
}

/// Whether a setting may hold private text. A header or a body that is sent to sites may contain a password, and notes
/// are free text, which somebody may want to delete.
fn is_private(setting: &str) -> bool {
    matches!(setting, "notes" | "expectations.post.body") || setting.ends_with("header.value")
}

/// What members choose for a site, under the API's names.
fn chosen(site: &Site) -> Value {
    json!({
        "name": site.name,
        "url": site.url,
        "notes": site.notes,
        "tags": site.tags,
        "js_rendered": site.js_rendered,
        "pinned": site.pinned,
        "objective": site.objective,
        "dns_expected_records": site.expected_records,
        "monitoring_settings": site.overrides,
        "expectations": {
            "method": site.expectations.request_method(),
            "post": site.expectations.post,
            "issues": site.expectations.issues,
        },
    })
}

/// The expectations that were removed or added, each in words.
fn expectations_differ(before: &Expectations, after: &Expectations) -> Vec<Difference> {
    let lacking = |of: &Expectations, other: &Expectations| -> Vec<Option<String>> {
        let all = of.expectations.iter().filter(|one| !other.expectations.contains(one));
        all.map(|one| text(&Value::String(one.to_string()))).collect()
    };
    let difference = |before: Option<String>, after: Option<String>| Difference {
        before,
        after,
        ..Difference::unshown("expectations.expectation")
    };
    let removed = lacking(before, after).into_iter().map(|one| difference(one, None));
    removed.chain(lacking(after, before).into_iter().map(|one| difference(None, one))).collect()
}

fn document(settings: &Settings) -> Value {
    serde_json::to_value(settings).unwrap_or_default()
}

/// The settings in which two documents differ.
fn differences(before: &Value, after: &Value) -> Vec<Difference> {
    let (before, after) = (leaves(before), leaves(after));
    let settings: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let changed =
        settings.into_iter().filter(|setting| before.get(*setting) != after.get(*setting));
    changed
        .take(DIFFERENCES_MAX)
        .map(|setting| {
            // A missing value has no text. If there are two values, their texts are kept or left out together.
            let text = |of: &BTreeMap<String, &Value>| of.get(setting).map(|value| text(value));
            match [text(&before), text(&after)] {
                [Some(None), _] | [_, Some(None)] => Difference::unshown(setting),
                _ if is_private(setting) => Difference::unshown(setting),
                [before, after] => Difference {
                    setting: setting.clone(),
                    before: before.flatten(),
                    after: after.flatten(),
                },
            }
        })
        .collect()
}

/// All values of a document, by their paths.
pub(crate) fn leaves(document: &Value) -> BTreeMap<String, &Value> {
    let mut leaves = BTreeMap::new();
    let mut open = vec![(String::new(), document)];
    while let Some((path, value)) = open.pop() {
        match value {
            Value::Object(fields) => open.extend(fields.iter().map(|(name, value)| {
                let dot = if path.is_empty() { "" } else { "." };
                (format!("{path}{dot}{name}"), value)
            })),
            Value::Null => {}
            leaf => {
                leaves.insert(path, leaf);
            }
        }
    }
    leaves
}

/// A value as text, unless it is too long.
fn text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Option<Vec<String>> = items.iter().map(text).collect();
            items?.join(", ")
        }
        other => other.to_string(),
    };
    (text.chars().count() <= VALUE_MAX).then_some(text)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn between(before: Value, after: Value) -> Vec<String> {
        let differences = differences(&before, &after);
        let text = |text: &Option<String>| text.as_deref().unwrap_or("-").to_owned();
        let shown = |of: &Difference| {
            format!("{}: {} to {}", of.setting, text(&of.before), text(&of.after))
        };
        differences.iter().map(shown).collect()
    }

    #[test]
    fn documents_differ_setting_by_setting() {
        let before = json!({ "a": { "b": 1, "same": [1] }, "gone": "x", "list": ["x", "y"] });
        let after = json!({ "a": { "b": 2, "same": [1], "new": true }, "gone": null, "list": [] });
        let expected = ["a.b: 1 to 2", "a.new: - to true", "gone: x to -", "list: x, y to "];
        assert_eq!(between(before, after), expected);
        assert_eq!(between(json!({ "a": [1, 2] }), json!({ "a": [1, 2] })), [""; 0]);
    }

    #[test]
    fn expectations_are_said_in_words_one_by_one() {
        let of = |expectations: Value| -> Expectations {
            serde_json::from_value(json!({ "expectations": expectations })).expect("expectations")
        };
        let ok = json!({ "kind": "json_equals", "pointer": "/status", "value": "ok" });
        let fast = json!({ "kind": "response_time", "max_ms": 2000 });
        let text = |text: &str| json!({ "kind": "body_lacks", "text": text });
        let said = |before: Value, after: Value| -> Vec<_> {
            let differences = expectations_differ(&of(before), &of(after)).into_iter();
            differences
                .map(|of| (of.before.unwrap_or_default(), of.after.unwrap_or_default()))
                .collect()
        };
        let pair = |before: &str, after: &str| (before.to_owned(), after.to_owned());
        assert_eq!(
            said(json!([ok, text("Fatal")]), json!([text("Fatal"), fast])),
            [pair("\"ok\" at /status", ""), pair("", "an answer within 2000 ms")]
        );
        assert_eq!(said(json!([ok, fast]), json!([fast, ok])), [], "only their order");
        // Escaped, it is too long to show.
        let long = text(&"\u{202e}".repeat(80));
        assert!(said(json!([]), json!([long])).len() == 1);
    }

    #[test]
    fn secret_or_long_values_are_not_shown_in_the_audit_log() {
        let header = |value: &str| json!({ "tools": {}, "request_header": { "value": value } });
        let expected = ["request_header.value: - to -"];
        assert_eq!(between(header("one"), header("other")), expected);
        assert_eq!(between(json!({}), header("one")), expected);
        assert_eq!(between(json!({ "notes": "password" }), json!({})), ["notes: - to -"]);
        let url = |length| json!({ "url": "é".repeat(length) });
        let longest = "é".repeat(VALUE_MAX);
        assert_eq!(between(json!({}), url(VALUE_MAX)), [format!("url: - to {longest}")]);
        for (before, after) in [(1, VALUE_MAX + 1), (VALUE_MAX + 1, 1)] {
            assert_eq!(between(url(before), url(after)), ["url: - to -"], "not as if it was gone");
        }
        let many: Value = (0..100).map(|number| (number.to_string(), json!(1))).collect();
        assert_eq!(between(json!({}), many).len(), DIFFERENCES_MAX);
    }

    #[test]
    fn an_entry_is_told_from_another_of_its_instant() {
        let at = Timestamp::UNIX_EPOCH;
        let (team, user) = (TeamId(Uuid::from_u128(1)), UserId(Uuid::from_u128(2)));
        let added = AuditEvent::MemberAdded { user, role: Role::Viewer };
        let left = AuditEvent::MemberRemoved { user, role: Role::Viewer };
        let entry =
            |actor, event: &AuditEvent| AuditEntry::new(team, By { actor, now: at }, event.clone());
        let one = entry(Actor::Operator, &added);
        assert_eq!(one.digest(), entry(Actor::Operator, &added).digest());
        assert_ne!(one.digest(), entry(Actor::User(user), &added).digest());
        assert_ne!(one.digest(), entry(Actor::Operator, &left).digest());
        let stored = serde_json::to_value(&one).expect("serialize");
        assert_eq!(serde_json::from_value::<AuditEntry>(stored).expect("read"), one);
    }
}

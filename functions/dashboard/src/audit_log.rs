//! The audit log of a team.

use std::collections::BTreeMap;

use lambda_http::http::StatusCode;
use maud::{Markup, PreEscaped, html};
use url::form_urlencoded;
use vedette_domain::accounts::account::User;
use vedette_domain::accounts::audit::{
    AUDIT_LIFETIME, Actor, AuditEntry, AuditEvent, ChannelChange, Difference, HeartbeatChange,
    IncidentChange, IssueDecision, PageChange, RecipientChange, WindowChange,
};
use vedette_domain::alerts::channel::Channel;
use vedette_domain::alerts::link;
use vedette_domain::id::{TeamId, UserId};
use vedette_domain::status_pages::ComponentChange;
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_store::{AuditPage, TeamWithSettings};

use crate::clock::Clock;
use crate::form::label;
use crate::layout::{Heading, NavTab};
use crate::members::role_word;
use crate::settings::{Part, beside_others, setting_at};
use crate::{RequestContext, layout};

/// The entries on a page.
const PAGE: usize = 50;
/// Longer than any place in a log.
const PLACE_MAX: usize = 128;

/// Shows a page of the log, newest first.
pub(crate) async fn show(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let store = &context.app.store;
    let id = team.id();
    let query = Query::parse(context.head.uri.query());
    let before = query.search("before").filter(|place| (1..=PLACE_MAX).contains(&place.len()));
    let page = store.audit_log(id, before, PAGE).await?;
    let people: Vec<UserId> = page.entries.iter().flat_map(AuditEntry::users).collect();
    let is_of_channel = |entry: &AuditEntry| matches!(entry.actor, Actor::ReaderOf(_));
    let channels = async {
        match page.entries.iter().any(is_of_channel) {
            true => store.channels(id).await,
            false => Ok(Vec::new()),
        }
    };
    let (users, channels) = futures::try_join!(store.users(people), channels)?;
    let who = (&users, &*channels);
    let content = content((id, context.clock(Some(&team.team))), before, &page, who);
    let title = Heading::new("Audit log").lead(
        html! { p.quiet { "Who changed settings, sites, tokens, members, channels and issues." } },
    );
    let content = beside_others(id, Part::AuditLog, &content);
    Ok(layout::team_page(context, (&team.team, NavTab::AuditLog), StatusCode::OK, title, &content))
}

fn content(
    (team, clock): (TeamId, Clock<'_>),
    before: Option<&str>,
    page: &AuditPage,
    (users, channels): (&BTreeMap<UserId, User>, &[Channel]),
) -> Markup {
    let path = format!("/teams/{team}/audit-log");
    html! {
        @if page.entries.is_empty() {
            div.card { div.empty { p { "No changes in the last " (AUDIT_LIFETIME.as_hours() / 24) " days." } } }
        } @else {
            div.card { table.cards-t.log {
                (layout::columns(
                    "Changes to settings, sites, tokens, members, channels and issues, newest first",
                    &["When", "Who", "What"],
                ))
                tbody { @for entry in &page.entries { (row(entry, users, channels, clock)) } }
            } }
        }
        @if before.is_some() || page.next.is_some() {
            nav aria-label="Pages" {
                div.row.screen {
                    @if before.is_some() { a.btn href=(path) { "Newest" } }
                    @if let Some(place) = &page.next {
                        a.btn rel="next" href=(older(&path, place)) { "Older" }
                    }
                }
            }
        }
    }
}

fn older(path: &str, place: &str) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    format!("{path}?{}", query.append_pair("before", place).finish())
}

fn row(
    entry: &AuditEntry,
    users: &BTreeMap<UserId, User>,
    channels: &[Channel],
    clock: Clock<'_>,
) -> Markup {
    html! {
        tr {
            td { (clock.instant(entry.at)) }
            td {
                @match entry.actor {
                    // Users choose their own names, so the address is shown too.
                    Actor::User(user) => {
                        (name(user, users))
                        @if let Some(user) = users.get(&user) { br; span.quiet { (user.email) } }
                    }
                    Actor::Operator => em { "the operator" },
                    Actor::Reader => em { "the recipient of the address" },
                    Actor::ReaderOf(channel) => {
                        em { "a reader of the channel" } " "
                        @match channels.iter().find(|of| of.id == channel) {
                            Some(of) => a href=(link::channel("", of.team, of.id)) { bdi { (of.name) } },
                            None => code { (channel) },
                        }
                    }
                    Actor::Service => em { "the service" },
                }
            }
            td { (what(entry, users, clock)) }
        }
    }
}

fn name(user: UserId, users: &BTreeMap<UserId, User>) -> Markup {
    html! {
        @match users.get(&user) {
            Some(user) => bdi { (user.name) },
            None => code { (user) },
        }
    }
}

fn what(
    AuditEntry { actor, event, .. }: &AuditEntry,
    users: &BTreeMap<UserId, User>,
    clock: Clock<'_>,
) -> Markup {
    let is_own = |user: &UserId| *actor == Actor::User(*user);
    let whose = |user: &UserId| match is_own(user) {
        true => html! { "their" },
        false => html! { (name(*user, users)) "’s" },
    };
    let whom = |user: &UserId| name(*user, users);
    let called = |name: &str| html! { b { bdi { (name) } } };
    match event {
        AuditEvent::SettingsChanged { differences } => {
            html! { "Changed the monitoring settings" (list(differences)) }
        }
        AuditEvent::SiteCreated { site, name } => {
            html! { "Added the site " a href={ "/sites/" (site) } { bdi { (name) } } }
        }
        AuditEvent::SiteChanged { site, name, differences } => html! {
            "Changed the site " a href={ "/sites/" (site) } { bdi { (name) } } (list(differences))
        },
        AuditEvent::SiteDeleted { name, .. } => html! { "Deleted the site " (called(name)) },
        AuditEvent::TokenCreated { user, hash, scopes } => {
            let scopes: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
            html! { "Created " (whose(user)) " API token " code { (hash) } ", for " (scopes.join(", ")) }
        }
        AuditEvent::TokenRevoked { user, hash } => {
            html! { "Revoked " (whose(user)) " API token " code { (hash) } }
        }
        AuditEvent::MemberAdded { user, role } => html! {
            @if is_own(user) { "Accepted an invitation" } @else { "Added " (whom(user)) }
            ", as " (role_word(*role))
        },
        AuditEvent::MemberChanged { user, before, after } => html! {
            "Gave " (whom(user)) " the role " (role_word(*after)) ", before " (role_word(*before))
        },
        AuditEvent::MemberRemoved { user, role } => html! {
            @if is_own(user) { "Left the team" } @else { "Removed " (whom(user)) }
            ", with the role " (role_word(*role))
        },
        AuditEvent::Invited { email, role } => {
            html! { "Invited " (called(email)) ", as " (role_word(*role)) }
        }
        AuditEvent::InvitationWithdrawn { email } => {
            html! { "Withdrew the invitation for " (called(email)) }
        }
        AuditEvent::InvitationDeclined { email } => {
            html! { "Declined the invitation for " (called(email)) }
        }
        AuditEvent::Channel { name, change } => html! { (of_channel(*change)) " " (called(name)) },
        AuditEvent::CalendarShared => {
            html! { "Created a new address for the calendar of maintenance windows" }
        }
        AuditEvent::CalendarUnshared => {
            html! { "Revoked the address of the calendar of maintenance windows" }
        }
        AuditEvent::MaintenanceWindow { name, change } => {
            html! { (of_window(*change)) " " (called(name)) }
        }
        AuditEvent::Heartbeat { name, change, .. } => {
            html! { (of_heartbeat(*change)) " " (called(name)) }
        }
        AuditEvent::PingKeyReplaced => html! { "Replaced the ping key of the team" },
        AuditEvent::StatusPage { name, change } => html! { (of_page(*change)) " " (called(name)) },
        AuditEvent::Component { page, name, change, .. } => html! {
            @match change {
                ComponentChange::Joined => {
                    "Added " (called(name)) " to the status page " (called(page)) ", because the selector matches it"
                }
                ComponentChange::Left => {
                    "Removed " (called(name)) " from the status page " (called(page)) ", because the selector no longer matches it"
                }
            }
        },
        AuditEvent::Recipient { email, reports, change } => {
            html! { (of_recipient(*change)) " " (called(email)) ", for " bdi { (reports) } }
        }
        AuditEvent::Incident { page, title, change } => html! {
            (of_incident(*change)) " " (called(title)) " on the status page " (called(page))
        },
        AuditEvent::Issue { issue, summary, decision } => html! {
            (of_issue(*decision, clock)) " " a href={ "/issues/" (issue) } { bdi { (summary) } }
        },
    }
}

const fn of_channel(change: ChannelChange) -> &'static str {
    match change {
        ChannelChange::Added => "Added the channel",
        ChannelChange::Edited => "Edited the channel",
        ChannelChange::Moved => "Changed the address of the channel",
        ChannelChange::Confirmed => "Confirmed the channel",
        ChannelChange::Unsubscribed => "Unsubscribed from the channel",
        ChannelChange::Enabled => "Enabled the channel",
        ChannelChange::Disabled => "Disabled the channel",
        ChannelChange::KeyRotated => "Replaced the signing key of the channel",
        ChannelChange::Removed => "Removed the channel",
    }
}

const fn of_heartbeat(change: HeartbeatChange) -> &'static str {
    match change {
        HeartbeatChange::Added => "Added the heartbeat",
        HeartbeatChange::Edited => "Edited the heartbeat",
        HeartbeatChange::Paused => "Paused the heartbeat",
        HeartbeatChange::Resumed => "Resumed the heartbeat",
        HeartbeatChange::Removed => "Deleted the heartbeat",
    }
}

const fn of_window(change: WindowChange) -> &'static str {
    match change {
        WindowChange::Added => "Added the maintenance window",
        WindowChange::Started => "Started the maintenance window",
        WindowChange::Edited => "Edited the maintenance window",
        WindowChange::Ended => "Ended the maintenance window",
        WindowChange::Removed => "Deleted the maintenance window",
    }
}

const fn of_page(change: PageChange) -> &'static str {
    match change {
        PageChange::Added => "Created the status page",
        PageChange::Edited => "Edited the status page",
        PageChange::Removed => "Deleted the status page",
    }
}

const fn of_recipient(change: RecipientChange) -> &'static str {
    match change {
        RecipientChange::Added => "Added the recipient",
        RecipientChange::Confirmed => "Confirmed the recipient",
        RecipientChange::Unsubscribed => "Unsubscribed the recipient",
        RecipientChange::Removed => "Removed the recipient",
    }
}

const fn of_incident(change: IncidentChange) -> &'static str {
    match change {
        IncidentChange::Added => "Wrote the incident",
        IncidentChange::Updated => "Wrote an update of the incident",
        IncidentChange::Resolved => "Resolved the incident",
        IncidentChange::Edited => "Edited the incident",
        IncidentChange::Removed => "Deleted the incident",
    }
}

fn of_issue(decision: IssueDecision, clock: Clock<'_>) -> Markup {
    html! {
        @match decision {
            IssueDecision::Acknowledged => "Acknowledged",
            IssueDecision::Unacknowledged => "Undid the acknowledgement of",
            IssueDecision::Resolved => "Resolved",
            IssueDecision::Snoozed(until) => { "Snoozed until " (clock.instant(until)) ":" }
            IssueDecision::Unsnoozed => "Ended the snooze of",
            IssueDecision::Noted => "Wrote a note about",
        }
    }
}

fn list(differences: &[Difference]) -> Markup {
    let mut shown: Vec<String> = Vec::new();
    for difference in differences {
        let words = changed(difference).into_string();
        // A setting that also has an older name is in the log under both.
        if !shown.contains(&words) {
            shown.push(words);
        }
    }
    html! {
        @if !shown.is_empty() {
            ul { @for words in shown { li { (PreEscaped(words)) } } }
        }
    }
}

/// A setting with its old and new value, as far as the log has them, in the words of the forms.
fn changed(Difference { setting, before, after }: &Difference) -> Markup {
    let found = setting_at(setting);
    let name = match &found {
        Some((section, control)) => format!("{}, {}", section.title(), control.label_text()),
        // A setting of an older version.
        None => label::of_field(setting).unwrap_or_else(|| setting.clone()),
    };
    let words = |value: &str| match &found {
        Some((_, control)) => control.words_for(value),
        None => value.to_owned(),
    };
    html! {
        (name) ": "
        @match (before, after) {
            (Some(before), Some(after)) => { bdi { (words(before)) } " → " bdi { (words(after)) } }
            (None, Some(after)) => { "set to " bdi { (words(after)) } }
            (Some(before), None) => { "was " bdi { (words(before)) } }
            (None, None) => "changed",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use vedette_domain::sites::settings::Settings;

    use super::*;

    /// The paths of all values in a document.
    fn paths(document: &Value, path: &str, found: &mut Vec<String>) {
        match document {
            Value::Object(fields) => fields.iter().for_each(|(name, value)| {
                let dot = if path.is_empty() { "" } else { "." };
                paths(value, &format!("{path}{dot}{name}"), found);
            }),
            _ => found.push(path.to_owned()),
        }
    }

    #[test]
    fn every_setting_has_a_name() {
        let mut found = Vec::new();
        paths(&serde_json::to_value(Settings::default()).expect("JSON"), "", &mut found);
        assert!(found.len() > 30, "{found:?}");
        for path in found {
            for path in [format!("monitoring_settings.{path}"), path] {
                assert!(setting_at(&path).is_some(), "{path}");
            }
        }
        for path in [
            "name",
            "url",
            "notes",
            "js_rendered",
            "pinned",
            "learnt_dns_records",
            "time_zone",
            "expectations.post.body",
        ] {
            assert!(label::of_field(path).is_some(), "{path}");
        }
        assert_eq!(
            label::of_field("dns_expected_records.MX").as_deref(),
            Some("Expected MX records")
        );
    }

    #[test]
    fn a_change_is_said_in_the_words_of_the_forms() {
        let said = |setting: &str, before: Value, after: Value| {
            let text = |value: Value| value.as_str().map(str::to_owned);
            let difference = Difference {
                setting: setting.to_owned(),
                before: text(before),
                after: text(after),
            };
            changed(&difference).into_string().replace("<bdi>", "").replace("</bdi>", "")
        };
        for (setting, before, after, words) in [
            (
                "tools.dns.enabled",
                json!("true"),
                json!("false"),
                "DNS, Check automatically: yes → no",
            ),
            (
                "monitoring_settings.tools.status.cadence_minutes",
                json!("5"),
                json!("15"),
                "Status, Check interval: Every 5 minutes → Every 15 minutes",
            ),
            (
                "tools.status.settings.incident_status_codes",
                json!("500, 503"),
                json!("503"),
                "Status, Failure status codes: 500 Internal Server Error, 503 Service Unavailable → 503 Service Unavailable",
            ),
            (
                "request_header.value",
                Value::Null,
                Value::Null,
                "Request header, Header value: changed",
            ),
            (
                "dns_expected_records.A",
                Value::Null,
                json!("192.0.2.1"),
                "Expected A records: set to 192.0.2.1",
            ),
            ("tools.status.retired", Value::Null, json!("1"), "tools.status.retired: set to 1"),
        ] {
            assert_eq!(said(setting, before, after), words);
        }
    }
}

//! The audit log of a team.

use std::collections::BTreeMap;

use lambda_http::http::StatusCode;
use maud::{Markup, html};
use url::form_urlencoded;
use vedette_domain::accounts::account::User;
use vedette_domain::accounts::audit::{
    AUDIT_LIFETIME, Actor, AuditEntry, AuditEvent, ChannelChange, Difference, IssueDecision,
};
use vedette_domain::id::{TeamId, UserId};
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_store::{AuditPage, TeamWithSettings};

use crate::layout::{Heading, NavTab};
use crate::members::role_word;
use crate::settings::{Part, beside_others};
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
    let users = store.users(people).await?;
    let content = content(id, before, &page, &users);
    let title = Heading::new("Audit log").lead(
        html! { p.quiet { "Who changed settings, sites, tokens, members, channels and issues." } },
    );
    let content = beside_others(id, Part::AuditLog, &content);
    Ok(layout::team_page(context, (&team.team, NavTab::AuditLog), StatusCode::OK, title, &content))
}

fn content(
    team: TeamId,
    before: Option<&str>,
    page: &AuditPage,
    users: &BTreeMap<UserId, User>,
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
                tbody { @for entry in &page.entries { (row(entry, users)) } }
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

fn row(entry: &AuditEntry, users: &BTreeMap<UserId, User>) -> Markup {
    html! {
        tr {
            td { (layout::instant(entry.at)) }
            td {
                @match entry.actor {
                    // Users choose their own names, so the address is shown too.
                    Actor::User(user) => {
                        (name(user, users))
                        @if let Some(user) = users.get(&user) { br; span.quiet { (user.email) } }
                    }
                    Actor::Operator => em { "the operator" },
                    Actor::Reader => em { "the reader of the address" },
                }
            }
            td { (what(entry, users)) }
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

fn what(AuditEntry { actor, event, .. }: &AuditEntry, users: &BTreeMap<UserId, User>) -> Markup {
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
            html! { "Made " (whose(user)) " API token " code { (hash) } ", for " (scopes.join(", ")) }
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
            html! { "Withdrew the invitation of " (called(email)) }
        }
        AuditEvent::InvitationDeclined { email } => {
            html! { "Declined the invitation of " (called(email)) }
        }
        AuditEvent::Channel { name, change } => html! { (of_channel(*change)) " " (called(name)) },
        AuditEvent::Issue { issue, summary, decision } => html! {
            (of_issue(*decision)) " " a href={ "/issues/" (issue) } { bdi { (summary) } }
        },
    }
}

const fn of_channel(change: ChannelChange) -> &'static str {
    match change {
        ChannelChange::Added => "Added the channel",
        ChannelChange::Edited => "Edited the channel",
        ChannelChange::Confirmed => "Confirmed the channel",
        ChannelChange::Unsubscribed => "Unsubscribed from the channel",
        ChannelChange::Enabled => "Enabled the channel",
        ChannelChange::Disabled => "Disabled the channel",
        ChannelChange::KeyRotated => "Replaced the signing key of the channel",
        ChannelChange::Removed => "Removed the channel",
    }
}

fn of_issue(decision: IssueDecision) -> Markup {
    html! {
        @match decision {
            IssueDecision::Acknowledged => "Acknowledged",
            IssueDecision::Unacknowledged => "Undid the acknowledgement of",
            IssueDecision::Resolved => "Resolved",
            IssueDecision::Snoozed(until) => { "Snoozed until " (layout::instant(until)) ":" }
            IssueDecision::Unsnoozed => "Ended the snooze of",
            IssueDecision::Noted => "Wrote a note about",
        }
    }
}

fn list(differences: &[Difference]) -> Markup {
    html! {
        @if !differences.is_empty() {
            ul { @for difference in differences { li { (changed(difference)) } } }
        }
    }
}

/// A setting with its old and new value, as far as the log has them.
fn changed(Difference { setting, before, after }: &Difference) -> Markup {
    html! {
        code { (setting) } ": "
        @match (before, after) {
            (Some(before), Some(after)) => { bdi { (before) } " → " bdi { (after) } }
            (None, Some(after)) => { "set to " bdi { (after) } }
            (Some(before), None) => { "was " bdi { (before) } }
            (None, None) => "changed",
        }
    }
}

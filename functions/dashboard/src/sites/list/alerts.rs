//! What is wrong with a team's sites, worst first, above the list of sites.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::Timestamp;
use maud::{Markup, html};
use vedette_domain::accounts::account::User;
use vedette_domain::id::{TeamId, UserId};
use vedette_domain::issues::{IssueStatus, Severity};
use vedette_http::error::ApiError;
use vedette_store::{IndexRow, IssueWithSite, Store};

use crate::clock::Clock;
use crate::look::Look;
use crate::words::counted;
use crate::{layout, words};

/// The most issues that are shown.
const LISTED_MAX: usize = 5;

/// The most severe active issues of a team.
pub(super) struct Alerts {
    shown: Vec<IssueWithSite>,
    /// How many more there are.
    more: usize,
    users: BTreeMap<UserId, User>,
}

/// Most severe first; among these, unacknowledged issues first, then the newest.
pub(super) fn order(issue: &IndexRow) -> (Severity, bool, Reverse<Timestamp>) {
    let is_taken = issue.status == IssueStatus::Acknowledged;
    (issue.severity(), is_taken, Reverse(issue.opened_at))
}

impl Alerts {
    /// Reads the active issues that are shown.
    pub(super) async fn load(store: &Store, active: &mut [IndexRow]) -> Result<Self, ApiError> {
        active.sort_by_key(order);
        let wanted: Vec<_> = active.iter().take(LISTED_MAX).map(|row| row.id).collect();
        let mut found = store.issues_with_sites(wanted).await?;
        let shown = active.iter().filter_map(|row| found.remove(&row.id)).collect::<Vec<_>>();
        let taken = shown.iter().filter_map(|of| of.issue.lifecycle.acknowledgement());
        let takers: Vec<_> = taken.map(|taken| taken.by).collect();
        let users = store.users(takers).await?;
        Ok(Self { shown, more: active.len().saturating_sub(LISTED_MAX), users })
    }
}

pub(super) fn part(team: TeamId, alerts: &Alerts, may_act: bool, clock: Clock<'_>) -> Markup {
    html! {
        @if !alerts.shown.is_empty() {
            section.card aria-labelledby="now" {
                h2 #now.hide { "Open issues" }
                ul.alerts {
                    @for (place, of) in alerts.shown.iter().enumerate() {
                        (one(of, place == 0, alerts, may_act, clock))
                    }
                    @if alerts.more > 0 {
                        li.quiet.small { span {} a href={ "/teams/" (team) "/issues" } { (counted(alerts.more, "more open issue", "more open issues")) } }
                    }
                }
            }
        }
    }
}

fn one(
    IssueWithSite { issue, site, .. }: &IssueWithSite,
    is_first: bool,
    alerts: &Alerts,
    may_act: bool,
    clock: Clock<'_>,
) -> Markup {
    let look = Look::from(issue.severity());
    let leads = is_first && issue.severity() == Severity::Critical;
    let taken = issue.lifecycle.acknowledgement();
    let by = taken.and_then(|taken| alerts.users.get(&taken.by));
    let headline = words::headline(issue, site, clock.now);
    html! {
        li class={ @if leads { "lead " } (look.class()) } {
            (look.mark())
            div {
                a.t1 href={ "/issues/" (issue.id) } { bdi { (headline) } }
                p {
                    @if !headline.starts_with(&site.name) { bdi { (site.name) } " · " }
                    "For " (clock.lasting(issue.first_failed_at()))
                    @if taken.is_none() { " · Not acknowledged" }
                }
            }
            @if let Some(by) = by {
                span.row.quiet.by {
                    span.face aria-hidden="true" { (layout::initial(&by.name)) }
                    span.small { "Acknowledged by " bdi { (by.name) } }
                }
            } @else if taken.is_some() {
                span.row.quiet.by { span.small { "Acknowledged" } }
            } @else if may_act {
                form method="post" action={ "/issues/" (issue.id) "/acknowledge" } {
                    input type="hidden" name="then" value="list";
                    button.s.main[leads] {
                        "Acknowledge" span.hide { ": " (issue.summary) }
                    }
                }
            }
        }
    }
}

//! The events of a team's sites: issues that opened, and issues that were resolved.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_domain::id::{IssueId, TeamId};
use vedette_domain::issues::TimelineKey;
use vedette_domain::issues::opening::Opening;
use vedette_domain::issues::past_tense::past;
use vedette_domain::time;
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_http::validation::Errors;
use vedette_store::{IndexRow, IssueWithSite, Store, StoreError, TeamWithSettings};

use crate::clock::Clock;
use crate::layout::{Heading, NavTab};
use crate::look::Look;
use crate::{RequestContext, layout, words};

/// The events on a page.
const PAGE: usize = 25;
/// The most pages. Each event on a page or before it may need to read an issue.
const PAGES: u64 = 20;

/// An event.
struct Event<'a> {
    at: Timestamp,
    key: TimelineKey,
    by_hand: bool,
    of: &'a IssueWithSite,
    /// The time of the opening that it belongs to.
    opened_at: Timestamp,
    /// What the issue said at that opening, or what it says now if that is no longer stored.
    summary: String,
    /// How long the problem lasted, if this is its end.
    lasted: Option<SignedDuration>,
}

/// Shows a page of events, newest first.
pub(crate) async fn show(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let id = team.id();
    let query = Query::parse(context.head.uri.query());
    let number = query.integer("page", 1..=PAGES, &mut Errors::new()).unwrap_or(1);
    let store = &context.app.store;
    let issues = load(store, id, number).await?;
    let mut page = EventsPage::new(&issues, number);
    let times = page.opening_times();
    page.describe(&store.openings_at(times).await?);
    let content = content(id, &page, context.clock(Some(&team.team)));
    let title = Heading::new("Events")
        .lead(html! { p.quiet { "Issues that opened and were resolved, newest first." } });
    Ok(layout::team_page(context, (&team.team, NavTab::Events), StatusCode::OK, title, &content))
}

/// How many events there are up to the end of a page.
fn end_of(page: u64) -> usize {
    usize::try_from(page).unwrap_or(1).saturating_mul(PAGE)
}

/// The issues that contain the events up to the end of a page, and one more event if there is one.
async fn load(
    store: &Store,
    team: TeamId,
    page: u64,
) -> Result<BTreeMap<IssueId, IssueWithSite>, StoreError> {
    let (active, resolved) =
        futures::try_join!(store.issue_index(team, true), store.issue_index(team, false))?;
    // The newest N events belong to the N issues that changed last: each of these has an event that is newer than any
    // event of the other issues. One more issue says whether there are more events.
    let mut rows: Vec<IndexRow> = active.into_iter().chain(resolved).collect();
    rows.sort_unstable_by_key(|row| Reverse((row.last_event(), row.id)));
    rows.truncate(end_of(page) + 1);
    store.issues_with_sites(rows.iter().map(|row| row.id)).await
}

/// The events of a page, newest first.
struct EventsPage<'a> {
    number: u64,
    events: Vec<Event<'a>>,
    has_more: bool,
    /// Whether there are no events at all.
    is_blank: bool,
}

impl<'a> EventsPage<'a> {
    fn new(issues: &'a BTreeMap<IssueId, IssueWithSite>, number: u64) -> Self {
        let end = end_of(number);
        let mut events: Vec<Event<'_>> = issues.values().flat_map(events_of).collect();
        events.sort_by_key(|event| Reverse((event.at, event.of.issue.id)));
        Self {
            number,
            has_more: events.len() > end && number < PAGES,
            is_blank: events.is_empty(),
            events: events.into_iter().skip(end - PAGE).take(PAGE).collect(),
        }
    }
}

impl EventsPage<'_> {
    /// The openings that its events belong to.
    fn opening_times(&self) -> BTreeSet<(IssueId, Timestamp)> {
        self.events.iter().map(|event| (event.of.issue.id, event.opened_at)).collect()
    }

    /// Sets the summary of each event, from the openings.
    fn describe(&mut self, openings: &[Opening]) {
        for event in &mut self.events {
            let (issue, opened_at) = (event.of.issue.id, event.opened_at);
            let said = openings
                .iter()
                .find(|opening| opening.issue == issue && opening.opened_at == opened_at);
            if let Some(said) = said {
                event.summary.clone_from(&said.summary);
            }
        }
    }
}

fn events_of(of: &IssueWithSite) -> impl Iterator<Item = Event<'_>> {
    let mut opened_at = Timestamp::UNIX_EPOCH;
    let problems = of.issue.problems();
    of.issue.timeline.entries().iter().filter_map(move |entry| {
        match entry.key {
            TimelineKey::Opened => opened_at = entry.timestamp,
            TimelineKey::Acknowledged => return None,
            TimelineKey::Resolved => {}
        }
        let ended = (entry.key == TimelineKey::Resolved)
            .then(|| problems.iter().find(|problem| problem.opened_at == opened_at));
        Some(Event {
            at: entry.timestamp,
            key: entry.key,
            by_hand: entry.user.is_some(),
            of,
            opened_at,
            summary: of.issue.summary.clone(),
            lasted: ended.flatten().map(|problem| problem.lasted(entry.timestamp)),
        })
    })
}

fn content(team: TeamId, page: &EventsPage<'_>, clock: Clock<'_>) -> Markup {
    html! {
        @if page.is_blank {
            div.card { div.empty { p { b { "No events yet." } " Issues that open and get resolved appear here." } } }
        } @else {
            ul.card.rows { @for event in &page.events { (row(event, clock)) } }
            (layout::other_pages(page.number, page.has_more, &|number| format!("/teams/{team}/events?page={number}")))
        }
    }
}

fn row(event: &Event<'_>, clock: Clock<'_>) -> Markup {
    let IssueWithSite { issue, site, .. } = event.of;
    let (look, what) = match (event.key, event.by_hand) {
        (TimelineKey::Resolved, false) => (Look::Up, "Resolved"),
        (TimelineKey::Resolved, true) => (Look::Up, "Resolved manually"),
        (TimelineKey::Opened | TimelineKey::Acknowledged, _) => {
            (Look::from(issue.severity()), "Opened")
        }
    };
    html! {
        li {
            (look.pill(what))
            div.grow {
                a href={ "/issues/" (issue.id) } { bdi { (said(event)) } }
                p.quiet.small {
                    a.quiet href={ "/sites/" (site.id) } { bdi { (site.name) } }
                    @if let Some(lasted) = event.lasted { " · " (time::duration(lasted)) }
                }
            }
            span.quiet.small.n { (clock.instant(event.at)) }
        }
    }
}

/// What is wrong now, or what was wrong.
fn said(
    Event { of: IssueWithSite { issue, site, .. }, opened_at, summary, .. }: &Event<'_>,
) -> String {
    let is_now = issue.lifecycle.is_active() && issue.lifecycle.opened_at() == *opened_at;
    match is_now {
        true => words::named(summary, site),
        false => words::named(&past(issue.id.fingerprint(), summary), site),
    }
}

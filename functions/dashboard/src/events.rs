//! What happened to the sites of a team: issues that opened and that were resolved.

use std::cmp::Reverse;

use jiff::Timestamp;
use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_domain::issues::TimelineKey;
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_http::validation::Errors;
use vedette_store::{IndexRow, IssueWithSite, TeamWithSettings};

use crate::layout::NavTab;
use crate::{RequestContext, layout};

/// The events of a page.
const PAGE: usize = 25;
/// The most pages: each event may need an issue to be read, those of the pages before included.
const PAGES: u64 = 20;

/// An event.
struct Event<'a> {
    at: Timestamp,
    key: TimelineKey,
    by_hand: bool,
    of: &'a IssueWithSite,
}

/// Shows a page of events, newest first.
pub(crate) async fn show(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let store = &context.app.store;
    let id = team.id();
    let (active, resolved) =
        futures::try_join!(store.issue_index(id, true), store.issue_index(id, false))?;
    let query = Query::parse(context.head.uri.query());
    let number = query.integer("page", 1..=PAGES, &mut Errors::new()).unwrap_or(1);
    let end = usize::try_from(number).unwrap_or(1).saturating_mul(PAGE);

    // So many events are among those of as many issues to which something happened last: each of these
    // has one that is newer than any of the others'. One issue more says whether there are more.
    let mut rows: Vec<IndexRow> = active.into_iter().chain(resolved).collect();
    rows.sort_unstable_by_key(|row| Reverse((row.last_event(), row.id)));
    rows.truncate(end + 1);
    let issues = store.issues_with_sites(rows.iter().map(|row| row.id)).await?;
    let mut events: Vec<Event<'_>> = issues.values().flat_map(events_of).collect();
    events.sort_by_key(|event| Reverse((event.at, event.of.issue.id)));
    let has_more = events.len() > end && number < PAGES;
    let shown = events.iter().skip(end - PAGE).take(PAGE);

    let path = format!("/teams/{id}/events");
    let content = html! {
        @if events.is_empty() {
            p { "Nothing has happened yet: no issue was ever opened." }
        } @else {
            table {
                (layout::columns("Issues that opened and were resolved, the newest first", &["When", "What", "Issue", "Site"]))
                tbody { @for event in shown { (row(event)) } }
            }
            (layout::other_pages(number, has_more, &|page| format!("{path}?page={page}")))
        }
    };
    let title = format!("Events of {}", team.team.name);
    Ok(layout::team_page(context, (id, NavTab::Events), StatusCode::OK, &title, &content))
}

fn events_of(of: &IssueWithSite) -> impl Iterator<Item = Event<'_>> {
    let entries = of.issue.timeline.entries().iter();
    let entries = entries.filter(|entry| entry.key != TimelineKey::Acknowledged);
    entries.map(move |entry| Event {
        at: entry.timestamp,
        key: entry.key,
        by_hand: entry.user.is_some(),
        of,
    })
}

fn row(event: &Event<'_>) -> Markup {
    let IssueWithSite { issue, site, .. } = event.of;
    let what = match (event.key, event.by_hand) {
        (TimelineKey::Resolved, false) => "Resolved",
        (TimelineKey::Resolved, true) => "Resolved by hand",
        (TimelineKey::Opened | TimelineKey::Acknowledged, _) => "Opened",
    };
    html! {
        tr {
            td { (layout::instant(event.at)) }
            td { (what) }
            td { a href={ "/issues/" (issue.id) } { bdi { (issue.summary) } } }
            td { a href={ "/sites/" (site.id) } { bdi { (site.name) } } }
        }
    }
}

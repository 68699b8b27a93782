//! The events of a team's sites: issues that opened, and issues that were resolved.

use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_domain::alerts::link;
use vedette_domain::id::TeamId;
use vedette_domain::time;
use vedette_http::error::ApiError;
use vedette_http::events::{EVENTS_MAX, FirstEvent, TeamEvent, TeamEventKind, TeamEvents};
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_http::validation::Errors;
use vedette_store::{IssueWithMonitor, TeamWithSettings};

use crate::clock::Clock;
use crate::layout::{Heading, NavTab};
use crate::look::Look;
use crate::{RequestContext, layout, words};

/// The events on a page.
const PAGE: usize = 25;
/// The most pages.
const PAGES: u64 = (EVENTS_MAX / PAGE) as u64;

/// Shows a page of events, newest first.
pub(crate) async fn show(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let id = team.id();
    let query = Query::parse(context.head.uri.query());
    let number = query.integer("page", 1..=PAGES, &mut Errors::new()).unwrap_or(1);
    let store = &context.app.store;
    let newer = usize::try_from(number - 1).unwrap_or(0).saturating_mul(PAGE);
    let events = TeamEvents::load(store, id, FirstEvent::After(newer), PAGE).await?;
    let content = content(id, &events, number, context.clock(Some(&team.team)));
    let title = Heading::new("Events")
        .lead(html! { p.quiet { "Issues that opened and were resolved, newest first." } });
    Ok(layout::team_page(context, (&team.team, NavTab::Events), StatusCode::OK, title, &content))
}

fn content(team: TeamId, events: &TeamEvents, page: u64, clock: Clock<'_>) -> Markup {
    html! {
        @if events.is_blank() {
            div.card { div.empty { p { b { "No events yet." } " Issues that open and get resolved appear here." } } }
        } @else {
            ul.card.rows { @for (event, of) in events.iter() { (row(event, of, clock)) } }
            (layout::other_pages(page, events.has_more, &|number| format!("/teams/{team}/events?page={number}")))
        }
    }
}

fn row(event: &TeamEvent, of: &IssueWithMonitor, clock: Clock<'_>) -> Markup {
    let IssueWithMonitor { issue, monitor, .. } = of;
    let (look, what) = match (event.kind, event.by) {
        (TeamEventKind::Resolved, None) => (Look::Up, "Resolved"),
        (TeamEventKind::Resolved, Some(_)) => (Look::Up, "Resolved manually"),
        (TeamEventKind::Opened, _) => (Look::from(issue.severity()), "Opened"),
    };
    html! {
        li.w {
            (look.pill(what))
            div.grow {
                a href={ "/issues/" (issue.id) } { bdi { (words::named(&event.summary, monitor)) } }
                p.quiet.small {
                    a.quiet href=(link::monitor("", monitor)) { bdi { (monitor.name()) } }
                    @if let Some(lasted) = event.lasted { " · " (time::duration(lasted)) }
                }
            }
            span.quiet.small.at { (clock.instant(event.at)) }
        }
    }
}

//! A team's issues: the active ones or the resolved ones.

use std::cmp::Reverse;

use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_domain::alerts::link;
use vedette_domain::id::TeamId;
use vedette_domain::issues::IssueStatus;
use vedette_domain::time;
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_http::validation::Errors;
use vedette_store::{IssueWithMonitor, TeamWithSettings};

use crate::clock::Clock;
use crate::layout::{Heading, NavTab};
use crate::paging::WantedPage;
use crate::words::{counted, grouped};
use crate::{RequestContext, layout, look, words};

/// Which issues to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateFilter {
    Open,
    Resolved,
}

impl StateFilter {
    const ALL: [Self; 2] = [Self::Open, Self::Resolved];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Resolved => "resolved",
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Open => "Open",
            Self::Resolved => "Resolved",
        }
    }

    fn parse(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|wanted| wanted.as_str() == value)
    }
}

/// Shows a page of issues: active ones with outages first and then by severity, resolved ones newest first.
pub(crate) async fn list(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let (store, id, clock) = (&context.app.store, team.id(), context.clock(Some(&team.team)));
    let query = Query::parse(context.head.uri.query());
    let wanted =
        query.one_of("state", StateFilter::parse, &mut Errors::new()).unwrap_or(StateFilter::Open);
    let (mut active, mut resolved) =
        futures::try_join!(store.issue_index(id, true), store.issue_index(id, false))?;
    active.sort_by_key(super::order);
    resolved.sort_by_key(|row| Reverse((row.last_event(), row.id)));
    let counts = [active.len(), resolved.len()];
    let rows = match wanted {
        StateFilter::Open => active,
        StateFilter::Resolved => resolved,
    };
    let paging = WantedPage::parse(&query).of(rows.len());
    let shown: Vec<_> = rows[paging.range()].iter().map(|row| row.id).collect();
    let mut found = store.issues_with_monitors(shown.iter().copied()).await?;
    let issues: Vec<_> = shown.iter().filter_map(|id| found.remove(id)).collect();
    let content = html! {
        (parts(id, Some(wanted), Some(counts)))
        (shown_issues(&issues, wanted, clock))
        (paging.links(&|page| format!("/teams/{id}/issues?state={}{page}", wanted.as_str())))
    };
    let heading = Heading::new(match (wanted, counts) {
        (StateFilter::Open, [0, _]) => "No open issues".to_owned(),
        (StateFilter::Open, [open, _]) => counted(open, "open issue", "open issues"),
        (StateFilter::Resolved, [_, 0]) => "No resolved issues".to_owned(),
        (StateFilter::Resolved, [_, over]) => counted(over, "resolved issue", "resolved issues"),
    });
    Ok(layout::team_page(context, (&team.team, NavTab::Issues), StatusCode::OK, heading, &content))
}

/// Links to the open and the resolved issues, and to the outages, which are shown if there is no state.
pub(crate) fn parts(
    team: TeamId,
    shown: Option<StateFilter>,
    counts: Option<[usize; 2]>,
) -> Markup {
    html! {
        nav.chips.screen aria-label="Issues" {
            @for (place, one) in StateFilter::ALL.into_iter().enumerate() {
                a href={ "/teams/" (team) "/issues?state=" (one.as_str()) }
                    aria-current=[(Some(one) == shown).then_some("true")] {
                    (one.word())
                    @if let Some(counts) = counts { " " (grouped(counts[place] as u64)) }
                }
            }
            a href={ "/teams/" (team) "/outages" } aria-current=[shown.is_none().then_some("true")] { "Outages" }
        }
    }
}

fn shown_issues(issues: &[IssueWithMonitor], wanted: StateFilter, clock: Clock<'_>) -> Markup {
    html! {
        @if issues.is_empty() {
            div.card {
                div.empty {
                    p.quiet {
                        @match wanted {
                            StateFilter::Open => "Nothing is wrong with the sites of this team.",
                            StateFilter::Resolved => "No issue has been resolved yet.",
                        }
                    }
                }
            }
        } @else {
            ul.card.rows { @for of in issues { (row(of, clock)) } }
        }
    }
}

fn row(of: &IssueWithMonitor, clock: Clock<'_>) -> Markup {
    let IssueWithMonitor { issue, monitor, .. } = of;
    let problem = of.problem();
    let since = problem.began_at;
    html! {
        li {
            (look::issue(issue.status(), issue.severity()))
            div.grow {
                a href={ "/issues/" (issue.id) } { bdi { (words::headline(issue, monitor, clock.now)) } }
                p.quiet.small {
                    a.quiet href=(link::monitor("", monitor)) { bdi { (monitor.name()) } }
                    @if issue.status() == IssueStatus::Open { " · Not acknowledged" }
                }
            }
            span.quiet.nb.n {
                @match problem.ended_at {
                    Some(_) => (time::duration(problem.lasted(clock.now))),
                    None => (clock.lasting(since)),
                }
                br;
                span.small { (clock.ago(since)) }
            }
        }
    }
}

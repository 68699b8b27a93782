//! The history of a site's checks.
//!
//! The counters of the days say where each page begins, but not which of the completed checks failed. Lists of only
//! these, or of those that are OK, have a page for each day.

use std::collections::BTreeSet;

use jiff::civil::Date;
use lambda_http::http::StatusCode;
use maud::{Markup, html};
use url::form_urlencoded;
use vedette_domain::checks::check::Check;
use vedette_domain::checks::history::{Day, HistoryFilter, Kind, day_start, locate};
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::id::SiteId;
use vedette_domain::sites::settings::Settings;
use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::history::{history_page, parse_history};
use vedette_http::paging::PageRequest;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_http::validation::ValidationError;
use vedette_store::Store;

use super::openings::Openings;
use super::outcome::CheckOutcome;
use super::{NOT_NEEDED, cause, summary_of, without_need};
use crate::clock::Clock;
use crate::form::{Choice, FormInput, capitalized};
use crate::layout::{Heading, NavTab};
use crate::look::Look;
use crate::words::counted;
use crate::{RequestContext, layout, words};

/// The field that chooses an outcome.
const OUTCOME: &str = "outcome";
/// The field that chooses a day.
const DAY: &str = "day";
/// The most checks of a day that are read: those of an outage with a check each minute, with all retries.
const DAY_MAX: u64 = 5_000;

/// Shows a page of the history, newest first.
pub(crate) async fn list(
    context: RequestContext<'_>,
    access: SiteAccess,
) -> Result<Response, ApiError> {
    let site = &access.stored.site;
    let query = filled_in(context);
    let input = FormInput::sent(query.as_bytes());
    let respond = |status, content: &Markup| {
        let title = Heading::new("History of checks")
            .below(format!("/teams/{}", site.team), "Sites")
            .below(format!("/sites/{}", site.id), &site.name);
        layout::team_page(context, (&access.team.team, NavTab::Sites), status, title, content)
    };
    let wanted = CheckOutcome::parse(input.text(OUTCOME));
    let parsed = parse_history(&Query::parse(Some(&query))).and_then(|(filter, page)| {
        let day = parse_day(input.text(DAY))?;
        let status = wanted.map(CheckOutcome::status).or(filter.status);
        Ok((HistoryFilter { status, ..filter }, page, day))
    });
    let (filter, page, day) = match parsed {
        Ok(parsed) => parsed,
        Err(refusal) => {
            let input = input.refused(refusal);
            let content = content(site.id, &query, &input, &input.summary());
            return Ok(respond(StatusCode::UNPROCESSABLE_ENTITY, &content));
        }
    };
    let clock = context.clock(Some(&access.team.team));
    let list =
        List { store: &context.app.store, access: &access, settings: access.settings(), clock };
    let found = match wanted {
        Some(wanted @ (CheckOutcome::Ok | CheckOutcome::Failed)) => {
            list.day(&query, wanted, &filter, day).await?
        }
        _ => {
            let (checks, total) =
                history_page(list.store, clock.now, (&access).into(), &filter, page).await?;
            html! {
                p.quiet.small { (counted(usize::try_from(total).unwrap_or(usize::MAX), "check", "checks")) ", newest first" }
                (list.table(&checks).await?)
                (other_pages(&path(site.id), &query, page, total))
            }
        }
    };
    Ok(respond(StatusCode::OK, &content(site.id, &query, &input, &found)))
}

fn path(site: SiteId) -> String {
    format!("/sites/{site}/checks")
}

fn content(site: SiteId, query: &str, input: &FormInput, found: &Markup) -> Markup {
    let path = path(site);
    html! {
        (outcomes(&path, query, input.text(OUTCOME)))
        (filter(&path, input))
        (found)
    }
}

/// The day in a URL.
fn parse_day(text: &str) -> Result<Option<Date>, ValidationError> {
    let day = (!text.is_empty()).then(|| text.parse()).transpose();
    day.map_err(|_| ValidationError::new(DAY, "The day field must be a date."))
}

/// The same list with other values of some fields.
fn address(path: &str, query: &str, changed: &[(&str, &str)]) -> String {
    let is_kept = |name: &str| name != "page" && changed.iter().all(|(other, _)| *other != name);
    let kept = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| is_kept(name));
    let mut pairs = form_urlencoded::Serializer::new(String::new());
    pairs.extend_pairs(kept);
    pairs.extend_pairs(changed.iter().filter(|(_, value)| !value.is_empty()));
    format!("{path}?{}", pairs.finish())
}

/// Links that choose an outcome.
fn outcomes(path: &str, query: &str, chosen: &str) -> Markup {
    // The link of the active filter removes it.
    let to = |value: &str| {
        let value = if value == chosen { "" } else { value };
        address(path, query, &[(OUTCOME, value), (DAY, ""), ("status", "")])
    };
    let current = |value: &str| (chosen == value).then_some("true");
    html! {
        nav.card.counts.outcomes aria-label="Filter by outcome" {
            a.all href=(to("")) aria-current=[current("")] { span.pill.bare.on.ink { span { "All" } } }
            @for outcome in CheckOutcome::ALL {
                a href=(to(outcome.as_str())) aria-current=[current(outcome.as_str())] {
                    (outcome.look().counted(outcome.word(), 1))
                }
            }
        }
    }
}

/// The query without empty fields, which forms also send.
fn filled_in(context: RequestContext<'_>) -> String {
    let sent = context.head.uri.query().unwrap_or_default().as_bytes();
    let input = form_urlencoded::parse(sent).filter(|(_, value)| !value.is_empty());
    form_urlencoded::Serializer::new(String::new()).extend_pairs(input).finish()
}

fn filter(path: &str, input: &FormInput) -> Markup {
    let of = |value: &str| Choice::new(value, capitalized(&value.replace('_', " ")));
    let tools = Tool::ALL.map(|tool| Choice::new(tool, words::tool(tool)));
    let sorts = [Choice::new(true, "Automatically"), Choice::new(false, "On demand")];
    let reasons = RunReason::ALL.map(|reason| of(reason.as_str()));
    let select = |name: &str, label: &str, choices: &[Choice]| {
        let all: Vec<_> = [Choice::new("", "All")].iter().chain(choices).cloned().collect();
        input.select(name, label, &all)
    };
    html! {
        form.card.filters method="get" action=(path) {
            @if !input.text(OUTCOME).is_empty() { input type="hidden" name=(OUTCOME) value=(input.text(OUTCOME)); }
            (select("type", "Tool", &tools))
            (select("automatic", "Started", &sorts))
            (select("run_reason", "Reason", &reasons))
            (input.input("from", "date", "From"))
            (input.input("to", "date", "To"))
            button { "Filter" }
        }
    }
}

/// What the checks of a list are shown with.
struct List<'a> {
    store: &'a Store,
    access: &'a SiteAccess,
    settings: Settings,
    clock: Clock<'a>,
}

impl List<'_> {
    fn outcome(&self, check: &Check) -> Option<CheckOutcome> {
        CheckOutcome::of(check, &self.access.stored.site, &self.settings, self.clock.now)
    }

    /// The checks of a day with an outcome, by default of the newest day with checks.
    async fn day(
        &self,
        query: &str,
        wanted: CheckOutcome,
        filter: &HistoryFilter,
        day: Option<Date>,
    ) -> Result<Markup, ApiError> {
        let site = self.access.stored.site.id;
        let days = self.store.shown_days(self.clock.now, self.access.into(), filter).await?;
        let has_checks =
            |day: &Day| Kind::all().any(|kind| filter.admits(kind) && day.counters.count(kind) > 0);
        let dates: BTreeSet<Date> = days
            .iter()
            .map(|(_, day)| day)
            .filter(|day| has_checks(day))
            .map(|day| day.date)
            .collect();
        let Some(date) = day.or_else(|| dates.last().copied()) else {
            return Ok(html! { p.quiet { "No checks." } });
        };
        let of_day = HistoryFilter { from: Some(date), to: Some(date), ..*filter };
        let located = locate(days.iter().map(|(tool, day)| (*tool, day)), &of_day, 0, DAY_MAX);
        let mut checks = match &located.window {
            Some(window) => {
                let tools = &self.access.stored.tools;
                self.store.page(site.partition(), tools, &of_day, window).await?
            }
            None => Vec::new(),
        };
        checks.retain(|check| self.outcome(check) == Some(wanted));
        let to = |date: &Date| address(&path(site), query, &[(DAY, &date.to_string())]);
        let (older, newer) =
            (dates.range(..date).next_back(), dates.range(date..).find(|other| **other != date));
        let shown = self.clock.utc_day(day_start(date));
        Ok(html! {
            p.quiet.small {
                (counted(checks.len(), "check", "checks")) " on " (shown) " (UTC), newest first"
                @if located.total > DAY_MAX { ", among the " (words::grouped(DAY_MAX)) " newest of the day" }
            }
            (self.table(&checks).await?)
            nav.row.screen aria-label="Days" {
                @if let Some(older) = older { a.btn rel="next" href=(to(older)) { "Older" } }
                @if let Some(newer) = newer { a.btn rel="prev" href=(to(newer)) { "Newer" } }
            }
        })
    }

    async fn table(&self, checks: &[Check]) -> Result<Markup, ApiError> {
        let stored = &self.access.stored;
        let outcomes: Vec<_> = checks.iter().map(|check| self.outcome(check)).collect();
        let failed = checks.iter().zip(&outcomes);
        let failed = failed.filter(|(_, outcome)| **outcome == Some(CheckOutcome::Failed));
        let partition = stored.site.id.partition();
        let openings =
            Openings::read(self.store, partition, failed.map(|(check, _)| check)).await?;
        Ok(html! {
            div.card { table.cards-t.hist {
                (layout::columns("Checks, newest first", &["Outcome", "When", "Tool", "Result", "Reason"]))
                tbody {
                    @for (check, outcome) in checks.iter().zip(outcomes) {
                        @let is_needed = without_need(check, stored).is_none();
                        @let (look, word) = match outcome {
                            _ if !is_needed => (Look::Paused, NOT_NEEDED),
                            Some(outcome) => (outcome.look(), outcome.word()),
                            None => (Look::Pending, "Running"),
                        };
                        @let has_rail = is_needed && matches!(outcome, Some(CheckOutcome::Failed | CheckOutcome::NotRun));
                        @let issue = openings.of(check.id).filter(|_| outcome == Some(CheckOutcome::Failed));
                        tr class=[has_rail.then(|| format!("lead {}", look.class()))] {
                            td.nb { (look.bare(word)) }
                            td { a href={ "/checks/" (check.id) } { (self.clock.second(check.id.created_at())) } }
                            td { (words::tool(check.id.tool())) }
                            td {
                                (summary_of(check, stored))
                                @if let Some((issue, opened)) = issue {
                                    " · " a href={ "/issues/" (issue) } { @if opened { "Opened the issue" } @else { "Issue" } }
                                }
                            }
                            td.quiet { (cause(check.id)) @if check.in_maintenance { ", in maintenance" } }
                        }
                    }
                }
            } }
        })
    }
}

fn other_pages(path: &str, query: &str, page: PageRequest, total: u64) -> Markup {
    let address = |number: u64| address(path, query, &[("page", &number.to_string())]);
    layout::other_pages(page.number(), page.offset().saturating_add(page.limit()) < total, &address)
}

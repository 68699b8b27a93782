//! The history of a site's checks.

use lambda_http::http::StatusCode;
use maud::{Markup, html};
use url::form_urlencoded;
use vedette_domain::checks::check::Check;
use vedette_domain::checks::tool::{CheckStatus, RunReason, Tool};
use vedette_domain::id::SiteId;
use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::history::{history_page, parse_history};
use vedette_http::paging::PageRequest;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_store::SiteWithTools;

use super::{cause, summary_of};
use crate::clock::Clock;
use crate::form::{Choice, FormInput, capitalized};
use crate::layout::{Heading, NavTab};
use crate::{RequestContext, layout, words};

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
    let (filter, page) = match parse_history(&Query::parse(Some(&query))) {
        Ok(parsed) => parsed,
        Err(refusal) => {
            let input = input.refused(refusal);
            let content = content(site.id, &input, &input.summary());
            return Ok(respond(StatusCode::UNPROCESSABLE_ENTITY, &content));
        }
    };
    let now = context.member()?.caller.now;
    let (checks, total) = history_page(&context.app.store, now, &access, &filter, page).await?;
    let found = html! {
        (table(&checks, total, &access.stored, context.clock(Some(&access.team.team))))
        (other_pages(&path(site.id), &query, page, total))
    };
    Ok(respond(StatusCode::OK, &content(site.id, &input, &found)))
}

fn path(site: SiteId) -> String {
    format!("/sites/{site}/checks")
}

fn content(site: SiteId, input: &FormInput, found: &Markup) -> Markup {
    html! {
        (filter(&path(site), input))
        (found)
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
    let states = CheckStatus::ALL.map(|status| of(status.as_str()));
    let sorts = [Choice::new(true, "Automatically"), Choice::new(false, "On demand")];
    let reasons = RunReason::ALL.map(|reason| of(reason.as_str()));
    let select = |name: &str, label: &str, choices: &[Choice]| {
        let all: Vec<_> = [Choice::new("", "All")].iter().chain(choices).cloned().collect();
        input.select(name, label, &all)
    };
    html! {
        form.card.filters method="get" action=(path) {
            (select("type", "Tool", &tools))
            (select("status", "Outcome", &states))
            (select("automatic", "Started", &sorts))
            (select("run_reason", "Reason", &reasons))
            (input.input("from", "date", "From"))
            (input.input("to", "date", "To"))
            button { "Filter" }
        }
    }
}

fn table(checks: &[Check], total: u64, stored: &SiteWithTools, clock: Clock<'_>) -> Markup {
    html! {
        p.quiet.small { (words::grouped(total)) @if total == 1 { " check" } @else { " checks" } ", newest first" }
        div.card { table.cards-t {
            (layout::columns("Checks, newest first", &["When", "Tool", "Result", "Reason"]))
            tbody {
                @for check in checks {
                    tr {
                        td { a href={ "/checks/" (check.id) } { (clock.second(check.id.created_at())) } }
                        td { (words::tool(check.id.tool())) }
                        td { (summary_of(check, stored)) }
                        td.quiet { (cause(check.id)) @if check.in_maintenance { ", in maintenance" } }
                    }
                }
            }
        } }
    }
}

fn other_pages(path: &str, query: &str, page: PageRequest, total: u64) -> Markup {
    let address = |number: u64| {
        let kept = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name != "page");
        let mut pairs = form_urlencoded::Serializer::new(String::new());
        pairs.extend_pairs(kept).append_pair("page", &number.to_string());
        format!("{path}?{}", pairs.finish())
    };
    layout::other_pages(page.number(), page.offset().saturating_add(page.limit()) < total, &address)
}

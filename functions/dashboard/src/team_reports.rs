//! The reports of a team for weeks and months: a list with their recipients, each report as a printable page, and its
//! figures as CSV.

mod csv;
mod page;
pub(crate) mod recipients;

use lambda_http::http::StatusCode;
use maud::html;
use vedette_domain::reports::{ReportPeriod, TeamReport};
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_store::TeamWithSettings;

use crate::layout::{Heading, NavTab};
use crate::reports::attached;
use crate::{RequestContext, layout};

/// Lists the reports, the newest first.
pub(crate) async fn list(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let (id, clock) = (team.id(), context.clock(Some(&team.team)));
    let (reports, recipients, groups) = futures::try_join!(
        context.app.store.reports(id),
        vedette_actions::recipients(context.app, id),
        context.app.store.site_groups(id),
    )?;
    let groups: Vec<String> = groups.groups.into_iter().map(|group| group.name).collect();
    let content = html! {
        (layout::notice(context, &recipients::NOTICES))
        section.card {
            @if reports.is_empty() {
                p.in.quiet {
                    "There are no reports yet. Vedette makes one on each Monday about the week before, and one on the first day of each month, at 6:00 in " (team.team.zone) "."
                }
            } @else {
                table.t.cards-t {
                    (layout::columns("Reports, newest first", &["Period", "Days", "Made"]))
                    tbody {
                        @for report in &reports {
                            tr {
                                td { a href={ "/teams/" (id) "/reports/" (report.period) } { (page::title(report.period)) } }
                                td { div.only { "Days" } (report.period.days_named()) }
                                td { div.only { "Made" } (clock.instant(report.made_at)) }
                            }
                        }
                    }
                }
            }
        }
        (recipients::card(context, &team, &recipients, &groups)?)
    };
    Ok(layout::team_page(
        context,
        (&team.team, NavTab::Reports),
        StatusCode::OK,
        "Reports",
        &content,
    ))
}

/// Shows a report.
pub(crate) async fn show(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let (period, group) = asked(&context)?;
    let store = &context.app.store;
    let compared = store.compared_figures(team.id(), period).await?;
    let (figures, before) = compared.ok_or(ApiError::NotFound)?;
    let report =
        TeamReport::of(&figures, before.as_ref(), group.as_deref()).ok_or(ApiError::NotFound)?;
    let users = store.users(report.responders()).await?;
    let title = page::title(period);
    let heading = Heading::within(title).below(format!("/teams/{}/reports", team.id()), "Reports");
    let content = html! {
        (layout::notice(context, &recipients::NOTICES))
        (page::page(context, &team, &report, &users))
    };
    Ok(layout::team_page(context, (&team.team, NavTab::Reports), StatusCode::OK, heading, &content))
}

/// The figures of each site as CSV.
pub(crate) async fn csv(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let (period, group) = asked(&context)?;
    let figures = context.app.store.period_figures(team.id(), period).await?;
    let figures = figures.ok_or(ApiError::NotFound)?;
    let sites = figures.sites(group.as_deref()).ok_or(ApiError::NotFound)?;
    attached(csv::csv(&sites), &format!("report-{period}.csv"))
}

/// The period and the group that are asked for.
fn asked(context: &RequestContext<'_>) -> Result<(ReportPeriod, Option<String>), ApiError> {
    let period = context.parameters.id("period", |text| text.parse().ok())?;
    let query = Query::of_form(context.head.uri.query());
    Ok((period, query.search("group").map(str::to_owned)))
}

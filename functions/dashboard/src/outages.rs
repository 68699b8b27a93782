//! The outages of a team's sites, as a page and as CSV.

mod csv;
mod page;

use vedette_domain::checks::history::day_of;
use vedette_domain::checks::report::Span;
use vedette_http::error::ApiError;
use vedette_http::outages::{OutageFilter, Outages};
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_store::TeamWithSettings;

use crate::RequestContext;
use crate::form::FormInput;
use crate::paging::WantedPage;
use crate::reports::attached;

pub(crate) use csv::quoted;

/// Shows the outages.
pub(crate) async fn show(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let sent = context.head.uri.query();
    let query = Query::of_form(sent);
    match OutageFilter::parse(&query, day_of(context.member()?.caller.now)) {
        Ok(filter) => {
            let outages = load(context, &team, &filter).await?;
            let paging = WantedPage::parse(&query).of(outages.found.len());
            Ok(page::page(context, &team, &filter, &outages, paging))
        }
        Err(refusal) => {
            let input = FormInput::sent(sent.unwrap_or_default().as_bytes()).refused(refusal);
            Ok(page::refused(context, &team, &input))
        }
    }
}

/// The outages as CSV.
pub(crate) async fn csv(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let now = context.member()?.caller.now;
    let filter = OutageFilter::parse(&Query::of_form(context.head.uri.query()), day_of(now))?;
    let outages = load(context, &team, &filter).await?;
    let Span { from, to } = filter.span;
    attached(csv::csv(&outages, now), &format!("outages-{from}-{to}.csv"))
}

async fn load(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    filter: &OutageFilter,
) -> Result<Outages, ApiError> {
    let (store, now) = (&context.app.store, context.member()?.caller.now);
    let directory = context.dashboard.directories.read(store, &team.team, now);
    Ok(Outages::load(store, team, directory, filter, now).await?)
}

//! `GET /teams/{team}/reports/{period}`: the report about a week or a month.

use vedette_domain::reports::{ReportPeriod, TeamReport};
use vedette_http::error::ApiError;
use vedette_http::resource::TeamReportResource;
use vedette_http::response::{Response, ok};
use vedette_store::TeamWithSettings;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let period = context.parameters.id("period", |text| text.parse::<ReportPeriod>().ok())?;
    let query = context.query();
    let group = query.search("group");
    let store = &context.app.store;
    let compared = store.compared_figures(team.id(), period).await?;
    let (figures, before) = compared.ok_or(ApiError::NotFound)?;
    let report = TeamReport::of(&figures, before.as_ref(), group).ok_or(ApiError::NotFound)?;
    let users = store.users(report.responders()).await?;
    Ok(ok(&TeamReportResource::new(&report, &users)))
}

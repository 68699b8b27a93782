//! `GET /sites/{site}/reports/uptime`: the uptime of a site, day by day.

use vedette_domain::checks::report;
use vedette_domain::checks::tool::Tool;
use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::resource::UptimeResource;
use vedette_http::response::{Response, ok};

use crate::Context;

/// The days of the report if the client does not ask for a number.
pub const DAYS_DEFAULT: u16 = 90;

pub(crate) async fn handle(context: Context<'_>, access: SiteAccess) -> Result<Response, ApiError> {
    let (span, days) = super::read(context, &access, Tool::Status, DAYS_DEFAULT).await?;
    Ok(ok(&UptimeResource::from(report::uptime(span, &days))))
}

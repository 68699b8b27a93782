//! `GET /sites/{site}/reports/performance`: the performance of a site in lab audits, day by day.

use vedette_domain::checks::report;
use vedette_domain::checks::tool::Tool;
use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::resource::PerformanceResource;
use vedette_http::response::{Response, ok};

use crate::Context;

/// The days of the report if the client does not ask for a number.
pub const DAYS_DEFAULT: u16 = 30;

pub(crate) async fn handle(context: Context<'_>, access: SiteAccess) -> Result<Response, ApiError> {
    let (span, days) = super::read(context, &access, Tool::Performance, DAYS_DEFAULT).await?;
    Ok(ok(&PerformanceResource::from(report::performance(span, &days))))
}

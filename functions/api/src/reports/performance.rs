//! `GET /sites/{site}/reports/performance`: how fast a site was in lab audits, day by day.

use vedette_domain::checks::report;
use vedette_domain::checks::tool::Tool;
use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::resource::PerformanceResource;
use vedette_http::response::{Response, ok};

use crate::Context;

/// The days of the report where the client does not say.
pub const DAYS_DEFAULT: u16 = 30;

pub(crate) async fn handle(context: Context<'_>, access: SiteAccess) -> Result<Response, ApiError> {
    let (span, days) = super::read(context, &access, Tool::Performance, DAYS_DEFAULT).await?;
    Ok(ok(&PerformanceResource::from(report::performance(span, &days))))
}

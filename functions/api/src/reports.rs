//! Reports of a site.

pub(crate) mod performance;
pub(crate) mod uptime;

use jiff::civil::Date;
use vedette_domain::checks::history::{Day, HistoryFilter, day_of};
use vedette_domain::checks::report::{DAYS_MAX, Span};
use vedette_domain::checks::tool::Tool;
use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::validation::{Errors, ValidationError};

use crate::Context;

/// The input of a report of one tool: the requested days, and those of them that have checks.
async fn read(
    context: Context<'_>,
    access: &SiteAccess,
    tool: Tool,
    default_days: u16,
) -> Result<(Span, Vec<Day>), ApiError> {
    let query = context.query();
    let span = parse(&query, day_of(context.caller.now), default_days)?;

    let filter = HistoryFilter {
        tool: Some(tool),
        from: Some(span.from),
        to: Some(span.to),
        ..HistoryFilter::default()
    };
    let days = context.app.store.shown_days(context.caller.now, access.into(), &filter).await?;
    Ok((span, days.into_iter().map(|(_, day)| day).collect()))
}

fn parse(query: &Query, today: Date, default_days: u16) -> Result<Span, ValidationError> {
    let mut errors = Errors::new();
    let days = query.integer("days", 1..=u64::from(DAYS_MAX), &mut errors);
    let days = days.and_then(|days| u16::try_from(days).ok()).unwrap_or(default_days);
    errors.finish(Some(Span::until(today, days)))
}

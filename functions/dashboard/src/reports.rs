//! A report about a site for any period, as a printable page and as CSV.

mod page;
mod table;

use jiff::Timestamp;
use jiff::civil::Date;
use lambda_http::Body;
use lambda_http::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use lambda_http::http::{HeaderValue, StatusCode};
use vedette_domain::checks::history::{Day, HistoryFilter, day_of};
use vedette_domain::checks::report::{DAYS_MAX, Span};
use vedette_domain::checks::tool::Tool;
use vedette_domain::clock::Pause;
use vedette_domain::issues::record::Issue;
use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_http::validation::{Errors, ValidationError};

use self::table::Table;
use crate::RequestContext;
use crate::form::FormInput;

/// The days of a report if the request names none.
const DAYS_DEFAULT: u16 = 30;

/// Shows the report.
pub(crate) async fn show(
    context: RequestContext<'_>,
    access: SiteAccess,
) -> Result<Response, ApiError> {
    let now = context.member()?.caller.now;
    let sent = context.head.uri.query();
    let span = match parse(&Query::parse(sent), day_of(now)) {
        Ok(span) => span,
        Err(refusal) => {
            let input = FormInput::sent(sent.unwrap_or_default().as_bytes()).refused(refusal);
            return Ok(page::refused(context, &access, &input));
        }
    };
    let (days, issues) = load(context, &access, span).await?;
    let pauses = context.app.health.pauses();
    let table = table(&access, span, (&days, &issues), &pauses, now);
    Ok(page::page(context, &access, &table))
}

/// The report as CSV, with one row for each day.
pub(crate) async fn csv(
    context: RequestContext<'_>,
    access: SiteAccess,
) -> Result<Response, ApiError> {
    let now = context.member()?.caller.now;
    let span = parse(&Query::parse(context.head.uri.query()), day_of(now))?;
    let (days, issues) = load(context, &access, span).await?;
    let pauses = context.app.health.pauses();
    let csv = table(&access, span, (&days, &issues), &pauses, now).csv();
    attached(csv, &format!("report-{}-{}.csv", span.from, span.to))
}

fn table<'a>(
    access: &SiteAccess,
    span: Span,
    (days, issues): (&[Day], &'a [Issue]),
    pauses: &[Pause],
    now: Timestamp,
) -> Table<'a> {
    let status = access.stored.tools.get(&Tool::Status);
    let ended_at = status.and_then(|status| status.monitoring_ended_at);
    Table::new(span, days, issues, ended_at, (pauses, access.stored.site.created_at), now)
}

/// A CSV file to download.
pub(crate) fn attached(csv: String, name: &str) -> Result<Response, ApiError> {
    let mut response = Response::new(Body::Text(csv));
    *response.status_mut() = StatusCode::OK;
    let name = format!("attachment; filename=\"{name}\"");
    let headers = response.headers_mut();
    let fixed = HeaderValue::from_static;
    headers.insert(CONTENT_TYPE, fixed("text/csv; charset=utf-8"));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::try_from(name).map_err(ApiError::internal)?);
    headers.insert(CACHE_CONTROL, fixed("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, fixed("nosniff"));
    Ok(response)
}

/// The requested days.
fn parse(query: &Query, today: Date) -> Result<Span, ValidationError> {
    let mut errors = Errors::new();
    let default = Span::until(today, DAYS_DEFAULT);
    let to = query.date("to", &mut errors);
    let from = query.date("from", &mut errors);
    let to = to.unwrap_or(default.to);
    let span = Span { from: from.unwrap_or_else(|| Span::until(to, DAYS_DEFAULT).from), to };
    if errors.is_empty() && span.to < span.from {
        errors.push("to", "The to field must be a date on or after from.");
    }
    if errors.is_empty() && (span.to - span.from).get_days() >= i32::from(DAYS_MAX) {
        errors.push("from", format!("A report has at most {DAYS_MAX} days."));
    }
    errors.finish(Some(span))
}

/// The counted days of status checks, and all issues.
async fn load(
    context: RequestContext<'_>,
    access: &SiteAccess,
    span: Span,
) -> Result<(Vec<Day>, Vec<Issue>), ApiError> {
    let (store, now) = (&context.app.store, context.member()?.caller.now);
    let tool = Some(Tool::Status);
    let filter = HistoryFilter {
        tool,
        from: Some(span.from),
        to: Some(span.to),
        ..HistoryFilter::default()
    };
    let (days, issues) = futures::try_join!(
        store.shown_days(now, access.into(), &filter),
        store.issues_of_site(access.stored.site.id.partition()),
    )?;
    Ok((days.into_iter().map(|(_, day)| day).collect(), issues))
}

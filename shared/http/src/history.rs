//! The history of a site's checks, one page at a time.

use jiff::Timestamp;
use vedette_domain::checks::check::Check;
use vedette_domain::checks::history::{HistoryFilter, locate};
use vedette_domain::checks::tool::{CheckStatus, RunReason, Tool};
use vedette_store::{HistoryAccess, Store};

use crate::error::ApiError;
use crate::paging::PageRequest;
use crate::query::Query;
use crate::validation::{Errors, ValidationError};

/// Reads which checks are requested, and which page of them.
///
/// # Errors
///
/// Everything that is wrong with the query.
pub fn parse_history(query: &Query) -> Result<(HistoryFilter, PageRequest), ValidationError> {
    let mut errors = Errors::new();
    let page = PageRequest::parse(query, &mut errors);
    let filter = HistoryFilter {
        tool: query.one_of("type", Tool::parse, &mut errors),
        status: query.one_of("status", CheckStatus::parse, &mut errors),
        automatic: query.boolean("automatic", &mut errors),
        reason: query.one_of("run_reason", RunReason::parse, &mut errors),
        from: query.date("from", &mut errors),
        to: query.date("to", &mut errors),
    };
    if filter.from.zip(filter.to).is_some_and(|(from, to)| to < from) {
        errors.push("to", "The to field must be a date on or after from.");
    }
    errors.finish(Some((filter, page)))
}

/// The checks of a page in their list form, newest first, and the total number of checks.
///
/// # Errors
///
/// A fault of the table.
pub async fn history_page(
    store: &Store,
    now: Timestamp,
    access: HistoryAccess<'_>,
    filter: &HistoryFilter,
    page: PageRequest,
) -> Result<(Vec<Check>, u64), ApiError> {
    let days = store.shown_days(now, access, filter).await?;
    let days = days.iter().map(|(tool, day)| (*tool, day));
    let located = locate(days, filter, page.offset(), page.limit());
    let checks = match &located.window {
        Some(window) => store.page(access.partition, access.tools, filter, window).await?,
        None => Vec::new(),
    };
    Ok((checks, located.total))
}

//! The counted days of a site, as far back as its team's history goes.

use jiff::{Timestamp, ToSpan};
use vedette_domain::checks::history::{Day, HistoryFilter};
use vedette_domain::checks::tool::Tool;
use vedette_store::Store;

use crate::access::SiteAccess;
use crate::error::ApiError;

/// The counted days within the team's retention, open and closed.
///
/// # Errors
///
/// A fault of the table.
pub async fn shown_days(
    store: &Store,
    now: Timestamp,
    access: &SiteAccess,
    filter: &HistoryFilter,
) -> Result<Vec<(Tool, Day)>, ApiError> {
    let retention = access.team.retention(now);
    let today = retention.today;
    let oldest = today.saturating_sub(i64::from(retention.days).days());
    let tools: Vec<Tool> = Tool::ALL
        .into_iter()
        .filter(|tool| filter.tool.is_none_or(|wanted| wanted == *tool))
        .collect();
    let from = filter.from.map_or(oldest, |from| from.max(oldest));
    // A run whose slot is in the first seconds of tomorrow may have begun already.
    let to = filter.to.unwrap_or_else(|| today.saturating_add(1.day()));
    let partition = access.stored.site.id.partition();
    let mut days = store.days(partition, &tools, from, to).await?;
    // A day that closed between the two reads occurs twice; its item is the newer one.
    for tool in tools {
        let open = access.stored.tool(tool)?.day.as_ref();
        if let Some(open) = open
            && !days.iter().any(|(other, day)| (*other, day.date) == (tool, open.date))
        {
            days.push((tool, open.clone()));
        }
    }
    days.retain(|(_, day)| retention.shows_day(day));
    Ok(days)
}

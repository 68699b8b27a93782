//! The counted days of a site, as far back as its team's history goes.

use std::collections::BTreeMap;

use jiff::{Timestamp, ToSpan};
use vedette_domain::checks::history::{Day, HistoryFilter};
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::id::Partition;

use crate::{Store, StoreError, TeamWithSettings};

/// Whose history is read.
#[derive(Debug, Clone, Copy)]
pub struct HistoryAccess<'a> {
    /// The partition of the site or heartbeat.
    pub partition: Partition,
    /// The states of its tools.
    pub tools: &'a BTreeMap<Tool, ToolState>,
    /// Its team.
    pub team: &'a TeamWithSettings,
}

impl Store {
    /// The counted days within the team's retention, open and closed.
    pub async fn shown_days(
        &self,
        now: Timestamp,
        access: HistoryAccess<'_>,
        filter: &HistoryFilter,
    ) -> Result<Vec<(Tool, Day)>, StoreError> {
        let HistoryAccess { partition, tools: states, team } = access;
        let retention = team.retention(now);
        let today = retention.today;
        let oldest = today.saturating_sub(i64::from(retention.days).days());
        let tools: Vec<Tool> = states
            .keys()
            .copied()
            .filter(|tool| filter.tool.is_none_or(|wanted| wanted == *tool))
            .collect();
        let from = filter.from.map_or(oldest, |from| from.max(oldest));
        // A run whose slot is in the first seconds of tomorrow may have begun already.
        let to = filter.to.unwrap_or_else(|| today.saturating_add(1.day()));
        let mut days = self.days(partition, &tools, from, to).await?;
        // A day that closed between the two reads occurs twice; its item is the newer one.
        for tool in tools {
            let open = states.get(&tool).and_then(|state| state.day.as_ref());
            if let Some(open) = open
                && !days.iter().any(|(other, day)| (*other, day.date) == (tool, open.date))
            {
                days.push((tool, open.clone()));
            }
        }
        days.retain(|(_, day)| retention.shows_day(day));
        Ok(days)
    }
}

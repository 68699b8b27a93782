//! The error budgets of sites and groups.

use std::collections::BTreeMap;

use jiff::{Timestamp, ToSpan as _};
use vedette_domain::checks::history::{Day, HistoryFilter, day_of};
use vedette_domain::checks::report::is_outage;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::{Partition, SiteId};
use vedette_domain::issues::record::Issue;
use vedette_domain::issues::{Fingerprint, Problem};
use vedette_domain::objectives::{Budget, Objective, SiteDowntime};
use vedette_domain::sites::group::{SiteGroup, SiteGroups};
use vedette_domain::time_span::TimeSpan;
use vedette_store::{Directory, DirectoryRow, IndexRow, Store, StoreError, TeamWithSettings};

use crate::access::SiteAccess;

/// The most outages of a team that are read for the budgets of its groups, the newest ones. They take about 500 read
/// units on AWS.
const READ_MAX: usize = 10_000;
/// How many days before a window an outage may have opened that is over since.
const LOOKED_BACK_DAYS: i64 = 92;

/// The budget of an objective in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetOf {
    /// The objective.
    pub objective: Objective,
    /// The window.
    pub window: TimeSpan,
    /// The budget.
    pub budget: Budget,
}

impl BudgetOf {
    /// The budget of a site with these issues; `None` if it has no objective.
    ///
    /// # Errors
    ///
    /// A fault of the table.
    pub async fn site(
        store: &Store,
        access: &SiteAccess,
        issues: &[Issue],
        now: Timestamp,
    ) -> Result<Option<Self>, StoreError> {
        let (site, team) = (&access.stored.site, &access.team.team);
        let Some(objective) = site.objective else { return Ok(None) };
        let window = objective.window_since(now, &team.zone, site.created_at);
        let days: Vec<Day> = match objective.counts_maintenance {
            true => {
                let filter = HistoryFilter {
                    tool: Some(Tool::Status),
                    from: Some(day_of(window.from)),
                    ..HistoryFilter::default()
                };
                let days = store.shown_days(now, access.into(), &filter).await?;
                days.into_iter().map(|(_, day)| day).collect()
            }
            false => Vec::new(),
        };
        let status = access.stored.tools.get(&Tool::Status);
        let ended_at = status.and_then(|status| status.monitoring_ended_at);
        let outages = issues.iter().filter(|issue| is_outage(issue)).flat_map(Issue::problems);
        let outages = outages.map(|outage| outage.or_ended(ended_at));
        let maintenance = team.windows.instances(site.id, &site.tags, window.from, now);
        let downtime = SiteDowntime::of(outages, &maintenance, now);
        let cadence = access.settings().tools.cadence_minutes(Tool::Status);
        let budget = objective.site_budget(window, &downtime, &days, cadence);
        Ok(Some(Self { objective, window, budget }))
    }

    /// The budgets of a team's groups that have objectives and sites, by their names. `active` are the team's active
    /// issues. If too many outages would have to be read, nothing is known.
    ///
    /// # Errors
    ///
    /// A fault of the table.
    pub async fn groups(
        store: &Store,
        team: &TeamWithSettings,
        groups: &SiteGroups,
        directory: &Directory,
        active: &[IndexRow],
        now: Timestamp,
    ) -> Result<BTreeMap<String, Self>, StoreError> {
        let wanted: Vec<_> = groups
            .groups
            .iter()
            .filter_map(|group| Members::of(group, directory, team, now))
            .collect();
        let Some(from) = wanted.iter().map(|members| members.window.from).min() else {
            return Ok(BTreeMap::new());
        };
        let opened = from.saturating_sub((LOOKED_BACK_DAYS * 24).hours()).unwrap_or(from);
        let stored = store.outages(team.id(), (opened, now), READ_MAX).await?;
        if stored.len() == READ_MAX && stored.last().is_some_and(|oldest| oldest.opened_at >= from)
        {
            return Ok(BTreeMap::new());
        }
        let mut outages: BTreeMap<(SiteId, Timestamp), Problem> = BTreeMap::new();
        for row in active.iter().filter(|row| row.fingerprint == Fingerprint::StatusDown) {
            let problem =
                Problem { opened_at: row.opened_at, began_at: row.opened_at, ended_at: None };
            outages.insert((row.monitor, row.opened_at), problem);
        }
        for outage in stored {
            outages.insert((outage.site, outage.opened_at), outage.problem());
        }
        let going_on = outages.iter().filter(|(_, outage)| outage.ended_at.is_none());
        let going_on = going_on.map(|((site, _), _)| site.partition());
        let states = store.tool_states(going_on, Tool::Status).await?;
        let ended_at = |site: Partition| states.get(&site)?.monitoring_ended_at;
        let span = TimeSpan::new(from, now);
        let downtime = |row: &DirectoryRow| {
            let of_site = outages.range((row.id, Timestamp::MIN)..=(row.id, Timestamp::MAX));
            let of_site: Vec<Problem> =
                of_site.map(|(_, outage)| outage.or_ended(ended_at(row.id.partition()))).collect();
            let maintenance = match of_site.is_empty() {
                true => Vec::new(),
                false => {
                    let tags = directory.tags_of(row);
                    team.team.windows.instances(row.id, tags, span.from, span.to)
                }
            };
            SiteDowntime::of(of_site, &maintenance, now)
        };
        let budgets = wanted.into_iter().map(|Members { group, objective, window, rows }| {
            let downtimes: Vec<_> = rows.into_iter().map(downtime).collect();
            let budget = objective.group_budget(window, &downtimes);
            (group.name.clone(), Self { objective, window, budget })
        });
        Ok(budgets.collect())
    }
}

/// A group with an objective.
struct Members<'a> {
    group: &'a SiteGroup,
    objective: Objective,
    window: TimeSpan,
    rows: Vec<&'a DirectoryRow>,
}

impl<'a> Members<'a> {
    /// A group that has an objective and sites.
    fn of(
        group: &'a SiteGroup,
        directory: &'a Directory,
        team: &TeamWithSettings,
        now: Timestamp,
    ) -> Option<Self> {
        let objective = group.objective?;
        let selector = group.selector.numbered(&directory.tags);
        let rows = directory.rows.iter().filter(|row| selector.matches(&row.tags));
        let rows: Vec<_> = rows.collect();
        let since = rows.iter().map(|row| row.created_at).min()?;
        let window = objective.window_since(now, &team.team.zone, since);
        Some(Self { group, objective, window, rows })
    }
}

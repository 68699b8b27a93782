//! Loads everything that issues are shown with, in as few round trips as there are steps.

use std::collections::BTreeMap;

use vedette_domain::id::TeamId;
use vedette_http::error::ApiError;
use vedette_http::resource::{IssueParts, IssueResource};
use vedette_store::{IssueWithMonitor, TeamWithSettings};

use crate::Context;

/// The resources of issues, in their order.
pub(super) async fn resources(
    context: Context<'_>,
    issues: &[IssueWithMonitor],
    teams: &BTreeMap<TeamId, TeamWithSettings>,
) -> Result<Vec<IssueResource>, ApiError> {
    let store = &context.app.store;
    let shown: Vec<_> = issues
        .iter()
        .filter_map(|found| Some((found, teams.get(&found.monitor.team())?)))
        .collect();
    let pointers: Vec<_> = shown
        .iter()
        .flat_map(|(found, team)| {
            let retention = team.retention(context.caller.now);
            let checks = IssueResource::checks(found);
            checks.map(move |check| (check, retention))
        })
        .collect();
    let users: Vec<_> =
        shown.iter().flat_map(|(found, _)| IssueResource::users(&found.issue)).collect();
    let (checks, users) = futures::try_join!(store.checks(pointers), store.users(users))?;
    let resources = shown.into_iter().map(|(found, team)| {
        let parts = IssueParts { found, team, checks: &checks, users: &users };
        IssueResource::new(parts, context.links)
    });
    Ok(resources.collect())
}

//! What issues are shown with, loaded in as few round trips as there are steps.

use std::collections::BTreeMap;

use vedette_domain::id::{Partition, TeamId};
use vedette_http::error::ApiError;
use vedette_http::resource::{IssueParts, IssueResource};
use vedette_store::{SiteSheet, StoredIssue, TeamSheet};

use crate::Context;

/// The resources of stored issues, in their order; one whose site is gone is left out.
pub(super) async fn resources(
    context: Context<'_>,
    issues: &[StoredIssue],
    sites: &BTreeMap<Partition, SiteSheet>,
    teams: &BTreeMap<TeamId, TeamSheet>,
) -> Result<Vec<IssueResource>, ApiError> {
    let store = &context.app.store;
    let shown: Vec<_> = issues
        .iter()
        .filter_map(|stored| {
            let sheet = sites.get(&stored.issue.id.partition())?;
            Some((stored, sheet, teams.get(&sheet.site.team)?))
        })
        .collect();
    let pointers: Vec<_> = shown
        .iter()
        .flat_map(|(stored, sheet, team)| {
            let retention = team.team.retention(context.caller.now);
            let checks = IssueResource::checks(&stored.issue, sheet).into_iter().flatten();
            checks.map(move |check| (check, retention))
        })
        .collect();
    let users: Vec<_> =
        shown.iter().flat_map(|(stored, ..)| IssueResource::users(stored)).collect();
    let (checks, users) = futures::try_join!(store.checks(pointers), store.users(users))?;
    let resources = shown.into_iter().filter_map(|(stored, sheet, team)| {
        let parts = IssueParts { stored, sheet, team, checks: &checks, users: &users };
        IssueResource::new(parts, context.links)
    });
    Ok(resources.collect())
}

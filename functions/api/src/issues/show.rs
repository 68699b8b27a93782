//! What issues are shown with, loaded in as few round trips as there are steps.

use std::collections::BTreeMap;

use vedette_domain::id::TeamId;
use vedette_http::error::ApiError;
use vedette_http::resource::{IssueParts, IssueResource};
use vedette_store::{IssueSheet, TeamSheet};

use crate::Context;

/// The resources of issues, in their order.
pub(super) async fn resources(
    context: Context<'_>,
    sheets: &[IssueSheet],
    teams: &BTreeMap<TeamId, TeamSheet>,
) -> Result<Vec<IssueResource>, ApiError> {
    let store = &context.app.store;
    let shown: Vec<_> =
        sheets.iter().filter_map(|sheet| Some((sheet, teams.get(&sheet.site.team)?))).collect();
    let pointers: Vec<_> = shown
        .iter()
        .flat_map(|(sheet, team)| {
            let retention = team.team.retention(context.caller.now);
            let checks = IssueResource::checks(sheet).into_iter().flatten();
            checks.map(move |check| (check, retention))
        })
        .collect();
    let users: Vec<_> =
        shown.iter().flat_map(|(sheet, _)| IssueResource::users(&sheet.issue)).collect();
    let (checks, users) = futures::try_join!(store.checks(pointers), store.users(users))?;
    let resources = shown.into_iter().filter_map(|(sheet, team)| {
        let parts = IssueParts { sheet, team, checks: &checks, users: &users };
        IssueResource::new(parts, context.links)
    });
    Ok(resources.collect())
}

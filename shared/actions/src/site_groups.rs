//! Changes the groups of a team's sites.

use vedette_domain::accounts::audit::{AuditEntry, AuditEvent, By};
use vedette_domain::id::TeamId;
use vedette_domain::sites::group::{SiteGroups, SiteGroupsInput};
use vedette_runtime::App;
use vedette_store::{Audit, StoreError};

/// Replaces the groups of a team. If nothing differs, nothing is written.
///
/// # Errors
///
/// A fault of the table; a conflict when they have changed since they were read.
pub async fn change_site_groups(
    app: &App,
    team: TeamId,
    before: SiteGroups,
    chosen: SiteGroupsInput,
    by: By,
) -> Result<SiteGroups, StoreError> {
    let after = chosen.after(&before);
    save_site_groups(app, team, before, after, by).await
}

/// The same for groups that are already read.
pub(crate) async fn save_site_groups(
    app: &App,
    team: TeamId,
    before: SiteGroups,
    after: SiteGroups,
    by: By,
) -> Result<SiteGroups, StoreError> {
    if after.groups == before.groups {
        return Ok(before);
    }
    let entry = AuditEntry::new(team, by, AuditEvent::site_groups(&before, &after));
    app.store.save_site_groups(team, &after, Audit::Entry(&entry)).await?;
    Ok(after)
}

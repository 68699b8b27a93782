//! Creating sites: the code that the routes share.

use vedette_actions::GrowingTeam;
use vedette_http::resource::SiteResource;
use vedette_store::SiteWithTools;

use crate::Context;

/// A new site in its current state.
pub(super) fn shown(
    context: Context<'_>,
    team: &GrowingTeam,
    stored: &SiteWithTools,
) -> SiteResource {
    let resource = SiteResource::new(&stored.site, &team.team, context.links);
    resource.with_latest(stored, &Default::default())
}

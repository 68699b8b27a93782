//! The monitoring settings of a team, in sections with a form each.

mod section;
pub(crate) mod show;
pub(crate) mod update;

use vedette_domain::account::Permission;
use vedette_domain::id::TeamId;
use vedette_http::error::ApiError;
use vedette_store::TeamWithSettings;

use crate::Visit;

async fn team(visit: Visit<'_>, permission: Permission) -> Result<TeamWithSettings, ApiError> {
    let team = TeamId::parse(visit.value("team")).ok_or(ApiError::NotFound)?;
    visit.member()?.caller.team(&visit.app.store, team, permission).await
}

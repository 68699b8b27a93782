pub(crate) mod get;
pub(crate) mod update;

use serde::Serialize;
use vedette_domain::heartbeats::team_key::TeamPingKey;
use vedette_http::resource::PingKeyResource;

use crate::Context;

/// The ping key of a team as clients see it.
fn shown(context: Context<'_>, key: Option<&TeamPingKey>) -> impl Serialize {
    PingKeyResource::new(key, &context.pings())
}

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod runs;
pub(crate) mod update;

use vedette_http::resource::HeartbeatResource;
use vedette_store::StoredHeartbeat;

use crate::Context;

/// A heartbeat as clients see it.
fn shown(context: Context<'_>, stored: &StoredHeartbeat) -> HeartbeatResource {
    HeartbeatResource::new(
        stored,
        &context.pings(),
        context.app.service.time_scale,
        context.caller.now,
    )
}
